"""One campaign: a method, old data, a budget, a pool of settings or the whole box. Methods share all but the method."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.methods.by_name import ALL_METHODS, OldData
from tunedprior import Optimizer, SearchConfig
from tunedprior.campaign import simulate
from tunedprior.space.search_space import Setting

#: How many standard deviations a 95 % interval of a normal distribution reaches to either side.
_NORMAL_95 = 1.96


def campaign_in_pool(
    method: str, old: OldData, pool: pd.DataFrame, responses: np.ndarray, evaluations: int
) -> list[float]:
    """The best response so far after each evaluation, of settings from a pool.

    The first settings are drawn from the pool by the seed alone, one more than there are parameters, so that every
    method starts from the same; a method with a start of its own chooses them itself.
    """
    return simulate(
        optimizer_for(method, old),
        _looked_up(pool, responses),
        evaluations,
        first=_first_settings(method, old, pool),
        candidates=pool,
    )


def coverage_in_pool(
    method: str, old: OldData, pool: pd.DataFrame, responses: np.ndarray, evaluations: int
) -> list[float]:
    """Of each response after the first settings, whether it lies in the 95 % interval predicted before it was told.

    1.0 where it does, 0.0 where it does not; the campaign is that of `campaign_in_pool`.
    """
    optimizer, respond, inside = optimizer_for(method, old), _looked_up(pool, responses), []

    def predict_and_respond(setting: Setting) -> float:
        response = respond(setting)
        if len(optimizer.trials) > len(old.space):
            predicted = optimizer.predict([setting]).iloc[0]
            inside.append(float(abs(response - predicted["mean"]) <= _NORMAL_95 * predicted["measured_std"]))
        return response

    first = _first_settings(method, old, pool)
    simulate(optimizer, predict_and_respond, evaluations, first=first, candidates=pool)
    return inside


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
    if chosen.own_start is not None:
        return chosen.own_start(old)
    return Optimizer(
        old.space,
        direction=old.direction,
        seed=old.seed,
        search=SearchConfig(acquisition=chosen.acquisition, model=chosen.surrogate(old)),
    )


def _looked_up(pool: pd.DataFrame, responses: np.ndarray) -> Callable[[Setting], float]:
    """From a setting of the pool to its response."""
    rows = {tuple(setting.values()): row for row, setting in enumerate(pool.to_dict("records"))}
    return lambda setting: float(responses[rows[tuple(setting.values())]])


def _first_settings(method: str, old: OldData, pool: pd.DataFrame) -> list[Setting]:
    """What a campaign begins with, before anything is asked."""
    if ALL_METHODS[method].own_start is not None:
        return []
    rows = np.random.default_rng(old.seed).choice(len(pool), size=len(old.space) + 1, replace=False)
    return pool.iloc[rows].to_dict("records")
