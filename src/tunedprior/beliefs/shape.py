"""The shape belief: the objective has the length-scales of the old response, and no other relation to it."""

from collections.abc import Sequence
from math import log

from tunedprior.beliefs.registry import Belief, Version, register
from tunedprior.machines.fit import Fit, lengthscale_of
from tunedprior.numerics.axes import Axes

_FACTORS = (0.5, 1.0, 2.0)
_LEAST = 0.1


@register
class ShapeBelief(Belief):
    """Matérn-5/2 with length-scales c ℓ_d, ℓ those of the most probable fit, for factors c."""

    name = "shape"
    mass = 0.1
    averaged = True
    stands_alone = False
    has_remainder = False

    def versions(
        self,
        fits: Sequence[Fit],
        axes: Axes,
        whatever_the_cost: bool = False,  # noqa: ARG002  # always cheap
    ) -> list[Version]:
        """One version for each factor c; none if the fit's kernel has no length-scales."""
        lengthscale = lengthscale_of(fits[0], len(axes.of_input))
        if lengthscale is None:
            return []
        each = log(self.mass / len(_FACTORS))
        return [
            Version((factor * lengthscale).clamp_min(_LEAST), each, is_remainder=factor == 1) for factor in _FACTORS
        ]
