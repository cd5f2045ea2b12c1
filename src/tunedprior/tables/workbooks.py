"""Find what a reader of workbooks does not return, and refuse workbooks that are too large to be expanded.

Values are read by calamine, which returns merged cells, errors and formulas without a cached value as blanks, and no
number formats. This module finds those in the XML of .xlsx files. It counts the cells of .xlsx, .xlsb, .xls and .ods
files before they are expanded: a reader holds a sheet as a rectangle from its first cell to its last, so that one cell
in the last column of the last row is a sheet of 17 billion.

openpyxl finds the same cells of .xlsx files in 1.4 to 1.6 s and 51 to 53 MiB for 10,000 rows of six columns, and this
module in 0.2 to 0.3 s and 17 to 20 MiB. Of a sheet with one cell far away, or with 20 million blank cells, openpyxl
returns nothing within 60 s and 8 GiB (`python -m benchmarks libraries --only workbooks`).
"""

import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from io import BytesIO
from posixpath import join, normpath
from typing import Any
from xml.parsers import expat

from tunedprior.errors import FileFormatError, TunedPriorError
from tunedprior.tables.formats import DAMAGE, MOST_BYTES, MOST_TEXT, refuse_large, refuse_many_cells

_ATTRIBUTE = re.compile(r"""([\w:]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_SHEET = re.compile(r"<(?:\w+:)?sheet\s([^>]*?)/?>")
_RELATION = re.compile(r"<(?:\w+:)?Relationship\s([^>]*?)/?>")
_CELL = re.compile(r"<(?:\w+:)?c\s([^>]*?)(?<!/)>(.*?)</(?:\w+:)?c>", re.DOTALL)
_VALUE = re.compile(r"<(?:\w+:)?v(?:\s[^>]*)?>([^<]+)</(?:\w+:)?v>")
_FORMULA = re.compile(r"<(?:\w+:)?f(?:\s[^>]*?)?(?:/>|>([^<]*)</(?:\w+:)?f>)")
_PLACE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_MERGED = re.compile(r"<(?:\w+:)?mergeCell\s([^>]*?)/?>")
_FORMATS = re.compile(r"<(?:\w+:)?numFmt\s([^>]*?)/?>")
_STYLES = re.compile(r"<(?:\w+:)?cellXfs[\s>].*?</(?:\w+:)?cellXfs>", re.DOTALL)
_STYLE = re.compile(r"<(?:\w+:)?xf\s([^>]*?)/?>")
_STYLED = re.compile(r"<(?:\w+:)?c\s([^>]*?)>")
_NOT_SHOWN_SO = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')  # text, single signs and colours within a format
_PERCENT = frozenset(["9", "10"])  # the formats 0% and 0.00%, which every workbook has


@dataclass(frozen=True)
class MergedRange:
    """A range of merged cells, which all show the value of the first: rows and columns from 0, ends included."""

    first_row: int
    first_column: int
    last_row: int
    last_column: int


@dataclass(frozen=True)
class SheetDetails:
    """What a reader of workbooks does not return of a sheet; rows and columns count from 0.

    Attributes:
        broken: The text of errors and of formulas without a cached value, by row and column.
        percentages: The cells whose number format shows per cent.
        merged: The ranges of merged cells.
    """

    broken: Mapping[tuple[int, int], str] = field(default_factory=dict)
    percentages: frozenset[tuple[int, int]] = frozenset()
    merged: tuple[MergedRange, ...] = ()


def find_sheet_details(data: bytes) -> dict[str, SheetDetails]:
    """Find the broken, percentage and merged cells of an .xlsx file, by sheet.

    Other kinds of files have none, as far as can be told.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as packed:
            styles = _find_percentage_styles(packed)
            return {name: _parse_sheet(packed.read(path), styles) for name, path in _list_sheet_parts(packed).items()}
    except (zipfile.BadZipFile, KeyError, ValueError, OSError):  # old Excel, OpenDocument, binary workbooks
        return {}


def _parse_sheet(part: bytes, styles: frozenset[str]) -> SheetDetails:
    sheet = part.decode()
    percentages = _find_styled_cells(sheet, styles) if styles else frozenset()
    return SheetDetails(_parse_broken_cells(sheet), percentages, tuple(_parse_merged_ranges(sheet)))


def _parse_merged_ranges(sheet: str) -> Iterator[MergedRange]:
    for attributes in map(_parse_attributes, _MERGED.findall(sheet)):
        first, _, last = attributes.get("ref", "").partition(":")
        one, other = _PLACE.fullmatch(first), _PLACE.fullmatch(last)
        if one is not None and other is not None:
            yield MergedRange(*_parse_cell_place(one), *_parse_cell_place(other))


def _find_percentage_styles(packed: zipfile.ZipFile) -> frozenset[str]:
    """The numbers of the styles that show per cent."""
    if "xl/styles.xml" not in packed.namelist():
        return frozenset()
    text = packed.read("xl/styles.xml").decode()
    formats = map(_parse_attributes, _FORMATS.findall(text))
    codes = {one["numFmtId"]: one.get("formatCode", "") for one in formats}
    percent = _PERCENT | {number for number, code in codes.items() if "%" in _NOT_SHOWN_SO.sub("", code)}
    styles = _STYLES.search(text)
    found = map(_parse_attributes, _STYLE.findall(styles[0] if styles else ""))
    return frozenset(str(k) for k, one in enumerate(found) if one.get("numFmtId") in percent)


def _find_styled_cells(sheet: str, styles: frozenset[str]) -> frozenset[tuple[int, int]]:
    """The cells with one of these styles that hold a number."""
    cells = map(_parse_attributes, _STYLED.findall(sheet))
    places = [
        _PLACE.fullmatch(one.get("r", "")) for one in cells if one.get("s") in styles and one.get("t", "n") == "n"
    ]
    return frozenset(_parse_cell_place(place) for place in places if place is not None)


def _parse_cell_place(place: re.Match[str]) -> tuple[int, int]:
    return int(place[2]) - 1, _parse_column(place[1].encode())


def _list_sheet_parts(packed: zipfile.ZipFile) -> dict[str, str]:
    """For each sheet by name, the path of its XML file within the .xlsx archive."""
    relations = map(_parse_attributes, _RELATION.findall(packed.read("xl/_rels/workbook.xml.rels").decode()))
    places = {one["Id"]: one["Target"] for one in relations}
    sheets = map(_parse_attributes, _SHEET.findall(packed.read("xl/workbook.xml").decode()))
    found = {one["name"]: places[one["id"]] for one in sheets if one.get("id") in places}
    return {name: normpath(join("/xl", path)).lstrip("/") for name, path in found.items()}


def _parse_attributes(text: str) -> dict[str, str]:
    """The attributes by name, without the namespace."""
    return {name.split(":")[-1]: unescape(one or other) for name, one, other in _ATTRIBUTE.findall(text)}


def _parse_broken_cells(sheet: str) -> dict[tuple[int, int], str]:
    found = {}
    for head, body in _CELL.findall(sheet):
        is_error = "t=" in head and _parse_attributes(head).get("t") == "e"
        if not is_error and "f" not in body:
            continue
        attributes = _parse_attributes(head)
        value, formula = _VALUE.search(body), _FORMULA.search(body)
        place = _PLACE.fullmatch(attributes.get("r", ""))
        if place is None:
            continue
        if is_error and value is not None:
            text = unescape(value[1])
        elif formula is not None and value is None and attributes.get("t", "n") == "n":  # a text may be empty
            text = "=" + unescape(formula[1] or "…")
        else:
            continue
        found[_parse_cell_place(place)] = text
    return found


# The beginning of a cell's tag in an .xlsx file, with and without its place, and all tags that place cells.
_TAG = re.compile(rb"<(?:[^\s<>/:]+:)?c(?=[\s/>])")
_PLACED = re.compile(rb"<(?:[^\s<>/:]+:)?c(?:\s[^<>]*?)?\sr\s*=\s*[\"']\$?([A-Za-z]+)\$?(\d+)[\"']")
_PLACING = re.compile(rb"<(?:[^\s<>/:]+:)?(row|c)(?=[\s/>])((?:[^>\"']|\"[^\"]*\"|'[^']*')*)>")
_REFERENCE = re.compile(rb"\sr\s*=\s*[\"']\$?([A-Za-z]*)\$?(\d+)[\"']")
_SHARED = re.compile(rb"\st\s*=\s*[\"']s[\"']")
_SHARED_NUMBER = re.compile(rb"\st\s*=\s*[\"']s[\"'][^<>]*>\s*<(?:[^\s<>/:]+:)?v>\s*(\d+)\s*<")
_TEXT = re.compile(rb"<(?:[^\s<>/:]+:)?si(?=[\s/>])(.*?)(?:</(?:[^\s<>/:]+:)?si>|/>)", re.DOTALL)
_MOST_DIGITS = 9  # of a row's number
# Records of .xlsb and .xls files that begin with a place.
_XLSB_ROW, _XLSB_CELLS = 0, frozenset([*range(1, 12), 62])
_XLS_CELLS = frozenset([0x0006, 0x00BD, 0x00D6, 0x00FD, 0x0201, 0x0203, 0x0204, 0x0205, 0x027E])
_XLS_BEGIN, _XLS_DIMENSIONS, _XLS_SEVERAL = 0x0809, 0x0200, 0x00BD
_LAST_SECTOR = 0xFFFFFFFA  # those above are no sectors


@dataclass
class _Extent:
    """The number of rows and columns of a sheet, counted from its first cell."""

    rows: int = 0
    columns: int = 0

    def include(self, row: int, column: int) -> None:
        """Let it reach to a cell, from 0."""
        self.rows, self.columns = max(self.rows, row + 1), max(self.columns, column + 1)


def refuse_large_workbook(data: bytes, origin: str) -> None:
    """Raise an `InputError` for a workbook with too many cells or too much text, without expanding it.

    Args:
        data: The file.
        origin: Its name.
    """
    try:
        extents = _measure_zip(data, origin) if data.startswith(b"PK") else list(_measure_xls(data))
    except TunedPriorError:
        raise
    except (*DAMAGE, expat.ExpatError, struct.error, LookupError) as error:
        raise FileFormatError(f"{origin!r} is a damaged or protected workbook ({error}). Save it again.") from error
    refuse_many_cells(
        sum(one.rows * one.columns for one in extents), max((one.columns for one in extents), default=0), origin
    )


def _measure_zip(data: bytes, origin: str) -> list[_Extent]:
    with zipfile.ZipFile(BytesIO(data)) as packed:
        names = packed.namelist()
        if len(set(names)) < len(names):
            raise zipfile.BadZipFile("two parts of one name")
        refuse_large(sum(one.file_size for one in packed.infolist()), origin)
        if "content.xml" in names:
            return _measure_ods(_read_bounded_part(packed, "content.xml", origin), origin)
        found, shared, texts = [], 0, []
        for name in names:
            if name.endswith(".bin") and "/worksheets/" in name:
                found.append(_measure_xlsb(_read_bounded_part(packed, name, origin)))
            elif not name.endswith((".bin", "/", ".png", ".jpeg", ".jpg", ".emf", ".vml")):
                part = _read_bounded_part(packed, name, origin)
                refuse_many_cells(part.count(b"<c"), 1, origin)  # a quick upper bound: cells without content too
                extent = _measure_xlsx(part)
                found.append(extent)
                refuse_many_cells(sum(one.rows * one.columns for one in found), extent.columns, origin)
                shared += len(_SHARED.findall(part)) if extent.rows else 0
                texts += [len(one) for one in _TEXT.findall(part)]
        if shared * max(texts, default=0) > MOST_TEXT:
            _refuse_repeated(packed, names, texts, shared, origin)
        return found


def _read_bounded_part(archive: zipfile.ZipFile, name: str, origin: str) -> bytes:
    """A part as it is, whatever the archive says of its size."""
    with archive.open(name) as file:
        part = file.read(MOST_BYTES + 1)
    refuse_large(len(part), origin)
    return part


def _measure_xlsx(part: bytes) -> _Extent:
    extent = _Extent()
    placed = _PLACED.findall(part)
    if len(placed) == len(_TAG.findall(part)):
        if placed:
            columns = max(map(_parse_column, {letters for letters, _ in placed}))
            extent.include(max(map(_parse_row, {digits for _, digits in placed})), columns)
        return extent
    row, column = -1, -1  # some have no place of their own, and come after the one before
    for kind, attributes in _PLACING.findall(part):
        place = _REFERENCE.search(attributes)
        if kind == b"row":
            row, column = _parse_row(place[2]) if place else row + 1, -1
        else:
            row, column = (_parse_row(place[2]), _parse_column(place[1])) if place and place[1] else (row, column + 1)
            extent.include(max(row, 0), column)
    return extent


def _parse_row(digits: bytes) -> int:
    return int(digits[: _MOST_DIGITS + 1]) - 1


def _parse_column(letters: bytes) -> int:
    """The number of a column, from 0: A, B, …, Z, AA."""
    column = 0
    for letter in letters[:8].upper():
        column = 26 * column + letter - ord("A") + 1
    return column - 1


def _refuse_repeated(packed: zipfile.ZipFile, names: list[str], texts: list[int], shared: int, origin: str) -> None:
    """Refuse texts that so many cells share that they would take all memory; each is counted as often as it is used."""
    size = counted = 0
    for name in names:
        if name.endswith(".xml"):
            for number in _SHARED_NUMBER.findall(_read_bounded_part(packed, name, origin)):
                counted += 1
                position = _parse_row(number) + 1
                size += texts[position] if position < len(texts) else 0
    # What is written in another way than this is taken for the longest.
    refuse_large(size + (shared - counted) * max(texts), origin, MOST_TEXT)


def _measure_ods(content: bytes, origin: str) -> list[_Extent]:
    """The sheets of an OpenDocument file, in which rows and cells may be repeated; blanks at an end take no room."""
    found: list[_Extent] = []
    state: dict[str, int] = {"row": 0, "column": 0, "rows": 1, "cells": 0, "reach": 0, "text": 0, "size": 0}

    def begin_element(name: str, attributes: dict[str, str]) -> None:
        kind = name.split(":")[-1]
        if kind == "table":
            found.append(_Extent())
            state.update(row=0)
        elif kind == "table-row":
            state.update(column=0, reach=0, text=0, rows=_parse_repeat_count(attributes, "number-rows-repeated"))
        elif kind in ("table-cell", "covered-table-cell"):
            state["cells"] = _parse_repeat_count(attributes, "number-columns-repeated")
            state["column"] += state["cells"]
            if any("value" in one or "formula" in one for one in attributes):
                state["reach"] = state["column"]
                state["text"] += state["cells"] * sum(map(len, attributes.values()))
        elif kind == "s":  # so many spaces
            state["text"] += state["cells"] * _parse_repeat_count(attributes, ":c")

    def add_text(written: str) -> None:
        if written.strip() and state["cells"]:
            state["reach"] = state["column"]
            state["text"] += state["cells"] * len(written)

    def end_element(name: str) -> None:
        kind = name.split(":")[-1]
        if kind in ("table-cell", "covered-table-cell"):
            state["cells"] = 0
        elif kind == "table-row":
            state["row"] += state["rows"]
            state["size"] += state["rows"] * state["text"]
            if state["reach"] and found:
                found[-1].include(state["row"] - 1, state["reach"] - 1)
                refuse_many_cells(sum(one.rows * one.columns for one in found), found[-1].columns, origin)
            refuse_large(state["size"], origin, MOST_TEXT)

    def refuse_definitions(*_: Any) -> None:
        raise FileFormatError(f"{origin!r} defines words of its own, which no spreadsheet does. Save it again.")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = (
        begin_element,
        end_element,
        add_text,
    )
    parser.StartDoctypeDeclHandler = refuse_definitions
    parser.Parse(content, True)
    return found


def _parse_repeat_count(attributes: dict[str, str], ending: str) -> int:
    """Return the number of repetitions in the attribute with this ending; 1 without it."""
    written = next((one for name, one in attributes.items() if name.endswith(ending)), "1")
    return int(written) if written.isdecimal() and len(written) <= _MOST_DIGITS else 10**_MOST_DIGITS


def _measure_xlsb(part: bytes) -> _Extent:
    extent, row, at = _Extent(), 0, 0
    while at < len(part):
        kind, at = _read_packed_number(part, at, 2)
        length, at = _read_packed_number(part, at, 4)
        if kind == _XLSB_ROW and length >= 4:
            row = struct.unpack_from("<I", part, at)[0]
        elif kind in _XLSB_CELLS and length >= 4:
            extent.include(row, struct.unpack_from("<I", part, at)[0])
        at += length
    return extent


def _read_packed_number(part: bytes, at: int, most: int) -> tuple[int, int]:
    """A number of seven bits to the byte, and where it ends."""
    number = 0
    for k in range(most):
        number |= (part[at + k] & 0x7F) << 7 * k
        if part[at + k] < 0x80:
            return number, at + k + 1
    return number, at + most


def _measure_xls(data: bytes) -> Iterator[_Extent]:
    """The sheets of an old Excel file: records after each other, in a stream of a compound file."""
    stream, at = _read_xls_stream(data), 0
    extent = _Extent()
    while at + 4 <= len(stream):
        kind, length = struct.unpack_from("<HH", stream, at)
        record = stream[at + 4 : at + 4 + length]
        at += 4 + length
        if kind == _XLS_BEGIN:
            yield extent
            extent = _Extent()
        elif kind == _XLS_DIMENSIONS and length >= 10:
            last = struct.unpack_from("<IIHH" if length >= 12 else "<HHHH", record)
            extent.include(last[1], last[3])
        elif kind in _XLS_CELLS and length >= 4:
            row, column = struct.unpack_from("<HH", record)
            extent.include(row, struct.unpack_from("<H", record, length - 2)[0] if kind == _XLS_SEVERAL else column)
    yield extent


def _read_xls_stream(data: bytes) -> bytes:
    """The stream Workbook (or Book) of a compound file."""
    size = 1 << min(struct.unpack_from("<H", data, 30)[0], 16)
    small_size = 1 << min(struct.unpack_from("<H", data, 32)[0], 16)
    first_folder, _, most_small, first_small, _, more = struct.unpack_from("<6I", data, 48)
    table_sectors = [one for one in struct.unpack_from("<109I", data, 76) if one < _LAST_SECTOR]
    seen: set[int] = set()
    while more < _LAST_SECTOR and more not in seen:
        seen.add(more)
        numbers = struct.unpack_from(f"<{size // 4}I", data, (more + 1) * size)
        table_sectors += [one for one in numbers[:-1] if one < _LAST_SECTOR]
        more = numbers[-1]
    table = [one for sector in table_sectors for one in _unpack_integers(data[(sector + 1) * size :][:size])]

    def follow_chain(first: int, table: list[int], of: bytes, width: int, offset: int) -> bytes:
        pieces, at, passed = [], first, 0
        while at < _LAST_SECTOR and at < len(table) and passed <= len(table):
            pieces.append(of[(at + offset) * width : (at + offset + 1) * width])
            at, passed = table[at], passed + 1
        return b"".join(pieces)

    folder = follow_chain(first_folder, table, data, size, 1)
    entries = [folder[at : at + 128] for at in range(0, len(folder) - 127, 128)]
    root = next((one for one in entries if one[66] == 5), None)
    for entry in entries:
        name = entry[: max(struct.unpack_from("<H", entry, 64)[0] - 2, 0)].decode("utf-16-le", "replace")
        if entry[66] == 2 and name.lower() in ("workbook", "book"):
            first, length = struct.unpack_from("<II", entry, 116)
            if length >= most_small or root is None:
                return follow_chain(first, table, data, size, 1)[:length]
            small = follow_chain(struct.unpack_from("<I", root, 116)[0], table, data, size, 1)
            small_table = _unpack_integers(follow_chain(first_small, table, data, size, 1))
            return follow_chain(first, small_table, small, small_size, 0)[:length]
    raise EOFError("there is no workbook in it")


def _unpack_integers(sectors: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(sectors) // 4}I", sectors[: len(sectors) // 4 * 4]))
