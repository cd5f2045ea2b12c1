"""Multi-indices to choose features by, and those features one by one."""

import itertools

import torch

from support import reference
from support.builders import vector
from tunedprior.kernels import FreeKernel, SquaredExponential


def fixed(kernel: FreeKernel) -> FreeKernel:
    return kernel.double().requires_grad_(False)


def ard_kernel(num_inputs: int) -> tuple[FreeKernel, list[float]]:
    """A squared exponential kernel with a length-scale for each input, and these."""
    lengthscales = [0.6, 0.9, 1.4, 2.0][:num_inputs]
    return fixed(SquaredExponential(vector(lengthscales))), lengthscales


def random_indices(num_inputs: int, count: int, seed: int, highest: int = 6) -> torch.Tensor:
    """Some multi-indices, all different, in no order, and with gaps: not everything below one of them is there."""
    everything = list(itertools.product(range(highest + 1), repeat=num_inputs))
    rows = torch.randperm(len(everything), generator=torch.Generator().manual_seed(seed))[:count]
    return torch.tensor(everything)[rows]


def features_by_loops(points: torch.Tensor, indices: torch.Tensor, lengthscales: list[float]) -> torch.Tensor:
    """ϑ_i(x), one by one, `p x n`."""
    each = [
        [reference.squared_exponential_feature(point, index, lengthscales) for point in points.tolist()]
        for index in indices.tolist()
    ]
    return vector(each).reshape(len(indices), len(points))


def gram_by_loops(x: torch.Tensor, z: torch.Tensor, lengthscales: list[float]) -> torch.Tensor:
    """K₂ at all pairs, one by one."""
    return vector([[reference.squared_exponential([a, b], lengthscales).real for b in z.tolist()] for a in x.tolist()])
