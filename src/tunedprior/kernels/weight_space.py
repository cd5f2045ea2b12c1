"""The weight-space view of a Gaussian process (section 4 of the paper): f(x) = vᵀϑ(x), v ~ N(µ, diag τ²)."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import check_positive, refuse_nonfinite_rows
from tunedprior.errors import InputError
from tunedprior.numerics.linalg import cholesky


class GaussianPosterior(NamedTuple):
    """Mean and covariance of a Gaussian: of the p weights, or of f at k points."""

    mean: Float[Tensor, " k"]
    covariance: Float[Tensor, "k k"]


def compute_weight_posterior(
    features: Float[Tensor, "n p"],
    weights: Float[Tensor, "..."],
    y: Float[Tensor, "..."],
    noise_variance: float,
    prior_mean: Float[Tensor, "..."] | None = None,
) -> GaussianPosterior:
    """m_v = µ + Σ_τ Θ (Θᵀ Σ_τ Θ + σ²I)⁻¹ (y - Θᵀµ) and Σ_v = Σ_τ - Σ_τ Θ (Θᵀ Σ_τ Θ + σ²I)⁻¹ Θᵀ Σ_τ.

    Equation 12 of the paper, with Σ_τ = diag(τ²). The paper prints y where y - Θᵀµ must stand: as printed, the
    posterior agrees with the function-space view only when µ = 0.

    Args:
        features: Θᵀ: row j is ϑ(x_j), as `FreeKernel.evaluate_features` gives it.
        weights: τ, as `FreeKernel.compute_weights` gives it.
        y: Observations of f at the x_j.
        noise_variance: σ² > 0.
        prior_mean: µ; zero when left out.
    """
    noise_variance = check_positive(noise_variance, "The noise variance σ²")
    dtype = torch.promote_types(torch.promote_types(features.dtype, weights.dtype), y.dtype)
    features, weights, y = features.to(dtype), weights.to(dtype), y.to(dtype)
    mu = torch.zeros_like(weights) if prior_mean is None else prior_mean.to(dtype)
    if features.shape != (*y.shape, *weights.shape) or mu.shape != weights.shape:
        raise InputError(
            "Features must be an n x p table with n observations, p weights and p prior means; got features "
            f"{tuple(features.shape)}, observations {tuple(y.shape)}, weights {tuple(weights.shape)}, prior means "
            f"{tuple(mu.shape)}."
        )
    refuse_nonfinite_rows(features, "Features")
    refuse_nonfinite_rows(y, "Observations")
    scaled = features * weights**2  # Θᵀ Σ_τ
    factor = cholesky(scaled @ features.mT + noise_variance * torch.eye(len(y)).to(y))
    gain = torch.cholesky_solve(scaled, factor)  # (Θᵀ Σ_τ Θ + σ²I)⁻¹ Θᵀ Σ_τ
    return GaussianPosterior(
        mean=mu + gain.mT @ (y - features @ mu),
        covariance=torch.diag(weights**2) - scaled.mT @ gain,
    )


def compute_function_posterior(posterior: GaussianPosterior, features: Float[Tensor, "k p"]) -> GaussianPosterior:
    """m_f(x) = m_vᵀ ϑ(x) and Σ_f(x, x') = ϑ(x)ᵀ Σ_v ϑ(x'): equation 13 of the paper, at the rows of `features`."""
    return GaussianPosterior(
        mean=features @ posterior.mean,
        covariance=features @ posterior.covariance @ features.mT,
    )
