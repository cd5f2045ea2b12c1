"""Regret bounds: their terms against loops and by hand, and the table against what is stored."""

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.problems.functions import FUNCTIONS
from benchmarks.problems.kinds import old_data
from benchmarks.problems.pools import pool_of
from benchmarks.studies import regret_bounds
from benchmarks.studies.regret_bounds import GREEDY_SHARE, NAMES, NOISE_VARIANCE, OLD_DATA, PRIORS, SEEDS, Terms
from support import reference
from support.cells import tables
from support.claims_regret import IN_A_CELL, relative, terms
from support.prose import agrees

FUNCTION = FUNCTIONS[NAMES[0]]


def covariance_of(size: int, seed: int) -> np.ndarray:
    """A covariance of smooth functions, with variances that differ."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-1, 1, size))
    height = rng.uniform(0.2, 2.0, size)
    return height[:, None] * height * np.exp(-((x[:, None] - x) ** 2) / 0.3)


def test_greedy_gains_are_those_of_loops() -> None:
    gram = covariance_of(7, seed=0)
    found = regret_bounds.find_greedy_gains(gram, 9, 0.05)  # more trials than settings: some are measured again
    assert found == pytest.approx(reference.greedy_information_gains(gram.tolist(), 9, 0.05), rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_largest_gain_is_within_the_greedy_share(seed: int) -> None:
    gram = covariance_of(6, seed)
    greedy = regret_bounds.find_greedy_gains(gram, 4, 0.05)[-1]
    largest = reference.largest_information_gain(gram.tolist(), 4, 0.05)
    assert greedy <= largest * (1 + 1e-12)
    assert largest <= greedy / GREEDY_SHARE


def test_fits_by_ridges_are_those_of_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regret_bounds, "_RIDGES", np.array([1e-3, 0.3]))
    gram, f = covariance_of(8, seed=2), np.random.default_rng(3).standard_normal(8)
    *fits, nothing = regret_bounds.fit_by_ridges(gram, f)
    assert nothing == (0.0, np.abs(f).max())
    largest = np.linalg.eigvalsh(gram)[-1]
    for share, found in zip((1e-3, 0.3), fits, strict=True):
        assert found == pytest.approx(reference.ridge_norm_and_miss(gram.tolist(), f.tolist(), share * largest))


def test_one_trial_at_one_setting_costs_twice_its_width() -> None:
    """σ₀² = κ and γ₁ = ½ log(1 + κ/σ²), so that √(C₁γ₁) is 2√κ: the inequality for any κ is an equality."""
    for largest in (1.0, 5.0, 300.0):
        assert Terms(np.log1p(largest / NOISE_VARIANCE) / 2, largest).size == pytest.approx(2 * np.sqrt(largest))
    plain = Terms(gain=1.0, largest=1.0)
    assert plain.size == pytest.approx(np.sqrt(8 / np.log(1 + 1 / NOISE_VARIANCE)))  # Srinivas et al., Theorem 1


@pytest.mark.parametrize("seed", range(3))
def test_no_run_of_gp_ucb_exceeds_the_agnostic_bound(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With noise and an objective outside the RKHS: intervals hold it, widths add up as in the proof."""
    monkeypatch.setattr(regret_bounds, "TRIALS", 12)
    gram, rng = covariance_of(20, seed), np.random.default_rng(seed)
    f = rng.standard_normal(20)
    gain = regret_bounds.find_greedy_gains(gram, 12, NOISE_VARIANCE)[-1] / GREEDY_SHARE
    for fit in regret_bounds.fit_by_ridges(gram, f)[::20]:
        terms = Terms(gain, gram.diagonal().max(), *fit)
        chosen: list[int] = []
        y: list[float] = []
        widths = regret = 0.0
        for _ in range(12):
            solved = np.linalg.solve(gram[np.ix_(chosen, chosen)] + NOISE_VARIANCE * np.eye(len(y)), gram[chosen])
            mean, variance = np.array(y) @ solved, gram.diagonal() - (gram[chosen] * solved).sum(axis=0)
            deviation = np.sqrt(variance.clip(min=0))
            assert (np.abs(f - mean) <= terms.width * deviation + terms.miss + 1e-9).all()
            best = int((mean + terms.width * deviation).argmax())
            widths, regret = widths + deviation[best] ** 2, regret + f.max() - f[best]
            chosen.append(best)
            y.append(f[best] + np.sqrt(NOISE_VARIANCE) * rng.standard_normal())
        assert widths <= terms.size**2 / 4
        assert regret <= 12 * terms.agnostic


@pytest.mark.slow
def test_flipped_old_data_makes_the_same_kernels() -> None:
    pool = pool_of(FUNCTION, 32, 0).to_numpy()
    for name, prior in PRIORS.items():
        same, flipped = (
            regret_bounds.make_covariance(prior, old_data(kind, FUNCTION, 0), FUNCTION, pool)
            for kind in ("same", "flipped")
        )
        assert np.abs(same - flipped).max() < 1e-6 * same.max(), name
        assert same.diagonal().mean() == pytest.approx(1.0)
        assert np.linalg.eigvalsh(same)[0] > -1e-9 * len(pool), name


def test_half_of_the_box_is_right() -> None:
    right, noise = (old_data(kind, FUNCTION, 3) for kind in ("same", "pure noise"))
    half = regret_bounds.make_old_data("half noise", FUNCTION, 3)
    left = half["x0"] < 0
    assert 10 < left.sum() < 40
    assert (half["y"][left] == right["y"][left]).all()
    assert (half["y"][~left] == noise["y"][~left]).all()


@pytest.mark.slow
def test_the_study_in_small(capsys: pytest.CaptureFixture[str]) -> None:
    main(["regret-bounds", "--smoke"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == [f"| {kind}" for kind in OLD_DATA]
    assert lines[2].split(" | ")[1] == "1.00, 1.00, 1.00"


@pytest.mark.slow
def test_the_table_is_that_of_the_stored_results() -> None:
    head, rows = tables("docs/regret.md")["regret bounds"]
    assert head == ["old data", *PRIORS]
    assert [row[0] for row in rows] == list(OLD_DATA)
    for kind, *cells in rows:
        for prior, cell in zip(PRIORS, cells, strict=True):
            for column, shown in zip(IN_A_CELL, cell.split(", "), strict=True):
                estimate, number = relative(kind, prior, column), shown.strip("*")
                assert agrees(number, estimate.middle), (kind, prior, column, shown)
                mark = shown[: shown.index(number)]
                assert mark in ("", "*", "**")
                # An interval's end that is near 1 may be on either side.
                assert mark == "**" or estimate.high[1] >= 1, (kind, prior, column, shown)
                assert mark != "**" or estimate.high[0] < 1, (kind, prior, column, shown)
                assert mark == "*" or estimate.low[0] <= 1, (kind, prior, column, shown)
                assert mark != "*" or estimate.low[1] > 1, (kind, prior, column, shown)


@pytest.mark.slow
def test_no_function_has_a_range_near_the_bounds() -> None:
    """As the page says: what a trial can lose is far less than the bounds."""
    for name in NAMES:
        for seed in range(SEEDS):
            f = FUNCTIONS[name](pool_of(FUNCTIONS[name], 512, seed).to_numpy())
            assert np.ptp(f) < 6.5 * f.std()
    assert terms()["agnostic bound"].min() > 6.5
