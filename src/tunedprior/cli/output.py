"""Print results of commands, for people or as JSON, draw tables in a terminal, and define shared arguments."""

import getpass
import json
import logging
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tunedprior.cli.program import STOPPED
from tunedprior.workspace.shell_words import escape_unprintable

# What steers terminals, or turns what is read around, beyond what JSON writes out by itself.
_STEERING = re.compile("[\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")
# Whether the present command is to speak to a program; a process runs one at a time.
_speaking = {"json": False}


def _set_json_output(value: bool) -> bool:
    _speaking["json"] = value
    return value


#: The option `--json`, which every command has; `say` and `complain` know of it.
AsJson = Annotated[
    bool,
    typer.Option("--json", callback=_set_json_output, is_eager=True, help="Print JSON, for scripts."),
]


class ExitCode(IntEnum):
    """The exit codes of commands."""

    FINE = 0
    #: Something unforeseen.
    BROKEN = 1
    #: The input was refused; nothing was changed.
    REFUSED = 2
    #: It went well, and there is something to look at: faults in old data, nothing left to try, a result like a slip.
    NOTICED = 3
    #: Ctrl-C.
    STOPPED = STOPPED


class PlainConsole(Console):
    """A console that prints user text literally.

    Signs that would steer it are written out (`escape_unprintable`), and brackets are no markup.
    """

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Render with user text escaped; the lines of tables stay."""
        for one in super().render(renderable, options):
            yield one if one.control else Segment(escape_unprintable(one.text), one.style)


def say(data: Mapping[str, Any], *shown: RenderableType, wrap: bool = True) -> None:
    """Print `data` as JSON if the command has `--json`, otherwise the text for people.

    Without `wrap`, long lines stay as they are: what is printed may be the text of a file.
    """
    if _speaking["json"]:
        from tunedprior.explain.source_explanation import to_json_value

        _write_json(to_json_value(data))
        return
    console = PlainConsole()
    for one in shown:
        console.print(one, soft_wrap=not wrap)


def _write_json(data: Mapping[str, Any]) -> None:
    has_every_letter = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(data, ensure_ascii=not has_every_letter, indent=2)
    # JSON itself writes out the first 32 signs alone.
    sys.stdout.write(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def complain(message: str, kind: str) -> None:
    """Print an error: to stderr, or with `--json` to stdout, where programs look."""
    if _speaking["json"]:
        _write_json({"error": {"kind": kind, "message": message}})
        return
    PlainConsole(stderr=True).print(Text.assemble(("Error:", "bold red"), " ", message))


@contextmanager
def show_warnings_as_notes() -> Iterator[None]:
    """Show the package's warnings as notes on stderr without source lines, and hide all others."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if category.__module__.startswith("tunedprior") and str(message) not in said:
            said.add(str(message))
            PlainConsole(stderr=True).print(Text.assemble(("Note:", "yellow"), " ", str(message)))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        logging.disable(logging.INFO)  # Optuna tells of every study that it opens
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


@contextmanager
def collect_warnings(kind: type[Warning]) -> Iterator[list[str]]:
    """Collect the warnings of this class and show all others."""
    found: list[str] = []
    show = warnings.showwarning

    def collect_and_show(message: Warning | str, category: type[Warning], *rest: Any, **options: Any) -> None:
        if issubclass(category, kind):
            found.append(str(message))
        show(message, category, *rest, **options)

    warnings.showwarning = collect_and_show
    try:
        yield found
    finally:
        warnings.showwarning = show


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
        """Return each column's width: of its longest text, or its longest word if texts are long."""
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
    """Make a table from dicts; numbers are right-aligned with six digits."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    numeric = [all(isinstance(row.get(name), int | float | None) for row in rows) for name in names]
    return WholeWordTable(names, [[format_cell(row.get(name)) for name in names] for row in rows], numeric, title)


def build_fact_list(lines: Mapping[str, str]) -> Table:
    """Format pairs of a label and a value, one line for each."""
    table = Table(show_header=False, box=None)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for about, said in lines.items():
        table.add_row(_make_cell(about), _make_cell(said))
    return table


def build_bullet_list(sentences: Iterable[str]) -> Table:
    """Format sentences as a list, one indented block for each."""
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
    """Format a cell for people.

    >>> format_cell(0.1 + 0.2), format_cell(float("nan")), format_cell(12)
    ('0.3', '', '12')
    """
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _fill_login_name(who: str) -> str:
    """Who it is said to be, or else the name that this person has on this computer; empty if there is none."""
    try:
        return who or getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


#: A campaign's place.
Campaign = Annotated[
    str,
    typer.Argument(
        envvar="TUNEDPRIOR_CAMPAIGN",
        help="The campaign: a file such as campaign.db, or the URL of a database.",
        show_default=False,
    ),
]
#: A campaign's name.
Name = Annotated[
    str | None,
    typer.Option("--name", envvar="TUNEDPRIOR_NAME", help="The campaign's name, if the database holds several."),
]
#: Whether to replace a file.
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
#: A note.
Note = Annotated[str, typer.Option("--note", help="A note to keep with the result.")]
#: Who says so.
Who = Annotated[
    str,
    typer.Option(
        "--who",
        envvar="TUNEDPRIOR_WHO",
        callback=_fill_login_name,
        help="Your name, for the journal. Default: your name on this computer.",
    ),
]
