"""Several kernels side by side: their matrices, and some of them."""

import pytest
import torch
from gpytorch.kernels import MaternKernel

from support.cases import table
from tunedprior.beliefs import AlignedKernel, MatchedKernel
from tunedprior.kernels import SquaredExponential
from tunedprior.kernels.sections import KernelStack


def stack() -> KernelStack:
    base = SquaredExponential(torch.tensor([0.8], dtype=torch.float64))
    anchors, alpha = table(5, 2, seed=1), table(5, seed=2)
    others = (AlignedKernel(base, anchors, alpha, 0.1), MatchedKernel(base, anchors, alpha, by_features=True))
    return KernelStack(torch.tensor([[0.5, 2.0], [1.0, 1.0], [3.0, 0.7]], dtype=torch.float64), others, (0.4, 2.5))


def _matern(lengthscale: torch.Tensor) -> MaternKernel:
    kernel = MaternKernel(2.5, ard_num_dims=2).double()
    kernel.lengthscale = lengthscale
    return kernel.requires_grad_(False)


@pytest.mark.parametrize(("left", "right"), [((4,), (3,)), ((6, 4), (6, 3)), ((4,), (6, 3)), ((2, 1, 4), (6, 3))])
def test_a_stack_is_its_kernels_side_by_side(left: tuple, right: tuple) -> None:
    x, z = table(*left, 2, seed=5), table(*right, 2, seed=6)
    kernels = stack()
    found = kernels.evaluate_matrices(x, z)
    batch = torch.broadcast_shapes(left[:-1], right[:-1])
    assert found.shape == (5, *batch, left[-1], right[-1])
    wide, deep = x.expand(*batch, left[-1], 2), z.expand(*batch, right[-1], 2)
    for row, lengthscale in enumerate(kernels.lengthscales):
        torch.testing.assert_close(found[row], _matern(lengthscale)(wide, deep).to_dense())
    for row, (kernel, size) in enumerate(zip(kernels.others, kernels.sizes, strict=True), start=3):
        torch.testing.assert_close(found[row], kernel(wide, deep).to_dense() / size)
    torch.testing.assert_close(
        kernels.evaluate_variances(x), kernels.evaluate_matrices(x, x).diagonal(dim1=-2, dim2=-1)
    )


@pytest.mark.parametrize("rows", [[0, 2, 4], [3, 4], [1], [0, 1, 2, 3, 4]], ids=str)
def test_taking_some_kernels_keeps_them_as_they_are(rows: list[int]) -> None:
    x = table(4, 2, seed=5)
    few = stack().take(torch.tensor(rows))
    assert len(few) == len(rows)
    torch.testing.assert_close(few.evaluate_matrices(x, x), stack().evaluate_matrices(x, x)[rows])
    torch.testing.assert_close(few.evaluate_variances(x), stack().evaluate_variances(x)[rows])
