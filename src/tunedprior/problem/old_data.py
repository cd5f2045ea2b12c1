"""Old data, matched to the search space by column name, and what was found in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.checks import listed, shown
from tunedprior.errors import InputError
from tunedprior.files.cells import is_blank, numbers
from tunedprior.files.content import ReadTable
from tunedprior.files.tables import read_table
from tunedprior.problem.old_data_report import Finding, OldSetReport
from tunedprior.problem.parameters import Categorical, Numeric, position_among
from tunedprior.problem.space import Space
from tunedprior.problem.suspicions import isolated, other_units, reach_of, sentinels

_PASS = {"pass", "passed", "ok", "good", "yes", "true", "success", "i.o.", "ja", "gut", "oui"}
_FAIL = {"fail", "failed", "nok", "not ok", "bad", "no", "false", "failure", "n.i.o.", "nein", "schlecht", "non"}

#: The name of an old data set that has none of its own.
UNNAMED = "old data"


@dataclass(frozen=True, eq=False)
class OldTable:
    """Old settings and what came of them, ready to learn from.

    Attributes:
        settings: One column per parameter of the space.
        response: A number per row, or a label ±1.
        labels: Whether the response is labels.
        doubtful: Which rows have a response so far from all others that it may be a mistake.
        report: What was found when it was read.
    """

    settings: pd.DataFrame
    response: Float64[ndarray, " n"]
    labels: bool
    doubtful: Bool[ndarray, " n"]
    report: OldSetReport

    def __len__(self) -> int:
        return len(self.settings)

    def without_doubtful(self) -> "OldTable":
        """The rows whose response is not doubtful."""
        kept = ~self.doubtful
        settings = self.settings[kept].reset_index(drop=True)
        return replace(self, settings=settings, response=self.response[kept], doubtful=self.doubtful[kept])

    @property
    def fingerprint(self) -> str:
        """A digest of the settings and responses that are learnt from."""
        numeric = self.settings.select_dtypes("number").columns
        categories = {name: str for name in self.settings if name not in numeric}
        content = pd.util.hash_pandas_object(self.settings.astype(categories), index=False).to_numpy()
        return sha256(content.tobytes() + self.response.tobytes()).hexdigest()


def read_old_data(
    data: Any, space: Space, target: str = "y", direction: str = "maximize", name: str = UNNAMED
) -> OldTable:
    """Match old data to the space by name; what cannot be used is an error or is left out, with a warning that says so.

    Args:
        data: Whatever `files.read_table` reads.
        space: The search space, which sets the scale: rows far outside of it are left out.
        target: The column of the response. A response that is blank was not measured, and its row is left out; one that
            says "failed" counts as the worst there was. Responses that take only the values pass/fail, true/false, 0/1
            or -1/+1 are labels.
        direction: Which way is better.
        name: What the user calls it, for messages.
    """
    if isinstance(data, OldTable):
        return data
    if not isinstance(target, str):
        raise InputError(f"target must be the name of the response, as text; got {shown(target)}.")
    if direction not in ("maximize", "minimize"):
        raise InputError(f"direction must be 'maximize' or 'minimize'; got {shown(direction)}.")
    if target in space.names:
        raise InputError(
            f"{target!r} is a parameter, so it cannot be the response too. Name the response with target=."
        )
    what = "Old data" if name == UNNAMED else f"Old data {name!r}"
    reading = _Reading(read_table(data, [*space.names, target], what), what)
    reading.match(space, target)
    settings = pd.DataFrame({parameter.name: reading.inputs(parameter) for parameter in space.parameters})
    response, labels, words = reading.response(target, direction)
    kept = reading.kept
    doubtful = np.zeros(len(kept), dtype=bool)
    if not labels and kept.any():
        doubtful[kept] = isolated(response[kept])
        reading.note_doubtful(doubtful, response, target)
    reading.note_constant(settings[kept])
    report = OldSetReport(name, reading.origin, len(kept), int(kept.sum()), words, tuple(reading.findings))
    report.warn()
    return OldTable(settings[kept].reset_index(drop=True), response[kept], labels, doubtful[kept], report)


class _Reading:
    """A table as it is read: which of its rows are kept, and what was noticed so far."""

    def __init__(self, read: ReadTable, what: str) -> None:
        self.table, self.origin, self.what = read.table, read.origin, what
        self._where: Callable[[int], str] = read.where
        self.kept = np.ones(len(read.table), dtype=bool)
        self.findings = [Finding("read", "", (), sentence) for sentence in read.said]

    def match(self, space: Space, target: str) -> None:
        """Refuse a table that lacks columns; note those that are too many."""
        columns, wanted = list(self.table.columns), [*space.names, target]
        missing = [name for name in wanted if name not in columns]
        if missing:
            there = f"there are {listed(map(shown, columns))}" if columns else "there are none"
            raise InputError(
                f"{self.what} must have the columns {listed(wanted)}; {listed(missing)} is missing "
                f"({there}). {self._advice(columns, missing == wanted)}Rename columns, name the response with target=, "
                "or add a column with the value the old device had."
            )
        extra = [str(name) for name in columns if name not in wanted]
        if extra:
            said = f"Columns that the search space does not name are ignored: {listed(extra)}."
            self.findings.append(Finding("extra columns", "", (), said))

    def _advice(self, columns: list[Any], all_missing: bool) -> str:
        """What may be wrong with a table that has not a single column that was hoped for."""
        if all_missing and not np.isnan(numbers(pd.Series(columns, dtype=object))[0]).all():
            return "The first line must hold the columns' names. "
        return ""

    def inputs(self, parameter: Numeric | Categorical) -> "pd.Series[Any]":
        """The parameter's column, as numbers or as categories; rows that cannot be used are no longer kept."""
        column = self.table[parameter.name]
        if isinstance(parameter, Categorical):
            return self._categories(column, parameter)
        values = self._numbers(column)
        self._leave_out("blank", parameter.name, np.isnan(values), "blank and left out")
        self._leave_out("sentinel", parameter.name, sentinels(values), "taken to mean 'not measured'", values)
        if parameter.log:
            positive = ~(values <= 0)
            said = "left out, as its scale is logarithmic and they are not above 0"
            self._leave_out("not above 0", parameter.name, ~positive, said, values)
        return pd.Series(self._within_reach(values, parameter), index=column.index)

    def _within_reach(self, values: Float64[ndarray, " n"], parameter: Numeric) -> Float64[ndarray, " n"]:
        name, low, high = parameter.name, parameter.low, parameter.high
        if not self.kept.any():
            return values
        seen = values[self.kept]
        reach = reach_of(np.log(seen) if parameter.log else seen, parameter)
        units = other_units(seen, parameter)
        ranges = (
            f"{name!r} goes from {seen.min():g} to {seen.max():g} in old data, from {low:g} to {high:g} in the space"
        )
        if units and reach.apart:
            # What is learnt from a wrong column misleads, and the user can put it right.
            said = f"{ranges}; {units}. Nothing is learnt from it until the column is corrected, or the space is."
            self.findings.append(Finding("other units", name, (), said))
            self.kept[:] = False
            return values
        if not reach.meets:
            said = f"{ranges}, far apart. Nothing is learnt from it until the column is corrected, or the space is."
            self.findings.append(Finding("no overlap", name, (), said))
            self.kept[:] = False
            return values
        if reach.apart:
            said = f"{ranges}, which do not meet: what was learnt there helps less. Check the units of {name!r}."
            self.findings.append(Finding("no overlap", name, (), said))
        elif units:
            self.findings.append(Finding("other units", name, (), f"{ranges}; {units}. Check the units of {name!r}."))
        with np.errstate(invalid="ignore", divide="ignore"):
            inside = reach.holds(np.log(values) if parameter.log else values)
        said = f"far outside the search space ({low:g} to {high:g}) and left out"
        self._leave_out("far outside", name, ~inside, said, values)
        return values

    def _categories(self, column: "pd.Series[Any]", parameter: Categorical) -> "pd.Series[Any]":
        column = column.astype(object) if pd.api.types.is_bool_dtype(column) else column  # True, not np.True_
        rows = [row for row, cell in enumerate(column) if isinstance(cell, list | dict | set | ndarray)]
        if rows:
            raise InputError(
                f"{self.what}'s {parameter.name!r} must be single values, text or numbers; {len(rows)} of "
                f"{len(column)} are not ({self._named(rows)}: {listed(shown(column.iloc[row]) for row in rows)})."
            )
        blank = column.map(is_blank).to_numpy(dtype=bool)
        distinct = list(column[blank].unique())
        meant = [value for value in distinct if position_among(value, parameter.choices) is not None]
        blank = blank & ~column.isin(meant).to_numpy() & ~(column.isna().to_numpy() & any(map(pd.isna, meant)))
        self._leave_out("blank", parameter.name, blank, "blank and left out")
        known = column[self.kept].unique()
        unknown = [value for value in known if position_among(value, parameter.choices) is None]
        if unknown:
            said = (
                f"{parameter.name!r} has {listed(map(shown, unknown))} in old data, which the search space does not "
                f"offer ({listed(map(repr, parameter.choices))}); what was learnt there helps less."
            )
            self.findings.append(Finding("unknown category", parameter.name, (), said))
        return column

    def response(self, target: str, direction: str) -> tuple[Float64[ndarray, " n"], bool, str]:
        """The response as numbers or labels ±1, whether it is labels, and what it is in words."""
        column = self.table[target]
        told = ~column.map(is_blank).to_numpy(dtype=bool)
        words = column.map(lambda value: str(value).strip().lower())
        passed, failed = words.isin(_PASS).to_numpy() & told, words.isin(_FAIL).to_numpy() & told
        self._leave_out("blank", target, ~told, "blank, which is taken for 'not measured', and left out")
        if len(column) and not told.any():
            raise InputError(
                f"{self.what}'s response {target!r} is blank in every row. Name the right column with target=."
            )
        if (passed | failed)[told].all():
            return np.where(passed, 1.0, -1.0), True, "pass and fail"
        values = self._numbers(column.where(~failed, np.nan), " Or say pass or fail in every row.")
        marked = sentinels(values)
        self._leave_out("sentinel", target, marked, "taken to mean 'not measured' and left out", values)
        measured = told & ~failed & ~marked
        distinct = set(values[measured])
        if distinct in ({0.0, 1.0}, {-1.0, 1.0}):
            return np.where(values > 0, 1.0, -1.0), True, "pass and fail"
        if failed.any() and len(distinct) == 1:  # only success and failure are told apart
            return np.where(failed, -1.0, 1.0), True, "pass and fail"
        among = "numbers"
        if failed.any():
            worst = values[measured].min() if direction == "maximize" else values[measured].max()
            values[failed] = worst
            among = f"numbers, where failed runs ({int(failed.sum())}) count as the worst ({worst:g})"
        return values, False, among

    def note_doubtful(self, doubtful: Bool[ndarray, " n"], response: Float64[ndarray, " n"], target: str) -> None:
        """Say which responses lie so far from all others that they may be mistakes."""
        if doubtful.any():
            rows, values = self._places(doubtful), listed(f"{value:g}" for value in response[doubtful])
            rest = response[self.kept & ~doubtful]
            said = (
                f"{target!r} is {values} in {listed(rows)}, far from all others ({rest.min():g} to {rest.max():g}): "
                "old data is learnt from with and without it. Correct it if it is a mistake."
            )
            self.findings.append(Finding("isolated response", target, rows, said))

    def note_constant(self, settings: pd.DataFrame) -> None:
        """Say which inputs never vary."""
        constant = [str(name) for name in settings if len(settings) > 1 and settings[name].nunique(dropna=False) == 1]
        if constant:
            said = f"Old data says nothing about {listed(constant)}: the value never changes."
            self.findings.append(Finding("constant", constant[0], (), said))

    def _numbers(self, column: "pd.Series[Any]", advice: str = "") -> Float64[ndarray, " n"]:
        values, wrong = numbers(column)
        if wrong:
            cells = listed(shown(column.iloc[row]) for row in wrong)
            dates = pd.api.types.is_datetime64_any_dtype(column)
            raise InputError(
                f"{self.what}'s {column.name!r} must be numbers; {len(wrong)} of {len(column)} are "
                f"{'dates' if dates else 'not'} ({self._named(wrong)}: {cells}). Correct them, or leave them blank."
                + advice
            )
        return values

    def _leave_out(
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
        places = self._places(rows)
        of = "" if values is None else f" ({listed(f'{value:g}' for value in dict.fromkeys(values[rows]))})"
        text = f"{column!r} is {said} in {int(rows.sum())} of {len(rows)} rows{of}: {listed(places)}."
        self.findings.append(Finding(kind, column, places, text))
        self.kept &= ~rows

    def _places(self, rows: Bool[ndarray, " n"]) -> tuple[str, ...]:
        return tuple(self._where(int(row)) for row in np.flatnonzero(rows))

    def _named(self, rows: Sequence[int]) -> str:
        return listed(self._where(row) for row in rows)
