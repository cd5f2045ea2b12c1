"""The one loop of asking, running and telling, for a function that can be called."""

from collections.abc import Callable, Sequence

import pandas as pd

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.problem.space import Setting


def simulate(
    optimizer: Optimizer,
    respond: Callable[[Setting], float],
    n_trials: int,
    *,
    first: Sequence[Setting] = (),
    candidates: pd.DataFrame | Sequence[Setting] | None = None,
    after: Callable[[Optimizer], object] | None = None,
) -> list[float]:
    """The best response so far after each of `n_trials` trials; NaN while there is none.

    Args:
        optimizer: What is asked and told.
        respond: Takes a setting (a dict of its own) and gives the response; NaN for a failed run.
        n_trials: How many settings to try.
        first: Settings to begin with, before anything is asked.
        candidates: Pick from these settings only.
        after: Called with the optimiser after each trial.

    >>> curve = simulate(Optimizer({"x": (0.0, 1.0)}, seed=1), lambda s: -abs(s["x"] - 0.3), 3)
    >>> len(curve), curve == sorted(curve)
    (3, True)
    """
    pool = None if candidates is None else optimizer.suggester.pool(candidates)
    curve = []
    for step in range(n_trials):
        setting = first[step] if step < len(first) else optimizer.ask(candidates=pool)
        optimizer.tell(setting, respond(dict(setting)))
        curve.append(float("nan") if optimizer.best is None else optimizer.best.value)
        if after is not None:
            after(optimizer)
    return curve
