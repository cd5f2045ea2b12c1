"""What the command line says: to people, or as JSON to programs."""

import json
import logging
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from typing import Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from tunedprior.cli.stopping import STOPPED
from tunedprior.desk.shell_words import escape_unprintable

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
    typer.Option("--json", callback=_set_json_output, is_eager=True, help="Print the result as JSON, for programs."),
]


class ExitCode(IntEnum):
    """Exit codes, for scripts."""

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
    """A terminal to which categories, names, notes and files' names are text, and nothing else.

    Signs that would steer it are written out (`escape_unprintable`), and brackets are no markup.
    """

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """As it is drawn, with what is text in it made harmless; what is drawn around it stays."""
        for one in super().render(renderable, options):
            yield one if one.control else Segment(escape_unprintable(one.text), one.style)


def say(data: Mapping[str, Any], *shown: RenderableType, wrap: bool = True) -> None:
    """Print `data` as JSON if the command was given `--json`, or else what is shown to people.

    Without `wrap`, long lines stay as they are: what is printed may be the text of a file.
    """
    if _speaking["json"]:
        from tunedprior.lessons.shown import to_json_value  # with pandas, which help and completion do without

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
    """Show our own warnings as notes on stderr, without lines of code, and no one else's."""
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
def collect_warnings(looked_for: type[Warning]) -> Iterator[list[str]]:
    """The warnings of this kind that came meanwhile, which are shown as all others are."""
    found: list[str] = []
    show = warnings.showwarning

    def collect_and_show(message: Warning | str, category: type[Warning], *rest: Any, **options: Any) -> None:
        if issubclass(category, looked_for):
            found.append(str(message))
        show(message, category, *rest, **options)

    warnings.showwarning = collect_and_show
    try:
        yield found
    finally:
        warnings.showwarning = show
