"""Hostile input: a quick size of the study, and its tables against stored results."""

import pandas as pd
import pytest

from benchmarks.results import RESULTS, read_results
from benchmarks.studies.hostile import judging, sqlite_cases
from benchmarks.studies.hostile.bombs import BOMBS, MOST_GIB, MOST_SECONDS, read_bomb
from benchmarks.studies.hostile.command import CaseJob, counts_of
from tunedprior.errors import InputError


@pytest.mark.parametrize("kind", judging.COUNTS)
def test_two_cases_of_each_kind(kind: str) -> None:
    found = dict(zip(judging.OUTCOMES, counts_of(CaseJob(kind, 0, 2)), strict=True))
    assert found[judging.TAKEN] + found[judging.REFUSED] == 2


def test_each_outcome_is_told_from_the_others() -> None:
    def refuse() -> bool:
        raise InputError("no")

    def stumble() -> bool:
        raise KeyError("no")

    assert judging.outcome_of(lambda: True) == judging.TAKEN
    assert judging.outcome_of(lambda: False) == judging.DIFFERENT
    assert judging.outcome_of(refuse) == judging.REFUSED
    assert judging.outcome_of(refuse, may_refuse=False) == judging.INSIDE
    assert judging.outcome_of(stumble) == judging.INSIDE


def test_a_changed_result_would_be_noticed(tmp_path) -> None:
    sqlite_cases.make_campaign(tmp_path / "a.db")
    sound = sqlite_cases.loaded_from(tmp_path / "a.db")
    assert sqlite_cases.loaded_from(tmp_path / "a.db") == sound
    from tunedprior import Optimizer

    opt = Optimizer.load(f"sqlite:///{tmp_path / 'a.db'}")
    opt.amend(2, {"yield": 0.126, "purity": 0.885})
    assert sqlite_cases.loaded_from(tmp_path / "a.db") != sound


def test_a_bomb_is_read_in_a_process_of_its_own() -> None:
    outcome, seconds, peak, size = read_bomb("far.xlsx")
    assert outcome == "refused"
    assert seconds > 0
    assert peak > 0
    assert size < 10_000


def test_what_is_stored_is_what_is_promised() -> None:
    cases, bombs = read_results("hostile", RESULTS), read_results("hostile_bombs", RESULTS)
    counts = cases.groupby(["kind", "step"])["value"].sum().unstack("step")
    assert counts.sum(axis=1).to_dict() == judging.COUNTS  # as many as are promised
    assert (counts[[3, 4]] == 0).all(axis=None)  # none different without a word, no error from inside
    told = pd.DataFrame({step: bombs.loc[bombs["step"] == step, "value"].to_numpy() for step in (1, 2, 3)})
    assert len(told) == len(BOMBS) >= 30
    assert (told[1] == 1).all()
    assert (told[2] <= MOST_SECONDS).all()
    assert (told[3] <= MOST_GIB).all()
