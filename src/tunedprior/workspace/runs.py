"""Run a campaign with a function or a command that measures settings, in one process or in several."""

import importlib
import multiprocessing
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from math import nan
from pathlib import Path
from typing import Any

import optuna

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.checks import format_value
from tunedprior.errors import InputError
from tunedprior.history.trials import format_setting
from tunedprior.workspace.places import open_campaign
from tunedprior.workspace.shell_words import escape_unprintable

_LOOK = 0.5  # seconds between two looks at what was done

Function = Callable[[dict[str, Any]], Any]


def import_function(place: str) -> Function:
    """Import the function at `module:function`; the module may be in the working directory."""
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        raise InputError(f"A function is named as module:function, such as lab:measure; got {place!r}.")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module.removesuffix(".py"))
    except ModuleNotFoundError as error:
        if error.name != module.split(".")[0] and error.name != module:
            raise
        raise InputError(f"There is no module {module!r} here or among the installed packages.") from error
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise InputError(f"{module} has no function {name!r}.")
    function: Function = found
    return function


def run_campaign(
    where: str,
    name: str | None,
    place: str,
    total: int,
    workers: int = 1,
    *,
    open_too: bool = False,
    errors_fail: bool = False,
) -> Iterator[int]:
    """Run trials until the campaign has `total` results; yield the number of results when it may have changed.

    Every worker is a process that asks, calls the function and tells. What was told stays, whatever becomes of it.

    Args:
        where: The campaign's file or URL.
        name: Its name.
        place: The function, as `module:function`: from a setting to its response, of several a dict; NaN if it failed.
        total: How many results the campaign is to have.
        workers: How many processes.
        open_too: Whether suggestions that are open are run first; leave them if people are at work on them.
        errors_fail: Whether an exception of the function is a failed run; else it ends the worker.
    """
    opt, function = open_campaign(where, name), import_function(place)
    left = [trial.id for trial in opt.trials.pending] if open_too else []
    if workers == 1:
        for _ in _run_trials(opt, function, total, left, errors_fail):
            yield len(opt.trials)
        return
    context = multiprocessing.get_context("spawn")  # a fork would take PyTorch's threads along, stopped
    shares = [left[number::workers] for number in range(workers)]
    running = [
        context.Process(target=_run_worker, args=(where, name, place, total, share, errors_fail), daemon=True)
        for share in shares
    ]
    for one in running:
        one.start()
    try:
        while any(one.is_alive() for one in running):
            yield len(opt.trials)
            time.sleep(_LOOK)
        yield len(opt.trials)
    finally:
        for one in running:  # after Ctrl-C: each sets its suggestion aside and ends
            one.join(timeout=10)
            one.terminate()
    if any(one.exitcode for one in running):
        raise InputError(f"A worker ended with the error above; {len(opt.trials)} results are in the campaign.")


def _run_worker(where: str, name: str | None, place: str, total: int, first: Sequence[int], errors_fail: bool) -> None:
    """Run one worker in a process of its own."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        for _ in _run_trials(open_campaign(where, name), import_function(place), total, first, errors_fail):
            pass
    except KeyboardInterrupt:
        pass
    except InputError as error:
        sys.exit(escape_unprintable(f"Error: {error}"))


def _run_trials(
    opt: Optimizer, function: Function, total: int, first: Sequence[int], errors_fail: bool
) -> Iterator[int]:
    """Run the suggestions with these numbers, then new ones, until there are enough; the number of each."""
    for number in first:
        yield _run_one(opt, function, number, errors_fail)
    while len(_list_trial_numbers(opt)) < total:
        number = opt.ask().trial
        if _list_trial_numbers(opt).index(number) >= total:  # others asked at the same moment, but first
            opt.cancel(number)
            break
        yield _run_one(opt, function, number, errors_fail)


def _list_trial_numbers(opt: Optimizer) -> list[int]:
    """The numbers of trials that are results, or will be, in the order in which the journal took them.

    Their numbers are not in that order: two programs may take theirs in one order, and write in the other.
    """
    history = opt.trials
    place = {number: at for at, number in enumerate(opt.journal["trial"].unique())}
    return sorted((trial.id for trial in (*history.told, *history.pending)), key=lambda number: place.get(number, -1))


def _run_one(opt: Optimizer, function: Function, number: int, errors_fail: bool) -> int:
    """Run one suggestion, which is set aside if nothing comes of it."""
    setting = next(one.setting for one in opt.trials.pending if one.id == number)
    note = ""
    try:
        answer = function(dict(setting))
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        if not errors_fail:
            opt.cancel(number)
            raise InputError(
                f"The function raised {what} ({_format_error_place(error)}) at {format_setting(setting)}. Mend "
                "it and run again, or count "
                "errors as failed runs with --errors-fail."
            ) from error
        answer, note = nan, what
    except BaseException:  # Ctrl-C
        opt.cancel(number)
        raise
    try:
        opt.tell(setting, answer, trial=number, note=note)
    except InputError as error:
        opt.cancel(number)
        raise InputError(f"The function returned {format_value(answer)}: {error}") from error
    return number


def _format_error_place(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}, line {last.lineno}"
