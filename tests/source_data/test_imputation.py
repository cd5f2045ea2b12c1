"""Blank cells of old settings, filled in from the most similar rows."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import FloatDistribution

from support.builders import MIXED
from tunedprior.source_data import imputation
from tunedprior.source_data.imputation import choose_stand_in, impute_cells
from tunedprior.space.search_space import Space

RATE = FloatDistribution(1e-4, 1.0, log=True)


def fill(settings: pd.DataFrame, space: dict, response, typical=None) -> pd.DataFrame:
    response = np.asarray(response, dtype=np.float64)
    typical = np.ones(len(settings), dtype=bool) if typical is None else typical
    return impute_cells(settings, settings.isna().to_numpy(), Space.parse(space).parameters, response, typical)


def grid(blank: int) -> tuple[pd.DataFrame, np.ndarray, float]:
    """A response that rises along both sides of a fine grid, one cell of it blank, and what was there."""
    table = pd.DataFrame(product(np.linspace(0, 1, 21), np.linspace(0, 10, 21)), columns=["a", "b"])
    response = (3 * table["a"] + table["b"] / 10).to_numpy()
    was = table.loc[blank, "a"]
    table.loc[blank, "a"] = np.nan
    return table, response, was


@pytest.mark.parametrize("blank", [50, 220, 391])
def test_a_number_that_its_neighbours_determine_is_found_again(blank: int) -> None:
    table, response, was = grid(blank)
    found = fill(table, {"a": (0.0, 1.0), "b": (0.0, 10.0)}, response)
    assert found.loc[blank, "a"] == pytest.approx(was, abs=0.03)
    pd.testing.assert_frame_equal(found.drop(index=blank), table.drop(index=blank))


@pytest.mark.parametrize(("scale", "expected"), [(RATE, 1e-2), ((0.0, 1.0), 0.22222)], ids=["log", "linear"])
def test_the_mean_is_that_on_the_parameters_scale(scale, expected: float) -> None:
    table = pd.DataFrame({"rate": [1e-4, 1e-3, 1e-2, 1e-1, 1.0, np.nan], "z": 0.5})
    found = fill(table, {"rate": scale, "z": (0.0, 1.0)}, np.ones(6))
    assert found["rate"].iloc[-1] == pytest.approx(expected)


def test_the_commonest_category_among_the_nearest_counts_in_any_spelling() -> None:
    z = [0.0, 0.01, 0.02, 0.03, 0.04, 0.9, 0.9, 0.9, 0.9, 0.0]
    gas = ["argon", "AIR", "air", "argon", " air", *["argon"] * 4, None]
    found = fill(pd.DataFrame({"z": z, "gas": gas}), {"z": (0.0, 1.0), "gas": ["air", "argon"]}, np.ones(10))
    assert found["gas"].iloc[-1] == "AIR"


def test_of_equally_common_categories_the_nearest_rows_counts() -> None:
    table = pd.DataFrame({"z": [0.9, 0.5, 0.1, 0.0], "gas": ["helium", "argon", "air", None]})
    found = fill(table, {"z": (0.0, 1.0), "gas": ["air", "argon", "helium"]}, np.ones(4))
    assert found["gas"].tolist() == ["helium", "argon", "air", "air"]


def test_categories_that_differ_are_as_far_apart_as_a_range() -> None:
    table = pd.DataFrame({"gas": ["air"] * 5 + ["argon"] * 5 + ["argon"], "b": [0.0] * 5 + [8.0] * 5 + [np.nan]})
    found = fill(table, {"gas": ["air", "argon"], "b": (0.0, 10.0)}, np.ones(11))
    assert found["b"].iloc[-1] == 8.0


def test_the_response_tells_rows_apart_and_a_mistyped_one_does_not_hide_that() -> None:
    table = pd.DataFrame({"a": [0.2] * 6 + [0.8] * 6 + [0.5, np.nan], "z": 0.5})
    response = np.array([1.0] * 6 + [2.0] * 6 + [1e300, 2.0])
    found = fill(table, {"a": (0.0, 1.0), "z": (0.0, 1.0)}, response, response < 1e300)
    assert found["a"].iloc[-1] == pytest.approx(0.8)


def test_several_gaps_are_filled_from_rows_that_have_them_if_none_is_complete() -> None:
    table = pd.DataFrame({"a": [0.1, np.nan, 0.3], "b": [np.nan, 4.0, 6.0], "c": [1.0, 1.0, np.nan]})
    found = fill(table, {"a": (0.0, 1.0), "b": (0.0, 10.0), "c": (0.0, 2.0)}, [1.0, 1.0, 1.0])
    assert found["a"].tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert found["b"].tolist() == pytest.approx([5.0, 4.0, 6.0])
    assert found["c"].tolist() == [1.0, 1.0, 1.0]


def test_many_rows_are_compared_in_parts_and_with_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame({"a": np.linspace(0, 1, 400), "b": np.linspace(0, 10, 400)})
    table.loc[::2, "a"] = np.nan
    space, response = {"a": (0.0, 1.0), "b": (0.0, 10.0)}, np.linspace(0, 1, 400)
    whole = fill(table, space, response)
    monkeypatch.setattr(imputation, "_AT_ONCE", 7)
    pd.testing.assert_frame_equal(fill(table, space, response), whole)
    monkeypatch.setattr(imputation, "_MOST_DONORS", 40)
    found = fill(table, space, response)
    assert not found.equals(whole)
    np.testing.assert_allclose(found["a"], np.linspace(0, 1, 400), atol=0.06)


def test_what_stands_in_for_a_column_is_an_allowed_value_in_the_middle() -> None:
    found = {one.name: choose_stand_in(one) for one in Space.parse(MIXED).parameters}
    assert found == {"x": 0.5, "rate": pytest.approx(1e-3**0.5), "layers": 5, "speed": 63, "gas": "air"}
