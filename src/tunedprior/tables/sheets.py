"""Read tables from Excel, OpenDocument and Parquet files, with the optional dependencies of `tunedprior[files]`."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from io import BytesIO
from typing import Any

import pandas as pd

from tunedprior.checks import format_list
from tunedprior.errors import FileFormatError, InputError
from tunedprior.tables.cells import is_unmeasured
from tunedprior.tables.content import ReadTable, build_table, convert_sheet_commas, find_header_row
from tunedprior.tables.formats import MOST_TEXT, refuse_large, refuse_many_cells
from tunedprior.tables.names import match_columns
from tunedprior.tables.workbooks import MergedRange, SheetDetails, find_sheet_details, refuse_large_workbook

# Bytes and entries of what a Parquet file says of itself.
_MOST_OF_FOOTER = 2**24
_AT_ONCE = 2**16  # rows
_TEXTS = ("string", "large_string", "binary", "large_binary")
_INSTALL = 'pip install "tunedprior[files]"'


def read_workbook(data: bytes, names: Sequence[str], what: str, origin: str) -> ReadTable:
    """Read the sheet of a workbook that has the most expected columns (the first of several such sheets)."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError as error:
        raise InputError(
            f"Reading {origin!r} takes the package python-calamine. Install it with {_INSTALL}, "
            "or save the sheet as CSV."
        ) from error
    refuse_large_workbook(data, origin)
    try:
        book = CalamineWorkbook.from_filelike(BytesIO(data))
        sheets = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in book.sheet_names}
    except BaseException as error:  # the reader's own errors, and the panics of Rust, which are no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
            raise
        raise FileFormatError(
            f"{origin!r} is not an Excel file that can be read, or is protected or damaged ({error}). Save it again."
        ) from error
    details = find_sheet_details(data)
    for name, found in details.items():
        for (row, column), text in found.broken.items():
            if name in sheets and row < len(sheets[name]) and column < len(sheets[name][row]):
                sheets[name][row][column] = text
    tables = {name: _drop_blank_rows(rows) for name, rows in sheets.items()}
    tables = {name: (rows, labels) for name, (rows, labels) in tables.items() if rows}
    if not tables:
        raise InputError(f"{what} must be a table; {origin!r} is empty. A row with the columns' names comes first.")
    places = {name: find_header_row(rows, names) for name, (rows, _) in tables.items()}
    best = max(tables, key=lambda name: len(match_columns(tables[name][0][places[name]], names)))
    (rows, labels), place, known = tables[best], places[best], details.get(best, SheetDetails())
    others = [name for name, (cells, _) in tables.items() if name != best and len(cells) > 1]
    remarks = [_describe_unread_sheets(best, others)] if others else []
    unread = {name: _find_filled_columns(tables[name][0][places[name] :], names) for name in others}
    if place:
        remarks.append(f"Rows before the header (row {labels[place]}) are skipped.")
    filled = _fill_merged(rows, labels, place, known.merged, origin)
    remarks += _describe_merged(filled, rows[place])
    shown = known.percentages | {cell for cell, first in filled.items() if first in known.percentages}
    after = slice(place + 1, None)
    read = build_table(
        rows[place], rows[after], labels[after], unit="row", names=names, what=what, origin=origin, remarks=remarks
    )
    read = replace(convert_sheet_commas(read, names, what), unread_sheets=unread)
    titles = ["" if cell is None else str(cell).strip() for cell in rows[place]]
    return _mark_percentages(read, titles, match_columns(titles, names), shown)


def _fill_merged(
    rows: list[list[Any]], labels: Sequence[int], header: int, merged: Sequence[MergedRange], origin: str
) -> dict[tuple[int, int], tuple[int, int]]:
    """Give merged cells below the header the value of the first of them: each cell that is filled, and its first.

    Cells that are merged across the whole table are a title among the rows, and stay as they are. Rows that hold
    nothing else are not there, and do not come back.
    """
    width, names = len(rows[header]), sum(cell is not None for cell in rows[header])
    places = {label - 1: k for k, label in enumerate(labels) if k > header}
    filled = {}
    size = seen = 0
    for one in merged:
        first = places.get(one.first_row)
        columns = range(one.first_column, min(one.last_column + 1, width))
        if first is None or not columns or (len(columns) > 1 and len(columns) >= names):
            continue
        value = rows[first][one.first_column]
        for k in range(first, len(rows)):
            if value is None or labels[k] - 1 > one.last_row:
                break
            seen += len(columns)
            refuse_many_cells(seen, 1, origin)  # in a crafted file they may lie upon each other
            for column in columns:
                size += len(value) if isinstance(value, str) else 0
                refuse_large(size, origin, MOST_TEXT)
                if rows[k][column] is None:
                    rows[k][column] = value
                    filled[labels[k] - 1, column] = one.first_row, one.first_column
    return filled


def _describe_merged(filled: Collection[tuple[int, int]], header: Sequence[Any]) -> list[str]:
    count = Counter(column for _, column in filled)
    names = format_list(f"{str(header[column] or '').strip()!r} ({count[column]})" for column in sorted(count))
    return [f"Merged cells have the value of the first of them: {names}."] if filled else []


def _mark_percentages(
    read: ReadTable, titles: list[str], found: dict[int, str], cells: Collection[tuple[int, int]]
) -> ReadTable:
    """Return the table with its percentage cells marked, and a remark about them."""
    columns = {column for _, column in cells}
    percentages: dict[str, list[int]] = {}
    for k, title in enumerate(titles):
        name = found.get(k, title)
        if k not in columns or name not in read.table or titles.index(title) != k:
            continue
        rows = [row for row, label in enumerate(read.labels) if (label - 1, k) in cells]
        numbers = read.table[name]
        percentages[name] = [row for row in rows if isinstance(numbers[row], int | float)]
    percentages = {name: rows for name, rows in percentages.items() if rows}
    if not percentages:
        return read
    name, rows = next(iter(percentages.items()))
    seen = read.table[name][rows[0]]
    said = (
        f"Cells of {format_list(map(repr, percentages))} are shown as per cent, and their numbers are taken as "
        "they are "
        f"stored: {seen:g} for {100 * seen:g}% in {read.format_place(rows[0])}. If per cent are meant, multiply "
        "by 100 and "
        "show them as plain numbers."
    )
    return replace(read, percentages=percentages, remarks=(*read.remarks, said))


def _find_filled_columns(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> frozenset[str]:
    """The hoped-for columns of a sheet, its header first, in which there is anything."""
    found = match_columns(["" if cell is None else str(cell) for cell in rows[0]], names)
    return frozenset(name for k, name in found.items() if any(not is_unmeasured(row[k]) for row in rows[1:]))


def _describe_unread_sheets(best: str, others: list[str]) -> str:
    return (
        f"Sheet {best!r} is read, and not {format_list(map(repr, others))}, which also "
        f"{'hold' if others[1:] else 'holds'} "
        "rows. To learn from another sheet, save it as a file of its own."
    )


def _drop_blank_rows(rows: Sequence[Sequence[Any]]) -> tuple[list[list[Any]], list[int]]:
    """The rows that hold anything, and their numbers in the sheet."""
    cells = [[_convert_cell(value) for value in row] for row in rows]
    kept = [k for k, row in enumerate(cells) if any(value is not None for value in row)]
    return [cells[k] for k in kept], [k + 1 for k in kept]


def _convert_cell(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)  # sheets know no whole numbers: the category 2 is stored as 2.0
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value


def import_parquet_reader(origin: str) -> Any:
    """Import pyarrow.parquet; an `InputError` names the extra to install if it is missing."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(
            f"Reading {origin!r} takes the package pyarrow. Install it with {_INSTALL}, or save the table as CSV."
        ) from error
    return parquet


def read_parquet(data: bytes, origin: str) -> pd.DataFrame:
    """Read a Parquet file; raise an `InputError` before expanding one that is too large."""
    parquet = import_parquet_reader(origin)
    try:
        file = parquet.ParquetFile(
            BytesIO(data), thrift_string_size_limit=_MOST_OF_FOOTER, thrift_container_size_limit=_MOST_OF_FOOTER
        )
        about = file.metadata
        refuse_many_cells(max(about.num_rows, 1) * about.num_columns, about.num_columns, origin)
        groups = [about.row_group(k) for k in range(about.num_row_groups)]
        refuse_many_cells(
            sum(group.column(k).num_values for group in groups for k in range(group.num_columns)), 1, origin
        )
        refuse_large(sum(group.total_byte_size for group in groups), origin)
        texts, at_once = _find_repeated_texts(file, groups)
        table = _read_in_batches(parquet.ParquetFile(BytesIO(data), read_dictionary=texts), at_once, origin)
        frame: pd.DataFrame = table.to_pandas()
    except InputError:
        raise
    except Exception as error:  # Arrow's errors are of many kinds
        raise FileFormatError(f"{origin!r} is not a Parquet file that can be read, or is damaged ({error}).") from error
    # What was read as categories was text, and columns share it rather than repeat it.
    return frame.astype({name: object for name in frame.columns if name in texts})


def _find_repeated_texts(file: Any, groups: Sequence[Any]) -> tuple[list[str], int]:
    """Columns of text that is stored once for many rows, and how many rows can be read at once without harm.

    A text is no longer than what is stored of its column, so that so many rows of it have a known size.
    """
    texts: set[str] = set()
    longest = 1
    for column in (group.column(k) for group in groups for k in range(group.num_columns)):
        encodings = set(column.encodings) - {"PLAIN", "RLE", "BIT_PACKED"}
        if column.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY") and encodings:
            longest = max(longest, column.total_uncompressed_size)
            if all("DICTIONARY" in one for one in encodings):
                texts.add(column.path_in_schema)
    plain = {one.name for one in file.schema_arrow if str(one.type) in _TEXTS}
    return sorted(texts & plain), max(1, min(_AT_ONCE, MOST_TEXT // longest))


def _read_in_batches(file: Any, at_once: int, origin: str) -> Any:
    """Read all rows and count them meanwhile, since a file may have more than its metadata says."""
    import pyarrow as pa

    batches, rows, size = [], 0, 0
    for batch in file.iter_batches(at_once):
        rows += batch.num_rows
        size += sum(map(_compute_decoded_size, batch.columns))
        refuse_many_cells(rows * batch.num_columns, batch.num_columns, origin)
        refuse_large(size, origin, MOST_TEXT)
        batches.append(batch)
    return pa.Table.from_batches(batches, file.schema_arrow)


def _compute_decoded_size(column: Any) -> int:
    """Return the bytes of a column, each text counted as often as it is used."""
    import pyarrow as pa
    from pyarrow import compute

    is_text = pa.types.is_dictionary(column.type) and str(column.type.value_type) in _TEXTS
    if not is_text:
        return int(column.nbytes)
    lengths = compute.binary_length(column.dictionary)
    return int(compute.sum(compute.cast(compute.take(lengths, column.indices), pa.int64())).as_py() or 0)
