"""envGP (Joy et al.): old observations join D, with a noise variance that grows with their disagreement."""

from dataclasses import dataclass

import torch
from botorch.models import SingleTaskGP
from torch import Tensor

from benchmarks.methods.rivals.source import Rival
from tunedprior.goals.observations import Observations

#: The inverse-gamma prior on the source's noise variance: the published program's defaults.
ALPHA_0, BETA_0 = 0.1, 1.0
#: What the program's β₀ is a multiple of: its noise variance σ, for responses on [0, 1].
SIGMA = 1e-4


@dataclass(frozen=True, eq=False)
class Envelope(Rival):
    """y_source = f(x) + ε, ε ~ N(0, s²), with s² = β/(α + 1), α = α₀ + n/2, β = β₀σ + ½ Σ_i (y_i - m_source(x_i))².

    The sum runs over the n observations in D, against the mean of a process fitted to the old data; s² is the mode of
    the inverse-gamma posterior. Responses count in units of the old data's range, as the constants are for [0, 1].

    In the published program (SVMHeavy, `smboopt.cc`) β/(α + 1) is no variance but the factor by which the noise
    variance σ of the old rows is multiplied, and σ is 1e-4: its β₀ = 1 stands for a variance of 1e-4. Taken for a
    variance of 1 it would drown even a faithful copy of the objective. The program multiplies the disagreement by σ
    too, so that old rows which run backwards count as nearly exact; here it counts in full, as in Joy et al.
    """

    def noise_variance(self, inputs: Tensor, observations: Observations) -> float:
        """s², in units of `observations.y`."""
        spread = float(self.source.y.max() - self.source.y.min()) or 1.0
        unit = spread / observations.scale  # of the old data's range, in units of `observations.y`
        expected, _ = self.source.expected(inputs, observations)
        beta = BETA_0 * SIGMA + float((((observations.y - expected) / unit) ** 2).sum()) / 2
        alpha = ALPHA_0 + len(inputs) / 2
        return beta / (alpha + 1) * unit**2

    def model(self, inputs: Tensor, observations: Observations) -> SingleTaskGP:
        """One process over old and new observations."""
        old = self.source.in_units_of(observations)
        variance = torch.full_like(old, self.noise_variance(inputs, observations))
        return self.source.joined(inputs, observations.y, old, variance)
