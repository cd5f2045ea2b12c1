"""The uninformed belief: the objective is independent of old data."""

from collections.abc import Sequence
from math import log, sqrt

import numpy as np
import torch

from tunedprior.beliefs.registry import Belief, Version, register
from tunedprior.machines.fit import Fit

_PLAIN = 0.35  # prior probability of one length-scale for all inputs
_FITTED = 0.1  # of one for each input, those that maximise the observations' evidence
# Length-scales for two inputs; for d inputs they grow with √d, as distances in the box do.
_LENGTHSCALES = np.geomspace(0.15, 10, 12)
_MEDIAN, _DEVIATION = 1.0, 0.7  # prior median of the length-scale, prior standard deviation of its logarithm
#: The versions that serve as remainders of other beliefs, by number; the last is the fitted one.
REMAINDERS = (2, 5, 8, len(_LENGTHSCALES))


@register
class UninformedBelief(Belief):
    """exp(-½ |x - x'|²/ℓ²) on a grid of ℓ, and with ARD length-scales fitted to the observations."""

    name = "uninformed"
    mass = _PLAIN + _FITTED
    # With a vague prior of the amplitude, a plain process has a large variance wherever nothing was observed yet.
    certainty = 30.0
    averaged = True
    of_old_data = False
    has_remainder = False

    def versions(
        self,
        fits: Sequence[Fit],  # noqa: ARG002  # independent of old data
        num_inputs: int,
        whatever_the_cost: bool = False,  # noqa: ARG002  # always cheap
    ) -> list[Version]:
        """One version for each length-scale of the grid, with a log-normal prior, then the fitted one."""
        likely = -(np.log(_LENGTHSCALES / _MEDIAN) ** 2) / (2 * _DEVIATION**2)
        likely = log(_PLAIN) + likely - np.logaddexp.reduce(likely)
        ones = torch.ones(num_inputs, dtype=torch.float64)
        spread = sqrt(num_inputs / 2)
        plain = [Version(spread * length * ones, prior) for length, prior in zip(_LENGTHSCALES, likely, strict=True)]
        return [*plain, Version(ones, log(_FITTED), fitted=True)]
