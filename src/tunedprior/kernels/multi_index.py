"""Multi-indices i ∈ ℕᵈ and the monomials xⁱ = x₁^{i₁}⋯x_d^{i_d}: the features all free kernels share."""

from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.errors import InputError

_MOST = 2**22


@lru_cache(maxsize=32)
def multi_indices(num_inputs: int, max_degree: int) -> Int[Tensor, "p d"]:
    """All i with |i| ≤ max_degree: by total degree, then the first inputs' powers first.

    p = C(d + max_degree, d). The result is cached and shared: do not write into it.

    >>> multi_indices(2, 2).tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """
    if max_degree < 0:
        raise InputError(f"max_degree must be 0 or more; got {max_degree}.")
    count = comb(num_inputs + max_degree, num_inputs)
    if count > _MOST:
        raise InputError(
            f"{num_inputs} inputs up to degree {max_degree} have {count:,} features, more than {_MOST:,}. "
            "Lower max_degree, or use the kernel without explicit features."
        )
    indices = torch.zeros(count, num_inputs, dtype=torch.long)
    row = 0
    for degree in range(max_degree + 1):
        for factors in combinations_with_replacement(range(num_inputs), degree):
            for factor in factors:
                indices[row, factor] += 1
            row += 1
    return indices


def monomials(points: Float[Tensor, "*batch n d"], indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch n p"]:
    """xⁱ for every point and index, from one table of powers (exact, also at 0, and differentiable there)."""
    powers = [torch.ones_like(points)]
    for _ in range(int(indices.max()) if indices.numel() else 0):
        powers.append(powers[-1] * points)
    stacked = torch.stack(powers, dim=-1)  # *batch n d (max power + 1)
    indices = indices.to(points.device)
    result = stacked[..., 0, indices[:, 0]]
    for column in range(1, indices.shape[1]):
        result = result * stacked[..., column, indices[:, column]]
    return result
