"""What the reader of workbooks does not say of cells, looked up in the file itself.

Cells that hold no value and are not blank either: errors, and formulas that nobody computed. Numbers that are
shown as something else: 0.1 as 10%. And cells that are merged, of which all but the first are read as blank.
"""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from io import BytesIO
from posixpath import join, normpath

from tunedprior.files.packed import MOST_BYTES

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
    """Cells that are shown as one, which has the value of the first: rows and columns from 0, both ends included."""

    first_row: int
    first_column: int
    last_row: int
    last_column: int


def find_broken_cells(data: bytes) -> dict[str, dict[tuple[int, int], str]]:
    """For each sheet of an .xlsx file, its errors and its formulas without a value, by row and column from 0.

    Other kinds of files have none, as far as can be told.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as packed:
            return {
                name: _parse_broken_cells(_read_part(packed, path)) for name, path in _list_sheet_parts(packed).items()
            }
    except (zipfile.BadZipFile, KeyError, ValueError, OSError):  # old Excel, OpenDocument, binary workbooks
        return {}


def find_percentage_cells(data: bytes) -> dict[str, frozenset[tuple[int, int]]]:
    """For each sheet of an .xlsx file, the cells whose number is shown as per cent, by row and column from 0."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as packed:
            styles = _find_percentage_styles(_read_part(packed, "xl/styles.xml"))
            if not styles:
                return {}
            return {
                name: _find_styled_cells(_read_part(packed, path), styles)
                for name, path in _list_sheet_parts(packed).items()
            }
    except (zipfile.BadZipFile, KeyError, ValueError, OSError):
        return {}


def find_merged_cells(data: bytes) -> dict[str, tuple[MergedRange, ...]]:
    """For each sheet of an .xlsx file, the cells that are merged."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as packed:
            return {
                name: tuple(_parse_merged_ranges(_read_part(packed, path)))
                for name, path in _list_sheet_parts(packed).items()
            }
    except (zipfile.BadZipFile, KeyError, ValueError, OSError):
        return {}


def _parse_merged_ranges(sheet: str) -> Iterator[MergedRange]:
    for attributes in map(_parse_attributes, _MERGED.findall(sheet)):
        first, _, last = attributes.get("ref", "").partition(":")
        one, other = _PLACE.fullmatch(first), _PLACE.fullmatch(last)
        if one is not None and other is not None:
            yield MergedRange(*_parse_cell_place(one), *_parse_cell_place(other))


def _find_percentage_styles(text: str) -> frozenset[str]:
    """The numbers of the styles that show per cent."""
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
    column = 0
    for letter in place[1]:
        column = 26 * column + ord(letter) - ord("A") + 1
    return int(place[2]) - 1, column - 1


def _list_sheet_parts(packed: zipfile.ZipFile) -> dict[str, str]:
    """The names of the sheets, and where they are."""
    relations = map(_parse_attributes, _RELATION.findall(_read_part(packed, "xl/_rels/workbook.xml.rels")))
    places = {one["Id"]: one["Target"] for one in relations}
    sheets = map(_parse_attributes, _SHEET.findall(_read_part(packed, "xl/workbook.xml")))
    found = {one["name"]: places[one["id"]] for one in sheets if one.get("id") in places}
    return {name: normpath(join("/xl", path)).lstrip("/") for name, path in found.items()}


def _read_part(packed: zipfile.ZipFile, path: str) -> str:
    if packed.getinfo(path).file_size > MOST_BYTES:
        raise ValueError(path)
    return packed.read(path).decode()


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
