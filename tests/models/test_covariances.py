"""Covariances of the objective: from codes to kernel inputs, mean variance 1, and a unit diagonal."""

import decimal

import pytest
import torch

from support import reference
from support.builders import SPACE, box_of, learnt, vector
from support.cases import number, table
from tunedprior.beliefs import MatchedKernel
from tunedprior.beliefs.reweighted import FixedReweightedKernel
from tunedprior.errors import InputError
from tunedprior.kernels import Linear, SquaredExponential
from tunedprior.kernels.anchors import compute_mean_variance
from tunedprior.models.gaussian_process import KernelInputs, UnitDiagonal, UnitMeanVariance, add_amplitude


def kernel() -> MatchedKernel:
    base = SquaredExponential(number(0.7))
    return MatchedKernel(base, *learnt(base, 6, 2))


def test_codes_become_inputs_between_two_numbers() -> None:
    X = vector([[-1.0, 0.0], [1.0, 0.5]])
    assert KernelInputs(box_of(SPACE), -0.9, 0.9).transform(X).tolist() == [[-0.9, 0.0], [0.9, 0.45]]
    assert KernelInputs(box_of(SPACE), 0.0, 1.0).transform(X).tolist() == [[0.0, 0.5], [1.0, 0.75]]


def test_the_mean_variance_over_the_box_becomes_one() -> None:
    size = compute_mean_variance(kernel(), 2)
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


def exact_kernel(lengthscale: float = 0.7) -> FixedReweightedKernel:
    base = SquaredExponential(number(lengthscale))
    anchors, alpha = learnt(base, 6, 2)[:2]
    return FixedReweightedKernel(base, anchors, alpha, by_features=False)


def test_a_unit_diagonal_leaves_correlations() -> None:
    x, z = table(5, 2), table(3, 2, seed=1)
    unit = UnitDiagonal(exact_kernel())
    torch.testing.assert_close(unit(x, diag=True), torch.ones(5).double())
    roots = [exact_kernel()(points, diag=True).sqrt() for points in (x, z)]
    torch.testing.assert_close(unit(x, z).to_dense(), exact_kernel()(x, z).to_dense() / torch.outer(*roots))
    batch = x.expand(4, 5, 2)
    torch.testing.assert_close(unit(batch).to_dense()[2], unit(x).to_dense())


@pytest.mark.parametrize("lengthscale", [0.3, 0.1, 0.06])
def test_correlations_are_right_where_the_variance_is_next_to_nothing(lengthscale: float) -> None:
    """Against the Theorem's sum in fifty digits; features would be right to a share of the mean variance alone."""
    x = vector([[0.05, -0.1], [0.6, 0.7], [0.95, -0.9], [-0.97, -0.96]])
    kernel = exact_kernel(lengthscale)
    with decimal.localcontext() as context:
        context.prec = 50
        digits = [[[decimal.Decimal(value) for value in row] for row in rows.tolist()] for rows in (kernel.anchors, x)]
        alpha = [decimal.Decimal(value) for value in kernel.alpha.tolist()]
        ell = decimal.Decimal(kernel.base.lengthscale.item())
        four = reference.decimal_kernel("squared exponential", ell)
        exact = [[reference.reweighted(four, [a, b], digits[0], alpha) for b in digits[1]] for a in digits[1]]
        roots = [exact[i][i].sqrt() for i in range(len(x))]
        correlations = [[float(exact[i][j] / roots[i] / roots[j]) for j in range(len(x))] for i in range(len(x))]
    assert min(exact[i][i] for i in range(len(x))) < max(exact[i][i] for i in range(len(x))) / 1000
    torch.testing.assert_close(UnitDiagonal(kernel)(x).to_dense(), vector(correlations), rtol=0, atol=1e-9)
    for i, bound in enumerate(kernel.bound_rounding_error(x).tolist()):
        assert abs(kernel(x[i : i + 1], diag=True).item() - float(exact[i][i])) < 100 * bound
        assert 0 < bound < 1e-6 * float(exact[i][i])


def test_rounding_is_not_magnified() -> None:
    """Coefficients that cancel: the variance is all rounding error, and stays next to nothing."""
    base, anchors = SquaredExponential(number(3.0)), vector([[0.1, 0.0], [0.1 + 1e-9, 0.0]])
    cancelling = FixedReweightedKernel(base, anchors, vector([1e9, -1e9]), by_features=True, tolerance=0.9)
    cancelling.explicit = None  # summed over pairs, which its own check would refuse
    assert UnitDiagonal(cancelling)(vector([[0.5, 0.5], [-0.3, 0.9]]), diag=True).abs().max() < 0.1


def test_a_unit_diagonal_takes_a_kernel_that_knows_its_rounding() -> None:
    with pytest.raises(InputError, match="kernel must be one that is exact but for rounding, FixedReweighted; got"):
        UnitDiagonal(kernel())


def test_where_a_kernel_vanishes_the_prior_is_certain_of_zero() -> None:
    linear = FixedReweightedKernel(Linear().double(), table(3, 2), vector([0.4, -0.3, 0.2]), by_features=False)
    unit, origin = UnitDiagonal(linear), torch.zeros(1, 2).double()
    assert unit(origin, diag=True).item() == 0.0
    assert unit(origin, table(3, 2)).to_dense().abs().max() == 0.0
    assert unit(table(3, 2), diag=True).tolist() == pytest.approx([1.0] * 3)


def test_an_amplitude_is_all_that_is_left_to_learn() -> None:
    covariance = add_amplitude(UnitMeanVariance(kernel(), 2.0))
    names = [name for name, parameter in covariance.named_parameters() if parameter.requires_grad]
    assert names == ["raw_outputscale"]
    assert covariance.outputscale.item() == 1.0
