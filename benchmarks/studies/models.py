"""Every goal with every kind of model, against random search.

    python -m benchmarks models [--smoke] [--workers N]

Two functions are tuned, Branin (two inputs) and Hartmann-3, with y(x) scaled to [0, 1] over x in [-1, 1]^d. A second
response is p(x) = 1 - ‖x - a‖²/d, and a run costs c(x) = 2 + x_0. Old data is 60 noisy rows of a variant: shifted by a
tenth of the box, 1 + 3 y and 1 - p/2. All campaigns begin with the same four Sobol settings. The loss after k trials,
0 at best:

- largest value in batches, with settings under way, or within a cost: 1 - max_i y_i
- target t: min_i |y_i - t|
- requirement p ≥ 0.75: 1 - max_i {y_i : p_i ≥ 0.75}, and 1 while there is no such i; the best y of all meets it
- two objectives: (HV* - HV({(y_i, p_i)}))/HV*, where HV* is that of a large sample
- candidates: max_j y_j - max_i y_i, with j over a pool of 200 settings

Campaigns have 15 trials; with a cost, as many as a budget of 20 covers: 10 at the mean cost. Random search is the mean
of 100 continuations of the first four settings by uniform ones.
"""

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from botorch.models.model import Model
from botorch.posteriors import TransformedPosterior

from benchmarks.comparison import LEAST_REGRET, Estimate, estimated, paired_ratio
from benchmarks.problems.fronts import hypervolume
from benchmarks.problems.functions import Function, function_named
from benchmarks.problems.variants import old_variant
from benchmarks.results import RESULTS
from benchmarks.runner import Study, run_all
from benchmarks.tables import markdown, marked
from tunedprior import Goals, Optimizer, SearchConfig, Target, TransferConfig
from tunedprior.goals.observations import Observations
from tunedprior.kernels import SquaredExponential
from tunedprior.models.gaussian_process import StandardSurrogate
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Setting, Space

TARGET, REQUIREMENT, COST, FRONT = "target", "requirement", "cost", "two objectives"
BATCH, PENDING, CANDIDATES = "batches of 4", "4 under way", "200 candidates"
GOALS = (TARGET, REQUIREMENT, COST, FRONT, BATCH, PENDING, CANDIDATES)
AVERAGE, TUNED, STANDARD, OWN, RANDOM = "average", "TunedPrior", "SingleTaskGP", "own model", "random search"
#: The last one chooses without a model.
MODELS = (AVERAGE, TUNED, STANDARD, OWN, RANDOM)
TOGETHER = "geometric mean"
#: Goals and functions.
Pairs = list[tuple[str, str]]
#: The least p of the requirement.
PURE = 0.75
_TRIALS, _SEEDS, _SIDE_BY_SIDE, _POOL = 15, 10, 4, 200
_BUDGET_PER_TRIAL = 4 / 3
_CONTINUATIONS, _SAMPLE = 100, 2**17


@dataclass(frozen=True)
class ModelJob:
    """A campaign towards one goal."""

    problem: str
    goal: str
    model: str
    seed: int
    trials: int


@dataclass(frozen=True, eq=False)
class Process:
    """Two responses of one setting.

    Attributes:
        function: y, which is 1 at best and 0 at worst.
        centre: a, where p is 1.
        wanted: The target value of y.
        least: Less of y is of no interest where p counts too.
    """

    function: Function
    centre: tuple[float, ...]
    wanted: float
    least: float

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        """Rows of y and p at rows of settings."""
        p = 1 - ((x - np.array(self.centre)) ** 2).sum(-1) / len(self.centre)
        return np.stack([self.function(x), p], axis=-1)

    def old(self, seed: int, responses: Sequence[str]) -> pd.DataFrame:
        """Records of a related process: its settings and these responses."""
        table = old_variant(self.function.space, self.evaluate, ("y", "p"), seed)
        return table[[*self.function.space, *responses]]

    def compute_hypervolume(self, found: np.ndarray) -> float:
        """HV of rows of y and p over the reference point (least, 0)."""
        return hypervolume(-found, np.array([-self.least, 0.0]))

    @cached_property
    def largest(self) -> float:
        """HV*."""
        sample = np.random.default_rng(0).uniform(-1, 1, (_SAMPLE, len(self.centre)))
        return self.compute_hypervolume(self.evaluate(sample))


@cache
def process_named(name: str) -> Process:
    """One of `PROCESSES`."""
    return Process(function_named(name), *PROCESSES[name])


#: a, the target value, and the least y of interest, by the function's name.
PROCESSES = {"Branin": ((-0.3, 0.2), 0.5, 0.8), "Hartmann-3": ((-0.3, 0.1, 0.2), 0.8, 0.0)}


class HeavyTailedModel(Model):
    """y = sinh(z) with a Gaussian process z: Johnson's S_U distribution.

    With mean m and variance v of z, E y = sinh(m) exp(v/2) and Var y = (exp(v) - 1)(exp(v) cosh(2m) + 1)/2.
    """

    num_outputs = 1

    def __init__(self, process: Model) -> None:
        super().__init__()
        self.process = process

    @property
    def batch_shape(self) -> torch.Size:
        """No batch."""
        return torch.Size()

    def posterior(self, X: torch.Tensor, *args: object, **options: object) -> TransformedPosterior:
        """The posterior of y."""
        return TransformedPosterior(
            self.process.posterior(X, *args, **options),
            torch.sinh,
            lambda mean, variance: mean.sinh() * (variance / 2).exp(),
            lambda mean, variance: variance.expm1() * (variance.exp() * (2 * mean).cosh() + 1) / 2,
        )


@dataclass(frozen=True, eq=False)
class HeavyTailedSurrogate:
    """A user's own surrogate: BoTorch's process for arsinh(y)."""

    box: Box

    def __call__(self, observations: Observations) -> Model:
        """The fitted model."""
        moved = Observations(observations.X, observations.y.asinh())
        return HeavyTailedModel(StandardSurrogate(self.box)(moved))


def compute_losses(job: ModelJob) -> list[float]:
    """The loss after each trial of a campaign; of random search the mean of many."""
    process = process_named(job.problem)
    if job.model != RANDOM:
        return _measure_losses(process, job, list(_run_campaign(process, job)))
    first = _open(process, job, AVERAGE).ask(n=_SIDE_BY_SIDE, candidates=_make_pool(process, job))
    random = np.random.default_rng(job.seed)
    each = [_measure_losses(process, job, [*first, *_draw(process, job, random)]) for _ in range(_CONTINUATIONS)]
    longest = max(map(len, each))
    return np.mean([curve + curve[-1:] * (longest - len(curve)) for curve in each], axis=0).tolist()


def _open(process: Process, job: ModelJob, model: str) -> Optimizer:
    """The campaign before its first setting."""
    goals = {
        TARGET: {"direction": Target(process.wanted)},
        REQUIREMENT: {"direction": "maximize", "requirements": {"p": f">= {PURE}"}},
        FRONT: {
            "objectives": Goals.parse(
                objectives={"y": "maximize", "p": "maximize"},
                preference={"y": f">= {process.least}", "p": ">= 0"},
            ),
        },
    }
    box, responses = Box.enclose(Space.parse(process.function.space)), _responses_of(job.goal)
    models = {
        STANDARD: lambda: StandardSurrogate(box),
        OWN: lambda: HeavyTailedSurrogate(box),
    }
    options: dict[str, Any] = goals.get(job.goal, {"direction": "maximize"})
    own = models[model]() if model in models else None
    if own is None:
        options["old_data"] = process.old(job.seed, responses)
        options["transfer"] = (
            TransferConfig("reweighted", kernel=SquaredExponential()) if model == TUNED else TransferConfig("average")
        )
    cost = _cost_of if job.goal == COST else None
    search = SearchConfig(initial=_SIDE_BY_SIDE, design="sobol", cost=cost, model=own)
    return Optimizer(process.function.space, seed=job.seed, search=search, **options)


def _run_campaign(process: Process, job: ModelJob) -> Iterator[Setting]:
    """Ask and tell; the settings in the order of their results."""
    optimizer, pool = _open(process, job, job.model), _make_pool(process, job)
    waiting: list[Setting] = []
    left = _most_trials(job)
    budget = job.trials * _BUDGET_PER_TRIAL
    while left or waiting:
        if len(waiting) < (_SIDE_BY_SIDE if job.goal == PENDING else 1) and left:
            count = min(_SIDE_BY_SIDE, left) if job.goal == BATCH else 1
            waiting += optimizer.ask(n=count, candidates=pool)
            left -= count
            continue
        setting = waiting.pop(0)
        budget -= _cost_of(setting)
        if job.goal == COST and budget < 0:
            return
        y, p = process.evaluate(np.array(list(setting.values()))).tolist()
        optimizer.tell(setting, {"y": y, "p": p} if "p" in _responses_of(job.goal) else y)
        yield setting


def _draw(process: Process, job: ModelJob, random: np.random.Generator) -> list[Setting]:
    """Uniform settings after the first four: of the pool, or of the box."""
    pool = _make_pool(process, job)
    if pool is not None:
        return [pool[row] for row in random.permutation(len(pool))[: job.trials - _SIDE_BY_SIDE]]
    count = _most_trials(job) - _SIDE_BY_SIDE
    names = list(process.function.space)
    return [dict(zip(names, row, strict=True)) for row in random.uniform(-1, 1, (count, len(names))).tolist()]


def _responses_of(goal: str) -> tuple[str, ...]:
    return ("y", "p") if goal in (REQUIREMENT, FRONT) else ("y",)


def _most_trials(job: ModelJob) -> int:
    """With a cost, more than the budget covers."""
    return 2 * job.trials if job.goal == COST else job.trials


def _make_pool(process: Process, job: ModelJob) -> list[Setting] | None:
    """Another Sobol sequence than that of the first settings; None where all of the box is offered."""
    return Space.parse(process.function.space).sobol(_POOL, 1000 + job.seed) if job.goal == CANDIDATES else None


def _cost_of(setting: Setting) -> float:
    return 2 + setting["x0"]


def _measure_losses(process: Process, job: ModelJob, settings: Sequence[Setting]) -> list[float]:
    """The goal's loss after each of these trials."""
    found = process.evaluate(_to_rows(settings))
    y, p = found.T
    if job.goal == FRONT:
        reached = [process.compute_hypervolume(found[:count]) for count in range(1, 1 + len(found))]
        return [max(0.0, 1 - one / process.largest) for one in reached]
    each = 1 - y
    if job.goal == TARGET:
        each = np.abs(y - process.wanted)
    elif job.goal == REQUIREMENT:
        each = np.where(p >= PURE, 1 - y, 1.0)
    elif job.goal == COST:
        spent = np.cumsum([_cost_of(setting) for setting in settings])
        each = each[spent <= job.trials * _BUDGET_PER_TRIAL]
    elif job.goal == CANDIDATES:
        each = process.evaluate(_to_rows(_make_pool(process, job)))[:, 0].max() - y
    return np.minimum.accumulate(each).tolist()


def _to_rows(settings: Sequence[Setting]) -> np.ndarray:
    return np.array([list(setting.values()) for setting in settings])


STUDY = Study("models", ModelJob, compute_losses, "python -m benchmarks models")


def tables(results: pd.DataFrame) -> dict[str, str]:
    """The mean loss at the end by goal and model; its ratio to random search's by goal, function and model."""
    last = results.sort_values("step").groupby(["goal", "problem", "model", "seed"])["value"].last()
    final = last.unstack("seed")
    goals = [goal for goal in GOALS if goal in final.index]
    problems = [problem for problem in PROCESSES if problem in final.index.get_level_values("problem")]
    losses = {
        model: [_with_interval(_mean(_rows(final, _pair_all([goal], problems), model))) for goal in goals]
        for model in MODELS
    }
    rows = {f"{goal}, {problem}": [(goal, problem)] for goal in goals for problem in problems}
    rows |= {f"{TOGETHER}, {problem}": _pair_all(goals, [problem]) for problem in problems}
    rows |= {TOGETHER: _pair_all(goals, problems)}
    ratios = {
        model: [marked(_ratio(final, pairs, model)) for pairs in rows.values()] for model in MODELS if model != RANDOM
    }
    return {
        "models losses": markdown(pd.DataFrame(losses, index=pd.Index(goals, name="goal"))),
        "models ratios": markdown(pd.DataFrame(ratios, index=pd.Index(rows, name="goal, function"))),
    }


def _pair_all(goals: Sequence[str], problems: Sequence[str]) -> Pairs:
    return list(itertools.product(goals, problems))


def _rows(final: pd.DataFrame, pairs: Pairs, model: str) -> np.ndarray:
    """A row for each goal and problem, a column for each seed."""
    return np.stack([final.loc[(*pair, model)].to_numpy() for pair in pairs])


def _mean(rows: np.ndarray) -> Estimate:
    """Over problems and seeds, with 95 % of a bootstrap over seeds."""

    def mean(*each: np.ndarray, axis: int) -> np.ndarray:
        return np.mean([row.mean(axis=axis) for row in each], axis=0)

    return estimated(mean, *rows)


def _ratio(final: pd.DataFrame, pairs: Pairs, model: str) -> Estimate:
    return paired_ratio(_rows(final, pairs, model), _rows(final, pairs, RANDOM), least=LEAST_REGRET)


def _with_interval(value: Estimate) -> str:
    return f"{value.middle:.3f} ({value.low:.3f}–{value.high:.3f})"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="one problem, one seed, six trials, nothing stored")
    parser.add_argument("--workers", type=int, metavar="N", help="campaigns at a time; one for each core by default")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the tables."""
    problems, seeds, trials = (("Branin",), 1, 6) if arguments.smoke else (tuple(PROCESSES), _SEEDS, _TRIALS)
    jobs = [
        ModelJob(problem, goal, model, seed, trials)
        for seed in range(seeds)
        for problem in problems
        for goal in GOALS
        for model in MODELS
    ]
    found = tables(run_all(STUDY, jobs, None if arguments.smoke else RESULTS, arguments.workers))
    print("\n\n".join(found.values()))
