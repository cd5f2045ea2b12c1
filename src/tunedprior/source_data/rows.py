"""Record which rows of old data are kept and why others are left out, and report it in words and as a table.

Where a table is read in pieces, `RowRules` decide for each row by itself, so that it is the same for every piece.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.checks import format_list, format_value, warn
from tunedprior.errors import InputError, OldDataWarning
from tunedprior.source_data.number_checks import AcceptedRange, compute_accepted_range, find_mixed_units, find_sentinels
from tunedprior.space.parameters import Categorical, Numeric, find_choice_index
from tunedprior.space.search_space import Space
from tunedprior.tables import ReadTable, describe_non_number, is_spreadsheet_error, is_unmeasured, parse_numbers


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
