"""The average over beliefs: does it win when old data is informative in any way, and cost nothing when it is not?

    python -m benchmarks beliefs [--smoke] [--only functions|continuous|pairs|first|calibration] [--pairs DIR]
                                 [--methods NAME …] [--seeds LO-HI] [--out DIR]
    python -m benchmarks beliefs --tables
    python -m benchmarks beliefs --estimate

Ratios of mean simple regret over 40 steps to BoTorch's SingleTaskGP with LogEI, which sees no old data: same pools,
first settings and seeds. `--pairs` takes a folder of measured pairs (see benchmarks/problems/pairs.py); they are not
part of the project, and without it the three parts that need them are left out: `pairs`, `first` (the first ten trials,
by how the first settings are chosen) and `calibration` (how often 95 % intervals hold what is measured next).

`--methods` and `--seeds` run a part of that, such as on another machine (`python -m benchmarks merge` brings results
together), and write no tables; `--tables` writes them from all that is stored.
"""

import argparse
import re
import tempfile
from collections.abc import Collection
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.methods.by_name import ALL_METHODS, OldData
from benchmarks.methods.campaigns import campaign_in_box, campaign_in_pool, coverage_in_pool
from benchmarks.problems.functions import function_named
from benchmarks.problems.kinds import old_data
from benchmarks.problems.pairs import Pair, read_pair, subsample
from benchmarks.problems.pools import pool_of
from benchmarks.results import RESULTS, read_results
from benchmarks.runner import Study, estimated_seconds, run_all
from benchmarks.studies.belief_jobs import (
    FULL,
    SMOKE,
    BoxJob,
    PoolJob,
    Size,
    calibration_jobs,
    continuous_jobs,
    first_jobs,
    function_jobs,
    pair_jobs,
    picked,
)
from benchmarks.studies.belief_tables import all_belief_tables
from benchmarks.studies.paper import ON_FUNCTIONS
from benchmarks.tables import DOCS, write_tables
from tunedprior.checks import format_list
from tunedprior.errors import InputError

_COMMAND = "python -m benchmarks beliefs"
#: The parts that need the measured pairs.
_ON_PAIRS = ("pairs", "first", "calibration")


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
    """Regret within the measured settings of the new process, as a share of their range.

    Steps come after as many evaluations as all methods share, even where a method has chosen those itself.
    """
    pair, old = _drawn(folder, job)
    first = len(pair.space) + 1
    return pair.regret(campaign_in_pool(job.method, old, pair.pool, pair.responses, first + job.steps)[first:])


def from_the_first(folder: str, job: PoolJob) -> list[float]:
    """The same after each trial, from the first one on."""
    pair, old = _drawn(folder, job)
    return pair.regret(campaign_in_pool(job.method, old, pair.pool, pair.responses, job.steps))


def calibrated(folder: str, job: PoolJob) -> list[float]:
    """Whether the 95 % interval that was predicted held what was measured, at each step after the first settings."""
    pair, old = _drawn(folder, job)
    return coverage_in_pool(job.method, old, pair.pool, pair.responses, len(pair.space) + 1 + job.steps)


def _drawn(folder: str, job: PoolJob) -> tuple[Pair, OldData]:
    pair = subsample(_pair(folder, job.problem), job.seed, job.pool)
    return pair, OldData(pair.old, pair.space, pair.direction, job.seed)


IN_POOLS = Study("beliefs", PoolJob, on_pool, _COMMAND)
IN_BOXES = Study("beliefs_continuous", BoxJob, on_continuum, _COMMAND)


# Where the pairs' folder is belongs into no result.
def on_pairs(folder: str) -> Study[PoolJob]:
    """The study of measured pairs."""
    return Study("beliefs_pairs", PoolJob, partial(on_pair, folder), f"{_COMMAND} --pairs DIR")


def first_on_pairs(folder: str) -> Study[PoolJob]:
    """The study of the first trials on measured pairs."""
    return Study("beliefs_first", PoolJob, partial(from_the_first, folder), f"{_COMMAND} --pairs DIR")


def calibrated_on_pairs(folder: str) -> Study[PoolJob]:
    """The study of intervals on measured pairs."""
    return Study("calibration", PoolJob, partial(calibrated, folder), f"{_COMMAND} --pairs DIR")


def parts_of(size: Size, folder: str | None) -> dict[str, tuple[Study[Any], list[Any]]]:
    """Every part by its name, with what it runs; without a folder of measured pairs, those that need none."""
    parts: dict[str, tuple[Study[Any], list[Any]]] = {
        "functions": (IN_POOLS, function_jobs(size)),
        "continuous": (IN_BOXES, continuous_jobs(size)),
    }
    if folder is not None:
        parts["pairs"] = on_pairs(folder), pair_jobs(size)
        parts["first"] = first_on_pairs(folder), first_jobs(size)
        parts["calibration"] = calibrated_on_pairs(folder), calibration_jobs(size)
    return parts


def stored_parts(folder: Path) -> dict[str, pd.DataFrame]:
    """The results of every part that there are any of, as they are stored."""
    studies = {name: study for name, (study, _) in parts_of(FULL, "DIR").items()} | {"experiments": ON_FUNCTIONS}
    return {
        name: read_results(study.name, folder)
        for name, study in studies.items()
        if (folder / f"{study.name}_runs.csv").exists()
    }


def estimated_minutes(size: Size, folder: str | None) -> float:
    """On two cores, from two campaigns of each method and part."""
    parts = parts_of(size, folder).values()
    return sum(estimated_seconds(study, jobs, lambda job: (job.problem, job.method), 2) for study, jobs in parts) / 60


def seeds_between(told: str) -> range:
    """From "100-119", or "100" alone."""
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", told)
    low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, -1)
    if high < low:
        raise argparse.ArgumentTypeError(f"seeds are LO-HI, such as 100-119, both included; got {told!r}")
    return range(low, high + 1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="a few functions, one seed, two steps, nothing stored")
    parser.add_argument("--only", choices=("functions", "continuous", *_ON_PAIRS), help="one part of it")
    parser.add_argument("--pairs", metavar="DIR", help="a folder of measured pairs; without it they are left out")
    parser.add_argument("--methods", metavar="NAME", nargs="+", help="only these methods; no tables are written")
    parser.add_argument("--seeds", metavar="LO-HI", type=seeds_between, help="only these; no tables are written")
    parser.add_argument("--tables", action="store_true", help="run nothing; tables of all that is stored")
    parser.add_argument("--estimate", action="store_true", help="how long all of it takes on two cores, from a sample")
    parser.add_argument("--out", type=Path, help="where results and tables go, instead of into the project")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, then write tables."""
    size = SMOKE if arguments.smoke else FULL
    _refuse_unknown_methods(arguments.methods)
    if arguments.pairs is not None:
        for name in size.pairs:
            _pair(arguments.pairs, name)  # refuses what cannot be read, before anything is written
    if arguments.estimate:
        print(f"About {estimated_minutes(size, arguments.pairs):.0f} minutes on two cores like these.")
        return
    if arguments.only in _ON_PAIRS and arguments.pairs is None:
        raise InputError("Measured pairs are not part of the project; say where they are with --pairs DIR.")
    out: Path | None = arguments.out
    if out is None and arguments.smoke:
        out = Path(tempfile.mkdtemp(prefix="tunedprior-"))
    results, docs = (RESULTS, DOCS) if out is None else (out, out)
    if arguments.tables:
        _write(stored_parts(results), docs)
        return
    found = {}
    for name, (study, jobs) in parts_of(size, arguments.pairs).items():
        some = picked(jobs, arguments.methods, arguments.seeds)
        if some and arguments.only in (None, name):
            found[name] = run_all(study.with_option("--smoke") if arguments.smoke else study, some, results)
    print(f"Results are in {results}.")
    if arguments.methods is None and arguments.seeds is None:
        if (results / f"{ON_FUNCTIONS.name}_runs.csv").exists():  # the rival is in the paper's experiments too
            found["experiments"] = read_results(ON_FUNCTIONS.name, results)
        _write(found, docs)


def _write(found: dict[str, pd.DataFrame], docs: Path) -> None:
    docs.mkdir(parents=True, exist_ok=True)
    write_tables(docs / "transfer.md", all_belief_tables(found))
    print(f"Tables are in {docs}; `make pictures` draws what is stored.")


def _refuse_unknown_methods(names: Collection[str] | None) -> None:
    unknown = [name for name in names or () if name not in ALL_METHODS]
    if unknown:
        raise InputError(f"Methods are {', '.join(ALL_METHODS)}; there is no {format_list(unknown)}.")
