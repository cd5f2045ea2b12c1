"""Stationary covariances of variance 1: Matérn-5/2, and squared exponential for responses that are smoother."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

# The root of 0 has no derivative, though the covariance has: below this, it is taken at a fixed distance.
_LEAST = 1e-30


def stationary(
    precision: Float[Tensor, "r d"], squares: Float[Tensor, "d *n k"], smooth: Bool[Tensor, " r"]
) -> Float[Tensor, "r *n k"]:
    """(1 + r + r²/3) e⁻ʳ with r² = 5q, or e^(-q/2) for smooth ones; q = Σ_d ν_d s_d for each row of ν."""
    return stationary_and_slope(precision, squares, smooth)[0]


def stationary_and_slope(
    precision: Float[Tensor, "r d"], squares: Float[Tensor, "d *n k"], smooth: Bool[Tensor, " r"]
) -> tuple[Float[Tensor, "r *n k"], Float[Tensor, "r *n k"]]:
    """The covariances K, and -2 dK/dq: 5/3 (1 + r) e⁻ʳ, or K itself for smooth ones."""
    q = precision @ squares.flatten(1)
    if smooth.all():
        values = slopes = (q / -2).exp_()
    else:
        values, slopes = _matern(q) if not smooth.any() else _both(q, smooth)
    shape = (len(precision), *squares.shape[1:])
    return values.view(shape), slopes.view(shape)


def _matern(q: Float[Tensor, "r m"]) -> tuple[Float[Tensor, "r m"], Float[Tensor, "r m"]]:
    r = (5 * q).clamp_min(_LEAST).sqrt()
    decay = torch.exp(-r)
    part = (1 + r) * decay
    return part + r.square() / 3 * decay, part * (5 / 3)


def _both(q: Float[Tensor, "r m"], smooth: Bool[Tensor, " r"]) -> tuple[Float[Tensor, "r m"], Float[Tensor, "r m"]]:
    values, slopes = torch.empty_like(q), torch.empty_like(q)
    values[~smooth], slopes[~smooth] = _matern(q[~smooth])
    values[smooth] = slopes[smooth] = (q[smooth] / -2).exp_()
    return values, slopes
