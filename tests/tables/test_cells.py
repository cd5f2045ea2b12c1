"""Cells: blank, a number, or neither."""

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tunedprior.tables import is_unmeasured, parse_numbers

BLANK = [None, np.nan, pd.NA, pd.NaT, "", " ", "NA", "n/a", "NaN", "null", "None", "-", "?", "#N/A", Decimal("NaN")]
DATES = [datetime(2020, 1, 1), date(2020, 1, 1), pd.Timestamp(0), np.datetime64(0, "s"), pd.Timedelta(1)]
WORDS = ["1,5", "1_000", "1 000", "inf", "twelve", "12 %"]


@pytest.mark.parametrize("cell", BLANK, ids=repr)
def test_what_people_write_for_nothing_is_blank(cell) -> None:
    assert is_unmeasured(cell)
    values, wrong = parse_numbers(pd.Series([cell, 1.5], dtype=object))
    assert np.isnan(values[0])
    assert values[1] == 1.5
    assert wrong == []


@pytest.mark.parametrize("cell", [0, 0.0, False, "0", "failed", "nano", [1, 2], [], "#DIV/0!"], ids=repr)
def test_whatever_says_something_is_not_blank(cell) -> None:
    assert not is_unmeasured(cell)


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        (" 1e-3 ", 1e-3),
        ("+5", 5.0),
        ("−5", -5.0),
        (".5", 0.5),
        (Decimal("0.1"), 0.1),
        (Fraction(1, 4), 0.25),
        (np.float32(0.5), 0.5),
        (np.int8(-3), -3.0),
        (torch.tensor(2.5), 2.5),
        (np.array(2.5), 2.5),
        (10**300, 1e300),
    ],
    ids=repr,
)
def test_numbers_of_any_kind_are_numbers(cell, number) -> None:
    values, wrong = parse_numbers(pd.Series([cell, "x"], dtype=object))
    assert values[0] == number
    assert wrong == [1]


@pytest.mark.parametrize(
    "cell",
    [True, np.True_, 1j, 10**400, Decimal("1e400"), -np.inf, [1.0], torch.ones(2), *WORDS, *DATES],
    ids=repr,
)
def test_what_is_no_finite_number_is_named_by_its_row(cell) -> None:
    column = pd.Series([1, None, 2], dtype=object)
    column.iloc[1] = cell
    values, wrong = parse_numbers(column)
    assert wrong == [1]
    np.testing.assert_array_equal(values, [1.0, np.nan, 2.0])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([True, False]),
        pd.Series([True, False], dtype="boolean"),
        pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])),
        pd.Series(pd.to_timedelta([1, 2])),
        pd.Series([1j, 2j]),
        pd.Series([np.inf, -np.inf]),
    ],
    ids=lambda column: str(column.dtype),
)
def test_columns_of_other_types_are_wrong_in_every_row(column) -> None:
    assert parse_numbers(column)[1] == [0, 1]


@pytest.mark.parametrize("kind", ["float32", "int64", "Int64", "Float64", "uint8", "object", "category", "str"])
def test_columns_of_any_numeric_type(kind: str) -> None:
    values, wrong = parse_numbers(pd.Series([1, 2], dtype="int64").astype(kind))
    assert values.dtype == np.float64
    assert values.tolist() == [1.0, 2.0]
    assert wrong == []


def test_gaps_of_nullable_columns_are_blank() -> None:
    assert np.isnan(parse_numbers(pd.Series([1, None], dtype="Int64"))[0]).tolist() == [False, True]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_text_of_a_number_is_that_number_exactly(values) -> None:
    read, wrong = parse_numbers(pd.Series([repr(value) for value in values], dtype=object))
    assert read.tolist() == values
    assert wrong == []
