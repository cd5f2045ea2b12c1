"""The quick size of the beliefs benchmark, and a page that tells its stored results."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import report, runs, trust
from benchmarks.__main__ import main
from benchmarks.beliefs import FULL, SMOKE, continuous_jobs, function_jobs, on_continuum, on_pool, pair_jobs
from benchmarks.functions import FAILURES, MORE, PAPER, SHIFTED
from benchmarks.methods import AVERAGE, BASELINE, RIVAL
from benchmarks.old_data import KINDS

PAGE = Path(__file__).parent.parent / "docs" / "beliefs.md"


def test_everything_asked_for_is_run() -> None:
    assert set(FULL.names) == {*PAPER, *SHIFTED, *FAILURES, *MORE}
    assert len(FULL.seeds) >= 20
    assert (FULL.steps, FULL.pool, len(FULL.continuous)) == (40, 1024, 5)
    jobs = function_jobs(FULL)
    assert {job[:3] for job in jobs} >= {(name, kind, AVERAGE) for name in FULL.names for kind in KINDS}
    assert {job[2] for job in jobs} == {AVERAGE, BASELINE, RIVAL}
    for every in (jobs, continuous_jobs(FULL), pair_jobs(FULL)):
        assert len(set(every)) == len(every)


def test_it_has_a_quick_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["beliefs", "--smoke", "--out", str(tmp_path)])
    assert str(tmp_path) in capsys.readouterr().out
    done = json.loads((tmp_path / "beliefs.json").read_text())["runs"]
    assert {tuple(run["job"]) for run in done} == set(function_jobs(SMOKE))
    assert all(len(run["best"]) == SMOKE.steps for run in done)
    assert {run["job"][1] for run in json.loads((tmp_path / "beliefs_continuous.json").read_text())["runs"]}
    text = (tmp_path / "beliefs.md").read_text()
    assert "| Hartmann-3 |" in text
    assert "| pure noise |" in text
    assert (tmp_path / "figures" / "beliefs.png").read_bytes()[:4] == b"\x89PNG"


def test_all_methods_start_from_the_same_settings_and_regret_never_rises() -> None:
    # No step chosen by a model could come before the first settings, so the first regrets bound all others.
    for run in (on_pool, on_continuum):
        curves = [
            run("Branin", "flipped", method, 3, 3, *([64] if run is on_pool else [])) for method in (AVERAGE, BASELINE)
        ]
        assert all(np.diff(curve).max() <= 0 for curve in curves)
        assert all(len(curve) == 3 and min(curve) >= 0 for curve in curves)


def test_the_documented_results_are_the_stored_ones() -> None:
    text = PAGE.read_text()
    found = {}
    parts = {"": function_jobs, "_continuous": continuous_jobs, "_pairs": pair_jobs}
    for name, jobs in parts.items():
        stored = json.loads((runs.RESULTS / f"beliefs{name}.json").read_text())["runs"]
        results = {tuple(run["job"]): run["best"] for run in stored}
        assert set(results) == set(jobs(FULL))
        found[name.removeprefix("_") or "functions"] = results
    tables = report.belief_tables(found)
    assert len(tables) == 4
    for name, table in tables.items():
        assert f"<!-- table: {name} -->\n{table}\n<!-- end -->" in text, name
    for picture in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (PAGE.parent / picture).is_file()


def test_a_run_that_is_drawn_earns_trust() -> None:
    history = trust.campaign("flipped", steps=3).trust.history
    assert history["aligned"].iloc[-1] > 0.8 > history["aligned"].iloc[0]
    assert history["slope"].iloc[-1] == pytest.approx(-1, abs=0.2)


def test_draws_of_aligned_are_mirror_images_where_there_is_old_data() -> None:
    settings, response, found = trust.draws(count=2)
    near = [int((trust.GRID - setting).abs().argmin()) for setting in settings]
    for draw in found["aligned"][near].T:
        assert abs(np.corrcoef(draw, response)[0, 1]) > 0.99
    assert set(found) == {"aligned", "matched", "uncertain", "reweighted", "uninformed"}


def test_the_readme_tells_the_same_ratios() -> None:
    readme = (PAGE.parents[1] / "README.md").read_text()
    row = re.search(r"\n\| ratio \| (.*) \|\n", readme)
    assert row is not None
    kinds = ("same", "flipped", "squared", "noisy flip", "shifted", "binary labels", "another function", "pure noise")
    for kind, value in zip(kinds, row.group(1).split(" | "), strict=True):
        assert f"\n| {kind} | {value} (" in PAGE.read_text()
