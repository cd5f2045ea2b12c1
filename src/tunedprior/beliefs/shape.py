"""The shape belief: the objective has the length-scales of the old response, and no other relation to it."""

from collections.abc import Sequence
from math import log

from tunedprior.beliefs.registry import Belief, Version, register
from tunedprior.machines.fit import Fit, lengthscale_of

_FACTORS = (0.5, 1.0, 2.0)
_BOUNDS = (0.1, 60.0)


@register
class ShapeBelief(Belief):
    """exp(-½ Σ_d (x_d - x'_d)²/(c ℓ_d)²) with the length-scales ℓ of the most probable fit, for factors c."""

    name = "shape"
    mass = 0.15
    certainty = 30.0
    averaged = True
    stands_alone = False
    has_remainder = False

    def versions(
        self,
        fits: Sequence[Fit],
        num_inputs: int,
        whatever_the_cost: bool = False,  # noqa: ARG002  # always cheap
    ) -> list[Version]:
        """One version for each factor c; none if the fit's kernel has no length-scales."""
        lengthscale = lengthscale_of(fits[0], num_inputs)
        if lengthscale is None:
            return []
        each = log(self.mass / len(_FACTORS))
        return [Version((factor * lengthscale).clamp(*_BOUNDS), each) for factor in _FACTORS]
