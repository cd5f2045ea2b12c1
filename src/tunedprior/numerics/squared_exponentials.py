"""exp(-½ Σ_d ν_d (x_d - x'_d)²): the one place where squared exponential matrices are computed."""

from jaxtyping import Float
from torch import Tensor


def compute_squared_differences(
    x1: Float[Tensor, "*b1 n d"], x2: Float[Tensor, "*b2 k d"]
) -> Float[Tensor, "d *batch n k"]:
    """(x1_d - x2_d)² for all pairs of rows, input by input."""
    rank = max(x1.ndim, x2.ndim)  # batches must line up before inputs come to the front
    x1, x2 = (x.reshape(*(1,) * (rank - x.ndim), *x.shape) for x in (x1, x2))
    differences: Tensor = x1.movedim(-1, 0)[..., :, None] - x2.movedim(-1, 0)[..., None, :]
    return differences.square()


def compute_squared_exponentials(
    precision: Float[Tensor, "r d"], squares: Float[Tensor, "d *n k"]
) -> Float[Tensor, "r *n k"]:
    """exp(-½ Σ_d ν_rd s_d) for each row of ν, from squared differences s."""
    return ((-precision / 2) @ squares.flatten(1)).exp_().view(len(precision), *squares.shape[1:])
