"""What was run and what came of it, and which of the pending trials it was."""

import datetime
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from tunedprior.campaign.measured import Measurement, parse_costs, parse_measurements, parse_noises
from tunedprior.campaign.values import parse_settings
from tunedprior.checks import Numbers, format_list, format_value
from tunedprior.errors import InputError
from tunedprior.problem.aims import Goals
from tunedprior.problem.box import Box, to_settings_table
from tunedprior.problem.cells import FLAGS, is_empty_cell, parse_trial_number
from tunedprior.problem.history_reading import DIRECTIONS, STATES
from tunedprior.problem.history_table import HistoryColumns
from tunedprior.problem.objective import MEANT, encode_run_settings
from tunedprior.problem.parameters import Numeric, is_missing
from tunedprior.problem.space import Setting, Space
from tunedprior.problem.trials import (
    History,
    Trial,
    collect_settings,
    format_setting,
    is_same_setting,
    recognise_setting,
)

#: What may be told of runs: numbers, or several responses by name.
RunResult = Numbers | Mapping[str, Any] | Sequence[Mapping[str, Any]] | pd.DataFrame
_DATES = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)


class Suggestion(dict[str, Any]):
    """A setting to try that knows the number of its trial, so that what is told of it is not mistaken for another's."""

    def __init__(self, setting: Setting, trial: int, suggested: Setting | None = None) -> None:
        super().__init__(setting)
        self.trial = trial
        self.suggested = dict(setting if suggested is None else suggested)

    def __reduce__(self) -> tuple[Any, ...]:
        return Suggestion, (dict(self), self.trial, self.suggested)

    def find_own_trial(self, trials: Sequence[Trial]) -> Trial | None:
        """The one of these trials that this was suggested for, whatever was changed in it since."""
        return next(
            (one for one in trials if one.id == self.trial and is_same_setting(one.suggested, self.suggested)), None
        )


@dataclass(frozen=True)
class Run:
    """Settings that were run, in the order they are told.

    Attributes:
        settings: A table with the parameters' columns, and possibly more.
        measured: What came of each.
        suggestions: What `ask` returned, for settings that are that; None for others.
        numbers: The numbers of suggestions that the settings are said to be; None where nothing is said.
        must_be_pending: Whether a number that is not that of a pending or cancelled trial is an error.
        extras: The user's own columns.
        notes: What was noted of each.
        noise: The noise of each response in each run, by name, where it was told.
        costs: What each run cost; NaN if that was not told.
    """

    settings: pd.DataFrame
    measured: list[Measurement]
    suggestions: list[Suggestion | None]
    numbers: list[int | None]
    must_be_pending: bool
    extras: list[dict[str, Any]]
    notes: list[str]
    noise: list[dict[str, float]]
    costs: list[float]

    @classmethod
    def parse(
        cls,
        setting: Setting | Sequence[Setting] | pd.DataFrame | pd.Series,
        value: RunResult | None,
        failed: bool | Sequence[bool],
        trial: int | Suggestion | Trial | None,
        note: str,
        columns: HistoryColumns,
        aims: Goals,
        noise_std: Any = None,
        cost: Any = None,
    ) -> "Run":
        """From the arguments of `Optimizer.tell`."""
        if isinstance(value, Mapping) and not isinstance(setting, Mapping | pd.Series):
            raise InputError("tell takes the setting first and then its value; they seem to be swapped.")
        given = parse_settings(setting)
        _refuse_other_rows(given, value)
        table = to_settings_table(given, columns.parameters)
        count = len(table)
        if trial is not None and count != 1:
            raise InputError(f"trial is the number of one suggestion; got {count} settings. Tell them one at a time.")
        numbers: list[int | None] = [None if trial is None else get_trial_number(trial)] * count
        extras: list[dict[str, Any]] = [{}] * count
        suggestions: list[Suggestion | None] = [None] * count
        notes = [check_note(note)] * count
        if isinstance(given, pd.DataFrame):
            if trial is None and columns.trial in given.columns:
                numbers = [_parse_trial_number(cell) for cell in given[columns.trial]]
            if not note and columns.note in given.columns:
                notes = ["" if is_missing(cell) else str(cell) for cell in given[columns.note]]
            _refuse_misnamed(given, columns)
            names = columns.select_extra(given.columns)
            rows = given.to_dict("records")
            extras = [{str(name): row[name] for name in names if not is_missing(row[name])} for row in rows]
        else:
            suggestions = [one if isinstance(one, Suggestion) else None for one in given]
            extras = [
                {str(name): one[name] for name in columns.select_extra(one) if not is_missing(one[name])}
                for one in given
            ]
        return cls(
            table,
            parse_measurements(value, failed, count, aims),
            suggestions,
            numbers,
            trial is not None,
            extras,
            notes,
            parse_noises(noise_std, count, aims),
            parse_costs(cost, count),
        )

    def find_repeats(self, history: History) -> list[Trial]:
        """Results that there are already of the suggestions that these are said to be runs of."""
        told = {trial.id: trial for trial in history.told}
        found = [None if one is None else (told.get(one.trial), one) for one in self.suggestions]
        return [one[0] for one in found if one and one[0] and is_same_setting(one[0].suggested, one[1].suggested)]

    def refuse_told_before(self, history: History) -> None:
        """An `InputError` for a suggestion that has a result already: somebody else may have been faster."""
        numbers = [number for number in self.numbers if number is not None and self.must_be_pending]
        named = [trial for trial in history.told if trial.id in numbers]
        for trial in (*self.find_repeats(history), *named):
            raise InputError(
                f"Trial {trial.id} was told already: {trial}. Nothing was changed. Amend it if it is wrong; for a "
                "second run of the same setting, tell dict(setting)."
            )

    def append_to(self, history: History, space: Space, box: Box) -> History:
        """The history with these results, or an `InputError`."""
        refuse_dates(self.settings, space)
        codes = encode_run_settings(self.settings, box)  # refuses what lies outside
        for row, told in enumerate(self.settings.to_dict("records")):
            setting = recognise_setting(told, space)
            meant = self._find_named_trial(row, history) or self._find_similar_trial(
                row, setting, codes[row], history, box
            )
            history = history.append_result(
                setting,
                self.measured[row].value,
                meant,
                self.notes[row],
                self.extras[row],
                more=self.measured[row].more,
                noise=self.noise[row],
                cost=self.costs[row],
            )
        return history

    def _find_named_trial(self, row: int, history: History) -> Trial | None:
        """The trial that the row names, or whose suggestion it is: a pending one, or one that was cancelled."""
        number, suggestion = self.numbers[row], self.suggestions[row]
        if number is None:
            return None if suggestion is None else suggestion.find_own_trial(history.awaited)
        awaited = {trial.id: trial for trial in history.awaited}
        if self.must_be_pending and number not in awaited:
            pending = format_list(trial.id for trial in history.pending)
            raise InputError(
                f"trial must be the number of a pending one ({pending or 'there is none'}); got {number!r}."
            )
        return awaited.get(number)

    def _find_similar_trial(
        self, row: int, setting: Setting, codes: torch.Tensor, history: History, box: Box
    ) -> Trial | None:
        """The pending trial with the same setting; for settings that `ask` did not return also one within 5 %."""
        same = next((trial for trial in history.pending if is_same_setting(trial.setting, setting)), None)
        if same is not None or self.suggestions[row] is not None or not history.pending:
            return same
        under_way = encode_run_settings(collect_settings(history.pending), box)
        distances = (under_way - codes).abs().amax(-1) / 2
        nearest = int(distances.argmin())
        return history.pending[nearest] if distances[nearest] <= MEANT else None


def get_pending_trial(setting: Any, history: History, space: Space, what: str) -> Trial:
    """The pending trial with this number, or whose suggestion this is, or else one with the same setting.

    An `InputError` that begins with `what` if there is none.
    """
    if isinstance(setting, list | tuple | pd.DataFrame):
        raise InputError(f"{what}, one at a time; got {type(setting).__name__} of {len(setting)}.")
    pending = {trial.id: trial for trial in history.pending}
    found = None
    if isinstance(setting, Suggestion):
        found = setting.find_own_trial(history.pending)
    elif isinstance(setting, Trial | int | np.integer):
        found = pending.get(get_trial_number(setting))
    if found is None and isinstance(setting, Mapping | pd.Series) and all(name in setting for name in space.names):
        with suppress(TypeError, ValueError, OverflowError):  # no number where one should be: not among them
            meant = recognise_setting(dict(setting), space)
            found = next((trial for trial in history.pending if is_same_setting(trial.setting, meant)), None)
    if found is None:
        known = "; ".join(f"{number}: {format_setting(trial.setting)}" for number, trial in list(pending.items())[:5])
        raise InputError(f"{what}; {format_value(setting, 200)} is not among them ({known or 'nothing is pending'}).")
    return found


def find_trial(setting: Any, history: History, space: Space) -> Trial | None:
    """The trial that is meant: pending or told, by number or by its setting; None for a setting that is neither.

    An `InputError` for what is neither the number of a trial nor a setting.
    """
    if isinstance(setting, Trial | int | np.integer) and not isinstance(setting, bool):
        number = get_trial_number(setting)
        return next((one for one in history.pending if one.id == number), None) or history.get_result(number)
    if isinstance(setting, Suggestion) and (found := setting.find_own_trial(history.pending)) is not None:
        return found
    table = to_settings_table(setting, space.names)
    if len(table) != 1:
        raise InputError(f"One setting at a time can be explained; got {len(table)}.")
    meant = recognise_setting(table.iloc[0].to_dict(), space)
    return next((one for one in (*history.pending, *history.told[::-1]) if is_same_setting(one.setting, meant)), None)


def get_trial_number(trial: Any) -> int:
    """The number of a trial: of a `Trial`, a suggestion, or the number itself."""
    if isinstance(trial, Trial):
        return trial.id
    if isinstance(trial, Suggestion):
        return trial.trial
    if isinstance(trial, int | np.integer) and not isinstance(trial, bool):
        return int(trial)
    raise InputError(
        f"A trial is given by its number (opt.history has a column of them), as a Trial, or as what ask returned; "
        f"got {type(trial).__name__} {format_value(trial)}."
    )


def _parse_trial_number(cell: Any) -> int | None:
    try:
        return parse_trial_number(cell)
    except InputError as error:
        raise InputError(f"The trial's number {error}.") from None


def _refuse_other_rows(settings: Any, values: Any) -> None:
    """Refuse a table and values that belong to other rows of one, by their index."""
    tables = isinstance(settings, pd.DataFrame) and isinstance(values, pd.DataFrame | pd.Series)
    if tables and len(settings) == len(values) and not settings.index.equals(values.index):
        raise InputError(
            "The settings and their values have different indices, so they may belong to different rows. Take both "
            "from the same rows of a table, or pass values.to_numpy() if they are in the same order."
        )


def refuse_dates(settings: pd.DataFrame, space: Space) -> None:
    """An `InputError` for a date or a duration where a number should be: NumPy would make one of it."""
    for parameter in space.parameters:
        cells = settings[parameter.name] if isinstance(parameter, Numeric) else ()
        wrong = next((cell for cell in cells if isinstance(cell, _DATES)), None)
        if wrong is not None:
            raise InputError(f"{parameter.name!r} must be numbers; got the date or duration {wrong!r}.")


def check_note(note: str) -> str:
    """The note, if it is text."""
    if not isinstance(note, str):
        raise InputError(f"note must be text; got {type(note).__name__} {format_value(note)}.")
    return note


def _refuse_misnamed(table: pd.DataFrame, columns: HistoryColumns) -> None:
    """A column of the user's own with a name that the history has for something else would get lost."""
    known: dict[str, Mapping[str, object]] = {
        columns.state: STATES,
        columns.asked: FLAGS,
        columns.direction: DIRECTIONS,
    }
    for name, words in known.items():
        for cell in table[name] if name in table.columns else ():
            if not is_empty_cell(cell) and str(cell).strip().casefold() not in words:
                raise InputError(
                    f"The column {name!r} is the history's own, for {format_list(words)}; got {cell!r}. Rename yours."
                )
