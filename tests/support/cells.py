"""Tables of the documents, and their cells held against what was measured."""

import re
from functools import cache

from benchmarks.site_tables import read_filled
from support.prose import Value, agrees
from support.stored import ROOT, Estimate

#: Heads, then rows.
Table = tuple[list[str], list[list[str]]]

_CELL = re.compile(r"(\*{0,2})([\d.]+)\1 \(([\d.]+)–([\d.]+)\)")
_UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


@cache
def tables(document: str) -> dict[str, Table]:
    """Every table of a document and its appendix, by the name before it, or, without one, by its first heads."""
    text = read_filled(ROOT / document)
    found = {}
    for match in re.finditer(r"(?:<!-- table: (.*?) -->\n)?((?:^\|[ -].*\|\n)+)", text, re.MULTILINE):
        head, _, *rows = [
            [cell.strip() for cell in line.strip().strip("|").split("|")] for line in match.group(2).splitlines()
        ]
        name = match.group(1) or " | ".join(head[:2])
        found[f"{name} (again)" if name in found else name] = head, rows
    return found


def marked_agrees(cell: str, estimate: Estimate) -> bool:
    """A number with its interval; bold where all of it is below 1, slanted where all of it is above."""
    found = _CELL.fullmatch(cell)
    if found is None:
        return False
    mark, middle, low, high = found.groups()
    if not interval_agrees(middle, low, high, estimate):
        return False
    if float(high) < 1:
        return mark == "**"
    if float(low) > 1:
        return mark == "*"
    # An end that is printed as 1.00 may be on either side.
    return mark == "" or (mark == "**" and high == "1.00") or (mark == "*" and low == "1.00")


def unmarked_agrees(cell: str, estimate: Estimate) -> bool:
    """The same without a mark."""
    found = _CELL.fullmatch(cell)
    return found is not None and found.group(1) == "" and interval_agrees(*found.groups()[1:], estimate)


def interval_agrees(middle: str, low: str, high: str, estimate: Estimate) -> bool:
    """A number and the ends of its interval."""
    values: list[tuple[str, Value]] = [(middle, estimate.middle), (low, estimate.low), (high, estimate.high)]
    return all(agrees(printed, value) for printed, value in values)


def time_agrees(cell: str, seconds: float | None) -> bool:
    """A time with its unit, to three digits; a dash where nothing was measured."""
    if seconds is None or cell == "–":
        return (seconds is None) == (cell == "–")
    found = re.fullmatch(r"([\d.]+) (s|ms|µs|ns)", cell)
    if found is None:
        return False
    number, unit = found.groups()
    return abs(float(number) * _UNITS[unit] / seconds - 1) < 0.0051


def methods_in(document: str, name: str) -> list[str]:
    """The first column of a table."""
    return [row[0] for row in tables(document)[name][1]]


def wrong_cells(document: str, name: str, expected: dict[str, dict[str, Estimate]]) -> list[str]:
    """Those that are not as expected, of a table with a row for each method (or function) and a column for each."""
    head, rows = tables(document)[name]
    assert [row[0] for row in rows] == list(expected)
    return [
        f"{row[0]}, {column}: {cell}"
        for row in rows
        for column, cell in zip(head[1:], row[1:], strict=True)
        if not marked_agrees(cell, expected[row[0]][column])
    ]
