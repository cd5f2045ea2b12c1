"""Least squares without α: against the dual, in blocks, and within its memory."""

from functools import reduce

import numpy as np
import pytest
import torch

from support import reference
from support.builders import LAM, rows_of_ripple
from support.cases import number, table
from support.memory import LargestTensor
from tunedprior.kernels import Polynomial, SquaredExponential
from tunedprior.machines import LeastSquares, compute_loo_error, feature_ridge
from tunedprior.machines.feature_ridge import FeatureMap, NormalEquations


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """Features are left out only where they are rounding."""
    monkeypatch.setattr(feature_ridge, "_NEGLIGIBLE", 1e-14)


def kernel(lengthscale: float = 0.9) -> SquaredExponential:
    return SquaredExponential(number(lengthscale)).requires_grad_(False)


def equations(x: torch.Tensor, y: torch.Tensor, most: int = 1000) -> NormalEquations:
    return NormalEquations.from_rows(FeatureMap.from_largest_features(kernel(), x, most), x, y)


@pytest.mark.usefixtures("complete")
def test_predictions_weights_and_amplitude_are_those_of_the_dual() -> None:
    (x, y), z = rows_of_ripple(70), table(9, 2, seed=8, low=-1, high=1)
    fit, trained = equations(x, y).solve(LAM), LeastSquares(LAM).fit(kernel(), x, y)
    torch.testing.assert_close(fit(z), trained(z), rtol=0, atol=1e-8)
    torch.testing.assert_close(fit.weights, fit.feature_map(x) @ trained.alpha, rtol=0, atol=1e-8)
    assert fit.signal == pytest.approx(float(y @ trained.alpha) / 70, rel=1e-8)
    assert fit.compute_error(x, y) == pytest.approx(float((LAM * trained.alpha).square().mean()), rel=1e-8)
    assert fit.compute_loo_error(x, y) == pytest.approx(compute_loo_error(LeastSquares(LAM), kernel(), x, y), rel=1e-8)


@pytest.mark.usefixtures("complete")
def test_what_is_determined_is_what_the_dual_says() -> None:
    (x, y), z = rows_of_ripple(70), table(9, 2, seed=8, low=-1, high=1)
    fit, base = equations(x, y).solve(LAM), kernel()
    cross = base.evaluate_m_kernel(x, z)
    left_open = base.evaluate_m_kernel(z, z) - cross.mT @ torch.linalg.solve(
        base.evaluate_m_kernel(x, x) + LAM * torch.eye(70), cross
    )
    phi = fit.feature_map(z)
    unknown = torch.eye(len(fit.feature_map)) - fit.compute_determined_matrix()
    torch.testing.assert_close(phi.mT @ unknown @ phi, left_open, rtol=0, atol=1e-8)
    torch.testing.assert_close(fit.compute_undetermined_shares(), unknown.diagonal(), rtol=1e-8, atol=1e-12)


@pytest.mark.usefixtures("complete")
def test_evidence_differs_between_lambdas_as_that_of_the_dual() -> None:
    x, y = rows_of_ripple(70)
    gram, normal = kernel().evaluate_m_kernel(x, x), equations(x, y)

    def dual(lam: float) -> float:
        ridge = gram + lam * torch.eye(70)
        return -float(torch.logdet(ridge) / 2 + 35 * (y @ torch.linalg.solve(ridge, y)).log())

    for lam in (1e-3, 0.1, 3.0):
        expected = dual(lam) - dual(LAM)
        assert normal.compute_log_evidence(lam) - normal.compute_log_evidence(LAM) == pytest.approx(expected, rel=1e-8)


def test_leave_one_out_equals_refits() -> None:
    x, y = rows_of_ripple(25)
    fit = equations(x, y, most=12).solve(LAM)
    phi, response, total = fit.feature_map(x).numpy().T, y.numpy(), 0.0
    assert phi.shape == (25, 12)
    for out in range(25):
        rest = np.arange(25) != out
        gram = phi[rest].T @ phi[rest] + LAM * np.eye(12)
        total += (response[out] - phi[out] @ np.linalg.solve(gram, phi[rest].T @ response[rest])) ** 2
    assert fit.compute_loo_error(x, y) == pytest.approx(total / 25, rel=1e-9)


def test_a_kernel_that_ends_has_all_its_features() -> None:
    (x, y), base = rows_of_ripple(30), Polynomial(2, number(1.0)).requires_grad_(False)
    feature_map = FeatureMap.from_largest_features(base, x, 100)
    assert len(feature_map) == 6
    assert feature_map.missing < 1e-12
    torch.testing.assert_close(feature_map(x).mT @ feature_map(x), base.evaluate_m_kernel(x, x))
    fit = NormalEquations.from_rows(feature_map, x, y).solve(LAM)
    torch.testing.assert_close(fit(x), LeastSquares(LAM).fit(base, x, y)(x), rtol=1e-9, atol=1e-10)


def test_more_features_miss_less() -> None:
    x, _ = rows_of_ripple(50)
    missing = [FeatureMap.from_largest_features(kernel(), x, most).missing for most in (1, 5, 20, 1000)]
    assert missing == sorted(set(missing), reverse=True)
    assert missing[-1] <= feature_ridge._NEGLIGIBLE


def test_in_blocks_it_is_the_same_as_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = rows_of_ripple(100)
    whole = equations(x, y)
    fit = whole.solve(LAM)
    expected = fit(x), fit.compute_loo_error(x, y)
    monkeypatch.setattr(feature_ridge, "_ENTRIES", {"cpu": 7 * len(fit.feature_map)})
    monkeypatch.setattr(feature_ridge, "_BLOCK", 16)
    assert len(list(fit.feature_map.iterate_blocks(x, y))) == 15
    parts = NormalEquations.from_rows(whole.feature_map, x, y)
    torch.testing.assert_close(parts.gram, whole.gram, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(parts.moment, whole.moment, rtol=1e-12, atol=1e-13)
    assert (parts.square, parts.count) == (whole.square, 100)
    again = parts.solve(LAM)
    torch.testing.assert_close(again(x), expected[0], rtol=1e-9, atol=1e-10)
    assert again.compute_loo_error(x, y) == pytest.approx(expected[1], rel=1e-9)
    monkeypatch.setattr(feature_ridge, "_ENTRIES", {"cpu": 1})  # a row at a time
    torch.testing.assert_close(again(x[:5]), expected[0][:5], rtol=1e-9, atol=1e-10)


def test_memory_holds_a_block_and_the_normal_equations_but_never_all_features(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = rows_of_ripple(20_000)
    feature_map = FeatureMap.from_largest_features(kernel(), x, 100)
    monkeypatch.setattr(feature_ridge, "_ENTRIES", {"cpu": 2**13})
    with LargestTensor() as mode:
        normal = NormalEquations.from_rows(feature_map, x, y)
        fit = normal.solve(LAM)
        fit.compute_loo_error(x, y)
        normal.compute_log_evidence(LAM)
    size = len(feature_map)
    assert size * len(x) > 40 * 2**13
    assert mode.entries <= max(size**2, 2**13)
    assert fit.compute_error(x, y) < 0.01


def test_normal_equations_are_those_of_loops_over_rows() -> None:
    x, y = rows_of_ripple(40)
    found = equations(x, y, most=9)
    index = found.feature_map.features.indices.tolist()
    gram, moment = reference.normal_equations(x.tolist(), y.tolist(), index, [0.9, 0.9])
    torch.testing.assert_close(found.gram, torch.tensor(gram, dtype=torch.float64), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(found.moment, torch.tensor(moment, dtype=torch.float64), rtol=1e-12, atol=1e-14)
    weights = torch.tensor(reference.ridge(gram, moment, LAM), dtype=torch.float64)
    torch.testing.assert_close(found.solve(LAM).weights, weights, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("sizes", [(100,), (1, 99), (30, 30, 40), (25,) * 4, (1,) * 100], ids=str)
def test_parts_merge_into_the_whole_in_any_order(sizes: tuple[int, ...]) -> None:
    x, y = rows_of_ripple(100)
    whole = equations(x, y)
    parts = [
        NormalEquations.from_rows(whole.feature_map, *part) for part in zip(x.split(sizes), y.split(sizes), strict=True)
    ]
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(parts))
        merged = reduce(NormalEquations.merge, [parts[k] for k in order])
        torch.testing.assert_close(merged.gram, whole.gram, rtol=1e-12, atol=1e-13)
        assert (merged.count, merged.square) == (100, pytest.approx(whole.square, rel=1e-12))
        torch.testing.assert_close(merged.solve(LAM)(x), whole.solve(LAM)(x), rtol=1e-9, atol=1e-10)


def test_rows_are_added_one_after_the_other() -> None:
    x, y = rows_of_ripple(30)
    whole = equations(x, y)
    found = NormalEquations.from_rows(whole.feature_map, x[:0], y[:0])
    assert (found.count, float(found.gram.abs().max())) == (0, 0.0)
    for point, response in zip(x.split(1), y.split(1), strict=True):
        found = found.add_rows(point, response)
    torch.testing.assert_close(found.gram, whole.gram, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(found.moment, whole.moment, rtol=1e-12, atol=1e-13)
