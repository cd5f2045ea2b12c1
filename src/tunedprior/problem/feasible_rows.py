"""Settings as rows of numbers: those that satisfy constraints, listed where there are not too many, or drawn.

A row has a number's value, and a category's position among its choices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float64
from numpy import ndarray

from tunedprior.numerics.polytope import Polytope
from tunedprior.problem.constraints import LinearConstraint, OnlyWhen, compute_slack
from tunedprior.problem.parameters import Categorical, Parameter, find_choice_index

_MOST_ROWS = 400_000  # at any time while listing
#: Settings of a finite space are listed up to so many.
MOST_LISTED = 100_000
_MOST_VALUES = 10_000  # of a parameter; a finer grid has no list, and what was drawn is rounded to it


@dataclass(frozen=True, eq=False)
class FeasibleRows:
    """The rows that satisfy linear constraints and conditions.

    Attributes:
        parameters: What may be set.
        linear: The linear constraints.
        conditions: What may differ from a value only when others have theirs.
    """

    parameters: tuple[Parameter, ...]
    linear: tuple[LinearConstraint, ...]
    conditions: tuple[OnlyWhen, ...]

    # -- what is known of the columns ------------------------------------------------------------------

    @cached_property
    def names(self) -> list[str]:
        """The columns."""
        return [parameter.name for parameter in self.parameters]

    @cached_property
    def matrix(self) -> Float64[ndarray, "j k"]:
        """The coefficients of the linear constraints."""
        rows = [[one.coefficients.get(name, 0.0) for name in self.names] for one in self.linear]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(self.names))

    @cached_property
    def edges(self) -> Float64[ndarray, "2 j"]:
        """The least and most of each sum."""
        return np.array([[one.low for one in self.linear], [one.high for one in self.linear]], dtype=np.float64)

    @cached_property
    def slacks(self) -> Float64[ndarray, " j"]:
        """By how much each sum may miss them."""
        return np.array([one.slack for one in self.linear], dtype=np.float64)

    @cached_property
    def tolerances(self) -> list[float]:
        """By how much numbers of each column may differ that are the same."""
        return [compute_slack(parameter) for parameter in self.parameters]

    @cached_property
    def bounds(self) -> Float64[ndarray, "2 k"]:
        """The ends of each column."""
        ends = [(0, p.count - 1) if isinstance(p, Categorical) else (p.low, p.high) for p in self.parameters]
        return np.array(ends, dtype=np.float64).T

    @cached_property
    def values(self) -> list[Float64[ndarray, " v"] | None]:
        """The values of each column that has a list of them."""
        return [
            np.arange(p.count, dtype=np.float64)
            if isinstance(p, Categorical)
            else None
            if p.count is None or p.count > _MOST_VALUES
            else np.array(p.list_values(), dtype=np.float64)
            for p in self.parameters
        ]

    @cached_property
    def continuous(self) -> list[int]:
        """The columns that are continuous and take part in a linear constraint."""
        return [k for k, p in enumerate(self.parameters) if p.count is None and (self.matrix[:, k] != 0).any()]

    @cached_property
    def pins(self) -> list[tuple[int, float, list[tuple[int, Float64[ndarray, " v"]]]]]:
        """For each condition: the column, the number it has otherwise, and the columns and numbers it depends on."""
        return [
            (
                self._get_column(one.parameter),
                self._encode_value(one.parameter, one.otherwise),
                [(self._get_column(n), np.array([self._encode_value(n, v) for v in vs])) for n, vs in one.when.items()],
            )
            for one in self.conditions
        ]

    def _get_column(self, name: str) -> int:
        return self.names.index(name)

    def _encode_value(self, name: str, value: Any) -> float:
        parameter = self.parameters[self._get_column(name)]
        if isinstance(parameter, Categorical):
            return float(find_choice_index(value, parameter.choices) or 0)
        return float(value)

    @cached_property
    def middle_cache(self) -> dict[bytes, Float64[ndarray, " k"] | None]:
        """What was found in the middle of what some rows leave to their continuous columns, to be looked up again."""
        return {}

    # -- settings and rows -----------------------------------------------------------------------------

    def encode_setting(self, setting: dict[str, Any]) -> Float64[ndarray, " k"]:
        """A setting's numbers."""
        return np.array([self._encode_value(name, setting[name]) for name in self.names], dtype=np.float64)

    def decode_row(self, row: Float[ndarray, " k"]) -> dict[str, Any]:
        """The setting that a row stands for, each number as the parameter has it."""
        return {
            p.name: p.choices[round(number)] if isinstance(p, Categorical) else p.find_nearest_value(number)
            for p, number in zip(self.parameters, row.tolist(), strict=True)
        }

    def are_feasible(self, rows: Float64[ndarray, "n k"]) -> Bool[ndarray, " n"]:
        """Which rows, of values that the parameters have, satisfy everything."""
        sums = rows @ self.matrix.T
        low, high = self.edges
        good = ((sums >= low - self.slacks) & (sums <= high + self.slacks)).all(1)
        for column, otherwise, _ in self.pins:
            good &= (np.abs(rows[:, column] - otherwise) <= self.tolerances[column]) | ~self.are_pinned(rows, column)
        result: Bool[ndarray, " n"] = good
        return result

    def are_pinned(self, rows: Float64[ndarray, "n k"], column: int) -> Bool[ndarray, " n"]:
        """In which rows a column must have the value it has otherwise."""
        unmet = np.zeros(len(rows), dtype=bool)
        for target, _, needed in self.pins:
            if target == column:
                for other, numbers in needed:
                    unmet |= (np.abs(rows[:, other, None] - numbers) > self.tolerances[other]).all(1)
        return unmet

    # -- all of them -----------------------------------------------------------------------------------

    def list_rows(self) -> Float64[ndarray, "n k"] | None:
        """All rows of a finite space, in order; None if there is a continuum, or too many."""
        if any(values is None for values in self.values):
            return None
        rows = np.zeros((1, 0))
        for column, values in enumerate(self.values):
            assert values is not None
            if len(rows) * len(values) > 10 * _MOST_ROWS:
                return None
            rows = np.hstack([np.repeat(rows, len(values), axis=0), np.tile(values, len(rows))[:, None]])
            rows = rows[self._can_be_completed(rows, column)]
            if len(rows) > _MOST_ROWS:
                return None
        return rows if len(rows) <= MOST_LISTED else None

    def _can_be_completed(self, rows: Float64[ndarray, "n c"], column: int) -> Bool[ndarray, " n"]:
        """Which rows up to this column no constraint rules out yet, whatever the other columns will be."""
        least, most = self.compute_sum_range(np.arange(len(self.names)) > column)
        sums = rows @ self.matrix[:, : column + 1].T
        low, high = self.edges
        good = ((sums + most >= low - self.slacks) & (sums + least <= high + self.slacks)).all(1)
        for target, otherwise, needed in self.pins:
            if max(target, *(other for other, _ in needed)) == column:
                at_otherwise = np.abs(rows[:, target] - otherwise) <= self.tolerances[target]
                good &= at_otherwise | ~self.are_pinned(rows, target)
        result: Bool[ndarray, " n"] = good
        return result

    def compute_sum_range(self, columns: Bool[ndarray, " k"]) -> tuple[Float64[ndarray, " j"], Float64[ndarray, " j"]]:
        """The least and the most that these columns may add to each sum."""
        ends = self.matrix[:, columns, None] * self.bounds[:, columns].T
        return ends.min(2, initial=np.inf).sum(1), ends.max(2, initial=-np.inf).sum(1)

    def are_free(self, rows: Float64[ndarray, "n k"]) -> Bool[ndarray, "n k"]:
        """In which rows which continuous columns are free to move."""
        free = np.zeros(rows.shape, dtype=bool)
        for column in self.continuous:
            free[:, column] = ~self.are_pinned(rows, column)
        return free

    def make_polytope(
        self, rows: Float64[ndarray, "n k"], columns: Sequence[int]
    ) -> tuple[Polytope, Float64[ndarray, "n p"], Float64[ndarray, "n m"]]:
        """What the columns must satisfy, each from 0 to 1, with the right sides that belong to the other columns."""
        low, high = self.bounds[:, columns]
        others = np.setdiff1d(np.arange(len(self.names)), columns)
        sums = rows[:, others] @ self.matrix[:, others].T + self.matrix[:, columns] @ low
        matrix = self.matrix[:, columns] * (high - low)
        touched = (matrix != 0).any(1)
        size = np.linalg.norm(matrix, axis=1)
        size[~touched] = 1.0
        matrix, left = matrix / size[:, None], (self.edges[:, None] - sums) / size
        equal = touched & (self.edges[0] == self.edges[1])
        up, down = (touched & ~equal & np.isfinite(edge) for edge in self.edges[::-1])
        unit = np.eye(len(columns))
        polytope = Polytope(matrix[equal], np.concatenate([matrix[up], -matrix[down], unit, -unit]))
        ones = np.ones((len(rows), len(columns)))
        return polytope, left[0][:, equal], np.hstack([left[1][:, up], -left[0][:, down], ones, 0 * ones])

    # -- next to a given one ---------------------------------------------------------------------------

    def repair_row(self, row: Float64[ndarray, " k"]) -> Float64[ndarray, " k"] | None:
        """The row, rounded to values that the parameters have, its continuous columns moved until everything holds."""
        row = row.clip(*self.bounds)
        row = self.encode_setting(self.decode_row(row))
        for target, otherwise, _ in self.pins:
            if self.are_pinned(row[None], target)[0]:
                row[target] = otherwise
        if not self.are_feasible(row[None])[0]:
            columns = np.flatnonzero(self.are_free(row[None])[0]).tolist()
            if not columns:
                return None
            polytope, equal, below = self.make_polytope(row[None], columns)
            low, high = self.bounds[:, columns]
            exact = polytope.find_nearby_point((row[columns] - low) / (high - low), equal[0], below[0])
            if exact is None:
                return None
            row[columns] = (low + (high - low) * exact).clip(low, high)
        return row if self.are_feasible(row[None])[0] else None
