"""One more trial of a study that has many: asking and telling, with all that the storage does for it."""

import resource
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection

import optuna
import torch
from optuna.storages import RDBStorage

from benchmarks.problems.functions import Function
from benchmarks.studies.workers.at_work import STUDY
from benchmarks.studies.workers.prefilled import (
    MEMORY,
    POSTGRESQL,
    SQLITE,
    database,
    distributions_of,
    storage_of,
    study_with,
    trials_of,
)
from benchmarks.studies.workers.samplers import OURS, RIVAL, function_of, make_sampler

#: What is kept of each pair of trials, and of a trial of a large study.
OF_A_PAIR = ("own seconds", "rival seconds")
OF_A_LARGE_STUDY = ("before", "first", "second", "peak")
PROBLEM = "Styblinski-Tang-5"
#: The most that a worker's trial of a large study may take before it is stopped, in seconds and in GiB.
LIMIT, MOST_MEMORY = 300.0, 8


@dataclass(frozen=True)
class TimeJob:
    """Two samplers in turns.

    Attributes:
        method: One sampler's name.
        rival: The other's.
        storage: Where both studies are.
        trials: How many trials they have to begin with.
        seed: Of the samplers and of these trials.
        repeats: How many trials are timed, after one to warm up.
    """

    method: str
    rival: str
    storage: str
    trials: int
    seed: int
    repeats: int = 5


@dataclass(frozen=True)
class LargeJob:
    """A large study on a server.

    Attributes:
        method: The sampler's name.
        trials: How many there are.
        seed: Of the sampler and of these trials.
    """

    method: str
    trials: int
    seed: int


def time_jobs(
    method: str, rival: str, sizes: tuple[int, ...] = (50, 200, 1000), seeds: range = range(3)
) -> list[TimeJob]:
    """In memory and on SQLite."""
    return [
        TimeJob(method, rival, storage, size, seed) for storage in (MEMORY, SQLITE) for size in sizes for seed in seeds
    ]


def large_jobs(methods: tuple[str, ...] = (OURS, RIVAL), size: int = 10_000, seeds: range = range(1)) -> list[LargeJob]:
    """One more trial of 10,000."""
    return [LargeJob(method, size, seed) for method in methods for seed in seeds]


def seconds_in_turns(job: TimeJob) -> list[float]:
    """Seconds of one sampler's trial and of the other's, and so on."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    function = function_of(PROBLEM)
    trials = trials_of(function, job.trials, job.seed)
    with storage_of(job.storage) as own, storage_of(job.storage) as other:
        studies = [
            study_with(storage, STUDY, make_sampler(method, function, job.seed), trials)
            for storage, method in ((own, job.method), (other, job.rival))
        ]
        for study in studies:
            seconds_of_a_trial(study, function)
        return [seconds_of_a_trial(study, function) for _ in range(job.repeats) for study in studies]


def seconds_of_a_trial(study: optuna.Study, function: Function) -> float:
    """From asking to having told."""
    space = distributions_of(function)
    started = time.perf_counter()
    trial = study.ask(space)
    study.tell(trial, function.respond(trial.params))
    return time.perf_counter() - started


def in_a_large_study(job: LargeJob) -> list[float]:
    """A new worker's memory before it begins (MiB), the seconds of its first and second trial, and its most memory.

    What a worker did not come to within the limits of time and memory is infinite.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    function = function_of(PROBLEM)
    with database(POSTGRESQL) as (url, _):
        storage = RDBStorage(url)
        sampler = optuna.samplers.RandomSampler()
        study_with(storage, STUDY, sampler, trials_of(function, job.trials, job.seed))
        storage.engine.dispose()
        context = get_context("spawn")  # a process of its own, whose memory is its own too
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=_one_worker, args=(job, url, theirs), daemon=True)
        worker.start()
        theirs.close()
        found: list[float] = []
        try:
            with suppress(EOFError):  # it ended before its time
                while len(found) < len(OF_A_LARGE_STUDY) and ours.poll(LIMIT):
                    found.append(ours.recv())
        finally:
            worker.kill()
            worker.join()
    missing = len(OF_A_LARGE_STUDY) - len(found)
    return found + missing * [float("inf")]


def _one_worker(job: LargeJob, url: str, told: Connection) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    torch.set_num_threads(1)
    function = function_of(PROBLEM)
    sampler = make_sampler(job.method, function, job.seed)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY * 2**30, MOST_MEMORY * 2**30))
    told.send(_peak())
    study = optuna.load_study(study_name=STUDY, storage=url, sampler=sampler)
    for _ in range(2):
        told.send(seconds_of_a_trial(study, function))
    told.send(_peak())


def _peak() -> float:
    """The most memory that this process ever had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
