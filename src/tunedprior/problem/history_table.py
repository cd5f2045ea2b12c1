"""A history as a table: the names of its columns, and one row for each trial."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tunedprior.problem.aims import Goals
from tunedprior.problem.space import Space
from tunedprior.problem.trials import History, is_same_setting

_WORDS = {1.0: "pass", -1.0: "fail"}


@dataclass(frozen=True)
class HistoryColumns:
    """The names of a history's columns: those of the parameters, and free ones for everything else.

    No name is reserved: where a parameter has a column's usual name, the column's gets a `_` more.
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
    def from_space(cls, space: Space, aims: Goals) -> "HistoryColumns":
        """The columns for this space and these responses."""
        taken = set(space.names)

        def find_free_name(name: str) -> str:
            while name in taken:
                name += "_"
            taken.add(name)
            return name

        response, *more = map(find_free_name, (one.name for one in aims.responses))
        others = {one.name: column for one, column in zip(aims.others, more, strict=True)}
        usual = ("state", "asked", "trial", "direction", "note")
        state, asked, trial, direction, note = map(find_free_name, usual)
        suggested = {name: find_free_name(f"asked {name}") for name in space.names}
        labels = frozenset(one.name for one in aims.others if one.labels)
        noise = {one.name: find_free_name(f"noise of {one.name}") for one in aims.objectives}
        cost, campaign = find_free_name("cost of the run"), find_free_name("campaign")
        own = (state, asked, trial, direction, note)
        return cls(space.names, response, *own, suggested, others, labels, noise, cost, campaign)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, the responses last; not that of the campaign's id, which sheets have and histories have not."""
        own = (self.state, self.asked, self.trial, self.direction, self.note, *self.noise.values(), self.cost)
        return (*self.parameters, *own, *self.suggested.values(), *self.others.values(), self.response)

    def select_extra(self, names: Iterable[Any]) -> list[Any]:
        """The names among these that are neither parameters nor bookkeeping: columns of the user's own."""
        ours = set(self.names)
        return [name for name in names if name not in ours]


def make_history_table(history: History, columns: HistoryColumns, direction: str | None = None) -> pd.DataFrame:
    """One row for each trial: those told, in order, then those pending, then those set aside.

    The settings, the responses (NaN for a failed run), the state, whether it was a suggestion, the trial's number and
    the direction; then notes, noise and cost, the user's own columns, and the settings that were asked for, where there
    are any to tell.
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
