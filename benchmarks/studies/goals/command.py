"""Goals beyond one best value: fronts, requirements, mixtures, target values, advice, and when to stop.

    python -m benchmarks goals [--smoke] [--only hypervolume|constrained|mixtures|fibre|recommend|remaining|speed]
                               [--pairs DIR] [--methods NAME …] [--seeds LO-HI] [--out DIR]
    python -m benchmarks goals --tables

- hypervolume: two responses; what is missing of the true front's hypervolume, over that of BoTorch's qLogNEHVI.
- constrained: one response and requirements on others; feasible regret over that of Optuna's GPSampler.
- mixtures: shares of a whole; any mixture against the measured ones as a pool.
- fibre: a wanted length; told as a target value against squaring the distance by hand.
- recommend: is the recommended setting as good as the one measured best, under noise?
- remaining: does the bound on what can still be gained hold, and the probability of a gain come true?
- speed: one suggestion with two responses against GPSampler.

`--pairs` takes a folder of measured pairs (see benchmarks/problems/pairs.py), which are not part of the project;
without it `mixtures` and the measured pools of `hypervolume` are left out. `--methods` and `--seeds` run a part of
that, such as on another machine (`python -m benchmarks merge` brings results together), and write no tables;
`--tables` writes them from all that is stored.
"""

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.problems.several_responses import problem_named
from benchmarks.problems.simplex import mixture_of
from benchmarks.results import RESULTS, read_results
from benchmarks.runner import Study, run_all
from benchmarks.studies.belief_jobs import picked
from benchmarks.studies.beliefs import seeds_between
from benchmarks.studies.goals.campaigns import (
    advised,
    bounded,
    feasible_regrets,
    fibre_misses,
    hypervolume_regrets,
    on_mixtures,
)
from benchmarks.studies.goals.jobs import (
    FULL,
    METHODS,
    SMOKE,
    GoalJob,
    NoisyJob,
    Size,
    constrained_jobs,
    fibre_jobs,
    hypervolume_jobs,
    mixture_jobs,
    recommend_jobs,
    remaining_jobs,
)
from benchmarks.studies.goals.one_suggestion import two_responses
from benchmarks.studies.goals.tables import goal_tables
from benchmarks.studies.speed.command import machine, store
from benchmarks.tables import DOCS, write_tables
from tunedprior.checks import format_list
from tunedprior.errors import InputError

_COMMAND = "python -m benchmarks goals"
_SPEED, _TIMES = "speed", "goals_speed.json"
PARTS = ("hypervolume", "constrained", "mixtures", "fibre", "recommend", "remaining", _SPEED)


def parts_of(size: Size, folder: str | None) -> dict[str, tuple[Study[Any], list[Any]]]:
    """Every part that is made of campaigns, with what it runs; without measured pairs, what needs none."""
    on_pairs = f"{_COMMAND} --pairs DIR"
    parts: dict[str, tuple[Study[Any], list[Any]]] = {
        "hypervolume": (
            Study("goals_hypervolume", GoalJob, partial(hypervolume_regrets, folder), on_pairs),
            hypervolume_jobs(size, with_pools=folder is not None),
        ),
        "constrained": (Study("goals_constrained", GoalJob, feasible_regrets, _COMMAND), constrained_jobs(size)),
        "fibre": (Study("goals_fibre", GoalJob, fibre_misses, _COMMAND), fibre_jobs(size)),
        "recommend": (Study("goals_recommend", NoisyJob, advised, _COMMAND), recommend_jobs(size)),
        "remaining": (Study("goals_remaining", NoisyJob, bounded, _COMMAND), remaining_jobs(size)),
    }
    if folder is not None:
        study = Study("goals_mixtures", GoalJob, partial(on_mixtures, folder), on_pairs)
        parts["mixtures"] = study, mixture_jobs(size)
    return parts


def stored_parts(folder: Path) -> tuple[dict[str, pd.DataFrame], list[dict[str, Any]]]:
    """The results of every part that there are any of, and the times."""
    studies = {name: study for name, (study, _) in parts_of(FULL, "DIR").items()}
    found = {
        name: read_results(study.name, folder)
        for name, study in studies.items()
        if (folder / f"{study.name}_runs.csv").exists()
    }
    times = folder / _TIMES
    return found, json.loads(times.read_text())["parts"][_SPEED]["rows"] if times.exists() else []


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="a problem of each part, one seed, nothing stored")
    parser.add_argument("--only", choices=PARTS, help="one part of it")
    parser.add_argument("--pairs", metavar="DIR", help="a folder of measured pairs; without it they are left out")
    parser.add_argument("--methods", metavar="NAME", nargs="+", help="only these methods; no tables are written")
    parser.add_argument("--seeds", metavar="LO-HI", type=seeds_between, help="only these; no tables are written")
    parser.add_argument("--tables", action="store_true", help="run nothing; tables of all that is stored")
    parser.add_argument("--out", type=Path, help="where results and tables go, instead of into the project")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, then write or (of a quick run) print the tables."""
    size, only = (SMOKE if arguments.smoke else FULL), arguments.only
    _refuse(arguments, size)
    results, docs = (RESULTS, DOCS) if arguments.out is None else (arguments.out, arguments.out)
    if arguments.tables:
        write_tables(docs / "tables_goals.md", goal_tables(*stored_parts(results)))
        return
    folder = None if arguments.smoke else results
    found = {}
    for name, (study, jobs) in parts_of(size, arguments.pairs).items():
        some = picked(jobs, arguments.methods, arguments.seeds)
        if some and only in (None, name):
            found[name] = run_all(study, some, folder)
    whole = arguments.methods is None and arguments.seeds is None
    timed = _timed(arguments.smoke, folder) if only == _SPEED or (only is None and whole) else []
    if folder is None:
        print("\n\n".join(f"{name}\n\n{table}" for name, table in goal_tables(found, timed).items()))
        return
    print(f"Results are in {folder}.")
    if whole:  # of all that is stored: what was left out of this run stays in its tables
        write_tables(docs / "tables_goals.md", goal_tables(*stored_parts(folder)))


def _timed(smoke: bool, folder: Path | None) -> list[dict[str, Any]]:
    started = time.perf_counter()
    rows = two_responses(smoke)
    if folder is not None:
        taken = round(time.perf_counter() - started, 1)
        store(folder / _TIMES, {_SPEED: {"on": machine("cpu"), "seconds": taken, "rows": rows}}, _COMMAND)
    return rows


def _refuse(arguments: argparse.Namespace, size: Size) -> None:
    """What cannot be run, before anything is."""
    unknown = [name for name in arguments.methods or () if name not in METHODS]
    if unknown:
        raise InputError(f"Methods are {', '.join(METHODS)}; there is no {format_list(unknown)}.")
    if arguments.only == "mixtures" and arguments.pairs is None and not arguments.tables:
        raise InputError("Measured pairs are not part of the project; say where they are with --pairs DIR.")
    if arguments.pairs is not None:
        for name in size.pools:
            problem_named(name, arguments.pairs)
        for name in size.mixtures:
            mixture_of(Path(arguments.pairs), name)
