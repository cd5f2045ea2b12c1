"""Matérn-5/2 covariances: the one place where they are computed."""

import torch
from jaxtyping import Float
from torch import Tensor


def matern(precision: Float[Tensor, "r d"], squares: Float[Tensor, "d *n k"]) -> Float[Tensor, "r *n k"]:
    """(1 + r + r²/3) e⁻ʳ with r² = 5 Σ_d ν_d s_d, for each row of ν, from squared differences s."""
    r = _distances(precision, squares)
    return (r.square() / 3 + r + 1) * torch.exp(-r)


def matern_and_slope(
    precision: Float[Tensor, "r d"], squares: Float[Tensor, "d *n k"]
) -> tuple[Float[Tensor, "r *n k"], Float[Tensor, "r *n k"]]:
    """The covariances K, and -2 dK/dq = 5/3 (1 + r) e⁻ʳ, where q = r²/5 = Σ_d ν_d s_d.

    The slope is to a Matérn covariance what the covariance itself is to a squared exponential one.
    """
    r = _distances(precision, squares)
    decay = torch.exp(-r)
    return (r.square() / 3 + r + 1) * decay, 5 / 3 * (1 + r) * decay


def _distances(precision: Float[Tensor, "r d"], squares: Float[Tensor, "d *n k"]) -> Float[Tensor, "r *n k"]:
    return ((5 * precision) @ squares.flatten(1)).sqrt_().view(len(precision), *squares.shape[1:])
