"""What huge finite results cost: objectives that are 1e30 on half of the box, as a loss that diverged.

    python -m benchmarks diverging [--smoke]
    python -m benchmarks diverging --tables DIR

The loss that is minimised is 0 at best and 1 at worst where the first input is below its middle, and 1e30 elsewhere.
Simple regret after the last trial, of `Optimizer` and `TunedPriorSampler`, with old data and without, beside Optuna's
`GPSampler`. Old data is thirty random runs of the same process a little to the side, of which about half diverged too.

With `--tables`, how often ordinary results would be taken as far worse: random samples of 5 to 40 rows of each table
`DIR/NAME/target.csv`, whose `meta.json` says which columns are inputs and which way is better.
"""

import argparse
import json
import logging
import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
from optuna.distributions import FloatDistribution
from optuna.samplers import BaseSampler, GPSampler
from scipy.stats import t as student

from benchmarks.comparison import Estimate
from benchmarks.problems.functions import Function, function_named
from benchmarks.problems.pairs import LOG_RESPONSES
from benchmarks.results import RESULTS, read_results
from benchmarks.runner import Study, run_all
from benchmarks.tables import markdown
from tunedprior import Optimizer
from tunedprior.campaign import simulate
from tunedprior.goals.goals import Goals
from tunedprior.history.trials import Trial
from tunedprior.integrations.optuna import TunedPriorSampler
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Setting, Space

DIVERGED = 1e30
OPTIMIZER, SAMPLER, GAUSSIAN = "Optimizer", "TunedPriorSampler", "Optuna GPSampler"
WITHOUT, WITH = "no old data", "old data"
METHODS = ((OPTIMIZER, WITHOUT), (OPTIMIZER, WITH), (SAMPLER, WITHOUT), (SAMPLER, WITH), (GAUSSIAN, WITHOUT))
#: One input: the loss falls towards the middle, where it diverges.
RAMP = Function("ramp", lambda x: -x[..., 0], ((0.0, 1.0),), -0.5, 0.0, ((0.5,),))
#: One, two and three inputs. All have an optimum where the loss does not diverge.
PROBLEMS = ("ramp", "Branin", "Hartmann-3")
TRIALS = {"ramp": 20, "Branin": 25, "Hartmann-3": 25}
#: The name of what is no family of the corpus.
PAIRS = "the measured pairs"
_SEEDS, _ROWS, _ASIDE, _SAMPLES = 10, 30, 0.1, 200


@dataclass(frozen=True)
class DivergingJob:
    """A campaign on a loss that diverges on half of the box."""

    problem: str
    method: str
    old: str
    seed: int
    trials: int


def named(problem: str) -> Function:
    """The function that is 1 at best where the loss does not diverge."""
    return RAMP if problem == RAMP.name else function_named(problem)


def loss(function: Function, setting: Setting) -> float:
    """1 - f(x) where the first input is at most 0, and 1e30 elsewhere."""
    return DIVERGED if next(iter(setting.values())) > 0 else 1.0 - function.respond(setting)


def old_runs(job: DivergingJob) -> pd.DataFrame | None:
    """Random settings and what came of them in the function moved to the side."""
    if job.old == WITHOUT:
        return None
    function = named(job.problem)
    aside = replace(function, shift=(_ASIDE,) * function.num_inputs)
    settings = np.random.default_rng(job.seed).uniform(-1, 1, (_ROWS, function.num_inputs))
    table = pd.DataFrame(settings, columns=list(function.space))
    return table.assign(y=[loss(aside, one) for one in table.to_dict("records")])


def regret(job: DivergingJob) -> list[float]:
    """The least loss after each trial: that of the best setting is 0."""
    function = named(job.problem)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if job.method == OPTIMIZER:
            optimizer = Optimizer(function.space, old_runs(job), direction="minimize", seed=job.seed)
            return simulate(optimizer, lambda one: loss(function, one), job.trials)
        study = optuna.create_study(sampler=_sampler(job, function))
        study.optimize(lambda trial: loss(function, _suggested(trial, function)), n_trials=job.trials)
    return np.minimum.accumulate([trial.value for trial in study.trials]).tolist()


def _sampler(job: DivergingJob, function: Function) -> BaseSampler:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    logging.getLogger("tunedprior").setLevel(logging.ERROR)
    if job.method == GAUSSIAN:
        return GPSampler(seed=job.seed)
    space = {name: FloatDistribution(*ends) for name, ends in function.space.items()}
    return TunedPriorSampler(old_runs(job), seed=job.seed, search_space=space)


def _suggested(trial: optuna.Trial, function: Function) -> Setting:
    return {name: trial.suggest_float(name, *ends) for name, ends in function.space.items()}


STUDY = Study("diverging", DivergingJob, regret, "python -m benchmarks diverging")


def difference(own: np.ndarray, base: np.ndarray) -> Estimate:
    """The mean of own - base over seeds, with the 95 % interval of Student's t."""
    each = own - base
    middle = float(each.mean())
    half = float(student.ppf(0.975, len(each) - 1) * each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else 0.0
    return Estimate(middle, middle - half, middle + half)


def table(results: pd.DataFrame) -> str:
    """Mean regret after the last trial, and its difference to GPSampler's with a 95 % interval over seeds."""
    last = results[results["step"] == results["trials"]]
    final = last.set_index(["problem", "method", "old", "seed"])["value"].unstack("seed")
    names = [name for name in PROBLEMS if name in final.index.get_level_values("problem")]
    rows = {f"{method}, {old}" if method != GAUSSIAN else method: (method, old) for method, old in METHODS}
    cells = {}
    for name in names:
        base = final.loc[(name, GAUSSIAN, WITHOUT)].to_numpy()
        cells[f"{name} ({named(name).num_inputs})"] = [
            _cell(final.loc[(name, *row)].to_numpy(), None if row[0] == GAUSSIAN else base) for row in rows.values()
        ]
    return markdown(pd.DataFrame(cells, index=pd.Index(rows, name="method")))


def _cell(own: np.ndarray, base: np.ndarray | None) -> str:
    mean = f"{own.mean():.2g}"
    if base is None:
        return mean
    by = difference(own, base)
    return f"{mean} ({by.middle:+.2g}, {by.low:+.2g} to {by.high:+.2g})"


@dataclass(frozen=True)
class OrdinaryJob:
    """Samples of the results in one table."""

    problem: str
    seed: int
    samples: int


def taken_as_far_worse(job: OrdinaryJob, tables: Path) -> list[float]:
    """How many samples have a result that is far worse than all others, and of how many."""
    about = json.loads((tables / job.problem / "meta.json").read_text(encoding="utf-8"))
    rows = pd.read_csv(tables / job.problem / "target.csv")
    if "target" in LOG_RESPONSES.get(job.problem, ()):
        rows["y"] = np.log(rows["y"])
    names = [name for name in about["inputs"] if rows[name].nunique() > 1]
    space = Space.parse({name: _parameter(rows[name], name in about["categorical"]) for name in names})
    goals, box = Goals.parse({"max": "maximize", "min": "minimize"}[about["goal"]]), Box.enclose(space)
    rng, found = np.random.default_rng(job.seed), 0
    settings, values = rows[names].to_dict("records"), rows["y"].tolist()
    for _ in range(job.samples):
        chosen = rng.permutation(len(rows))[: int(rng.integers(5, 41))].tolist()
        trials = [Trial(settings[row], values[row], id=row) for row in chosen]
        found += bool(goals.find_far_worse(trials, box))
    return [float(found), float(job.samples)]


def _parameter(column: pd.Series, categorical: bool) -> object:
    if categorical or not pd.api.types.is_numeric_dtype(column):
        return sorted(column.unique().tolist())
    return float(column.min()), float(column.max())


def ordinary_table(results: pd.DataFrame) -> str:
    """By family, how many samples have a result that would be taken as far worse."""
    families = results["problem"].str.split("__").str[0].where(results["problem"].str.contains("__"), PAIRS)
    counts = results.assign(family=families).groupby(["family", "step"])["value"].sum().astype(int).unstack("step")
    counts = counts.rename_axis("results of").sort_index()
    cells = [f"{some:,} of {of:,} ({100 * some / of:.1f} %)" for some, of in counts.to_numpy().tolist()]
    return markdown(pd.DataFrame({"samples with a result that is far worse": cells}, index=counts.index))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="one problem, two seeds, five trials, nothing stored")
    parser.add_argument("--tables", metavar="DIR", type=Path, help="count in samples of these tables instead")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the table."""
    if arguments.tables is not None:
        _count(arguments.tables)
        return
    names, seeds = (PROBLEMS[:1], 2) if arguments.smoke else (PROBLEMS, _SEEDS)
    jobs = [
        DivergingJob(name, method, old, seed, 5 if arguments.smoke else TRIALS[name])
        for name in names
        for seed in range(seeds)
        for method, old in METHODS
    ]
    found = table(run_all(STUDY, jobs, None if arguments.smoke else RESULTS))
    print(found)


def _count(tables: Path) -> None:
    study = Study("ordinary", OrdinaryJob, partial(taken_as_far_worse, tables=tables), f"{STUDY.command} --tables DIR")
    names = sorted(one.parent.name for one in tables.glob("*/target.csv"))
    run_all(study, [OrdinaryJob(name, 0, _SAMPLES) for name in names], RESULTS)
    found = ordinary_table(read_results("ordinary"))
    print(found)
