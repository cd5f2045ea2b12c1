"""Campaigns on all cores, and their results as long tables: kept, found again to the last digit, never half."""

import json
import os
import signal
import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from benchmarks import results, runner
from benchmarks.results import Run, Stored, jobs_of, read_results, read_runs
from benchmarks.runner import Study, run_all
from tunedprior.errors import FittingWarning


@dataclass(frozen=True)
class Number:
    size: float
    name: str = "none"
    floor: float | None = None


def double(job: Number) -> list[float]:
    return [2 * job.size, 3 * job.size]


def never(job: Number) -> list[float]:
    raise AssertionError(job)


def fits_badly(job: Number) -> list[float]:
    for _ in range(2):
        warnings.warn("no fit", FittingWarning, stacklevel=1)
    return [job.size]


def fails_at_two(job: Number, done: Path) -> list[float]:
    if job.size == 2.0:
        while not done.exists():
            time.sleep(0.02)
        raise AssertionError(job)
    return [2 * job.size]


def takes_long_at_two(job: Number) -> list[float]:
    if job.size == 2.0:
        time.sleep(60.0)
    return [2 * job.size]


def study(campaign: object) -> Study[Number]:
    return Study("kept", Number, campaign, "the command")


ONE, TWO = Number(1.0), Number(2.0, "NA", 1e-6)


def test_results_are_kept_and_not_run_again(tmp_path: Path) -> None:
    first = run_all(study(double), [TWO, ONE], tmp_path)
    again = run_all(study(never), [TWO, ONE], tmp_path)
    assert first["value"].tolist() == [4.0, 6.0, 2.0, 3.0]  # in the order of the jobs
    assert first["step"].tolist() == [1, 2, 1, 2]
    pd.testing.assert_frame_equal(first, again)
    assert run_all(study(never), [ONE], tmp_path)["value"].tolist() == [2.0, 3.0]
    told = json.loads((tmp_path / "software.json").read_text())
    assert told["commands"] == {"kept": "the command"}
    assert {"tunedprior", "torch", "botorch"} <= set(told["software"][0])
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]  # nothing is left beside


def test_tables_have_a_row_for_each_run_and_for_each_step(tmp_path: Path) -> None:
    run_all(study(double), [ONE, TWO], tmp_path)
    lines = (tmp_path / "kept.csv").read_text().splitlines()
    assert lines == ["run,step,value", "0,1,2.0", "0,2,3.0", "1,1,4.0", "1,2,6.0"]
    runs = read_runs("kept", tmp_path)
    assert runs.columns.tolist() == ["run", "size", "name", "floor", "seconds", "failed_fits", "software"]
    assert jobs_of(runs, Number) == [ONE, TWO]


def test_digits_survive(tmp_path: Path) -> None:
    curve = tuple(float(f"{value:.9g}") for value in (1 / 3, 2e-17, 123456.789012, 0.1 + 0.2, 5e-324, 1e300))
    stored = Stored("kept", Number, "the command", tmp_path)
    stored.add(0, Run(ONE, curve, 0.07, None))
    stored.save()
    read = read_results("kept", tmp_path)
    assert tuple(read["value"]) == curve
    assert read["failed_fits"].isna().all()
    assert ONE in Stored("kept", Number, "the command", tmp_path)


def test_a_crash_between_the_two_tables_loses_the_new_runs_only(tmp_path: Path) -> None:
    run_all(study(double), [ONE], tmp_path)
    old = (tmp_path / "kept_runs.csv").read_text()
    run_all(study(double), [ONE, TWO], tmp_path)
    (tmp_path / "kept_runs.csv").write_text(old)  # values of the second are there, its row is not
    assert read_results("kept", tmp_path)["value"].tolist() == [2.0, 3.0]
    other = Number(5.0)
    assert run_all(study(double), [ONE, other], tmp_path)["value"].tolist() == [2.0, 3.0, 10.0, 15.0]
    assert jobs_of(read_runs("kept", tmp_path), Number) == [ONE, other]
    assert read_results("kept", tmp_path)["value"].tolist() == [2.0, 3.0, 10.0, 15.0]


def test_numbers_of_runs_do_not_depend_on_who_is_first(tmp_path: Path) -> None:
    stored = Stored("kept", Number, "the command", tmp_path)
    numbers = stored.numbered([ONE, TWO])
    for job in (TWO, ONE):
        stored.add(numbers[job], Run(job, (job.size,), 0.0))
    stored.save()
    assert jobs_of(read_runs("kept", tmp_path), Number) == [ONE, TWO]


def test_a_long_run_is_saved_at_once(tmp_path: Path) -> None:
    stored = Stored("kept", Number, "the command", tmp_path)
    stored.add(0, Run(ONE, (1.0,), 0.5))
    stored.add(1, Run(TWO, (2.0,), 60.0))
    assert jobs_of(read_runs("kept", tmp_path), Number) == [ONE, TWO]


def test_runs_remember_what_came_beside_the_software(tmp_path: Path) -> None:
    with_peers = replace(study(double), versions=lambda job: {"peer": job.name})
    run_all(with_peers, [TWO, ONE], tmp_path, workers=1)
    told = json.loads((tmp_path / "software.json").read_text())["software"]
    runs = read_runs("kept", tmp_path)
    assert [told[place]["peer"] for place in runs["software"]] == [job.name for job in jobs_of(runs, Number)]
    assert {key for one in told for key in one} == {*results.software(), "peer"}


def test_runs_remember_the_software_that_made_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_all(study(double), [ONE], tmp_path)
    monkeypatch.setattr(results, "version", lambda package: f"{package} of tomorrow")
    run_all(study(double), [ONE], tmp_path)  # runs nothing, so it made nothing
    assert len(json.loads((tmp_path / "software.json").read_text())["software"]) == 1
    run_all(study(double), [ONE, TWO], tmp_path)
    told = json.loads((tmp_path / "software.json").read_text())["software"]
    first, second = (told[place]["torch"] for place in read_runs("kept", tmp_path)["software"])
    assert first != second == "torch of tomorrow"


def test_time_is_estimated_from_every_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "timed", says_its_seconds)
    jobs = [Number(3.0)] * 10 + [Number(20.0)] * 5
    found = runner.estimated_seconds(study(double), jobs, group=lambda job: job.size, sample=2)
    assert found == (10 * 3 + 5 * 20) / 2


def says_its_seconds(_campaign: object, job: Number) -> Run[Number]:
    return Run(job, (), job.size)


def test_failed_fits_are_counted() -> None:
    assert runner.timed(double, ONE).failed_fits == 0
    assert runner.timed(fits_badly, ONE).failed_fits == 2


def test_what_was_done_survives_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add, done = Stored.add, tmp_path / "done"

    def add_and_touch(*arguments: object) -> None:
        add(*arguments)
        done.touch()  # from now on the other may fail

    monkeypatch.setattr(Stored, "add", add_and_touch)
    with pytest.raises(AssertionError):
        run_all(study(partial(fails_at_two, done=done)), [ONE, TWO], tmp_path)
    assert run_all(study(never), [ONE], tmp_path)["value"].tolist() == [2.0]


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_run_saves_what_it_has_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: signal.Signals
) -> None:
    monkeypatch.setattr(Stored, "add", tell_after(Stored.add, told))
    before = signal.getsignal(signal.SIGTERM)
    ctrl_c = signal.signal(signal.SIGINT, signal.default_int_handler)  # where many tests run at once, it is ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            run_all(study(takes_long_at_two), [ONE, TWO], tmp_path)
    finally:
        signal.signal(signal.SIGINT, ctrl_c)
    assert signal.getsignal(signal.SIGTERM) is before
    assert jobs_of(read_runs("kept", tmp_path), Number) == [ONE]


def tell_after(add, told: signal.Signals):
    """Keep a run, and then have the signal sent to this process."""

    def add_and_tell(stored: Stored, number: int, run: Run, versions: Mapping[str, str]) -> None:
        add(stored, number, run, versions)
        threading.Timer(0.2, os.kill, (os.getpid(), told)).start()  # it comes while the next run is waited for

    return add_and_tell


def test_without_a_folder_nothing_is_stored() -> None:
    assert run_all(study(double), [ONE], None)["value"].tolist() == [2.0, 3.0]
