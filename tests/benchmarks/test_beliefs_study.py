"""The quick size of the beliefs benchmark, and a page that tells its stored results."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.figures import drawn_from
from benchmarks.methods.by_name import AVERAGE, BASELINE, OWN_START, PLAIN, RIVAL, RIVALS, SOBOL_START
from benchmarks.problems.functions import FAILURES, MORE, PAPER, SHIFTED
from benchmarks.problems.kinds import KINDS
from benchmarks.results import jobs_of, read_results, read_runs
from benchmarks.runner import run_all
from benchmarks.studies import beliefs
from benchmarks.studies.belief_jobs import (
    FULL,
    SMOKE,
    BoxJob,
    PoolJob,
    calibration_jobs,
    continuous_jobs,
    first_jobs,
    function_jobs,
    pair_jobs,
)
from benchmarks.studies.beliefs import IN_BOXES, IN_POOLS, on_continuum, on_pool, parts_of

PAGE = Path(__file__).parents[2] / "docs" / "transfer.md"


def test_everything_asked_for_is_run() -> None:
    assert set(FULL.names) == {*PAPER, *SHIFTED, *FAILURES, *MORE}
    assert len(FULL.seeds) >= 20
    assert (FULL.steps, FULL.pool, len(FULL.continuous)) == (40, 1024, 5)
    jobs = function_jobs(FULL)
    ours = {(job.problem, job.kind) for job in jobs if job.method == AVERAGE}
    assert ours == {(name, kind) for name in FULL.names for kind in KINDS}
    assert {job.method for job in jobs} == {AVERAGE, BASELINE, RIVAL}
    for every in (jobs, *(make(FULL) for make in (continuous_jobs, pair_jobs, first_jobs, calibration_jobs))):
        assert len(set(every)) == len(every)


def test_everything_asked_for_is_run_on_pairs() -> None:
    every = {job.problem for job in pair_jobs(FULL)}
    assert len(every) == 23
    for jobs, methods, steps, seeds in (
        (pair_jobs(FULL), (BASELINE, AVERAGE, OWN_START, PLAIN), 40, range(100, 120)),
        (pair_jobs(FULL), RIVALS, 40, range(100, 108)),
        (first_jobs(FULL), (OWN_START, SOBOL_START, BASELINE), 10, range(100, 120)),
        (calibration_jobs(FULL), (AVERAGE, PLAIN), 40, range(100, 110)),
    ):
        there = {(job.problem, job.method, job.seed) for job in jobs if job.method in methods}
        assert there == {(name, method, seed) for name in every for method in methods for seed in seeds}
        assert {job.steps for job in jobs} == {steps}


def as_if_run(job: PoolJob | BoxJob) -> list[float]:
    """A curve that takes no time."""
    return [(len(job.method) + len(job.kind) + job.seed) / (100 + step) for step in range(job.steps)]


def test_the_command_has_a_quick_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beliefs, "IN_POOLS", replace(IN_POOLS, campaign=as_if_run))
    monkeypatch.setattr(beliefs, "IN_BOXES", replace(IN_BOXES, campaign=as_if_run))
    main(["beliefs", "--smoke", "--out", str(tmp_path)])
    assert str(tmp_path) in capsys.readouterr().out
    assert set(jobs_of(read_runs("beliefs", tmp_path), PoolJob)) == set(function_jobs(SMOKE))
    assert (read_results("beliefs", tmp_path).groupby("run")["step"].max() == SMOKE.steps).all()
    assert set(jobs_of(read_runs("beliefs_continuous", tmp_path), BoxJob)) == set(continuous_jobs(SMOKE))
    text = (tmp_path / "tables_transfer.md").read_text()
    assert "| Hartmann-3 |" in text
    assert "| pure noise |" in text
    main(["pictures", "figures/beliefs.png", "--results", str(tmp_path), "--out", str(tmp_path)])
    assert drawn_from(tmp_path / "figures" / "beliefs.png")[0] == "beliefs.csv, beliefs_runs.csv"


def test_a_part_can_be_run_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beliefs, "IN_POOLS", replace(IN_POOLS, campaign=as_if_run))
    part = ["beliefs", "--only", "functions", "--methods", BASELINE, RIVAL, "--seeds", "100-101", "--out"]
    main([*part, str(tmp_path)])
    runs = read_runs("beliefs", tmp_path)
    expected = [job for job in function_jobs(FULL) if job.method in (BASELINE, RIVAL) and job.seed in (100, 101)]
    assert set(jobs_of(runs, PoolJob)) == set(expected)
    assert not (tmp_path / "tables_transfer.md").exists()


def test_a_part_that_there_is_not_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="there is no average"):
        main(["beliefs", "--methods", "average"])
    for seeds in ("119-100", "100-", "few", "-3"):
        with pytest.raises(SystemExit, match="2"):
            main(["beliefs", f"--seeds={seeds}"])
        assert "seeds are LO-HI" in capsys.readouterr().err


def test_tables_can_be_made_of_what_is_stored(tmp_path: Path) -> None:
    for name, (study, jobs) in parts_of(SMOKE, "DIR").items():
        if name != "calibration":
            run_all(replace(study, campaign=as_if_run), jobs, tmp_path)
    main(["beliefs", "--tables", "--out", str(tmp_path)])
    named = re.findall("<!-- table: beliefs (.*) -->", (tmp_path / "tables_transfer.md").read_text())
    assert named == ["kinds", "functions", "continuous", "pairs", "pair rivals", "first", "pair seconds"]


@pytest.mark.usefixtures("short_search")
def test_every_kind_and_method_can_be_run() -> None:
    jobs = [PoolJob("Branin", kind, AVERAGE, 100, 1, 32) for kind in KINDS]
    jobs += [PoolJob("Hartmann-3", "flipped", method, 100, 1, 32) for method in (AVERAGE, BASELINE, RIVAL)]
    table = run_all(IN_POOLS, jobs, None)
    assert (table["failed_fits"] == 0).all()
    assert table["value"].between(0, 1).all()


def test_pairs_are_left_out_unless_they_are_brought() -> None:
    for part in ("pairs", "first", "calibration"):
        with pytest.raises(SystemExit, match="--pairs DIR"):
            main(["beliefs", "--only", part])


@pytest.mark.parametrize("method", [AVERAGE, BASELINE])
def test_regret_never_rises(method: str) -> None:
    for curve in (
        on_pool(PoolJob("Branin", "flipped", method, 3, 3, 64)),
        on_continuum(BoxJob("Branin", "flipped", method, 3, 3)),
    ):
        assert np.diff(curve).max() <= 0
        assert len(curve) == 3
        assert min(curve) >= 0


def test_everything_that_was_asked_for_is_stored() -> None:
    for study, jobs in ((IN_POOLS, function_jobs), (IN_BOXES, continuous_jobs)):
        assert set(jobs_of(read_runs(study.name), study.job)) == set(jobs(FULL))


@pytest.mark.parametrize("part", ["pairs", "first", "calibration"])
def test_what_is_stored_of_pairs_is_what_was_asked_for(part: str) -> None:
    study, jobs = parts_of(FULL, "DIR")[part]
    stored = set(jobs_of(read_runs(study.name), PoolJob))
    assert stored <= set(jobs)
    assert {job for job in jobs if job.method not in RIVALS} <= stored
