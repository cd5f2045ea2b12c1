"""OpenBox's advisor at its defaults, and with its transfer learning.

The defaults are those of `Advisor` with every `auto`: a Gaussian process (a random forest where there are more choices
than numbers), expected improvement, one setting in ten at random. Its three initial trials are the three that are told;
with old data one is. Transfer is what `auto` takes when a history is given: RGPE, an average of one process for each
old set and one for the new results, weighed by how well each ranks the new results. It fits all rows of an old set but
the last (it cuts at -1). It cannot choose from a pool.

Old rows outside the box, or with choices that the box does not have, are left out.
"""

import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from ConfigSpace import Configuration
from openbox import Advisor, History, Observation, space

from benchmarks.peers.by_name import ONE_FIRST, SHARED_FIRST
from benchmarks.peers.tasks import Input, OldSet, Setting, Task


class OpenBox:
    """`Advisor(space)`, asked and told."""

    def __init__(self, task: Task) -> None:
        self._task, self._space = task, _space(task)
        self._folder = tempfile.TemporaryDirectory()
        old = self._histories()
        np.random.seed(task.seed)  # noqa: NPY002 - the library draws from NumPy's global generator
        self._advisor = Advisor(
            self._space,
            initial_trials=ONE_FIRST if old else SHARED_FIRST,
            transfer_learning_history=old or None,
            output_dir=self._folder.name,
            random_state=task.seed,
        )

    def choose(self) -> Setting:
        """Where the improvement to expect is greatest, or now and then any."""
        found = self._advisor.get_suggestion().get_dictionary()
        return {one.name: _given_back(one.choices, found[one.name]) for one in self._task.inputs}

    def learn(self, setting: Setting, response: float) -> None:
        """OpenBox minimises, so it is told the negative."""
        self._advisor.update_observation(self._observation(setting, response))

    def _histories(self) -> list[History]:
        return []

    def _observation(self, setting: Setting, response: float) -> Observation:
        values = {
            one.name: setting[one.name] if one.choices is None else str(setting[one.name]) for one in self._task.inputs
        }
        return Observation(config=Configuration(self._space, values=values), objectives=[-response])


class OpenBoxTransfer(OpenBox):
    """`Advisor(space, transfer_learning_history=old)`: RGPE."""

    def _histories(self) -> list[History]:
        return [self._history(name, old) for name, old in self._task.old.items()]

    def _history(self, name: str, old: OldSet) -> History:
        history = History(task_id=name, config_space=self._space)
        for setting, response in zip(old.settings, old.responses, strict=True):
            if all(_allowed(one, setting[one.name]) for one in self._task.inputs):
                history.update_observation(self._observation(setting, response))
        return history


def _space(task: Task) -> space.Space:
    made = space.Space()
    for one in task.inputs:
        if one.choices is not None:
            made.add_variable(space.Categorical(one.name, [str(choice) for choice in one.choices]))
        else:
            made.add_variable(space.Real(one.name, one.low, one.high, log=one.log))
    return made


def _allowed(one: Input, value: Any) -> bool:
    return one.low <= value <= one.high if one.choices is None else value in one.choices


def _given_back(choices: Sequence[object] | None, value: object) -> object:
    """A choice as it was given: OpenBox knows it by its text."""
    return value if choices is None else next(choice for choice in choices if str(choice) == value)
