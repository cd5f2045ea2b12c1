"""Covariances of the objective: from codes to kernel inputs, mean variance 1, and a unit diagonal."""

import pytest
import torch

from support.builders import SPACE, box_of, learnt, vector
from support.cases import number, table
from tunedprior.beliefs import Matched
from tunedprior.kernels import Linear, SquaredExponential
from tunedprior.kernels.box_means import mean_variance
from tunedprior.models.covariances import KernelInputs, UnitDiagonal, UnitMeanVariance, with_amplitude


def kernel() -> Matched:
    base = SquaredExponential(number(0.7))
    return Matched(base, *learnt(base, 6, 2))


def test_codes_become_inputs_between_two_numbers() -> None:
    codes = vector([[-1.0, 0.0], [1.0, 0.5]])
    assert KernelInputs(box_of(SPACE), -0.9, 0.9).transform(codes).tolist() == [[-0.9, 0.0], [0.9, 0.45]]
    assert KernelInputs(box_of(SPACE), 0.0, 1.0).transform(codes).tolist() == [[0.0, 0.5], [1.0, 0.75]]


def test_the_mean_variance_over_the_box_becomes_one() -> None:
    size = mean_variance(kernel(), 2)
    x = table(3000, 2, low=-1.0, high=1.0)
    assert kernel()(x, diag=True).mean().item() == pytest.approx(size, rel=0.05)
    scaled = UnitMeanVariance(kernel(), size)
    torch.testing.assert_close(scaled(x[:5], x[5:9]).to_dense(), kernel()(x[:5], x[5:9]).to_dense() / size)
    torch.testing.assert_close(scaled(x[:5], diag=True), kernel()(x[:5], diag=True) / size)


def test_the_matrix_of_the_training_points_is_kept_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    made, scaled = [], UnitMeanVariance(kernel(), 2.0)
    original = scaled.base.forward
    monkeypatch.setattr(scaled.base, "forward", lambda *args, **more: made.append(1) or original(*args, **more))
    x, z = table(4, 2), table(4, 2, seed=1)
    first = scaled.forward(x, x)
    assert torch.equal(scaled.forward(x, x.clone()), first)
    assert len(made) == 1
    assert not torch.equal(scaled.forward(x, z), first)
    scaled.eval()
    assert torch.equal(scaled.forward(x, x), first)
    assert len(made) == 2
    moved = x.clone().requires_grad_()  # a gradient needs a graph of its own
    assert torch.autograd.grad(scaled.forward(moved, moved).sum(), moved)[0].abs().sum() > 0
    assert len(made) == 3


def test_a_unit_diagonal_leaves_correlations() -> None:
    x, z = table(5, 2), table(3, 2, seed=1)
    unit = UnitDiagonal(kernel(), mean_variance(kernel(), 2))
    torch.testing.assert_close(unit(x, diag=True), torch.ones(5).double())
    roots = [kernel()(points, diag=True).sqrt() for points in (x, z)]
    torch.testing.assert_close(unit(x, z).to_dense(), kernel()(x, z).to_dense() / torch.outer(*roots))
    batch = x.expand(4, 5, 2)
    torch.testing.assert_close(unit(batch).to_dense()[2], unit(x).to_dense())


def test_where_a_kernel_vanishes_the_prior_is_certain_of_zero() -> None:
    unit = UnitDiagonal(Linear().double(), 1.0)
    origin = torch.zeros(1, 2).double()
    assert unit(origin, diag=True).item() == 0.0
    assert unit(origin, table(3, 2)).to_dense().abs().max() == 0.0


def test_an_amplitude_is_all_that_is_left_to_learn() -> None:
    covariance = with_amplitude(kernel(), 2.0)
    names = [name for name, parameter in covariance.named_parameters() if parameter.requires_grad]
    assert names == ["raw_outputscale"]
    assert covariance.outputscale.item() == 1.0
