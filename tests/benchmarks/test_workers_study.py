"""The study of workers: what it counts, what it would notice, and its tables; with samplers that take no time."""

from dataclasses import replace
from pathlib import Path

import optuna
import pandas as pd
import pytest
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState

from benchmarks import runner
from benchmarks.__main__ import main
from benchmarks.results import Run, long_table
from benchmarks.runner import Study
from benchmarks.studies.workers import tables
from benchmarks.studies.workers.at_once import OF_ASKING, WAYS, AskJob, asked_at_once
from benchmarks.studies.workers.at_work import OPTIMIZE
from benchmarks.studies.workers.faults import FaultJob, fault_jobs
from benchmarks.studies.workers.ledger import RESULT, TOLD, Entry, Ledger, Verdict, audit, read_ledgers
from benchmarks.studies.workers.one_trial import LargeJob, TimeJob, seconds_in_turns
from benchmarks.studies.workers.prefilled import MEMORY, POSTGRESQL, SQLITE, study_with, trials_of
from benchmarks.studies.workers.samplers import OURS, RANDOM, RIVAL, function_of, make_sampler
from benchmarks.studies.workers.scaling import ScalingJob

FINE = Verdict(completed=3, lost=0, doubled=0, stuck=0, unmeasured=0)


def table_of(*runs: tuple[object, list[float]]) -> pd.DataFrame:
    return long_table([Run(job, tuple(curve), 1.0) for job, curve in runs])


def cells(table: str, row: str) -> list[str]:
    """Of the line that begins with these words."""
    (found,) = [line for line in table.splitlines() if line.startswith(f"| {row} |")]
    return [cell.strip() for cell in found.strip("|").split("|")][1:]


@pytest.fixture
def done(tmp_path: Path) -> tuple[optuna.Study, Path]:
    """A study of three trials with the ledger of the worker who ran them."""
    study, path = optuna.create_study(sampler=make_sampler(RANDOM, function_of("Hartmann-3"), 0)), tmp_path / "ledger"
    ledger = Ledger(path)

    def measure(trial: optuna.Trial) -> float:
        value = trial.suggest_float("x", 0, 1)
        ledger.write(RESULT, trial.number, value)
        return value

    study.optimize(measure, n_trials=3, callbacks=[lambda _, trial: ledger.write(TOLD, trial.number, trial.value)])
    return study, path


def verdict_on(study: optuna.Study, path: Path) -> Verdict:
    return audit(study.get_trials(), read_ledgers([path]))


def test_nothing_is_found_where_nothing_is_wrong(done: tuple[optuna.Study, Path]) -> None:
    assert verdict_on(*done) == FINE


def test_a_lost_result_is_found(done: tuple[optuna.Study, Path]) -> None:
    study, path = done
    Ledger(path).write(TOLD, 3, 0.25)
    assert verdict_on(study, path) == replace(FINE, lost=1)


def test_a_result_with_another_value_is_lost_and_unmeasured(done: tuple[optuna.Study, Path]) -> None:
    study, path = done
    entries = [replace(one, value=-1.0) if one.trial == 1 else one for one in read_ledgers([path])]
    assert audit(study.get_trials(), entries) == replace(FINE, lost=1, unmeasured=1)


def test_a_trial_that_was_told_twice_is_found(done: tuple[optuna.Study, Path]) -> None:
    study, path = done
    Ledger(path).write(TOLD, 1, study.get_trials()[1].value)
    assert verdict_on(study, path) == replace(FINE, doubled=1)


def test_a_trial_that_was_completed_and_run_again_is_found(done: tuple[optuna.Study, Path]) -> None:
    study, path = done
    again = study.get_trials()[2]
    again.system_attrs = {"failed_trial": 2, "retry_history": [2]}
    study.add_trial(again)
    for what in (RESULT, TOLD):
        Ledger(path).write(what, 3, again.value)
    assert verdict_on(study, path) == replace(FINE, completed=4, doubled=1)


def test_two_trials_of_one_number_are_found(done: tuple[optuna.Study, Path]) -> None:
    study, path = done
    trials = [*study.get_trials(), study.get_trials()[0]]
    assert audit(trials, read_ledgers([path])).doubled > 0


def test_a_stuck_trial_is_found(done: tuple[optuna.Study, Path]) -> None:
    study, path = done
    study.add_trial(optuna.create_trial(state=TrialState.RUNNING))
    assert verdict_on(study, path) == replace(FINE, stuck=1)


def test_a_result_that_its_worker_was_killed_before_telling_is_not_lost(done: tuple[optuna.Study, Path]) -> None:
    study, path = done
    Ledger(path).write(RESULT, 3, 0.5)
    with path.open("a") as file:
        file.write('{"what": "told", "tri')
    assert verdict_on(study, path) == FINE


def test_twenty_faults_befall_either_database() -> None:
    jobs = fault_jobs(OURS)
    assert {kind: sum(job.storage == kind for job in jobs) for kind in (SQLITE, POSTGRESQL)} == {
        SQLITE: 20,
        POSTGRESQL: 20,
    }
    assert len(set(jobs)) == 40
    assert {job.workers for job in jobs} == {2, 4}
    assert {job.loop for job in fault_jobs(RIVAL, OPTIMIZE)} == {OPTIMIZE}


def test_trials_that_are_put_in_at_once_are_those_that_optuna_adds(tmp_path: Path) -> None:
    trials = trials_of(function_of("Hartmann-3"), 4, 0)
    storage = RDBStorage(f"sqlite:///{tmp_path / 'study.db'}")
    at_once = study_with(storage, "at once", optuna.samplers.RandomSampler(), trials)
    added = optuna.create_study(storage=storage, study_name="added", direction="maximize")
    added.add_trials(trials)

    def without_id(study: optuna.Study) -> list[FrozenTrial]:
        found = study.get_trials()
        for one in found:
            one._trial_id = 0
        return found

    assert without_id(at_once) == without_id(added)
    assert len(at_once.get_trials()) == 4
    storage.engine.dispose()


@pytest.mark.parametrize("storage", [MEMORY, SQLITE])
def test_two_samplers_take_turns(storage: str) -> None:
    found = seconds_in_turns(TimeJob(RANDOM, RANDOM, storage, trials=4, seed=0, repeats=2))
    assert len(found) == 4
    assert min(found) > 0


@pytest.mark.parametrize("way", list(WAYS)[:2])
def test_eight_that_ask_get_eight_settings(way: str) -> None:
    found = dict(zip(OF_ASKING, asked_at_once(AskJob(RANDOM, RANDOM, way, trials=4, seed=0)), strict=True))
    assert found["own different"] == found["rival different"] == 8


def test_the_table_of_times() -> None:
    jobs = [TimeJob(OURS, RIVAL, MEMORY, 50, seed) for seed in (0, 1)] + [TimeJob(OURS, RIVAL, SQLITE, 1000, 0)]
    table = tables.time_table(table_of((jobs[0], [1, 2, 1, 2]), (jobs[1], [2, 4, 3, 6]), (jobs[2], [8, 4, 8, 5])))
    assert cells(table, "memory, 50 trials") == ["1.5 s", "3 s", "0.50 (0.50–0.50)", "≤ 1: yes"]
    assert cells(table, "SQLite, 1,000 trials")[2:] == ["1.80 (1.60–2.00)", "≤ 1.5: **no**"]


def test_the_table_of_asks() -> None:
    way = "eight threads"
    runs = [(AskJob(OURS, RIVAL, way, 200, seed), [1.0, 8.0 - seed, 2.0, 8.0]) for seed in (0, 1)]
    assert cells(tables.ask_table(table_of(*runs)), "eight threads, 200 trials") == [
        "1 s", "2 s", "0.50 (0.50–0.50)", "≤ 1: yes", "7", "8",
    ]  # fmt: skip


def test_the_table_of_scaling() -> None:
    walls = {1: 80.0, 2: 42.0, 4: 28.0}
    runs = [
        (ScalingJob(OURS, workers, 2, seed), [wall, 0.4, 0.1 * workers])
        for workers, wall in walls.items()
        for seed in (0, 1)
    ]
    table = tables.scaling_table(table_of(*runs))
    assert cells(table, "tunedprior, 1") == ["80 s", "–", "–", "0.250", "–"]
    assert cells(table, "tunedprior, 2") == ["42 s", "0.53 (0.53–0.53)", "≤ 0.55: yes", "0.300", "1.20 (1.20–1.20)"]
    assert cells(table, "tunedprior, 4")[2] == "≤ 0.3: **no**"


def test_the_table_of_faults_adds_up() -> None:
    runs = [(FaultJob(OURS, SQLITE, "kill while running", 2, seed), [20, 5 * seed, 1, 0, 2, 0, 1]) for seed in (0, 1)]
    (row,) = tables.fault_table(table_of(*runs)).splitlines()[2:]
    assert row.split(" | ")[1:] == ["2", "1", "40 of 40", "2", "0", "4", "0", "2 |"]


def test_the_table_of_a_large_study() -> None:
    never = float("inf")
    runs = [(LargeJob(OURS, 10_000, 0), [500, 8, 0.5, 700]), (LargeJob(RIVAL, 10_000, 0), [400, never, never, never])]
    table = tables.large_table(table_of(*runs))
    assert cells(table, OURS) == ["10,000", "8 s", "500 ms", "≤ 5: yes", "500 MiB", "700 MiB"]
    assert cells(table, RIVAL)[3] == "≤ 5: **no**"


def test_a_run_that_is_stored_is_not_run_again(tmp_path: Path) -> None:
    ran: list[AskJob] = []

    def campaign(job: AskJob) -> list[float]:
        ran.append(job)
        return [1.0, 8.0, 2.0, 8.0]

    study = Study("workers_asks", AskJob, campaign, "python -m benchmarks workers")
    jobs = [AskJob(OURS, RIVAL, "eight threads", 200, seed) for seed in (0, 1)]
    first = runner.run_in_turn(study, jobs[:1], tmp_path)
    both = runner.run_in_turn(study, jobs, tmp_path)
    assert ran == jobs
    assert len(first) == 4
    assert len(both) == 8


def test_the_command_stores_and_writes_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["workers", "--only", "time", "--methods", RANDOM, RANDOM, "--trials", "4", "--seeds", "0"]
    main([*line, "--out", str(tmp_path)])
    assert "RandomSampler again" in capsys.readouterr().out
    assert len(pd.read_csv(tmp_path / "workers_time_runs.csv")) == 2
    (tmp_path / "tables_workers.md").unlink()
    main(["workers", "--tables", "--out", str(tmp_path)])
    assert "<!-- table: time -->" in (tmp_path / "tables_workers.md").read_text()


def test_entries_are_read_back(tmp_path: Path) -> None:
    Ledger(tmp_path / "one").write(RESULT, 7, 0.1 + 0.2)
    assert read_ledgers([tmp_path / "one", tmp_path / "none"]) == [Entry(RESULT, 7, 0.1 + 0.2)]
