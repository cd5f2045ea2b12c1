"""Running many campaigns on all cores; what was run before is not run again."""

import time
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic

import numpy as np
import pandas as pd
import torch
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks.results import JobT, Run, Stored
from tunedprior.errors import FittingWarning


@dataclass(frozen=True)
class Study(Generic[JobT]):
    """Campaigns of one kind.

    Attributes:
        name: Of its files among the results.
        job: A frozen dataclass whose fields say what to run.
        campaign: From a job to its curve: a value after each step.
        command: What makes the results, for whoever reads them.
    """

    name: str
    job: type[JobT]
    campaign: Callable[[JobT], Sequence[float]]
    command: str

    def with_option(self, option: str) -> "Study[JobT]":
        """The same, made by a longer command."""
        return replace(self, command=f"{self.command} {option}")


def run_all(study: Study[JobT], jobs: Sequence[JobT], folder: Path | None) -> pd.DataFrame:
    """The long table of all jobs; those whose results are found in the folder are not run again.

    Results are saved every few seconds, so that an interrupted run goes on where it stopped. Without a folder nothing
    is stored. Each run names the software that made it; a change of this project's own code is for whoever made it to
    judge, and to delete the runs it touches from the table of runs.
    """
    stored = Stored(study.name, study.job, study.command, folder)
    missing = [job for job in jobs if job not in stored]
    numbers = stored.numbered(missing)
    try:
        for run in completed(study.campaign, missing, study.name):
            stored.add(numbers[run.job], run)
    finally:
        if missing:
            stored.save()
    return stored.table(jobs)


def completed(campaign: Callable[[JobT], Sequence[float]], jobs: Sequence[JobT], name: str) -> Iterator[Run[JobT]]:
    """Each job's run as it is done, with a progress bar; if one fails, what is done by then comes before its error."""
    if not jobs:
        return
    failure: BaseException | None = None
    with ProcessPoolExecutor(initializer=_one_thread) as pool:
        futures = [pool.submit(timed, campaign, job) for job in jobs]
        try:
            for future in tqdm(as_completed(futures), total=len(jobs), desc=name, unit="campaign"):
                failure = failure or future.exception()
                if failure is not None:
                    break
                futures.remove(future)
                yield future.result()
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
    with ProcessPoolExecutor(2, initializer=_one_thread) as pool:
        for members in tqdm(groups.values(), desc=study.name, unit="group"):
            picked = [members[row] for row in random.choice(len(members), min(sample, len(members)), replace=False)]
            runs = pool.map(timed, [study.campaign] * len(picked), picked)
            total += len(members) * float(np.mean([run.seconds for run in runs]))
    return total / 2


def _one_thread() -> None:
    """In every worker: campaigns share the cores among them, not within."""
    torch.set_num_threads(1)
    threadpool_limits(1)
