"""Match the columns of old data to the parameters and the response of a search space, and report what does not fit."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.checks import MOST_CHOICES, MOST_COLUMNS, format_list, format_value, suggest_name
from tunedprior.errors import InputError
from tunedprior.goals.goal import MINIMIZE, Goal, Target, check_goal
from tunedprior.history.cells import NOT_PASSED, PASSED
from tunedprior.source_data.imputation import OldGaps, choose_stand_in
from tunedprior.source_data.number_checks import (
    FRACTIONS,
    compute_accepted_range,
    find_fractions,
    find_isolated,
    find_mixed_units,
    find_other_units,
    find_sentinels,
)
from tunedprior.source_data.rows import OldRows, SourceReport
from tunedprior.space.parameters import Categorical, Numeric, find_choice_index
from tunedprior.space.search_space import Space
from tunedprior.tables import is_infinite, is_unmeasured, is_variant_name, parse_numbers, read_table


def parse_response(
    rows: OldRows, target: str, has_response: Bool[ndarray, " n"], direction: Goal, source_direction: str = ""
) -> tuple[Float64[ndarray, " n"], bool, str]:
    """Return the responses as numbers or labels ±1, whether they are labels, and a name for their kind.

    Args:
        rows: The table; rows without a response are no longer kept.
        target: The column of the response.
        has_response: For each row whether it has a response.
        direction: Which way is source_direction, or a target.
        source_direction: "maximize" or "minimize", if the source has a direction of its own, as a study does.
    """
    column = rows.table[target]
    words = column.map(lambda value: str(value).strip().lower())
    passed, failed = words.isin(PASSED).to_numpy() & has_response, words.isin(NOT_PASSED).to_numpy() & has_response
    rows.leave_out("blank", target, ~has_response, "blank, which is taken for 'not measured', and left out")
    if len(column) and not has_response.any():
        found = f"{rows.what}'s response {target!r} is blank in every row."
        raise InputError(
            f"{found} Name the right column with target=.",
            typed=f"{found} Fill it in, or give the goal in the space file the name of the right column.",
        )
    if (passed | failed)[has_response].all():
        return np.where(passed, 1.0, -1.0), True, "pass and fail"
    values = rows.parse_numbers(column.where(~failed, np.nan), " Or say pass or fail in every row.")
    marked = find_sentinels(values)
    rows.leave_out("sentinel", target, marked, "taken to mean 'not measured' and left out", values)
    measured = has_response & ~failed & ~marked
    distinct = set(values[measured])
    if distinct in ({0.0, 1.0}, {-1.0, 1.0}):
        less = source_direction == "minimize"  # a study that minimised what is 0 or 1 wanted 0
        good = values < 1 if less else values > 0
        return np.where(good, 1.0, -1.0), True, f"pass and fail{', of which the lower one passes' if less else ''}"
    if failed.any() and len(distinct) == 1:  # only success and failure are told apart
        return np.where(failed, -1.0, 1.0), True, "pass and fail"
    among = "numbers"
    if failed.any() and isinstance(direction, Target):
        rows.leave_out("failed", target, failed, "left out, as there is no worst of what is to meet a target")
    elif failed.any():
        worst = values[measured].min() if (source_direction or direction) == "maximize" else values[measured].max()
        values[failed] = worst
        among = f"numbers, where failed runs ({int(failed.sum())}) count as the worst ({worst:g})"
    if source_direction and not isinstance(direction, Target) and source_direction != direction:
        among += f", of which {'more' if source_direction == 'maximize' else 'less'} was better"
    return values, False, among


def compute_logarithms(rows: OldRows, target: str, response: Float64[ndarray, " n"]) -> Float64[ndarray, " n"]:
    """Return the logarithms of the responses; rows whose response is not above 0 are dropped."""
    rows.leave_out("not positive", target, rows.kept & ~(response > 0), "0 or less, which has no logarithm: left out")
    return np.log(np.where(response > 0, response, 1.0))


def note_doubtful(rows: OldRows, target: str, doubtful: Bool[ndarray, " n"], response: Float64[ndarray, " n"]) -> None:
    """Add a finding for responses so far from all others that they may be mistakes."""
    if doubtful.any():
        places, values = rows.list_places(doubtful), format_list(f"{value:g}" for value in response[doubtful])
        rest = response[rows.kept & ~doubtful]
        said = (
            f"{target!r} is {values} in {format_list(places)}, far from all others ({rest.min():g} to {rest.max():g})"
            f"{FRACTIONS if find_fractions(response[rows.kept])[doubtful[rows.kept]].any() else ''}: "
            "old data is learnt from with and without it. Correct it if it is a mistake."
        )
        rows.note("isolated response", target, said, places)


class OldSettings:
    """The columns of old data that belong to the search space, while they are read.

    Attributes:
        absent: The parameters that old data says nothing about, as the column is missing or mostly blank.
        gaps: The cells of all others that say nothing.
    """

    def __init__(self, rows: OldRows, space: Space, target: str, others: Collection[str] = ()) -> None:
        """Refuse a table without the response, or without a single setting; note which columns are missing.

        Columns of other responses are left alone.
        """
        self._rows, self._space, self.gaps = rows, space, OldGaps(rows)
        columns, wanted = list(rows.table.columns), [*space.names, target]
        missing = [name for name in wanted if name not in columns]
        if target in missing or len(missing) == len(space.names):
            unknown_first = sorted(columns, key=lambda name: name in wanted)  # one of them may be what is missing
            there = (
                f"there are {format_list(map(format_value, unknown_first), MOST_COLUMNS)}"
                if columns
                else "there are none"
            )
            meant = suggest_name(missing, (name for name in columns if name not in wanted))
            found = (
                f"{rows.what} must have columns for the response and for settings; {format_list(missing)} is missing "
                f"({there}).{meant} {_guess_mistake(columns, missing == wanted)}Rename columns, "
            )
            add = "or add a column with the value the old device had."
            raise InputError(
                f"{found}name the response with target=, {add}",
                typed=f"{found}give the goal in the space file the name of the response's column, {add}",
            )
        self.absent = tuple(missing)
        self._extra = [name for name in columns if name not in wanted and name not in others]
        self._second = [name for name in self._extra if is_variant_name(name, target)]
        others = f" (there is {format_list(self._extra)}; rename it if it is the same)" if self._extra else ""
        for name in missing:
            said = f"Old data has no column {name!r}{others}: what it says is taken to hold for every {name!r}."
            rows.note("absent", name, said)

    def build_table(self, has_response: Bool[ndarray, " n"]) -> pd.DataFrame:
        """Build the settings, one column for each parameter, and drop the rows that cannot be used."""
        present = [parameter for parameter in self._space.parameters if parameter.name not in self.absent]
        columns = {parameter.name: self._parse_column(parameter) for parameter in present}
        self.gaps.leave_out_blank_rows()
        absent = self.absent + self.gaps.set_aside_columns(has_response)
        self.gaps.leave_out_blank_rows()  # of the columns that remain
        self.absent = tuple(name for name in self._space.names if name in absent)
        count = len(self._rows.table)
        for parameter in self._space.parameters:
            if parameter.name in absent:
                columns[parameter.name] = pd.Series([choose_stand_in(parameter)] * count, index=self._rows.table.index)
            elif isinstance(parameter, Categorical):
                self._note_unknown_categories(columns[parameter.name], parameter)
            else:
                self._leave_out_useless(columns[parameter.name].to_numpy(), parameter)
        return pd.DataFrame({name: columns[name] for name in self._space.names})

    def note_constant(self, settings: pd.DataFrame) -> None:
        """Add a finding for each input that never varies, except absent ones."""
        there = [name for name in settings if name not in self.absent and len(settings) > 1]
        constant = [str(name) for name in there if settings[name].nunique(dropna=False) == 1]
        if constant:
            said = f"Old data says nothing about {format_list(constant)}: the value never changes."
            self._rows.note("constant", constant[0], said)

    def note_extra(self) -> None:
        """Add a finding for columns that are not in the search space."""
        table = self._rows.table[self._rows.kept]
        for name in self._second:
            self._rows.note("extra columns", name, f"{name!r} looks like a second response; it is not used.")
        extra = [name for name in self._extra if name not in self._second]
        varying = [name for name in extra if _is_varying(table[name])]
        constant = [name for name in extra if name not in varying]
        said = "Columns that the search space does not name are "
        if varying:
            unchanging = f" (constant: {format_list(constant)})" if constant else ""
            self._rows.note("extra columns", "", f"{said}averaged over: {format_list(varying)}{unchanging}.")
        elif constant:
            self._rows.note("extra columns", "", f"{said}ignored: {format_list(constant)}.")

    def _parse_column(self, parameter: Numeric | Categorical) -> "pd.Series[Any]":
        """The parameter's column as numbers or categories; its gaps are remembered."""
        column = self._rows.table[parameter.name]
        if isinstance(parameter, Categorical):
            return self._parse_categories(column, parameter)
        infinite = column.map(is_infinite).to_numpy(dtype=bool)  # what programs write for "not measured", too
        values = self._rows.parse_numbers(column.mask(infinite, np.nan) if infinite.any() else column)
        marked = find_sentinels(values)
        marks, values = np.where(marked, values, np.nan), np.where(marked, np.nan, values)
        marks[infinite] = [-np.inf if str(cell).strip().startswith("-") else np.inf for cell in column[infinite]]
        self.gaps.add(parameter, np.isnan(values), marks)
        return pd.Series(values, index=column.index)

    def _parse_categories(self, column: "pd.Series[Any]", parameter: Categorical) -> "pd.Series[Any]":
        column = column.astype(object) if pd.api.types.is_bool_dtype(column) else column  # True, not np.True_
        rows = [row for row, cell in enumerate(column) if isinstance(cell, list | dict | set | ndarray)]
        if rows:
            raise InputError(
                f"{self._rows.what}'s {parameter.name!r} must be single values, text or numbers; {len(rows)} of "
                f"{len(column)} are not ({self._rows.format_places(rows)}: "
                f"{format_list(format_value(column.iloc[row]) for row in rows)})."
            )
        blank = column.map(is_unmeasured).to_numpy(dtype=bool)
        distinct = list(column[blank].unique())
        meant = [value for value in distinct if find_choice_index(value, parameter.choices) is not None]
        blank = blank & ~column.isin(meant).to_numpy() & ~(column.isna().to_numpy() & any(map(pd.isna, meant)))
        self.gaps.add(parameter, blank)
        return column

    def _note_unknown_categories(self, column: "pd.Series[Any]", parameter: Categorical) -> None:
        known = column[self._rows.kept & ~self.gaps.get_gaps(parameter.name)].unique()
        unknown = [value for value in known if find_choice_index(value, parameter.choices) is None]
        if unknown:
            said = (
                f"{parameter.name!r} has {format_list(map(format_value, unknown))} in old data, which the "
                "search space does not "
                f"offer ({format_list(map(repr, parameter.choices), MOST_CHOICES)}); what was learnt there helps less."
            )
            self._rows.note("unknown category", parameter.name, said)

    def _leave_out_useless(self, values: Float64[ndarray, " n"], parameter: Numeric) -> None:
        """Rows whose number is not on the parameter's scale, or is far from the search space."""
        rows, name, low, high = self._rows, parameter.name, parameter.low, parameter.high
        if parameter.log:
            said = "left out, as its scale is logarithmic and they are not above 0"
            rows.leave_out("not above 0", name, values <= 0, said, values)
        known = ~np.isnan(values)
        self._leave_out_mixed_units(values, parameter)
        seen = values[known & rows.kept]
        if len(seen) == 0:
            return
        reach = compute_accepted_range(np.log(seen) if parameter.log else seen, parameter)
        units = find_other_units(seen, parameter)
        ranges = (
            f"{name!r} goes from {seen.min():g} to {seen.max():g} in old data, from {low:g} to {high:g} in the space"
        )
        if (units and reach.is_disjoint) or not reach.is_near:
            # What is learnt from a wrong column misleads, and the user can put it right.
            kind, why = (
                ("other units", f"; {units.text}") if units and reach.is_disjoint else ("no overlap", ", far apart")
            )
            said = f"{ranges}{why}. Nothing is learnt from it until the column is corrected, or the space is."
            rows.note(kind, name, said)
            rows.kept[:] = False
            return
        if reach.is_disjoint:
            said = f"{ranges}, which do not meet: what was learnt there helps less. Check the units of {name!r}."
            rows.note("no overlap", name, said)
        elif units:
            rows.note("other units", name, f"{ranges}; {units.text}. Check the units of {name!r}.")
        with np.errstate(invalid="ignore", divide="ignore"):
            inside = reach.contains(np.log(values) if parameter.log else values)
        said = f"far outside the search space ({low:g} to {high:g}) and left out"
        rows.leave_out("far outside", name, ~inside & known, said, values)

    def _leave_out_mixed_units(self, values: Float64[ndarray, " n"], parameter: Numeric) -> None:
        """Rows whose number is in other units than that of most."""
        kept = self._rows.kept & ~np.isnan(values)
        found = find_mixed_units(values[kept], parameter)
        if found is not None:
            odd = np.zeros(len(values), dtype=bool)
            odd[kept] = found.rows
            said = f"{found.words} and left out"
            self._rows.leave_out("part in other units", parameter.name, odd, said, values)


def _guess_mistake(columns: list[Any], all_missing: bool) -> str:
    """Guess what is wrong with a table that has none of the expected columns."""
    if all_missing and not np.isnan(parse_numbers(pd.Series(columns, dtype=object))[0]).all():
        return "The first line must hold the columns' names. "
    return ""


def _is_varying(column: "pd.Series[Any]") -> bool:
    try:
        return bool(column.nunique(dropna=False) > 1)
    except TypeError:  # lists, dicts, arrays
        return bool(column.map(repr).nunique() > 1)


#: The name of an old data set that has none of its own.
UNNAMED = "old data"
# Rows up to which it is kept where each stands: single rows of more do not matter.
_MOST_PLACES = 10_000


@dataclass(frozen=True, eq=False)
class OldTable:
    """Settings and responses of old data, ready to learn from.

    Attributes:
        settings: One column per parameter of the space.
        response: A number per row, or a label ±1.
        labels: Whether the response is labels.
        doubtful: Which rows have a response so far from all others that it may be a mistake.
        report: What was found when it was read.
        absent: The columns that old data lacks, or where most cells are blank. Their settings are the same in all rows,
            and the response is to be taken as not depending on them.
        places: Where each row stands in its source, such as "line 7"; empty for more rows than can each matter.
        source_direction: "maximize" or "minimize", if the source has a direction of its own, as a study does; else "".
        units: The units in the headers of its columns, by name, where these have any.
    """

    settings: pd.DataFrame
    response: Float64[ndarray, " n"]
    labels: bool
    doubtful: Bool[ndarray, " n"]
    report: SourceReport
    absent: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    source_direction: str = ""
    units: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.settings)

    @property
    def span(self) -> tuple[float, float] | None:
        """The least and largest response without doubtful ones; None for labels."""
        sure = self.response[~self.doubtful]
        return None if self.labels or not len(sure) else (float(sure.min()), float(sure.max()))

    def select_rows(self, kept: Bool[ndarray, " n"]) -> "OldTable":
        """Return the table with some of its rows, such as those whose response is not doubtful."""
        settings = self.settings[kept].reset_index(drop=True)
        places = tuple(place for place, is_kept in zip(self.places, kept, strict=False) if is_kept)
        return replace(
            self, settings=settings, response=self.response[kept], doubtful=self.doubtful[kept], places=places
        )

    @property
    def fingerprint(self) -> str:
        """A digest of the settings and responses."""
        numeric = self.settings.select_dtypes("number").columns
        categories = {name: str for name in self.settings if name not in numeric}
        content = pd.util.hash_pandas_object(self.settings.astype(categories), index=False).to_numpy()
        absent = repr(self.absent).encode() if self.absent else b""
        return sha256(content.tobytes() + self.response.tobytes() + absent).hexdigest()


def read_old_data(
    data: Any,
    space: Space,
    target: str = "y",
    direction: Goal = "maximize",
    name: str = UNNAMED,
    *,
    others: Collection[str] = (),
    log: bool = False,
) -> OldTable:
    """Match old data to the search space by column names; warn of what is left out or filled in.

    Old data need not fit in all: the response is taken as not depending on a column that it lacks, columns that the
    space lacks are averaged over, and blank settings are filled in from the most similar rows.

    Args:
        data: Whatever `tables.read_table` reads.
        space: The search space, which sets the scale: rows far outside of it are left out.
        target: The column of the response. A response that is blank was not measured, and its row is left out; one that
            says "failed" counts as the worst there was. Responses that take only the values pass/fail, true/false, 0/1
            or -1/+1 are labels.
        direction: Which way is better, or a target; then runs that failed are left out. What was worst of a study's
            values goes by the direction of that study.
        name: What the user calls it, for messages.
        others: Columns of other responses, which are nothing to learn this one from.
        log: Whether it is the logarithm of the response that counts.
    """
    if isinstance(data, OldTable):
        return data
    if not isinstance(target, str):
        raise InputError(f"target must be the name of the response, as text; got {format_value(target)}.")
    check_goal(direction)
    if target in space.names:
        wrong = f"{target!r} is a parameter, so it cannot be the response too."
        raise InputError(
            f"{wrong} Name the response with target=.",
            typed=f"{wrong} Name another column as the goal in the space file.",
        )
    what = "Old data" if name == UNNAMED else f"Old data {name!r}"
    read = read_table(data, [*space.names, target], what)
    rows, source_direction = OldRows(read, what), read.directions.get(target, "")
    rows.note_errors([*space.names, target])
    found = OldSettings(rows, space, target, others)
    has_response = ~rows.table[target].map(is_unmeasured).to_numpy(dtype=bool)
    settings = found.build_table(has_response)
    response, labels, words = parse_response(rows, target, has_response, direction, source_direction)
    if log and not labels:
        response = compute_logarithms(rows, target, response)
    found.gaps.leave_out_unfillable()
    kept = rows.kept
    doubtful = np.zeros(len(kept), dtype=bool)
    if not labels and kept.any():
        doubtful[kept] = find_isolated(response[kept])
        if not log and direction != MINIMIZE:  # what is minimised may well come near 0
            doubtful[kept] |= find_fractions(response[kept])
        note_doubtful(rows, target, doubtful, response)
    settings = found.gaps.fill_gaps(settings, response, ~doubtful)[kept].reset_index(drop=True)
    found.note_constant(settings)
    found.note_extra()
    report = SourceReport(name, rows.origin, len(kept), int(kept.sum()), words, tuple(rows.findings))
    report.warn()
    places = rows.list_places(kept) if kept.sum() <= _MOST_PLACES else ()
    return OldTable(
        settings, response[kept], labels, doubtful[kept], report, found.absent, places, source_direction, read.units
    )
