"""Cells of old settings that say nothing: filled in where that can be done, with words for what was done."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.checks import format_list
from tunedprior.problem.imputation import count_needed_values, impute_cells
from tunedprior.problem.old_rows import OldRows
from tunedprior.problem.parameters import Parameter


class OldGaps:
    """Which cells of which columns are blank, or hold a number that stands for "not measured"."""

    def __init__(self, rows: OldRows) -> None:
        self._rows = rows
        self._parameters: dict[str, Parameter] = {}
        self._unknown: dict[str, Bool[ndarray, " n"]] = {}
        self._marks: dict[str, Float64[ndarray, " n"]] = {}

    def add(
        self, parameter: Parameter, unknown: Bool[ndarray, " n"], marks: Float64[ndarray, " n"] | None = None
    ) -> None:
        """The cells of one more column that say nothing, and which number says so in each (NaN: it is blank)."""
        self._parameters[parameter.name], self._unknown[parameter.name] = parameter, unknown
        self._marks[parameter.name] = np.full(len(unknown), np.nan) if marks is None else marks

    def get_gaps(self, name: str) -> Bool[ndarray, " n"]:
        """The cells of that column that say nothing."""
        return self._unknown[name]

    def leave_out_blank_rows(self) -> None:
        """Rows in which not a single setting is known say nothing."""
        rows, unknown = self._rows, list(self._unknown.values())
        blank = np.all(unknown, axis=0) & rows.kept if unknown else np.zeros(len(rows.kept), dtype=bool)
        if len(unknown) == 1:
            self._leave_out(next(iter(self._unknown)))
        elif blank.any():
            places = rows.list_places(blank)
            said = f"Every setting is blank in {int(blank.sum())} of {len(blank)} rows, which are left out: "
            rows.note("blank", "", said + f"{format_list(places)}.", places)
            rows.kept &= ~blank

    def set_aside_columns(self, told: Bool[ndarray, " n"]) -> tuple[str, ...]:
        """The columns that say nothing in more than half of the rows with a response; they are taken for absent."""
        rows = self._rows.kept & told
        mostly = [name for name, unknown in self._unknown.items() if 2 * (unknown & rows).sum() > rows.sum()]
        for name in mostly:
            blank = self._unknown.pop(name) & rows
            said = (
                f"{name!r} is {self._describe_gaps(name, blank)} in {int(blank.sum())} of {int(rows.sum())} "
                "rows, too many "
                f"to fill in: what old data says is taken to hold for every {name!r}."
            )
            self._rows.note("absent", name, said)
        return tuple(mostly)

    def leave_out_unfillable(self) -> None:
        """Rows with a gap in a column of which too little is known to fill it in."""
        left = list(self._unknown)
        while left:
            name = left.pop(0)
            gaps, known = self._unknown[name] & self._rows.kept, ~self._unknown[name] & self._rows.kept
            if gaps.any() and known.sum() < count_needed_values(self._parameters[name]):
                self._leave_out(name)
                left = list(self._unknown)  # once more, as less is known of the other columns now

    def fill_gaps(
        self, settings: pd.DataFrame, response: Float64[ndarray, " n"], typical: Bool[ndarray, " n"]
    ) -> pd.DataFrame:
        """The settings of rows that are kept with their gaps filled in, and a sentence for each column that had some.

        Args:
            settings: All rows; gaps in rows that are not kept remain.
            response: What came of each row.
            typical: The rows whose responses are not doubtful.
        """
        kept = self._rows.kept
        gaps = {name: unknown & kept for name, unknown in self._unknown.items() if (unknown & kept).any()}
        if not gaps:
            return settings
        for name, blank in gaps.items():
            places = self._rows.list_places(blank)
            said = (
                f"{name!r} is {self._describe_gaps(name, blank)} in {int(blank.sum())} of {len(blank)} rows "
                f"({format_list(places)}): filled in from the most similar rows."
            )
            self._rows.note(self._get_finding_kind(name, blank), name, said, places)
        unknown = np.stack([self._unknown[name][kept] for name in self._unknown], axis=1)
        parameters: Sequence[Parameter] = [self._parameters[name] for name in self._unknown]
        found = impute_cells(settings[kept], unknown, parameters, response[kept], typical[kept])
        return found.reindex(settings.index)

    def _leave_out(self, name: str) -> None:
        blank = self._unknown[name] & self._rows.kept
        said = f"{self._describe_gaps(name, blank)} and left out"
        self._rows.leave_out(self._get_finding_kind(name, blank), name, blank, said)

    def _get_finding_kind(self, name: str, rows: Bool[ndarray, " n"]) -> str:
        return "blank" if np.isnan(self._marks[name][rows]).all() else "sentinel"

    def _describe_gaps(self, name: str, rows: Bool[ndarray, " n"]) -> str:
        """What stands in these cells: "blank", or "'not measured' (-9999)"."""
        if self._get_finding_kind(name, rows) == "blank":
            return "blank"
        marks = self._marks[name][rows]
        values = format_list(f"{value:g}" for value in dict.fromkeys(marks[~np.isnan(marks)]))
        return f"{'blank or ' if np.isnan(marks).any() else ''}'not measured' ({values})"
