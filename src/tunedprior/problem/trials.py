"""Trials and the history of them, as frozen values, and their form as a table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import Any

import numpy as np
import pandas as pd

from tunedprior.checks import listed
from tunedprior.errors import InputError
from tunedprior.problem.space import Setting, Space

COMPLETE, FAILED, PENDING = "complete", "failed", "pending"


@dataclass(frozen=True, eq=False)
class Trial:
    """A setting and what came of it.

    Attributes:
        setting: What was run, or is to be run.
        value: The response; NaN for a failed run and while it is pending.
        suggested: The setting that was asked for, which need not be quite the one that was run; None if none was.
        id: Its number in the history; it is given when a setting is asked for, and stays.
        is_pending: Whether it was asked for and nothing told of it yet.
        note: Whatever was noted.
        extra: Whatever else was told of it, by the user's column names.
    """

    setting: Setting
    value: float = nan
    suggested: Setting | None = None
    id: int = 0
    is_pending: bool = False
    note: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    __hash__ = None  # type: ignore[assignment]  # settings are dicts

    def __eq__(self, other: object) -> bool:
        """Equality of all fields, where NaN equals NaN."""
        if not isinstance(other, Trial):
            return NotImplemented
        mine, theirs = vars(self) | {"value": None}, vars(other) | {"value": None}
        same_value = self.value == other.value or (isnan(self.value) and isnan(other.value))
        return same_value and mine == theirs

    @property
    def asked(self) -> bool:
        """Whether it was a suggestion."""
        return self.suggested is not None

    @property
    def failed(self) -> bool:
        """Whether the run gave no value."""
        return isnan(self.value) and not self.is_pending

    @property
    def state(self) -> str:
        """`"complete"`, `"failed"` or `"pending"`."""
        return PENDING if self.is_pending else FAILED if self.failed else COMPLETE


@dataclass(frozen=True)
class History:
    """Trials in the order they were told, and those that were asked for and not told yet.

    Attributes:
        told: The former.
        pending: The latter, in the order they were asked for.
    """

    told: tuple[Trial, ...] = ()
    pending: tuple[Trial, ...] = ()

    def __len__(self) -> int:
        return len(self.told)

    @property
    def next_id(self) -> int:
        """The number of the next trial."""
        return 1 + max((trial.id for trial in (*self.told, *self.pending)), default=0)

    def up_to(self, count: int) -> "History":
        """The first `count` results, with nothing pending."""
        return History(self.told[:count])

    def asked(self, setting: Setting) -> "History":
        """This history with one more pending setting."""
        trial = Trial(dict(setting), suggested=dict(setting), id=self.next_id, is_pending=True)
        return replace(self, pending=(*self.pending, trial))

    def with_result(
        self,
        setting: Setting,
        value: float,
        of: Trial | None = None,
        note: str = "",
        extra: Mapping[str, Any] | None = None,
    ) -> "History":
        """This history with one more result; `of` is the pending trial it belongs to, None if it was not asked for."""
        number, suggested = (self.next_id, None) if of is None else (of.id, of.suggested)
        trial = Trial(dict(setting), value, suggested, number, note=note, extra=dict(extra or {}))
        return History((*self.told, trial), tuple(other for other in self.pending if other is not of))

    def without(self, trial: Trial) -> "History":
        """This history without a pending trial that will not be run."""
        return replace(self, pending=tuple(other for other in self.pending if other is not trial))


@dataclass(frozen=True)
class Columns:
    """The names of a history's columns: those of the parameters, and free ones for everything else.

    No name is reserved: where a parameter has a column's usual name, the column's gets a `_` more.
    """

    parameters: tuple[str, ...]
    response: str
    state: str
    asked: str
    trial: str
    note: str
    suggested: Mapping[str, str]

    @classmethod
    def of(cls, space: Space, target: str) -> "Columns":
        """The columns for this space and response name."""
        taken = set(space.names)

        def free(name: str) -> str:
            while name in taken:
                name += "_"
            taken.add(name)
            return name

        response, state, asked = free(target), free("state"), free("asked")
        trial, note = free("trial"), free("note")
        return cls(
            space.names, response, state, asked, trial, note, {name: free(f"asked {name}") for name in space.names}
        )

    @property
    def bookkeeping(self) -> set[str]:
        """The names of the response's, the state's and the other columns that are not the user's."""
        return {self.response, self.state, self.asked, self.trial, self.note, *self.suggested.values()}

    def extra(self, names: Iterable[Any]) -> list[str]:
        """The names among these that are neither parameters nor bookkeeping: columns of the user's own."""
        return [str(name) for name in names if name not in self.parameters and name not in self.bookkeeping]


def to_table(history: History, columns: Columns) -> pd.DataFrame:
    """One row for each trial: those told, in order, then those pending.

    The settings, the response (NaN for a failed run), the state, whether it was a suggestion and the trial's number;
    then notes, the user's own columns, and the settings that were asked for, where there are any to tell.
    """
    trials = (*history.told, *history.pending)
    table = pd.DataFrame([trial.setting for trial in trials], columns=list(columns.parameters))
    table[columns.response] = np.array([trial.value for trial in trials], dtype=np.float64)
    table[columns.state] = [trial.state for trial in trials]
    table[columns.asked] = [trial.asked for trial in trials]
    table[columns.trial] = np.array([trial.id for trial in trials], dtype=np.int64)
    if any(trial.note for trial in trials):
        table[columns.note] = [trial.note for trial in trials]
    for name in dict.fromkeys(name for trial in trials for name in trial.extra):
        table[name] = [trial.extra.get(name) for trial in trials]
    if any(trial.asked and trial.suggested != trial.setting for trial in trials):
        for name, column in columns.suggested.items():
            table[column] = [None if trial.suggested is None else trial.suggested[name] for trial in trials]
    return table


def from_table(table: pd.DataFrame, columns: Columns, space: Space) -> History:
    """The history that `to_table` wrote; one without trial numbers, notes and the like will do."""
    needed = (*columns.parameters, columns.response, columns.state, columns.asked)
    missing = [name for name in needed if name not in table.columns]
    if missing:
        raise InputError(f"A history has the columns that opt.history has; {listed(missing)} is missing.")
    extra = columns.extra(table.columns)
    told: list[Trial] = []
    pending: list[Trial] = []
    for number, row in enumerate(table.to_dict("records"), start=1):
        setting = as_given(row, space)
        trial = Trial(
            setting,
            float(row[columns.response]),
            _suggested(row, setting, columns, space) if bool(row[columns.asked]) else None,
            int(row.get(columns.trial, number)),
            is_pending=row[columns.state] == PENDING,
            note="" if _is_blank(row.get(columns.note)) else str(row[columns.note]),
            extra={name: row[name] for name in extra if not _is_blank(row[name])},
        )
        (pending if trial.is_pending else told).append(trial)
    return History(tuple(told), tuple(pending))


def as_given(row: Mapping[Any, Any], space: Space) -> Setting:
    """A table's row as a setting, with the space's own objects for categories and grid values."""
    return {parameter.name: parameter.recognise(row[parameter.name]) for parameter in space.parameters}


def _suggested(row: Mapping[Any, Any], setting: Setting, columns: Columns, space: Space) -> Setting:
    """The setting that was asked for; the setting that was run, if the table has no columns for it."""
    asked = {name: row.get(column) for name, column in columns.suggested.items()}
    if any(_is_blank(value) for value in asked.values()):
        return setting
    return as_given(asked, space)


def _is_blank(value: Any) -> bool:
    return value is None or bool(pd.api.types.is_scalar(value) and pd.isna(value))


def settings_of(trials: Sequence[Trial]) -> list[Setting]:
    """The settings of some trials, in order."""
    return [trial.setting for trial in trials]
