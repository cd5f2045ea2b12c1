"""Kernels against fixed points: the same matrices, and derivatives by hand."""

import pytest
import torch
from gpytorch.kernels import ConstantKernel, Kernel, MaternKernel, ScaleKernel

from support.cases import table
from support.mixtures import many_kernels
from tunedprior.kernels import ReweightedKernel, SquaredExponential
from tunedprior.kernels.sections import KernelStack, StackSection


def test_sections_of_kernels_are_their_matrices() -> None:
    kernels, x, points = many_kernels(2), table(5, 2, seed=3), table(7, 2, seed=4)
    whole = StackSection.from_stack(kernels, points)
    pieces = StackSection.from_stack(kernels, points[:0]).append_points(points[:4]).append_points(points[4:])
    for section, count in ((whole, 7), (pieces, 7), (whole.keep_first(3), 3)):
        found = section.evaluate(x)
        torch.testing.assert_close(found.cross, kernels.evaluate_matrices(x, points[:count]), rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(found.variance, kernels.evaluate_variances(x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        ReweightedKernel(SquaredExponential(0.8), table(4, 2, seed=5), table(4, seed=6)),
        ScaleKernel(MaternKernel()).double(),  # its variance is the same everywhere, and has no graph
        ConstantKernel().double(),  # and so are all its values
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_any_kernel_can_be_pulled_back(kernel: Kernel) -> None:
    kernels = KernelStack(torch.ones(1, 2).double(), (kernel.requires_grad_(False),), (0.3,))
    x, points = table(5, 2, seed=3), table(7, 2, seed=4)
    d_cross, d_variance = table(2, 5, 7, seed=7), table(2, 5, seed=8)
    found = StackSection.from_stack(kernels, points).evaluate(x).pull_back_gradient(d_cross, d_variance)
    x.requires_grad_()
    target = (kernels.evaluate_matrices(x, points) * d_cross).sum() + (kernels.evaluate_variances(x) * d_variance).sum()
    torch.testing.assert_close(found, torch.autograd.grad(target, x)[0], rtol=1e-8, atol=1e-10)
