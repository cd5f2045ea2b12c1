"""How probable observations are under a Gaussian process, and which length-scales make them most probable."""

from collections.abc import Sequence
from math import lgamma, log, sqrt

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy import ndarray
from scipy.optimize import minimize
from torch import Tensor

from tunedprior.linalg import cholesky

# Where length-scales are looked for, in units of [-1, 1]; a shorter one sees nothing between old settings.
_LENGTHSCALES = (0.1, 60.0)
_NOISE = (1e-5, 3.0)
#: How sure it is that a process for standardised responses has amplitude 1, as half a number of observations.
AMPLITUDE_CERTAINTY = 1.0

Normal = tuple[float, float]  # mean and standard deviation


def lengthscale_prior(num_inputs: int) -> Normal:
    """Of log ℓ on [-1, 1]: BoTorch's, whose cube is half as wide."""
    return sqrt(2) + log(num_inputs) / 2 + log(2), sqrt(3)


def most_probable(
    x: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    starts: Sequence[tuple[float, float]],
    lengthscales: Normal,
    noises: Normal,
) -> Float[Tensor, " d"]:
    """ℓ, where p(y | ℓ, η) p(log ℓ) p(log η) is largest over length-scales ℓ and noise η, the amplitude integrated out.

    Args:
        x: Inputs in [-1, 1].
        y: Responses with mean 0 and variance 1.
        starts: Where to begin: a length-scale for all inputs, and a noise variance relative to the amplitude.
        lengthscales: The prior of each log ℓ.
        noises: That of log η.
    """
    num_inputs = x.shape[1]
    squares = (x.T[:, :, None] - x.T[:, None, :]).square().flatten(1)
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
    y: Float[Tensor, " n"], squares: Float[Tensor, "d n*n"], theta: Float[Tensor, " d+1"]
) -> tuple[float, Float[Tensor, " d+1"]]:
    """`log_evidence` of a squared exponential kernel, and its derivatives by log ℓ and log η, for θ = (ℓ, η).

    E = -Σ log L_ii - c' log m + …, where LLᵀ = R = K + ηI, and a | y ~ inverse gamma(c', m). With β = R⁻¹y,
    dE = Σ G ⊙ dR, G = ½ (c'/m ββᵀ - R⁻¹); dR is K ⊙ (x_d - x'_d)²/ℓ_d² by log ℓ_d, and ηI by log η.
    """
    n, precision, noise = len(y), theta[:-1] ** -2, theta[-1]
    covariance = ((-precision / 2) @ squares).exp_().view(n, n)
    covariance.diagonal().add_(noise)
    factor = cholesky(covariance)
    white = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
    beta = torch.linalg.solve_triangular(factor.mT, white, upper=True)
    prior = AMPLITUDE_CERTAINTY
    posterior, misfit = prior + n / 2, prior + float(white.square().sum()) / 2
    constant = prior * log(prior) - lgamma(prior) + lgamma(posterior)
    slope = (posterior / misfit * beta @ beta.mT - torch.cholesky_inverse(factor)) / 2
    by_lengthscale = precision * (squares @ (slope * covariance).flatten())  # the noise is where the squares are 0
    value = constant - float(factor.diagonal().log().sum()) - posterior * log(misfit)
    return value, torch.cat([by_lengthscale, noise * slope.trace()[None]])


def log_evidence(
    diagonal: Float[Tensor, "*batch n"], white: Float[Tensor, "*batch n 1"], certainty: float | Float[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    """log ∫ N(y; 0, a LLᵀ) p(a) da + n/2 log 2π, where white = L⁻¹y and a ~ inverse gamma(c, c), c the certainty.

    Of L itself the diagonal will do.
    """
    prior = torch.as_tensor(certainty).to(white)
    posterior = prior + white.shape[-2] / 2
    misfit = prior + white.square().sum((-2, -1)) / 2
    constant = prior * prior.log() - torch.lgamma(prior) + torch.lgamma(posterior)
    evidence: Tensor = constant - diagonal.log().sum(-1) - posterior * misfit.log()
    return evidence


def amplitude(white: Float[Tensor, "*batch n 1"], certainty: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """m/c' of its posterior inverse gamma(c', m): what the mean of 1/a says of a."""
    misfit: Tensor = certainty + white.square().sum((-2, -1)) / 2
    return misfit / (certainty + white.shape[-2] / 2)
