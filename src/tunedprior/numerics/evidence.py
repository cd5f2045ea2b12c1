"""The marginal likelihood (evidence) of observations under a Gaussian process.

In two forms: with the amplitude integrated out (`compute_log_evidence`, which weighs hypotheses), and maximised over
the
amplitude (`compute_profile_log_evidence`, which selects λ). The first, with its gradient by length-scales, is in
`hyperparameters`.
"""

from math import log

import torch
from jaxtyping import Float
from torch import Tensor


def compute_log_evidence(
    diagonal: Float[Tensor, "*batch n"], white: Float[Tensor, "*batch n 1"], certainty: float | Float[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    """log ∫ N(y; 0, a LLᵀ) p(a) da + n/2 log 2π, where white = L⁻¹y and a ~ inverse gamma(c, c).

    Args:
        diagonal: The diagonal of the Cholesky factor L.
        white: L⁻¹y.
        certainty: c; the prior weighs as much as 2c observations of amplitude 1.
    """
    prior = torch.as_tensor(certainty).to(white)
    posterior = prior + white.shape[-2] / 2
    misfit = prior + white.square().sum((-2, -1)) / 2
    constant = prior * prior.log() - torch.lgamma(prior) + torch.lgamma(posterior)
    evidence: Tensor = constant - diagonal.log().sum(-1) - posterior * misfit.log()
    return evidence


def compute_amplitude(
    white: Float[Tensor, "*batch n 1"], certainty: Float[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    """1/E[1/a | y] = m/c', where a | y ~ inverse gamma(c', m), c' = c + n/2 and m = c + |L⁻¹y|²/2."""
    misfit: Tensor = certainty + white.square().sum((-2, -1)) / 2
    return misfit / (certainty + white.shape[-2] / 2)


def compute_profile_log_evidence(log_determinant: float, misfit: float, count: int) -> float:
    """max over a of log N(y; 0, a R) = -½ log|R| - n/2 log(yᵀR⁻¹y/n) + const, without the constant.

    Args:
        log_determinant: log|R|.
        misfit: yᵀR⁻¹y.
        count: n.
    """
    return -log_determinant / 2 - count / 2 * log(misfit / count)
