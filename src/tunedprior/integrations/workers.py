"""Run one of many workers on a shared Optuna study; killed neighbours and restarted servers do not stop it.

`study.optimize` ends with an error when the database is away for a moment, and when the others failed a trial while its
worker was asleep. A heartbeat that could not be stored is its last, and a trial whose worker died before the first
heartbeat stays running for ever. `run_worker` does the same work without these problems.
"""

import logging
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError, TrialPruned, UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from tunedprior.errors import InputError
from tunedprior.storage.databases import find_trial_id, get_storage, open_database, parse_address, set_trial_attribute
from tunedprior.storage.study_trials import INTERRUPTED

# Optuna 4.9 gave both another name, and warns of the old one.
_RETRY = getattr(optuna.storages, "RetryHeartbeatStaleTrialCallback", None) or optuna.storages.RetryFailedTrialCallback
_ON_STALE = (
    "heartbeat_stale_trial_callback"
    if hasattr(optuna.storages, "RetryHeartbeatStaleTrialCallback")
    else "failed_trial_callback"
)


def open_shared_storage(
    url: str,
    *,
    heartbeat_interval: int = 60,
    grace_period: int | None = None,
    max_retry: int | None = 3,
    busy_timeout: float = 60.0,
) -> RDBStorage:
    """Optuna's `RDBStorage` for `run_worker` (or `study.optimize`) in many processes at once.

    A worker's trial that shows no sign of life for the grace period is failed by the others and queued once more.
    `storage.databases.open_database` lists further precautions.

    Args:
        url: As SQLAlchemy writes it: `sqlite:///study.db`, `postgresql+psycopg2://user:password@host/database`.
        heartbeat_interval: Seconds between signs of life.
        grace_period: Seconds without one after which a trial is failed; twice the interval unless told.
        max_retry: How often a trial whose worker died is queued again; None: until it is completed.
        busy_timeout: Seconds that a worker waits for another one's lock on an SQLite file.
    """
    address = parse_address(url)
    if address.get_backend_name() == "sqlite" and address.database in (None, "", ":memory:"):
        raise InputError("Workers cannot share SQLite's memory: name a file, as in sqlite:///study.db.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)  # heartbeats are, to Optuna
        on_stale: dict[str, Any] = {_ON_STALE: _RETRY(max_retry=max_retry)}
        return open_database(
            url, busy_timeout, heartbeat_interval=heartbeat_interval, grace_period=grace_period, **on_stale
        )


#: What is raised while the database cannot be reached: Optuna's own error, or now and then what that is made from.
_AWAY = (StorageInternalError, SQLAlchemyError)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_UNTIL_LOOKING_AGAIN = 0.5
_DONE = (TrialState.COMPLETE, TrialState.PRUNED)

_log = logging.getLogger(__name__)
_Found = TypeVar("_Found")
_Values = float | Sequence[float]
Objective = Callable[[Trial], _Values]
Callback = Callable[[optuna.Study, FrozenTrial], None]


def run_worker(
    study: optuna.Study,
    objective: Objective,
    *,
    n_trials: int | None = None,
    total: int | None = None,
    patience: float = 600.0,
    catch: tuple[type[Exception], ...] = (),
    callbacks: Sequence[Callback] = (),
) -> None:
    """Run trials of a study that other workers run too, in other processes or on other machines.

    Each worker has its own study object of the same name, on `open_shared_storage` of the same address. Of what they
    tell,
    nothing is lost and nothing stored twice: while the database is away, a result waits until it can be told. If the
    others gave a trial up (its worker was asleep for longer than the grace period), its late result is dropped, as the
    trial was queued again and would count twice. Ctrl-C fails the trial and ends the worker; `TunedPriorSampler` does
    not hold it against the setting.

    Args:
        study: On a storage that has a heartbeat.
        objective: From a trial to its value or values, as for `study.optimize`.
        n_trials: How many trials this worker is to run.
        total: How many trials of the study are to be completed (or pruned) in all, whoever runs them. The worker then
            stays until they are, to run what workers that died have left, and waits for trials that were asked for by
            hand. There may be more by one for each of the other workers.
        patience: Seconds for which the database may be away before the worker gives up.
        catch: Errors of the objective that fail its trial and do not end the worker.
        callbacks: Called with the study and each of this worker's trials when it is stored.

    Raises:
        InputError: If nothing says when to stop, or the storage has no heartbeat.
    """
    if n_trials is None and total is None:
        raise InputError("A worker must know when to stop: give n_trials (its own) or total (of the whole study).")
    worker, done = _Worker(study, patience), 0
    while n_trials is None or done < n_trials:
        if total is not None:
            completed, under_way = worker.count_trials()
            if completed >= total:
                return
            if completed + under_way >= total:  # all that is left is being done, unless a worker dies
                time.sleep(_UNTIL_LOOKING_AGAIN)
                continue
        stored = worker.run_one(objective, catch)
        done += 1
        if stored is not None:
            for callback in callbacks:
                callback(study, stored)


class _Worker:
    """The state of one worker and its view of the others."""

    def __init__(self, study: optuna.Study, patience: float) -> None:
        self._study, self._patience = study, patience
        self._storage: Any = get_storage(study)
        interval = getattr(self._storage, "get_heartbeat_interval", lambda: None)()
        if interval is None:
            raise InputError(
                "The study's storage has no heartbeat, so a trial whose worker dies would never end. Make it with "
                "tunedprior.integrations.workers.open_shared_storage(url)."
            )
        self._interval: int = interval
        self._seen: dict[int, float] = {}
        self._failing_since: float | None = None

    def count_trials(self) -> tuple[int, int]:
        """How many trials are completed, and how many are under way."""
        self._retry(self._fail_stale_trials)
        states = [one.state for one in self._retry(lambda: self._study.get_trials(deepcopy=False))]
        return sum(state in _DONE for state in states), states.count(TrialState.RUNNING)

    def run_one(self, objective: Objective, catch: tuple[type[Exception], ...]) -> FrozenTrial | None:
        """One trial, from asking to telling; None if the others gave it up meanwhile."""
        trial = self._retry(self._ask)
        values: _Values | None = None
        state: TrialState | None = None
        failure: BaseException | None = None
        with self._send_heartbeats(trial.number):
            try:
                values = objective(trial)
            except TrialPruned:
                state = TrialState.PRUNED
            except UpdateFinishedTrialError:  # given up while its settings or reports were being stored
                state = TrialState.FAIL
            except StorageInternalError:  # away while they were
                state, now = TrialState.FAIL, time.monotonic()
                self._failing_since = self._failing_since or now
                if now - self._failing_since > self._patience:  # one trial after the other is no moment's outage
                    raise
            except (Exception, KeyboardInterrupt) as error:
                state, failure = TrialState.FAIL, error
                if isinstance(error, KeyboardInterrupt):  # the sampler is told, unless others gave the trial up
                    with suppress(UpdateFinishedTrialError):
                        self._retry(lambda: set_trial_attribute(self._study, trial, INTERRUPTED, True))
            stored = self._tell(trial, values, state)
        if failure is not None and not isinstance(failure, catch):
            raise failure
        if values is not None:
            self._failing_since = None
            if stored.state == TrialState.FAIL and stored.values is None:
                _log.warning("Trial %d was given up by other workers; its result came too late.", trial.number)
                return None
        return stored

    def _ask(self) -> Trial:
        self._fail_stale_trials()
        with warnings.catch_warnings():
            # It is for users of ask and tell, whose trials have no heartbeat.
            warnings.filterwarnings("ignore", message="Heartbeat of storage is supposed")
            return self._study.ask()

    def _tell(self, trial: Trial, values: _Values | None, state: TrialState | None) -> FrozenTrial:
        """The trial as it is stored in the end, if it was told before or given up too."""

        def tell() -> FrozenTrial:
            try:
                return self._study.tell(trial, values, state, skip_if_finished=True)
            except UpdateFinishedTrialError:  # it was given up just now
                return self._study.tell(trial, values, state, skip_if_finished=True)

        return self._retry(tell)

    def _fail_stale_trials(self) -> None:
        """Fail trials that show no sign of life, so that they are queued again.

        Optuna does that for trials that had a heartbeat. A worker may die before the first: its trial is new, without
        any parameter, or is one that was queued again. If such a trial is under way for long, it is given one heartbeat
        here, from which its grace period runs. Trials of people who ask and tell have parameters, and are left alone.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            optuna.storages.fail_stale_trials(self._study)
        now = time.monotonic()
        under_way = self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        doubtful = [one.number for one in under_way if not one.params or "retry_history" in one.system_attrs]
        self._seen = {number: self._seen.get(number, now) for number in doubtful}
        for number, since in self._seen.items():
            if now - since > 2 * self._interval:
                self._storage.record_heartbeat(find_trial_id(self._study, number))
                self._seen[number] = float("inf")  # once

    @contextmanager
    def _send_heartbeats(self, number: int) -> Iterator[None]:
        """Signs of life from another thread, however long the objective takes and whatever becomes of single ones."""
        trial_id, stop = find_trial_id(self._study, number), threading.Event()

        def send_heartbeat() -> None:
            try:
                self._storage.record_heartbeat(trial_id)
            except _AWAY as error:
                _log.warning("A heartbeat of trial %d could not be stored: %s", number, error.__cause__ or error)

        def repeat_heartbeat() -> None:
            while not stop.wait(self._interval):
                send_heartbeat()
            self._storage.remove_session()

        send_heartbeat()
        thread = threading.Thread(target=repeat_heartbeat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _retry(self, call: Callable[[], _Found]) -> _Found:
        """Try until the database is there again, or for as long as the patience lasts."""
        deadline, pause = time.monotonic() + self._patience, _FIRST_PAUSE
        while True:
            try:
                return call()
            except _AWAY as error:
                if time.monotonic() + pause > deadline:
                    raise
                _log.warning("The study's database is away, trying again: %s", error.__cause__ or error)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
