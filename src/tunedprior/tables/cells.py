"""Classify single cells of a table: blank, a number, a formula, a spreadsheet error, or something else."""

import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import isfinite, nan
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64
from numpy import ndarray

from tunedprior.checks import format_value

#: How people and programs write that nothing was measured, in small letters.
BLANK = frozenset(
    ["", "na", "n/a", "#n/a", "n.a.", "<na>", "nan", "nat", "null", "none", "nil", "missing", "not measured"]
).union("-?.–—", ["--"])

_ERROR = re.compile(r"#[^\s#]{2,14}[!?]|#N/A|#N/?[VD]", re.IGNORECASE)
#: A date, as text.
DATE = re.compile(r"\s*(\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{2,4})([ T]\d\d?:\d\d.*)?\s*")


# 1,234 is 1.234 to some and 1234 to others; 0,123 and 1,23 are one thing only.
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}", re.ASCII)
#: What spreadsheets take for the beginning of a formula, or pass over before they look for one.
_STARTS = r"=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20"
_WOULD_RUN = re.compile(rf"'*[{_STARTS}]")
# The same after a sign at which columns or lines end in spreadsheets that are set so, inside of quotes too.
_WOULD_RUN_AFTER = re.compile(rf"([;\t\r\n])(?='*[{_STARTS}])")
_GUARDED_AFTER = re.compile(rf"([;\t\r\n])'(?='*[{_STARTS}])")
_SIGNED_NUMBER = re.compile(r"[+-](?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def parse_ambiguous_number(text: str) -> tuple[str, str] | None:
    """Return both readings of a text like "1,234" (a decimal or a thousands comma), or None.

    >>> parse_ambiguous_number("1,234"), parse_ambiguous_number("0,123")
    (('1.234', '1234'), None)
    """
    return (text.replace(",", "."), text.replace(",", "")) if _EITHER.fullmatch(text) else None


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet would run the text as a formula; a number with a sign is no formula.

    >>> is_formula("=1+1"), is_formula("-2.5"), is_formula("-2.5+cmd"), is_formula("a=1")
    (True, False, True, False)
    """
    return _WOULD_RUN.match(text) is not None and _SIGNED_NUMBER.fullmatch(text) is None


def guard_formula(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run as a formula.

    >>> guard_formula("=1+1"), guard_formula("argon"), unguard_formula(guard_formula("'=1+1"))
    ("'=1+1", 'argon', "'=1+1")
    """
    guarded = _WOULD_RUN_AFTER.sub(r"\1'", text)
    return f"'{guarded}" if is_formula(text) else guarded


def unguard_formula(text: str) -> str:
    """Undo `guard_formula`."""
    plain = _GUARDED_AFTER.sub(r"\1", text)
    return plain[1:] if plain.startswith("'") and is_formula(plain[1:]) else plain


def is_unmeasured(cell: Any) -> bool:
    """Return whether the cell means that nothing was measured: None, NaN, "", "NA", "-" and similar."""
    if isinstance(cell, str):
        return cell.strip().casefold() in BLANK
    if isinstance(cell, Decimal):
        return cell.is_nan()
    if not pd.api.types.is_scalar(cell):
        return False
    return bool(pd.isna(cell))


def is_infinite(cell: Any) -> bool:
    """Return whether the cell is an infinity, as a number or as text (not a number too large for a float)."""
    if isinstance(cell, str):
        return cell.strip().casefold().lstrip("+-") in ("inf", "infinity", "∞")
    return isinstance(cell, float | np.floating) and bool(np.isinf(cell))


def is_spreadsheet_error(cell: Any) -> bool:
    """Return whether the cell is an error of a spreadsheet: #DIV/0!, #N/A, #WERT!."""
    return isinstance(cell, str) and _ERROR.fullmatch(cell.strip()) is not None


def describe_non_number(cell: Any) -> str:
    """Say why a cell of a sheet is no number (an error, a date, a formula), and what to do; else ""."""
    if is_spreadsheet_error(cell):
        return f"{cell.strip()!r}, an error of the spreadsheet"
    if isinstance(cell, str) and cell.startswith("="):
        return (
            f"{format_value(cell)}, a formula without its value: open the file in a spreadsheet program and "
            "save it again"
        )
    dated = isinstance(cell, date) and not pd.isna(cell)
    if not dated and not (isinstance(cell, str) and DATE.fullmatch(cell)):
        return ""
    day = f"{cell.day} {cell:%B %Y}" if dated else cell.strip()
    return f"a date ({day}): spreadsheets make dates of numbers such as 20.5; write it again as a number"


def parse_numbers(column: "pd.Series[Any]") -> tuple[Float64[ndarray, " n"], list[int]]:
    """Return the column as floats (NaN for blank cells), and the rows whose cells are no finite number.

    Text is converted exactly, as Python reads it, and may have spaces around it. True, dates, complex numbers, infinity
    and numbers too large for a float are no numbers here; where they stand the array has NaN too.
    """
    if _is_numeric_column(column):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan).copy()
        wrong = np.flatnonzero(np.isinf(values)).tolist()
        values[wrong] = np.nan
        return values, wrong
    cells = column.astype(object).tolist()
    quick = _parse_plain_text(cells)
    if quick is not None:
        return quick, []
    read = [nan if is_unmeasured(cell) else parse_finite_number(cell) for cell in cells]
    wrong = [row for row, value in enumerate(read) if value is None]
    return np.array([nan if value is None else value for value in read], dtype=np.float64), wrong


def _is_numeric_column(column: "pd.Series[Any]") -> bool:
    """Whether the column's type holds nothing but real numbers."""
    kind = column.dtype
    types = pd.api.types
    return types.is_numeric_dtype(kind) and not types.is_bool_dtype(kind) and not types.is_complex_dtype(kind)


def _parse_plain_text(cells: Sequence[Any]) -> Float64[ndarray, " n"] | None:
    """The numbers, if every cell is text of a finite one; None otherwise. Many rows are read in this way."""
    try:
        joined = "".join(cells)
        values = np.array(list(map(float, cells)), dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return values if "_" not in joined and np.isfinite(values).all() else None


def parse_finite_number(cell: Any) -> float | None:
    """Return the finite number in a cell; None if there is none, or if it means True, a date or the like."""
    if isinstance(cell, str):
        text = cell.strip().replace("−", "-")  # the sign that word processors make of a hyphen
        if "_" in text:  # Python would read 1_000 as a thousand
            return None
        return _to_finite_float(text)
    if isinstance(cell, bool | np.bool_ | complex | np.complexfloating | np.datetime64 | np.timedelta64):
        return None
    if isinstance(cell, int | float | Decimal | Fraction | np.integer | np.floating):
        return _to_finite_float(cell)
    scalar = getattr(cell, "item", None)  # a tensor or an array with one number
    if scalar is None or getattr(cell, "ndim", None) != 0:
        return None
    value = scalar()
    return _to_finite_float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _to_finite_float(value: Any) -> float | None:
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None
