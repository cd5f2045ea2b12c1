"""What an audit blames: a fault, where it is, and what to do about it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Every kind of fault, in the order in which they are to be mended: the first hide the others.
KINDS = (
    "no header",
    "no rows",
    "decimal commas among commas",
    "mixed encodings",
    "uneven lines",
    "cut-off line",
    "repeated header",
    "mixed decimal signs",
    "thousands separators",
    "shifted cells",
    "swapped columns",
    "swapped cells",
    "not a number",
    "other units",
    "part in other units",
    "no overlap",
    "sentinel",
    "far off",
    "row numbers",
    "spelling",
    "shifted rows",
    "copied rows",
    "contradictory repeats",
    "sign of the response",
    "units of the response",
)


@dataclass(frozen=True)
class Fault:
    """Something in old data that is most likely a mistake.

    Attributes:
        kind: One of `KINDS`.
        columns: The columns it is in; none if it is about whole lines.
        rows: Where, as the file or table has it ("line 7"); none if it is about whole columns.
        text: A sentence.
        remedy: What to do about it, as a sentence.
    """

    kind: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    text: str
    remedy: str

    def to_dict(self) -> dict[str, object]:
        """The same for JSON."""
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "rows": list(self.rows),
            "text": self.text,
            "remedy": self.remedy,
        }


@dataclass(frozen=True)
class RejectedRow:
    """A row that is not used.

    Attributes:
        row: Where it is ("line 7").
        reason: Why, in a few words.
    """

    row: str
    reason: str


def sort_faults(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """The faults in the order in which they are to be mended."""
    return tuple(sorted(faults, key=lambda one: KINDS.index(one.kind)))


def join_places(rows: Sequence[str], most: int = 6) -> str:
    """Where, in short: "lines 3, 4 and 17", or "line 3 and 12 others".

    >>> join_places(["line 3", "line 4", "line 17"])
    'lines 3, 4 and 17'
    >>> join_places([f"line {k}" for k in range(2, 30)], most=3)
    'lines 2, 3, 4 and 25 more'
    """
    if len(rows) <= 1:
        return "".join(rows)
    unit = rows[0].split(" ", 1)[0]
    labels = [row.removeprefix(f"{unit} ") for row in rows]
    shown = labels[:most] if len(labels) > most + 1 else labels[:-1]
    last = labels[-1] if len(labels) == len(shown) + 1 else f"{len(labels) - len(shown):,} more"
    return f"{unit}s {', '.join(shown)} and {last}"
