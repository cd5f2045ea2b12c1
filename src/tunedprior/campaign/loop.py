"""Run a whole campaign on a function that can be called: suggest, evaluate, record."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import isnan, nan
from typing import Any

import pandas as pd
from tqdm import tqdm

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.checks import check_positive_integer, format_list, format_value, refuse_other_types
from tunedprior.errors import InputError
from tunedprior.goals.goals import Goals
from tunedprior.history.parsing import parse_measurements
from tunedprior.space.encoding import to_settings_table
from tunedprior.space.parameters import Description
from tunedprior.space.search_space import Setting, Space
from tunedprior.weight_prior.sources import OldData


def simulate(
    optimizer: Optimizer,
    respond: Callable[[Setting], float | Mapping[str, Any]],
    n_trials: int,
    *,
    first: Sequence[Setting] = (),
    candidates: pd.DataFrame | Sequence[Setting] | None = None,
    after: Callable[[Optimizer], object] | None = None,
) -> list[float]:
    """Run `n_trials` trials; return the best response so far after each: NaN while there is none, or for a front.

    Args:
        optimizer: The optimiser, to which the results are told.
        respond: Takes a setting (a dict of its own) and gives the response, or a dict of several; NaN for a failed run.
        n_trials: The number of trials.
        first: Settings to run first, before any is suggested.
        candidates: Choose among these settings only.
        after: Called with the optimiser after each trial.

    >>> curve = simulate(Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=1), lambda s: -abs(s["x"] - 0.3), 3)
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
    """Raise an `InputError` if it cannot be called."""
    if not callable(function):
        raise InputError(
            f"{name} must be a function, such as lambda setting: …; got {type(function).__name__} "
            f"{format_value(function)}."
        )


def optimize(
    function: Callable[[Setting], float | Mapping[str, Any]],
    space: Mapping[str, Description] | Space,
    n_trials: int,
    old_data: OldData | Sequence[OldData] | Mapping[str, OldData] | None = None,
    *,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    progress: bool = True,
    **options: Any,
) -> Optimizer:
    """Suggest, evaluate and record `n_trials` times; return the optimiser with the best setting and the history.

    Args:
        function: Takes a setting (a dict) and gives the response, or a dict of several; NaN for a failed run.
        space: As for `Optimizer`.
        n_trials: The number of trials.
        old_data: As for `Optimizer`.
        catch: Exceptions of `function` that count as failed runs. Others end the campaign, and so does Ctrl-C; they
            carry the optimiser as `error.optimizer`, so that nothing is lost.
        progress: Whether to show a progress bar.
        **options: As for `Optimizer`.

    >>> result = optimize(
    ...     lambda s: -((s["x"] - 0.3) ** 2),
    ...     {"x": (0.0, 1.0)},
    ...     direction="maximize",
    ...     n_trials=8,
    ...     progress=False,
    ...     seed=0,
    ... )
    >>> abs(result.best.setting["x"] - 0.3) < 0.02
    True
    """
    n_trials, catch = check_positive_integer(n_trials, "n_trials"), _check_exceptions(catch)
    refuse_if_not_callable(function, "function")
    optimizer = Optimizer(space, old_data, **options)

    def respond(setting: Setting) -> float | Mapping[str, Any]:
        try:
            answer = function(setting)
        except catch:
            return nan
        return _check_response(answer, function, optimizer.suggester.goals)

    try:
        with tqdm(total=n_trials, disable=not progress, unit="trial") as bar:

            def show_progress(optimizer: Optimizer) -> None:
                if optimizer.suggester.goals.has_front:
                    bar.set_postfix(front=len(optimizer.front))
                elif optimizer.best is not None:
                    bar.set_postfix(best=f"{optimizer.best.value:.4g}")
                bar.update()

            simulate(optimizer, respond, n_trials, after=show_progress)
    except BaseException as error:
        _attach_optimizer(optimizer, error)
        raise
    return optimizer


def _check_exceptions(catch: Any) -> tuple[type[Exception], ...]:
    each = tuple(catch) if isinstance(catch, tuple | list | set) else (catch,)
    if not all(isinstance(one, type) and issubclass(one, Exception) for one in each):
        raise InputError(f"catch must be exceptions, such as (ValueError, ArithmeticError); got {format_value(catch)}.")
    return each


def _check_response(answer: Any, function: Callable[..., Any], goals: Goals) -> float | Mapping[str, Any]:
    """Check the return value of the user's function: a number, or a dict of numbers by response."""
    several = len(goals.responses) > 1
    if isinstance(answer, float) and isnan(answer):
        return nan
    try:
        if answer is None:
            raise InputError("it returned None")
        found = parse_measurements(answer, False, 1, goals)[0]
        return dict(answer) if several else found.value
    except InputError as error:
        name = getattr(function, "__name__", type(function).__name__)
        wanted = f"a dict of {format_list(one.name for one in goals.responses)}" if several else "one number"
        raise InputError(
            f"The function to optimize must return {wanted}, or NaN for a failed run; {name} returned "
            f"{type(answer).__name__} {format_value(answer)}."
        ) from error


def _attach_optimizer(optimizer: Optimizer, error: BaseException) -> None:
    """Set `.optimizer` on an exception, even if its class restricts attributes."""
    with suppress(Exception):
        object.__setattr__(error, "optimizer", optimizer)
    with suppress(Exception):  # adding a note sets an attribute too
        error.add_note(f"The {len(optimizer.trials)} trials before it are in this exception's .optimizer.history.")
