import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunedprior.errors import OldDataWarning
from tunedprior.source_data.matching import read_old_data
from tunedprior.source_data.number_checks import find_mixed_units
from tunedprior.space.parameters import Numeric
from tunedprior.space.search_space import Space

HEAT = Numeric("heat", 20.0, 90.0)
VALUES = np.random.default_rng(0).uniform(20, 90, 60)
ODD = np.arange(60) % 3 == 0


@pytest.mark.parametrize(
    ("spoiled", "words"),
    [
        (1000 * VALUES, "1,000 times too large"),
        (VALUES / 1000, "1,000 times too small"),
        (60 * VALUES, "60 times too large"),
        (VALUES + 273.15, "K instead of °C"),
    ],
)
def test_some_rows_in_other_units(spoiled: np.ndarray, words: str) -> None:
    found = find_mixed_units(np.where(ODD, spoiled, VALUES), HEAT)
    assert found is not None
    assert found.words.startswith(words)
    assert (found.rows == ODD).all()
    assert found.convert_units(np.where(ODD, spoiled, VALUES)) == pytest.approx(VALUES)


@pytest.mark.parametrize(
    ("values", "parameter"),
    [
        (VALUES, HEAT),
        (2 * VALUES, HEAT),
        (np.where(ODD, VALUES + 100, VALUES), HEAT),
        (np.tile([20.0, 90.0], 10), HEAT),
        (10.0 ** np.arange(12), Numeric("rate", 1.0, 1e11)),
        (10.0 ** np.arange(12), Numeric("rate", 1.0, 1e11, log=True)),
        (np.tile([0.0, 1.0], 10), Numeric("part", 0.0, 1.0)),
        (np.append(VALUES, 5e4), HEAT),
        (np.array([50.0]), HEAT),
        (np.array([]), HEAT),
        (VALUES, None),
    ],
)
def test_what_is_all_in_one_unit(values: np.ndarray, parameter: Numeric | None) -> None:
    assert find_mixed_units(values, parameter) is None


def test_zeros_are_in_every_unit() -> None:
    values = np.where(np.arange(60) % 4 == 1, 0.0, VALUES / 90)
    found = find_mixed_units(np.where(ODD, 1000 * values, values), Numeric("part", 0.0, 1.0))
    assert found is not None
    assert (found.rows == (ODD & (values > 0))).all()


def test_a_response_needs_no_space() -> None:
    found = find_mixed_units(np.where(ODD, 1000 * VALUES, VALUES))
    assert found is not None
    assert (found.rows == ODD).all()


@given(st.lists(st.floats(-1e9, 1e9), max_size=30))
def test_any_numbers_can_be_looked_at(values: list[float]) -> None:
    found = find_mixed_units(np.array(values, dtype=np.float64), HEAT)
    assert found is None or 0 < found.rows.sum() < len(values)


def test_such_rows_are_not_learnt_from() -> None:
    old = {"heat": np.where(ODD, 1000 * VALUES, VALUES), "y": VALUES}
    with pytest.warns(OldDataWarning, match="1,000 times too large and left out in 20 of 60 rows"):
        read = read_old_data(old, Space((HEAT,)))
    assert read.response.tolist() == VALUES[~ODD].tolist()


@pytest.mark.parametrize("log", [False, True])
def test_one_more_power_of_ten_is_another_level_and_no_other_unit(log: bool) -> None:
    values = 10.0 ** np.random.default_rng(0).integers(0, 5, 40)  # 1 to 10,000, and the space ends at 1,000
    assert find_mixed_units(values, Numeric("wait", 1.0, 1000.0, log=log)) is None
    spread = np.exp(np.random.default_rng(0).uniform(0, np.log(3e4), 60))
    assert find_mixed_units(spread, Numeric("wait", 1.0, 1000.0, log=log)) is None
