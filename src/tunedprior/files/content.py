"""A table that was read, with what was assumed on the way and where each of its rows stands in the source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table and where it comes from.

    Attributes:
        table: The rows, numbered from 0. Cells of text files are text, just as it stands there.
        origin: The file's name without folders, or what else it was.
        said: One sentence for every thing that was detected or assumed; empty for a plain table.
        labels: For each row, its number or name in the source.
        unit: What the labels count: lines of a file, rows of a table or sheet, trials of a study.
        better: By column, "maximize" or "minimize" where the source says what was wanted of it, as a study does.
    """

    table: pd.DataFrame
    origin: str
    said: tuple[str, ...]
    labels: Sequence[Any] | pd.Index
    unit: str = "row"
    better: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.table)

    def where(self, row: int) -> str:
        """Where the row (from 0) stands in the source, such as "line 7"."""
        label = self.labels[row]
        if isinstance(label, tuple):
            return f"{self.unit} ({', '.join(map(str, label))})"
        return f"{self.unit} {label!r}" if isinstance(label, str) else f"{self.unit} {label}"
