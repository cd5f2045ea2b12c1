"""What a worker process does: trials of a shared study, with a ledger, and a stop at a point if it is asked to."""

import random
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
import torch
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from benchmarks.studies.workers.ledger import HELD, RESULT, TOLD, Ledger
from benchmarks.studies.workers.samplers import function_of, make_sampler
from tunedprior.integrations.workers import open_shared_storage, run_worker

#: Points of a trial at which a worker can be held.
ASKING, SUGGESTING, RUNNING, TELLING = "asking", "suggesting", "running", "telling"
#: Ours, and Optuna's own.
RUN_WORKER, OPTIMIZE = "run_worker", "study.optimize"
_POLL = 0.02


@dataclass(frozen=True)
class Post:
    """What a worker is to do.

    Attributes:
        url: Of the database.
        folder: For ledgers and for what the crew is told by files.
        method: The sampler's name.
        problem: The function's name.
        total: How many completed trials the study is to have.
        seconds: The least and the most that a trial takes.
        seed: Of the sampler; each worker has its own.
        interval: Seconds between heartbeats.
        grace: Seconds without one after which a trial is given up.
        loop: Ours or Optuna's.
        number: The worker's.
    """

    url: str
    folder: Path
    method: str
    problem: str
    total: int
    seconds: tuple[float, float]
    seed: int
    interval: int = 60
    grace: int = 120
    loop: str = RUN_WORKER
    number: int = 0


STUDY = "workers"


def shared_study(post: Post, sampler: BaseSampler | None = None) -> Study:
    """The study, made by whoever comes first."""
    storage = open_shared_storage(
        post.url, heartbeat_interval=post.interval, grace_period=post.grace, busy_timeout=20.0
    )
    return optuna.create_study(
        storage=storage, sampler=sampler, study_name=STUDY, direction="maximize", load_if_exists=True
    )


def work(post: Post) -> None:
    """In a process of its own: what goes wrong is left in a file."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    try:
        _Worker(post).run()
    except BaseException:
        (post.folder / f"error-{post.number}").write_text(traceback.format_exc())
        raise


class _Worker:
    def __init__(self, post: Post) -> None:
        self._post, self._function = post, function_of(post.problem)
        self._ledger = Ledger(post.folder / f"ledger-{post.number}")
        seed = 1000 * post.seed + post.number
        self._random = random.Random(seed)  # trials must not all end together
        sampler = _Watched(make_sampler(post.method, self._function, seed), self._wait_if_held)
        self._study = shared_study(post, sampler)

    def run(self) -> None:
        """From when all are there."""
        (self._post.folder / f"ready-{self._post.number}").touch()
        while not (self._post.folder / "go").exists():
            time.sleep(_POLL)
        if self._post.loop == RUN_WORKER:
            run_worker(self._study, self._measure, total=self._post.total, callbacks=[self._told])
        else:
            enough = optuna.study.MaxTrialsCallback(self._post.total, states=(TrialState.COMPLETE,))
            self._study.optimize(self._measure, callbacks=[self._told, enough])

    def _measure(self, trial: Trial) -> float:
        setting = {name: trial.suggest_float(name, *ends) for name, ends in self._function.space.items()}
        time.sleep(self._random.uniform(*self._post.seconds))
        self._wait_if_held(RUNNING, trial.number)
        value = self._function.respond(setting)
        self._ledger.write(RESULT, trial.number, value)
        return value

    def _told(self, _study: Study, trial: FrozenTrial) -> None:
        if trial.state == TrialState.COMPLETE:
            self._ledger.write(TOLD, trial.number, trial.value)

    def _wait_if_held(self, point: str, trial: int) -> None:
        held = self._post.folder / f"hold-{self._post.number}"
        if held.exists() and held.read_text() == point:
            self._ledger.write(HELD, trial)
            while held.exists():
                time.sleep(_POLL)


class _Watched(BaseSampler):
    """Another sampler, with a call at each point of a trial."""

    def __init__(self, sampler: BaseSampler, at: Callable[[str, int], None]) -> None:
        self._sampler, self._at = sampler, at

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        self._at(ASKING, trial.number)
        self._sampler.before_trial(study, trial)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self._sampler.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        self._at(SUGGESTING, trial.number)
        return self._sampler.sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._sampler.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Any) -> None:
        self._at(TELLING, trial.number)
        self._sampler.after_trial(study, trial, state, values)

    def reseed_rng(self) -> None:
        self._sampler.reseed_rng()
