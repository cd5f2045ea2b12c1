"""A table that was read, with what was assumed on the way and where each of its rows stands in the source."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
        percentages: By column, the rows (from 0) with a number that the sheet shows as per cent: 0.1 as 10%.
        units: By column, the unit that its header has and its name has not: "%" of "yield [%]", known as "yield".
        unread: By sheet, for those that were not read: which of the hoped-for columns hold something there.
    """

    table: pd.DataFrame
    origin: str
    remarks: tuple[str, ...]
    labels: Sequence[Any] | pd.Index
    unit: str = "row"
    directions: Mapping[str, str] = field(default_factory=dict)
    percentages: Mapping[str, Sequence[int]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    unread_sheets: Mapping[str, Collection[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.table)

    def format_percentages(self, names: Collection[str]) -> "ReadTable":
        """With the text 10% for the number 0.1 in these columns, wherever the sheet shows it so."""
        table = self.table.copy()
        for name in set(names) & set(self.percentages):
            cells = table[name].tolist()
            for row in self.percentages[name]:
                cells[row] = f"{100 * cells[row]:.15g}%"
            table[name] = pd.Series(cells, dtype=object)
        return replace(self, table=table)

    def format_place(self, row: int) -> str:
        """Where the row (from 0) stands in the source, such as "line 7"."""
        label = self.labels[row]
        if isinstance(label, tuple):
            return f"{self.unit} ({', '.join(map(str, label))})"
        return f"{self.unit} {label!r}" if isinstance(label, str) else f"{self.unit} {label}"
