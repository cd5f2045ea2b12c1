"""Sobol indices: known answers, slow ones, and those of others."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import sobol_indices, uniform

from support import slow_shares
from tunedprior.explain.sensitivity import Domain, Sensitivity, compute_clenshaw_curtis, compute_sensitivity
from tunedprior.explain.source_explanation import classify_effect
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space


def found_for(space: dict, function, constraints=()) -> Sensitivity:
    """The indices of a function of codes."""
    parsed = Space.parse(space).add_constraints(constraints)
    return compute_sensitivity(function, Domain.from_space(parsed, Box.enclose(parsed)))


def numbers(count: int) -> dict:
    return {f"x{i}": (0.0, 1.0) for i in range(count)}


def test_additive_functions_have_no_interactions() -> None:
    """f = x₀ + 2x₁ over [-1, 1]²: variances 1/3 and 4/3."""
    found = found_for(numbers(2), lambda X: X[:, 0] + 2 * X[:, 1])
    np.testing.assert_allclose(found.first, [0.2, 0.8], atol=1e-3)
    np.testing.assert_allclose(found.total, [0.2, 0.8], atol=1e-3)
    np.testing.assert_allclose(found.pairs, np.zeros((2, 2)), atol=1e-9)
    assert found.variance == pytest.approx(5 / 3, rel=0.01)


def test_products_have_the_indices_of_products() -> None:
    """f = Π (m_i + x_i) with x_i of mean 0 and variance v: V_S = Π_S v · Π_others m²."""
    found = found_for(numbers(3), lambda X: (1 + X[:, 0]) * (2 + X[:, 1]) * X[:, 2])
    v, means = 1 / 3, (1.0, 2.0, 0.0)

    def part(*inputs: int) -> float:
        return math.prod(v if i in inputs else means[i] ** 2 for i in range(3))

    whole = math.prod(m**2 + v for m in means) - math.prod(m**2 for m in means)
    np.testing.assert_allclose(found.first, [part(i) / whole for i in range(3)], atol=0.01)
    total = [
        1 - sum(part(*s) for s in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2)) if i not in s) / whole for i in range(3)
    ]
    np.testing.assert_allclose(found.total, total, atol=0.03)
    np.testing.assert_allclose(found.pairs[0, 2], part(0, 2) / whole, atol=0.02)
    np.testing.assert_allclose(found.pairs[0, 1], 0.0, atol=0.02)


def test_ishigami() -> None:
    a, b = 7.0, 0.1

    def ishigami(X: torch.Tensor) -> torch.Tensor:
        x = math.pi * X
        return x[:, 0].sin() + a * x[:, 1].sin() ** 2 + b * x[:, 2] ** 4 * x[:, 0].sin()

    found = found_for(numbers(3), ishigami)
    v1, v2 = (1 + b * math.pi**4 / 5) ** 2 / 2, a**2 / 8
    v13 = b**2 * math.pi**8 * (1 / 18 - 1 / 50)
    whole = v1 + v2 + v13
    np.testing.assert_allclose(found.first, [v1 / whole, v2 / whole, 0.0], atol=0.01)
    np.testing.assert_allclose(found.total, [(v1 + v13) / whole, v2 / whole, v13 / whole], atol=0.01)
    np.testing.assert_allclose(found.pairs[0, 2], v13 / whole, atol=0.01)
    assert found.mean == pytest.approx(a / 2, rel=0.01)


def test_small_spaces_are_exact() -> None:
    """Categories, levels and grids, against all combinations in plain loops."""
    space = {"gas": ["air", "argon", "helium"], "speed": [1, 2, 4, 8], "layers": (1, 9, 1)}
    parsed = Space.parse(space)
    box = Box.enclose(parsed)
    weights = {"air": 0.3, "argon": -1.0, "helium": 2.0}

    def f(setting: tuple) -> float:
        gas, speed, layers = setting
        return weights[gas] * math.sin(layers) + speed * layers / 10 + (gas == "air") * speed

    table = {tuple(box.encode([one])[0].tolist()): f(tuple(one.values())) for one in parsed.list_settings()}
    found = compute_sensitivity(
        lambda X: torch.tensor([table[tuple(row)] for row in X.tolist()], dtype=torch.float64),
        Domain.from_space(parsed, box),
    )
    first, total, pairs = slow_shares.sobol_indices(f, [parameter.list_values() for parameter in parsed.parameters])
    np.testing.assert_allclose(found.first, first, atol=1e-9)
    np.testing.assert_allclose(found.total, total, atol=1e-9)
    np.testing.assert_allclose(found.pairs, pairs, atol=1e-9)


def test_others_find_the_same() -> None:
    def f(x: np.ndarray) -> np.ndarray:
        return np.exp(x[0]) * np.cos(3 * x[1]) + x[2] ** 2 + 0.5 * x[3]

    theirs = sobol_indices(func=f, n=2**12, dists=[uniform(-1, 2)] * 4, rng=np.random.default_rng(0))
    ours = found_for(numbers(4), lambda X: torch.as_tensor(f(X.numpy().T)))
    np.testing.assert_allclose(ours.first, theirs.first_order, atol=0.03)
    np.testing.assert_allclose(ours.total, theirs.total_order, atol=0.03)


def test_scales_are_those_of_the_space() -> None:
    """On a logarithmic range each decade counts the same, and a code is linear in the logarithm."""
    found = found_for({"rate": (1e-3, 1.0, "log"), "x": (0.0, 1.0)}, lambda X: X[:, 0] + X[:, 1])
    np.testing.assert_allclose(found.first, [0.5, 0.5], atol=5e-3)


def test_parts_that_add_up() -> None:
    """Over a triangle, E[c | a] = (1 - a)/2, so a says a quarter of what c does."""
    space = dict.fromkeys("abc", (0.0, 1.0))
    found = found_for(space, lambda X: X[:, 2], ["a + b + c == 1"])
    assert found.domain.is_bound
    np.testing.assert_allclose(found.first, [0.25, 0.25, 1.0], atol=0.05)
    assert found.total.isnan().all()
    np.testing.assert_allclose(found.pairs, np.zeros((3, 3)), atol=0.02)


def test_interactions_of_bound_inputs() -> None:
    found = found_for(numbers(2), lambda X: X[:, 0] * X[:, 1], ["x0 + x1 <= 1.9"])
    assert found.pairs[0, 1] > 0.9
    assert found.first.max() < 0.1


def test_flat_functions_and_single_inputs() -> None:
    flat = found_for(numbers(2), lambda X: torch.full((len(X),), 3.0, dtype=torch.float64))
    assert flat.mean == pytest.approx(3.0)
    assert (flat.variance, flat.first.tolist(), flat.total.tolist()) == (0.0, [0.0, 0.0], [0.0, 0.0])
    one = found_for({"c": ["a", "b"]}, lambda X: X[:, 0])
    assert (one.first.tolist(), one.total.tolist()) == (pytest.approx([1.0]), pytest.approx([1.0]))
    assert one.curves[0].tolist() == [0.0, 1.0]


def test_a_fixed_parameter_is_no_input() -> None:
    found = found_for({"x": (0.0, 1.0), "fixed": (2.0, 2.0)}, lambda X: X[:, 0])
    assert [side.name for side in found.domain.sides] == ["x"]


@pytest.mark.parametrize(
    ("function", "way"),
    [
        (lambda x: x, "rises"),
        (lambda x: -(x**3), "falls"),
        (lambda x: -((x - 0.2) ** 2), "rises then falls"),
        (lambda x: (x + 0.3) ** 2, "falls then rises"),
        (lambda x: torch.sin(6 * x), "goes up and down"),
        (lambda x: x + 0.02 * torch.sin(20 * x), "rises"),
    ],
)
def test_ways_in_words(function, way: str) -> None:
    found = found_for({"x": (0.0, 1.0), "z": (0.0, 1.0)}, lambda X: function(X[:, 0]))
    assert classify_effect(found, 0).way == way
    assert classify_effect(found, 1).way == "little effect"


def test_an_input_that_only_acts_with_another() -> None:
    found = found_for(numbers(2), lambda X: X[:, 0] * X[:, 1])
    assert classify_effect(found, 0).way == "depends on others"


def test_where_a_curve_is_highest_is_in_the_users_units() -> None:
    found = found_for({"t": (20.0, 90.0), "c": ["a", "b"]}, lambda X: -X[:, 0].square() + X[:, 1])
    top, category = classify_effect(found, 0), classify_effect(found, 1)
    assert top.highest == pytest.approx(55.0)
    assert (category.way, category.highest, category.lowest) == ("differs", "b", "a")


@pytest.mark.parametrize("count", [2, 5, 11])
def test_quadrature_is_exact_for_polynomials(count: int) -> None:
    nodes, weights = compute_clenshaw_curtis(count)
    assert (nodes[0], nodes[-1]) == (0.0, 1.0)
    for power in range(count):
        assert float(weights @ nodes**power) == pytest.approx(1 / (power + 1))
