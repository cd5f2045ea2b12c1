"""Constraints: how they are written, what they mean, and the settings that satisfy them."""

from functools import partial
from itertools import product
from math import inf

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support.errors import raises
from tunedprior import LinearConstraint, Mixture, OnlyWhen
from tunedprior.errors import InputError
from tunedprior.space.search_space import Space

UNITS = dict.fromkeys("abcd", (0.0, 1.0))
MIXED = {
    "a": (0.0, 1.0, 0.25),
    "b": [0, 1, 2],
    "gas": ["air", "argon"],
    "flow rate": (0.0, 4.0),
    "µ": (1e-3, 1.0, "log"),
}


def the_only(text: str, space: dict = MIXED) -> LinearConstraint:
    (constraint,) = Space.parse(space).add_constraints_unchecked(text).constraints
    assert isinstance(constraint, LinearConstraint)
    return constraint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + 2*b <= 10", LinearConstraint({"a": 1, "b": 2}, high=10)),
        ("a >= b", LinearConstraint({"a": 1, "b": -1}, low=0)),
        ("10 >= a + 2*b", LinearConstraint({"a": 1, "b": 2}, high=10)),
        ("0.2 <= a + b <= 0.8", LinearConstraint({"a": 1, "b": 1}, 0.2, 0.8)),
        ("0.8 >= a >= 0.2", LinearConstraint({"a": 1}, 0.2, 0.8)),
        ("a + b == 1", LinearConstraint({"a": 1, "b": 1}, 1, 1)),
        ("-(a - 3*b)/2 + 1 <= +b - 2", LinearConstraint({"a": -0.5, "b": 0.5}, high=-3)),
        ("`flow rate` <= 3", LinearConstraint({"flow rate": 1}, high=3)),
        ("2*`flow rate`+`a`>=1", LinearConstraint({"flow rate": 2, "a": 1}, low=1)),
        ("µ <= 0.5", LinearConstraint({"µ": 1}, high=0.5)),  # Python reads the micro sign as the Greek letter
        ("  a\t<= 1e-1 ", LinearConstraint({"a": 1}, high=0.1)),
    ],
)
def test_text_becomes_a_linear_constraint(text: str, expected: LinearConstraint) -> None:
    assert the_only(text) == expected
    assert the_only(str(expected)) == expected  # and is read as it is written


def test_a_chain_of_parameters_is_two_constraints() -> None:
    chain = Space.parse(UNITS).add_constraints_unchecked("a <= b <= c").constraints
    assert list(map(str, chain)) == ["a - b <= 0", "b - c <= 0"]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("z <= 1", ("'z'", "a, b, gas, flow rate, µ")),
        ("`flow  rate` <= 1", ("'flow  rate'",)),
        ("flow rate <= 1", ("flow rate <= 1", "backticks")),
        ("a * b <= 1", ("'a * b <= 1'", "linear", "function")),
        ("a ** 2 <= 1", ("linear",)),
        ("1 / a <= 1", ("linear",)),
        ("a / 0 <= 1", ("linear",)),
        ("abs(a) <= 1", ("linear",)),
        ("a.real <= 1", ("linear",)),
        ("a <= '1'", ("linear",)),
        ("a <= True", ("linear",)),
        ("__import__('os').system('true') <= 1", ("linear",)),
        ("(a := 1) <= 1", ("linear",)),
        ("a < 1", ("strict", "<=")),
        ("a != 1", ("<=", ">=", "==")),
        ("a in b", ("<=", ">=", "==")),
        ("a = 1", ("==", "equality")),
        ("a + b", ("'a + b'", "comparison")),
        ("a <= 1 and b <= 1", ("one constraint",)),
        ("a - a <= 1", ("no parameter",)),
        ("1 <= 2", ("no parameter",)),
        ("a <= 1e999", ("finite",)),
        ("a <= " + "9" * 400, ("finite",)),
        ("0.8 <= a <= 0.2", ("0.8 <= a <= 0.2",)),
        ("gas <= 1", ("'gas'", "category", "OnlyWhen")),
        ("", ("cannot be read",)),
        ("(" * 300 + "a" + ")" * 300 + " <= 1", ("cannot be read",)),
        ("a" * 10_001, ("10,000",)),
    ],
)
def test_texts_that_are_no_linear_constraint_say_why(text: str, facts: tuple[str, ...]) -> None:
    with raises(InputError, *facts):
        Space.parse(MIXED).add_constraints(text)


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (lambda: LinearConstraint({}, high=1), ("Linear", "number", "name")),
        (lambda: LinearConstraint({"a": 0}, high=1), ("Linear", "not 0")),
        (lambda: LinearConstraint({"a": inf}, high=1), ("coefficient", "'a'", "finite")),
        (lambda: LinearConstraint({"a": 1}), ("Linear", "low", "high")),
        (lambda: LinearConstraint({"a": 1}, 2, 1), ("low=2", "high=1")),
        (lambda: LinearConstraint({"a": 1}, high=float("nan")), ("high", "finite")),
        (lambda: Mixture(["a"]), ("Mixture", "two", "names")),
        (lambda: Mixture(["a", "a"]), ("Mixture", "two", "names")),
        (lambda: Mixture(["a", "b"], inf), ("Mixture", "total", "finite")),
        (lambda: OnlyWhen("a", {}, 0.0), ("OnlyWhen", "other parameters")),
        (lambda: OnlyWhen("a", {"a": 1.0}, 0.0), ("OnlyWhen", "other parameters")),
        (lambda: Mixture(["a", "z"]), ("'z'", "no parameter")),
        (lambda: OnlyWhen("z", {"gas": "air"}, 0.0), ("'z'", "no parameter")),
        (lambda: OnlyWhen("a", {"z": "air"}, 0.0), ("'z'", "no parameter")),
        (lambda: OnlyWhen("a", {"gas": "helium"}, 0.0), ("'gas'", "air, argon", "'helium'")),
        (lambda: OnlyWhen("a", {"gas": "air"}, 0.1), ("'a'", "0.0, 0.25", "0.1")),
        (lambda: OnlyWhen("flow rate", {"gas": "air"}, 9.0), ("'flow rate'", "0", "4", "9.0")),
        (lambda: OnlyWhen("a", {"flow rate": 1.0}, 0.0), ("flow rate", "continuum")),
        (lambda: Mixture, ("class Mixture", "Mixture(…)")),
        (lambda: 3, ("constraint", "int 3")),
        (lambda: [["a <= 1"]], ("constraint", "list")),
    ],
)
def test_wrong_objects_say_what_is_wrong(make, facts: tuple[str, ...]) -> None:
    with raises(InputError, *facts):
        Space.parse(MIXED).add_constraints(make())


def crossing(setting: dict) -> bool:
    return setting["a"] * setting["b"] <= 1


def test_constraints_name_themselves() -> None:
    given = ["a + b <= 2", Mixture(["a", "b"]), OnlyWhen("a", {"gas": "Air"}, 0), crossing, partial(crossing)]
    space = Space.parse(MIXED).add_constraints_unchecked(given)
    assert list(map(str, space.constraints)) == [
        "a + b <= 2",
        "a + b == 1",
        "a is 0.0 unless gas is 'air'",
        "crossing",
        "crossing",
    ]
    assert space.add_constraints_unchecked("a + b <= 2") is space
    assert space.without_functions.constraints == space.constraints[:3]
    assert Space.parse(MIXED).add_constraints(None) == Space.parse(MIXED).add_constraints([]) == Space.parse(MIXED)


@pytest.mark.parametrize("answer", [True, np.True_, np.array(True), torch.tensor(True)])
def test_a_function_says_yes_or_no_in_any_way(answer) -> None:
    assert Space.parse(UNITS).add_constraints(lambda _: answer).allows(dict.fromkeys("abcd", 0.5))


@pytest.mark.parametrize("answer", [None, 1, 0.0, "yes", np.array([True, False]), [True]])
def test_a_function_that_says_anything_else_is_refused(answer) -> None:
    def maybe(_: dict) -> object:
        return answer

    with pytest.raises(InputError, match=r"maybe must return True or False; for \{'a': .* it returned"):
        Space.parse(UNITS).add_constraints(maybe)


def test_what_a_function_raises_is_said_with_the_setting() -> None:
    with pytest.raises(InputError, match=r"<lambda> failed for \{'a': .* \(KeyError: 'z'\)"):
        Space.parse(UNITS).add_constraints(lambda setting: setting["z"] > 1)


def test_a_function_cannot_change_the_setting() -> None:
    space = Space.parse(UNITS).add_constraints(lambda setting: setting.clear() is None)
    assert space.sobol(1, 0)[0].keys() == UNITS.keys()


GRID = {"a": (0.0, 1.0, 0.1), "b": (0.0, 1.0, 0.1), "c": (0, 4, 1), "gas": ["air", "argon", None], "n": [1, 10, 100]}


@pytest.mark.parametrize(
    "constraints",
    [
        "a + b == 1",
        ["a + b == 0.7", "a >= b", "c <= 2"],
        ["10*a + c == 5", OnlyWhen("n", {"gas": ["air", None], "c": [0, 1]}, otherwise=10)],
        [OnlyWhen("gas", {"c": 2}, None), OnlyWhen("c", {"n": [1, 100]}, 0), "0.35 <= a - b <= 0.5"],
        [lambda setting: setting["gas"] is None or setting["n"] * setting["a"] > 5, "n + c <= 12"],
    ],
)
def test_finite_spaces_hold_what_brute_force_finds(constraints) -> None:
    plain = Space.parse(GRID)
    space = plain.add_constraints(constraints)
    values = [parameter.list_values() for parameter in plain.parameters]
    everything = (dict(zip(plain.names, row, strict=True)) for row in product(*values))
    expected = [setting for setting in everything if all(one.allows(setting) for one in space.constraints)]
    assert space.list_settings() == expected
    assert space.size == len(expected)
    drawn = space.sobol(len(expected) + 5, 3)
    assert sorted(map(repr, drawn)) == sorted(map(repr, expected))


def test_a_grid_of_six_parts_is_listed_without_listing_all_that_are_none() -> None:
    space = Space.parse(dict.fromkeys("abcdef", (0.0, 1.0, 0.1))).add_constraints(Mixture(list("abcdef")))
    assert space.size == 3003


@pytest.mark.parametrize(
    ("description", "constraints"),
    [
        (UNITS, Mixture(list("abcd"))),
        (UNITS, ["a + b + c + d == 1", "a - b == 0.1", "c >= d"]),
        (UNITS, ["a + b >= 1.9", "a <= b <= c"]),
        ({"a": (0.0, 1.0, 0.1), "b": (0.0, 1.0), "c": (0.0, 1.0), "gas": ["x", "y"]}, ["a + b + c == 1", "a >= b"]),
        (dict.fromkeys("abcdef", (0.0, 1.0, 0.01)), Mixture(list("abcdef"))),
        ({"r": (1e-4, 1.0, "log"), "s": (1e-4, 1.0, "log"), "b": (0.0, 1.0)}, ["r + s == 1", "r + b <= 1.2"]),
        (
            {"add": ["none", "p"], "dose": (0.0, 5.0), "water": (0.0, 5.0)},
            [OnlyWhen("dose", {"add": "p"}, 0.0), "dose + water == 5"],
        ),
        ({"x": (-1.0, 1.0), "y": (-1.0, 1.0)}, lambda s: s["x"] ** 2 + s["y"] ** 2 <= 0.3),
        ({"x": (-1.0, 1.0), "y": (-1.0, 1.0)}, lambda s: s["x"] ** 2 + s["y"] ** 2 <= 0.001),
        ({"n": (0, 10**7, 1), "m": (0, 10**7, 1)}, ["n + 2*m <= 20000", lambda s: s["n"] % 2 == 0]),
        ({"x": (-1e6, 1e6), "y": (-1e6, 1e6)}, ["x - y <= 1e-3", "y - x <= 1e-3"]),
    ],
)
def test_draws_satisfy_everything_and_are_spread(description: dict, constraints) -> None:
    space = Space.parse(description).add_constraints(constraints)
    for seed in (0, 7):
        drawn = space.sobol(200, seed)
        assert len({tuple(setting.values()) for setting in drawn}) == len(drawn) == 200
        assert all(map(space.allows, drawn))
        assert drawn == space.sobol(200, seed)
        assert drawn[:20] == space.sobol(20, seed)  # a design goes on as it began
    assert space.sobol(5, 0) != space.sobol(5, 1)


def test_mixtures_are_equally_probable() -> None:
    """A part of three has the mean 1/3 and the variance 1/18, and is above 1/2 in a quarter of all mixtures."""
    drawn = Space.parse(dict.fromkeys("abc", (0.0, 1.0))).add_constraints("a + b + c == 1").sobol(1000, 1)
    parts = np.array([list(setting.values()) for setting in drawn])
    assert np.abs(parts.sum(1) - 1).max() < 1e-9
    assert parts.mean(0) == pytest.approx(1 / 3, abs=0.03)
    assert parts.var(0) == pytest.approx(1 / 18, abs=0.01)
    assert (parts > 0.5).mean(0) == pytest.approx(1 / 4, abs=0.05)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    weights=st.lists(st.floats(-3, 3).filter(lambda x: abs(x) > 0.1), min_size=4, max_size=4),
    edge=st.floats(-1, 1),
    equality=st.booleans(),
    step=st.booleans(),
)
def test_one_sum_is_met_or_refused(weights: list[float], edge: float, equality: bool, step: bool) -> None:
    space = Space.parse({"a": (0.0, 1.0, 0.25) if step else (0.0, 1.0)} | dict.fromkeys("bcd", (-1.0, 1.0)))
    linear = LinearConstraint(dict(zip("abcd", weights, strict=True)), edge if equality else -inf, edge)
    if sum(-abs(one) if name != "a" else min(one, 0) for name, one in linear.coefficients.items()) > edge:
        with pytest.raises(InputError, match="its left side lies between"):
            space.add_constraints(linear)
        return
    constrained = space.add_constraints(linear)
    drawn = constrained.sobol(30, 0)
    assert len(drawn) == 30
    assert all(map(constrained.allows, drawn))
    if equality:
        assert max(abs(linear.compute_sum(setting) - edge) for setting in drawn) < 1e-9


@pytest.mark.parametrize(
    ("description", "constraints", "facts"),
    [
        (UNITS, "a + b >= 2.5", ("'a + b >= 2.5'", "0 and 2")),
        (UNITS, ["a + b >= 1.5", "c <= 0.3", "a <= 0.4"], ("without 'a + b >= 1.5' or 'a <= 0.4'",)),
        (UNITS, ["a >= 0.6", "a <= 0.5", "b >= 0.6", "b <= 0.5"], ("at once", "loosen")),
        ({"a": (0, 10, 2), "b": (0, 10, 2)}, ["a + b == 5", "a <= 8"], ("without 'a + b == 5'",)),
        ({"a": (0, 10, 1), "b": (0, 10, 1)}, ["a + b == 5", crossing, "a >= 2", "b >= 2"], ("without", "'crossing'")),
        (
            UNITS,
            [lambda s: s["a"] > 0.5, lambda s: s["a"] < 0.5],
            ("16,384", "'<lambda>' rejects 50.2%"),
        ),
        (UNITS, [crossing, lambda s: s["a"] > 2], ("'<lambda>' rejects 100.0%", "'crossing' rejects 0.0%")),
        ({"a": (0, 5, 1), "b": (0, 5, 1)}, "a + b == 10", ("single setting", "{'a': 5, 'b': 5}")),
    ],
)
def test_an_empty_space_says_which_constraint_empties_it(
    description: dict, constraints, facts: tuple[str, ...]
) -> None:
    with raises(InputError, *facts):
        Space.parse(description).add_constraints(constraints)


@pytest.mark.parametrize(
    ("description", "text"),
    [
        ({"p": (1e9, 2e9), "q": (1e9, 2e9)}, "p + q <= 1999999999"),
        ({"p": (10**9, 2 * 10**9, 1), "q": (10**9, 2 * 10**9, 1)}, "p + q <= 1999999999"),
        ({"p": (1e9, 1e9 + 10), "q": (1e9, 1e9 + 10)}, "p + q <= 1999999999"),
        ({"p": (1e9, 1e9 + 10), "q": (1e9, 1e9 + 10)}, "p + q >= 2000000021"),
        ({"p": (1e-9, 1e-8), "q": (1e-9, 1e-8)}, "p + q <= 1e-9"),
    ],
)
def test_what_is_impossible_is_refused_however_large_numbers_are(description: dict, text: str) -> None:
    with pytest.raises(InputError, match="No setting satisfies"):
        Space.parse(description).add_constraints([text])


@pytest.mark.parametrize("step", [None, 1])
def test_a_constraint_holds_to_the_range_and_not_to_the_magnitude(step: int | None) -> None:
    ends = (10**9, 10**9 + 10) if step else (1e9, 1e9 + 10)
    space = Space.parse(dict.fromkeys("pq", ends if step is None else (*ends, step))).add_constraints(
        ["p + q <= 2000000004"]
    )
    assert space.find_violated({"p": 10**9 + 3, "q": 10**9 + 2})
    assert not space.find_violated({"p": 10**9 + 2, "q": 10**9 + 2})
    drawn = space.sobol(12, 0)
    assert len(drawn) > 8
    assert all(one["p"] + one["q"] <= 2000000004 + 1e-6 for one in drawn)


def test_levels_are_told_apart_however_large_or_small_they_are() -> None:
    for unit, first in ((1.0, 1e9), (1e-12, 0.0)):
        levels = [first + k * unit for k in range(3)]
        space = Space.parse({"n": levels, "x": (0.0, 1.0)}).add_constraints(
            [OnlyWhen("x", {"n": levels[2]}, otherwise=0.0)]
        )
        assert space.find_violated({"n": levels[1], "x": 0.5})
        assert not space.find_violated({"n": levels[2], "x": 0.5})
        assert all(one["x"] == 0.0 for one in space.sobol(8, 0) if one["n"] != levels[2])


def test_a_setting_is_moved_by_little_until_everything_holds() -> None:
    space = Space.parse(UNITS).add_constraints(Mixture(list("abcd")))
    assert space.feasible is not None
    repaired = space.feasible.repair_setting({"a": 0.5, "b": 0.5, "c": 0.2, "d": 0.0})
    assert repaired == pytest.approx({"a": 0.433333, "b": 0.433333, "c": 0.133333, "d": 0.0}, abs=1e-6)
    assert space.feasible.repair_setting(space.sobol(1, 0)[0]) == space.sobol(1, 0)[0]


def test_neighbours_satisfy_everything_and_are_near() -> None:
    space = Space.parse(dict.fromkeys("abcd", (0.0, 1.0, 0.1))).add_constraints(Mixture(list("abcd")))
    assert space.feasible is not None
    near = space.feasible.find_neighbours({"a": 0.5, "b": 0.5, "c": 0.0, "d": 0.0}, 0.1, 0)
    assert {"a": 0.4, "b": 0.6, "c": 0.0, "d": 0.0} in near
    assert {"a": 0.5, "b": 0.4, "c": 0.1, "d": 0.0} in near
    assert all(map(space.allows, near))


@pytest.mark.parametrize(
    "text",
    ["-" * 3000 + "a <= 1", "+".join(["a"] * 4000) + " <= 1", "a <= " + "9" * 5000, "a <= 1if a else 2", "\ud800 <= 1"],
    ids=["signs", "terms", "digits", "warned of by Python", "surrogate"],
)
def test_a_text_that_python_would_stumble_over(text: str) -> None:
    with pytest.raises(InputError, match="constraint"):
        Space.parse({"a": (0.0, 1.0)}).add_constraints_unchecked([text])
