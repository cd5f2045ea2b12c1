"""The shape belief: the objective has the length-scales of the old response, and no other relation to it."""

from collections.abc import Sequence
from math import log

from tunedprior.beliefs.registry import Belief, PriorCovariance, register
from tunedprior.machines.machine import Fit, get_lengthscales
from tunedprior.numerics.stationary import Axes

_FACTORS = (0.5, 1.0, 2.0)
_LEAST = 0.1


@register
class ShapeBelief(Belief):
    """Matérn-5/2 with length-scales c ℓ_d, ℓ those of the most probable fit, for factors c."""

    name = "shape"
    mass = 0.1
    in_default_average = True
    stands_alone = False
    has_remainder = False

    def make_prior_covariances(
        self,
        fits: Sequence[Fit],
        axes: Axes,
        whatever_the_cost: bool = False,  # noqa: ARG002  # always cheap
    ) -> list[PriorCovariance]:
        """One version for each factor c; none if the fit's kernel has no length-scales."""
        lengthscale = get_lengthscales(fits[0], len(axes.of_input))
        if lengthscale is None:
            return []
        each = log(self.mass / len(_FACTORS))
        return [
            PriorCovariance((factor * lengthscale).clamp_min(_LEAST), each, is_remainder=factor == 1)
            for factor in _FACTORS
        ]
