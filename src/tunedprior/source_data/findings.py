"""The value `Fault` (a problem in old data, its place, and what to do), and the table that is searched for problems."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int64
from numpy import ndarray

from tunedprior.errors import InputError
from tunedprior.goals.goal import MAXIMIZE, Goal
from tunedprior.history.cells import NOT_PASSED, PASSED
from tunedprior.source_data.number_checks import find_sentinels
from tunedprior.space.parameters import Categorical, Numeric, Parameter, find_choice_index
from tunedprior.space.search_space import Space
from tunedprior.tables import ReadTable, is_unmeasured, parse_numbers

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
        kind: One of `KINDS`, or another one of a check that was registered.
        columns: The columns it is in; none if it is about whole lines.
        rows: The places of the rows, such as "line 7"; none if it is about whole columns.
        text: A sentence.
        remedy: What to do about it, as a sentence.
    """

    kind: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    text: str
    remedy: str

    def to_dict(self) -> dict[str, object]:
        """Return the fault as a dict for JSON."""
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "rows": list(self.rows),
            "text": self.text,
            "remedy": self.remedy,
        }


@dataclass(frozen=True)
class RejectedRow:
    """A row that is not learnt from.

    Attributes:
        row: Its place, such as "line 7".
        reason: The reason, in a few words.
    """

    row: str
    reason: str


def sort_faults(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Sort faults into the order in which a person should correct them."""
    return tuple(sorted(faults, key=lambda one: KINDS.index(one.kind) if one.kind in KINDS else len(KINDS)))


def join_places(rows: Sequence[str], most: int = 6) -> str:
    """Join the places of rows into a short phrase: "lines 3, 4 and 17", or "line 3 and 12 others".

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


# A column of text whose words are numbers in so many of its cells is a column of numbers.
_MOSTLY = 0.5


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table of old data together with the search space and response that its columns should match.

    Attributes:
        read: The table.
        space: The search space.
        target: The column of the response.
        direction: Which way is better, or a target.
    """

    read: ReadTable
    space: Space
    target: str
    direction: Goal = MAXIMIZE

    def __len__(self) -> int:
        return len(self.read)

    @property
    def table(self) -> pd.DataFrame:
        """The table with its cells as they were read."""
        return self.read.table

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that have a column in the table."""
        return tuple(one for one in self.space.parameters if one.name in self.table.columns)

    @property
    def numeric(self) -> tuple[Numeric, ...]:
        """The numeric parameters that have a column in the table."""
        return tuple(one for one in self.parameters if isinstance(one, Numeric))

    @property
    def categorical(self) -> tuple[Categorical, ...]:
        """The categorical parameters that have a column in the table."""
        return tuple(one for one in self.parameters if isinstance(one, Categorical))

    @cached_property
    def _numbers(self) -> dict[str, tuple[Float64[ndarray, " n"], list[int]]]:
        return {name: parse_numbers(self.table[name]) for name in map(str, self.table.columns)}

    def get_values(self, name: str) -> Float64[ndarray, " n"]:
        """Return a column as numbers, NaN where a cell is blank or no number."""
        return self._numbers[name][0]

    def get_measured_values(self, name: str) -> Float64[ndarray, " n"]:
        """Return a column as numbers, NaN where a cell is blank, no number or a sentinel such as -999."""
        values = self.get_values(name)
        return np.where(find_sentinels(values), np.nan, values)

    def list_unreadable_rows(self, name: str) -> list[int]:
        """List the rows whose cells in this column are neither numbers nor blank."""
        return self._numbers[name][1]

    @cached_property
    def labels(self) -> bool:
        """Whether the response is pass and fail, or two values that mean these."""
        told = ~self.table[self.target].map(is_unmeasured).to_numpy(dtype=bool)
        values = self.get_measured_values(self.target)
        distinct = set(values[np.isfinite(values)])
        return bool(self.verdict_rows[told].all()) or distinct in ({0.0, 1.0}, {-1.0, 1.0})

    @cached_property
    def verdict_rows(self) -> Bool[ndarray, " n"]:
        """The rows whose response is a word for pass or fail."""
        words = self.table[self.target].map(lambda cell: str(cell).strip().lower())
        found: Bool[ndarray, " n"] = words.isin(PASSED | NOT_PASSED).to_numpy()
        return found

    @cached_property
    def setting_numbers(self) -> Int64[ndarray, " n"]:
        """For each row a number that is equal for rows with equal settings."""
        names = [one.name for one in self.parameters]
        cells = pd.DataFrame(
            {name: self.get_values(name) if self.is_numeric(name) else self.table[name].map(str) for name in names}
        )
        found: Int64[ndarray, " n"] = cells.groupby(names, sort=False, dropna=False).ngroup().to_numpy(dtype=np.int64)
        return found

    def is_numeric(self, name: str) -> bool:
        """Return whether most cells of a column that are not blank are numbers."""
        values, wrong = self._numbers[name]
        count = int(np.isfinite(values).sum())
        return count > _MOSTLY * (count + len(wrong))

    def format_places(self, rows: Sequence[int] | Int64[ndarray, " k"] | Bool[ndarray, " n"]) -> tuple[str, ...]:
        """Return the places of rows in the file or table, such as "line 7"."""
        chosen = np.flatnonzero(rows) if isinstance(rows, np.ndarray) and rows.dtype == bool else rows
        return tuple(self.read.format_place(int(row)) for row in chosen)

    def drop_rows(self, rows: Sequence[int] | Int64[ndarray, " k"]) -> "Sheet":
        """Return the sheet without some of its rows."""
        if not len(rows):
            return self
        left = np.setdiff1d(np.arange(len(self)), rows)
        read = self.read
        labels: Any = [read.labels[int(row)] for row in left]
        table = read.table.iloc[left].reset_index(drop=True)
        return replace(self, read=replace(read, table=table, labels=labels))


#: Looks for faults in a table.
Check = Callable[[Sheet], Iterable[Fault]]
_CHECKS: dict[str, Check] = {}


def register_check(check: Check) -> Check:
    """Let every audit run this check, under the name of the function; a decorator.

    Args:
        check: Returns the faults that it finds in a table, whose cells are in the right columns by then.
    """
    name = check.__name__
    if name in _CHECKS and _CHECKS[name].__module__ != check.__module__:
        raise InputError(f"There is a check {name!r} already. Choose another name.")
    _CHECKS[name] = check
    return check


def forget_check(name: str) -> None:
    """Remove a check from the registry."""
    _CHECKS.pop(name, None)


def run_checks(sheet: Sheet) -> list[Fault]:
    """The faults that all registered checks find."""
    return [fault for check in _CHECKS.values() for fault in check(sheet)]


def is_choice(cell: Any, parameter: Categorical) -> bool:
    """Return whether a cell is one of a category's choices, or ambiguous among several of them."""
    try:
        return find_choice_index(cell, parameter.choices) is not None
    except InputError:
        return True
