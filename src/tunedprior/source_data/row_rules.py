"""Decide for each row of old data by itself whether a model can learn from it.

The decision depends on no other row, so it is the same for every part of a table that is read in pieces.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.source_data.number_checks import AcceptedRange, compute_accepted_range, find_mixed_units, find_sentinels
from tunedprior.source_data.rows import OldRows
from tunedprior.space.parameters import Categorical, Numeric, find_choice_index
from tunedprior.space.search_space import Space
from tunedprior.tables.cells import is_unmeasured
from tunedprior.tables.content import ReadTable

#: How many rows were left out, by column and reason.
LeftOut = Counter[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class UsableRows:
    """The rows of a table that can be learnt from.

    Attributes:
        settings: One column for each parameter.
        response: A number for each row, or ±1.
        kept: Which rows of the table these are.
        left_out: What became of the others.
    """

    settings: pd.DataFrame
    response: Float64[ndarray, " n"]
    kept: Bool[ndarray, " m"]
    left_out: LeftOut


@dataclass(frozen=True, eq=False)
class RowRules:
    """Rules that decide for each row by itself whether it can be learnt from.

    Attributes:
        space: The search space.
        target: The column of the response.
        marks: Numbers that stand for "not measured", by column.
        accepted_ranges: By parameter, how far from the search space its values may lie; any distance, when left out.
        labels: Whether responses are pass and fail.
    """

    space: Space
    target: str
    marks: Mapping[str, Sequence[float]] = field(default_factory=dict)
    accepted_ranges: Mapping[str, AcceptedRange] = field(default_factory=dict)
    labels: bool = False

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return [*self.space.names, self.target]

    @classmethod
    def infer_rules(cls, space: Space, target: str, sample: pd.DataFrame) -> "RowRules":
        """Infer the rules from a sample of rows: numbers that mark missing values, and accepted ranges."""
        numeric = [parameter for parameter in space.parameters if isinstance(parameter, Numeric)]
        marks, reach = {}, {}
        for name in [*(parameter.name for parameter in numeric), target]:
            values = sample[name].to_numpy(dtype=np.float64)
            marks[name] = tuple(np.unique(values[find_sentinels(values)]).tolist())
        for parameter in numeric:
            values = sample[parameter.name].to_numpy(dtype=np.float64)
            values = values[~np.isin(values, marks[parameter.name])]
            if len(values):
                reach[parameter.name] = _infer_accepted_range(values, parameter)
        return cls(space, target, marks, reach)

    def select_usable_rows(self, table: pd.DataFrame, origin: str, first: int = 0) -> UsableRows:
        """Return the usable rows; an `InputError` names the file and row of text among numbers.

        Args:
            table: Some rows, with a column for each parameter and the response.
            origin: The name of their file.
            first: The number of the first of them in it.
        """
        labels = range(first, first + len(table))
        judged = _RowFilter(OldRows(ReadTable(table, origin, (), labels), f"Old data in {origin!r}"))
        settings = {}
        for parameter in self.space.parameters:
            column = table[parameter.name]
            if isinstance(parameter, Categorical):
                settings[parameter.name] = column
                judged.leave_out(parameter.name, "blank", _find_blank(column, parameter))
            else:
                values = judged.parse_numbers(column, self.marks)
                self._leave_out_useless(judged, values, parameter)
                settings[parameter.name] = pd.Series(values, index=table.index)
        response = judged.parse_numbers(table[self.target], self.marks)
        if self.labels:
            judged.leave_out(self.target, "neither pass nor fail", ~np.isin(response, (-1.0, 0.0, 1.0)))
            response = np.where(response > 0, 1.0, -1.0)
        kept = judged.rows.kept
        good = pd.DataFrame(settings)[kept].reset_index(drop=True)
        return UsableRows(good, response[kept], kept, judged.left_out)

    def _leave_out_useless(self, judged: "_RowFilter", values: Float64[ndarray, " n"], parameter: Numeric) -> None:
        if parameter.log:
            judged.leave_out(parameter.name, "not above 0", values <= 0)
        if parameter.name in self.accepted_ranges:
            with np.errstate(invalid="ignore", divide="ignore"):
                inside = self.accepted_ranges[parameter.name].contains(np.log(values) if parameter.log else values)
            judged.leave_out(parameter.name, "far outside the search space", ~inside)


class _RowFilter:
    """Rows while they are judged: a row is left out for the first reason there is."""

    def __init__(self, rows: OldRows) -> None:
        self.rows, self.left_out = rows, LeftOut()

    def leave_out(self, column: str, reason: str, rows: Bool[ndarray, " n"]) -> None:
        """These rows are kept no longer."""
        new = int((rows & self.rows.kept).sum())
        if new:
            self.left_out[column, reason] += new
            self.rows.kept &= ~rows

    def parse_numbers(self, column: "pd.Series[Any]", marks: Mapping[str, Sequence[float]]) -> Float64[ndarray, " n"]:
        """The column as numbers, without rows where it is blank or not measured."""
        values, name = self.rows.parse_numbers(column), str(column.name)
        self.leave_out(name, "blank", np.isnan(values))
        if marks.get(name):
            self.leave_out(
                name,
                f"'not measured' ({format_list(f'{mark:g}' for mark in marks[name])})",
                np.isin(values, marks[name]),
            )
        return values


def _infer_accepted_range(values: Float64[ndarray, " n"], parameter: Numeric) -> AcceptedRange:
    """Infer the accepted range from the values in the most frequent units."""
    scaled, mixed = np.log(values) if parameter.log else values, find_mixed_units(values, parameter)
    if mixed is None:
        return compute_accepted_range(scaled, parameter)
    reach = compute_accepted_range(scaled[~mixed.rows], parameter)
    if reach.contains(scaled[mixed.rows]).any():
        raise InputError(
            f"All rows of {parameter.name!r} must be in the same units; of {len(values):,} that were looked at, "
            f"{int(mixed.rows.sum()):,} are {mixed.words}. Convert them: rows of many files are judged one by one, "
            "and some of these could be right."
        )
    return reach


def _find_blank(column: "pd.Series[Any]", parameter: Categorical) -> Bool[ndarray, " n"]:
    """Return which cells of a category are missing and are none of its choices."""
    number, distinct = pd.factorize(column, use_na_sentinel=False)
    blank = [is_unmeasured(value) and find_choice_index(value, parameter.choices) is None for value in distinct]
    return np.array(blank, dtype=bool)[number]
