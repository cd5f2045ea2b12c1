"""Read a table from any source: a text file, a workbook, a Parquet file, a pandas table, records, columns, a study.

Tables that are spread over many Parquet files are read one row group at a time, in bounded memory.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pandas as pd
from optuna.study import Study
from torch import Tensor

from tunedprior.checks import format_list, format_value, hide_password
from tunedprior.errors import FileFormatError, InputError
from tunedprior.tables.cells import unguard_formula
from tunedprior.tables.content import (
    DECIMAL_COMMAS,
    ReadTable,
    build_table,
    convert_decimal_commas,
    convert_trials_table,
    decode_text,
    find_header,
    infer_separator,
    read_records,
    read_study,
)
from tunedprior.tables.formats import (
    MOST_BYTES_OF_TEXT,
    MOST_CELLS,
    MOST_COLUMNS,
    TableFormat,
    decompress,
    get_format,
    infer_file_kind,
    refuse_large,
    refuse_many_cells,
    register_format,
)
from tunedprior.tables.names import collect_units, describe_renamings, match_columns, refuse_duplicates
from tunedprior.tables.sheets import import_parquet_reader, read_parquet, read_workbook


def from_frame(frame: pd.DataFrame, names: Sequence[str], what: str, origin: str) -> ReadTable:
    """Read a pandas table: column names become text; the index is dropped unless it is an expected column."""
    if isinstance(frame.columns, pd.MultiIndex):
        raise InputError(f"{what}: columns must have plain names; {origin} has names of several levels. Flatten them.")
    refuse_duplicates(frame.columns.tolist(), what, origin)
    labels, remarks = frame.index, []
    found = match_columns(frame.columns.tolist(), names)
    for k, level in enumerate(labels.names):
        if level is None:
            continue
        free = [name for name in names if name not in found.values()]
        if match_columns([level], free) and str(level) not in map(str, frame.columns):
            frame = frame.assign(**{str(level): labels.to_frame(index=False).iloc[:, k].to_numpy()})
            remarks.append(f"The index {str(level)!r} is taken for a column.")
            found = match_columns(frame.columns.tolist(), names)
    columns = frame.columns.tolist()
    remarks += describe_renamings(columns, found)
    table = frame.reset_index(drop=True).set_axis([found.get(k, str(name)) for k, name in enumerate(columns)], axis=1)
    refuse_duplicates(table.columns.tolist(), what, origin)
    return ReadTable(table, origin, tuple(remarks), labels, units=collect_units(columns, found))


def from_records(rows: Sequence[Mapping[Any, Any]], names: Sequence[str], what: str, origin: str) -> ReadTable:
    """Read a list of dicts, one for each row; values keep their types."""
    # As objects, or a table would turn 1 beside 0.5 into 1.0 and None into NaN.
    return from_frame(pd.DataFrame([dict(row) for row in rows], dtype=object), names, what, origin)


def from_structured(array: np.ndarray, names: Sequence[str], what: str) -> ReadTable:
    """Read a structured NumPy array, one column for each field."""
    if array.ndim != 1:
        raise InputError(f"{what} must have one row after the other; got a structured array of shape {array.shape}.")
    return from_columns({name: array[name] for name in array.dtype.names or ()}, names, what)


def from_columns(columns: Mapping[Any, Any], names: Sequence[str], what: str) -> ReadTable:
    """Read a dict of columns, or of single values, which make one row."""
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


def _make_column(cells: Any, name: str, what: str) -> "pd.Series[Any]":
    cells = cells.detach().cpu().numpy() if isinstance(cells, Tensor) else cells
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


_BROAD = 64  # letters in a cell, about: the first lines are looked at


def read_text(text: str, names: Sequence[str], what: str, origin: str, remarks: Sequence[str] = ()) -> ReadTable:
    """Read a delimited text; cells stay text, and decimal commas in the expected columns become points."""
    text = text.removeprefix("\ufeff")
    if not text or text.isspace():
        raise InputError(f"{what} must be a table; {origin} is empty. A line with the columns' names comes first.")
    _refuse_long_text(text, origin)
    text, separator, on_separator = infer_separator(text, names)
    try:
        found = read_records(text, separator)
    except InputError as error:
        raise InputError(f"{what}: {origin}, {error}.") from error
    if "'" in text:
        found = replace(found, rows=[list(map(unguard_formula, row)) for row in found.rows])
    header = find_header(found, separator, names)
    if not header.fields:
        raise InputError(f"{what} must be a table; {origin} holds comments only. Add a line with the columns' names.")
    remarks = [*remarks, *on_separator, *_describe_comments(found.comments), *header.remarks]
    rows, lines = found.rows[header.first :], found.lines[header.first :]
    fields, rows, trailing = _align_rows(header.fields, rows, lines, separator, what, origin)
    if len(fields) > 1 and not all(map(any, rows)):
        kept = [k for k, row in enumerate(rows) if any(row)]
        remarks.append(f"Lines without any entry are left out ({len(rows) - len(kept)}).")
        rows, lines = [rows[k] for k in kept], [lines[k] for k in kept]
    read = build_table(
        fields, rows, lines, unit="line", names=names, what=what, origin=origin, remarks=[*remarks, *trailing]
    )
    table, commas = convert_decimal_commas(read, names, separator, what)
    return replace(read, table=table, remarks=(*read.remarks, DECIMAL_COMMAS)) if commas else read


def _refuse_long_text(text: str, origin: str) -> None:
    """Count cells under the separator that there is most of, which is at least as many as there are."""
    separators = ",;\t|"
    lines = text.count("\n") + text.count("\r") + 1
    beginning = text[: MOST_COLUMNS * _BROAD]
    widest = max((max(map(line.count, separators)) for line in beginning.splitlines()), default=0)
    refuse_many_cells(min(lines, MOST_CELLS + 1), widest + 1, origin)
    separated_by = max(separators, key=beginning.count)
    refuse_many_cells(text.count(separated_by) + lines, 1, origin)


def _describe_comments(lines: Sequence[int]) -> list[str]:
    if not lines:
        return []
    return [f"Comments are skipped ({'line' if len(lines) == 1 else 'lines'} {format_list(lines)})."]


def drop_trailing_separators(header: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]], list[str]]:
    """Drop a separator at the ends of all rows, or at that of the header; also return a remark that says so."""
    lengths = set(map(len, rows))
    if lengths == {len(header) + 1} and not any(row[-1].strip() for row in rows):
        return header, [row[:-1] for row in rows], ["Separators at the ends of lines are dropped."]
    if lengths == {len(header) - 1} and not header[-1].strip():
        return header[:-1], rows, ["A separator at the end of the header is dropped."]
    return header, rows, []


def _align_rows(
    header: list[str], rows: list[list[str]], lines: list[int], separator: str, what: str, origin: str
) -> tuple[list[str], list[list[str]], list[str]]:
    """Header and rows of one length: without a separator at the end of all of them, or an error with the line."""
    header, rows, remarks = drop_trailing_separators(header, rows)
    width = len(header)
    row = next((k for k, row in enumerate(rows) if len(row) != width), None)
    if row is not None:
        count = len(rows[row])
        advice = "Mend that line"
        if separator == "," and count > width:
            advice += ", or save the file with ';' or tabs between columns if its numbers have decimal commas"
        raise InputError(
            f"{what}: every line must have as many fields as the header, {width} ({format_list(header)}); line "
            f"{lines[row]} "
            f"of {origin} has {count} ({format_list(map(repr, rows[row]))}). {advice}."
        )
    return header, rows, remarks


_KINDS = (
    "a pandas.DataFrame, the path of a file (CSV, Excel, Parquet), an open file, a list of dicts, a dict of columns "
    "or an Optuna study"
)


def read_table(source: Any, names: Sequence[str], what: str) -> ReadTable:
    r"""Read whatever holds a table, and say what was assumed.

    Args:
        source: A `pandas.DataFrame`; the path of a text file (CSV and its relatives, also compressed), an Excel,
            OpenDocument or Parquet file; an open file; a list of dicts; a dict of columns; a structured NumPy array;
            a `pandas.Series` that is one row; an Optuna `Study`, or the table of its trials; a `ReadTable`, which is
            what comes out.
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
    if isinstance(source, ReadTable):
        return source
    return convert_trials_table(_read_as_it_is(source, list(names), what), list(names))


def _read_as_it_is(source: Any, names: list[str], what: str) -> ReadTable:
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
        return _read_as_it_is(source.to_pandas(), names, what)
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
    found = get_format(kind)
    if found is not None:
        return found.read(data, names, what, origin)
    text, remarks = decode_text(decompress(data, kind, origin), what, origin)
    return read_text(text, names, what, origin, remarks)


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


def _read_parquet(data: bytes, names: Sequence[str], what: str, origin: str) -> ReadTable:
    return from_frame(read_parquet(data, origin), names, what, origin)


#: Newer workbooks are zip archives, which `infer_file_kind` tells apart.
EXCEL = TableFormat("Excel", (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), (b"\xd0\xcf\x11\xe0",), read_workbook)
PARQUET = TableFormat("Parquet", (".parquet", ".pq"), (b"PAR1",), _read_parquet)
register_format(EXCEL)
register_format(PARQUET)

# Rows in memory at once: enough for matrix products to be fast, and in a hundred columns some 50 MB.
_AT_ONCE = 2**16
_DAMAGE = (OSError, ValueError, NotImplementedError)  # what Arrow's errors are, too


@dataclass(frozen=True)
class RowGroup:
    """One row group of a Parquet file, the smallest part that can be read on its own.

    Attributes:
        path: The file.
        group: The number of the row group in it.
        first: The number of its first row among all rows of all files.
        first_in_file: The number of its first row among those of the file.
        rows: How many rows it has.
    """

    path: str
    group: int
    first: int
    first_in_file: int
    rows: int

    def read_batches(self, columns: Sequence[str]) -> Iterator[tuple[int, pd.DataFrame]]:
        """Yield the rows of these columns in batches, each with the number of its first row in the group."""
        reader, name, begun = import_parquet_reader(self.path), Path(self.path).name, 0
        try:
            with reader.ParquetFile(self.path) as file:
                batches = file.iter_batches(_AT_ONCE, row_groups=[self.group], columns=list(columns))
                for batch in batches:
                    yield begun, batch.to_pandas()
                    begun += batch.num_rows
        except _DAMAGE as error:
            raise FileFormatError(f"{name!r} cannot be read, or is damaged ({error}).") from error


def list_row_groups(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], columns: Sequence[str]
) -> list[RowGroup]:
    """List the row groups of all files in the order of their names, reading only the files' metadata.

    Args:
        source: A folder, a pattern such as "old/*.parquet", or a list of files, which are read in its order.
        columns: What every file must have.
    """
    pieces: list[RowGroup] = []
    first = 0
    for path in _find_files(source):
        about = _read_file_metadata(path, columns)
        in_file = 0
        for group in range(about.num_row_groups):
            rows = about.row_group(group).num_rows
            if rows:
                pieces.append(RowGroup(path, group, first + in_file, in_file, rows))
            in_file += rows
        first += in_file
    return pieces


def group_into_tasks(pieces: Sequence[RowGroup], rows: int) -> list[tuple[RowGroup, ...]]:
    """Group neighbouring row groups into tasks of about `rows` rows; a larger group is a task of its own."""
    tasks: list[list[RowGroup]] = []
    held = 0
    for piece in pieces:
        if not tasks or held + piece.rows > rows:
            tasks.append([])
            held = 0
        tasks[-1].append(piece)
        held += piece.rows
    return [tuple(task) for task in tasks]


def _find_files(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    if isinstance(source, str | os.PathLike):
        given = os.fsdecode(source)
        if Path(given).is_dir():
            found = [str(path) for path in Path(given).rglob("*") if path.suffix in PARQUET.endings]
        else:
            every = glob(given, recursive=True)  # noqa: PTH207 (Path.glob takes no pattern that begins at the root)
            found = [path for path in every if Path(path).is_file()]
        found.sort()
    else:
        given, found = format_value(source), [os.fsdecode(path) for path in source]
    if not found:
        raise InputError(
            f"Old data must be a folder of Parquet files, a pattern such as 'old/*.parquet' or a list of files; "
            f"there are none in {given!r}."
        )
    return found


def _read_file_metadata(path: str, columns: Sequence[str]) -> Any:
    """Read the metadata of a Parquet file; an error if the file is another or lacks a column."""
    name, reader = Path(path).name, import_parquet_reader(path)
    try:
        about = reader.read_metadata(path)
    except _DAMAGE as error:
        raise FileFormatError(f"{name!r} is not a Parquet file that can be read, or is damaged ({error}).") from error
    there = list(about.schema.to_arrow_schema().names)
    lacking = [column for column in columns if column not in there]
    if lacking:
        raise InputError(
            f"Every file must have the columns {format_list(columns)}, by these names; {name!r} has no "
            f"{format_list(lacking)} "
            f"(there are {format_list(map(format_value, there))}). Rename its columns, or name the response "
            "with target=."
        )
    return about
