"""Tables in a terminal."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from tunedprior.desk.shell_words import printable


def table_of(rows: Iterable[Mapping[str, Any]], title: str = "") -> Table:
    """The rows under their names; numbers to the right, with six digits."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(title=title or None, title_justify="left", title_style="bold")
    for name in names:
        numeric = all(isinstance(row.get(name), int | float | None) for row in rows)
        table.add_column(_cell(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(in_short(row.get(name))) for name in names))
    return table


def facts(lines: Mapping[str, str], title: str = "") -> Table:
    """One line for each: what it is about, and what there is to say."""
    table = Table(title=title or None, show_header=False, box=None, title_justify="left", title_style="bold")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for about, said in lines.items():
        table.add_row(_cell(about), _cell(said))
    return table


def _cell(text: str) -> Text:
    """Text as wide as it will be printed."""
    return Text(printable(text))


def in_short(value: Any) -> str:
    """A cell as people read it.

    >>> in_short(0.1 + 0.2), in_short(float("nan")), in_short(12)
    ('0.3', '', '12')
    """
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
