"""The rows of old data while they are read: which are kept, and what was noticed so far."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.checks import format_list, format_value
from tunedprior.errors import InputError
from tunedprior.files.cells import describe_non_number, is_spreadsheet_error, is_unmeasured, parse_numbers
from tunedprior.files.content import ReadTable
from tunedprior.problem.old_data_report import Finding


class OldRows:
    """A table as it is read.

    Attributes:
        table: The table.
        origin: The name of its file, or "the table" and the like.
        what: What the user calls it, for messages.
        kept: Which rows can be used.
        findings: What was noticed.
    """

    def __init__(self, read: ReadTable, what: str) -> None:
        self.table, self.origin, self.what = read.table, read.origin, what
        self._where: Callable[[int], str] = read.format_place
        self.kept = np.ones(len(read.table), dtype=bool)
        self.findings = [Finding("read", "", (), sentence) for sentence in read.remarks]

    def note(self, kind: str, column: str, said: str, rows: tuple[str, ...] = ()) -> None:
        """One more finding."""
        self.findings.append(Finding(kind, column, rows, said))

    def parse_numbers(self, column: "pd.Series[Any]", advice: str = "") -> Float64[ndarray, " n"]:
        """The column as numbers, NaN where it is blank; anything else is an `InputError` that names the rows."""
        values, wrong = parse_numbers(column)
        if wrong:
            cells = format_list(format_value(column.iloc[row]) for row in wrong)
            dates = pd.api.types.is_datetime64_any_dtype(column)
            reasons = dict.fromkeys(describe_non_number(column.iloc[row]) for row in wrong)
            why = next((f" One is {reason}." for reason in reasons if reason), "")
            raise InputError(
                f"{self.what}'s {column.name!r} must be numbers; {len(wrong)} of {len(column)} are "
                f"{'dates' if dates else 'not'} ({self.format_places(wrong)}: {cells}). Correct them, or leave "
                "them blank." + why + advice
            )
        return values

    def note_errors(self, names: Sequence[str]) -> None:
        """Say where a spreadsheet could not look something up, which counts as blank: #N/A."""
        for name in names:
            column = self.table[name] if name in self.table else pd.Series(dtype=object)
            lost = column.map(lambda cell: is_spreadsheet_error(cell) and is_unmeasured(cell)).to_numpy(dtype=bool)
            if lost.any():
                places = format_list(self.list_places(lost))
                said = f"{name!r} is '#N/A', an error of the spreadsheet, in {places}: taken as blank."
                self.note("spreadsheet error", name, said, self.list_places(lost))

    def leave_out(
        self,
        kind: str,
        column: str,
        rows: Bool[ndarray, " n"],
        said: str,
        values: Float64[ndarray, " n"] | None = None,
    ) -> None:
        """Rows that are kept no longer, with the reason."""
        rows = rows & self.kept
        if not rows.any():
            return
        places = self.list_places(rows)
        of = "" if values is None else f" ({format_list(f'{value:g}' for value in dict.fromkeys(values[rows]))})"
        text = f"{column!r} is {said} in {int(rows.sum())} of {len(rows)} rows{of}: {format_list(places)}."
        self.note(kind, column, text, places)
        self.kept &= ~rows

    def list_places(self, rows: Bool[ndarray, " n"]) -> tuple[str, ...]:
        """Where these rows stand, as the file or table has it."""
        return tuple(self._where(int(row)) for row in np.flatnonzero(rows))

    def format_places(self, rows: Sequence[int]) -> str:
        """Some of these rows (from 0), as the file or table has them."""
        return format_list(self._where(row) for row in rows)
