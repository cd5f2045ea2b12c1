"""What a mistake in old data costs: a mistyped row, or a column in other units.

    python -m benchmarks mistakes [--smoke]

Fifty old rows of the very function that is optimised, as they are and with one mistake, beside the same optimiser
without old data: simple regret after 14 trials anywhere in the space.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.comparison import LEAST_REGRET, paired_ratio
from benchmarks.problems.functions import Function, function_named
from benchmarks.results import RESULTS
from benchmarks.runner import Study, run_all
from benchmarks.tables import markdown, marked
from tunedprior import Optimizer
from tunedprior.campaign import simulate
from tunedprior.errors import OldDataWarning
from tunedprior.source_data.matching import read_old_data
from tunedprior.space.search_space import Setting, Space

NAMES = ("Branin", "Himmelblau", "Styblinski-Tang")
#: What the two inputs of a function are called, and their ranges: °C, and ml/min.
UNITS = {"temperature": (30.0, 90.0), "flow": (0.5, 2.5)}
NO_OLD_DATA, GOOD = "no old data", "no mistake"
_ROWS, _TRIALS, _SEEDS = 50, 14, 20


def _one_row(column: str) -> Callable[[pd.DataFrame, int], pd.DataFrame]:
    def times_100(old: pd.DataFrame, row: int) -> pd.DataFrame:
        return old.assign(**{column: old[column].where(old.index != row, 100 * old[column])})

    return times_100


#: From good old data, and the number of a row, to old data with a mistake.
MISTAKES: dict[str, Callable[[pd.DataFrame, int], pd.DataFrame]] = {
    "a row's temperature × 100": _one_row("temperature"),
    "a row's response × 100": _one_row("y"),
    "flow × 1000 (µl)": lambda old, _row: old.assign(flow=1000 * old["flow"]),
    "flow / 1000 (l)": lambda old, _row: old.assign(flow=old["flow"] / 1000),
    "temperature in K": lambda old, _row: old.assign(temperature=old["temperature"] + 273.15),
}


@dataclass(frozen=True)
class MistakeJob:
    """A campaign on a test function, with old data that has this mistake."""

    problem: str
    mistake: str
    seed: int
    trials: int


def table_of(job: MistakeJob) -> pd.DataFrame | None:
    """The old data: uniform settings in the units above."""
    if job.mistake == NO_OLD_DATA:
        return None
    rng = np.random.default_rng(job.seed)
    old = pd.DataFrame({name: rng.uniform(*ends, _ROWS) for name, ends in UNITS.items()})
    old["y"] = [_respond(function_named(job.problem), setting) for setting in old.to_dict("records")]
    row = int(rng.integers(_ROWS))
    return old if job.mistake == GOOD else MISTAKES[job.mistake](old, row)


def _respond(function: Function, setting: Setting) -> float:
    inside = [2 * (setting[name] - low) / (high - low) - 1 for name, (low, high) in UNITS.items()]
    return function.respond(dict(zip(function.space, inside, strict=True)))


def regret(job: MistakeJob) -> list[float]:
    """Simple regret after each trial."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OldDataWarning)
        optimizer = Optimizer(UNITS, table_of(job), direction="maximize", seed=job.seed)
    function = function_named(job.problem)
    best = float(function(np.asarray(function.best_settings)).max())
    return [best - value for value in simulate(optimizer, lambda one: _respond(function, one), job.trials)]


def is_warned_of(job: MistakeJob) -> bool:
    """Whether reading the old data gives a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_old_data(table_of(job), Space.parse(UNITS))
    return any(issubclass(one.category, OldDataWarning) for one in caught)


STUDY = Study("mistakes", MistakeJob, regret, "python -m benchmarks mistakes")


def tables(results: pd.DataFrame) -> dict[str, str]:
    """Regret after the last trial over that without old data, and how many of the tables were warned of."""
    last = results[results["step"] == results["step"].max()]
    final = last.set_index(["mistake", "problem", "seed"])["value"].unstack("seed")
    names = [name for name in NAMES if name in final.index.get_level_values("problem")]
    trials, seeds = int(results["trials"].max()), sorted(final.columns)
    rows = [GOOD, *MISTAKES]

    def cell(mistake: str, among: list[str]) -> str:
        own, base = (final.loc[[(each, name) for name in among]].to_numpy() for each in (mistake, NO_OLD_DATA))
        return marked(paired_ratio(own, base, least=LEAST_REGRET))

    cells = {name: [cell(mistake, [name]) for mistake in rows] for name in names}
    cells["geometric mean"] = [cell(mistake, names) for mistake in rows]
    warned = [
        [is_warned_of(MistakeJob(name, mistake, seed, trials)) for name in names for seed in seeds] for mistake in rows
    ]
    cells["warned of"] = [f"{sum(found)} of {len(found)}" for found in warned]
    return {"mistakes": markdown(pd.DataFrame(cells, index=pd.Index(rows, name="old data")))}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="one function, two seeds, four trials, nothing stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the table."""
    names, seeds, trials = (NAMES[:1], 2, 4) if arguments.smoke else (NAMES, _SEEDS, _TRIALS)
    every = [NO_OLD_DATA, GOOD, *MISTAKES]
    jobs = [MistakeJob(name, one, seed, trials) for name in names for seed in range(seeds) for one in every]
    found = tables(run_all(STUDY, jobs, None if arguments.smoke else RESULTS))
    print(found["mistakes"])
