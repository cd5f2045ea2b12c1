"""The one loop of asking, running and telling, for a function that can be called."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.checks import check_positive_integer, format_value, refuse_other_types
from tunedprior.errors import InputError
from tunedprior.problem.box import to_settings_table
from tunedprior.problem.space import Setting


def simulate(
    optimizer: Optimizer,
    respond: Callable[[Setting], float | Mapping[str, Any]],
    n_trials: int,
    *,
    first: Sequence[Setting] = (),
    candidates: pd.DataFrame | Sequence[Setting] | None = None,
    after: Callable[[Optimizer], object] | None = None,
) -> list[float]:
    """The best response so far after each of `n_trials` trials; NaN while there is none, and where there is a front.

    Args:
        optimizer: What is asked and told.
        respond: Takes a setting (a dict of its own) and gives the response, of several a dict; NaN for a failed run.
        n_trials: How many settings to try.
        first: Settings to begin with, before anything is asked.
        candidates: Pick from these settings only.
        after: Called with the optimiser after each trial.

    >>> curve = simulate(Optimizer({"x": (0.0, 1.0)}, seed=1), lambda s: -abs(s["x"] - 0.3), 3)
    >>> len(curve), curve == sorted(curve)
    (3, True)
    """
    refuse_other_types(optimizer, Optimizer, "optimizer", "an Optimizer")
    refuse_if_not_callable(respond, "respond")
    if after is not None:
        refuse_if_not_callable(after, "after")
    n_trials = check_positive_integer(n_trials, "n_trials")
    first = (
        to_settings_table(first, optimizer.space.names).to_dict("records") if isinstance(first, pd.DataFrame) else first
    )
    if not isinstance(first, list | tuple) or not all(isinstance(one, Mapping) for one in first):
        raise InputError(
            f"first must be a list of settings, each a dict; got {type(first).__name__} {format_value(first)}."
        )
    pool = None if candidates is None else optimizer.suggester.parse_candidates(candidates)
    curve = []
    for step in range(n_trials):
        setting = first[step] if step < len(first) else optimizer.ask(candidates=pool)
        optimizer.tell(setting, respond(dict(setting)))
        best = None if optimizer.suggester.goals.has_front else optimizer.best
        curve.append(float("nan") if best is None else best.value)
        if after is not None:
            after(optimizer)
    return curve


def refuse_if_not_callable(function: Any, name: str) -> None:
    """An `InputError` for what cannot be called."""
    if not callable(function):
        raise InputError(
            f"{name} must be a function, such as lambda setting: …; got {type(function).__name__} "
            f"{format_value(function)}."
        )
