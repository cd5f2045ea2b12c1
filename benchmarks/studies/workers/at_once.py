"""Eight that ask at once: how long until all of them have settings, and how many of these differ?"""

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier

import optuna
import torch

from benchmarks.problems.functions import Function
from benchmarks.studies.workers.at_work import STUDY
from benchmarks.studies.workers.one_trial import PROBLEM, seconds_of_a_trial
from benchmarks.studies.workers.prefilled import SQLITE, database, distributions_of, storage_of, study_with, trials_of
from benchmarks.studies.workers.samplers import function_of, make_sampler
from tunedprior.integrations.workers import open_shared_storage

#: What is kept of each job.
OF_ASKING = ("own seconds", "own different", "rival seconds", "rival different")
COUNT = 8
_PATIENCE = 300.0

Settings = list[tuple[float, ...]]


@dataclass(frozen=True)
class AskJob:
    """Two samplers, one after the other.

    Attributes:
        method: One sampler's name.
        rival: The other's.
        way: Who asks.
        trials: How many trials the study has to begin with.
        seed: Of the samplers and of these trials.
    """

    method: str
    rival: str
    way: str
    trials: int
    seed: int


def ask_jobs(method: str, rival: str, size: int = 200, seeds: range = range(3)) -> list[AskJob]:
    """All ways."""
    return [AskJob(method, rival, way, size, seed) for way in WAYS for seed in seeds]


def asked_at_once(job: AskJob) -> list[float]:
    """Seconds until all have their settings, and how many settings differ: of one sampler and of the other."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found: list[float] = []
    for method in (job.method, job.rival):
        taken, settings = WAYS[job.way](method, job.trials, job.seed)
        different = {tuple(round(value, 6) for value in setting) for setting in settings}
        found += [taken, float(len(different))]
    return found


def _setting(study: optuna.Study, function: Function) -> tuple[float, ...]:
    return tuple(study.ask(distributions_of(function)).params.values())


def _in_one_process(method: str, trials: int, seed: int, threads: int) -> tuple[float, Settings]:
    function = function_of(PROBLEM)
    with storage_of(SQLITE) as storage, ThreadPoolExecutor(threads) as pool:
        sampler = make_sampler(method, function, seed)
        study = study_with(storage, STUDY, sampler, trials_of(function, trials, seed))
        seconds_of_a_trial(study, function)  # to warm up
        started = time.perf_counter()
        settings = list(pool.map(lambda _: _setting(study, function), range(COUNT)))
        return time.perf_counter() - started, settings


def _in_turn(method: str, trials: int, seed: int) -> tuple[float, Settings]:
    return _in_one_process(method, trials, seed, 1)


def _in_threads(method: str, trials: int, seed: int) -> tuple[float, Settings]:
    return _in_one_process(method, trials, seed, COUNT)


def _in_processes(method: str, trials: int, seed: int) -> tuple[float, Settings]:
    function = function_of(PROBLEM)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.studies.workers.at_work"])
    with database(SQLITE) as (url, _):
        storage = open_shared_storage(url)
        study_with(storage, STUDY, optuna.samplers.RandomSampler(), trials_of(function, trials, seed))
        storage.engine.dispose()
        together, answers = context.Barrier(COUNT + 1), context.Queue()
        workers = [
            context.Process(target=_one_asks, args=(method, seed, number, url, together, answers), daemon=True)
            for number in range(COUNT)
        ]
        for worker in workers:
            worker.start()
        try:
            together.wait(_PATIENCE)
            started = time.perf_counter()
            settings = [answers.get(timeout=_PATIENCE) for _ in workers]
            return time.perf_counter() - started, settings
        finally:
            for worker in workers:
                worker.kill()
                worker.join()


def _one_asks(
    method: str, seed: int, number: int, url: str, together: Barrier, answers: "Queue[tuple[float, ...]]"
) -> None:
    """A worker that has run a trial before asks when the others do."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    torch.set_num_threads(1)
    function = function_of(PROBLEM)
    sampler = make_sampler(method, function, 1000 * seed + number)
    study = optuna.load_study(study_name=STUDY, storage=open_shared_storage(url), sampler=sampler)
    seconds_of_a_trial(study, function)
    together.wait(_PATIENCE)
    answers.put(_setting(study, function))


WAYS: dict[str, Callable[[str, int, int], tuple[float, Settings]]] = {
    "one process, one after the other": _in_turn,
    "eight threads": _in_threads,
    "eight processes": _in_processes,
}
