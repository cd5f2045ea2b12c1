"""envGP (Joy et al.): old observations join D, with a noise variance that grows with their disagreement."""

from dataclasses import dataclass

import torch
from botorch.models import SingleTaskGP
from torch import Tensor

from benchmarks.methods.rivals.source import Rival
from tunedprior.problem.observations import Observations

#: The inverse-gamma prior on the source's noise variance, for responses on [0, 1]: the published program's defaults.
ALPHA_0, BETA_0 = 0.1, 1.0


@dataclass(frozen=True, eq=False)
class Envelope(Rival):
    """y_source = f(x) + ε, ε ~ N(0, σ²), with σ² = β/(α + 1), α = α₀ + n/2, β = β₀ + ½ Σ_i (y_i - m_source(x_i))².

    The sum runs over the n observations in D, against the mean of a process fitted to the old data; σ² is the mode of
    the inverse-gamma posterior. Responses count in units of the old data's range, as α₀ and β₀ are made for [0, 1].
    """

    def noise_variance(self, inputs: Tensor, observations: Observations) -> float:
        """σ², in units of `observations.y`."""
        spread = float(self.source.y.max() - self.source.y.min()) or 1.0
        unit = spread / observations.scale  # of the old data's range, in units of `observations.y`
        expected, _ = self.source.expected(inputs, observations)
        beta = BETA_0 + float((((observations.y - expected) / unit) ** 2).sum()) / 2
        alpha = ALPHA_0 + len(inputs) / 2
        return beta / (alpha + 1) * unit**2

    def model(self, inputs: Tensor, observations: Observations) -> SingleTaskGP:
        """One process over old and new observations."""
        old = self.source.in_units_of(observations)
        variance = torch.full_like(old, self.noise_variance(inputs, observations))
        return self.source.joined(inputs, observations.y, old, variance)
