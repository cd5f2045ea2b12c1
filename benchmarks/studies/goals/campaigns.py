"""Every campaign of the study of goals, from a job to the numbers that are kept of it.

Where several numbers are kept of a trial, they come one after the other; `side_by_side` takes them apart again.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import tunedprior
from benchmarks.methods.choosers.gp_sampler import GaussianSampler
from benchmarks.methods.choosers.noisy_hypervolume import NoisyHypervolume
from benchmarks.methods.choosers.ours import Ours
from benchmarks.methods.choosers.turns import Chooser, Responses, in_turn
from benchmarks.problems.constrained import CONSTRAINED, Constrained
from benchmarks.problems.fibre import DEVICES, TARGET_LENGTH, fibre_length, lengths, records, space, squared_miss
from benchmarks.problems.functions import function_named
from benchmarks.problems.pairs import subsample
from benchmarks.problems.several_responses import TwoResponses, problem_named
from benchmarks.problems.simplex import mixture_of
from benchmarks.studies.goals.jobs import ANY_MIXTURE, HYPERVOLUME, OURS, SAMPLER, TARGETED, GoalJob, NoisyJob
from tunedprior import Goals, Optimizer
from tunedprior.space.search_space import Setting

#: What is kept of each trial on mixtures, of each campaign that ends with advice, and of each bound.
OF_A_MIXTURE = ("regret", "deviation")
OF_ADVICE = ("recommended", "best measured")
OF_A_BOUND = ("regret", "bound", "probability")
#: A gain that is worth going on for, as a share of the function's range.
WORTHWHILE = 0.05
#: The rest that can be gained is bounded from this result on.
FIRST_BOUND = 5
#: Records of device A, as many as the demonstration has.
_RECORDS = 162


def hypervolume_regrets(folder: str | None, job: GoalJob) -> list[float]:
    """What is missing of the true front's hypervolume, after each trial that follows the shared ones."""
    problem = problem_named(job.problem, folder)
    return _regrets(problem, _for_a_front(problem, job), job)


def _regrets(problem: TwoResponses | Constrained, chooser: Chooser, job: GoalJob) -> list[float]:
    first = problem.first_settings(job.seed)
    done = in_turn(chooser, problem.respond, job.trials, first)
    values = np.array([list(responses.values()) for _, responses in done])
    return [problem.regret(values[:count]) for count in range(len(first) + 1, len(values) + 1)]


def _for_a_front(problem: TwoResponses, job: GoalJob) -> Chooser:
    if job.method == HYPERVOLUME:
        return NoisyHypervolume(problem.space, problem.signs, problem.reference, job.seed, problem.pool)
    old = problem.old(job.seed) if job.method == OURS else None
    goals = Goals.parse(objectives=dict(problem.directions), preference=problem.bounds)
    return Ours(Optimizer(problem.space, old, objectives=goals, seed=job.seed), problem.pool)


def feasible_regrets(job: GoalJob) -> list[float]:
    """Regret of the best setting that meets all requirements, after each trial that follows the shared ones."""
    problem = CONSTRAINED[job.problem]
    return _regrets(problem, _for_requirements(problem, job), job)


def _for_requirements(problem: Constrained, job: GoalJob) -> Chooser:
    if job.method == SAMPLER:
        return GaussianSampler(problem.space, {"y": "minimize"}, problem.constraints, job.seed)
    old = problem.old(job.seed) if job.method == OURS else None
    required = dict.fromkeys(problem.constraints, "<= 0")
    return Ours(Optimizer(problem.space, old, direction="minimize", requirements=required, seed=job.seed))


def on_mixtures(folder: str, job: GoalJob) -> list[float]:
    """Regret after each trial that follows the shared ones, and how far that trial's shares are from adding up to 1."""
    mixture = mixture_of(Path(folder), job.problem)
    pair = subsample(mixture.pair, job.seed)
    rows = np.random.default_rng(job.seed).choice(len(pair.pool), size=len(pair.space) + 1, replace=False)
    first = pair.pool.iloc[rows].to_dict("records")
    free = job.method == ANY_MIXTURE
    known = {"constraints": [mixture.constraint]} if free else {}
    optimizer = Optimizer(pair.space, pair.old, direction="minimize", seed=job.seed, **known)
    chooser = Ours(optimizer, None if free else pair.pool)
    done = in_turn(chooser, lambda setting: {"y": mixture.respond(setting)}, job.trials, first)
    best = np.minimum.accumulate([responses["y"] for _, responses in done])
    later = zip(done[len(first) :], best[len(first) :], strict=True)
    return [
        number
        for (setting, _), found in later
        for number in (mixture.regret(float(found)), abs(sum(setting.values()) - 1))
    ]


def fibre_misses(job: GoalJob) -> list[float]:
    """How far each trial's true length is from the wanted one, µm; what is told has the device's noise."""
    noise = DEVICES["B"].noise * np.random.default_rng(job.seed).standard_normal(job.trials)
    noises = iter(noise.tolist())
    misses: list[float] = []

    def respond(setting: Setting) -> Responses:
        true = fibre_length(setting, "B")
        misses.append(abs(true - TARGET_LENGTH))
        measured = true + next(noises)
        return {"length": measured} if job.method == TARGETED else {"y": squared_miss(measured)}

    in_turn(Ours(_for_fibres(job)), respond, job.trials)
    return misses


def _for_fibres(job: GoalJob) -> Optimizer:
    """Device A's records have a seed for each campaign, the same for both ways."""
    old_seed = 2 * job.seed
    if job.method == TARGETED:
        old, wanted = lengths("A", _RECORDS, old_seed), tunedprior.Target(TARGET_LENGTH)
        return Optimizer(space("B"), old, direction=wanted, target="length", seed=job.seed)
    return Optimizer(space("B"), records("A", _RECORDS, old_seed), direction="minimize", seed=job.seed)


def advised(job: NoisyJob) -> list[float]:
    """At the end: the true value at the recommended setting, and at the one that was measured best."""
    function, optimizer = (
        function_named(job.problem),
        Optimizer(function_named(job.problem).space, direction="maximize", seed=job.seed),
    )
    done = in_turn(Ours(optimizer), _Noisy(job), job.trials)
    best_measured, _ = max(done, key=lambda trial: trial[1]["y"])
    return [function.respond(optimizer.recommend().setting), function.respond(best_measured)]


def bounded(job: NoisyJob) -> list[float]:
    """After each result from the fifth on, what can truly be gained, the bound on it, and P(a worthwhile gain)."""
    function, optimizer = (
        function_named(job.problem),
        Optimizer(function_named(job.problem).space, direction="maximize", seed=job.seed),
    )
    results = 0
    found: list[float] = []

    def look(_setting: Setting, _responses: Responses) -> None:
        nonlocal results
        results += 1
        if results >= FIRST_BOUND:
            regret = 1 - function.respond(optimizer.recommend().setting)  # the function's best is 1
            bound, gain = (
                optimizer.estimate_remaining().bound,
                optimizer.estimate_remaining(more_than=WORTHWHILE).probability,
            )
            found.extend((regret, float(bound), float(gain)))

    in_turn(Ours(optimizer), _Noisy(job), job.trials, after=look)
    return found


class _Noisy:
    """A test function's response with noise, as repeatable as the campaign."""

    def __init__(self, job: NoisyJob) -> None:
        self._function, self._noise = function_named(job.problem), job.noise
        self._rng = np.random.default_rng(job.seed)

    def __call__(self, setting: Setting) -> Responses:
        return {"y": self._function.respond(setting) + self._noise * float(self._rng.standard_normal())}


def side_by_side(results: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Results of which several numbers were kept for each step: a row for each step, a column for each number."""
    place = results["step"] - 1
    told = results.assign(step=1 + place // len(names), kept=[names[one] for one in place % len(names)])
    fields = [name for name in results.columns if name not in ("value", "failed_fits", "seconds", "software")]
    return told.pivot(index=fields, columns="kept", values="value").reset_index().rename_axis(columns=None)
