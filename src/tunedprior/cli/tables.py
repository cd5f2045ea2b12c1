"""Tables in a terminal."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.table import Table
from rich.text import Text

from tunedprior.desk.shell_words import escape_unprintable

_WRAPPED = 32  # texts of more letters than this may be wrapped between words
_AROUND = 3  # what lies between two columns: a line and two blanks


@dataclass(frozen=True)
class WholeWordTable:
    """A table whose columns are never so narrow that words break.

    Where they do not fit side by side, a single row is shown as a list of names and values; of more rows, several
    tables follow each other, each with the first column.

    Attributes:
        names: The columns' names.
        rows: The cells, as text.
        numeric: Which columns are numbers, to be set to the right.
        title: What stands above it.
    """

    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool]
    title: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table | Text]:
        """One table, a list, or several tables."""
        if self.title:  # by itself: a table's own is no wider than the table
            yield Text(escape_unprintable(self.title), style="bold")
        widths = self._compute_widths(options.max_width)
        parts = _split_columns(widths, options.max_width)
        if len(parts) > 1 and len(self.rows) == 1:
            yield build_fact_list(dict(zip(self.names, self.rows[0], strict=True)))
            return
        for columns in parts:
            table = Table()
            for k in columns:
                table.add_column(
                    _make_cell(self.names[k]),
                    justify="right" if self.numeric[k] else "left",
                    overflow="fold",
                    min_width=widths[k],
                )
            for row in self.rows:
                table.add_row(*(_make_cell(row[k]) for k in columns))
            yield table

    def _compute_widths(self, width: int) -> list[int]:
        """How wide columns must be: as wide as their texts, or as the longest word where these are long."""
        found: list[int] = []
        for column, name in enumerate(self.names):
            lines = [line for row in self.rows for line in escape_unprintable(row[column]).splitlines()]
            longest = max(map(cell_len, lines), default=1)
            word = max((cell_len(word) for line in lines for word in line.split()), default=1)
            room = width - 1 - _AROUND - (found[0] + _AROUND if found else 0)
            found.append(max(cell_len(escape_unprintable(name)), word, min(_WRAPPED, longest, room)))
        return found


def _split_columns(widths: Sequence[int], width: int) -> list[list[int]]:
    """The columns of each table: as many as there is room for, after the first column."""
    found: list[list[int]] = []
    room = 0
    for k, own in enumerate(widths):
        needed = own + _AROUND
        if not found or (needed > room and len(found[-1]) > (len(found) > 1)):
            found.append([0] if found else [])
            room = width - 1 - (widths[0] + _AROUND if len(found) > 1 else 0)
        found[-1].append(k)
        room -= needed
    return found


def make_table(rows: Iterable[Mapping[str, Any]], title: str = "") -> WholeWordTable:
    """The rows under their names; numbers to the right, with six digits."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    numeric = [all(isinstance(row.get(name), int | float | None) for row in rows) for name in names]
    return WholeWordTable(names, [[format_cell(row.get(name)) for name in names] for row in rows], numeric, title)


def build_fact_list(lines: Mapping[str, str]) -> Table:
    """One line for each: what it is about, and what there is to say."""
    table = Table(show_header=False, box=None)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for about, said in lines.items():
        table.add_row(_make_cell(about), _make_cell(said))
    return table


def build_bullet_list(sentences: Iterable[str]) -> Table:
    """One sentence below the other, each indented as a whole."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for sentence in sentences:
        table.add_row("  •", _make_cell(sentence))
    return table


def _make_cell(text: str) -> Text:
    """Text as wide as it will be printed."""
    return Text(escape_unprintable(text))


def format_cell(value: Any) -> str:
    """A cell as people read it.

    >>> format_cell(0.1 + 0.2), format_cell(float("nan")), format_cell(12)
    ('0.3', '', '12')
    """
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
