"""The marginal likelihood (evidence) of observations under a Gaussian process, and the length-scales that maximise it.

In three forms: with the amplitude integrated out (`log_evidence`, which weighs hypotheses), maximised over the
amplitude (`profile_log_evidence`, which selects λ), and the first with its gradient (in `most_probable`).
"""

from collections.abc import Sequence
from math import lgamma, log, sqrt

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy import ndarray
from scipy.optimize import minimize
from torch import Tensor

from tunedprior.numerics.linalg import cholesky
from tunedprior.numerics.squared_exponentials import exponentials, squared_differences

# Search intervals, for inputs in [-1, 1]; shorter length-scales do not interpolate between old settings.
_LENGTHSCALES = (0.1, 60.0)
_NOISE = (1e-5, 3.0)
# c of the prior inverse gamma(c, c) of the amplitude, for standardised responses: it weighs as much as 2c observations
# of amplitude 1.
_AMPLITUDE_CERTAINTY = 1.0

Normal = tuple[float, float]  # mean and standard deviation


def lengthscale_prior(num_inputs: int) -> Normal:
    """The prior of log ℓ for inputs in [-1, 1]: BoTorch's for [0, 1], shifted by log 2."""
    return sqrt(2) + log(num_inputs) / 2 + log(2), sqrt(3)


def most_probable(
    x: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    starts: Sequence[tuple[float, float]],
    lengthscales: Normal,
    noises: Normal,
) -> Float[Tensor, " d"]:
    """ℓ of the argmax of p(y | ℓ, η) p(log ℓ) p(log η) over length-scales ℓ and noise η, amplitude integrated out.

    Args:
        x: Inputs in [-1, 1].
        y: Responses with mean 0 and variance 1.
        starts: Initial values: a length-scale for all inputs, and a noise variance η relative to the amplitude.
        lengthscales: The prior of each log ℓ_d.
        noises: The prior of log η.
    """
    num_inputs = x.shape[1]
    squares = squared_differences(x, x)
    middle = np.array([lengthscales[0]] * num_inputs + [noises[0]])
    spread = np.array([lengthscales[1]] * num_inputs + [noises[1]])

    def badness(theta: Float64[ndarray, " k"]) -> tuple[float, Float64[ndarray, " k"]]:
        value, gradient = _evidence_and_gradient(y, squares, torch.as_tensor(np.exp(theta)))
        off = (theta - middle) / spread
        return float(off @ off) / 2 - value, off / spread - gradient.numpy()

    bounds = [tuple(np.log(_LENGTHSCALES))] * num_inputs + [tuple(np.log(_NOISE))]
    found = [
        minimize(
            badness,
            np.log([*[lengthscale] * num_inputs, noise]).clip(*np.array(bounds).T),
            jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 50},
        )
        for lengthscale, noise in starts
    ]  # fmt: skip
    best = min(found, key=lambda one: float(one.fun))
    return torch.as_tensor(np.exp(best.x[:-1]))


@torch.no_grad()
def _evidence_and_gradient(
    y: Float[Tensor, " n"], squares: Float[Tensor, "d n n"], theta: Float[Tensor, " d+1"]
) -> tuple[float, Float[Tensor, " d+1"]]:
    """`log_evidence` of a squared exponential kernel, and its gradient by (log ℓ, log η), at θ = (ℓ, η).

    E = -Σ log L_ii - c' log m + …, where LLᵀ = R = K + ηI, and a | y ~ inverse gamma(c', m). With β = R⁻¹y,
    dE = Σ G ⊙ dR, G = ½ (c'/m ββᵀ - R⁻¹); dR is K ⊙ (x_d - x'_d)²/ℓ_d² by log ℓ_d, and ηI by log η.
    """
    n, precision, noise = len(y), theta[:-1] ** -2, theta[-1]
    covariance = exponentials(precision[None], squares)[0]
    covariance.diagonal().add_(noise)
    factor = cholesky(covariance)
    white = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
    beta = torch.linalg.solve_triangular(factor.mT, white, upper=True)
    prior = _AMPLITUDE_CERTAINTY
    posterior, misfit = prior + n / 2, prior + float(white.square().sum()) / 2
    constant = prior * log(prior) - lgamma(prior) + lgamma(posterior)
    slope = (posterior / misfit * beta @ beta.mT - torch.cholesky_inverse(factor)) / 2
    # The noise on the diagonal does not count: squared differences are 0 there.
    by_lengthscale = precision * (squares.flatten(1) @ (slope * covariance).flatten())
    value = constant - float(factor.diagonal().log().sum()) - posterior * log(misfit)
    return value, torch.cat([by_lengthscale, noise * slope.trace()[None]])


def log_evidence(
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


def amplitude(white: Float[Tensor, "*batch n 1"], certainty: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """1/E[1/a | y] = m/c', where a | y ~ inverse gamma(c', m), c' = c + n/2 and m = c + |L⁻¹y|²/2."""
    misfit: Tensor = certainty + white.square().sum((-2, -1)) / 2
    return misfit / (certainty + white.shape[-2] / 2)


def profile_log_evidence(log_determinant: float, misfit: float, count: int) -> float:
    """max over a of log N(y; 0, a R) = -½ log|R| - n/2 log(yᵀR⁻¹y/n) + const, without the constant.

    Args:
        log_determinant: log|R|.
        misfit: yᵀR⁻¹y.
        count: n.
    """
    return -log_determinant / 2 - count / 2 * log(misfit / count)
