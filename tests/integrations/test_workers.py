"""Workers on one study: in one process with a database that fails as it is told, and in real ones that are killed."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, Trial, TrialState

from benchmarks.studies.workers.at_work import RUNNING, TELLING
from benchmarks.studies.workers.faults import CRASH, KILL, STOP, FaultJob, run_fault
from benchmarks.studies.workers.prefilled import POSTGRESQL, SQLITE
from benchmarks.studies.workers.samplers import RANDOM
from benchmarks.studies.workers.server import Server
from support.postgres import needs_postgres
from tunedprior.errors import InputError
from tunedprior.integrations import workers
from tunedprior.integrations.optuna import TunedPriorSampler
from tunedprior.integrations.workers import open_shared_storage, run_worker


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'study.db'}"


@pytest.fixture
def storage(url: str) -> Iterator[RDBStorage]:
    found = open_shared_storage(url, heartbeat_interval=1, grace_period=1)
    yield found
    found.engine.dispose()


@pytest.fixture
def study(storage: RDBStorage) -> optuna.Study:
    return optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=0), study_name="shared")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_FIRST_PAUSE", 0.001)


def line(trial: Trial) -> float:
    return trial.suggest_float("x", 0, 1)


def states(study: optuna.Study) -> list[TrialState]:
    return [one.state for one in study.get_trials()]


class Failing:
    """A method that fails the first few times, before or after it has done its work."""

    def __init__(self, method: Callable[..., Any], times: int, after: bool = False) -> None:
        self.method, self.times, self.after = method, times, after

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        self.times -= 1
        found = self.method(*arguments, **named) if self.after or self.times < 0 else None
        if self.times >= 0:
            raise StorageInternalError("the server is away")
        return found


def test_a_worker_runs_its_own_trials(study: optuna.Study) -> None:
    seen: list[FrozenTrial] = []
    run_worker(study, line, n_trials=3, callbacks=[lambda _, trial: seen.append(trial)])
    assert states(study) == 3 * [TrialState.COMPLETE]
    assert [one.value for one in seen] == [one.params["x"] for one in study.get_trials()]


def test_a_worker_runs_what_the_study_lacks(study: optuna.Study) -> None:
    run_worker(study, line, n_trials=2)
    run_worker(study, line, total=5)
    run_worker(study, line, total=5)
    assert states(study) == 5 * [TrialState.COMPLETE]


def test_it_must_know_when_to_stop_and_have_a_heartbeat(study: optuna.Study) -> None:
    with pytest.raises(InputError, match="n_trials"):
        run_worker(study, line)
    with pytest.raises(InputError, match="shared_storage"):
        run_worker(optuna.create_study(), line, n_trials=1)
    with pytest.raises(InputError, match="name a file"):
        open_shared_storage("sqlite://")


def test_pruned_and_failed_trials_are_told_as_such(study: optuna.Study) -> None:
    def odd(trial: Trial) -> float:
        if trial.number == 0:
            raise optuna.TrialPruned
        if trial.number == 1:
            raise ZeroDivisionError
        return line(trial)

    run_worker(study, odd, total=2, catch=(ZeroDivisionError,))
    assert states(study) == [TrialState.PRUNED, TrialState.FAIL, TrialState.COMPLETE]


@pytest.mark.parametrize(("error", "counts"), [(ZeroDivisionError, ["failed"]), (KeyboardInterrupt, [])])
def test_who_stops_a_worker_says_nothing_of_the_setting(
    storage: RDBStorage, error: type[BaseException], counts: list[str]
) -> None:
    def objective(trial: Trial) -> float:
        line(trial)
        raise error

    study = optuna.create_study(storage=storage, sampler=TunedPriorSampler(seed=0))
    with pytest.raises(error):
        run_worker(study, objective, n_trials=1)
    assert states(study) == [TrialState.FAIL]
    assert [trial.state for trial in study.sampler.optimizer(study).trials.told] == counts


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_error_of_the_objective_ends_the_worker(study: optuna.Study, error: type[BaseException]) -> None:
    def wrong(_trial: Trial) -> float:
        raise error

    with pytest.raises(error):
        run_worker(study, wrong, n_trials=3)
    assert states(study) == [TrialState.FAIL]


@pytest.mark.parametrize("after", [False, True], ids=["before it was stored", "after it was stored"])
@pytest.mark.parametrize("method", ["set_trial_state_values", "get_trial", "_create_new_trial", "record_heartbeat"])
def test_every_result_is_told_once_while_the_database_comes_and_goes(
    study: optuna.Study, storage: RDBStorage, monkeypatch: pytest.MonkeyPatch, method: str, after: bool
) -> None:
    run_worker(study, line, n_trials=1)
    monkeypatch.setattr(storage, method, Failing(getattr(storage, method), 2, after))
    told: list[float | None] = []
    run_worker(study, line, n_trials=3, callbacks=[lambda _, trial: told.append(trial.value)])
    completed = [one.value for one in study.get_trials() if one.state == TrialState.COMPLETE]
    assert completed[1:] == told
    assert len(told) == 3


def test_a_setting_that_could_not_be_stored_fails_its_trial_only(
    study: optuna.Study, storage: RDBStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_set_trial_param", Failing(storage._set_trial_param, 2))
    run_worker(study, line, total=2)
    assert states(study) == 2 * [TrialState.FAIL] + 2 * [TrialState.COMPLETE]


def test_patience_ends(study: optuna.Study, storage: RDBStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "_set_trial_param", Failing(storage._set_trial_param, 10**9))
    with pytest.raises(StorageInternalError):
        run_worker(study, line, total=2, patience=0.1)
    monkeypatch.setattr(storage, "_create_new_trial", Failing(storage._create_new_trial, 10**9))
    with pytest.raises(StorageInternalError):
        run_worker(study, line, total=2, patience=0.1)


def test_a_late_result_is_dropped(study: optuna.Study) -> None:
    """The others gave the trial up, and it was queued again: with its late result it would count twice."""
    told: list[int] = []

    def late(trial: Trial) -> float:
        value = line(trial)
        if trial.number == 0:
            study.tell(trial.number, state=TrialState.FAIL)
        elif trial.number == 1:  # between looking at the state and storing the value
            raise UpdateFinishedTrialError
        return value

    run_worker(study, late, total=1, callbacks=[lambda _, trial: told.append(trial.number)])
    assert states(study) == [TrialState.FAIL, TrialState.FAIL, TrialState.COMPLETE]
    assert 0 not in told
    assert study.get_trials()[0].value is None


def test_trials_that_never_had_a_heartbeat_are_given_up_but_not_those_of_people(study: optuna.Study) -> None:
    with pytest.warns(UserWarning, match="Heartbeat"):
        study.ask()  # and its worker dies
    with pytest.warns(UserWarning, match="Heartbeat"):
        line(study.ask())  # someone measures that by hand
    seen: list[list[TrialState]] = []

    def by_hand(study: optuna.Study, _trial: FrozenTrial) -> None:
        seen.append(states(study))
        study.tell(1, 0.5)

    run_worker(study, line, total=2, callbacks=[by_hand])
    assert seen == [[TrialState.FAIL, TrialState.RUNNING, TrialState.COMPLETE]]
    assert states(study) == [TrialState.FAIL, TrialState.COMPLETE, TrialState.COMPLETE]


@pytest.mark.parametrize("shared", [True, False], ids=["ours", "Optuna's own"])
def test_two_workers_cannot_take_the_same_queued_trial(url: str, study: optuna.Study, shared: bool) -> None:
    """Which of Optuna's storage in SQLite they can: it reads the state before it takes the lock."""
    study.enqueue_trial({"x": 0.5})
    one, other = (open_shared_storage(url) if shared else RDBStorage(url) for _ in range(2))
    has_read, other_is_done, taken = threading.Event(), threading.Event(), []
    check = one.check_trial_is_updatable

    def slow_check(*arguments: Any) -> None:
        has_read.set()
        other_is_done.wait(0.5 if shared else 60)  # ours keeps the other waiting, for as long as it likes
        check(*arguments)

    one.check_trial_is_updatable = slow_check  # type: ignore[method-assign]

    def take_second() -> None:
        has_read.wait()
        taken.append(other.set_trial_state_values(1, TrialState.RUNNING))
        other_is_done.set()

    thread = threading.Thread(target=take_second)
    thread.start()
    taken.append(one.set_trial_state_values(1, TrialState.RUNNING))
    thread.join()
    assert sorted(taken) == ([False, True] if shared else [True, True])
    for each in (one, other):
        each.engine.dispose()


def test_the_same_on_postgresql(postgres: Server) -> None:
    storage = open_shared_storage(postgres.new_database(), heartbeat_interval=1)
    study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=0))
    run_worker(study, line, n_trials=1)
    postgres.restart("immediate")
    run_worker(study, line, n_trials=1, patience=60.0)
    assert states(study) == 2 * [TrialState.COMPLETE]
    storage.engine.dispose()


@pytest.mark.parametrize(
    ("storage_kind", "fault"),
    [
        (SQLITE, f"{KILL} {RUNNING}"),
        (SQLITE, f"{STOP} {TELLING}"),
        pytest.param(POSTGRESQL, CRASH, marks=needs_postgres),
    ],
)
def test_two_processes_and_a_fault(storage_kind: str, fault: str) -> None:
    found = run_fault(FaultJob(RANDOM, storage_kind, fault, workers=2, seed=0, trials=10))
    assert found.errors == []
    verdict = found.verdict
    assert (verdict.lost, verdict.doubled, verdict.stuck, verdict.unmeasured, found.ended) == (0, 0, 0, 0, 0)
    assert verdict.completed >= 10
    assert found.afterwards > 0
