"""Search spaces and their parameters: every shorthand, and always an allowed value."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import FloatDistribution, IntDistribution

from support.errors import raises
from support.spaces import EVERYTHING, allowed
from tunedprior.errors import InputError
from tunedprior.space.parameters import Numeric, find_choice_index, parse_parameter
from tunedprior.space.search_space import Space


def test_every_shorthand_is_understood() -> None:
    space = Space.parse(EVERYTHING)
    assert space.names == tuple(EVERYTHING)
    assert space.size is None
    counts = [parameter.count for parameter in space.parameters]
    assert counts == [None, None, 11, 7, 512, 3, 3, 2]
    assert Space.parse({"a": [1, 2, 3], "b": ["x", "y"]}).size == 6


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 40))
def test_sobol_settings_are_allowed_and_distinct(seed: int, count: int) -> None:
    settings_ = Space.parse(EVERYTHING).sobol(count, seed)
    assert len(settings_) == count
    assert len({tuple(setting.values()) for setting in settings_}) == count
    assert all(allowed(name, value) for setting in settings_ for name, value in setting.items())


def test_a_small_space_gives_no_more_than_it_has() -> None:
    assert len(Space.parse({"a": [1, 2], "b": ["x", "y"]}).sobol(10, seed=0)) == 4
    assert len(Space.parse({"a": [1, 2], "b": ["x", "y"]}).list_settings()) == 4
    assert len(Space.parse({"n": IntDistribution(1, 16, log=True)}).sobol(16, seed=0)) == 16


def test_levels_may_come_from_an_array() -> None:
    levels = Space.parse({"speed": np.array([98, 63, 48]), "gas": pd.Series(["a", "b"])}).parameters
    assert levels[0].list_values() == [48, 63, 98]
    assert all(type(level) is int for level in levels[0].list_values())
    assert levels[1].list_values() == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "choices", "position"),
    [
        ("Argon ", ("air", "argon"), 1),
        (1.0, (0, 1), 1),
        ("2", (1, 2), 1),
        (np.nan, ("a", None), 1),
        (0, (True, False), 1),
        ("neon", ("air", "argon"), None),
        (None, ("air",), None),
        ("1", ("01", "1"), 1),
        ("01", ("1", "01"), 1),
        ("NA", ("NA", "None", ""), 0),
        ("", ("NA", "None", ""), 2),
        ("null", (None, "null"), 1),
        (np.nan, ("a", "NA"), 1),  # as pandas reads it
        (None, ("NA", "null"), None),
        ("", ("a", None), 1),
        ("a", ("A", "a"), 1),
        (" A", ("a", "A"), 1),
        (2.0, ("2", "3"), 0),
        ("(3, 3)", ((3, 3), (5, 5)), 0),
        (np.zeros(2), ("a", "b"), None),
    ],
)
def test_categories_are_recognised_as_people_and_tables_write_them(value, choices, position) -> None:
    assert find_choice_index(value, choices) == position


@pytest.mark.parametrize(("value", "choices"), [(1, ("1", "01")), (2.0, ("2", "2.0", "x")), (" a ", ("A ", " A"))])
def test_a_category_that_may_be_two_is_refused(value, choices) -> None:
    with pytest.raises(InputError, match=r"may be any of the choices .*dtype=str"):
        find_choice_index(value, choices)


def test_whole_number_grids_are_exact_decimals() -> None:
    grid = Numeric("dose", 0.1, 0.7, step=0.2)
    assert grid.list_values() == [0.1, 0.3, 0.5, 0.7]
    assert grid.find_nearest_value(0.69) == 0.7
    assert grid.find_nearest_value(99.0) == 0.7


@pytest.mark.parametrize(
    ("description", "facts"),
    [
        ({}, ("one parameter",)),
        ({"x": [3], "y": (1.0, 1.0)}, ("single value",)),
        ({"x": (1.0, 0.0)}, ("'x'", "low", "high", "(1.0, 0.0)")),
        ({"x": (1.0, 2.0, 0.5, 3.0)}, ("'x'", "(low, high)")),
        ({"x": (0.0, float("nan"))}, ("'x'", "finite")),
        ({"x": []}, ("'x'", "empty")),
        ({"x": [1, 1]}, ("'x'", "differ")),
        ({"x": [1.0, float("inf")]}, ("'x'", "levels", "finite")),
    ],
)
def test_bad_spaces_say_what_to_do(description: dict, facts: tuple[str, ...]) -> None:
    with raises(InputError, *facts):
        Space.parse(description)


def test_quantiles_follow_the_scale() -> None:
    width = parse_parameter("width", IntDistribution(1, 512, log=True))
    assert [width.compute_quantile(u) for u in (0.0, 1 / 3, 2 / 3)] == [1, 8, 64]
    assert parse_parameter("x", FloatDistribution(1e-4, 1.0, log=True)).compute_quantile(0.5) == pytest.approx(0.01)
    steps = parse_parameter("steps", FloatDistribution(0.0, 1.0, step=0.25))
    assert [steps.compute_quantile(u) for u in (0.0, 0.19, 0.21, 0.5, 0.99)] == [0.0, 0.0, 0.25, 0.5, 1.0]


def test_categories_are_allowed_by_name_and_drawn_in_order() -> None:
    gas = parse_parameter("gas", ["air", "argon", "neon"])
    assert gas.allows("argon")
    assert not gas.allows("helium")
    assert [gas.compute_quantile(u) for u in (0.0, 0.3, 0.4, 0.99, 1.0)] == ["air", "air", "argon", "neon", "neon"]


def test_a_small_space_is_drawn_whole() -> None:
    """However often the sequence meets the same settings."""
    space = Space.parse({"speed": list(range(17)), "gas": ["air", "argon"]})
    for seed in range(3):
        drawn = {tuple(setting.values()) for setting in space.sobol(34, seed)}
        assert len(drawn) == 34
        assert len(space.sobol(50, seed)) == 34
    rare = Space.parse({"width": IntDistribution(1, 1000, log=True)})  # large ones are hardly ever drawn
    assert {setting["width"] for setting in rare.sobol(1000, 0)} == set(range(1, 1001))
