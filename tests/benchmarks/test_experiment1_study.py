"""Experiment 1 with the paper's methods as it states them: the quick command, its tables, and what is stored."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.methods.by_name import ALL_METHODS, OF_THE_PAPER, PRINTED, RIVAL_VARIANTS
from benchmarks.problems.functions import PAPER
from benchmarks.results import jobs_of, read_runs
from benchmarks.runner import run_all
from benchmarks.site_tables import read_filled
from benchmarks.studies import experiment1
from benchmarks.studies.experiment1 import COMPARED, CONTESTS, SEEDS, average_ranks, in_words, jobs, stored_results
from benchmarks.studies.paper import FULL, FunctionJob

EXPERIMENTS = Path(__file__).parents[2] / "docs" / "experiments.md"


def as_if_run(job: FunctionJob) -> list[float]:
    """A curve that takes no time."""
    return [(len(job.method) + job.seed) / (10 + step) for step in range(job.evaluations)]


def test_the_command_has_a_quick_size(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment1, "STUDY", replace(experiment1.STUDY, campaign=as_if_run))
    main(["experiment1", "--smoke"])
    said = capsys.readouterr().out
    for method in COMPARED:
        assert f"| {method} | 0 |" in said


@pytest.mark.slow
@pytest.mark.usefixtures("short_search")
def test_every_method_can_be_run() -> None:
    every = [FunctionJob("Himmelblau", "flipped", method, 0, 5, 32) for method in (*PRINTED, *RIVAL_VARIANTS)]
    table = run_all(experiment1.STUDY, every, None)
    assert (table["failed_fits"] == 0).all()
    assert table.groupby("run")["value"].apply(lambda curve: curve.is_monotonic_decreasing).all()


def test_twelve_methods_are_the_papers() -> None:
    assert len(OF_THE_PAPER) == 12
    for methods in CONTESTS.values():
        assert list(methods) == list(OF_THE_PAPER)
        assert set(methods.values()) <= {*ALL_METHODS} & {*COMPARED}
        assert all(ALL_METHODS[name].acquisition == ALL_METHODS[one].acquisition for one, name in methods.items())


def test_ranks_by_hand() -> None:
    """On one seed a method is first, on the other it shares the first place; below 0.001 all regrets are the same."""
    rows = [
        {"problem": name, "kind": "flipped", "method": method, 0: regret, 1: regret * times}
        for name in PAPER
        for method, regret, times in (("a", 0.02, 0.01), ("b", 0.03, 0.01), ("c", 0.5, 1.0))
    ]
    regrets = pd.DataFrame(rows).set_index(["problem", "kind", "method"])
    seeds, ranks = average_ranks(regrets, {"A": "a", "B": "b", "C": "c"})
    assert seeds == [0, 1]
    assert {name: one.middle for name, one in ranks.items()} == {"A": 1.25, "B": 1.75, "C": 3.0}
    assert in_words([0, 1, 2, 5, 200, 201]) == "0–2, 5, 200–201"


def test_what_other_studies_have_is_not_run_again() -> None:
    todo = jobs(FULL, SEEDS)
    assert len(todo) == len(set(todo))
    ei = {(job.method, job.seed) for job in todo if job.method in ("EI", "TP-EI-BO", "TP-EI-BO (as printed)")}
    printed = {("TP-EI-BO (as printed)", seed) for seed in range(15)}
    assert ei == printed | {("EI", seed) for seed in range(200, 225)}


def test_the_documented_tables_are_the_stored_ones() -> None:
    assert set(jobs_of(read_runs("experiment1"), FunctionJob)) <= set(jobs(FULL, SEEDS))
    text = read_filled(EXPERIMENTS)
    tables = experiment1.tables(stored_results())
    assert len(tables) == 3
    for name, table in tables.items():
        assert f"<!-- table: {name} -->\n{table}\n<!-- end -->" in text, name
