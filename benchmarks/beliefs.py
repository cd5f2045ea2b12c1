"""The average over beliefs: does it win when old data is informative in any way, and cost nothing when it is not?

    python -m benchmarks beliefs [--smoke] [--only functions|continuous|pairs] [--pairs DIR] [--out DIR]
    python -m benchmarks beliefs --estimate

Ratios of mean simple regret over 40 steps to BoTorch's SingleTaskGP with LogEI, which sees no old data: same pools,
first settings and seeds. `--pairs` takes a folder of measured pairs (see benchmarks/pairs.py); they are not part of the
project, and without it that part is left out.
"""

import argparse
import tempfile
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.campaigns import campaign
from benchmarks.figures import draw_beliefs
from benchmarks.functions import FAILURES, FUNCTIONS, MORE, MORE_FUNCTIONS, PAPER, SHIFTED
from benchmarks.methods import ALL_METHODS, AVERAGE, BASELINE, RIVAL, OldData
from benchmarks.old_data import KINDS, old_data
from benchmarks.pairs import PAIRS, Pair, read_pair, subsample
from benchmarks.paper import DOCS, pool_of
from benchmarks.report import MEASURED, belief_tables, write_tables
from benchmarks.runs import RESULTS, estimated_seconds, run_all
from tunedprior import Optimizer
from tunedprior.errors import InputError

CONTINUOUS_KINDS = ("flipped", "pure noise")


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes:
        names: Functions to choose from a pool on.
        continuous: Functions to optimise over the whole box.
        pairs: Measured pairs.
        seeds: Of ours and the baseline.
        rival_seeds: Of the rival, which takes ten times as long, on every second function.
        rival_pair_seeds: And on pairs.
        steps: After the first settings, one more of which than there are inputs.
        pool: Settings to choose from.
    """

    names: tuple[str, ...]
    continuous: tuple[str, ...]
    pairs: tuple[str, ...]
    seeds: range
    rival_seeds: range
    rival_pair_seeds: range
    steps: int
    pool: int


# The prior's numbers were chosen on seeds below 10; these chose nothing.
FULL = Size(
    names=(*PAPER, *SHIFTED, *FAILURES, *MORE),
    continuous=("Hölder table", "Styblinski-Tang", "Ackley (shifted)", "six-hump camel", "Hartmann-3"),
    pairs=PAIRS,
    seeds=range(100, 120),
    rival_seeds=range(100, 101),
    rival_pair_seeds=range(100, 102),
    steps=40,
    pool=1024,
)
SMOKE = replace(
    FULL,
    names=("Branin", "Hartmann-3"),
    continuous=("Branin",),
    pairs=PAIRS[:1],
    seeds=range(100, 101),
    rival_pair_seeds=range(100, 101),
    steps=2,
    pool=64,
)


def on_pool(name: str, kind: str, method: str, seed: int, steps: int, pool_size: int) -> list[float]:
    """Simple regret within a pool after each step; steps come after the first settings."""
    function = (FUNCTIONS | MORE_FUNCTIONS)[name]
    pool = pool_of(function, pool_size, seed)
    values = function(pool.to_numpy())
    first = function.num_inputs + 1
    best = campaign(method, old_data(kind, function, seed), function.space, pool, values, first + steps, seed)
    return [float(values.max()) - value for value in best[first:]]


def on_continuum(name: str, kind: str, method: str, seed: int, steps: int) -> list[float]:
    """Simple regret over the whole box after each step, the acquisition function maximised by gradients."""
    function = (FUNCTIONS | MORE_FUNCTIONS)[name]
    chosen = ALL_METHODS[method]
    old = OldData(old_data(kind, function, seed), function.space, "maximize", seed)
    optimizer = Optimizer(function.space, acquisition=chosen.acquisition, seed=seed, model=chosen.surrogate(old))
    first = np.random.default_rng(seed).uniform(-1, 1, (function.num_inputs + 1, function.num_inputs))
    told = pd.DataFrame(first, columns=list(function.space))
    optimizer.tell(told, function(first))
    found = []
    for _ in range(steps):
        setting = optimizer.ask()
        optimizer.tell(setting, float(function(np.array(list(setting.values())))))
        found.append(1 - optimizer.best.value)
    return found


@cache
def _pair(folder: str, name: str) -> Pair:
    return read_pair(Path(folder), name)


def on_pair(folder: str, name: str, _kind: str, method: str, seed: int, steps: int, pool_size: int) -> list[float]:
    """Regret within the measured settings of the new process, as a share of their range."""
    pair = subsample(_pair(folder, name), seed, pool_size)
    first = len(pair.space) + 1
    best = campaign(
        method, pair.old, pair.space, pair.pool, pair.responses, first + steps, seed, direction=pair.direction
    )
    return pair.regret(best[first:])


def function_jobs(size: Size) -> list[tuple]:
    """The baseline once for each function and seed, as it sees no old data; ours on all kinds; the rival on a half."""
    baseline = [(name, "flipped", BASELINE, seed) for name in size.names for seed in size.seeds]
    ours = [(name, kind, AVERAGE, seed) for name in size.names for kind in KINDS for seed in size.seeds]
    rival = [(name, kind, RIVAL, seed) for name in size.names[::2] for kind in KINDS for seed in size.rival_seeds]
    return [(*job, size.steps, size.pool) for job in (*baseline, *ours, *rival)]


def continuous_jobs(size: Size) -> list[tuple]:
    """Five functions, useful and useless old data."""
    baseline = [(name, "flipped", BASELINE, seed) for name in size.continuous for seed in size.seeds]
    ours = [(name, kind, AVERAGE, seed) for name in size.continuous for kind in CONTINUOUS_KINDS for seed in size.seeds]
    return [(*job, size.steps) for job in (*baseline, *ours)]


def pair_jobs(size: Size) -> list[tuple]:
    """All measured pairs."""
    seeds = {BASELINE: size.seeds, AVERAGE: size.seeds, RIVAL: size.rival_pair_seeds}
    return [
        (name, MEASURED, method, seed, size.steps, size.pool)
        for name in size.pairs
        for method, some in seeds.items()
        for seed in some
    ]


def estimated_minutes(size: Size, folder: str | None) -> float:
    """On two cores, from two campaigns of each method and part."""
    seconds = estimated_seconds(on_pool, function_jobs(size), group=lambda job: (job[0], job[2]), sample=2)
    seconds += estimated_seconds(on_continuum, continuous_jobs(size), group=lambda job: (job[0], job[2]), sample=2)
    if folder is not None:
        measured = partial(on_pair, folder)
        seconds += estimated_seconds(measured, pair_jobs(size), group=lambda job: (job[0], job[2]), sample=2)
    return seconds / 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="a few functions, one seed, two steps, nothing stored")
    parser.add_argument("--only", choices=("functions", "continuous", "pairs"), help="one part of it")
    parser.add_argument("--pairs", metavar="DIR", help="a folder of measured pairs; without it they are left out")
    parser.add_argument("--estimate", action="store_true", help="how long all of it takes on two cores, from a sample")
    parser.add_argument("--out", type=Path, help="where results, tables and figures go, instead of into the project")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, then write tables and figures."""
    size = SMOKE if arguments.smoke else FULL
    if arguments.pairs is not None:
        for name in size.pairs:
            _pair(arguments.pairs, name)  # refuses what cannot be read, before anything is written
    if arguments.estimate:
        print(f"About {estimated_minutes(size, arguments.pairs):.0f} minutes on two cores like these.")
        return
    if arguments.only == "pairs" and arguments.pairs is None:
        raise InputError("Measured pairs are not part of the project; say where they are with --pairs DIR.")
    out: Path | None = arguments.out
    if out is None and arguments.smoke:
        out = Path(tempfile.mkdtemp(prefix="tunedprior-"))
    results, docs = (RESULTS, DOCS) if out is None else (out, out)
    (docs / "figures").mkdir(parents=True, exist_ok=True)
    command = "python -m benchmarks beliefs" + (" --smoke" if arguments.smoke else "")
    found = {}
    if arguments.only in (None, "functions"):
        found["functions"] = run_all("beliefs", on_pool, function_jobs(size), command, results)
    if arguments.only in (None, "continuous"):
        found["continuous"] = run_all("beliefs_continuous", on_continuum, continuous_jobs(size), command, results)
    if arguments.only in (None, "pairs") and arguments.pairs is not None:
        measured = partial(on_pair, arguments.pairs)  # where the folder is belongs into no result
        found["pairs"] = run_all("beliefs_pairs", measured, pair_jobs(size), f"{command} --pairs DIR", results)
    write_tables(docs / "beliefs.md", belief_tables(found))
    if "functions" in found:
        draw_beliefs(found["functions"], docs / "figures" / "beliefs")
    print(f"Results are in {results}, tables and figures in {docs}.")
