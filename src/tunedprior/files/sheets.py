"""Tables in Excel, OpenDocument and Parquet files, with the optional dependencies of tunedprior[files]."""

from collections.abc import Sequence
from datetime import date, datetime, time
from io import BytesIO
from typing import Any

import pandas as pd

from tunedprior.errors import FileFormatError, InputError
from tunedprior.files.content import ReadTable
from tunedprior.files.decimals import with_points_in_text
from tunedprior.files.dialect import header_place
from tunedprior.files.grid import assembled
from tunedprior.files.names import matched
from tunedprior.files.packed import refuse_large
from tunedprior.files.workbook_gaps import broken_cells

_INSTALL = 'pip install "tunedprior[files]"'


def read_workbook(data: bytes, names: Sequence[str], what: str, origin: str) -> ReadTable:
    """The first sheet that has the most of the hoped-for names."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError as error:
        raise InputError(
            f"Reading {origin!r} takes the package python-calamine. Install it with {_INSTALL}, "
            "or save the sheet as CSV."
        ) from error
    try:
        book = CalamineWorkbook.from_filelike(BytesIO(data))
        sheets = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in book.sheet_names}
    except BaseException as error:  # the reader's own errors, and the panics of Rust, which are no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
            raise
        raise FileFormatError(
            f"{origin!r} is not an Excel file that can be read, or is protected or damaged ({error}). Save it again."
        ) from error
    broken = broken_cells(data)
    for name, cells in broken.items():
        for (row, column), text in cells.items():
            if name in sheets and row < len(sheets[name]) and column < len(sheets[name][row]):
                sheets[name][row][column] = text
    tables = {name: _filled(rows) for name, rows in sheets.items()}
    tables = {name: (rows, labels) for name, (rows, labels) in tables.items() if rows}
    if not tables:
        raise InputError(f"{what} must be a table; {origin!r} is empty. A row with the columns' names comes first.")
    places = {name: header_place(rows, names) for name, (rows, _) in tables.items()}
    best = max(tables, key=lambda name: len(matched(tables[name][0][places[name]], names)))
    (rows, labels), place = tables[best], places[best]
    said = [f"Sheet {best!r} is read."] if len(sheets) > 1 else []
    if place:
        said.append(f"Rows before the header (row {labels[place]}) are skipped.")
    after = slice(place + 1, None)
    read = assembled(
        rows[place], rows[after], labels[after], unit="row", names=names, what=what, origin=origin, said=said
    )
    return with_points_in_text(read, names, what)


def _filled(rows: Sequence[Sequence[Any]]) -> tuple[list[list[Any]], list[int]]:
    """The rows that hold anything, and their numbers in the sheet."""
    cells = [[_cell(value) for value in row] for row in rows]
    kept = [k for k, row in enumerate(cells) if any(value is not None for value in row)]
    return [cells[k] for k in kept], [k + 1 for k in kept]


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)  # sheets know no whole numbers: the category 2 is stored as 2.0
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value


def parquet_reader(origin: str) -> Any:
    """The module that reads Parquet files; an `InputError` that names the extra, if it is not there."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(
            f"Reading {origin!r} takes the package pyarrow. Install it with {_INSTALL}, or save the table as CSV."
        ) from error
    return parquet


def read_parquet(data: bytes, origin: str) -> pd.DataFrame:
    """The table of a Parquet file."""
    parquet = parquet_reader(origin)
    try:
        file = parquet.ParquetFile(BytesIO(data))
        size = sum(file.metadata.row_group(k).total_byte_size for k in range(file.metadata.num_row_groups))
        refuse_large(size, origin)
        table: pd.DataFrame = file.read().to_pandas()
    except InputError:
        raise
    except Exception as error:  # Arrow's errors are of many kinds
        raise FileFormatError(f"{origin!r} is not a Parquet file that can be read, or is damaged ({error}).") from error
    return table
