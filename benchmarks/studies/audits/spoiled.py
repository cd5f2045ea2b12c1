"""What a spoiled copy is: a file, and what ought to be said of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from optuna.distributions import CategoricalDistribution

from benchmarks.problems.pairs import LOG_INPUTS, Pair
from tunedprior.audit import Fault

TARGET = "y"


@dataclass(frozen=True)
class Copy:
    """A spoiled file.

    Attributes:
        content: Its bytes.
        kinds: The kinds of faults that say what is wrong; one of them will do.
        columns: Columns that the fault must name; none if it is about whole lines.
        lines: Lines that it must name; none if it is about whole columns.
    """

    content: bytes
    kinds: tuple[str, ...]
    columns: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()

    def is_found_in(self, faults: Sequence[Fault]) -> bool:
        """Whether a fault of the right kind names all columns, and most of the lines and few others."""
        return any(one.kind in self.kinds and self._columns_of(one) and self._lines_of(one) for one in faults)

    def _columns_of(self, fault: Fault) -> bool:
        return set(self.columns) <= set(fault.columns)

    def _lines_of(self, fault: Fault) -> bool:
        if not self.lines:
            return True
        named = {int(row.removeprefix("line ")) for row in fault.rows}
        return len(named & set(self.lines)) > 0.5 * len(named | set(self.lines))


@dataclass(frozen=True, eq=False)
class Clean:
    """A source as it was published: its cells as text, and what is known of its columns.

    Attributes:
        pair: The pair that it is the source of.
        cells: The table, as text.
    """

    pair: Pair
    cells: pd.DataFrame

    @property
    def numbers(self) -> list[str]:
        """Inputs that are numbers."""
        return [name for name, one in self.pair.space.items() if not isinstance(one, CategoricalDistribution)]

    @property
    def numeric(self) -> list[str]:
        """Inputs that are numbers on a plain scale, with a sign that never changes, and more than two values."""
        return [
            name
            for name in self.numbers
            if name not in LOG_INPUTS and not name.startswith("log10_") and self.pair.old[name].nunique() > 2
        ]

    @property
    def categorical(self) -> list[str]:
        """Inputs that are text."""
        return [
            name
            for name, one in self.pair.space.items()
            if isinstance(one, CategoricalDistribution) and all(isinstance(choice, str) for choice in one.choices)
        ]

    def values(self, name: str) -> np.ndarray:
        """A column as numbers."""
        return self.cells[name].astype(float).to_numpy()

    def differ(self, one: str, other: str) -> bool:
        """Whether two inputs are so different that a swap shows: categories, or ranges that have little in common."""
        first, second = self.pair.space[one], self.pair.space[other]
        kinds = [isinstance(each, CategoricalDistribution) for each in (first, second)]
        if any(kinds):
            return all(kinds) and not set(first.choices) & set(second.choices)
        wide = max(first.high - first.low, second.high - second.low)
        return abs(first.low - second.low) + abs(first.high - second.high) > wide


#: From a clean table and a generator to a spoiled copy.
Spoiler = Callable[[Clean, np.random.Generator], Copy]


def as_text(cells: pd.DataFrame, separator: str = ",", header: bool = True) -> str:
    """The table as a file."""
    return cells.to_csv(index=False, sep=separator, header=header, lineterminator="\n")


def as_bytes(cells: pd.DataFrame, separator: str = ",") -> bytes:
    """The same in UTF-8."""
    return as_text(cells, separator).encode()


def with_values(cells: pd.DataFrame, name: str, values: np.ndarray) -> pd.DataFrame:
    """The table with other numbers in a column, in twelve digits at most."""
    return cells.assign(**{name: [f"{value:.12g}" for value in values]})


def lines_of(rows: Sequence[int]) -> tuple[int, ...]:
    """The lines on which rows (from 0) stand, below a header."""
    return tuple(sorted(int(row) + 2 for row in rows))


def some_rows(rng: np.random.Generator, count: int, part: float, least: int = 3) -> np.ndarray:
    """About this part of the rows."""
    return np.sort(rng.choice(count, size=min(count, max(least, round(part * count))), replace=False))
