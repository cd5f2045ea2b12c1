"""The arguments of `tell` in whatever form they come: settings, values and flags, or an `InputError`."""

import numbers
from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isfinite, nan
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from tunedprior.checks import format_value, warn
from tunedprior.errors import InputError, OddResultWarning
from tunedprior.files.cells import is_infinite
from tunedprior.problem.parameters import is_missing
from tunedprior.problem.space import Setting


def parse_settings(given: Any) -> pd.DataFrame | list[Setting]:
    """A table, or a list of settings; a single setting becomes a list of one, a row a table of one."""
    if isinstance(given, pd.DataFrame):
        return given
    if isinstance(given, pd.Series):
        return pd.DataFrame([dict(given)], dtype=object)
    each = [given] if isinstance(given, Mapping) else given
    if not isinstance(each, Sequence) or isinstance(each, str | bytes):
        raise InputError(
            "A setting is a dict of names and values, as ask returns it; several are a list of them or a table; got "
            f"{type(given).__name__} {format_value(given)}."
        )
    for one in each:
        if not isinstance(one, Mapping | pd.Series):
            raise InputError(
                f"Each setting must be a dict of names and values; got {type(one).__name__} {format_value(one)}."
            )
    return [one if isinstance(one, dict) else dict(one) for one in each]


def parse_outcomes(value: Any, failed: Any, count: int) -> list[float]:
    """One number for each of `count` settings, NaN for failed runs."""
    flags = parse_failed_flags(failed, count)
    if value is None and all(flags):
        return [nan] * count
    if value is None:
        raise InputError("tell needs a value for each setting, or failed=True.")
    told = [parse_outcome(cell) for cell in list_cells(value, "Values")]
    if len(told) != count:
        raise InputError(f"tell needs one value for each of the {count} settings; got {len(told)}.")
    return [nan if flag else number for number, flag in zip(told, flags, strict=True)]


def parse_outcome(cell: Any) -> float:
    """What came of a run: as `parse_finite_or_nan`, and an infinity as NaN, which is a failed run, with a warning.

    A loss that diverged is told so. To refuse it would lose the run.
    """
    if isinstance(cell, np.ndarray | Tensor) and cell.ndim == 0 and cell is not np.ma.masked:
        cell = cell.item()
    if not is_infinite(cell) or isinstance(cell, str):
        return parse_finite_or_nan(cell)
    warn(f"A value of {float(cell)} is no measurement: it is kept as a failed run.", OddResultWarning)
    return nan


def parse_finite_or_nan(cell: Any) -> float:
    """A finite number as it is, NaN and None as NaN; an `InputError` for all else, text and dates among it."""
    if is_missing(cell) or cell is np.ma.masked or (isinstance(cell, Decimal) and cell.is_nan()):
        return nan
    if isinstance(cell, np.ndarray | Tensor) and cell.ndim == 0:
        cell = cell.item()
    if isinstance(cell, str):
        raise InputError(
            f"Values must be numbers, or NaN for a failed run; got the text {cell!r}. Write a number, with a point."
        )
    # A flag is 0 or 1. np.timedelta64 counts itself among the whole numbers.
    real = isinstance(cell, numbers.Real | Decimal | np.bool_) and not isinstance(cell, np.timedelta64)
    if not real:
        raise InputError(
            f"Values must be numbers, or NaN for a failed run; got {type(cell).__name__} {format_value(cell)}."
        )
    try:
        number = float(cell)
    except OverflowError:
        number = float("inf")
    if not isfinite(number):
        raise InputError(f"Values must be finite, or NaN for a failed run; got {number}.")
    return number


def list_cells(given: Any, what: str) -> list[Any]:
    """The cells of one number, a list, an array, a tensor, a Series, or a table with one column."""
    if isinstance(given, Tensor):
        given = given.detach().cpu()
        given = (given.double() if given.is_floating_point() else given).numpy()  # NumPy has no bfloat16
    if isinstance(given, pd.DataFrame | np.ndarray):
        shape = given.shape
        if len(shape) > 2 or (len(shape) == 2 and shape[1] != 1):
            raise InputError(f"{what} must be one number for each setting, in one column; got shape {shape}.")
        given = given.iloc[:, 0] if isinstance(given, pd.DataFrame) else given.reshape(-1)
    if isinstance(given, pd.Series | np.ndarray):
        return list(given)
    if isinstance(given, Mapping | set):
        raise InputError(f"{what} must be one number for each setting, in order; got {type(given).__name__}.")
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        if given and all(_is_column(one) for one in given):
            return [one[0] for one in given]  # n rows of one number each
        return list(given)
    return [given]


def _is_column(one: Any) -> bool:
    return (isinstance(one, list | tuple) or (isinstance(one, np.ndarray | Tensor) and one.ndim == 1)) and len(one) == 1


def parse_failed_flags(failed: Any, count: int) -> list[bool]:
    """Whether each of `count` runs failed."""
    cells = list_cells(failed, "failed")
    for cell in cells:
        if not isinstance(cell, numbers.Real | np.bool_) or cell not in (0, 1):
            raise InputError(f"failed must be True or False; got {type(cell).__name__} {cell!r}.")
    if len(cells) not in (1, count):
        raise InputError(f"failed must be one flag, or one for each of the {count} settings; got {len(cells)}.")
    return [bool(cell) for cell in cells] if len(cells) == count else [bool(cells[0])] * count
