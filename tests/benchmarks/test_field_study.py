"""The comparison's harness: the same ground, first settings, noise and budget for every peer."""

import argparse
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import calling
from benchmarks.peers.by_name import ALL_PEERS, BOTORCH, OURS, OURS_PLAIN, OURS_SHARED, RANDOM, Entry
from benchmarks.peers.calling import PeerError
from benchmarks.peers.tasks import Input, Setting, Task
from benchmarks.problems.pairs import CHECKED_ON, PAIRS
from benchmarks.results import jobs_of as stored_jobs
from benchmarks.results import read_results, read_runs, software
from benchmarks.studies.field import campaigns, command
from benchmarks.studies.field.campaigns import course, regrets
from benchmarks.studies.field.described import version_of, who_takes_part
from benchmarks.studies.field.grounds import Ground, Nearest, ground_of
from benchmarks.studies.field.jobs import (
    BY_ROWS,
    CONTESTS,
    COST,
    FAMILIES,
    FULL,
    ON_PAIRS,
    SEVERAL,
    SLOW,
    SMOKE,
    TUNED,
    TUNED_TOGETHER,
    FieldJob,
    job_of,
    jobs_of,
)
from tunedprior.errors import InputError

BRANIN = FieldJob("Branin", "flipped", 30, 0.0, OURS, 300, 4)
HERE = [one for one in CONTESTS if one.problem not in PAIRS]


class Echo:
    """A peer that chooses the settings it is given, in turn, and remembers what it was told."""

    def __init__(self, settings: list[Setting]) -> None:
        self.told: list[tuple[Setting, float]] = []
        self._settings = iter(settings)

    def begin(self, _task: Task) -> float:
        return 5.0

    def choose(self) -> tuple[Setting, float]:
        return next(self._settings), 1.0

    def learn(self, setting: Setting, response: float) -> float:
        self.told.append((setting, response))
        return 0.25


def line(pool: bool = True) -> Ground:
    """x in [0, 10], as a pool of eleven or a range; the response is x, so the best is 10."""
    settings = tuple({"x": float(x)} for x in range(11)) if pool else None
    return Ground(Task((Input("x", 0.0, 10.0),), {}, settings, 4, 7), lambda one: one["x"], lambda y: (10 - y) / 10)


def test_first_settings_are_the_same_for_all_peers_and_none_of_the_old_ones() -> None:
    plain = ground_of(replace(BRANIN, old=None, rows=0, peer=BOTORCH), None)
    with_old = ground_of(BRANIN, None)
    assert plain.first(3) == with_old.first(3)
    assert plain.first(1) == plain.first(3)[:1]
    old = [one for table in with_old.task.old.values() for one in table.settings]
    assert len(old) == 30
    assert not any(one in old for one in with_old.first(3))
    assert ground_of(replace(BRANIN, seed=301), None).first(3) != with_old.first(3)


@pytest.mark.parametrize("contest", HERE, ids=str)
def test_every_ground_has_old_data_and_a_best_response(contest: command.Contest) -> None:
    ground = ground_of(job_of(contest, OURS, 300, 5), None)
    assert len(ground.task.old) == (len(TUNED_TOGETHER[contest.problem]) if contest.old == SEVERAL else 1)
    assert all(len(one.responses) <= contest.rows for one in ground.task.old.values())
    tried = ground.task.pool or ground.first(50)
    found = [ground.regret(ground.respond(one)) for one in tried]
    assert -1e-9 < min(found) <= max(found) <= 1 + 1e-9
    if ground.task.pool is not None:
        assert (min(found), max(found)) == pytest.approx((0.0, 1.0))
    plain = ground_of(job_of(contest, BOTORCH, 300, 5), None)
    assert (plain.task.old, plain.task.pool) == ({}, ground.task.pool)


def test_what_is_not_in_the_pool_becomes_the_nearest_that_is_left() -> None:
    nearest = Nearest(line().task)
    assert [nearest({"x": 3.2})["x"] for _ in range(3)] == [3.0, 4.0, 2.0]
    inputs = (Input("x", 1.0, 100.0, log=True), Input("c", choices=("a", "b")))
    pool = ({"x": 100.0, "c": "a"}, {"x": 1.0, "c": "b"}, {"x": 30.0, "c": "b"})
    assert Nearest(Task(inputs, pool=pool))({"x": 20.0, "c": "a"}) == pool[0]  # on its logarithmic scale 30 would be
    assert Nearest(line(pool=False).task)({"x": 3.2}) == {"x": 3.2}


def test_a_course_counts_what_seems_best_and_the_seconds_of_learning_with_the_next_choice() -> None:
    job = FieldJob("line", None, 0, 0.0, OURS, 7, 4)  # ours begins by itself
    peer = Echo([{"x": value} for value in (5.0, 2.0, 8.0, 3.0)])
    done = course(line(pool=False), peer, job)
    assert done.regrets == pytest.approx([0.5, 0.5, 0.2, 0.2])
    assert done.seconds == [6.0, 1.25, 1.25, 1.25]
    first = Echo([{"x": 5.0}])
    course(line(), first, replace(job, peer=RANDOM))
    assert [one for one, _ in first.told[:3]] == line().first(3)


def test_noise_is_the_same_for_all_peers_and_regret_is_of_the_truth() -> None:
    job = FieldJob("line", None, 0, 2.0, OURS, 7, 3)
    one, other = Echo([{"x": 5.0}] * 3), Echo([{"x": 1.0}] * 3)
    first, second = course(line(pool=False), one, job), course(line(pool=False), other, job)
    noise = [measured - 5.0 for _, measured in one.told]
    assert [measured - 1.0 for _, measured in other.told] == pytest.approx(noise)
    assert np.std(noise) > 0.1
    assert (first.regrets, second.regrets) == ([0.5] * 3, pytest.approx([0.9] * 3))


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setitem(ALL_PEERS, "nobody", Entry("no_such_module", "Nobody"))
    yield "nobody"
    campaigns._kept.clear()


def test_a_peer_that_fails_has_no_regret_and_no_cost(failing: str, capsys: pytest.CaptureFixture[str]) -> None:
    job = replace(BRANIN, peer=failing, old=None, rows=0)
    assert all(map(math.isnan, regrets(job, None)))
    assert all(map(math.isnan, campaigns.seconds_and_mebibytes(job, None)))
    assert "no_such_module" in capsys.readouterr().err


def test_runs_without_old_data_are_run_once_for_all_kinds() -> None:
    branin = [one for one in CONTESTS if one.problem == "Branin" and one.part == FAMILIES]
    assert len(jobs_of(branin, OURS, [300, 301], 20)) == 2 * len(branin)
    assert len(jobs_of(branin, OURS_PLAIN, [300, 301], 20)) == 2


def test_the_comparison_is_as_wide_as_the_document_says() -> None:
    assert {one.problem for one in CONTESTS if one.part == ON_PAIRS} == set(PAIRS)
    assert {one.rows for one in CONTESTS if one.part in (ON_PAIRS, BY_ROWS)} == {20, 150, 1000}
    assert len(FULL.seeds) == 20
    assert len(COST) == 2
    assert {one.part for one in SMOKE.contests_of(OURS)} == {one.part for one in CONTESTS}
    slow = [name for name, entry in ALL_PEERS.items() if entry.slow]
    assert {one.part for name in slow for one in SMOKE.contests_of(name)} == {FAMILIES}
    assert all(FULL.contests_of(name) == CONTESTS and FULL.cost_of(name) == COST for name in slow)
    assert not any(SMOKE.cost_of(name) for name in slow)
    assert {one.part for one in FULL.contests_of(OURS_SHARED)} == {ON_PAIRS}
    assert not FULL.cost_of(OURS_SHARED)


def test_slow_peers_have_eight_contests_of_different_families() -> None:
    pairs = [one.problem for one in SLOW.contests if one.part == ON_PAIRS]
    tuned = [one.problem.split(" on ") for one in SLOW.contests if one.part == TUNED]
    assert (len(SLOW.contests), len(pairs), len(tuned)) == (8, 6, 2)
    assert len({re.match("[a-z]+", name)[0] for name in pairs}) == 6
    assert sum(name in CHECKED_ON for name in pairs) == 4
    assert len({model for model, _ in tuned}) == len({target for _, target in tuned}) == 2
    assert (len(SLOW.seeds), SLOW.trials, SLOW.cost) == (8, 20, ())
    assert set(SLOW.contests) < set(FULL.contests)
    assert set(SLOW.seeds) < set(FULL.seeds)


@pytest.mark.parametrize("missing", [False, True])
def test_slow_peers_run_seed_by_seed_what_is_not_stored(
    missing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[list[FieldJob], Path, int]] = []
    monkeypatch.setattr(command, "run_all", lambda _study, jobs, folder, workers: asked.append((jobs, folder, workers)))
    monkeypatch.setattr(command, "why_missing", lambda name: "not today" if name == "HEBO" else None)
    monkeypatch.setattr(command, "read_pair", lambda _folder, _name: None)
    words = ["--contests", "slow", "--pairs", "pairs", "--workers", "3", "--out", str(tmp_path)]
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    command.main(parser.parse_args([*words, *["--missing"][: int(missing)]]))
    ((jobs, folder, workers),) = asked
    assert (folder, workers) == (tmp_path, 3)
    assert [job.seed for job in jobs] == sorted(job.seed for job in jobs)
    peers = [name for name, entry in ALL_PEERS.items() if entry.slow and name != "HEBO"]
    every = [job for name in peers for job in jobs_of(SLOW.contests, name, SLOW.seeds, SLOW.trials)]
    stored = set(stored_jobs(read_runs("field"), FieldJob)) if missing else set()
    assert len(jobs) == len(set(jobs))
    assert set(jobs) == set(every) - stored
    assert not (tmp_path / "tables_field.md").exists()
    assert "HEBO is left out: not today" in capsys.readouterr().out


def test_what_a_peer_ran_with_is_stored_with_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert command.versions_of_peer(BRANIN) == {}  # it runs here, which every run says
    monkeypatch.setitem(ALL_PEERS, "elsewhere", Entry("by_chance", "Random", ".venv-elsewhere", package="botorch"))
    monkeypatch.setattr(calling, "interpreter", lambda _environment: Path(sys.executable))
    found = command.versions_of_peer(replace(BRANIN, peer="elsewhere"))
    assert found["botorch, of the peer"] == software()["botorch"]
    assert found["python, of the peer"] == software()["python"]
    assert all(found.values())


def test_every_peer_has_a_pinned_version_and_a_description() -> None:
    table = [line.split(" | ") for line in who_takes_part().splitlines()[2:]]
    assert [row[0].removeprefix("| ") for row in table] == list(ALL_PEERS)
    assert all(re.search(r" \d+\.\d", row[1]) and row[4].endswith(". |") for row in table)
    with pytest.raises(LookupError, match=r"openbox\.txt does not pin nothing"):
        version_of(replace(ALL_PEERS["OpenBox"], package="nothing"))


def arguments(out: Path, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(["--smoke", "--out", str(out), *words])


def test_the_command_runs_what_is_asked_for_and_goes_on_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ALL_PEERS, OURS, Entry("by_chance", "Random", uses_old=True, first=0))  # is quicker
    words = ("--parts", "families", "noise", "--peers", OURS, RANDOM)
    command.main(arguments(tmp_path, *words))
    found = read_results("field", tmp_path)
    assert set(found["peer"]) == {OURS, RANDOM}
    assert found.groupby("run").size().unique().tolist() == [SMOKE.trials]
    assert found["value"].between(0, 1).all()
    assert not (tmp_path / "tables_field.md").exists()  # of some, no tables

    def refuse(*_: object) -> None:
        raise PeerError("It was run again.")

    monkeypatch.setattr(campaigns, "course", refuse)
    command.main(arguments(tmp_path, *words))
    monkeypatch.undo()
    command.main(arguments(tmp_path, "--parts", "cost", "--peers", RANDOM))
    assert read_results("field_cost", tmp_path).groupby("run").size().tolist() == [SMOKE.cost_trials - 3 + 1]
    command.main(arguments(tmp_path, "--tables"))
    assert "| tunedprior |" in (tmp_path / "tables_field.md").read_text()
    with pytest.raises(InputError, match="there is no 'nobody'"):
        command.main(arguments(tmp_path, "--peers", "nobody"))
    capsys.readouterr()


def test_what_is_stored_was_asked_for() -> None:
    every = {job for name in ALL_PEERS for job in jobs_of(CONTESTS, name, FULL.seeds, FULL.trials)}
    assert set(stored_jobs(read_runs("field"), FieldJob)) <= every
