"""One campaign: a method, old data, a pool of settings, a budget. All methods share everything but the method."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.methods import ALL_METHODS, OldData
from tunedprior import Optimizer


def campaign(
    method: str,
    old: pd.DataFrame,
    space: Mapping[str, Any],
    pool: pd.DataFrame,
    responses: np.ndarray,
    evaluations: int,
    seed: int,
    direction: str = "maximize",
) -> list[float]:
    """The best response so far after each evaluation.

    The first settings are drawn from the pool by the seed alone, one more than there are parameters, so that every
    method starts from the same.
    """
    chosen = ALL_METHODS[method]
    surrogate = chosen.surrogate(OldData(old, space, direction, seed))
    optimizer = Optimizer(space, direction=direction, acquisition=chosen.acquisition, seed=seed, model=surrogate)
    settings = pool.to_dict("records")
    rows = {tuple(setting.values()): row for row, setting in enumerate(settings)}
    first = np.random.default_rng(seed).choice(len(pool), size=len(optimizer.space.names) + 1, replace=False)
    best = []
    for step in range(evaluations):
        setting = settings[first[step]] if step < len(first) else optimizer.ask(candidates=pool)
        optimizer.tell(setting, float(responses[rows[tuple(setting.values())]]))
        best.append(optimizer.best.value)
    return best
