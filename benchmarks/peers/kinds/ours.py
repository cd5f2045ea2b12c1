"""This project's optimiser, with every argument at its default."""

from typing import Any

import pandas as pd

from benchmarks.peers.tasks import Input, OldSet, Setting, Task
from tunedprior import Optimizer


class Ours:
    """`Optimizer(space, old)`: an average over beliefs about what old data says, and a start of its own."""

    uses_old = True

    def __init__(self, task: Task) -> None:
        old = {name: as_table(one) for name, one in task.old.items()} if self.uses_old else {}
        self._optimizer = Optimizer(
            {one.name: described(one) for one in task.inputs}, old or None, direction="maximize", seed=task.seed
        )
        self._pool = None if task.pool is None else pd.DataFrame(list(task.pool))

    def choose(self) -> Setting:
        """The next setting."""
        return dict(self._optimizer.ask(candidates=self._pool))

    def learn(self, setting: Setting, response: float) -> None:
        """What it gave."""
        self._optimizer.tell(setting, response)


class OursPlain(Ours):
    """`Optimizer(space)`: the same process without anything from old data."""

    uses_old = False


class OursShared(Ours):
    """`Optimizer(space, old)` that is told of the settings all others begin with, and so has no start of its own."""


def described(one: Input) -> Any:
    """An input as a space has it."""
    if one.choices is not None:
        return list(one.choices)
    return (one.low, one.high, "log") if one.log else (one.low, one.high)


def as_table(old: OldSet) -> pd.DataFrame:
    """Old data as people have it: a row for each result, the response as `y`."""
    return pd.DataFrame(list(old.settings)).assign(y=list(old.responses))
