"""Test functions: published formulas, published optima, and ranges that are really [0, 1]."""

import math
from functools import partial
from itertools import product

import numpy as np
import pytest
from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched
from scipy.ndimage import maximum_filter
from scipy.stats import qmc

from benchmarks.problems.functions import FAILURES, FUNCTIONS, MORE, MORE_FUNCTIONS, PAPER, PARTNERS, SHIFTED, Function
from benchmarks.problems.kinds import KINDS, old_data
from tunedprior.space.search_space import Space

EVERY = FUNCTIONS | MORE_FUNCTIONS | {partner.name: partner for partner in PARTNERS.values()}
#: Domains, least values as the literature prints them, and how exactly it does.
PUBLISHED = {
    "Hölder table": ([(-10, 10)] * 2, -19.2085, 5e-5),
    "Himmelblau": ([(-5, 5)] * 2, 0.0, 1e-6),
    "Ackley": ([(-5, 5)] * 2, 0.0, 1e-6),
    "Styblinski-Tang": ([(-5, 5)] * 2, 2 * -39.16616570377142, 1e-6),
    "eggholder": ([(-512, 512)] * 2, -959.6407, 5e-5),
    "Rastrigin": ([(-5.12, 5.12)] * 2, 0.0, 1e-6),
    "Levi N.13": ([(-10, 10)] * 2, 0.0, 1e-6),
    "Easom": ([(-100, 100)] * 2, -1.0, 1e-6),
    "Branin": ([(-5, 10), (0, 15)], 0.397887, 1e-6),
    "six-hump camel": ([(-3, 3), (-2, 2)], -1.0316, 5e-5),
    "Hartmann-3": ([(0, 1)] * 3, -3.86278, 5e-6),
    "Hartmann-6": ([(0, 1)] * 6, -3.32237, 5e-6),
    "Styblinski-Tang-3": ([(-5, 5)] * 3, 3 * -39.16616570377142, 1e-6),
    "Styblinski-Tang-6": ([(-5, 5)] * 6, 6 * -39.16616570377142, 1e-6),
}


def test_every_function_has_its_place() -> None:
    assert set(FUNCTIONS) == {*PAPER, *SHIFTED, *FAILURES}
    assert set(MORE_FUNCTIONS) == set(PARTNERS) == set(MORE)
    assert [function.num_inputs for function in MORE_FUNCTIONS.values()] == [2, 2, 3, 6]
    assert {*PUBLISHED, *SHIFTED} == set(EVERY)


@pytest.mark.parametrize("name", PUBLISHED)
def test_optima_are_the_published_ones(name: str) -> None:
    function, (domain, least, tolerance) = EVERY[name], PUBLISHED[name]
    assert list(function.domain) == domain
    assert function.lowest == pytest.approx(least, abs=tolerance)
    for minimiser in function.minimisers:
        assert function.formula(np.array(minimiser)) == pytest.approx(function.lowest, abs=1e-9)


@pytest.mark.parametrize("function", EVERY.values(), ids=EVERY)
def test_ranges_are_unit_intervals(function: Function) -> None:
    np.testing.assert_allclose(function(function.best_settings), 1.0, atol=1e-9)
    assert all(map(Space.parse(function.space).allows, as_settings(function.best_settings)))
    low, high = extremes(function)
    assert low == pytest.approx(0.0, abs=1e-6)
    assert high == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", MORE)
@pytest.mark.parametrize("kind", KINDS)
def test_old_data_has_as_many_inputs_as_the_function(name: str, kind: str) -> None:
    function = MORE_FUNCTIONS[name]
    old = old_data(kind, function, seed=1)
    assert list(old.columns) == [*function.space, "y"]
    assert len(old) == 25 * function.num_inputs
    assert len(old_data(kind, function, seed=1, rows=7)) == 7
    assert np.isfinite(old).all(axis=None)
    x = old[list(function.space)].to_numpy()
    if kind == "shifted":  # also beside the domain
        assert (np.abs(x - 0.15) > 1).any()
        np.testing.assert_allclose(old["y"], function(x - 0.15))
    if kind == "another function":
        np.testing.assert_allclose(old["y"], PARTNERS[name](x))
        assert not np.allclose(old["y"], function(x))


@pytest.mark.parametrize("name", SHIFTED)
def test_shifted_copies_are_the_same_function_elsewhere(name: str) -> None:
    copy, original = FUNCTIONS[name], FUNCTIONS[name.removesuffix(" (shifted)")]
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (20, 2))
    ratio = (original.highest - original.lowest) / (copy.highest - copy.lowest)
    np.testing.assert_allclose(1 - copy(x + np.array(copy.shift)), ratio * (1 - original(x)), atol=1e-12)
    assert max(map(abs, copy.shift)) >= 0.3


def test_formulas_by_hand() -> None:
    at = {name: lambda *x, f=f: float(f.formula(np.array(x))) for name, f in EVERY.items()}
    assert at["Himmelblau"](0.0, 0.0) == 11**2 + 7**2
    assert at["Ackley"](1.0, 1.0) == pytest.approx(20 - 20 * math.exp(-0.2), abs=1e-12)
    assert at["Styblinski-Tang"](1.0, 2.0) == pytest.approx(((1 - 16 + 5) + (16 - 64 + 10)) / 2)
    assert at["Rastrigin"](0.5, 0.0) == pytest.approx(20.25)
    assert at["eggholder"](0.0, 0.0) == pytest.approx(-47 * math.sin(math.sqrt(47)))
    assert at["Hölder table"](math.pi / 2, 0.0) == pytest.approx(-math.exp(0.5))
    assert at["Levi N.13"](0.5, 0.75) == pytest.approx(1 + 0.25 * 1.5 + 0.0625 * 2)
    assert at["Easom"](math.pi, 0.0) == pytest.approx(math.exp(-(math.pi**2)))
    assert at["Branin"](0.0, 0.0) == pytest.approx(36 + 10 * (1 - 1 / (8 * math.pi)) + 10)
    assert at["six-hump camel"](1.0, 1.0) == pytest.approx((4 - 2.1 + 1 / 3) + 1)
    assert at["Styblinski-Tang-3"](1.0, 2.0, 0.0) == at["Styblinski-Tang"](1.0, 2.0)
    # Far from the other three wells there is little but the one we stand in.
    assert at["Hartmann-3"](0.3689, 0.117, 0.2673) == pytest.approx(-1.0, abs=0.02)


def extremes(function: Function) -> tuple[float, float]:
    """The least and the largest value on [-1, 1]^d, from every peak of a fine grid or many other points, polished."""
    bounds = list(function.space.values())
    found = []
    for sign in (-1, 1):
        starts = grid_peaks(function, sign) if function.num_inputs == 2 else corners_and_good_points(function, sign)
        _, fallen, _ = fmin_l_bfgs_b_batched(partial(falling, function, sign), starts, bounds)
        found.append(float(sign * max(*(sign * function(starts)), *-fallen)))
    return found[0], found[1]


def falling(function: Function, sign: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is minimised at each row, and its slopes by differences."""
    step = 1e-8
    here, *beside = -sign * function(x + step * np.eye(x.shape[1] + 1, x.shape[1], -1)[:, None])
    return here, (np.stack(beside, -1) - here[:, None]) / step


def grid_peaks(function: Function, sign: int) -> np.ndarray:
    axis = np.linspace(-1, 1, 1001)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1)
    values = sign * function(grid)
    peaks = np.argwhere((values == maximum_filter(values, 9)) & (values > values.min()))
    rows, columns = peaks[np.argsort(-values[tuple(peaks.T)], kind="stable")[:60]].T
    return grid[rows, columns]


def corners_and_good_points(function: Function, sign: int) -> np.ndarray:
    points = 2 * qmc.Sobol(function.num_inputs, rng=np.random.default_rng(0)).random(2**13) - 1
    good = points[np.argsort(-sign * function(points))[:60]]
    return np.concatenate([list(product((-1.0, 1.0), repeat=function.num_inputs)), good])


def as_settings(points: np.ndarray) -> list[dict[str, float]]:
    return [{f"x{number}": value for number, value in enumerate(row)} for row in points.tolist()]
