"""Many workers on one Optuna study: seconds for each trial, asking at once, more workers, faults, large studies.

    python -m benchmarks workers [--only time|asks|scaling|faults|large] [--methods OWN RIVAL] [--trials N …]
                                 [--seeds LO-HI] [--smoke] [--out DIR]
    python -m benchmarks workers --tables

- time: asking and telling, with the storage, at several numbers of trials; the two samplers take turns.
- asks: eight that ask at once, in one process, in threads and in processes.
- scaling: one, two and four worker processes; their time and their regret at the same number of trials.
- faults: workers are killed and stopped, the server restarted; is every result there once, and does the study go on?
- large: one more trial of a study of 10,000 on PostgreSQL.

`scaling`, and half of `faults`, and `large` need PostgreSQL's server programs, and say so. A run that is stored is not
run again; runs are not shared among cores, as they measure time or bring their own processes. `--methods` names the two
samplers, of tunedprior, GPSampler and RandomSampler; the same one twice shows how exact times are.
"""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.runner import Study, run_in_turn
from benchmarks.studies.beliefs import seeds_between
from benchmarks.studies.storing import add_storing, run_parts
from benchmarks.studies.workers.at_once import AskJob, ask_jobs, asked_at_once
from benchmarks.studies.workers.at_work import OPTIMIZE
from benchmarks.studies.workers.faults import FaultJob, after_a_fault, fault_jobs
from benchmarks.studies.workers.one_trial import (
    LargeJob,
    TimeJob,
    in_a_large_study,
    large_jobs,
    seconds_in_turns,
    time_jobs,
)
from benchmarks.studies.workers.prefilled import POSTGRESQL
from benchmarks.studies.workers.samplers import METHODS, OURS, RIVAL
from benchmarks.studies.workers.scaling import ScalingJob, scaling_jobs, with_workers
from benchmarks.studies.workers.server import missing
from benchmarks.studies.workers.tables import worker_tables

_COMMAND = "python -m benchmarks workers"
STUDIES: dict[str, Study[Any]] = {
    "time": Study("workers_time", TimeJob, seconds_in_turns, _COMMAND),
    "asks": Study("workers_asks", AskJob, asked_at_once, _COMMAND),
    "scaling": Study("workers_scaling", ScalingJob, with_workers, _COMMAND),
    "faults": Study("workers_faults", FaultJob, after_a_fault, _COMMAND),
    "large": Study("workers_large", LargeJob, in_a_large_study, _COMMAND),
}


@dataclass(frozen=True)
class Asked:
    """What the command line says.

    Attributes:
        methods: The two samplers.
        trials: Numbers of trials instead of each part's own.
        seeds: Instead of each part's own.
        smoke: Whether one small job of each part will do.
    """

    methods: tuple[str, str] = (OURS, RIVAL)
    trials: tuple[int, ...] = ()
    seeds: tuple[int, ...] = ()
    smoke: bool = False


def jobs_of_part(part: str, asked: Asked) -> list[Any]:
    """What a part is to run."""
    own, rival = asked.methods
    names = tuple(dict.fromkeys(asked.methods))
    jobs: list[Any] = {
        "time": lambda: time_jobs(own, rival, asked.trials or (50, 200, 1000)),
        "asks": lambda: ask_jobs(own, rival),
        "scaling": lambda: scaling_jobs(names),
        "faults": lambda: [job for one in names for job in fault_jobs(one)] + fault_jobs(names[-1], OPTIMIZE),
        "large": lambda: large_jobs(names),
    }[part]()
    if asked.smoke:
        jobs = jobs[:1]
    if asked.trials and part != "time":
        jobs = [replace(job, trials=asked.trials[0]) for job in jobs]
    if asked.seeds and part == "faults":
        return [job for job in jobs if job.seed in asked.seeds]
    if asked.seeds:
        jobs = list(dict.fromkeys(replace(job, seed=seed) for seed in asked.seeds for job in jobs))
    lacking = missing()
    if lacking is None:
        return jobs
    print(f"{part}: without what needs a server. {lacking}")
    return [job for job in jobs if part != "large" and getattr(job, "storage", None) != POSTGRESQL]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--only", choices=STUDIES, help="one part of it")
    parser.add_argument("--methods", nargs=2, choices=METHODS, default=(OURS, RIVAL), help="the two samplers")
    parser.add_argument("--trials", nargs="+", type=int, default=(), metavar="N", help="numbers of trials")
    parser.add_argument("--seeds", metavar="LO-HI", type=seeds_between, default=(), help="only these")
    add_storing(parser, "one run of each part, nothing stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, and write the tables."""
    asked = Asked(tuple(arguments.methods), tuple(arguments.trials), tuple(arguments.seeds), arguments.smoke)

    def run(part: str, folder: Path | None) -> pd.DataFrame | None:
        jobs = jobs_of_part(part, asked)
        return run_in_turn(STUDIES[part], jobs, folder) if jobs else None

    run_parts(arguments, STUDIES, run, worker_tables, "tables_workers.md")
