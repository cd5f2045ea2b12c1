"""The records of a text file under one separator, with the lines they begin on."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO

from tunedprior.errors import InputError

#: Lines that begin so are comments.
MARKS = ("#", "%", "//")
# A comment, or a line of spaces; with the end of the line before it, which is found fast.
_NO_RECORD = re.compile(r"\n[ \t]*(?:#|%|//)|\n[^\S\r\n]+(?:\r|\n|$)")


@dataclass(frozen=True)
class Records:
    """Rows of text cells.

    Attributes:
        rows: The cells of each record.
        lines: The line, from 1, on which each record begins.
        opening: The comments (line and text) before the first record.
        comments: The lines of all comments.
    """

    rows: list[list[str]]
    lines: list[int]
    opening: list[tuple[int, str]]
    comments: list[int]


class _Lines:
    """The lines of a text without blank ones and comments, unless these stand inside a quoted cell."""

    def __init__(self, text: str, separator: str) -> None:
        self._lines = StringIO(text, newline="")  # leaves the ends of lines inside cells as they are
        self._spaces = separator == " "
        self.number = 0
        self.first = 0  # the line on which the present record begins
        self.begins = True  # whether the next line begins a record
        self.comments: list[tuple[int, str]] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        for line in self._lines:
            self.number += 1
            if not self.begins:
                return line
            bare = line.strip()
            if not bare:
                continue
            if bare.startswith(MARKS):
                self.comments.append((self.number, bare))
                continue
            self.begins, self.first = False, self.number
            # Spaces at the ends separate nothing.
            return bare.replace("\t", " ") + "\n" if self._spaces else line
        raise StopIteration


def read_records(text: str, separator: str, most: int | None = None) -> Records:
    """The records of the text, or its first `most`."""
    if most is None and separator != " " and _is_plain(text):
        return _read_plain(text, separator)
    lines = _Lines(text, separator)
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    rows: list[list[str]] = []
    numbers: list[int] = []
    opening: list[tuple[int, str]] = []
    try:
        for row in reader:
            if not rows:
                opening = list(lines.comments)
            rows.append(row)
            numbers.append(lines.first)
            lines.begins = True
            if most is not None and len(rows) == most:
                break
    except csv.Error as error:
        raise InputError(f"line {lines.first} cannot be read ({error}); look for a quote that is not closed") from error
    return Records(rows, numbers, opening or list(lines.comments), [number for number, _ in lines.comments])


def _is_plain(text: str) -> bool:
    """Whether every line is a record: no quotes, no comments, no lines of spaces, no unusual ends of lines."""
    if '"' in text or text.count("\r") != text.count("\r\n") or text[:1].isspace():
        return False
    return not text.startswith(MARKS) and not _NO_RECORD.search(text)


def _read_plain(text: str, separator: str) -> Records:
    """The same for a text without quotes and comments, where every line is a record: several times as fast."""
    every = list(csv.reader(StringIO(text, newline=""), delimiter=separator, skipinitialspace=True))
    lines = [number for number, row in enumerate(every, 1) if row]
    return Records([row for row in every if row], lines, [], [])


def split_fields(line: str, separator: str) -> list[str]:
    """The cells of one line, such as a header inside a comment; none if it cannot be read."""
    try:
        return next(csv.reader([line.strip()], delimiter=separator, skipinitialspace=True, strict=True), [])
    except csv.Error:
        return []
