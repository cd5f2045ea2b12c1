"""Record which rows of old data are kept and why others are left out, and report it in words and as a table."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.checks import format_list, format_value, warn
from tunedprior.errors import InputError, OldDataWarning
from tunedprior.tables.cells import describe_non_number, is_spreadsheet_error, is_unmeasured, parse_numbers
from tunedprior.tables.content import ReadTable


@dataclass(frozen=True)
class Finding:
    """One remark about old data.

    Attributes:
        kind: What kind of thing: `"read"`, `"absent"`, `"extra columns"`, `"unknown category"`, `"constant"`,
            `"blank"`, `"sentinel"`, `"far outside"`, `"no overlap"`, `"other units"`,
            `"part in other units"`, `"not above 0"` or `"isolated response"`.
        column: The column it is about; "" if about none in particular.
        rows: The places of the rows, such as "line 7".
        text: A sentence.
    """

    kind: str
    column: str
    rows: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class SourceReport:
    """The report of reading one old data set.

    Attributes:
        name: What the user calls it.
        origin: The name of its file, or "the table" and the like.
        rows: How many rows it has.
        used: How many of them are learnt from.
        response: `"numbers"` or `"pass and fail"`.
        findings: What was noticed, in the order of the reading.
    """

    name: str
    origin: str
    rows: int
    used: int
    response: str
    findings: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        used = {self.rows: "all are used", 0: "none is used"}.get(self.used, f"{self.used:,} are used")
        count = f"{self.rows:,} row{'s' if self.rows != 1 else ''}"
        response = f"; the response is {self.response}" if self.rows else ""
        head = f"{self.name} ({self.origin}): {count}, {used}{response}."
        return "\n".join([head, *(f"- {finding.text}" for finding in self.findings)])

    def warn(self) -> None:
        """Warn once of all findings, if there are any."""
        if self.findings:
            text = " ".join(finding.text for finding in self.findings)
            warn(f"{self.name} ({self.origin}, {self.used:,} of {self.rows:,} rows used): {text}", OldDataWarning)


@dataclass(frozen=True)
class OldDataReport:
    """The report of reading all old data sets.

    Attributes:
        sets: One report for each.
    """

    sets: tuple[SourceReport, ...] = ()

    def mark_unused(self, names: Collection[str]) -> "OldDataReport":
        """Return the report with the named sets marked as not learnt from."""
        return OldDataReport(tuple(replace(one, used=0) if one.name in names else one for one in self.sets))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all sets."""
        return tuple(finding for one in self.sets for finding in one.findings)

    @property
    def table(self) -> pd.DataFrame:
        """The findings as a table, one row for each."""
        rows = [
            (one.name, finding.kind, finding.column, format_list(finding.rows), finding.text)
            for one in self.sets
            for finding in one.findings
        ]
        return pd.DataFrame(rows, columns=["old data", "kind", "column", "rows", "finding"])

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.sets)) if self.sets else "There is no old data."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


class OldRows:
    """A table of old data while it is read: the rows kept so far, and the findings.

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

    def note(self, kind: str, column: str, text: str, rows: tuple[str, ...] = ()) -> None:
        """Add a finding."""
        self.findings.append(Finding(kind, column, rows, text))

    def parse_numbers(self, column: "pd.Series[Any]", advice: str = "") -> Float64[ndarray, " n"]:
        """Return the column as numbers, NaN for blank cells; an `InputError` names rows with anything else."""
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
        """Add findings for failed look-ups of spreadsheets (#N/A), which count as blank."""
        for name in names:
            column = self.table[name] if name in self.table else pd.Series(dtype=object)
            lost = column.map(lambda cell: is_spreadsheet_error(cell) and is_unmeasured(cell)).to_numpy(dtype=bool)
            if lost.any():
                places = format_list(self.list_places(lost))
                text = f"{name!r} is '#N/A', an error of the spreadsheet, in {places}: taken as blank."
                self.note("spreadsheet error", name, text, self.list_places(lost))

    def leave_out(
        self,
        kind: str,
        column: str,
        rows: Bool[ndarray, " n"],
        reason: str,
        values: Float64[ndarray, " n"] | None = None,
    ) -> None:
        """Drop rows, and add a finding with the reason."""
        rows = rows & self.kept
        if not rows.any():
            return
        places = self.list_places(rows)
        of = "" if values is None else f" ({format_list(f'{value:g}' for value in dict.fromkeys(values[rows]))})"
        text = f"{column!r} is {reason} in {int(rows.sum())} of {len(rows)} rows{of}: {format_list(places)}."
        self.note(kind, column, text, places)
        self.kept &= ~rows

    def list_places(self, rows: Bool[ndarray, " n"]) -> tuple[str, ...]:
        """Return the places of rows in the file or table."""
        return tuple(self._where(int(row)) for row in np.flatnonzero(rows))

    def format_places(self, rows: Sequence[int]) -> str:
        """Return a phrase with the places of some of these rows (counted from 0)."""
        return format_list(self._where(row) for row in rows)
