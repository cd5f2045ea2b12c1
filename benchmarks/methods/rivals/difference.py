"""diffGP (Shilton et al.): old observations join D once a process of the difference has corrected them."""

from dataclasses import dataclass

import torch
from botorch.models import SingleTaskGP
from torch import Tensor

from benchmarks.methods.rivals.source import Rival, gaussian_process
from tunedprior.goals.observations import Observations


@dataclass(frozen=True, eq=False)
class Difference(Rival):
    """y_source + m_δ(x) with variance σ_δ²(x) joins D, where δ ~ GP is fitted to y_i - m_source(x_i) on D.

    The source's own variance at x_i is the noise of that difference.
    """

    def corrected(self, inputs: Tensor, observations: Observations) -> tuple[Tensor, Tensor]:
        """The old responses as they would be now, and the variance of that, in units of `observations.y`."""
        expected, variance = self.source.expected(inputs, observations)
        model = gaussian_process(inputs, observations.y - expected, extra_noise=variance)
        with torch.no_grad():
            difference = model.posterior(self.source.inputs)
        return self.source.in_units_of(observations) + difference.mean, difference.variance

    def model(self, inputs: Tensor, observations: Observations) -> SingleTaskGP:
        """One process over the corrected old and the new observations."""
        old, variance = self.corrected(inputs, observations)
        return self.source.joined(inputs, observations.y, old, variance)
