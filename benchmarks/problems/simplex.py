"""Mixtures as continuous processes: a random forest over all that was measured answers for every mixture."""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

from benchmarks.problems.pairs import Pair, read_pair
from tunedprior.space.search_space import Setting

#: Measured pairs whose inputs are shares of a whole.
MIXTURES = ("photo_nodup", "oer_3496_3851")
_TREES, _SAMPLE = 100, 2**14


@dataclass(frozen=True, eq=False)
class Mixture:
    """A forest over mixtures, to be minimised.

    Attributes:
        pair: Old data, and the measured mixtures as a pool; its responses are the forest's.
        forest: The process.
        lowest: The least response of the pool and of many random mixtures: the forest's least value is not known.
    """

    pair: Pair
    forest: RandomForestRegressor
    lowest: float

    @property
    def constraint(self) -> str:
        """Shares add up to 1."""
        return f"{' + '.join(self.pair.space)} == 1"

    def respond(self, setting: Setting) -> float:
        """What an experiment gives."""
        return float(self.forest.predict(np.array([[setting[name] for name in self.pair.space]]))[0])

    def regret(self, found: float) -> float:
        """(y - lowest) as a share of the pool's range; a mixture that is better still counts as 0."""
        return max(0.0, (found - self.lowest) / float(np.ptp(self.pair.responses)))


@cache
def mixture_of(folder: Path, name: str) -> Mixture:
    """The forest over all measured mixtures of a pair's new process."""
    pair = read_pair(folder, name)
    forest = RandomForestRegressor(_TREES, random_state=0).fit(pair.pool.to_numpy(), pair.responses)
    pair = replace(pair, responses=forest.predict(pair.pool.to_numpy()))
    others = _random_mixtures(pair.pool)
    return Mixture(pair, forest, float(min(pair.responses.min(), forest.predict(others).min())))


def _random_mixtures(pool: pd.DataFrame) -> np.ndarray:
    """Uniform over the simplex, those within the measured ranges."""
    drawn = np.random.default_rng(0).dirichlet(np.ones(pool.shape[1]), _SAMPLE)
    low, high = pool.min().to_numpy(), pool.max().to_numpy()
    return drawn[((drawn >= low) & (drawn <= high)).all(axis=1)]
