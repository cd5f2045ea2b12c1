"""Check text files of old data: numbers in several notations, and files that cannot be read as they are."""

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from tunedprior.checks import format_list
from tunedprior.errors import FileFormatError, InputError
from tunedprior.source_data.findings import Fault, RejectedRow, join_places
from tunedprior.tables import is_unmeasured
from tunedprior.tables.content import (
    COMMA_GROUPS,
    DECIMAL_COMMAS,
    GROUPS,
    MAYBE_COMMA_GROUP,
    MAYBE_POINT_GROUP,
    NOTATIONS,
    POINT_GROUPS,
    WITH_COMMA,
    WITH_POINT,
    ReadTable,
    build_table,
    decode_text,
    find_header,
    find_matching_rows,
    infer_separator,
    read_records,
)
from tunedprior.tables.formats import decompress, infer_file_kind
from tunedprior.tables.names import is_number, match_columns
from tunedprior.tables.reading import drop_trailing_separators, read_table

# A sign that groups thousands, between their digits.
_SPACES = re.compile("(?<=\\d)[ '’\u00a0\u2009\u202f](?=\\d{3})")


@dataclass(frozen=True)
class _NumberStyles:
    """Rows of a column by how their numbers are written."""

    commas: list[int]
    points: list[int]
    groups: list[int]


def repair_numbers(read: ReadTable, names: Sequence[str], separator: str) -> tuple[pd.DataFrame, list[Fault], bool]:
    """Return the table with plain numbers, the faults, and whether all numbers had decimal commas.

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
    filled = [cell for cell in cells if not is_unmeasured(cell)]
    return 2 * len(find_matching_rows(filled, NOTATIONS)) > len(filled)


def _classify_cells(cells: Sequence[str]) -> _NumberStyles:
    return _NumberStyles(*(find_matching_rows(cells, one) for one in ([WITH_COMMA], [WITH_POINT], GROUPS)))


def _is_comma_decimal(columns: dict[str, list[str]], written: dict[str, _NumberStyles]) -> bool:
    """Return whether the decimal sign of the file is a comma, judged by single cells."""
    sure_commas = sure_points = 0
    for name, cells in columns.items():
        one = written[name]
        sure_commas += sum(not MAYBE_COMMA_GROUP.fullmatch(cells[k]) for k in one.commas)
        sure_points += sum(not MAYBE_POINT_GROUP.fullmatch(cells[k]) for k in one.points)
        sure_commas += sum(bool(POINT_GROUPS.fullmatch(cells[k])) for k in one.groups)
        sure_points += sum(bool(COMMA_GROUPS.fullmatch(cells[k])) for k in one.groups)
    return sure_commas > sure_points


def _add_doubtful_groups(
    cells: Sequence[str], one: _NumberStyles, comma_is_decimal: bool, separator: str
) -> _NumberStyles:
    """Cells such as 1.234 taken for groups of thousands, where the column has some that are nothing else.

    And cells such as 1,234 between quotes in a file of points, where a decimal comma would be odd.
    """
    certain = bool(one.groups)
    if comma_is_decimal and certain:
        more = [k for k in one.points if MAYBE_POINT_GROUP.fullmatch(cells[k])]
        return _NumberStyles(one.commas, [k for k in one.points if k not in more], sorted([*one.groups, *more]))
    if not comma_is_decimal and (certain or separator == ","):
        more = [k for k in one.commas if MAYBE_COMMA_GROUP.fullmatch(cells[k])]
        return _NumberStyles([k for k in one.commas if k not in more], one.points, sorted([*one.groups, *more]))
    return one


def _convert_numbers(cells: Sequence[str], grouped: Sequence[int], comma_is_decimal: bool) -> list[str]:
    """Numbers as Python writes them; text that is no number as it is."""
    with_groups = set(grouped)
    return [_convert_number(cell, k in with_groups, comma_is_decimal) for k, cell in enumerate(cells)]


def _convert_number(cell: str, grouped: bool, comma_is_decimal: bool) -> str:
    bare = _SPACES.sub("", cell)
    if COMMA_GROUPS.fullmatch(bare) or (grouped and not comma_is_decimal and MAYBE_COMMA_GROUP.fullmatch(bare)):
        return bare.replace(",", "")
    if POINT_GROUPS.fullmatch(bare) or (grouped and comma_is_decimal and MAYBE_POINT_GROUP.fullmatch(bare)):
        return bare.replace(".", "").replace(",", ".")
    return bare.replace(",", ".") if WITH_COMMA.fullmatch(bare) else bare


def _find_doubtful_commas(read: ReadTable, columns: dict[str, list[str]], rows: dict[str, list[int]]) -> list[Fault]:
    """A fault for columns that have quoted cells such as 1,234 and no other commas, which the reader refuses."""
    doubtful = [name for name in rows if all(MAYBE_COMMA_GROUP.fullmatch(columns[name][k]) for k in rows[name])]
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


_WHAT = "Old data"
# If more of the lines than this have another length, the separator is not what it seems.
_MOST_UNEVEN = 0.5
_IN_A_TEXT = ("text", "gzip", "bzip2", "xz", "zip")


@dataclass(frozen=True, eq=False)
class OpenedTable:
    """A table read from a file that may have faults.

    Attributes:
        table: The table; None if it makes no sense until it is mended.
        origin: The name of the file.
        faults: What is wrong with the file itself.
        rejected: The lines that are no rows.
    """

    table: ReadTable | None
    origin: str
    faults: tuple[Fault, ...] = ()
    rejected: tuple[RejectedRow, ...] = ()


def open_table(data: Any, names: Sequence[str], numeric: Collection[str]) -> OpenedTable:
    """Read a table from any source; of a text file with faults, return what can be read and the faults.

    Args:
        data: As for `tables.read_table`.
        names: The columns that are hoped for, the response last.
        numeric: Those of them that hold numbers.
    """
    text = _read_text_file(data)
    if text is not None:
        content, faults = text
        found = _repair_table(content, faults, Path(os.fsdecode(data)).name, names, numeric)
        if found is not None:
            return found
    read = read_table(data, names, _WHAT)
    return OpenedTable(read, read.origin)


def _read_text_file(data: Any) -> tuple[str, list[Fault]] | None:
    """The text of a text file, line by line in the encoding of each; None for anything else."""
    if not isinstance(data, str | os.PathLike) or not str(data).strip() or not Path(data).is_file():
        return None
    raw, origin = Path(data).read_bytes(), Path(data).name
    try:
        kind = infer_file_kind(raw, origin)
        if kind not in _IN_A_TEXT:
            return None
        raw = decompress(raw, kind, origin)
        text, _ = decode_text(raw, _WHAT, origin)
    except (InputError, FileFormatError):
        return None  # the reader says what is wrong
    if b"\0" in raw[:4096]:
        return text, []
    return _decode_lines(raw, text)


def _decode_lines(raw: bytes, text: str) -> tuple[str, list[Fault]]:
    """The text, and a fault if some lines are UTF-8, and others are not or were made of UTF-8 by mistake."""
    lines = raw.split(b"\n")
    kinds = [_guess_encoding(line) for line in lines]
    count = Counter(kind for kind in kinds if kind != "plain")
    garbled = [k for k, kind in enumerate(kinds) if kind == "garbled"]
    if len(count) < 2 and not garbled:
        return text, []
    decode: dict[str, Callable[[bytes], str]] = {
        "plain": lambda line: line.decode("utf-8"),
        "UTF-8": lambda line: line.decode("utf-8"),
        "cp1252": lambda line: line.decode("cp1252", "replace"),
        "garbled": lambda line: _repair_garbled(line.decode("utf-8")),
    }
    mended = "\n".join(decode[kind](line) for kind, line in zip(kinds, lines, strict=True))
    odd = garbled or [k for k, kind in enumerate(kinds) if kind == "cp1252"]
    if not garbled and 2 * len(odd) > sum(count.values()):
        odd = [k for k, kind in enumerate(kinds) if kind == "UTF-8"]
    rows = tuple(f"line {k + 1}" for k in odd)
    example = lines[odd[0]].decode("utf-8", "replace").strip()
    said = (
        f"Letters beyond ASCII were saved twice over in {join_places(rows)} ({example!r})."
        if garbled
        else (
            f"The file is in two encodings, {format_list(sorted(count))}: {join_places(rows)} in "
            f"{kinds[odd[0]]}, others not."
        )
    )
    remedy = "Save the parts it was made of as UTF-8, and put them together again."
    return mended, [Fault("mixed encodings", (), rows, said, remedy)]


def _guess_encoding(line: bytes) -> str:
    if line.isascii():
        return "plain"
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "garbled" if _repair_garbled(text) != text else "UTF-8"


def _repair_garbled(text: str) -> str:
    """Text that was UTF-8, was read as cp1252 and saved as UTF-8 again; any other text as it is."""
    try:
        found = text.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return text
    return found


def _repair_table(
    text: str, faults: list[Fault], origin: str, names: Sequence[str], numeric: Collection[str]
) -> OpenedTable | None:
    """Return what can be read of a faulty text; None if there is nothing to repair."""
    text, separator, _ = infer_separator(text.removeprefix("\ufeff"), names)
    try:
        found = read_records(text, separator)
    except InputError:
        return None
    header = find_header(found, separator, names)
    if not header.fields:
        return None
    rows, lines = found.rows[header.first :], found.lines[header.first :]
    known = match_columns(header.fields, names)
    if not known and _is_data(header.fields, rows):
        said = f"The first line of {origin} holds values ({format_list(header.fields)}), not the names of the columns."
        remedy = f"Write a line with the columns' names above it: {format_list(names)} in the order of the columns."
        return OpenedTable(None, origin, (*faults, Fault("no header", (), (f"line {found.lines[0]}",), said, remedy)))
    width = len(header.fields)
    rejected: list[RejectedRow] = []
    again = [k for k, row in enumerate(rows) if _is_header(row, header.fields)]
    if again:
        faults.append(_make_header_fault([f"line {lines[k]}" for k in again]))
        rejected += [RejectedRow(f"line {lines[k]}", "the header once more") for k in again]
    fields, rows, _ = drop_trailing_separators(header.fields, rows)
    uneven = [k for k, row in enumerate(rows) if len(row) != len(fields) and k not in again]
    if len(uneven) > _MOST_UNEVEN * len(rows):
        return OpenedTable(None, origin, (*faults, _make_uneven_fault(rows, lines, width, separator)))
    if uneven:
        faults += _make_line_faults(rows, lines, uneven, fields)
        rejected += [RejectedRow(f"line {lines[k]}", f"{len(rows[k])} cells instead of {width}") for k in uneven]
    left = [k for k in range(len(rows)) if k not in {*again, *uneven}]
    told = [] if separator == "," else [f"The separator is {separator!r}."]
    read = build_table(
        fields,
        [rows[k] for k in left if any(rows[k])],
        [lines[k] for k in left if any(rows[k])],
        unit="line",
        names=names,
        what=_WHAT,
        origin=origin,
        remarks=[*told, *header.remarks],
    )
    table, of_numbers, commas = repair_numbers(read, [name for name in names if name in numeric], separator)
    faults += of_numbers
    if not faults:
        return None
    sentences = (*read.remarks, DECIMAL_COMMAS) if commas else read.remarks
    return OpenedTable(replace(read, table=table, remarks=sentences), origin, tuple(faults), tuple(rejected))


def _is_data(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line holds values instead of names."""
    places = [k for k, cell in enumerate(first) if is_number(cell)]
    below = [row[k] for row in rows for k in places if k < len(row) and not is_unmeasured(row[k])]
    return bool(places) and 2 * sum(map(is_number, below)) >= len(below)


def _is_header(row: Sequence[str], header: Sequence[str]) -> bool:
    cells = [cell.strip().casefold() for cell in row if cell.strip()]
    return bool(cells) and cells == [cell.strip().casefold() for cell in header if cell.strip()]


def _make_header_fault(rows: Sequence[str]) -> Fault:
    said = (
        f"The header stands among the rows again, in {join_places(rows)}, as if files had been put one after the other."
    )
    remedy = "Delete these lines, and make sure that both parts have the same columns in the same units."
    return Fault("repeated header", (), tuple(rows), said, remedy)


def _make_uneven_fault(rows: Sequence[Sequence[str]], lines: Sequence[int], width: int, separator: str) -> Fault:
    first = next(k for k, row in enumerate(rows) if len(row) != width)
    where = f"line {lines[first]}"
    if separator == "," and len(rows[first]) > width:
        said = (
            f"Most lines have more cells than the header has names ({where}: {len(rows[first])} instead of {width}), "
            "as if numbers had decimal commas and columns were separated by commas too."
        )
        remedy = "Save the table again with ';' or tabs between columns, or with decimal points."
        return Fault("decimal commas among commas", (), (where,), said, remedy)
    said = f"Most lines have another number of cells than the header ({where}: {len(rows[first])} instead of {width})."
    return Fault("uneven lines", (), (where,), said, "Save the table again with one name for every column.")


def _make_line_faults(
    rows: Sequence[Sequence[str]], lines: Sequence[int], uneven: Sequence[int], header: Sequence[str]
) -> list[Fault]:
    found = []
    cut = uneven[-1] == len(rows) - 1 and len(rows[-1]) < len(header)
    if cut:
        where = f"line {lines[-1]}"
        said = (
            f"The last line ({where}) ends after {len(rows[-1])} of {len(header)} cells: the file was cut off, and "
            "there may have been more rows."
        )
        found.append(Fault("cut-off line", (), (where,), said, "Copy or export the file again, as a whole."))
    others = uneven[:-1] if cut else uneven
    if others:
        rows_named = tuple(f"line {lines[k]}" for k in others)
        first, rest = join_places(rows_named)[:1].upper(), join_places(rows_named)[1:]
        said = (
            f"{first}{rest} {'has' if len(rows_named) == 1 else 'have'} another number of cells than the header, "
            f"{len(header)}: cells are missing or too many, and those after them are shifted."
        )
        found.append(Fault("uneven lines", (), rows_named, said, "Mend these lines; until then they are left out."))
    return found
