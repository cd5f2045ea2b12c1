"""Parse the arguments of `tell`: settings, results, noise and cost of runs, and the trials that they belong to."""

import datetime
import numbers
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite, isnan, nan
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from tunedprior.checks import Numbers, format_list, format_value, refuse_other_types, suggest_name, warn
from tunedprior.errors import InputError, OddResultWarning
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import MEANT, Objective, encode_run_settings
from tunedprior.history.cells import FLAGS, is_empty_cell, parse_label, parse_trial_number
from tunedprior.history.table import DIRECTIONS, STATES, HistoryColumns
from tunedprior.history.trials import (
    History,
    Trial,
    collect_settings,
    format_setting,
    is_same_setting,
    recognise_setting,
)
from tunedprior.space.encoding import Box, to_settings_table
from tunedprior.space.parameters import Numeric, is_missing, is_number
from tunedprior.space.search_space import Setting, Space
from tunedprior.tables.cells import is_infinite


def parse_settings(given: Any) -> pd.DataFrame | list[Setting]:
    """Parse a table or a list of settings; a single setting becomes a list of one, a row a table of one."""
    if isinstance(given, pd.DataFrame):
        return given
    if isinstance(given, pd.Series):
        return pd.DataFrame([dict(given)], dtype=object)
    each = [given] if isinstance(given, Mapping) else given
    if not isinstance(each, Sequence) or isinstance(each, str | bytes):
        raise InputError(
            "A setting is a dict of names and values, as ask returns it; several are a list of them or a table; got "
            f"{type(given).__name__} {format_value(given)}."
        )
    for one in each:
        if not isinstance(one, Mapping | pd.Series):
            raise InputError(
                f"Each setting must be a dict of names and values; got {type(one).__name__} {format_value(one)}."
            )
    return [one if isinstance(one, dict) else dict(one) for one in each]


def parse_outcomes(value: Any, failed: Any, count: int) -> list[float]:
    """One number for each of `count` settings, NaN for failed runs."""
    flags = parse_failed_flags(failed, count)
    if value is None and all(flags):
        return [nan] * count
    if value is None:
        raise InputError("tell needs a value for each setting, or failed=True.")
    told = [parse_outcome(cell) for cell in list_cells(value, "Values")]
    if len(told) != count:
        raise InputError(f"tell needs one value for each of the {count} settings; got {len(told)}.")
    return [nan if flag else number for number, flag in zip(told, flags, strict=True)]


def parse_outcome(cell: Any) -> float:
    """Parse a finite number, or NaN from NaN and None; an infinity is a failed run (NaN), with a warning.

    Diverged losses are told as infinity: an error would lose the run. All else, such as text and dates, is an
    `InputError`.
    """
    if cell is np.ma.masked:
        return nan
    if isinstance(cell, np.ndarray | Tensor) and cell.ndim == 0:
        cell = cell.item()
    if is_missing(cell) or (isinstance(cell, Decimal) and cell.is_nan()):
        return nan
    if isinstance(cell, str):
        raise InputError(
            f"Values must be numbers, or NaN for a failed run; got the text {cell!r}. Write a number, with a point."
        )
    if is_infinite(cell):
        warn(f"A value of {float(cell)} is no measurement: it is kept as a failed run.", OddResultWarning)
        return nan
    # A flag is 0 or 1. np.timedelta64 counts itself among the whole numbers.
    real = isinstance(cell, numbers.Real | Decimal | np.bool_) and not isinstance(cell, np.timedelta64)
    if not real:
        raise InputError(
            f"Values must be numbers, or NaN for a failed run; got {type(cell).__name__} {format_value(cell)}."
        )
    try:
        number = float(cell)
    except OverflowError:
        number = float("inf")
    if not isfinite(number):
        raise InputError(f"Values must be finite, or NaN for a failed run; got {number}.")
    return number


def list_cells(given: Any, what: str) -> list[Any]:
    """The cells of one number, a list, an array, a tensor, a Series, or a table with one column."""
    if isinstance(given, Tensor):
        given = given.detach().cpu()
        given = (given.double() if given.is_floating_point() else given).numpy()  # NumPy has no bfloat16
    if isinstance(given, pd.DataFrame | np.ndarray):
        shape = given.shape
        if len(shape) > 2 or (len(shape) == 2 and shape[1] != 1):
            raise InputError(f"{what} must be one number for each setting, in one column; got shape {shape}.")
        given = given.iloc[:, 0] if isinstance(given, pd.DataFrame) else given.reshape(-1)
    if isinstance(given, pd.Series | np.ndarray):
        return list(given)
    if isinstance(given, Mapping | set):
        raise InputError(f"{what} must be one number for each setting, in order; got {type(given).__name__}.")
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        if given and all(_is_column(one) for one in given):
            return [one[0] for one in given]  # n rows of one number each
        return list(given)
    return [given]


def _is_column(one: Any) -> bool:
    return (isinstance(one, list | tuple) or (isinstance(one, np.ndarray | Tensor) and one.ndim == 1)) and len(one) == 1


def parse_failed_flags(failed: Any, count: int) -> list[bool]:
    """Whether each of `count` runs failed."""
    cells = list_cells(failed, "failed")
    for cell in cells:
        if not isinstance(cell, numbers.Real | np.bool_) or cell not in (0, 1):
            raise InputError(f"failed must be True or False; got {type(cell).__name__} {cell!r}.")
    if len(cells) not in (1, count):
        raise InputError(f"failed must be one flag, or one for each of the {count} settings; got {len(cells)}.")
    return [bool(cell) for cell in cells] if len(cells) == count else [bool(cells[0])] * count


@dataclass(frozen=True)
class Measurement:
    """The measured values of one run, with the fields of `Trial`; empty for a failed run."""

    value: float = nan
    more: Mapping[str, float] = field(default_factory=dict)


def parse_measurements(value: Any, failed: Any, count: int, goals: Goals) -> list[Measurement]:
    """Parse the measurements of each of `count` settings; an `InputError` for anything that is no response."""
    if len(goals.responses) == 1 and not _is_by_name(value):
        found = [Measurement(one) for one in parse_outcomes(value, failed, count)]
    else:
        flags = parse_failed_flags(failed, count)
        if count == 1 and isinstance(value, float) and isnan(value):
            return [Measurement()]
        if value is None and not all(flags):
            raise InputError(_describe_expected_form(goals, "nothing"))
        rows = [{}] * count if value is None else _convert_to_rows(value, goals)
        if len(rows) != count:
            raise InputError(f"tell needs the responses of each of the {count} settings; got {len(rows)}.")
        found = [_parse_row(row, flag, goals) for row, flag in zip(rows, flags, strict=True)]
    for one in found:
        if not isnan(one.value):
            goals.main.refuse_impossible_value(one.value)
        for response in goals.others:
            if response.name in one.more:
                response.refuse_impossible_value(one.more[response.name])
    return found


def list_boolean_responses(value: Any, goals: Goals) -> list[Objective]:
    """The numeric responses that are told as True or False."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return []
    if len(goals.responses) == 1 and not _is_by_name(value):
        rows: list[Mapping[Any, Any]] = [{goals.main.name: cell} for cell in list_cells(value, "Values")]
    else:
        rows = _convert_to_rows(value, goals)
    flags = {name for row in rows for name, cell in row.items() if isinstance(cell, bool | np.bool_)}
    return [one for one in goals.responses if one.name in flags and not one.labels]


def _broadcast_to_runs(given: Any, count: int, what: str) -> list[Any]:
    """One value for each of `count` settings, from as many or from one for all."""
    if not isinstance(given, list | tuple | np.ndarray | pd.Series):
        return [given] * count
    if len(given) != count:
        raise InputError(f"{what} must be one for all, or one for each of the {count} settings; got {len(given)}.")
    return list(given)


def _parse_noise(noise_std: Any, goals: Goals) -> dict[str, float]:
    """The noise of each response in a run, by name; a number is that of the only response."""
    if is_missing(noise_std):
        return {}
    names = [one.name for one in goals.objectives]
    if not isinstance(noise_std, Mapping):
        if len(names) > 1:
            raise InputError(
                f"noise_std must be a dict by response ({format_list(names)}); got {format_value(noise_std)}."
            )
        noise_std = {names[0]: noise_std}
    unknown = [name for name in noise_std if name not in names]
    if unknown:
        raise InputError(
            f"noise_std names {format_list(map(format_value, unknown))}, and the responses are {format_list(names)}."
        )
    return {name: check_number(one, f"noise_std of {name!r}", least=0.0) for name, one in noise_std.items()}


def _parse_cost(cost: Any) -> float:
    """The cost of a run; NaN where it was not told."""
    if is_missing(cost):
        return nan
    if not is_number(cost) or not 0 < cost < float("inf"):
        raise InputError(f"cost must be a number above 0, as improvement is divided by it; got {format_value(cost)}.")
    return float(cost)


def check_number(given: Any, what: str, least: float) -> float:
    """Check a finite number of at least this; an `InputError` otherwise."""
    if not is_number(given) or not np.isfinite(given) or given < least:
        raise InputError(f"{what} must be a finite number, {least:g} or more; got {format_value(given)}.")
    return float(given)


def _is_by_name(value: Any) -> bool:
    several = isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(one, Mapping) for one in value)
    return isinstance(value, Mapping) or several


def _convert_to_rows(value: Any, goals: Goals) -> list[Mapping[Any, Any]]:
    if isinstance(value, pd.DataFrame):
        return list(value.to_dict("records"))
    if isinstance(value, pd.Series):
        return [dict(value)]
    if isinstance(value, Mapping):
        return [value]
    if isinstance(value, Sequence) and all(one is None or isinstance(one, Mapping | pd.Series) for one in value):
        return [{} if one is None else dict(one) for one in value]
    raise InputError(_describe_expected_form(goals, f"{type(value).__name__} {format_value(value)}"))


def _describe_expected_form(goals: Goals, got: str) -> str:
    example = ", ".join(f"{one.name!r}: {'pass' if one.labels else '…'}" for one in goals.responses)
    return f"tell takes what was measured as a dict, {{{example}}}, of which some may be left out; got {got}."


def _parse_row(row: Mapping[Any, Any], failed: bool, goals: Goals) -> Measurement:
    names = [one.name for one in goals.responses]
    unknown = [name for name in row if name not in names]
    if unknown:
        raise InputError(
            f"The responses are {format_list(names)}; got {format_list(map(format_value, unknown))}. Name it in "
            "objectives or "
            f"requirements, or leave it out.{suggest_name(unknown, names)}"
        )
    found = {one.name: _parse_cell(row[one.name], one) for one in goals.responses if one.name in row}
    found = {name: value for name, value in found.items() if not isnan(value)}
    if failed and found:
        raise InputError(f"A run has responses ({format_list(found)}), or it failed; got both. Leave one of them out.")
    if failed or (not found and all(name in row for name in names)):
        return Measurement()
    if not found:
        raise InputError(
            _describe_expected_form(goals, "none of them") + " Tell a run that gave nothing with failed=True."
        )
    return Measurement(found.pop(goals.main.name, nan), found)


def _parse_cell(cell: Any, response: Objective) -> float:
    if is_missing(cell) or is_empty_cell(cell):
        return nan
    try:
        return parse_label(cell) if response.labels else parse_outcome(cell)
    except InputError as error:
        raise InputError(f"{response.name!r}: {error}{'' if str(error).endswith('.') else '.'}") from None


#: What may be told of runs: numbers, or several responses by name.
RunResult = Numbers | Mapping[str, Any] | Sequence[Mapping[str, Any]] | pd.DataFrame
_DATES = (datetime.date, datetime.timedelta, np.datetime64, np.timedelta64)


class Suggestion(dict[str, Any]):
    """A suggested setting with the number of its trial, so that its result is assigned to that trial."""

    def __init__(self, setting: Setting, trial: int, suggested: Setting | None = None) -> None:
        super().__init__(setting)
        self.trial = trial
        self.suggested = dict(setting if suggested is None else suggested)

    def __reduce__(self) -> tuple[Any, ...]:
        return Suggestion, (dict(self), self.trial, self.suggested)

    def find_own_trial(self, trials: Sequence[Trial]) -> Trial | None:
        """Find the trial that it was suggested for, even if the setting was changed since."""
        return next(
            (one for one in trials if one.id == self.trial and is_same_setting(one.suggested, self.suggested)), None
        )


@dataclass(frozen=True)
class Run:
    """Settings that were run, in the order they are told.

    Attributes:
        settings: A table with the parameters' columns, and possibly more.
        measured: The measurements of each.
        suggestions: The suggestion that `ask` returned, for each setting that is one; None for others.
        numbers: The numbers of the suggestions that the user names for the settings; None where there is none.
        must_be_pending: Whether a number is an error if its trial is neither pending nor cancelled.
        extras: The user's own columns.
        notes: The note of each.
        noise: The noise of each response in each run, by name, where it was told.
        costs: The cost of each run; NaN if it was not told.
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
        goals: Goals,
        noise_std: Any = None,
        cost: Any = None,
    ) -> "Run":
        """Parse the arguments of `Optimizer.tell`."""
        if isinstance(value, Mapping) and not isinstance(setting, Mapping | pd.Series):
            raise InputError("tell takes the setting first and then its value; they seem to be swapped.")
        given = parse_settings(setting)
        _refuse_other_rows(given, value)
        table = to_settings_table(given, columns.parameters)
        count = len(table)
        if trial is not None and count != 1:
            raise InputError(f"trial is the number of one suggestion; got {count} settings. Tell them one at a time.")
        numbers: list[int | None] = [None if trial is None else get_trial_number(trial)] * count
        notes = [check_note(note)] * count
        rows: Any = given
        if isinstance(given, pd.DataFrame):
            if trial is None and columns.trial in given.columns:
                numbers = [_parse_trial_number(cell) for cell in given[columns.trial]]
            if not note and columns.note in given.columns:
                notes = ["" if is_missing(cell) else str(cell) for cell in given[columns.note]]
            _refuse_misnamed(given, columns)
            rows = given.to_dict("records")
        return cls(
            table,
            parse_measurements(value, failed, count, goals),
            [row if isinstance(row, Suggestion) else None for row in rows],
            numbers,
            trial is not None,
            [{str(name): row[name] for name in columns.select_extra(row) if not is_missing(row[name])} for row in rows],
            notes,
            [_parse_noise(one, goals) for one in _broadcast_to_runs(noise_std, count, "noise_std")],
            [_parse_cost(one) for one in _broadcast_to_runs(cost, count, "cost")],
        )

    def find_repeats(self, history: History) -> list[Trial]:
        """Find results that the named suggestions have already."""
        told = {trial.id: trial for trial in history.told}
        found = [(told.get(one.trial), one) for one in self.suggestions if one is not None]
        return [trial for trial, one in found if trial and is_same_setting(trial.suggested, one.suggested)]

    def refuse_told_before(self, history: History) -> None:
        """Raise an `InputError` for a suggestion that has a result already: somebody else may have been faster."""
        numbers = [number for number in self.numbers if number is not None and self.must_be_pending]
        named = [trial for trial in history.told if trial.id in numbers]
        for trial in (*self.find_repeats(history), *named):
            raise InputError(
                f"Trial {trial.id} was told already: {trial}. Nothing was changed. Amend it if it is wrong; for a "
                "second run of the same setting, tell dict(setting)."
            )

    def append_to(self, history: History, space: Space, box: Box) -> History:
        """Append these results to the history, or raise an `InputError`."""
        refuse_dates(self.settings, space)
        X = encode_run_settings(self.settings, box)  # refuses what lies outside
        for row, told in enumerate(self.settings.to_dict("records")):
            setting = recognise_setting(told, space)
            meant = self._find_named_trial(row, history) or self._find_similar_trial(row, setting, X[row], history, box)
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
        """Find the pending or cancelled trial that the row names, or whose suggestion it is."""
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
        self, row: int, setting: Setting, X: torch.Tensor, history: History, box: Box
    ) -> Trial | None:
        """Find the pending trial with the same setting; for settings that `ask` did not return, also one within 5 %."""
        same = next((trial for trial in history.pending if is_same_setting(trial.setting, setting)), None)
        if same is not None or self.suggestions[row] is not None or not history.pending:
            return same
        pending_X = encode_run_settings(collect_settings(history.pending), box)
        distances = (pending_X - X).abs().amax(-1) / 2
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
    """Find a pending or told trial by its number or setting; None for a setting without a trial.

    An `InputError` for anything that is neither the number of a trial nor a setting.
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
    """The number of a trial, given as a `Trial`, a suggestion, or a number."""
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
    """Refuse a table and values whose indices differ: they belong to different rows."""
    tables = isinstance(settings, pd.DataFrame) and isinstance(values, pd.DataFrame | pd.Series)
    if tables and len(settings) == len(values) and not settings.index.equals(values.index):
        raise InputError(
            "The settings and their values have different indices, so they may belong to different rows. Take both "
            "from the same rows of a table, or pass values.to_numpy() if they are in the same order."
        )


def refuse_dates(settings: pd.DataFrame, space: Space) -> None:
    """Raise an `InputError` for a date or a duration in place of a number, as NumPy would convert it."""
    for parameter in space.parameters:
        cells = settings[parameter.name] if isinstance(parameter, Numeric) else ()
        wrong = next((cell for cell in cells if isinstance(cell, _DATES)), None)
        if wrong is not None:
            raise InputError(f"{parameter.name!r} must be numbers; got the date or duration {wrong!r}.")


def check_note(note: str) -> str:
    """Check that a note is text."""
    refuse_other_types(note, str, "note", "text")
    return note


def _refuse_misnamed(table: pd.DataFrame, columns: HistoryColumns) -> None:
    """Refuse a user's column with a name that the history uses for something else, as it would be lost."""
    known: dict[str, Mapping[str, object]] = {
        columns.state: STATES,
        columns.asked: FLAGS,
        columns.direction: DIRECTIONS,
    }
    for name, words in known.items():
        for cell in table.get(name, ()):
            if not is_empty_cell(cell) and str(cell).strip().casefold() not in words:
                raise InputError(
                    f"The column {name!r} is the history's own, for {format_list(words)}; got {cell!r}. Rename yours."
                )
