"""The average over beliefs: does it win when old data is informative in any way, and cost nothing when it is not?

    python -m benchmarks beliefs [--smoke] [--only functions|continuous|pairs] [--pairs DIR] [--out DIR]
    python -m benchmarks beliefs --estimate

Ratios of mean simple regret over 40 steps to BoTorch's SingleTaskGP with LogEI, which sees no old data: same pools,
first settings and seeds. `--pairs` takes a folder of measured pairs (see benchmarks/problems/pairs.py); they are not
part of the project, and without it that part is left out.
"""

import argparse
import tempfile
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from benchmarks.figures import draw_beliefs
from benchmarks.methods.by_name import AVERAGE, BASELINE, RIVAL, RIVALS, OldData
from benchmarks.methods.campaigns import campaign_in_box, campaign_in_pool
from benchmarks.problems.functions import FAILURES, MORE, PAPER, SHIFTED, function_named
from benchmarks.problems.kinds import FLIPPED, KINDS, old_data
from benchmarks.problems.pairs import MEASURED, PAIRS, Pair, read_pair, subsample
from benchmarks.problems.pools import pool_of
from benchmarks.results import RESULTS, read_results
from benchmarks.runner import Study, estimated_seconds, run_all
from benchmarks.studies.belief_tables import all_belief_tables
from benchmarks.studies.paper import ON_FUNCTIONS
from benchmarks.tables import DOCS, write_tables
from tunedprior.errors import InputError

CONTINUOUS_KINDS = (FLIPPED, "pure noise")
_COMMAND = "python -m benchmarks beliefs"


@dataclass(frozen=True)
class PoolJob:
    """A campaign on a test function or a measured pair, with settings from a pool."""

    problem: str
    kind: str
    method: str
    seed: int
    steps: int
    pool: int


@dataclass(frozen=True)
class BoxJob:
    """A campaign on a test function, over the whole box."""

    problem: str
    kind: str
    method: str
    seed: int
    steps: int


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes:
        names: Functions to choose from a pool on.
        continuous: Functions to optimise over the whole box.
        pairs: Measured pairs.
        seeds: Of ours and the baseline.
        rival_seeds: Of the rival, which takes ten times as long, on every second function.
        rival_pair_seeds: Of all rivals on pairs.
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
    rival_pair_seeds=range(100, 108),
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


def on_pool(job: PoolJob) -> list[float]:
    """Simple regret within a pool after each step; steps come after the first settings."""
    function = function_named(job.problem)
    pool = pool_of(function, job.pool, job.seed)
    values = function(pool.to_numpy())
    old, first = _old_data(job), function.num_inputs + 1
    best = campaign_in_pool(job.method, old, pool, values, first + job.steps)
    return [float(values.max()) - value for value in best[first:]]


def on_continuum(job: BoxJob) -> list[float]:
    """Simple regret over the whole box after each step."""
    best = campaign_in_box(job.method, _old_data(job), function_named(job.problem).respond, job.steps)
    return [1 - value for value in best]


def _old_data(job: PoolJob | BoxJob) -> OldData:
    function = function_named(job.problem)
    return OldData(old_data(job.kind, function, job.seed), function.space, "maximize", job.seed)


@cache
def _pair(folder: str, name: str) -> Pair:
    return read_pair(Path(folder), name)


def on_pair(folder: str, job: PoolJob) -> list[float]:
    """Regret within the measured settings of the new process, as a share of their range."""
    pair = subsample(_pair(folder, job.problem), job.seed, job.pool)
    first = len(pair.space) + 1
    old = OldData(pair.old, pair.space, pair.direction, job.seed)
    return pair.regret(campaign_in_pool(job.method, old, pair.pool, pair.responses, first + job.steps)[first:])


IN_POOLS = Study("beliefs", PoolJob, on_pool, _COMMAND)
IN_BOXES = Study("beliefs_continuous", BoxJob, on_continuum, _COMMAND)


def on_pairs(folder: str) -> Study[PoolJob]:
    """The study of measured pairs; where their folder is belongs into no result."""
    return Study("beliefs_pairs", PoolJob, partial(on_pair, folder), f"{_COMMAND} --pairs DIR")


def function_jobs(size: Size) -> list[PoolJob]:
    """The baseline once for each function and seed, as it sees no old data; ours on all kinds; the rival on a half."""
    baseline = [(name, FLIPPED, BASELINE, seed) for name in size.names for seed in size.seeds]
    ours = [(name, kind, AVERAGE, seed) for name in size.names for kind in KINDS for seed in size.seeds]
    rival = [(name, kind, RIVAL, seed) for name in size.names[::2] for kind in KINDS for seed in size.rival_seeds]
    return [PoolJob(*job, size.steps, size.pool) for job in (*baseline, *ours, *rival)]


def continuous_jobs(size: Size) -> list[BoxJob]:
    """Five functions, useful and useless old data."""
    baseline = [(name, FLIPPED, BASELINE, seed) for name in size.continuous for seed in size.seeds]
    ours = [(name, kind, AVERAGE, seed) for name in size.continuous for kind in CONTINUOUS_KINDS for seed in size.seeds]
    return [BoxJob(*job, size.steps) for job in (*baseline, *ours)]


def pair_jobs(size: Size) -> list[PoolJob]:
    """All measured pairs."""
    seeds = {BASELINE: size.seeds, AVERAGE: size.seeds} | dict.fromkeys(RIVALS, size.rival_pair_seeds)
    return [
        PoolJob(name, MEASURED, method, seed, size.steps, size.pool)
        for name in size.pairs
        for method, some in seeds.items()
        for seed in some
    ]


def estimated_minutes(size: Size, folder: str | None) -> float:
    """On two cores, from two campaigns of each method and part."""
    parts = [(IN_POOLS, function_jobs(size)), (IN_BOXES, continuous_jobs(size))]
    parts += [] if folder is None else [(on_pairs(folder), pair_jobs(size))]
    return sum(estimated_seconds(study, jobs, lambda job: (job.problem, job.method), 2) for study, jobs in parts) / 60


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
    parts = {"functions": (IN_POOLS, function_jobs(size)), "continuous": (IN_BOXES, continuous_jobs(size))}
    if arguments.pairs is not None:
        parts["pairs"] = (on_pairs(arguments.pairs), pair_jobs(size))
    found = {}
    for name, (study, jobs) in parts.items():
        if arguments.only in (None, name):
            found[name] = run_all(study.with_option("--smoke") if arguments.smoke else study, jobs, results)
    if (results / f"{ON_FUNCTIONS.name}_runs.csv").exists():  # the rival is in the paper's experiments too
        found["experiments"] = read_results(ON_FUNCTIONS.name, results)
    write_tables(docs / "beliefs.md", all_belief_tables(found))
    if "functions" in found:
        draw_beliefs(found["functions"], docs / "figures" / "beliefs")
    print(f"Results are in {results}, tables and figures in {docs}.")
