"""Tables that are in memory already: pandas tables, records, columns, structured arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from tunedprior.checks import format_list, format_value
from tunedprior.errors import InputError
from tunedprior.files.content import ReadTable
from tunedprior.files.names import collect_units, describe_renamings, match_columns, refuse_duplicates


def from_frame(frame: pd.DataFrame, names: Sequence[str], what: str, origin: str) -> ReadTable:
    """The table with text for its columns' names; its index is dropped, unless that is a column that is hoped for."""
    if isinstance(frame.columns, pd.MultiIndex):
        raise InputError(f"{what}: columns must have plain names; {origin} has names of several levels. Flatten them.")
    refuse_duplicates(frame.columns.tolist(), what, origin)
    labels, said = frame.index, []
    found = match_columns(frame.columns.tolist(), names)
    for k, level in enumerate(labels.names):
        if level is None:
            continue
        free = [name for name in names if name not in found.values()]
        if match_columns([level], free) and str(level) not in map(str, frame.columns):
            frame = frame.assign(**{str(level): labels.to_frame(index=False).iloc[:, k].to_numpy()})
            said.append(f"The index {str(level)!r} is taken for a column.")
            found = match_columns(frame.columns.tolist(), names)
    columns = frame.columns.tolist()
    said += describe_renamings(columns, found)
    table = frame.reset_index(drop=True).set_axis([found.get(k, str(name)) for k, name in enumerate(columns)], axis=1)
    refuse_duplicates(table.columns.tolist(), what, origin)
    return ReadTable(table, origin, tuple(said), labels, units=collect_units(columns, found))


def from_records(rows: Sequence[Mapping[Any, Any]], names: Sequence[str], what: str, origin: str) -> ReadTable:
    """One row for each dict; values keep their types."""
    # As objects, or a table would turn 1 beside 0.5 into 1.0 and None into NaN.
    return from_frame(pd.DataFrame([dict(row) for row in rows], dtype=object), names, what, origin)


def from_structured(array: np.ndarray, names: Sequence[str], what: str) -> ReadTable:
    """One column for each field of a structured array."""
    if array.ndim != 1:
        raise InputError(f"{what} must have one row after the other; got a structured array of shape {array.shape}.")
    return from_columns({name: array[name] for name in array.dtype.names or ()}, names, what)


def from_columns(columns: Mapping[Any, Any], names: Sequence[str], what: str) -> ReadTable:
    """A dict of columns, or of single values: one row then."""
    if not columns:
        raise InputError(f"{what} must have columns ({format_list(names)}); got an empty dict.")
    if all(_is_single_value(cells) for cells in columns.values()):
        return from_records([columns], names, what, "the dict")
    made = {name: _make_column(cells, str(name), what) for name, cells in columns.items()}
    lengths = {str(name): len(cells) for name, cells in made.items()}
    if len(set(lengths.values())) > 1:
        told = format_list(f"{name!r} has {count}" for name, count in lengths.items())
        raise InputError(f"{what}: columns must be equally long; {told}.")
    return from_frame(pd.DataFrame(made), names, what, "the dict")


def _is_single_value(cell: Any) -> bool:
    return isinstance(cell, str | bytes) or not hasattr(cell, "__len__") or getattr(cell, "ndim", None) == 0


def _to_numpy(cells: Any) -> Any:
    return cells.detach().cpu().numpy() if isinstance(cells, Tensor) else cells


def _make_column(cells: Any, name: str, what: str) -> "pd.Series[Any]":
    cells = _to_numpy(cells)
    if isinstance(cells, pd.Series):
        return cells.reset_index(drop=True)
    if isinstance(cells, np.ndarray):
        cells = cells[:, 0] if cells.ndim == 2 and cells.shape[1] == 1 else cells
        if cells.ndim != 1:
            raise InputError(f"{what}: column {name!r} must be one value for each row; got shape {cells.shape}.")
        if cells.dtype.kind == "S":
            cells = np.char.decode(cells, "utf-8", "replace")
        return pd.Series(cells.astype(cells.dtype.newbyteorder("=")))
    if isinstance(cells, str | bytes) or not isinstance(cells, Sequence | pd.Index):
        raise InputError(
            f"{what}: column {name!r} must be a list of values; got {type(cells).__name__}, {format_value(cells)}."
        )
    return pd.Series(list(cells), dtype=object)
