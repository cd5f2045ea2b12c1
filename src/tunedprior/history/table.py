"""Write a history as a table, a row for each trial, and read it back after people have edited it.

Added results and settings are accepted. If a row contradicts others, it is refused with its line and the reason, and
nothing is changed.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from tunedprior.checks import format_list, format_value
from tunedprior.errors import InputError
from tunedprior.goals.goals import Goals
from tunedprior.history.cells import (
    convert_numeric_text,
    is_empty_cell,
    parse_flag,
    parse_label,
    parse_number,
    parse_result,
    parse_trial_number,
    parse_value,
)
from tunedprior.history.trials import (
    CANCELLED,
    COMPLETE,
    FAILED,
    PENDING,
    WITHDRAWN,
    History,
    Trial,
    collect_settings,
    is_same_setting,
)
from tunedprior.space.parameters import is_missing
from tunedprior.space.search_space import Setting, Space

_WORDS = {1.0: "pass", -1.0: "fail"}


@dataclass(frozen=True)
class HistoryColumns:
    """The names of a history's columns: those of the parameters, and free ones for everything else.

    No name is reserved: where a parameter has a column's usual name, the column's gets a `_` at its end.
    """

    parameters: tuple[str, ...]
    response: str
    state: str
    asked: str
    trial: str
    direction: str
    note: str
    suggested: Mapping[str, str]
    others: Mapping[str, str]
    labels: frozenset[str]
    noise: Mapping[str, str]
    cost: str
    campaign: str

    @classmethod
    def from_space(cls, space: Space, goals: Goals) -> "HistoryColumns":
        """The columns for this space and these responses."""
        taken = set(space.names)

        def find_free_name(name: str) -> str:
            while name in taken:
                name += "_"
            taken.add(name)
            return name

        response, *more = map(find_free_name, (one.name for one in goals.responses))
        others = {one.name: column for one, column in zip(goals.others, more, strict=True)}
        usual = ("state", "asked", "trial", "direction", "note")
        state, asked, trial, direction, note = map(find_free_name, usual)
        suggested = {name: find_free_name(f"asked {name}") for name in space.names}
        labels = frozenset(one.name for one in goals.others if one.labels)
        noise = {one.name: find_free_name(f"noise of {one.name}") for one in goals.objectives}
        cost, campaign = find_free_name("cost of the run"), find_free_name("campaign")
        own = (state, asked, trial, direction, note)
        return cls(space.names, response, *own, suggested, others, labels, noise, cost, campaign)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, the responses last; without that of the campaign's id, which only sheets have."""
        own = (self.state, self.asked, self.trial, self.direction, self.note, *self.noise.values(), self.cost)
        return (*self.parameters, *own, *self.suggested.values(), *self.others.values(), self.response)

    def select_extra(self, names: Iterable[Any]) -> list[Any]:
        """The names among these that are the user's own columns: neither parameters nor bookkeeping."""
        ours = set(self.names)
        return [name for name in names if name not in ours]


def make_history_table(history: History, columns: HistoryColumns, direction: str | None = None) -> pd.DataFrame:
    """Make a table with a row for each trial: told ones in order, then pending ones, then those set aside.

    The settings, the responses (NaN for a failed run), the state, whether it was suggested, the trial's number and the
    direction; then, where there are any, notes, noise and cost, the user's own columns, and the suggested settings.
    """
    trials = history.trials
    table = pd.DataFrame([trial.setting for trial in trials], columns=list(columns.parameters))
    table[columns.response] = np.array([trial.value for trial in trials], dtype=np.float64)
    for name, column in columns.others.items():
        told = [trial.more.get(name, np.nan) for trial in trials]
        table[column] = [_WORDS.get(one) for one in told] if name in columns.labels else np.array(told, dtype=float)
    table[columns.state] = [trial.state for trial in trials]
    table[columns.asked] = [trial.is_suggestion for trial in trials]
    table[columns.trial] = np.array([trial.id for trial in trials], dtype=np.int64)
    if direction:
        table[columns.direction] = direction
    if any(trial.note for trial in trials):
        table[columns.note] = [trial.note for trial in trials]
    for name, column in columns.noise.items():
        if any(name in trial.noise for trial in trials):
            table[column] = [trial.noise.get(name, np.nan) for trial in trials]
    if not all(np.isnan(trial.cost) for trial in trials):
        table[columns.cost] = [trial.cost for trial in trials]
    for name in dict.fromkeys(name for trial in trials for name in trial.extra):
        table[name] = [trial.extra.get(name) for trial in trials]
    if any(trial.is_suggestion and not is_same_setting(trial.suggested, trial.setting) for trial in trials):
        for name, column in columns.suggested.items():
            table[column] = [None if trial.suggested is None else trial.suggested[name] for trial in trials]
    return table


_LISTED = 5  # problems in one message
#: How people write a state, in small letters.
STATES = {
    **dict.fromkeys(("complete", "completed", "done", "ok"), COMPLETE),
    **dict.fromkeys(("failed", "fail"), FAILED),
    **dict.fromkeys(("pending", "open"), PENDING),
    **dict.fromkeys(("cancelled", "canceled"), CANCELLED),
    "withdrawn": WITHDRAWN,
}
DIRECTIONS = {
    **dict.fromkeys(("maximize", "maximise"), "maximize"),
    **dict.fromkeys(("minimize", "minimise"), "minimize"),
}

Row = Mapping[Hashable, Any]


def parse_history(
    table: pd.DataFrame,
    columns: HistoryColumns,
    space: Space,
    where: Callable[[int], str] = lambda row: f"row {row}",
    direction: str | None = None,
    check: Callable[[Sequence[Setting]], object] | None = None,
) -> History:
    """Parse the history that `make_history_table` wrote, as people have edited it since.

    Args:
        table: The history; cells may be text. Trial numbers, notes and the like may be missing.
        columns: The names of its columns.
        space: The search space.
        where: Names a row, counted from 0, in messages, such as "line 7".
        direction: The direction that the history must be for; None: any.
        check: Raises an `InputError` for settings that cannot be used; None: all can.
    """

    def find_unusable(found: Mapping[int, Trial]) -> dict[int, str]:
        return {} if check is None else _find_unusable(found, check)

    trials = _assign_numbers(list(parse_trials(table, columns, space, where, direction, find_unusable).values()))
    return History(
        tuple(trial for trial in trials if not trial.is_pending and not trial.set_aside),
        tuple(trial for trial in trials if trial.is_pending),
        tuple(trial for trial in trials if trial.set_aside),
    )


def parse_trials(
    table: pd.DataFrame,
    columns: HistoryColumns,
    space: Space,
    where: Callable[[int], str],
    direction: str | None,
    wrong: Callable[[Mapping[int, Trial]], Mapping[int, str]],
    what: str = "The history",
) -> dict[int, Trial]:
    """Parse the trial in each row (from 0) that is not blank; a trial without a number has 0.

    Args:
        table: As for `parse_history`, as are the next four.
        columns: The names of its columns.
        space: The search space.
        where: Names a row in messages.
        direction: The direction that the table must be for; None: any.
        wrong: Finds problems of trials that can be read, by row.
        what: What the table is, for messages.
    """
    rows = _list_rows(table, columns)
    reader = _Reader(columns, space, direction)
    problems: dict[int, str] = {}
    found: dict[int, Trial] = {}
    for number, row in enumerate(rows):
        if all(is_empty_cell(cell) for cell in row.values()):
            continue  # spreadsheets leave such rows behind
        try:
            found[number] = reader.parse_trial(row)
        except InputError as error:
            problems[number] = str(error)
    problems |= _find_repeated_numbers(found, where)
    problems |= wrong({number: trial for number, trial in found.items() if number not in problems})
    if problems:
        lines = [f"\n  {where(number)}: {problems[number]}" for number in sorted(problems)]
        more = f"\n  … and {len(lines) - _LISTED} more" if len(lines) > _LISTED else ""
        raise InputError(
            f"{what} holds {len(lines)} {'row' if len(lines) == 1 else 'rows'} that cannot be taken, so nothing "
            f"was:{''.join(lines[:_LISTED])}{more}"
        )
    return found


def _list_rows(table: Any, columns: HistoryColumns) -> list[dict[Hashable, Any]]:
    if not isinstance(table, pd.DataFrame):
        raise InputError(f"A history is a table, as opt.history is; got {type(table).__name__}.")
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()].unique()
        raise InputError(
            f"A history's columns must have different names; there are several called {format_list(twice)}."
        )
    needed = (*columns.parameters, columns.response, *columns.others.values(), columns.state, columns.asked)
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise InputError(
            f"A history has the columns that opt.history has; {format_list(missing)} is missing (there are "
            f"{format_list(table.columns)}). A table of results alone goes to tell(table, table[{columns.response!r}])."
        )
    cells = {name: table[name].tolist() for name in table.columns}
    cells |= {name: convert_numeric_text(cells[name]) for name in columns.select_extra(table.columns)}
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


@dataclass(frozen=True)
class _Reader:
    """Parses one row after the other."""

    columns: HistoryColumns
    space: Space
    direction: str | None

    def parse_trial(self, row: Row) -> Trial:
        """Parse the trial in a row, with number 0 if the row has none; an `InputError` says what is wrong with it."""
        columns = self.columns
        self._check_direction(row.get(columns.direction))
        number = _parse_cell(
            columns.trial, _parse_number_or_zero, row.get(columns.trial)
        )  # first: it tells totals from runs
        setting = self._parse_setting(row, {name: name for name in columns.parameters})
        cell, written = row[columns.response], _parse_cell(columns.state, _parse_state, row[columns.state])
        if STATES.get(str(cell).strip().casefold()) == FAILED and written in ("", PENDING, FAILED):
            cell, written = None, FAILED  # the word stands where the value would
        value = None if is_empty_cell(cell) else _parse_cell(columns.response, parse_result, cell)
        more = self._parse_other_responses(row)
        flag = _parse_cell(columns.asked, parse_flag, row[columns.asked])
        state = self._infer_state(written, next(iter(more.values()), None) if value is None else value, flag)
        # Only what was asked for can be under way or be cancelled; and the setting that was asked for tells it too.
        suggested = None if flag is False else self._parse_suggested(row)
        if suggested is None and (flag or written in (PENDING, CANCELLED)):
            suggested = setting
        note = row.get(columns.note)
        return Trial(
            setting,
            nan if value is None else value,
            suggested,
            number,
            is_pending=state == PENDING,
            note="" if is_missing(note) else str(note),
            extra={str(name): row[name] for name in columns.select_extra(row) if _is_filled(row[name])},
            set_aside=state if state in (CANCELLED, WITHDRAWN) else "",
            more=more,
            noise=self._parse_filled(row, columns.noise, parse_number),
            cost=self._parse_filled(row, {"": columns.cost}, parse_number).get("", nan),
        )

    def _parse_other_responses(self, row: Row) -> dict[str, float]:
        """The other responses in a row, as far as they are filled in."""
        columns = self.columns
        labels = {name: column for name, column in columns.others.items() if name in columns.labels}
        numbers = {name: column for name, column in columns.others.items() if name not in columns.labels}
        found = self._parse_filled(
            row, numbers, partial(parse_result, choices="a number, or leave it blank")
        ) | self._parse_filled(row, labels, parse_label)
        return {name: found[name] for name in columns.others if name in found}

    @staticmethod
    def _parse_filled(row: Row, columns: Mapping[str, str], read: Callable[[Any], float]) -> dict[str, float]:
        filled = {name: column for name, column in columns.items() if not is_empty_cell(row.get(column))}
        return {name: _parse_cell(column, read, row[column]) for name, column in filled.items()}

    def _check_direction(self, cell: Any) -> None:
        if is_empty_cell(cell) or not self.direction:
            return
        word = str(cell).strip().casefold()
        if DIRECTIONS.get(word, word) != self.direction.casefold():
            raise InputError(
                f"{self.columns.direction} is {cell!r}, and this Optimizer's is {self.direction!r}. Make one with the "
                "direction of the history (or rename the column, if it is one of your own)"
            )

    def _parse_setting(self, row: Row, names: Mapping[str, str]) -> Setting:
        """The setting in the columns with these names."""
        return {
            parameter.name: _parse_cell(
                names[parameter.name], partial(parse_value, parameter), row[names[parameter.name]]
            )
            for parameter in self.space.parameters
        }

    def _parse_suggested(self, row: Row) -> Setting | None:
        """The suggested setting; None if the table does not say, or if it is the one that was run."""
        names = self.columns.suggested
        if not all(column in row for column in names.values()) or all(is_missing(row[c]) for c in names.values()):
            return None
        try:
            return self._parse_setting(row, names)
        except InputError:
            if all(is_empty_cell(row[column]) for column in names.values()):
                return None  # blanks that are no categories
            raise

    def _infer_state(self, written: str, value: float | None, asked: bool | None) -> str:
        """The state that the row's cells imply; an `InputError` where they contradict each other."""
        response = self.columns.response
        if value is not None:
            if written in (FAILED, CANCELLED):
                raise InputError(f"is {written}, but {response} is {value:g}. Clear one of the two")
            return written if written == WITHDRAWN else COMPLETE
        if written == COMPLETE:
            raise InputError(f"is complete, but {response} is blank. Fill it in, or write failed or pending")
        if written in (PENDING, CANCELLED) and asked is False:
            raise InputError(f"is {written}, but was not asked for. Write its result, or remove it")
        if not written and not asked:
            raise InputError(f"has neither {response} nor {self.columns.state}. Fill one in, or remove it")
        return written or PENDING


def _parse_cell(column: str, read: Callable[[Any], Any], cell: Any) -> Any:
    """Parse a cell by `read`; an error's message begins with the column's name."""
    try:
        return read(cell)
    except InputError as error:
        raise InputError(f"{column} {error}") from None


def _is_filled(cell: Any) -> bool:
    return not (is_missing(cell) or (isinstance(cell, str) and cell == ""))


def _parse_number_or_zero(cell: Any) -> int:
    """The number of a trial, 0 for a blank cell."""
    if isinstance(cell, str) and any(map(str.isalpha, cell)) and not is_empty_cell(cell):
        raise InputError(f"is {format_value(cell)}, which is no trial's number: remove the row if it is a total")
    return parse_trial_number(cell) or 0


def _parse_state(cell: Any) -> str:
    word = "" if is_empty_cell(cell) else str(cell).strip().casefold()
    if word and word not in STATES:
        raise InputError(f"is {cell!r}; write {', '.join(dict.fromkeys(STATES.values()))} or nothing")
    return STATES.get(word, "")


def _find_repeated_numbers(found: Mapping[int, Trial], where: Callable[[int], str]) -> dict[int, str]:
    """Rows whose trial number an earlier row has."""
    first: dict[int, int] = {}
    return {
        row: f"has trial number {trial.id}, and so has {where(first[trial.id])}. Clear the one that is new"
        for row, trial in found.items()
        if trial.id and first.setdefault(trial.id, row) != row
    }


def _find_unusable(found: Mapping[int, Trial], check: Callable[[Sequence[Setting]], object]) -> dict[int, str]:
    """Rows with a setting that cannot be used; checked all at once, and one by one only if there are any."""

    def get_complaint(trials: Sequence[Trial]) -> str:
        try:
            check([*collect_settings(trials), *(trial.suggested for trial in trials if trial.suggested is not None)])
        except InputError as error:
            return str(error)
        return ""

    if not get_complaint(list(found.values())):
        return {}
    return {row: text for row, trial in found.items() if (text := get_complaint([trial]))}


def _assign_numbers(trials: Sequence[Trial]) -> list[Trial]:
    """Give the next free numbers to trials without one."""
    free = count(1 + max((trial.id for trial in trials), default=0))
    return [trial if trial.id else replace(trial, id=next(free)) for trial in trials]
