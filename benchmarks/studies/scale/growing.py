"""More old data sets, more inputs, more results, more settings under way: seconds of a suggestion, and memory."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.studies.scale.own_process import alone
from benchmarks.studies.speed.learning import peak_memory
from tunedprior import History, Optimizer, pretrain
from tunedprior.history.trials import Trial
from tunedprior.machines import FeatureFit
from tunedprior.model_averaging.average import Average

#: What is kept of each job.
OF_MAKING = ("making", "suggestion", "processes", "most")
OF_INPUTS = (*OF_MAKING, "many rows", "by features", "missing", "error")
OF_TRIALS = ("first", "next", "telling", "used", "most")
OF_PENDING = ("suggestion", "nearest", "most")
_NOISE = 0.05
_OLD = 200
_MANY = 2000  # rows, more than can have a coefficient each


@dataclass(frozen=True)
class SetsJob:
    """Old data sets of the same problem: how many, the rows of each, inputs and results so far."""

    sets: int
    rows: int = 50
    inputs: int = 5
    results: int = 50
    seed: int = 0


@dataclass(frozen=True)
class InputsJob:
    """One old data set with so many inputs, of which three matter."""

    inputs: int
    results: int = 50
    seed: int = 0


@dataclass(frozen=True)
class TrialsJob:
    """So many results in five inputs, with one old data set."""

    trials: int
    inputs: int = 5
    seed: int = 0


@dataclass(frozen=True)
class PendingJob:
    """So many settings under way, and results so far, in five inputs, with one old data set."""

    pending: int
    results: int = 200
    inputs: int = 5
    seed: int = 0


class Problem:
    """sin(3x₀)x₁ + (x₂ - 0.4)²: three inputs matter, all others are there."""

    def __init__(self, inputs: int, seed: int) -> None:
        self.names = [f"x{number}" for number in range(inputs)]
        self.space = dict.fromkeys(self.names, (0.0, 1.0))
        self._random = np.random.default_rng(seed)

    def rows(self, count: int, sign: float = 1.0) -> pd.DataFrame:
        """Random settings and noisy responses."""
        x = self._random.random((count, len(self.names)))
        y = np.sin(3 * x[:, 0]) * x[:, 1] + (x[:, 2] - 0.4) ** 2 + _NOISE * self._random.standard_normal(count)
        return pd.DataFrame(x, columns=self.names).assign(y=sign * y)

    def history(self, count: int, pending: int = 0) -> History:
        """So many results, and settings under way that were chosen at random."""
        told = [
            Trial(row, row.pop("y"), id=number) for number, row in enumerate(self.rows(count).to_dict("records"), 1)
        ]
        history = History(tuple(told))
        for setting in self.rows(pending)[self.names].to_dict("records"):
            history = history.append_pending(setting)
        return history

    def optimizer(self, sets: int = 1, rows: int = _OLD) -> Optimizer:
        """One that knows old data, which runs backwards."""
        return Optimizer(
            self.space, {f"set {number}": self.rows(rows, -1.0) for number in range(sets)}, direction="maximize", seed=0
        )


def seconds_of(run: Callable[[], object]) -> float:
    """How long it takes, once, without a word."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run()
    return time.perf_counter() - started


def _made(problem: Problem, sets: int, rows: int, results: int) -> list[float]:
    """In the order of OF_MAKING."""
    made: list[Optimizer] = []
    making = seconds_of(lambda: made.append(problem.optimizer(sets, rows)))
    suggester, history = made[0].suggester, problem.history(results)
    assert isinstance(suggester.surrogate, Average)
    suggestion = seconds_of(lambda: suggester.suggest(history))
    return [making, suggestion, len(suggester.surrogate.hypotheses), peak_memory()]


def _with_sets(job: SetsJob) -> list[float]:
    return _made(Problem(job.inputs, job.seed), job.sets, job.rows, job.results)


def _with_inputs(job: InputsJob) -> list[float]:
    problem = Problem(job.inputs, job.seed)
    of_making = _made(problem, 1, _OLD, job.results)
    priors = []
    many = seconds_of(lambda: priors.append(pretrain(problem.rows(_MANY), problem.space)))
    fit = priors[0].fit
    by_features = isinstance(fit, FeatureFit)
    return [*of_making, many, float(by_features), fit.feature_map.missing if by_features else np.nan, priors[0].error]


def _with_trials(job: TrialsJob) -> list[float]:
    problem = Problem(job.inputs, job.seed)
    suggester, history = problem.optimizer().suggester, problem.history(job.trials)
    fits = []
    first = seconds_of(lambda: fits.append(suggester.fit(history)) or suggester.suggest(history, fitted=fits[0]))
    longer: list[History] = []
    telling = seconds_of(lambda: longer.append(history.append_result(history.told[0].setting, 0.5)))

    def following() -> None:
        fitted = suggester.fit(longer[0], previous=fits[0])
        suggester.suggest(longer[0], fitted=fitted)

    return [first, seconds_of(following), telling, float(len(fits[0].observations.X)), peak_memory()]


def _with_pending(job: PendingJob) -> list[float]:
    problem = Problem(job.inputs, job.seed)
    suggester, history = problem.optimizer().suggester, problem.history(job.results, job.pending)
    fitted = suggester.fit(history)
    found: list[dict[str, float]] = []
    suggestion = seconds_of(lambda: found.append(suggester.suggest(history, fitted=fitted)))
    there = np.array([[one.setting[name] for name in problem.names] for one in history.pending]).reshape(-1, job.inputs)
    apart = np.abs(there - [found[0][name] for name in problem.names]).max(1)
    return [suggestion, float(apart.min(initial=1.0)), peak_memory()]


def with_sets(job: SetsJob) -> list[float]:
    """In the order of OF_MAKING."""
    return alone(_with_sets, job)


def with_inputs(job: InputsJob) -> list[float]:
    """In the order of OF_INPUTS; `missing` is the part of the variance that explicit features do not have."""
    return alone(_with_inputs, job)


def with_trials(job: TrialsJob) -> list[float]:
    """In the order of OF_TRIALS: a suggestion from nothing, one after another result, and telling it."""
    return alone(_with_trials, job)


def with_pending(job: PendingJob) -> list[float]:
    """In the order of OF_PENDING; `nearest` is the distance to the nearest that is under way, in the largest input."""
    return alone(_with_pending, job)
