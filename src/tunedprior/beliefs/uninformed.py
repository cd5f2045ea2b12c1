"""The uninformed belief: the objective is independent of old data, and its relevant parameters are not known."""

from collections.abc import Sequence
from math import log

from tunedprior.beliefs.registry import Belief, PriorCovariance, register
from tunedprior.machines.machine import Fit
from tunedprior.numerics.hyperparameters import HyperPrior
from tunedprior.numerics.stationary import Axes

#: The prior variance of the constant mean, relative to the amplitude: nearly flat, as a response may be of any size.
CONSTANT = 10.0
#: c of the amplitude's prior inverse gamma(c, c).
CERTAINTY = Belief.certainty
_DRAWS = 48


def make_plain_prior(num_axes: int) -> HyperPrior:
    """The prior of a process without old data: length-scales from short to infinite, noise from none to all."""
    return HyperPrior.from_axis_count(
        num_axes, median=1.0, shared=0.7, own=1.0, noise=(-3.0, 3.0), constant=CONSTANT, certainty=CERTAINTY
    )


@register
class UninformedBelief(Belief):
    """Matérn-5/2 processes with a length-scale for each parameter, and noise, drawn from a prior."""

    name = "uninformed"
    mass = 0.45
    in_default_average = True
    uses_old_data = False
    has_remainder = False

    def make_prior_covariances(
        self,
        fits: Sequence[Fit],  # noqa: ARG002  # independent of old data
        axes: Axes,
        whatever_the_cost: bool = False,  # noqa: ARG002  # always cheap
    ) -> list[PriorCovariance]:
        """One version for each draw; an average adds draws near the most probable ones once there are observations."""
        drawn = make_plain_prior(len(axes)).sample(_DRAWS)
        each = log(self.mass / _DRAWS)
        return [
            PriorCovariance(axes.expand_lengthscales(one[:-1].exp()), each, noise=float(one[-1].exp())) for one in drawn
        ]
