"""One campaign: a method, old data, a budget, a pool of settings or the whole box. Methods share all but the method."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.methods.by_name import ALL_METHODS, OldData
from tunedprior import Optimizer
from tunedprior.campaign import simulate
from tunedprior.problem.space import Setting


def campaign_in_pool(
    method: str, old: OldData, pool: pd.DataFrame, responses: np.ndarray, evaluations: int
) -> list[float]:
    """The best response so far after each evaluation, of settings from a pool.

    The first settings are drawn from the pool by the seed alone, one more than there are parameters, so that every
    method starts from the same.
    """
    settings = pool.to_dict("records")
    rows = {tuple(setting.values()): row for row, setting in enumerate(settings)}
    first = np.random.default_rng(old.seed).choice(len(pool), size=len(old.space) + 1, replace=False)
    return simulate(
        optimizer_for(method, old),
        lambda setting: float(responses[rows[tuple(setting.values())]]),
        evaluations,
        first=[settings[row] for row in first],
        candidates=pool,
    )


def campaign_in_box(method: str, old: OldData, respond: Callable[[Setting], float], steps: int) -> list[float]:
    """The best response after each step, of settings in [-1, 1]^d, the acquisition function maximised by gradients.

    Steps come after the first settings, one more than there are parameters, which the seed alone draws.
    """
    count = len(old.space)
    first = np.random.default_rng(old.seed).uniform(-1, 1, (count + 1, count))
    told = pd.DataFrame(first, columns=list(old.space)).to_dict("records")
    return simulate(optimizer_for(method, old), respond, len(told) + steps, first=told)[len(told) :]


def optimizer_for(method: str, old: OldData) -> Optimizer:
    """An optimiser that has learnt what the method makes of the old data."""
    chosen = ALL_METHODS[method]
    return Optimizer(
        old.space,
        direction=old.direction,
        acquisition=chosen.acquisition,
        seed=old.seed,
        model=chosen.surrogate(old),
    )
