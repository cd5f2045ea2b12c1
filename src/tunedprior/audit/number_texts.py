"""Numbers in text files, written in several ways at once: decimal points and commas, thousands separators."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from tunedprior.audit.faults import Fault, join_places
from tunedprior.checks import format_list
from tunedprior.files.cells import is_unmeasured
from tunedprior.files.content import ReadTable

_SIGN, _TAIL = r"\s*[+\-−]?", r"(?:[eE][+-]?\d+)?\s*"
_COMMA = re.compile(rf"{_SIGN}(?:\d+,\d*|,\d+){_TAIL}")
_POINT = re.compile(rf"{_SIGN}(?:\d+\.\d*|\.\d+){_TAIL}")
_WHOLE = re.compile(rf"{_SIGN}\d+{_TAIL}")
# What can be nothing but groups of thousands, and what may be.
_COMMA_GROUPS = re.compile(rf"{_SIGN}(?:\d{{1,3}}(?:,\d{{3}})+\.\d*|\d{{1,3}}(?:,\d{{3}}){{2,}})\s*")
_POINT_GROUPS = re.compile(rf"{_SIGN}(?:\d{{1,3}}(?:\.\d{{3}})+,\d*|\d{{1,3}}(?:\.\d{{3}}){{2,}})\s*")
_SPACE_GROUPS = re.compile(rf"{_SIGN}\d{{1,3}}(?:[ '’\u00a0\u2009\u202f]\d{{3}})+(?:[.,]\d*)?\s*")
_MAYBE_COMMA_GROUP = re.compile(rf"{_SIGN}[1-9]\d{{0,2}},\d{{3}}\s*")
_MAYBE_POINT_GROUP = re.compile(rf"{_SIGN}[1-9]\d{{0,2}}\.\d{{3}}\s*")
_SPACES = re.compile("(?<=\\d)[ '’\u00a0\u2009\u202f](?=\\d{3})")


@dataclass(frozen=True)
class _NumberStyles:
    """Rows of a column by how their numbers are written."""

    commas: list[int]
    points: list[int]
    groups: list[int]


def repair_numbers(read: ReadTable, names: Sequence[str], separator: str) -> tuple[pd.DataFrame, list[Fault], bool]:
    """The table with plain numbers in the named columns, faults, and whether all numbers had decimal commas.

    Args:
        read: The table, of text.
        names: The columns of numbers.
        separator: What stands between columns.
    """
    columns = {name: list(map(str, read.table[name])) for name in names if name in read.table.columns}
    if not any("," in cell or _SPACES.search(cell) for cells in columns.values() for cell in cells):
        return read.table, [], False
    columns = {name: cells for name, cells in columns.items() if _are_numbers(cells)}
    written = {name: _classify_cells(cells) for name, cells in columns.items()}
    comma_is_decimal = _is_comma_decimal(columns, written)
    written = {
        name: _add_doubtful_groups(cells, written[name], comma_is_decimal, separator) for name, cells in columns.items()
    }
    faults = []
    grouped = {name: one.groups for name, one in written.items() if one.groups}
    if grouped:
        faults.append(_make_thousands_fault(read, columns, grouped))
    commas = sum(len(one.commas) for one in written.values())
    points = sum(len(one.points) for one in written.values())
    if commas and points:
        rare = {name: one.commas if commas <= points else one.points for name, one in written.items()}
        faults.append(
            _make_mixed_fault(read, columns, {name: rows for name, rows in rare.items() if rows}, commas <= points)
        )
    table = read.table.assign(
        **{
            name: pd.Series(_convert_numbers(cells, written[name].groups, comma_is_decimal), dtype=object)
            for name, cells in columns.items()
            if written[name].commas or written[name].groups
        }
    )
    if commas and not points and separator == ",":
        faults += _find_doubtful_commas(
            read, columns, {name: one.commas for name, one in written.items() if one.commas}
        )
    return table, faults, bool(commas) and not points


def _are_numbers(cells: Sequence[str]) -> bool:
    """Whether most cells of a column are numbers, however they are written."""
    kinds = (_WHOLE, _POINT, _COMMA, _COMMA_GROUPS, _POINT_GROUPS, _SPACE_GROUPS)
    filled = [cell for cell in cells if not is_unmeasured(cell)]
    return bool(filled) and 2 * sum(any(kind.fullmatch(cell) for kind in kinds) for cell in filled) > len(filled)


def _classify_cells(cells: Sequence[str]) -> _NumberStyles:
    def find_rows(*kinds: re.Pattern[str]) -> list[int]:
        return [k for k, cell in enumerate(cells) if any(kind.fullmatch(cell) for kind in kinds)]

    return _NumberStyles(find_rows(_COMMA), find_rows(_POINT), find_rows(_COMMA_GROUPS, _POINT_GROUPS, _SPACE_GROUPS))


def _is_comma_decimal(columns: dict[str, list[str]], written: dict[str, _NumberStyles]) -> bool:
    """Whether the file's decimal sign is a comma, as far as single cells can tell."""
    sure_commas = sure_points = 0
    for name, cells in columns.items():
        one = written[name]
        sure_commas += sum(not _MAYBE_COMMA_GROUP.fullmatch(cells[k]) for k in one.commas)
        sure_points += sum(not _MAYBE_POINT_GROUP.fullmatch(cells[k]) for k in one.points)
        sure_commas += sum(bool(_POINT_GROUPS.fullmatch(cells[k])) for k in one.groups)
        sure_points += sum(bool(_COMMA_GROUPS.fullmatch(cells[k])) for k in one.groups)
    return sure_commas > sure_points


def _add_doubtful_groups(
    cells: Sequence[str], one: _NumberStyles, comma_is_decimal: bool, separator: str
) -> _NumberStyles:
    """Cells such as 1.234 taken for groups of thousands, where the column has some that are nothing else.

    And cells such as 1,234 between quotes in a file of points, where a decimal comma would be odd.
    """
    certain = bool(one.groups)
    if comma_is_decimal and certain:
        more = [k for k in one.points if _MAYBE_POINT_GROUP.fullmatch(cells[k])]
        return _NumberStyles(one.commas, [k for k in one.points if k not in more], sorted([*one.groups, *more]))
    if not comma_is_decimal and (certain or separator == ","):
        more = [k for k in one.commas if _MAYBE_COMMA_GROUP.fullmatch(cells[k])]
        return _NumberStyles([k for k in one.commas if k not in more], one.points, sorted([*one.groups, *more]))
    return one


def _convert_numbers(cells: Sequence[str], grouped: Sequence[int], comma_is_decimal: bool) -> list[str]:
    """Numbers as Python writes them; text that is no number as it is."""
    with_groups = set(grouped)
    return [_convert_number(cell, k in with_groups, comma_is_decimal) for k, cell in enumerate(cells)]


def _convert_number(cell: str, grouped: bool, comma_is_decimal: bool) -> str:
    bare = _SPACES.sub("", cell)
    if _COMMA_GROUPS.fullmatch(bare) or (grouped and not comma_is_decimal and _MAYBE_COMMA_GROUP.fullmatch(bare)):
        return bare.replace(",", "")
    if _POINT_GROUPS.fullmatch(bare) or (grouped and comma_is_decimal and _MAYBE_POINT_GROUP.fullmatch(bare)):
        return bare.replace(".", "").replace(",", ".")
    return bare.replace(",", ".") if _COMMA.fullmatch(bare) else bare


def _find_doubtful_commas(read: ReadTable, columns: dict[str, list[str]], rows: dict[str, list[int]]) -> list[Fault]:
    """A fault for columns that have quoted cells such as 1,234 and no other commas, which the reader refuses."""
    doubtful = [name for name in rows if all(_MAYBE_COMMA_GROUP.fullmatch(columns[name][k]) for k in rows[name])]
    if not doubtful:
        return []
    seen, where = columns[doubtful[0]][rows[doubtful[0]][0]].strip(), read.format_place(rows[doubtful[0]][0])
    said = (
        f"{seen!r} in {where} may be {seen.replace(',', '.')} or {seen.replace(',', '')}, and so may all numbers with "
        f"a comma in {format_list(map(repr, doubtful))}; here they are taken for decimals, as those of other "
        "columns are."
    )
    remedy = "Save the table with ';' or tabs between columns, or with decimal points."
    return [Fault("decimal commas among commas", tuple(doubtful), (where,), said, remedy)]


def _make_thousands_fault(read: ReadTable, columns: dict[str, list[str]], rows: dict[str, list[int]]) -> Fault:
    first = next(iter(rows))
    where = tuple(read.format_place(k) for k in sorted({k for some in rows.values() for k in some}))
    said = (
        f"Numbers have thousands separators ({columns[first][rows[first][0]]!r} in "
        f"{read.format_place(rows[first][0])}) in "
        f"{format_list(map(repr, rows))}, {join_places(where)}; other programs may read them as decimals."
    )
    return Fault("thousands separators", tuple(rows), where, said, "Write 1234.5 for 1,234.5 or 1.234,5.")


def _make_mixed_fault(
    read: ReadTable, columns: dict[str, list[str]], rare: dict[str, list[int]], of_commas: bool
) -> Fault:
    first = next(iter(rare))
    where = tuple(read.format_place(k) for k in sorted({k for some in rare.values() for k in some}))
    said = (
        f"Some numbers have decimal {'commas' if of_commas else 'points'} ({columns[first][rare[first][0]]!r} in "
        f"{read.format_place(rare[first][0])}) and others decimal {'points' if of_commas else 'commas'}: "
        f"{format_list(map(repr, rare))}, {join_places(where)}."
    )
    return Fault("mixed decimal signs", tuple(rare), where, said, "Write all numbers in one way, with decimal points.")
