"""Old data beside the search space: its cells as numbers and categories, whatever is wrong with some of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int64
from numpy import ndarray

from tunedprior.errors import InputError
from tunedprior.files.cells import is_unmeasured, parse_numbers
from tunedprior.files.content import ReadTable
from tunedprior.problem.cells import NOT_PASSED, PASSED
from tunedprior.problem.parameters import Categorical, Numeric, Parameter, find_choice_index
from tunedprior.problem.space import Space
from tunedprior.problem.suspicions import find_sentinels

# A column of text whose words are numbers in so many of its cells is a column of numbers.
_MOSTLY = 0.5


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table that was read, and what its columns ought to be.

    Attributes:
        read: The table.
        space: The search space.
        target: The column of the response.
    """

    read: ReadTable
    space: Space
    target: str

    def __len__(self) -> int:
        return len(self.read)

    @property
    def table(self) -> pd.DataFrame:
        """The cells as they were read."""
        return self.read.table

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those that the table has a column for."""
        return tuple(one for one in self.space.parameters if one.name in self.table.columns)

    @property
    def numeric(self) -> tuple[Numeric, ...]:
        """Those of them that are numbers."""
        return tuple(one for one in self.parameters if isinstance(one, Numeric))

    @property
    def categorical(self) -> tuple[Categorical, ...]:
        """Those of them that are categories."""
        return tuple(one for one in self.parameters if isinstance(one, Categorical))

    @cached_property
    def _numbers(self) -> dict[str, tuple[Float64[ndarray, " n"], list[int]]]:
        return {name: parse_numbers(self.table[name]) for name in map(str, self.table.columns)}

    def get_values(self, name: str) -> Float64[ndarray, " n"]:
        """A column as numbers, NaN where there is none."""
        return self._numbers[name][0]

    def get_measured_values(self, name: str) -> Float64[ndarray, " n"]:
        """The same, with NaN too where a number stands for "not measured"."""
        values = self.get_values(name)
        return np.where(find_sentinels(values), np.nan, values)

    def list_unreadable_rows(self, name: str) -> list[int]:
        """The rows whose cells are neither numbers nor blank."""
        return self._numbers[name][1]

    @cached_property
    def labels(self) -> bool:
        """Whether the response says pass or fail (or takes two values that do)."""
        words = self.table[self.target].map(lambda cell: str(cell).strip().lower())
        told = ~self.table[self.target].map(is_unmeasured).to_numpy(dtype=bool)
        verdicts = words.isin(PASSED | NOT_PASSED).to_numpy()
        values = self.get_measured_values(self.target)
        distinct = set(values[np.isfinite(values)])
        return bool(verdicts[told].all()) or distinct in ({0.0, 1.0}, {-1.0, 1.0})

    @cached_property
    def verdict_rows(self) -> Bool[ndarray, " n"]:
        """Rows whose response says in words that the run passed or failed."""
        words = self.table[self.target].map(lambda cell: str(cell).strip().lower())
        found: Bool[ndarray, " n"] = words.isin(PASSED | NOT_PASSED).to_numpy()
        return found

    @cached_property
    def setting_numbers(self) -> Int64[ndarray, " n"]:
        """The same number for rows with the same cells in all columns of the space."""
        names = [one.name for one in self.parameters]
        cells = pd.DataFrame(
            {name: self.get_values(name) if self.is_numeric(name) else self.table[name].map(str) for name in names}
        )
        found: Int64[ndarray, " n"] = cells.groupby(names, sort=False, dropna=False).ngroup().to_numpy(dtype=np.int64)
        return found

    def is_numeric(self, name: str) -> bool:
        """Whether most cells of the column that are not blank are numbers."""
        values, wrong = self._numbers[name]
        count = int(np.isfinite(values).sum())
        return count > _MOSTLY * (count + len(wrong))

    def format_places(self, rows: Sequence[int] | Int64[ndarray, " k"] | Bool[ndarray, " n"]) -> tuple[str, ...]:
        """Where these rows stand in the file or table."""
        chosen = np.flatnonzero(rows) if isinstance(rows, np.ndarray) and rows.dtype == bool else rows
        return tuple(self.read.format_place(int(row)) for row in chosen)

    def drop_rows(self, rows: Sequence[int] | Int64[ndarray, " k"]) -> "Sheet":
        """The same without some of the rows."""
        if not len(rows):
            return self
        left = np.setdiff1d(np.arange(len(self)), rows)
        read = self.read
        labels: Any = [read.labels[int(row)] for row in left]
        table = read.table.iloc[left].reset_index(drop=True)
        return Sheet(replace(read, table=table, labels=labels), self.space, self.target)


def is_choice(cell: Any, parameter: Categorical) -> bool:
    """Whether a cell is one of a category's choices; what may be several of them is one."""
    try:
        return find_choice_index(cell, parameter.choices) is not None
    except InputError:
        return True
