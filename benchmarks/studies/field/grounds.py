"""Where a contest takes place: what may be set, what an experiment gives there, and how far from the best that is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from optuna.distributions import CategoricalDistribution, FloatDistribution

from benchmarks.peers.kinds.by_chance import drawn
from benchmarks.peers.tasks import Input, OldSet, OneHot, Setting, Task
from benchmarks.problems.functions import FUNCTIONS, MORE_FUNCTIONS, function_named
from benchmarks.problems.kinds import old_data
from benchmarks.problems.pairs import PAIRS, Pair, read_pair, subsample
from benchmarks.problems.tuning import tuning_problem
from benchmarks.studies.field.jobs import SEVERAL, TOGETHER, TUNED_TOGETHER, FieldJob


@dataclass(frozen=True, eq=False)
class Ground:
    """A problem as all peers meet it: larger responses are better.

    Attributes:
        task: What a peer is given.
        respond: What an experiment gives, without noise.
        regret: How far a response is from the best, where the worst is 1.
    """

    task: Task
    respond: Callable[[Setting], float]
    regret: Callable[[float], float]

    def first(self, count: int) -> list[Setting]:
        """Settings that the seed alone draws, the same for every peer: so many of them are tried first."""
        rng = np.random.default_rng((self.task.seed, 2))  # not the generator that drew the old settings
        if self.task.pool is None:
            return [drawn(self.task, rng) for _ in range(count)]
        return [self.task.pool[row] for row in rng.choice(len(self.task.pool), count, replace=False)]


class Nearest:
    """From any setting to the nearest of a pool that was not tried yet: argmin over x' of the sum of |x - x'|.

    Numbers count by their place in the range, another choice counts 1; the same rule for every peer. Where there is no
    pool, a setting stays as it is.
    """

    def __init__(self, task: Task) -> None:
        self._coded = OneHot(task.inputs)
        self._pool = task.pool
        if task.pool is not None:
            self._rows = self._coded.rows(task.pool)
            # A choice that differs does so in two columns.
            weights = [[1.0] if one.choices is None else [0.5] * len(one.choices) for one in task.inputs]
            self._weights = np.concatenate(weights)
            self._free = np.ones(len(task.pool), dtype=bool)

    def __call__(self, setting: Setting) -> Setting:
        """The setting to try, which is then taken."""
        if self._pool is None:
            return setting
        distances = np.abs(self._rows - self._coded.rows([setting])) @ self._weights
        row = int(np.where(self._free, distances, np.inf).argmin())
        self._free[row] = False
        return self._pool[row]


def ground_of(job: FieldJob, pairs: Path | None) -> Ground:
    """Of a campaign, with its old data, if its peer uses any."""
    if job.problem in FUNCTIONS or job.problem in MORE_FUNCTIONS:
        return _on_function(job)
    # Without old data a single row is drawn and left aside: the pool is drawn before it, so it is that of all peers.
    return _in_pool(
        job, [subsample(one, job.seed, rows=job.rows or 1) for one in _sources(job.problem, job.old, pairs)]
    )


def _on_function(job: FieldJob) -> Ground:
    function = function_named(job.problem)
    old = {job.old: _old_set(old_data(job.old, function, job.seed, job.rows), 1.0)} if job.old else {}
    return Ground(
        Task(_inputs([function.space]), old, None, job.trials, job.seed),
        function.respond,
        lambda response: 1.0 - response,
    )


def _in_pool(job: FieldJob, sources: Sequence[Pair]) -> Ground:
    """The pool of the first source, as all of them have the same target."""
    main = sources[0]
    sign = 1.0 if main.direction == "maximize" else -1.0
    old = {one.name: _old_set(one.old, sign) for one in sources} if job.old else {}
    pool = tuple(main.pool.to_dict("records"))
    responses = {tuple(setting.values()): sign * y for setting, y in zip(pool, main.responses.tolist(), strict=True)}
    best, width = max(responses.values()), float(np.ptp(main.responses))
    return Ground(
        Task(_inputs([one.space for one in sources]), old, pool, job.trials, job.seed),
        lambda setting: responses[tuple(setting.values())],
        lambda response: (best - response) / width,
    )


@cache
def _sources(problem: str, old: str | None, pairs: Path | None) -> list[Pair]:
    """The pairs that a contest's old data comes from: one, or several with the same target."""
    if problem in PAIRS:
        return [read_pair(pairs, name) for name in (TOGETHER[problem] if old == SEVERAL else (problem,))]
    model, target = problem.split(" on ")
    sources = TUNED_TOGETHER[problem] if old == SEVERAL else (old or target,)
    return [tuning_problem(model, target, source) for source in sources]


def _inputs(spaces: Sequence[Mapping[str, Any]]) -> tuple[Input, ...]:
    """Of the first space; categories that any of them knows, as old data may be told of all."""
    found = []
    for name, first in spaces[0].items():
        if isinstance(first, CategoricalDistribution):
            found.append(Input(name, choices=tuple(sorted({one for space in spaces for one in space[name].choices}))))
        elif isinstance(first, FloatDistribution):
            found.append(Input(name, first.low, first.high, first.log))
        else:
            found.append(Input(name, *first))
    return tuple(found)


def _old_set(table: pd.DataFrame, sign: float) -> OldSet:
    settings = table.drop(columns="y").to_dict("records")
    return OldSet(tuple(settings), tuple((sign * table["y"]).tolist()))
