"""Something goes wrong in the midst of a shared study: is every result there once, and does the study go on?"""

import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import optuna
from optuna.trial import FrozenTrial, TrialState

from benchmarks.studies.workers.at_work import (
    ASKING,
    OPTIMIZE,
    RUN_WORKER,
    RUNNING,
    SUGGESTING,
    TELLING,
    Post,
    shared_study,
)
from benchmarks.studies.workers.crew import Crew, wait_until
from benchmarks.studies.workers.ledger import TOLD, Verdict, audit
from benchmarks.studies.workers.prefilled import POSTGRESQL, SQLITE, database
from benchmarks.studies.workers.server import Server

#: What is kept of each fault.
OF_A_FAULT = ("completed", "afterwards", "lost", "doubled", "stuck", "unmeasured", "ended")
#: A worker is killed, or stopped for longer than the grace period, at a point of a trial; or the database is away.
KILL, STOP = "kill while", "stop while"
FAST, CRASH = "restart: fast", "restart: crash"
PROBLEM = "Hartmann-3"
_INTERVAL, _GRACE = 1, 3
_STOPPED, _AWAY = _GRACE + 3.0, 2.0
_PATIENCE = 300.0


@dataclass(frozen=True)
class FaultJob:
    """One fault.

    Attributes:
        method: The sampler's name.
        storage: The database's kind.
        fault: What goes wrong.
        workers: How many workers there are; it is the first that a fault befalls.
        seed: Of the samplers.
        loop: Of the workers: ours, or Optuna's own.
        trials: How many are to be completed in all.
    """

    method: str
    storage: str
    fault: str
    workers: int
    seed: int
    loop: str = RUN_WORKER
    trials: int = 20


def fault_jobs(method: str, loop: str = RUN_WORKER) -> list[FaultJob]:
    """Twenty on either database; Optuna's own loop for comparison has one of each kind."""
    seeds = {
        SQLITE: {f"{KILL} {ASKING}": 2, f"{KILL} {SUGGESTING}": 2, f"{KILL} {RUNNING}": 2}
        | {f"{STOP} {RUNNING}": 2, f"{STOP} {TELLING}": 2},
        POSTGRESQL: {f"{KILL} {ASKING}": 1, f"{KILL} {SUGGESTING}": 1, f"{KILL} {RUNNING}": 2}
        | {f"{STOP} {RUNNING}": 1, f"{STOP} {TELLING}": 1, FAST: 2, CRASH: 2},
    }
    return [
        FaultJob(method, storage, fault, workers, seed, loop)
        for storage, faults in seeds.items()
        for fault, count in faults.items()
        for workers in ((2, 4) if loop == RUN_WORKER else (2,))
        for seed in range(count if loop == RUN_WORKER else 1)
    ]


@dataclass
class FaultRun:
    """What was seen of one fault.

    Attributes:
        verdict: What became of the trials.
        afterwards: How many trials were told after the fault.
        ended: Workers that ended with an error though nothing befell them, or only a stop.
        errors: What they said.
    """

    verdict: Verdict
    afterwards: int
    ended: int
    errors: list[str] = field(default_factory=list)

    def kept(self) -> list[float]:
        """In the order of OF_A_FAULT."""
        one = self.verdict
        found = (one.completed, self.afterwards, one.lost, one.doubled, one.stuck, one.unmeasured, self.ended)
        return [float(number) for number in found]


def after_a_fault(job: FaultJob) -> list[float]:
    """Of one fault, what is kept."""
    return run_fault(job).kept()


def run_fault(job: FaultJob) -> FaultRun:
    """Workers begin, the fault comes in their midst, and they are left to finish."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with database(job.storage) as (url, server), tempfile.TemporaryDirectory(prefix="tunedprior-crew-") as folder:
        post = Post(
            url, Path(folder), job.method, PROBLEM, job.trials, (0.2, 0.5), job.seed, _INTERVAL, _GRACE, job.loop
        )
        study = shared_study(post)
        with Crew(post, job.workers) as crew:
            crew.begin()
            told = lambda: sum(entry.what == TOLD for entry in crew.entries())  # noqa: E731
            wait_until(lambda: told() >= 2 * job.workers, _PATIENCE, "the first results")
            killed, before = strike(job.fault, crew, server, told)
            ended = crew.join(_PATIENCE, but=killed)
            trials = settled(study) if job.loop == OPTIMIZE else study.get_trials()
            return FaultRun(audit(trials, crew.entries()), told() - before, ended, crew.errors())


def strike(fault: str, crew: Crew, server: Server | None, told: Callable[[], int]) -> tuple[list[int], int]:
    """Do it; the numbers of the workers that were killed, and how many results had been told when it began."""
    if fault.startswith(KILL):
        crew.hold(0, fault.removeprefix(f"{KILL} "))
        crew.send(0, signal.SIGKILL)
        return [0], told()
    if fault.startswith(STOP):
        crew.hold(0, fault.removeprefix(f"{STOP} "))
        crew.send(0, signal.SIGSTOP)
        before = told()
        crew.release(0)
        time.sleep(_STOPPED)
        crew.send(0, signal.SIGCONT)
        return [], before
    assert server is not None, f"{fault} needs a server"
    server.halt("fast" if fault == FAST else "immediate")
    before = told()
    time.sleep(_AWAY)
    server.start()
    return [], before


def settled(study: optuna.Study) -> list[FrozenTrial]:
    """The trials when a worker that came later would have looked after them for long enough."""
    if any(one.state == TrialState.RUNNING for one in study.get_trials()):
        time.sleep(_GRACE + 2)
        optuna.storages.fail_stale_trials(study)
    return study.get_trials()
