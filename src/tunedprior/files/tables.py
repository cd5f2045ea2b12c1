"""One reader for every table that users have: files, pandas tables, records, columns, studies."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pandas as pd
from optuna.study import Study
from torch import Tensor

from tunedprior.checks import format_list, format_value, hide_password
from tunedprior.errors import InputError
from tunedprior.files.content import ReadTable
from tunedprior.files.decoding import decode_text
from tunedprior.files.frames import from_columns, from_frame, from_records, from_structured
from tunedprior.files.packed import MOST_BYTES_OF_TEXT, decompress, infer_file_kind, refuse_large
from tunedprior.files.sheets import read_parquet, read_workbook
from tunedprior.files.study import read_study
from tunedprior.files.text import read_text
from tunedprior.files.workbook_sizes import refuse_large_workbook

_KINDS = (
    "a pandas.DataFrame, the path of a file (CSV, Excel, Parquet), an open file, a list of dicts, a dict of columns "
    "or an Optuna study"
)


def read_table(source: Any, names: Sequence[str], what: str) -> ReadTable:
    r"""Read whatever holds a table, and say what was assumed.

    Args:
        source: A `pandas.DataFrame`; the path of a text file (CSV and its relatives, also compressed), an Excel,
            OpenDocument or Parquet file; an open file; a list of dicts; a dict of columns; a structured NumPy array;
            a `pandas.Series` that is one row; an Optuna `Study`; a `ReadTable`, which is what comes out.
        names: The columns that are hoped for, the response last. They help to find the header and the separator, and
            columns that differ in capitals or units alone get these names. None of them has to be there.
        what: What the table is, for messages: "Old data", "The history".

    Raises:
        InputError: It is no table, or one that could be read in several ways; the message says where.
        FileFormatError: The file is damaged, or of another kind than its ending says.

    >>> from io import StringIO
    >>> read = read_table(StringIO("Temp [°C];y\n20;0,5\n"), ["temp", "y"], "Old data")
    >>> read.table.to_dict("records"), read.format_place(0)
    ([{'temp': '20', 'y': '0.5'}], 'line 2')
    >>> read.remarks
    ("The separator is ';'.", "Column 'Temp [°C]' is taken for 'temp'.", 'Numbers have decimal commas.')
    """
    names = list(names)
    if isinstance(source, ReadTable):
        return source
    if isinstance(source, pd.DataFrame):
        return from_frame(source, names, what, "the table")
    if isinstance(source, str | os.PathLike):
        return _read_path(source, names, what)
    if isinstance(source, Study):
        return read_study(source, names, what)
    if isinstance(source, pd.Series) and not set(map(str, source.index)) & set(names):
        raise InputError(
            f"{what} must be a table with the columns {format_list(names)}; got a Series, which is one column "
            "or one row, "
            "with none of these names. Pass the table that it comes from."
        )
    if isinstance(source, pd.Series):
        return from_records([{str(key): cell for key, cell in source.items()}], names, what, "the row")
    if isinstance(source, np.ndarray | np.void) and source.dtype.names is not None:
        return from_structured(np.atleast_1d(np.asarray(source)), names, what)
    if isinstance(source, Mapping):
        return from_columns(source, names, what)
    if callable(getattr(source, "to_pandas", None)):  # tables of other packages
        return read_table(source.to_pandas(), names, what)
    if callable(getattr(source, "read", None)):
        return _read_open_file(source, names, what)
    if isinstance(source, Sequence) and source and all(isinstance(row, Mapping) for row in source):
        return from_records(source, names, what, "the list")
    if isinstance(source, np.ndarray | Tensor) or (isinstance(source, list | tuple) and source):
        columns = format_list(map(repr, names)) if len(names) <= 5 else ", ".join(map(repr, names))
        raise InputError(
            f"{what} must have names for its columns; got {type(source).__name__}"
            f"{f' of shape {tuple(source.shape)}' if isinstance(source, np.ndarray | Tensor) else ''}. "
            f"Write pandas.DataFrame(array, columns=[{columns}]), with the columns in that order."
        )
    seen = "an empty one" if isinstance(source, list | tuple) else format_value(source)
    raise InputError(f"{what} must be {_KINDS}; got {type(source).__name__}, {seen}.")


def _read_path(source: str | os.PathLike[str], names: Sequence[str], what: str) -> ReadTable:
    given = os.fsdecode(source)
    if not given.strip():
        raise InputError(f"{what} must be {_KINDS}; got {given!r}, which is no file's name.")
    try:
        path = Path(given)
        if path.is_dir():
            raise InputError(f"{what} must be a table; {given!r} is a folder. Name a file in it.")
        if not path.is_file():
            raise InputError(f"{what}: there is no file {_shorten_path(given)}.{_suggest_remedy(given)}")
        refuse_large(path.stat().st_size, path.name, MOST_BYTES_OF_TEXT)
        data = path.read_bytes()
    except InputError:
        raise
    except (OSError, ValueError) as error:  # no permission, a name too long, a zero in it
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{what}: {_shorten_path(given)} cannot be read: {reason}. Name another file.") from error
    return _read_bytes(data, names, what, path.name)


def _shorten_path(text: str) -> str:
    text = hide_password(text) if "://" in text else text
    return repr(text if len(text) <= 100 else text[:100] + "…")


def _suggest_remedy(given: str) -> str:
    if "\n" in given:
        return " Pass io.StringIO(text) if this is the text of a table itself."
    return " Download it first." if "://" in given else f" (Looked for in {str(Path.cwd())!r}.)"


def _read_bytes(data: bytes, names: Sequence[str], what: str, origin: str) -> ReadTable:
    kind = infer_file_kind(data, origin)
    if kind == "Excel":
        refuse_large_workbook(data, origin)
        return read_workbook(data, names, what, origin)
    if kind == "Parquet":
        return replace(from_frame(read_parquet(data, origin), names, what, origin), origin=origin)
    text, said = decode_text(decompress(data, kind, origin), what, origin)
    return read_text(text, names, what, origin, said)


def _read_open_file(source: Any, names: Sequence[str], what: str) -> ReadTable:
    name = getattr(source, "name", None)
    origin = PurePath(name).name if isinstance(name, str) else "the open file"
    try:
        content = source.read(MOST_BYTES_OF_TEXT + 1)
    except (OSError, ValueError, TypeError) as error:  # closed, opened for writing, of another encoding
        raise InputError(
            f"{what}: the open file cannot be read: {str(error).rstrip('.')}. Pass its path instead."
        ) from error
    if not isinstance(content, str | bytes):
        raise InputError(f"{what}: reading the open file must give text or bytes; got {type(content).__name__}.")
    refuse_large(len(content), origin, MOST_BYTES_OF_TEXT)
    if not content.strip():
        raise InputError(f"{what}: the open file is empty or at its end. Call file.seek(0) if it was read before.")
    return (
        read_text(content, names, what, origin)
        if isinstance(content, str)
        else _read_bytes(content, names, what, origin)
    )
