"""How numbers are shown in the tables of docs/performance.md."""

from collections.abc import Callable, Mapping
from typing import Any

Row = Mapping[str, Any]
Cell = Callable[[Row], str]
#: The cells of a table by their heads.
Columns = Mapping[str, Cell]

#: Of the H200's data sheet: float64 on tensor cores, and memory.
_CARD = {"flops": 67e12, "bytes_per_second": 4.8e12}
_NOTHING = "–"  # was measured


def readable(seconds: float) -> str:
    """Seconds in a unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def number(name: str) -> Cell:
    """A whole number."""
    return lambda row: f"{row[name]:,}"


def text(name: str) -> Cell:
    """As it is."""
    return lambda row: str(row[name])


def time_of(name: str) -> Cell:
    """A time, where there is one."""
    return lambda row: _NOTHING if row.get(name) is None else readable(row[name])


def decimal(name: str) -> Cell:
    """Two digits after the point, where there is a number."""
    return lambda row: _NOTHING if row.get(name) is None else f"{row[name]:.2f}"


def ratio_of(name: str, to: str) -> Cell:
    """Of two times that the table shows."""
    return lambda row: _NOTHING if row.get(to) is None else f"{row[name] / row[to]:.2f}"


def gib(name: str) -> Cell:
    """Memory."""
    return lambda row: f"{row[name]:.2f} GiB"


def share(name: str, of: str) -> Cell:
    """Of what the card reached in the same run, and of its data sheet."""
    return lambda row: f"{row[name] / row['reached'][of]:.0%} ({row[name] / _CARD[of]:.0%})"


def ratio_to(rival: str) -> Cell:
    """Our time over the rival's."""
    return lambda row: f"{row['tunedprior'] / row[rival]:.2g}"


def table_of(columns: Columns, rows: list[Row]) -> str:
    """In Markdown."""
    lines = [list(columns), ["---"] * len(columns), *([cell(row) for cell in columns.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
