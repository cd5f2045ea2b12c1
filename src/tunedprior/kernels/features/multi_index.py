"""Multi-indices i ∈ ℕᵈ and the monomials xⁱ = x₁^{i₁}⋯x_d^{i_d}: the features all free kernels share."""

from functools import lru_cache
from math import comb

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.errors import InputError

_MOST = 2**22


@lru_cache(maxsize=32)
def list_multi_indices(num_inputs: int, max_degree: int) -> Int[Tensor, "p d"]:
    """All i with |i| ≤ max_degree: by total degree, then the first inputs' powers first.

    p = C(d + max_degree, d). The result is cached and shared: do not write into it.

    >>> list_multi_indices(2, 2).tolist()
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
    # Append one factor at a time: x_d may follow any monomial whose last factor is x_d or comes before it.
    degree = np.zeros((1, num_inputs), dtype=np.int64)
    last = np.zeros(1, dtype=np.int64)
    degrees = [degree]
    for _ in range(max_degree):
        repeats = num_inputs - last
        parent = np.repeat(np.arange(len(last)), repeats)
        last = np.arange(len(parent)) - np.repeat(np.cumsum(repeats) - repeats, repeats) + last[parent]
        degree = degree[parent]
        degree[np.arange(len(last)), last] += 1
        degrees.append(degree)
    return torch.as_tensor(np.concatenate(degrees))


def evaluate_monomials(points: Float[Tensor, "*batch n d"], indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch n p"]:
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
