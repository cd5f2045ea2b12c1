"""Record a table of suggestions with results filled in by hand: recognise the trials and refuse wrong rows.

A row is recognised by its trial's number; rows without one are runs that nobody suggested. People make other mistakes
than programs: rows that were recorded before, shifted settings, and the sheet of another campaign.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from tunedprior.checks import MOST_COLUMNS, format_list
from tunedprior.errors import InputError
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import encode_run_settings
from tunedprior.history.parsing import Measurement, Run, Suggestion
from tunedprior.history.table import HistoryColumns, parse_trials
from tunedprior.history.trials import CANCELLED, History, Trial, format_setting, is_same_setting
from tunedprior.space.encoding import Box
from tunedprior.space.parameters import Numeric, Parameter, is_missing
from tunedprior.space.search_space import Space
from tunedprior.storage.identifiers import parse_id
from tunedprior.suggestion.config import SourceDescription
from tunedprior.tables import ReadTable, is_unmeasured
from tunedprior.tables.names import are_different_units

_SAY_AS_RUN = " (--as-run)"
_WHAT = "The table of results"
# The part of a range by which a run may differ from its suggestion; two settings of a design mostly differ by more.
_NEAR = 0.25
# The part of a range beyond its ends that is rounding: suggestions have fifteen digits, and people type four.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class RecordReport:
    """The outcome of recording a table of results.

    Attributes:
        trials: The recorded results, with their numbers.
        open: The numbers of suggestions in the table that have no result yet.
        skipped: The numbers of results that had been recorded before.
    """

    trials: tuple[Trial, ...]
    open: tuple[int, ...] = ()
    skipped: tuple[int, ...] = ()


@dataclass(frozen=True)
class UndoReport:
    """The change that was undone.

    Attributes:
        trial: The trial before, with the result, correction, withdrawal or cancellation that was undone.
        action: The undone action: `"record"`, `"amend"`, `"withdraw"` or `"cancel"`.
        now: The trial as it is now.
        together: How many more changes that are still in force were made together with it, as rows of one sheet are.
    """

    trial: Trial
    action: str
    now: Trial
    together: int = 0

    @property
    def reopened_suggestion(self) -> Suggestion | None:
        """Its suggestion, if it is pending again under its number."""
        return Suggestion(self.now.setting, self.now.id) if self.now.is_pending else None


@dataclass(frozen=True)
class ResultSheet:
    """A table of results, read against the history of its campaign.

    Attributes:
        columns: The names of the columns.
        space: The search space.
        box: The box that settings must lie in.
        history: The trials so far.
        as_run: Whether settings are accepted that are outside of the space or far from the suggestion, as they were
            run.
        skip_recorded: Whether rows with a result that is recorded already are skipped.
        own: Whether rows without a trial's number are accepted, as runs that nobody suggested.
        beyond_limits: Whether results beyond the declared limits of a response are accepted.
        goals: The goals, with these limits.
    """

    columns: HistoryColumns
    space: Space
    box: Box
    history: History
    as_run: bool = False
    skip_recorded: bool = False
    own: bool = True
    beyond_limits: bool = False
    goals: Goals | None = None

    def read(self, given: ReadTable, direction: str) -> tuple[Run | None, RecordReport]:
        """Read the results to record (None if nothing is new) and skipped rows; an `InputError` names wrong rows."""
        self._refuse_other_files(given)
        table = self._fill_columns(given.table)
        rows = parse_trials(table, self.columns, self.space, given.format_place, direction, self._find_problems, _WHAT)
        rows = {number: trial for number, trial in rows.items() if not self._is_still_cancelled(trial)}
        told = {number: trial for number, trial in rows.items() if not trial.is_pending}
        new = [trial for trial in told.values() if self._find_same_result(trial) is None]
        skipped = [found.id for trial in told.values() if (found := self._find_same_result(trial)) is not None]
        still_open = [trial.id for trial in rows.values() if trial.is_pending]
        if not told:
            responses = format_list((self.columns.response, *self.columns.others.values()))
            raise InputError(
                f"{_WHAT} ({given.origin}) has no result yet. Fill in {responses}, or write failed there; leave rows "
                "that are still to be run as they are."
            )
        return (_make_run(new) if new else None), RecordReport(tuple(new), tuple(still_open), tuple(skipped))

    def _refuse_other_files(self, given: ReadTable) -> None:
        """Raise an `InputError` for a file that holds no table of results, such as notes."""
        if not set(map(str, given.table.columns)) & set(self.columns.names):
            columns = self.columns
            wanted = format_list((columns.trial, *columns.parameters, columns.response), MOST_COLUMNS)
            there = format_list(map(repr, given.table.columns), MOST_COLUMNS) or "none"
            raise InputError(
                f"{_WHAT} ({given.origin}) has none of the columns {wanted}; it has {there}. Is it the right file? A "
                "sheet to fill in is written by: tunedprior suggest CAMPAIGN -o next.xlsx"
            )

    def _fill_columns(self, table: pd.DataFrame) -> pd.DataFrame:
        """Add the columns that follow from others: settings of known trials, and whether a row was suggested."""
        columns, table = self.columns, table.copy()
        unknown_first = sorted(map(str, table.columns), key=lambda name: name in columns.names)
        there = format_list(unknown_first, MOST_COLUMNS)  # what is missing may be there under another name
        if columns.trial not in table.columns:
            table[columns.trial] = None
        missing = [name for name in columns.parameters if name not in table.columns]
        pending = {trial.id: trial for trial in self.history.awaited}
        numbers = [_parse_number(cell) for cell in table[columns.trial]]
        if missing and not all(number in pending for number in numbers):
            for cell, number in zip(table[columns.trial], numbers, strict=True):
                if number is None and not is_unmeasured(cell):
                    raise InputError(
                        f"{_WHAT}: {columns.trial} is {cell!r}, which is no trial's number: remove the row if it is a "
                        "total."
                    )
            unknown = [str(number) for number in numbers if number is not None and number not in pending]
            told = [str(one.id) for one in self.history.told if str(one.id) in unknown]
            if told:
                raise InputError(
                    f"Trial {format_list(told)} is recorded already. To correct it, amend it; to record another "
                    "run of it, "
                    f"give {format_list(missing)} too, and no number."
                )
            if unknown:
                raise InputError(
                    f"No open suggestion has the number {format_list(unknown)}; there are "
                    f"{format_list(self._open_numbers) or 'none'}. "
                    f"For a run of your own give {format_list(missing)} too, and no number."
                )
            raise InputError(
                f"{_WHAT} needs the columns {format_list(columns.parameters)}, or the number of an open "
                "suggestion in the "
                f"column {columns.trial!r}; {format_list(missing)} is missing (there are {there})."
            )
        for name in missing:
            table[name] = [None if number is None else pending[number].setting[name] for number in numbers]
        responses = (columns.response, *columns.others.values())
        if columns.state not in table.columns:
            table[columns.state] = ""
        absent = [name for name in responses if name not in table.columns]
        says_failed = [str(cell).strip().casefold() in ("failed", "fail") for cell in table[columns.state]]
        if len(absent) == len(responses) and not all(says_failed):
            raise InputError(f"{_WHAT} needs a column for {format_list(responses)}; there are {there}.")
        for name in absent:
            table[name] = None
        if columns.asked not in table.columns:
            table[columns.asked] = [number is not None for number in numbers]
        return table

    def _find_problems(self, found: Mapping[int, Trial]) -> dict[int, str]:
        problems: dict[int, str] = {}
        for row, trial in found.items():
            wrong = (
                self._check_number_given(trial)
                or self._check_number_open(trial)
                or self._check_number_matches(trial)
                or self._check_not_recorded(trial)
                or self._check_offered(trial)
                or self._check_near_suggestion(trial)
                or self._check_limits(trial)
            )
            if wrong:
                problems[row] = wrong
        return problems

    def _check_limits(self, trial: Trial) -> str:
        beyond = [] if self.beyond_limits or self.goals is None else list_limit_violations(trial, self.goals)
        return f"{' and '.join(beyond)}. Correct it, or say that it was measured so (--beyond-limits)" if beyond else ""

    @property
    def _known_trials(self) -> dict[int, Trial]:
        """The trials that a row may belong to, by number."""
        return {one.id: one for one in (*self.history.awaited, *self.history.told)}

    @property
    def _open_numbers(self) -> list[int]:
        """The numbers of open suggestions."""
        return [trial.id for trial in self.history.pending]

    def _is_still_cancelled(self, trial: Trial) -> bool:
        """Whether the row is of a cancelled suggestion and adds nothing to it."""
        nothing = trial.is_pending or trial.set_aside == CANCELLED
        return nothing and any(one.id == trial.id for one in self.history.cancelled_trials)

    def _check_number_given(self, trial: Trial) -> str:
        if trial.id or self.own:
            return ""
        return "has no trial's number. Give it that of its suggestion, or say that these are runs of your own (--own)"

    def _check_number_matches(self, trial: Trial) -> str:
        """Whether the row has the number of one trial and the settings of another, as when one column was sorted."""
        named = self._known_trials.get(trial.id)
        if named is None or any(is_same_setting(one, trial.setting) for one in (named.setting, named.suggested)):
            return ""
        for one in self.history.pending:
            if is_same_setting(one.setting, trial.setting):
                return f"has the number of trial {trial.id} and the settings of trial {one.id}. Correct one of the two"
        return ""

    def _check_near_suggestion(self, trial: Trial) -> str:
        """Whether the row is hardly a run of its suggestion: it may be of another campaign, which counts from 1 too."""
        named = self._known_trials.get(trial.id)
        if self.as_run or named is None or named.suggested is None:
            return ""
        near = (named.suggested, named.setting)  # what is recorded may have been run far away, and been said to be
        far = [self._list_far_parameters(trial.setting, one) for one in near]
        if not all(far):
            return ""
        return (
            f"has {format_setting(trial.setting)}, and trial {trial.id} was suggested with "
            f"{format_setting(named.suggested)}, "
            f"which is far from it in {format_list(far[0])}. Is it the sheet of another campaign? Record it "
            "there. If not, "
            f"correct it, or say that it was run like that{_SAY_AS_RUN}"
        )

    def _list_far_parameters(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
        known = [parameter for parameter in self.space.parameters if parameter.name in other]
        return [each.name for each in known if _are_far(each, one[each.name], other[each.name])]

    def _check_number_open(self, trial: Trial) -> str:
        """Why nothing can be told of the trial's number."""
        if trial.set_aside == CANCELLED and not self._is_still_cancelled(trial):
            return f"says {CANCELLED}, and trial {trial.id} is not. Cancel it by its number, and remove the row"
        if not trial.id or trial.id in self._known_trials:
            return ""
        aside = next((one for one in self.history.set_aside if one.id == trial.id), None)
        if aside is not None:
            return f"trial {trial.id} is {aside.state}. Clear its number to record it as a run of your own"
        return f"there is no trial {trial.id} in this campaign; open are {format_list(self._open_numbers) or 'none'}"

    def _check_not_recorded(self, trial: Trial) -> str:
        if trial.is_pending:
            return ""
        there = self._find_recorded(trial)
        if there is None or (self.skip_recorded and _is_same_result(there, trial)):
            return ""
        if _is_same_result(there, trial):
            return (
                f"trial {there.id} is recorded already, with the same result. Remove the row, or pass over what is "
                "recorded (--skip-recorded). Another run that gave the same needs a note of its own "
                f"(in the column {self.columns.note!r}, or with --note)"
            )
        if not is_same_setting(there.setting, trial.setting):
            return f"trial {there.id} is recorded already, at {format_setting(there.setting)}. Is the number right?"
        return (
            f"trial {there.id} is recorded already, with another result ({_format_result(there)}). Amend trial "
            f"{there.id} if "
            "that is wrong"
        )

    def _find_same_result(self, trial: Trial) -> Trial | None:
        there = self._find_recorded(trial)
        return there if there is not None and _is_same_result(there, trial) else None

    def _find_recorded(self, trial: Trial) -> Trial | None:
        """The result that was recorded of this row: that of its number, or an equal one if it has none.

        An equal one may have been suggested: a row without a number that is near a suggestion is taken as a run of it.
        """
        if trial.id:
            return next((one for one in self.history.told if one.id == trial.id), None)
        alike = (one for one in self.history.told if trial.note in ("", one.note))
        return next((one for one in alike if _is_same_result(one, trial)), None)

    def _check_offered(self, trial: Trial) -> str:
        try:
            encode_run_settings([trial.setting], self.box)
        except InputError as error:
            return str(error).rstrip(".")
        if self.as_run:
            return ""
        for parameter in self.space.parameters:
            value = trial.setting[parameter.name]
            if not parameter.allows(value) and not _is_rounded(value, parameter):
                nearest = (
                    f"; {parameter.find_nearest_value(value):g} is nearest" if isinstance(parameter, Numeric) else ""
                )
                return (
                    f"{parameter.name} is {value}, which the space does not offer{nearest}. Correct it, or say that it "
                    f"was run like that{_SAY_AS_RUN}"
                )
        violated = self.space.find_violated(trial.setting)
        remedy = f"Correct the setting, or say that it was run like that{_SAY_AS_RUN}"
        return f"{violated[0]} does not hold. {remedy}" if violated else ""


def list_limit_violations(trial: Trial, goals: Goals) -> list[str]:
    """Say of each response in a trial that it is beyond its declared limits."""
    measured = [(one, one.get_value(trial)) for one in goals.objectives if one.select_measured([trial])]
    return [said for one, value in measured if (said := one.describe_limit_violation(value))]


def refuse_other_sheets(given: ReadTable, columns: HistoryColumns) -> None:
    """Raise an `InputError` if a sheet of the workbook that was not read also holds results."""
    responses = {columns.response, *columns.others.values()}
    others = [
        sheet
        for sheet, filled in given.unread_sheets.items()
        if responses & set(filled) and (columns.trial in filled or set(columns.parameters) <= set(filled))
    ]
    if others:
        raise InputError(
            f"{_WHAT} ({given.origin}) has several sheets for results, and there are some in "
            f"{format_list(map(repr, others))}, beside the sheet that is read. Nothing was recorded. Save the "
            "sheet that is "
            "meant as a file of its own."
        )


def refuse_other_units(given: ReadTable, old: Sequence[SourceDescription]) -> None:
    """Raise an `InputError` for a header with another unit than all old data that names one for the same column."""
    for name, unit in given.units.items():
        known = dict.fromkeys(one.units[name] for one in old if name in one.units)
        if known and all(are_different_units(unit, one) for one in known):
            raise InputError(
                f"{_WHAT} ({given.origin}) has {name!r} in {unit}, and old data of this campaign has it in "
                f"{format_list(known)}. Nothing was recorded. Write the numbers in {format_list(known)}, and so "
                "the header; or "
                "the name alone, if they are."
            )


def drop_campaign_column(given: ReadTable, name: str, own_id: str) -> ReadTable:
    """Drop the column with the campaign's id; an `InputError` if it is the id of another campaign.

    Rows without an id may be of any campaign. A column of this name with other content is the user's own.
    """
    if name not in given.table.columns:
        return given
    ids = {row: parse_id(cell) for row, cell in enumerate(given.table[name]) if not is_unmeasured(cell)}
    if not all(ids.values()):
        return given
    others = [row for row, one in ids.items() if one != own_id]
    if others:
        which = f" in {format_list(map(given.format_place, others))}" if len(others) < len(ids) else ""
        raise InputError(
            f"{_WHAT} ({given.origin}) is the sheet of another campaign{which}: the column {name!r} says "
            f"{format_list(dict.fromkeys(ids[row] for row in others))}, and this campaign is {own_id}. Record "
            "it there; "
            f"nothing was recorded here. If these runs do belong here, clear the column {name!r}."
        )
    return replace(given, table=given.table.drop(columns=name))


def _is_rounded(value: Any, parameter: Parameter) -> bool:
    """Whether a number is beyond the end of a continuous range by rounding alone."""
    if not isinstance(parameter, Numeric) or parameter.count is not None:
        return False
    return bool(abs(value - parameter.find_nearest_value(value)) <= _ROUNDING * (parameter.high - parameter.low))


def _make_run(trials: list[Trial]) -> Run:
    return Run(
        pd.DataFrame([trial.setting for trial in trials], dtype=object),
        [Measurement(trial.value, trial.more) for trial in trials],
        [None] * len(trials),
        [trial.id or None for trial in trials],
        False,
        [dict(trial.extra) for trial in trials],
        [trial.note for trial in trials],
        [dict(trial.noise) for trial in trials],
        [trial.cost for trial in trials],
    )


def _are_far(parameter: Parameter, one: Any, other: Any) -> bool:
    """Whether two values are different categories, or numbers a good part of the range apart, on its scale."""
    if not isinstance(parameter, Numeric):
        return not is_same_setting({"": parameter.recognise(one)}, {"": parameter.recognise(other)})
    if is_missing(one) or is_missing(other):
        return is_missing(one) != is_missing(other)
    width = parameter.scale(parameter.high) - parameter.scale(parameter.low)
    return abs(parameter.scale(one) - parameter.scale(other)) > _NEAR * width * (1 + 1e-9)


def _is_same_result(one: Trial, other: Trial) -> bool:
    return is_same_setting(
        {"": one.value, **one.more, "setting": one.setting}, {"": other.value, **other.more, "setting": other.setting}
    )


def _format_result(trial: Trial) -> str:
    values = {**({} if trial.value != trial.value else {"": trial.value}), **trial.more}
    return format_setting(values).lstrip("=") if values else "failed"


def _parse_number(cell: Any) -> int | None:
    """The number in a cell; None if it is blank, or holds something else, which is reported later."""
    try:
        return None if is_unmeasured(cell) else int(float(cell))
    except (TypeError, ValueError, OverflowError):
        return None
