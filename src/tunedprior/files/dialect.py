"""How a text file is laid out: its separator, and where its header stands."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tunedprior.errors import InputError
from tunedprior.files.cells import is_unmeasured
from tunedprior.files.names import match_columns
from tunedprior.files.records import MARKS, Records, read_records, split_fields
from tunedprior.files.units import is_number

#: Separators in the order of preference, where they fit equally well.
_SEPARATORS = {",": "','", ";": "';'", "\t": "a tab", "|": "'|'", " ": "spaces"}
_SAMPLE = 40  # records that decide
_BEGINNING = 2**18  # characters that hold them
_DECLARED = re.compile(r"sep=([,;\t| ])[ \t]*(?=\r|\n|$)", re.IGNORECASE)  # a first line that Excel writes and hides


@dataclass(frozen=True)
class TableHeader:
    """The names of the columns and where they stand.

    Attributes:
        fields: The names, as they stand there.
        first: The first record after it.
        said: Sentences on an unusual place.
    """

    fields: list[str]
    first: int
    remarks: tuple[str, ...] = ()


def infer_separator(text: str, names: Sequence[str]) -> tuple[str, str, list[str]]:
    """The text (without a line that declares the separator), the separator, and a sentence unless it is a comma."""
    declared = _DECLARED.match(text)
    if declared:
        text = text[declared.end() :]  # the end of that line stays, and so does the count of lines
        separator = declared[1]
    else:
        separator = max(_SEPARATORS, key=lambda one: _score_separator(text, one, names))
    return text, separator, [] if separator == "," else [f"The separator is {_SEPARATORS[separator]}."]


def find_header(found: Records, separator: str, names: Sequence[str]) -> TableHeader:
    """The first record; else a later one, or a comment before the first, if only that has the hoped-for names."""
    place = find_header_row(found.rows, names)
    if place:
        skipped = f"Lines before the header (line {found.lines[place]}) are skipped."
        return TableHeader(found.rows[place], place + 1, (skipped,))
    first = found.rows[0] if found.rows else []
    if not match_columns(first, names):
        for line, comment in reversed(found.opening):
            bare = comment.lstrip("".join(MARKS))
            fields = max(
                (split_fields(one, separator) for one in (bare, comment)),
                key=lambda one: len(match_columns(one, names)),
            )
            if match_columns(fields, names):
                return TableHeader(fields, 0, (f"The header is the comment in line {line}.",))
    return TableHeader(first, 1)


def find_header_row(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> int:
    """Which row is the header: the first, unless it has none of the names and a later one has all, or is a title."""
    if not rows or match_columns(rows[0], names):
        return 0
    every = len(set(names))
    named = (k for k, row in enumerate(rows[:_SAMPLE]) if every and len(match_columns(row, names)) == every)
    return next(named, _find_row_below_titles(rows[:_SAMPLE]))


def _find_row_below_titles(rows: Sequence[Sequence[Any]]) -> int:
    """The first row of different texts that fills most of the columns, below rows that do not, and above numbers.

    >>> _find_row_below_titles([["Reactor B, spring", None, None], [None, None, "2024"], ["T", "gas", "y"], [20,
    ...     "air", 0.5]])
    2
    >>> _find_row_below_titles([["T", "gas", "y"], [20, "air", 0.5]])
    0
    """
    filled = [[cell for cell in row if not is_unmeasured(cell)] for row in rows]
    width = max(map(len, filled))
    place = next((k for k, cells in enumerate(filled) if 2 * len(cells) > width), 0)
    names = filled[place]
    is_header = len(names) > 1 and len(set(map(str, names))) == len(names) and not any(map(is_number, names))
    below = [cell for cells in filled[place + 1 :] for cell in cells]
    return place if is_header and any(map(is_number, below)) else 0


def _score_separator(text: str, separator: str, names: Sequence[str]) -> tuple[int, bool, float]:
    """Hoped-for names in the header, whether it has several fields at all, and the share of rows as long as it."""
    sample = _read_sample(text, separator)
    header = find_header(sample, separator, names)
    width, rows = len(header.fields), sample.rows[header.first :]
    even = sum(len(row) == width or (len(row) == width + 1 and not row[-1].strip()) for row in rows)
    return (len(match_columns(header.fields, names)), width > 1, even / max(1, len(rows)))


def _read_sample(text: str, separator: str) -> Records:
    """The first records; fewer, if one of them cannot be read under this separator."""
    for most in (_SAMPLE, 1):
        try:
            return read_records(text[:_BEGINNING], separator, most)
        except InputError:
            continue
    return Records([], [], [], [])
