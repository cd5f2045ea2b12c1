"""Random search."""

import numpy as np

from benchmarks.peers.tasks import Setting, Task


class Random:
    """x ~ uniform: of the pool without repeats, or of the box on each input's scale."""

    def __init__(self, task: Task) -> None:
        self._task, self._rng = task, np.random.default_rng((task.seed, 3))  # not the one of the first settings
        self._left = [] if task.pool is None else list(task.pool)

    def choose(self) -> Setting:
        """A setting at random."""
        if self._left:
            return self._left[int(self._rng.integers(len(self._left)))]
        return drawn(self._task, self._rng)

    def learn(self, setting: Setting, _response: float) -> None:
        """A setting of the pool is not chosen again."""
        self._left = [one for one in self._left if one != setting]


def drawn(task: Task, rng: np.random.Generator) -> Setting:
    """A setting of the box, each input uniform on its scale."""
    setting: Setting = {}
    for one in task.inputs:
        if one.choices is not None:
            setting[one.name] = one.choices[int(rng.integers(len(one.choices)))]
        elif one.log:
            setting[one.name] = float(np.exp(rng.uniform(np.log(one.low), np.log(one.high))))
        else:
            setting[one.name] = float(rng.uniform(one.low, one.high))
    return setting
