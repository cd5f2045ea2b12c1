"""Least squares without α: against the dual, in blocks, within its memory, and what is learnt from many rows."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from cases import number, table
from test_theorem import LargestTensor
from tunedprior import Optimizer, WeightPrior, old_fits, pretrain
from tunedprior.errors import FileFormatError
from tunedprior.kernels import (
    Aligned,
    DirectProduct,
    Exponential,
    Matched,
    Polynomial,
    ReweightedBelief,
    SquaredExponential,
    Uncertain,
)
from tunedprior.kernels.features import Explicit
from tunedprior.machines import LeastSquares, leave_one_out_error, primal
from tunedprior.machines.primal import FeatureMap, NormalEquations, PrimalFit
from tunedprior.machines.selection import Selection
from tunedprior.old_fits import BELIEFS, OldFit, StreamedFit, fits
from tunedprior.pretrain import _fit_without_alpha
from tunedprior.priors import PRIORS
from tunedprior.surrogates import TunedPrior
from tunedprior.validation import few_or_all

LAM = 0.05
SPACE = {"a": (0.0, 10.0), "b": (0.0, 1.0)}


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """Features are left out only where they are rounding."""
    monkeypatch.setattr(primal, "_NEGLIGIBLE", 1e-14)


def truth(x: torch.Tensor) -> torch.Tensor:
    return (3 * x[:, 0] + 0.5).sin() * (2 * x[:, 1]).cos() + x[:, 1] / 2


def rows(count: int, noise: float = 0.1) -> tuple[torch.Tensor, torch.Tensor]:
    x = table(count, 2, seed=3, low=-1, high=1)
    return x, truth(x) + noise * table(count, seed=4)


def kernel(lengthscale: float = 0.9) -> SquaredExponential:
    return SquaredExponential(number(lengthscale)).requires_grad_(False)


def equations(x: torch.Tensor, y: torch.Tensor, most: int = 1000) -> NormalEquations:
    return NormalEquations.of(FeatureMap.of(kernel(), x, most), x, y)


# -- against the dual ----------------------------------------------------------------------------------


@pytest.mark.usefixtures("complete")
def test_predictions_weights_and_amplitude_are_those_of_the_dual() -> None:
    (x, y), z = rows(70), table(9, 2, seed=8, low=-1, high=1)
    fit, trained = equations(x, y).solve(LAM), LeastSquares(LAM).fit(kernel(), x, y)
    torch.testing.assert_close(fit(z), trained(z), rtol=0, atol=1e-8)
    torch.testing.assert_close(fit.weights, fit.map(x) @ trained.alpha, rtol=0, atol=1e-8)
    assert fit.signal == pytest.approx(float(y @ trained.alpha) / 70, rel=1e-8)
    assert fit.error(x, y) == pytest.approx(float((LAM * trained.alpha).square().mean()), rel=1e-8)
    assert fit.leave_one_out_error(x, y) == pytest.approx(
        leave_one_out_error(LeastSquares(LAM), kernel(), x, y), rel=1e-8
    )


@pytest.mark.usefixtures("complete")
def test_what_is_determined_is_what_the_dual_says() -> None:
    (x, y), z = rows(70), table(9, 2, seed=8, low=-1, high=1)
    fit, base = equations(x, y).solve(LAM), kernel()
    cross = base.m_kernel(x, z)
    left_open = base.m_kernel(z, z) - cross.mT @ torch.linalg.solve(base.m_kernel(x, x) + LAM * torch.eye(70), cross)
    phi = fit.map(z)
    unknown = torch.eye(len(fit.map)) - fit.determined()
    torch.testing.assert_close(phi.mT @ unknown @ phi, left_open, rtol=0, atol=1e-8)
    torch.testing.assert_close(fit.undetermined(), unknown.diagonal(), rtol=1e-8, atol=1e-12)


@pytest.mark.usefixtures("complete")
def test_evidence_differs_between_lambdas_as_that_of_the_dual() -> None:
    x, y = rows(70)
    gram, normal = kernel().m_kernel(x, x), equations(x, y)

    def dual(lam: float) -> float:
        ridge = gram + lam * torch.eye(70)
        return -float(torch.logdet(ridge) / 2 + 35 * (y @ torch.linalg.solve(ridge, y)).log())

    for lam in (1e-3, 0.1, 3.0):
        expected = dual(lam) - dual(LAM)
        assert normal.log_evidence(lam) - normal.log_evidence(LAM) == pytest.approx(expected, rel=1e-8)


def test_leave_one_out_equals_refits() -> None:
    x, y = rows(25)
    fit = equations(x, y, most=12).solve(LAM)
    phi, response, total = fit.map(x).numpy().T, y.numpy(), 0.0
    assert phi.shape == (25, 12)
    for out in range(25):
        rest = np.arange(25) != out
        gram = phi[rest].T @ phi[rest] + LAM * np.eye(12)
        total += (response[out] - phi[out] @ np.linalg.solve(gram, phi[rest].T @ response[rest])) ** 2
    assert fit.leave_one_out_error(x, y) == pytest.approx(total / 25, rel=1e-9)


def test_a_kernel_that_ends_has_all_its_features() -> None:
    (x, y), base = rows(30), Polynomial(2, number(1.0)).requires_grad_(False)
    feature_map = FeatureMap.of(base, x, 100)
    assert len(feature_map) == 6
    assert feature_map.missing < 1e-12
    torch.testing.assert_close(feature_map(x).mT @ feature_map(x), base.m_kernel(x, x))
    fit = NormalEquations.of(feature_map, x, y).solve(LAM)
    torch.testing.assert_close(fit(x), LeastSquares(LAM).fit(base, x, y)(x), rtol=1e-9, atol=1e-10)


def test_more_features_miss_less() -> None:
    x, _ = rows(50)
    missing = [FeatureMap.of(kernel(), x, most).missing for most in (1, 5, 20, 1000)]
    assert missing == sorted(set(missing), reverse=True)
    assert missing[-1] <= primal._NEGLIGIBLE


# -- in blocks -----------------------------------------------------------------------------------------


def test_in_blocks_it_is_the_same_as_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = rows(100)
    whole = equations(x, y)
    fit = whole.solve(LAM)
    expected = fit(x), fit.leave_one_out_error(x, y)
    monkeypatch.setattr(primal, "_ENTRIES", {"cpu": 7 * len(fit.map)})
    monkeypatch.setattr(primal, "_BLOCK", 16)
    assert len(list(fit.map.blocks(x, y))) == 15
    parts = NormalEquations.of(whole.map, x, y)
    torch.testing.assert_close(parts.gram, whole.gram, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(parts.moment, whole.moment, rtol=1e-12, atol=1e-13)
    assert (parts.square, parts.count) == (whole.square, 100)
    again = parts.solve(LAM)
    torch.testing.assert_close(again(x), expected[0], rtol=1e-9, atol=1e-10)
    assert again.leave_one_out_error(x, y) == pytest.approx(expected[1], rel=1e-9)
    monkeypatch.setattr(primal, "_ENTRIES", {"cpu": 1})  # a row at a time
    torch.testing.assert_close(again(x[:5]), expected[0][:5], rtol=1e-9, atol=1e-10)


def test_memory_holds_a_block_and_the_normal_equations_but_never_all_features(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = rows(20_000)
    feature_map = FeatureMap.of(kernel(), x, 100)
    monkeypatch.setattr(primal, "_ENTRIES", {"cpu": 2**13})
    with LargestTensor() as mode:
        normal = NormalEquations.of(feature_map, x, y)
        fit = normal.solve(LAM)
        fit.leave_one_out_error(x, y)
        normal.log_evidence(LAM)
    size = len(feature_map)
    assert size * len(x) > 40 * 2**13
    assert mode.entries <= max(size**2, 2**13)
    assert fit.error(x, y) < 0.01


# -- beliefs -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("complete")
@pytest.mark.parametrize("name", BELIEFS)
def test_beliefs_of_many_rows_are_the_exact_ones(name: str) -> None:
    x, y = rows(80)
    lengthscale = torch.tensor([0.8, 1.1], dtype=torch.float64)
    dual = OldFit.at(x, y, lengthscale)
    streamed = StreamedFit.at(FeatureMap.of(dual.kernel, x, 512), x, y)
    assert streamed.fit.lam == pytest.approx(dual.lam)
    given = dual.kernel, x, dual.alpha
    exact = {
        "aligned": lambda: Aligned(*given, dual.lam, by_features=False),
        "matched": lambda: Matched(*given, by_features=False),
        "uncertain": lambda: Uncertain(*given, dual.lam, by_features=False),
        "reweighted": lambda: ReweightedBelief(*given, by_features=False),
    }[name]()
    z, batch = table(6, 2, seed=8, low=-1, high=1), table(3, 4, 2, seed=9, low=-1, high=1)
    belief = streamed.belief(name)
    torch.testing.assert_close(belief(z, batch).to_dense(), exact(z, batch).to_dense(), rtol=0, atol=1e-6)
    torch.testing.assert_close(belief(z).to_dense(), exact(z).to_dense(), rtol=0, atol=1e-6)
    torch.testing.assert_close(belief(z, diag=True), exact(z, diag=True), rtol=0, atol=1e-6)
    torch.testing.assert_close(streamed.expected(z), dual.expected(z), rtol=0, atol=1e-6)
    torch.testing.assert_close(streamed.lengthscale(2), dual.lengthscale(2))


@pytest.mark.parametrize("name", BELIEFS)
def test_beliefs_of_the_features_that_matter_are_close_and_covariances(name: str) -> None:
    x, y = rows(80)
    lengthscale = torch.tensor([0.8, 1.1], dtype=torch.float64)
    z = table(12, 2, seed=8, low=-1, high=1)
    dual = OldFit.at(x, y, lengthscale)
    gram = StreamedFit.at(FeatureMap.of(dual.kernel, x, 512), x, y).belief(name)(z).to_dense()
    exact = dual.belief(name)(z).to_dense()
    largest = exact.diagonal().max().item()
    torch.testing.assert_close(gram, exact, rtol=0, atol=1e-2 * largest)
    assert torch.linalg.eigvalsh(gram).min() > -1e-9 * largest


def test_readings_of_many_rows_are_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_fits, "MOST_ROWS_WITH_ALPHA", 60)
    monkeypatch.setattr(old_fits, "_ROWS_FOR_LENGTHSCALES", 40)
    x, y = rows(90)
    assert all(isinstance(reading, OldFit) for reading in fits(x[:60], y[:60]))
    readings = fits(x, y)
    assert all(isinstance(reading, StreamedFit) for reading in readings)
    z = table(50, 2, seed=8, low=-0.9, high=0.9)
    assert (readings[0].expected(z) - truth(z)).abs().mean() < 0.05


# -- from old data to a prior --------------------------------------------------------------------------


def old_data(count: int, noise: float = 0.1) -> pd.DataFrame:
    x, y = rows(count, noise)
    return pd.DataFrame({"a": 5 * (x[:, 0] + 1), "b": (x[:, 1] + 1) / 2, "y": 7 + 2 * y})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ard": True},
        {"kernel": Polynomial(5)},
        {"kernel": Exponential()},
        {"kernel": DirectProduct([1.0, 1.0, 0.5])},
    ],
    ids=["squared exponential", "ARD", "polynomial", "exponential", "direct product"],
)
def test_a_saved_prior_without_alpha_is_the_same_prior(options: dict, tmp_path: Path) -> None:
    prior = pretrain(old_data(150), SPACE, rows_with_alpha=50, **options)
    prior.save(tmp_path / "prior.tp")
    again = WeightPrior.load(tmp_path / "prior.tp")
    x = prior.reach * table(20, 2, low=-1, high=1)
    assert isinstance(prior.fit, PrimalFit)
    assert isinstance(again.kernel(), Explicit)
    assert len(again.alpha) == 0
    torch.testing.assert_close(again.kernel()(x).to_dense(), prior.kernel()(x).to_dense(), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(again.fit(x), prior.fit(x), rtol=1e-12, atol=1e-14)
    assert torch.equal(again.fit.factor, prior.fit.factor)
    assert torch.equal(again.anchors, prior.anchors)
    assert (again.fit.signal, again.fit.lam, again.fit.map.missing) == (
        prior.fit.signal,
        prior.fit.lam,
        prior.fit.map.missing,
    )
    assert (again.error, again.vanishes) == (prior.error, False)


def test_labels_in_large_number_are_told_apart() -> None:
    old = old_data(200, noise=0.0)
    good = old["y"] > old["y"].median()
    prior = pretrain(old.assign(y=np.where(good, "pass", "fail")), SPACE, rows_with_alpha=60)
    assert prior.machine == "LeastSquares"
    assert prior.fit is not None
    assert (prior.response_shift, prior.response_scale) == (0.0, 1.0)
    x = prior.inputs(prior.box.codes(old[["a", "b"]]))
    right = (prior.fit(x) > 0) == torch.tensor(good)
    assert right.double().mean() > 0.9


def test_repeated_rows_are_averaged_unless_there_are_many_settings() -> None:
    x, y = table(10, 2).repeat(3, 1), torch.arange(30.0, dtype=torch.float64)
    few = few_or_all(x, y, False, 10)
    assert [len(part) for part in few] == [10, 10]
    every = few_or_all(x, y, False, 9)
    assert torch.equal(every[0], x)
    assert torch.equal(every[1], y)


@pytest.mark.parametrize("start", [2.4, 0.15], ids=["too long", "too short"])
def test_held_out_rows_correct_a_bad_lengthscale(start: float) -> None:
    x = table(300, 2, seed=3, low=-1, high=1)
    y = (6 * x[:, 0]).sin() + (5 * x[:, 1]).cos() + 0.3 * table(300, seed=4)
    begun = Selection(LeastSquares(0.1), kernel(start), 1.0)
    fit, error = _fit_without_alpha(begun, x, y, (1e-2, 10.0), 0)
    stayed = NormalEquations.of(FeatureMap.of(kernel(start), x, 512), x, y).solve(0.1)
    assert error < stayed.leave_one_out_error(x, y)
    assert abs(math.log(fit.map.kernel.lengthscale.item() / 0.6)) < abs(math.log(start / 0.6))
    assert 1e-2 <= fit.lam <= 10
    z = table(200, 2, seed=5, low=-1, high=1)
    clean = (6 * z[:, 0]).sin() + (5 * z[:, 1]).cos()
    assert fit.error(z, clean) < stayed.error(z, clean)


@pytest.mark.parametrize("prior", [prior for prior in PRIORS if prior != "uninformed"])
def test_an_optimizer_with_many_old_rows_knows_their_function(prior: str) -> None:
    old = old_data(650)
    opt = Optimizer(SPACE, old, prior=prior, initial=2, seed=1)
    for _ in range(4):
        setting = opt.ask()
        assert 0 <= setting["a"] <= 10
        assert 0 <= setting["b"] <= 1
        x = torch.tensor([[setting["a"] / 5 - 1, 2 * setting["b"] - 1]], dtype=torch.float64)
        opt.tell(setting, float(truth(x)))
    z = table(40, 2, seed=8, low=-0.9, high=0.9)
    settings = pd.DataFrame({"a": 5 * (z[:, 0] + 1), "b": (z[:, 1] + 1) / 2})
    assert np.isfinite(opt.predict(settings).to_numpy()).all()
    if isinstance(opt.surrogate, TunedPrior):
        expected = opt.surrogate.prior.fit(z)
    else:
        expected = opt.surrogate.known[0].readings[0].expected(z)
    assert np.corrcoef(expected, truth(z))[0, 1] > 0.99
    if prior in ("average", "aligned"):
        assert np.corrcoef(opt.predict(settings)["mean"], truth(z))[0, 1] > 0.97


def test_a_file_that_lacks_a_part_is_refused(tmp_path: Path) -> None:
    prior = pretrain(old_data(150), SPACE, rows_with_alpha=50)
    prior.save(tmp_path / "prior")
    with np.load(tmp_path / "prior") as archive:
        arrays = {name: archive[name] for name in archive.files if name != "factor"}
    with (tmp_path / "damaged").open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(FileFormatError, match="lacks 'factor'"):
        WeightPrior.load(tmp_path / "damaged")


def test_whoever_moves_a_priors_kernel_moves_their_own() -> None:
    prior = pretrain(old_data(150), SPACE, rows_with_alpha=50)
    assert prior.kernel() is not prior.kernel()
