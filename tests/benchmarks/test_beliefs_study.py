"""The quick size of the beliefs benchmark, and a page that tells its stored results."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.methods.by_name import AVERAGE, BASELINE, RIVAL
from benchmarks.problems.functions import FAILURES, MORE, PAPER, SHIFTED
from benchmarks.problems.kinds import KINDS
from benchmarks.results import jobs_of, read_results, read_runs
from benchmarks.runner import run_all
from benchmarks.studies import beliefs
from benchmarks.studies.belief_tables import all_belief_tables
from benchmarks.studies.beliefs import (
    FULL,
    IN_BOXES,
    IN_POOLS,
    SMOKE,
    BoxJob,
    PoolJob,
    continuous_jobs,
    function_jobs,
    on_continuum,
    on_pairs,
    on_pool,
    pair_jobs,
)

PAGE = Path(__file__).parents[2] / "docs" / "beliefs.md"


def test_everything_asked_for_is_run() -> None:
    assert set(FULL.names) == {*PAPER, *SHIFTED, *FAILURES, *MORE}
    assert len(FULL.seeds) >= 20
    assert (FULL.steps, FULL.pool, len(FULL.continuous)) == (40, 1024, 5)
    jobs = function_jobs(FULL)
    ours = {(job.problem, job.kind) for job in jobs if job.method == AVERAGE}
    assert ours == {(name, kind) for name in FULL.names for kind in KINDS}
    assert {job.method for job in jobs} == {AVERAGE, BASELINE, RIVAL}
    for every in (jobs, continuous_jobs(FULL), pair_jobs(FULL)):
        assert len(set(every)) == len(every)


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
    text = (tmp_path / "beliefs.md").read_text()
    assert "| Hartmann-3 |" in text
    assert "| pure noise |" in text
    assert (tmp_path / "figures" / "beliefs.png").read_bytes()[:4] == b"\x89PNG"


def test_every_kind_and_method_can_be_run() -> None:
    jobs = [PoolJob("Branin", kind, AVERAGE, 100, 1, 32) for kind in KINDS]
    jobs += [PoolJob("Hartmann-3", "flipped", method, 100, 1, 32) for method in (AVERAGE, BASELINE, RIVAL)]
    table = run_all(IN_POOLS, jobs, None)
    assert (table["failed_fits"] == 0).all()
    assert table["value"].between(0, 1).all()


def test_pairs_are_left_out_unless_they_are_brought() -> None:
    with pytest.raises(SystemExit, match="--pairs DIR"):
        main(["beliefs", "--only", "pairs"])


@pytest.mark.parametrize("method", [AVERAGE, BASELINE])
def test_regret_never_rises(method: str) -> None:
    for curve in (
        on_pool(PoolJob("Branin", "flipped", method, 3, 3, 64)),
        on_continuum(BoxJob("Branin", "flipped", method, 3, 3)),
    ):
        assert np.diff(curve).max() <= 0
        assert len(curve) == 3
        assert min(curve) >= 0


def test_the_documented_results_are_the_stored_ones() -> None:
    parts = {
        "functions": (IN_POOLS, function_jobs),
        "continuous": (IN_BOXES, continuous_jobs),
        "pairs": (on_pairs("DIR"), pair_jobs),
    }
    for study, jobs in parts.values():
        assert set(jobs_of(read_runs(study.name), study.job)) == set(jobs(FULL))
    found = {name: read_results(study.name) for name, (study, _) in parts.items()}
    tables = all_belief_tables(found | {"experiments": read_results("functions")})
    assert len(tables) == 5
    text = PAGE.read_text()
    for name, table in tables.items():
        assert f"<!-- table: {name} -->\n{table}\n<!-- end -->" in text, name
    for picture in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (PAGE.parent / picture).is_file()
