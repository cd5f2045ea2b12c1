"""What was acknowledged is kept: the study in small, and its tables against stored results."""

import pandas as pd
import pytest

from benchmarks.results import RESULTS
from benchmarks.studies.durability import command, faults, threads, writers


@pytest.mark.parametrize("place", [threads.MEMORY, threads.SQLITE])
def test_threads(place: str) -> None:
    job = threads.ThreadJob(place, threads=4, trials=24, designed=20)
    assert threads.after_threads(job) == [24.0, 24.0, 24.0, 0.0]


def test_two_who_write_at_once() -> None:
    pair = "page beside command line"
    pairs, acknowledged, refused, lost, errors = writers.after_writers(writers.WriterJob(writers.SQLITE, pair, 3))
    assert (pairs, acknowledged + refused, lost, errors) == (3, 6, 0, 0)
    assert acknowledged >= 3


@pytest.mark.parametrize("operation", faults.ALL)
def test_every_operation_with_some_faults(operation: str) -> None:
    """Every kind of fault, each at another step; `python -m benchmarks durability` has all steps."""
    steps = faults.steps_of(operation)
    assert steps >= 5
    for number, mode in enumerate(faults.MODES, 1):
        found = faults.judge(operation, faults.Fault(1 + steps * number // 4, mode))
        acknowledged, refused, *wrong = found
        assert acknowledged != refused
        assert not any(wrong), (mode, dict(zip(faults.OF_FAULTS[1:], found, strict=True)))


def test_a_storage_that_loses_an_entry_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The study notices what it is for."""
    monkeypatch.setattr("tunedprior.storage.entry_log.DatabaseLog.append", lambda *_: None)
    found = faults.judge("amend", faults.Fault())
    assert dict(zip(faults.OF_FAULTS[1:], found, strict=True))["lost"]


@pytest.mark.parametrize("part", command.STUDIES)
def test_everything_that_was_asked_for_is_stored(part: str) -> None:
    name = command.STUDIES[part].name
    results = pd.read_csv(RESULTS / f"{name}.csv").merge(pd.read_csv(RESULTS / f"{name}_runs.csv"), on="run")
    jobs = command.jobs_of_part(part, smoke=False)
    assert results["run"].nunique() == len(jobs)


def test_nothing_was_lost() -> None:
    """What the page promises, from the stored numbers alone."""

    def column(study: str, names: tuple[str, ...], name: str) -> pd.Series:
        values = pd.read_csv(RESULTS / f"durability_{study}.csv")
        return values.loc[values["step"] == 1 + names.index(name), "value"]

    for name in ("lost", "doubled", "false messages"):
        assert (column("faults", faults.OF_FAULTS, name) == 0).all()
    for name in ("lost", "errors"):
        assert (column("writers", writers.OF_WRITERS, name) == 0).all()
    for name in ("there", "distinct"):
        assert (column("threads", threads.OF_THREADS, name) == 1000).all()
    assert (column("threads", threads.OF_THREADS, "errors") == 0).all()
