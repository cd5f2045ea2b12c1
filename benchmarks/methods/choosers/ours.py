"""This project's optimiser as a chooser."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from benchmarks.methods.choosers.turns import Responses
from tunedprior import Optimizer
from tunedprior.space.search_space import Setting


@dataclass(frozen=True, eq=False)
class Ours:
    """An `Optimizer`, with the pool that it chooses from, if there is one."""

    optimizer: Optimizer
    pool: pd.DataFrame | None = None

    def choose(self) -> Setting:
        """The next setting."""
        return self.optimizer.ask(candidates=self.pool)

    def learn(self, setting: Setting, responses: Responses) -> None:
        """One response is told as a number, several by their names."""
        several: Mapping[str, float] | float = dict(responses)
        self.optimizer.tell(setting, next(iter(responses.values())) if len(responses) == 1 else several)
