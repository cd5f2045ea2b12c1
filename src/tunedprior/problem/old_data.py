"""Reading old data: a table or a CSV file, matched to the search space by column name."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64
from numpy import ndarray

from tunedprior.checks import listed, warn
from tunedprior.errors import InputError, OldDataWarning
from tunedprior.problem.parameters import Categorical, Numeric, Parameter, position_among
from tunedprior.problem.space import Space

_PASS = {"pass", "passed", "ok", "good", "yes", "true", "success"}
_FAIL = {"fail", "failed", "nok", "bad", "no", "false", "failure"}


@dataclass(frozen=True, eq=False)
class OldTable:
    """Old settings and what came of them, ready to learn from.

    Attributes:
        settings: One column per parameter of the space.
        response: A number per row, or a label ±1.
        labels: Whether the response is labels.
    """

    settings: pd.DataFrame
    response: Float64[ndarray, " n"]
    labels: bool

    def __len__(self) -> int:
        return len(self.settings)


def read_old_data(
    data: pd.DataFrame | str | PathLike[str], space: Space, target: str = "y", direction: str = "maximize"
) -> OldTable:
    """Match old data to the space by name, and say what does not match.

    A response that is missing marks a failed run; it counts as the worst response there was. Responses that take
    only the values pass/fail, true/false, 0/1 or -1/+1 are labels.
    """
    table = _load(data)
    if target in space.names:
        raise InputError(
            f"{target!r} is a parameter, so it cannot be the response too. Name the response with target=."
        )
    missing = [name for name in (*space.names, target) if name not in table.columns]
    if missing:
        raise InputError(
            f"Old data must have the columns {listed([*space.names, target])}; {listed(missing)} is missing "
            f"(there are {listed(table.columns)}). Rename columns, name the response with target=, or add a column "
            "with the value the old device had."
        )
    extra = [str(name) for name in table.columns if name not in (*space.names, target)]
    if extra:
        warn(
            f"Old data has columns that the search space does not name, and they are ignored: {listed(extra)}.",
            OldDataWarning,
        )
    settings = pd.DataFrame({p.name: _inputs(table[p.name], p) for p in space.parameters})
    for parameter in space.parameters:
        if isinstance(parameter, Categorical):
            _report_unknown(settings[parameter.name], parameter)
    constant = [name for name in space.names if len(table) > 1 and settings[name].nunique() == 1]
    if constant:
        warn(f"Old data says nothing about {listed(constant)}: the value never changes.", OldDataWarning)
    response, labels = _response(table[target], target, direction)
    return OldTable(settings.reset_index(drop=True), response, labels)


def _load(data: pd.DataFrame | str | PathLike[str]) -> pd.DataFrame:
    if isinstance(data, pd.DataFrame):
        return data.reset_index(drop=True)
    path = Path(data)
    if not path.is_file():
        raise InputError(f"Old data must be a table or a CSV file; there is no file {str(path)!r}.")
    try:
        return pd.read_csv(path, skipinitialspace=True)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} is not a CSV file that can be read: {error}.") from error


def _inputs(column: "pd.Series[Any]", parameter: Parameter) -> "pd.Series[Any]":
    gaps = np.flatnonzero(column.isna())
    empty_is_a_choice = isinstance(parameter, Categorical) and position_among(None, parameter.choices) is not None
    if len(gaps) and not empty_is_a_choice:
        raise InputError(
            f"Old settings must be complete; {column.name!r} is empty in {len(gaps)} of {len(column)} rows "
            f"(rows {listed(gaps)}). Drop or fill them."
        )
    return _numbers(column) if isinstance(parameter, Numeric) else column


def _report_unknown(column: "pd.Series[Any]", parameter: Categorical) -> None:
    unknown = [value for value in column.unique() if position_among(value, parameter.choices) is None]
    if unknown:
        warn(
            f"Old data's {parameter.name!r} has {listed(map(repr, unknown))}, which the search space does not offer "
            f"({listed(map(repr, parameter.choices))}); what was learnt there helps less.",
            OldDataWarning,
        )


def _numbers(column: "pd.Series[Any]") -> "pd.Series[Any]":
    values = pd.to_numeric(column, errors="coerce").astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(values) & column.notna())
    if len(wrong):
        raise InputError(
            f"Old data's {column.name!r} must be numbers; {len(wrong)} of {len(column)} are not "
            f"(rows {listed(wrong)}: {listed(repr(column.iloc[row]) for row in wrong)})."
        )
    return values


def _response(column: "pd.Series[Any]", target: str, direction: str) -> tuple[Float64[ndarray, " n"], bool]:
    told = column.dropna()
    words = {str(value).strip().lower() for value in told}
    if words and words <= _PASS | _FAIL:
        ones = column.map(lambda value: 1.0 if str(value).strip().lower() in _PASS else -1.0)
        return ones.to_numpy(np.float64), True  # an empty cell is a failed run, like the word
    # "failed" among numbers is a failed run, like an empty cell.
    column = column.where(~column.map(lambda value: str(value).strip().lower() in _FAIL), np.nan)
    values = _numbers(column).to_numpy(np.float64, copy=True)
    distinct = set(values[~np.isnan(values)])
    if distinct in ({0.0, 1.0}, {-1.0, 1.0}):
        return np.where(values > 0, 1.0, -1.0), True
    failed = np.isnan(values)
    if failed.all() and len(values):
        raise InputError(f"Old data's response {target!r} is empty in every row. Name the right column with target=.")
    if failed.any() and len(distinct) == 1:  # only success and failure are told apart
        return np.where(failed, -1.0, 1.0), True
    if failed.any():
        values[failed] = values[~failed].min() if direction == "maximize" else values[~failed].max()
    return values, False
