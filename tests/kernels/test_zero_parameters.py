"""ν = 0, which Table 1 allows: the homogeneous polynomial, and constants."""

from copy import deepcopy
from functools import partial
from math import factorial
from pathlib import Path

import pandas as pd
import pytest
import torch

from support import reference
from support.cases import number, table
from tunedprior import WeightPrior, pretrain
from tunedprior.beliefs import FixedReweightedKernel, MatchedKernel
from tunedprior.kernels import Exponential, FreeKernel, Polynomial, ReweightedKernel, Sinh, WithBias
from tunedprior.machines import LeastSquares, SupportVectorClassifier, select

POLYNOMIAL = partial(reference.polynomial, degree=2, offset=0.0)
ZEROS = [
    (lambda: Polynomial(2, number(0.0), num_inputs=2), POLYNOMIAL, lambda q: float(q == 2)),
    (lambda: Polynomial(0, number(0.0), num_inputs=2), lambda _points: 1.0, lambda q: float(q == 0)),
    (lambda: Exponential(number(0.0), num_inputs=2), lambda _points: 1.0, lambda q: float(q == 0)),
    (lambda: Sinh(number(0.0), num_inputs=2), lambda _points: 0.0, lambda _q: 0.0),
]
IDS = ["quadratic", "constant", "exponential", "sinh"]


@pytest.mark.parametrize(("make", "loop", "xi"), ZEROS, ids=IDS)
def test_kernel_features_and_weights_equal_loops(make, loop, xi) -> None:
    kernel, xs = make(), [table(2, 2, seed=k) for k in range(4)]
    for tables in (xs[:2], xs):
        values = kernel.evaluate_m_kernel(*tables)
        for choice, expected in reference.every_choice(loop, [x.tolist() for x in tables]).items():
            assert values[choice].item() == pytest.approx(expected, abs=1e-14)
    squares = [
        xi(sum(index)) * factorial(sum(index)) / factorial(index[0]) / factorial(index[1])
        for index in kernel.list_multi_indices(3).tolist()
    ]
    assert kernel.compute_weights(3).square().tolist() == pytest.approx(squares)
    implied = kernel.evaluate_implied_features(xs[0], 3, m=2)
    torch.testing.assert_close(implied @ implied.mT, kernel(xs[0]).to_dense())


@pytest.mark.parametrize(("make", "loop", "xi"), ZEROS, ids=IDS)
def test_gradients_are_finite_and_zero_stays_zero(make, loop, xi) -> None:  # noqa: ARG001  # one list of cases
    kernel, x = make(), table(3, 2).requires_grad_()
    kernel(x).to_dense().sum().backward()
    assert torch.isfinite(x.grad).all()
    assert kernel.tuned_parameter is None
    assert [name for name, parameter in kernel.named_parameters() if parameter.requires_grad] == []
    copied = deepcopy(kernel)
    copied.load_state_dict(kernel.state_dict())
    torch.testing.assert_close(copied.float()(x.detach().float()).to_dense().double(), kernel(x.detach()).to_dense())


def xor() -> tuple[torch.Tensor, torch.Tensor]:
    corners = torch.tensor([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    return corners, torch.tensor([-1.0, 1.0, 1.0, -1.0], dtype=torch.float64)


@pytest.mark.parametrize("machine", [SupportVectorClassifier(1.0), LeastSquares(1e-9)], ids=lambda m: type(m).__name__)
def test_machines_learn_and_the_theorem_holds(machine) -> None:
    corners, labels = xor()
    fit = machine.fit(Polynomial(2, number(0.0)), corners, labels)
    assert fit(corners).tolist() == pytest.approx(labels.tolist())
    kernel = fit.make_reweighted_kernel()
    # Only x₀x₁ has a weight: τ² = 2 and s = Σ_j α_j x₀x₁ = -½.
    assert kernel.compute_weights(2).tolist() == pytest.approx([0, 0, 0, 0, -(0.5**0.5), 0], abs=1e-8)
    x = table(5, 2)
    torch.testing.assert_close(kernel(x).to_dense(), 0.5 * torch.outer(x.prod(1), x.prod(1)), rtol=1e-6, atol=1e-9)
    for belief in (FixedReweightedKernel, MatchedKernel):
        found = belief(fit.kernel, corners, fit.alpha, by_features=True)
        expected = kernel(x).to_dense() * (1 if belief is FixedReweightedKernel else 2)
        torch.testing.assert_close(found(x).to_dense(), expected, rtol=1e-5, atol=1e-8)


def test_selection_leaves_it_at_zero_and_it_is_stored(tmp_path: Path) -> None:
    X = table(12, 2)
    chosen = select(LeastSquares(1.0), Polynomial(2, 0.0), X, X[:, 0] * X[:, 1])
    assert chosen.kernel.offset.tolist() == [0.0]
    assert chosen.error < 1e-6
    old = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": X[:, 0] * X[:, 1]})
    prior = pretrain(old, {"a": (-1.0, 1.0), "b": (-1.0, 1.0)}, kernel=Polynomial(2, 0.0))
    prior.save(tmp_path / "zero.prior")
    again = WeightPrior.load(tmp_path / "zero.prior")
    torch.testing.assert_close(again.make_kernel()(X).to_dense(), prior.make_kernel()(X).to_dense())


@pytest.mark.parametrize("wrap", [WithBias, lambda base: ReweightedKernel(base, table(3, 2), table(3, seed=1))])
def test_kernels_made_from_it(wrap) -> None:
    kernel: FreeKernel = wrap(Polynomial(2, number(0.0), num_inputs=2))
    x = table(3, 2, seed=5)
    weighted = kernel.evaluate_features(x, 2) * kernel.compute_weights(2)
    torch.testing.assert_close(weighted @ weighted.mT, kernel(x).to_dense())
