from math import isnan

import pytest

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.cli.output import ExitCode

FUNCTIONS = """\
def measure(setting):
    return setting["heat"] * setting["flow"]


def broken(setting):
    raise RuntimeError("the pump is off")

def text(setting):
    return "warm"
"""


@pytest.fixture
def lab(campaign):
    (campaign.folder / "lab.py").write_text(FUNCTIONS)
    return campaign


def test_two_workers_run_a_campaign(lab) -> None:
    done = lab.json("run", "a.db", "lab:measure", "--trials", "5", "--workers", "2")
    assert done["results"] == 5
    told = Optimizer.load("sqlite:///a.db").trials.told
    assert all(one.value == one.setting["heat"] * one.setting["flow"] for one in told)
    assert len({tuple(one.setting.values()) for one in told}) == 5
    assert lab.json("run", "a.db", "lab:measure", "--trials", "5")["results"] == 5  # there already


def test_open_suggestions_are_run_on_request(lab) -> None:
    lab("suggest", "a.db", "-n", "2")
    assert lab.json("run", "a.db", "lab:measure", "--trials", "2", "--open")["results"] == 2
    assert [one.id for one in Optimizer.load("sqlite:///a.db").trials.told] == [1, 2]


def test_an_error_ends_it_and_loses_nothing(lab) -> None:
    said = lab("run", "a.db", "lab:broken", "--trials", "3", code=ExitCode.REFUSED)
    assert "The function raised RuntimeError: the pump is off (lab.py, line 6) at heat=" in " ".join(said.split())
    history = Optimizer.load("sqlite:///a.db").trials
    assert (len(history.told), len(history.pending)) == (0, 0)


def test_errors_may_count_as_failed_runs(lab) -> None:
    lab("run", "a.db", "lab:broken", "--trials", "2", "--errors-fail")
    told = Optimizer.load("sqlite:///a.db").trials.told
    assert [(isnan(one.value), one.note) for one in told] == [(True, "RuntimeError: the pump is off")] * 2


def test_a_function_that_returns_no_number(lab) -> None:
    assert "The function returned 'warm'" in lab("run", "a.db", "lab:text", "--trials", "3", code=ExitCode.REFUSED)
    assert not Optimizer.load("sqlite:///a.db").trials.pending


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("measure", "named as module:function"),
        ("nowhere:measure", "There is no module 'nowhere'"),
        ("lab:nothing", "has no function 'nothing'"),
    ],
)
def test_functions_that_are_not_there(lab, place: str, expected: str) -> None:
    assert expected in lab("run", "a.db", place, "--trials", "2", code=ExitCode.REFUSED)
