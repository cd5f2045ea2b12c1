"""GPyTorch's own suite for kernels, and life inside a BoTorch model."""

import unittest

import gpytorch
import pytest
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood

from support.cases import table
from support.contract import InsideTheBox
from tunedprior.kernels import (
    DirectProduct,
    DotProduct,
    Exponential,
    Linear,
    LogRatio,
    Polynomial,
    ReweightedKernel,
    Sinh,
    SquaredExponential,
    StationarySquaredExponential,
)


class TestLinear(unittest.TestCase, InsideTheBox):
    def create_kernel_no_ard(self, **kwargs) -> Kernel:
        return Linear(**kwargs)


class TestPolynomial(unittest.TestCase, InsideTheBox):
    def create_kernel_no_ard(self, **kwargs) -> Kernel:
        return Polynomial(2, 0.5, **kwargs)


class TestSinh(unittest.TestCase, InsideTheBox):
    def create_kernel_no_ard(self, **kwargs) -> Kernel:
        return Sinh(0.5, **kwargs)


class TestExponential(unittest.TestCase, InsideTheBox):
    def create_kernel_no_ard(self, **kwargs) -> Kernel:
        return Exponential(0.5, **kwargs)


class TestLogRatio(unittest.TestCase, InsideTheBox):
    def create_kernel_no_ard(self, **kwargs) -> Kernel:
        return LogRatio(**kwargs)


class TestDotProduct(unittest.TestCase, InsideTheBox):
    def create_kernel_no_ard(self, **kwargs) -> Kernel:
        return DotProduct([0.5, 0.0, 1.0], **kwargs)


class TestDirectProduct(unittest.TestCase, InsideTheBox):
    def create_kernel_no_ard(self, **kwargs) -> Kernel:
        return DirectProduct([0.5, 0.0, 1.0], **kwargs)


class TestSquaredExponential(unittest.TestCase, InsideTheBox):
    def create_kernel_no_ard(self, **kwargs) -> Kernel:
        return SquaredExponential(0.6, **kwargs)

    def create_kernel_ard(self, num_dims: int, **kwargs) -> Kernel:
        return SquaredExponential([0.5 + 0.2 * d for d in range(num_dims)], **kwargs)


class TestStationarySquaredExponential(unittest.TestCase, InsideTheBox):
    def create_kernel_no_ard(self, **kwargs) -> Kernel:
        return StationarySquaredExponential(0.6, **kwargs)

    def create_kernel_ard(self, num_dims: int, **kwargs) -> Kernel:
        return StationarySquaredExponential([0.5 + 0.2 * d for d in range(num_dims)], **kwargs)


class TestReweighted(unittest.TestCase, InsideTheBox):
    def _anchors(self) -> tuple[torch.Tensor, torch.Tensor]:
        # The suite passes 4 columns to one test, 6 to another and 2 to the rest; anchors must be as wide.
        inputs = {"test_active_dims_list": 4, "test_active_dims_range": 6}.get(self._testMethodName, 2)
        return table(3, inputs, seed=3).float(), torch.tensor([0.5, -1.0, 0.8])

    def create_kernel_no_ard(self, batch_shape: torch.Size | None = None, **kwargs) -> Kernel:
        return ReweightedKernel(SquaredExponential(0.6, batch_shape=batch_shape), *self._anchors(), **kwargs)

    def create_kernel_ard(self, num_dims: int, batch_shape: torch.Size | None = None, **kwargs) -> Kernel:
        base = SquaredExponential([0.5 + 0.2 * d for d in range(num_dims)], batch_shape=batch_shape)
        return ReweightedKernel(base, *self._anchors(), **kwargs)


class TestStationaryReweighted(TestReweighted):
    def create_kernel_no_ard(self, batch_shape: torch.Size | None = None, **kwargs) -> Kernel:
        base = StationarySquaredExponential(0.6, batch_shape=batch_shape)
        return ReweightedKernel(base, *self._anchors(), **kwargs)

    def create_kernel_ard(self, num_dims: int, batch_shape: torch.Size | None = None, **kwargs) -> Kernel:
        base = StationarySquaredExponential([0.5 + 0.2 * d for d in range(num_dims)], batch_shape=batch_shape)
        return ReweightedKernel(base, *self._anchors(), **kwargs)


class TestTwiceReweighted(TestReweighted):
    def create_kernel_no_ard(self, **kwargs) -> Kernel:
        options = {"active_dims": kwargs.pop("active_dims", None)}
        return ReweightedKernel(super().create_kernel_no_ard(**kwargs), *self._anchors(), **options)

    def create_kernel_ard(self, num_dims: int, **kwargs) -> Kernel:
        return ReweightedKernel(super().create_kernel_ard(num_dims, **kwargs), *self._anchors())


def test_batches_of_parameters_have_a_kernel_each() -> None:
    x, anchors, alpha = table(5, 2), table(3, 2, seed=1), torch.tensor([1.0, -0.5, 0.3])
    lengthscales = torch.tensor([[[0.4]], [[0.9]]], dtype=torch.float64)
    batch = ReweightedKernel(SquaredExponential(lengthscales, batch_shape=torch.Size([2])), anchors, alpha)
    dense, diagonal = batch(x).to_dense(), batch(x, diag=True)
    assert dense.shape == (2, 5, 5)
    for row in range(2):
        single = ReweightedKernel(SquaredExponential(lengthscales[row, 0, 0]), anchors, alpha)(x).to_dense()
        torch.testing.assert_close(dense[row], single)
        torch.testing.assert_close(diagonal[row], single.diagonal())
        torch.testing.assert_close(batch[row](x).to_dense(), single)
    assert batch.evaluate_m_kernel(x, x, x, x).shape == (2, 5, 5, 5, 5)
    assert batch.compute_weights(3).shape == (2, 10)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SquaredExponential([0.5, 0.8]),
        lambda: Polynomial(3, 1.0),
        lambda: ReweightedKernel(SquaredExponential(0.7), table(8, 2, seed=4), table(8, seed=5) * 3),
    ],
    ids=["squared exponential", "polynomial", "reweighted"],
)
# Posterior covariances of kernels of low rank are singular; linear_operator says so when it samples.
@pytest.mark.filterwarnings("ignore:A not p.d.:linear_operator.utils.warnings.NumericalWarning")
def test_drops_into_a_botorch_model(make) -> None:
    x = table(12, 2, low=0.0, high=1.0)
    y = (x[:, :1] * 4).sin() + x[:, 1:]
    model = SingleTaskGP(x, y, covar_module=ScaleKernel(make()))
    assert all(parameter.dtype == torch.float64 for parameter in model.parameters())
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    candidates = table(6, 1, 2, seed=7, low=0.0, high=1.0).requires_grad_()
    value = LogExpectedImprovement(model, best_f=y.max())(candidates)
    gradient = torch.autograd.grad(value.sum(), candidates)[0]
    assert value.shape == (6,)
    assert torch.isfinite(gradient).all()
    assert gradient.abs().sum() > 0
    fantasies = model.condition_on_observations(candidates[:, 0].detach(), y[:6])
    assert torch.isfinite(fantasies.posterior(x).variance).all()
    assert model.posterior(x).rsample(torch.Size([3])).shape == (3, 12, 1)


def test_batched_train_data_work() -> None:
    x = table(3, 6, 2, low=0.0, high=1.0)
    y = x.sum(-1, keepdim=True)
    covariance = ScaleKernel(SquaredExponential(0.5, batch_shape=torch.Size([3])), batch_shape=torch.Size([3]))
    with gpytorch.settings.fast_computations(False, False, False):
        model = SingleTaskGP(x, y, covar_module=covariance)
        assert model.posterior(table(3, 4, 2, low=0.0, high=1.0)).mean.shape == (3, 4, 1)
