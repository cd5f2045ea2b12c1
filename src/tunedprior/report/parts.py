"""The parts of a report: facts, sentences, pictures and tables. What cannot be shown says why."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tunedprior.errors import TunedPriorError
from tunedprior.plots.pictures import Picture, shorten

#: Letters of a cell; no chemical's name needs more.
LONGEST_CELL = 200


@dataclass(frozen=True)
class Table:
    """Rows under their columns' names, all as text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ReportPart:
    """One part of the page.

    Attributes:
        anchor: What links to it call it.
        title: What it is about.
        lead: What to read first, each a paragraph.
        facts: Short answers, by what they are about.
        sentences: What there is to say, each a paragraph.
        lists: More of it, in groups: what each is about, and what belongs to that.
        picture: What there is to see.
        tables: What there is to look up.
        why_not: Why there is nothing of it.
    """

    anchor: str
    title: str
    lead: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    sentences: tuple[str, ...] = ()
    lists: tuple[tuple[str, ...], ...] = ()
    picture: Picture | None = None
    tables: tuple[Table, ...] = ()
    why_not: str = ""


def make_part(anchor: str, title: str, make: Callable[[ReportPart], ReportPart]) -> ReportPart:
    """A part, or in its place the reason why there is none: one part must not keep the others from being read."""
    empty = ReportPart(anchor, title)
    try:
        return make(empty)
    except TunedPriorError as error:
        return replace(empty, why_not=str(error))
    except Exception as error:  # a fault of ours, or of somebody's model: the rest of the page is of use all the same
        return replace(empty, why_not=f"This part could not be made ({type(error).__name__}: {error}).")


def format_cell(value: object) -> str:
    """A cell as people write it; nothing for what is not there."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def make_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A table from cells of any kind; what is very long is cut in the middle."""
    cells = (tuple(shorten(format_cell(cell), LONGEST_CELL) for cell in row) for row in rows)
    return Table(tuple(columns), tuple(cells))
