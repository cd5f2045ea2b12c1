"""Running many campaigns on all cores; what was run before is not run again."""

import multiprocessing
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Generic, TypeAlias

import numpy as np
import pandas as pd
import torch
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks.results import JobT, Run, Stored
from tunedprior.errors import FittingWarning

#: Runs as they are done; it can be closed.
Runs: TypeAlias = Generator[Run[JobT], None, None]


@dataclass(frozen=True)
class Study(Generic[JobT]):
    """Campaigns of one kind.

    Attributes:
        name: Of its files among the results.
        job: A frozen dataclass whose fields say what to run.
        campaign: From a job to its curve: a value after each step.
        command: What makes the results, for whoever reads them.
        versions: From a job to the versions that are stored with its run beside the software that all runs name.
    """

    name: str
    job: type[JobT]
    campaign: Callable[[JobT], Sequence[float]]
    command: str
    versions: Callable[[JobT], Mapping[str, str]] | None = None

    def versions_of(self, job: JobT) -> Mapping[str, str]:
        """What is stored beside the software that all runs name."""
        return {} if self.versions is None else self.versions(job)

    def with_option(self, option: str) -> "Study[JobT]":
        """The same, made by a longer command."""
        return replace(self, command=f"{self.command} {option}")


def run_all(study: Study[JobT], jobs: Sequence[JobT], folder: Path | None, workers: int | None = None) -> pd.DataFrame:
    """The long table of all jobs; those whose results are found in the folder are not run again.

    Jobs begin in their order, so many workers at a time (None: one for each core). Results are saved every few seconds,
    a long run's at once, and when it is interrupted or terminated, so that the next run goes on where this one stopped.
    Without a folder nothing is stored. Each run names the software that made it; a change of this project's own code is
    for whoever made it to judge, and to delete the runs it touches from the table of runs.
    """
    stored = Stored(study.name, study.job, study.command, folder)
    missing = [job for job in jobs if job not in stored]
    numbers = stored.numbered(missing)
    try:
        with terminated_as_interrupted(), closing(completed(study.campaign, missing, study.name, workers)) as done:
            for run in done:
                stored.add(numbers[run.job], run, study.versions_of(run.job))
    finally:
        if missing:
            stored.save()
    return stored.table(jobs)


def run_in_turn(study: Study[JobT], jobs: Sequence[JobT], folder: Path | None) -> pd.DataFrame:
    """As `run_all`, one at a time and in this process; each run is saved when it is done."""
    stored = Stored(study.name, study.job, study.command, folder)
    todo = [job for job in jobs if job not in stored]
    numbers = stored.numbered(todo)
    with terminated_as_interrupted():  # servers and workers are not left behind
        for job in tqdm(todo, desc=study.name, unit="run"):
            stored.add(numbers[job], timed(study.campaign, job), study.versions_of(job))
            stored.save()
    return stored.table(jobs)


def completed(
    campaign: Callable[[JobT], Sequence[float]], jobs: Sequence[JobT], name: str, workers: int | None = None
) -> Generator[Run[JobT], None, None]:
    """Each job's run as it is done, with a progress bar; if one fails, what is done by then comes before its error.

    Interrupted or closed, it ends the campaigns that are under way.
    """
    if not jobs:
        return
    failure: BaseException | None = None
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(workers, initializer=_in_worker) as pool:
        futures: list[Future[Run[JobT]]] = []
        try:
            futures += [pool.submit(timed, campaign, job) for job in jobs]
            for future in tqdm(as_completed(futures), total=len(jobs), desc=name, unit="campaign"):
                failure = failure or future.exception()
                if failure is not None:
                    break
                futures.remove(future)
                yield future.result()
        except (KeyboardInterrupt, GeneratorExit):  # leaving the pool would wait for campaigns that take minutes
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            raise
        finally:
            waiting = [future for future in futures if not future.cancel()]
    if failure is not None:
        yield from (future.result() for future in waiting if future.exception() is None)
        raise failure


def timed(campaign: Callable[[JobT], Sequence[float]], job: JobT) -> Run[JobT]:
    """One run, with its seconds and how many fits failed in it."""
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", FittingWarning)
        curve = campaign(job)
    digits = tuple(float(f"{value:.9g}") for value in curve)
    return Run(job, digits, round(time.perf_counter() - started, 2), len(caught))


def estimated_seconds(
    study: Study[JobT], jobs: Sequence[JobT], group: Callable[[JobT], Hashable], sample: int
) -> float:
    """How long all jobs would take on two cores: a few of each group are run there, two at a time, and scaled up."""
    random = np.random.default_rng(0)
    groups: dict[Hashable, list[JobT]] = {}
    for job in jobs:
        groups.setdefault(group(job), []).append(job)
    total = 0.0
    with ProcessPoolExecutor(2, initializer=_in_worker) as pool:
        for members in tqdm(groups.values(), desc=study.name, unit="group"):
            picked = [members[row] for row in random.choice(len(members), min(sample, len(members)), replace=False)]
            runs = pool.map(timed, [study.campaign] * len(picked), picked)
            total += len(members) * float(np.mean([run.seconds for run in runs]))
    return total / 2


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM raises KeyboardInterrupt, as Ctrl-C does; only the main thread may arrange that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _in_worker() -> None:
    """Campaigns share the cores among them, not within, and end when the main process says so."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes, and the main one ends the others
    torch.set_num_threads(1)
    threadpool_limits(1)
