"""Numbers as people write them: decimal commas, and the thousands separators that nobody can read for sure."""

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from tunedprior.errors import InputError
from tunedprior.files.cells import is_blank
from tunedprior.files.content import ReadTable

_TAIL = r"(?:[eE][+-]?\d+)?\s*"
_WITH_COMMA = re.compile(r"\s*[+\-−]?(?:\d+,\d*|,\d+)" + _TAIL)
_WITH_POINT = re.compile(r"\s*[+\-−]?(?:\d+\.\d*|\.\d+)" + _TAIL)
_WHOLE = re.compile(r"\s*[+\-−]?\d+" + _TAIL)
_GROUPS = "|".join(
    (
        r"\d{1,3}(?:,\d{3})+\.\d*",  # 1,234.5
        r"\d{1,3}(?:,\d{3}){2,}",  # 1,234,567
        r"\d{1,3}(?:\.\d{3})+,\d*",  # 1.234,5
        r"\d{1,3}(?:\.\d{3}){2,}",  # 1.234.567
        r"\d{1,3}(?:[ '’\u00a0\u2009\u202f]\d{3})+(?:[.,]\d*)?",  # 1 234.5 and 1'234.5
    )
)
_WITH_THOUSANDS = re.compile(rf"\s*[+\-−]?(?:{_GROUPS})\s*")


def with_decimal_points(read: ReadTable, names: Sequence[str], separator: str, what: str) -> tuple[pd.DataFrame, bool]:
    """The table with 1.5 for 1,5 in the named columns of text, and whether there were any such cells.

    In files whose separator is a comma, commas inside numbers are refused. So are thousands separators, and decimal
    commas beside decimal points.
    """
    table = read.table
    commas: dict[str, list[int]] = {}
    point: tuple[str, int] | None = None
    for name in names:
        if name not in table.columns or _all_read(table[name]):
            continue
        cells = table[name].tolist()
        rows = [row for row, cell in enumerate(cells) if "," in cell and _WITH_COMMA.fullmatch(cell)]
        _refuse_thousands(cells, bool(rows) and separator == ",", read, name, what)
        if rows and separator != ",":
            commas[name] = rows
    if not commas:
        return table, False
    for name in names:
        if name in table.columns and point is None:
            found = (row for row, cell in enumerate(table[name]) if _WITH_POINT.fullmatch(cell))
            point = next(((name, row) for row in found), None)
    if point is not None:
        name, rows = next(iter(commas.items()))
        raise InputError(
            f"{what}: numbers must have decimal points or decimal commas, not both; {read.origin} has "
            f"{table[name][rows[0]]!r} in {read.where(rows[0])} and {table[point[0]][point[1]]!r} in "
            f"{read.where(point[1])}. Write all of them in one way."
        )
    columns = dict(table.items())
    for name, rows in commas.items():
        cells = table[name].tolist()
        for row in rows:
            cells[row] = cells[row].replace(",", ".")
        columns[name] = pd.Series(cells, dtype=object)
    return pd.DataFrame(columns), True


def _all_read(column: "pd.Series[Any]") -> bool:
    """Whether every cell is a number as Python writes it, and so without a comma. Long columns are soon done with."""
    try:
        for cell in column:
            float(cell)
    except ValueError:
        return False
    return True


def _refuse_thousands(cells: Sequence[str], commas: bool, read: ReadTable, name: str, what: str) -> None:
    """An error if a column of numbers (and nothing else, or it may be categories) has cells such as 1,234.5."""
    rows = [row for row, cell in enumerate(cells) if _WITH_THOUSANDS.fullmatch(cell)]
    if commas:
        rows = sorted({*rows, *(row for row, cell in enumerate(cells) if _WITH_COMMA.fullmatch(cell))})
    kinds = (_WITH_THOUSANDS, _WITH_COMMA, _WITH_POINT, _WHOLE)
    if not rows or not all(is_blank(cell) or any(kind.fullmatch(cell) for kind in kinds) for cell in cells):
        return
    raise InputError(
        f"{what}: numbers must be written without thousands separators{', and with decimal points' if commas else ''}; "
        f"{name!r} has {cells[rows[0]]!r} in {read.where(rows[0])} of {read.origin}. "
        "Write 1234.5 for 1,234.5 or 1.234,5."
    )
