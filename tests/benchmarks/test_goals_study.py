"""The study of goals: its campaigns, with a stand-in for ours, its rivals for a few trials, and its tables."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.problems.fibre import TARGET_LENGTH
from benchmarks.problems.pairs import Pair
from benchmarks.problems.simplex import Mixture
from benchmarks.results import Run, Stored, long_table
from benchmarks.runner import Study, timed
from benchmarks.studies.goals import campaigns, command, one_suggestion
from benchmarks.studies.goals.jobs import (
    ALONE,
    ANY_MIXTURE,
    FIBRE,
    FULL,
    HYPERVOLUME,
    MEASURED_MIXTURE,
    OURS,
    SAMPLER,
    SMOKE,
    SQUARED,
    TARGETED,
    GoalJob,
    NoisyJob,
)
from benchmarks.studies.goals.tables import goal_tables
from support.goals import AtRandom

TINY = replace(SMOKE, trials=5)


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AtRandom, "made", [])
    for module in (campaigns, one_suggestion):
        monkeypatch.setattr(module, "Optimizer", AtRandom)
    target = SimpleNamespace(Target=lambda value: ("target", value))
    monkeypatch.setattr(campaigns, "tunedprior", target)


def table_of(*runs: tuple[GoalJob | NoisyJob, list[float]]) -> pd.DataFrame:
    return long_table([Run(job, tuple(curve), 1.0) for job, curve in runs])


def cells(table: str, row: str) -> list[str]:
    """Of the line that begins with these words."""
    (found,) = [line for line in table.splitlines() if line.startswith(f"| {row} |")]
    return [cell.strip() for cell in found.strip("|").split("|")][1:]


@pytest.mark.usefixtures("short_hypervolume_search")
def test_all_methods_share_the_first_settings_of_a_front() -> None:
    jobs = [GoalJob("Branin-Currin", method, 300, 5) for method in (HYPERVOLUME, OURS, ALONE)]
    curves = [campaigns.hypervolume_regrets(None, job) for job in jobs]
    assert [len(curve) for curve in curves] == [2, 2, 2]
    assert curves[0] == campaigns.hypervolume_regrets(None, jobs[0])
    assert all(0 <= later <= sooner <= 1 for sooner, later in curves)
    with_old, alone = AtRandom.made
    assert list(with_old.old_data.columns) == ["x0", "x1", "f0", "f1"]
    assert alone.old_data is None
    assert with_old.options["objectives"].describe() == "minimize f0, minimize f1"
    assert with_old.told[:3] == alone.told[:3]
    assert set(with_old.told[0][1]) == {"f0", "f1"}


def test_requirements_are_told_by_name() -> None:
    for method in (SAMPLER, OURS, ALONE):
        curve = campaigns.feasible_regrets(GoalJob("Gardner 1", method, 300, 5))
        assert len(curve) == 2
        assert all(0 <= value <= 1 for value in curve)
    assert AtRandom.made[0].options["requirements"] == {"c1": "<= 0"}
    assert list(AtRandom.made[0].old_data.columns) == ["x0", "x1", "y", "c1"]


def test_mixtures_keep_how_far_sums_are_from_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    shares = pd.DataFrame(rng.dirichlet(np.ones(3), 20), columns=["a", "b", "c"])
    space = dict.fromkeys(shares, (0.0, 1.0))
    pair = Pair("photo_nodup", space, shares.assign(y=0.0), shares, shares["a"].to_numpy(), "minimize", "here", "none")
    forest = SimpleNamespace(predict=lambda rows: rows[:, 0])
    monkeypatch.setattr(campaigns, "mixture_of", lambda _folder, _name: Mixture(pair, forest, 0.0))
    for method in (ANY_MIXTURE, MEASURED_MIXTURE):
        curve = campaigns.on_mixtures("DIR", GoalJob("photo_nodup", method, 300, 6))
        assert len(curve) == 2 * (6 - 4)
        assert max(curve[1::2]) < 1e-9
    free, pool = AtRandom.made
    assert free.options["constraints"] == ["a + b + c == 1"]
    assert "constraints" not in pool.options


def test_fibres_are_told_as_lengths_or_squares() -> None:
    misses = {way: campaigns.fibre_misses(GoalJob(FIBRE, way, 300, 4)) for way in (TARGETED, SQUARED)}
    targeted, squared = AtRandom.made
    assert misses[TARGETED] == misses[SQUARED]  # the same random settings
    assert targeted.options["direction"] == ("target", TARGET_LENGTH)
    assert targeted.options["target"] == "length"
    assert np.allclose((targeted.old_data["length"] - TARGET_LENGTH) ** 2, squared.old_data["y"])
    for (_, length), (_, square) in zip(targeted.told, squared.told, strict=True):
        assert square == pytest.approx((length - TARGET_LENGTH) ** 2)


def test_advice_and_bounds_are_of_true_values() -> None:
    job = NoisyJob("Hartmann-3", ALONE, 300, 6, 0.1)
    recommended, best = campaigns.advised(job)
    assert 0 <= recommended <= 1 >= best >= 0
    assert campaigns.advised(job) == [recommended, best]
    kept = campaigns.bounded(job)
    assert len(kept) == 2 * 3
    assert kept[1::3] == [0.9, 0.9]
    assert kept[2::3] == [0.95, 0.95]
    assert kept[3] == pytest.approx(1 - recommended)  # the stand-in recommends the last setting


def test_numbers_of_one_step_are_taken_apart() -> None:
    job = NoisyJob("Hartmann-3", ALONE, 300, 6, 0.1)
    apart = campaigns.side_by_side(table_of((job, [1, 2, 3, 4, 5, 6])), ("a", "b", "c"))
    assert apart[["step", "a", "b", "c"]].to_numpy().tolist() == [[1, 1, 2, 3], [2, 4, 5, 6]]
    assert set(apart["problem"]) == {"Hartmann-3"}


def test_fronts_are_compared_with_the_rival() -> None:
    curves = {HYPERVOLUME: 0.4, OURS: 0.1, ALONE: 0.8}
    jobs = [
        (GoalJob(problem, method, seed, 5), [value * (1 + 0.01 * seed)] * 2)
        for problem in ("ZDT1", "DTLZ2", "storm", "laser graphene")
        for method, value in curves.items()
        for seed in range(3)
    ]
    table = goal_tables({"hypervolume": table_of(*jobs)})["goals hypervolume"]
    mean, seeds, ours, alone = (cell.replace("*", "") for cell in cells(table, "ZDT1"))
    assert (mean, seeds, ours, alone) == ("0.404", "3", "0.25 (0.25–0.25)", "2.00 (2.00–2.00)")
    for row in ("geometric mean, functions", "geometric mean, measured", "geometric mean"):
        assert cells(table, row)[2].strip("*").startswith("0.25")


def test_a_method_that_was_not_run_on_all_problems_is_left_out() -> None:
    jobs = [(GoalJob("Gardner 1", method, 300, 5), [0.5]) for method in (SAMPLER, ALONE)]
    table = goal_tables({"constrained": table_of(*jobs)})["goals constrained"]
    assert cells(table, "Gardner 1") == ["0.500", "1", "1.00 (1.00–1.00)"]
    assert goal_tables({"constrained": table_of(jobs[0])}) == {}


def test_mixtures_are_compared_with_the_pool() -> None:
    curves = {ANY_MIXTURE: [0.1, 1e-12, 0.1, 3e-12], MEASURED_MIXTURE: [0.2, 0.0, 0.2, 0.0]}
    jobs = [(GoalJob("photo_nodup", method, 300, 6), curve) for method, curve in curves.items()]
    table = goal_tables({"mixtures": table_of(*jobs)})["goals mixtures"]
    assert cells(table, "photo_nodup") == ["0.200", "0.100", "0.50 (0.50–0.50)", "3e-12"]


def test_trials_until_a_fibre_is_near_enough() -> None:
    curves = {(TARGETED, 0): [90, 9, 80], (TARGETED, 1): [5, 70, 1], (SQUARED, 0): [90, 50, 10], (SQUARED, 1): [99] * 3}
    jobs = [(GoalJob(FIBRE, method, seed, 3), curve) for (method, seed), curve in curves.items()]
    table = goal_tables({"fibre": table_of(*jobs)})["goals fibre"]
    assert cells(table, TARGETED)[1].startswith("1.50")
    assert cells(table, TARGETED)[-1] == "0"
    assert cells(table, SQUARED)[1].startswith("3.50")
    assert cells(table, SQUARED)[-1] == "1"
    assert cells(table, "difference, in pairs")[1] == "-2.00 (-3.00 to -1.00)"


def test_advice_is_held_against_the_best_measured() -> None:
    pairs = [[0.9, 0.9], [0.9, 0.8], [0.7, 0.8], [0.5, 0.2]]
    jobs = [(NoisyJob("Hartmann-3", ALONE, seed, 30, 0.1), pair) for seed, pair in enumerate(pairs)]
    table = goal_tables({"recommend": table_of(*jobs)})["goals recommend"]
    assert cells(table, "Hartmann-3")[:3][1] == "4"
    assert cells(table, "Hartmann-3")[2].startswith("0.75")
    assert cells(table, "Hartmann-3")[3] == "0.075"


def test_bounds_are_held_against_what_could_be_gained() -> None:
    kept = [0.10, 0.2, 0.9, 0.04, 0.2, 0.1, 0.0, 0.001, 0.0, 0.3, 0.2, 1.0]
    tables = goal_tables({"remaining": table_of((NoisyJob("Hartmann-3", ALONE, 300, 8, 0.01), kept))})
    row = cells(tables["goals remaining"], "Hartmann-3")
    assert row == ["4", "0.75 (0.75–0.75)", "1.5", "0.50", "0.005", "0.250"]
    assert cells(tables["goals probability"], "0 to 0.05") == ["1", "0.00", "0.00"]
    assert cells(tables["goals probability"], "0.95 to 1") == ["1", "1.00", "1.00"]


def test_a_suggestion_is_timed_beside_optunas() -> None:
    (row,) = one_suggestion.two_responses(smoke=True)
    assert row["results"] == 8
    table = goal_tables({}, [row])["goals speed"]
    assert cells(table, "median")[-1] == f"{row[ALONE] / row[SAMPLER]:.2f}"
    assert [len(made.told) for made in AtRandom.made] == [8, 8]


def test_results_are_stored_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "FULL", TINY)
    monkeypatch.setattr(command, "run_all", _in_this_process)
    main(["goals", "--only", "constrained", "--out", str(tmp_path), "--methods", SAMPLER])
    assert not (tmp_path / "tables_goals.md").exists()
    main(["goals", "--only", "constrained", "--out", str(tmp_path)])
    assert "| Gardner 1 |" in (tmp_path / "tables_goals.md").read_text()
    before = (tmp_path / "tables_goals.md").read_text()
    main(["goals", "--tables", "--out", str(tmp_path)])
    assert (tmp_path / "tables_goals.md").read_text() == before


def _in_this_process(study: Study, jobs: list, folder: Path | None) -> pd.DataFrame:
    """As `run_all`, where the stand-in is."""
    stored = Stored(study.name, study.job, study.command, folder)
    for job, number in stored.numbered([job for job in jobs if job not in stored]).items():
        stored.add(number, timed(study.campaign, job))
    stored.save()
    return stored.table(jobs)


def test_the_quick_size_stores_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "SMOKE", TINY)
    monkeypatch.setattr(command, "run_all", _in_this_process)
    main(["goals", "--smoke", "--out", str(tmp_path), "--only", "remaining"])
    assert "goals probability" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--methods", "magic"], "there is no magic"), (["--only", "mixtures"], "say where they are with --pairs")],
)
def test_what_cannot_be_run_is_refused(arguments: list[str], said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        main(["goals", *arguments])


def test_every_part_has_twenty_seeds() -> None:
    parts = command.parts_of(FULL, "DIR")
    assert set(parts) == set(command.PARTS) - {"speed"}
    assert all({job.seed for job in jobs} == set(range(300, 320)) for _, jobs in parts.values())
    assert "mixtures" not in command.parts_of(FULL, None)
