"""The same number of trials by one, two and four workers: how much sooner they are done, and are they as good?"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import optuna
from optuna.trial import TrialState

from benchmarks.studies.workers.at_work import Post, shared_study
from benchmarks.studies.workers.crew import Crew
from benchmarks.studies.workers.prefilled import POSTGRESQL, database
from benchmarks.studies.workers.samplers import OURS, RIVAL

PROBLEM = "Hartmann-3"
WORKERS = (1, 2, 4)
_LEAST_SECONDS, _MOST_SECONDS = 2.0, 3.0
_PATIENCE = 600.0


@dataclass(frozen=True)
class ScalingJob:
    """One study.

    Attributes:
        method: The sampler's name.
        workers: How many workers it has.
        trials: How many trials in all.
        seed: Of the samplers, and of how long each trial takes.
        storage: The database's kind.
    """

    method: str
    workers: int
    trials: int
    seed: int
    storage: str = POSTGRESQL


def scaling_jobs(
    methods: tuple[str, ...] = (OURS, RIVAL), trials: int = 32, seeds: range = range(5), storage: str = POSTGRESQL
) -> list[ScalingJob]:
    """Every number of workers."""
    return [ScalingJob(one, count, trials, seed, storage) for seed in seeds for one in methods for count in WORKERS]


def with_workers(job: ScalingJob, least: float = _LEAST_SECONDS, most: float = _MOST_SECONDS) -> list[float]:
    """Seconds from the start to the last result, then the regret of the best after each, in the order they came."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with database(job.storage) as (url, _), tempfile.TemporaryDirectory(prefix="tunedprior-crew-") as folder:
        post = Post(url, Path(folder), job.method, PROBLEM, job.trials, (least, most), job.seed)
        study = shared_study(post)
        with Crew(post, job.workers) as crew:
            crew.begin()
            started = time.time()
            crew.join(_PATIENCE)
        done = [one for one in study.get_trials() if one.state == TrialState.COMPLETE]
    in_order = sorted(done, key=lambda one: one.datetime_complete)[: job.trials]
    best = np.maximum.accumulate([one.value for one in in_order])
    return [in_order[-1].datetime_complete.timestamp() - started, *(1 - best).tolist()]  # a function's best is 1
