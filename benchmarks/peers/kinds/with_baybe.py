"""BayBE with a task parameter, its way of learning from old campaigns."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
from baybe import Campaign
from baybe.parameters import (
    CategoricalParameter,
    NumericalContinuousParameter,
    NumericalDiscreteParameter,
    TaskParameter,
)
from baybe.parameters.base import Parameter
from baybe.searchspace import SearchSpace
from baybe.settings import Settings
from baybe.targets import NumericalTarget

from benchmarks.peers.tasks import Input, Setting, Task

_TASK, _NEW, _RESPONSE = "task of this row", "new", "response of this row"


class Tasks:
    """`TaskParameter` with a value for each old set and an active one that is new; everything else at its default.

    A pool is a discrete space of its settings; a box is continuous in its numbers. Numbers over decades are given as
    logarithms. BayBE standardises all responses together.
    """

    def __init__(self, task: Task) -> None:
        self._task, self._count = task, 0
        self._names = {name: f"old {name}" for name in task.old}
        parameters = [self._parameter(one) for one in task.inputs]
        parameters.append(TaskParameter(_TASK, values=[_NEW, *self._names.values()], active_values=[_NEW]))
        if task.pool is None:
            self._pool, space = None, SearchSpace.from_product(parameters)
        else:
            table = self._table(task.pool, _NEW)
            different = ~table.duplicated()
            self._pool = [setting for setting, kept in zip(task.pool, different, strict=True) if kept]
            space = SearchSpace.from_dataframe(table[different].reset_index(drop=True), parameters)
        measured = {} if task.pool is None else {"allow_recommending_already_measured": False}
        self._campaign = Campaign(space, NumericalTarget(_RESPONSE).to_objective(), **measured)
        for name, old in task.old.items():
            self._add(self._table(old.settings, self._names[name]), old.responses)

    def choose(self) -> Setting:
        """What it recommends."""
        with warnings.catch_warnings(), Settings(random_seed=self._task.seed * 10_007 + self._count):
            warnings.simplefilter("ignore")
            row = self._campaign.recommend(1).iloc[0]
        if self._pool is not None:
            return self._pool[int(row.name)]
        return {one.name: _outside(one, row[one.name]) for one in self._task.inputs}

    def learn(self, setting: Setting, response: float) -> None:
        """One more measurement of the new task."""
        self._add(self._table([setting], _NEW), [response])
        self._count += 1

    def _add(self, table: pd.DataFrame, responses: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._campaign.add_measurements(
                table.assign(**{_RESPONSE: list(responses)}), numerical_measurements_must_be_within_tolerance=False
            )

    def _table(self, settings: Any, name: str) -> pd.DataFrame:
        """Settings as BayBE is told them."""
        rows = [{one.name: _inside(one, setting[one.name]) for one in self._task.inputs} for setting in settings]
        return pd.DataFrame(rows).assign(**{_TASK: name})

    def _parameter(self, one: Input) -> Parameter:
        if one.choices is not None:
            return CategoricalParameter(one.name, values=[str(choice) for choice in one.choices])
        ends = (_inside(one, one.low), _inside(one, one.high))
        if self._task.pool is None:
            return NumericalContinuousParameter(one.name, bounds=ends)
        return NumericalDiscreteParameter(
            one.name, values=sorted({*ends, *(_inside(one, setting[one.name]) for setting in self._task.pool)})
        )


def _inside(one: Input, value: Any) -> Any:
    """A value as BayBE has it: a choice's name, or a number on its scale."""
    if one.choices is not None:
        return str(value)
    return float(np.log(value)) if one.log else float(value)


def _outside(one: Input, value: Any) -> Any:
    """The value that BayBE means."""
    if one.choices is not None:
        return next(choice for choice in one.choices if str(choice) == value)
    return float(np.clip(np.exp(value) if one.log else value, one.low, one.high))
