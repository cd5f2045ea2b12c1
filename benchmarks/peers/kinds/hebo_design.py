"""HEBO at its defaults: a process on warped inputs and power-transformed responses, and three acquisitions at once.

`rand_sample` is what is told first, so that HEBO adds no quasi-random settings of its own. It takes a setting on the
front of its acquisitions at random, from NumPy's global generator, which is seeded here. Logarithmic inputs are of its
type `pow`, base ten. It cannot choose from a pool.
"""

import numpy as np
import pandas as pd
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO

from benchmarks.peers.by_name import SHARED_FIRST
from benchmarks.peers.tasks import Input, Setting, Task


class Hebo:
    """`HEBO(space)`, asked and told."""

    def __init__(self, task: Task) -> None:
        np.random.seed(task.seed)  # noqa: NPY002 - the library draws from NumPy's global generator
        torch.manual_seed(task.seed)
        self._names = [one.name for one in task.inputs]
        self._hebo = HEBO(
            DesignSpace().parse([_described(one) for one in task.inputs]),
            rand_sample=SHARED_FIRST,
            scramble_seed=task.seed,
        )

    def choose(self) -> Setting:
        """A setting of the front between improvement, its probability and the lower bound."""
        row = self._hebo.suggest().iloc[0]
        return {name: row[name] for name in self._names}

    def learn(self, setting: Setting, response: float) -> None:
        """HEBO minimises, so it is told the negative."""
        self._hebo.observe(pd.DataFrame([setting])[self._names], np.array([[-response]]))


def _described(one: Input) -> dict[str, object]:
    if one.choices is not None:
        return {"name": one.name, "type": "cat", "categories": list(one.choices)}
    if one.log:
        return {"name": one.name, "type": "pow", "lb": one.low, "ub": one.high, "base": 10}
    return {"name": one.name, "type": "num", "lb": one.low, "ub": one.high}
