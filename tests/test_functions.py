"""Test functions: published formulas, published optima, and ranges that are really [0, 1]."""

import math

import numpy as np
import pytest
from scipy.ndimage import maximum_filter
from scipy.optimize import minimize

from benchmarks.functions import FAILURES, FUNCTIONS, PAPER, SHIFTED, Function

#: Domains, least values as the literature prints them, and how exactly it does.
PUBLISHED = {
    "Hölder table": (10, -19.2085, 5e-5),
    "Himmelblau": (5, 0.0, 1e-6),
    "Ackley": (5, 0.0, 1e-6),
    "Styblinski-Tang": (5, 2 * -39.16616570377142, 1e-6),
    "eggholder": (512, -959.6407, 5e-5),
    "Rastrigin": (5.12, 0.0, 1e-6),
    "Levi N.13": (10, 0.0, 1e-6),
    "Easom": (100, -1.0, 1e-6),
}


def test_every_function_has_its_place() -> None:
    assert set(FUNCTIONS) == {*PAPER, *SHIFTED, *FAILURES}


@pytest.mark.parametrize("name", PUBLISHED)
def test_optima_are_the_published_ones(name: str) -> None:
    function, (half_width, least, tolerance) = FUNCTIONS[name], PUBLISHED[name]
    assert function.half_width == half_width
    assert function.lowest == pytest.approx(least, abs=tolerance)
    for minimiser in function.minimisers:
        assert function.formula(np.array(minimiser)) == pytest.approx(function.lowest, abs=1e-9)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_ranges_are_unit_intervals(function: Function) -> None:
    np.testing.assert_allclose(function(function.best_settings), 1.0, atol=1e-9)
    low, high = extremes(function)
    assert low == pytest.approx(0.0, abs=1e-6)
    assert high == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("name", SHIFTED)
def test_shifted_copies_are_the_same_function_elsewhere(name: str) -> None:
    copy, original = FUNCTIONS[name], FUNCTIONS[name.removesuffix(" (shifted)")]
    x = np.random.default_rng(0).uniform(-0.5, 0.5, (20, 2))
    ratio = (original.highest - original.lowest) / (copy.highest - copy.lowest)
    np.testing.assert_allclose(1 - copy(x + np.array(copy.shift)), ratio * (1 - original(x)), atol=1e-12)
    assert max(map(abs, copy.shift)) >= 0.3


def test_formulas_by_hand() -> None:
    at = {name: lambda *x, f=f: float(f.formula(np.array(x))) for name, f in FUNCTIONS.items()}
    assert at["Himmelblau"](0.0, 0.0) == 11**2 + 7**2
    assert at["Ackley"](1.0, 1.0) == pytest.approx(20 - 20 * math.exp(-0.2), abs=1e-12)
    assert at["Styblinski-Tang"](1.0, 2.0) == pytest.approx(((1 - 16 + 5) + (16 - 64 + 10)) / 2)
    assert at["Rastrigin"](0.5, 0.0) == pytest.approx(20.25)
    assert at["eggholder"](0.0, 0.0) == pytest.approx(-47 * math.sin(math.sqrt(47)))
    assert at["Hölder table"](math.pi / 2, 0.0) == pytest.approx(-math.exp(0.5))
    assert at["Levi N.13"](0.5, 0.75) == pytest.approx(1 + 0.25 * 1.5 + 0.0625 * 2)
    assert at["Easom"](math.pi, 0.0) == pytest.approx(math.exp(-(math.pi**2)))


def extremes(function: Function) -> tuple[float, float]:
    """The least and the largest value on [-1, 1]², from every peak of a fine grid, polished."""
    axis = np.linspace(-1, 1, 2001)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1)
    found = []
    for sign in (-1, 1):
        values = sign * function(grid)
        peaks = np.argwhere((values == maximum_filter(values, 9)) & (values > values.min()))
        peaks = sorted(map(tuple, peaks), key=lambda peak: -values[peak])[:60]
        best = max(values[peak] for peak in peaks)
        for peak in peaks:
            result = minimize(lambda x, s=sign: -s * function(x), grid[peak], bounds=[(-1, 1)] * 2, method="L-BFGS-B")
            best = max(best, -result.fun)
        found.append(float(sign * best))
    return found[0], found[1]
