"""What is wanted and what is required of responses, and trade-offs between several."""

import math

import numpy as np
import pytest

from tunedprior.errors import InputError
from tunedprior.goals.goal import Requirement, Target
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective
from tunedprior.history.trials import Trial

YIELD, COST = Objective("yield"), Objective("cost", "minimize", is_main=False)


def told(yield_: float, cost: float, **more: float) -> Trial:
    return Trial({}, yield_, more={"cost": cost, **more})


@pytest.mark.parametrize(
    ("target", "y", "utility"),
    [(Target(5.0), 7.0, -2.0), (Target(5.0), 4.5, -0.5), (Target(4.0, 6.0), 5.0, 0.0), (Target(4.0, 6.0), 7.5, -1.5)],
)
def test_a_target_is_worth_its_distance(target: Target, y: float, utility: float) -> None:
    assert target.compute_utility(y) == utility


@pytest.mark.parametrize("ends", [(6.0, 4.0), (math.nan,), (math.inf,), (True,)])
def test_a_target_is_a_number_or_a_range(ends: tuple) -> None:
    with pytest.raises(InputError, match=r"Target takes a number, or the least and the largest"):
        Target(*ends)


@pytest.mark.parametrize(
    ("given", "met", "not_met"),
    [(">= 0.95", 0.95, 0.94), ("<=3", 3.0, 3.1), ("> -1e-3", 0.0, -1.0), ((0.2, 0.8), 0.5, 0.9), ("pass", 1.0, -1.0)],
)
def test_requirements_are_read_from_text(given: object, met: float, not_met: float) -> None:
    one = Requirement.parse("purity", given)
    assert one.is_met(met)
    assert not one.is_met(not_met)
    assert not one.is_met(math.nan)


@pytest.mark.parametrize("given", ["0.95", ">= high", "== 3", (0.8, 0.2), 0.95, None, ">= inf"])
def test_what_no_requirement_is_says_what_one_is(given: object) -> None:
    with pytest.raises(InputError, match=r"What is required of 'purity' must be like '>= 0.95'"):
        Requirement.parse("purity", given)


def test_the_front_is_what_loops_find() -> None:
    rng = np.random.default_rng(3)
    trials = [told(*map(float, rng.integers(0, 6, size=2))) for _ in range(40)]
    trials.append(Trial({}, 9.0))  # its cost is not known
    kept = []
    for one in trials[:-1]:
        beaten = False
        for other in trials[:-1]:
            no_worse = other.value >= one.value and other.more["cost"] <= one.more["cost"]
            better = other.value > one.value or other.more["cost"] < one.more["cost"]
            beaten = beaten or (no_worse and better)
        if not beaten:
            kept.append(one)
    assert Goals((YIELD, COST)).find_front(trials) == kept


def test_only_what_meets_the_requirements_is_best() -> None:
    goals = Goals.parse("maximize", target="yield", requirements={"purity": ">= 0.9", "works": "pass"})
    good = Trial({}, 1.0, more={"purity": 0.95, "works": 1.0})
    others = [
        Trial({}, 3.0, more={"purity": 0.5, "works": 1.0}),
        Trial({}, 4.0, more={"purity": 0.99, "works": -1.0}),
        Trial({}, 5.0, more={"purity": 0.99}),  # nobody knows whether it works
    ]
    assert goals.find_best([*others, good]) == good
    assert goals.find_best(others) is None
    assert [one.name for one in goals.responses] == ["yield", "purity", "works"]


def test_weights_make_one_number_of_several_objectives() -> None:
    goals = Goals.parse(objectives={"yield": "maximize", "cost": "minimize"}, preference={"yield": 10.0, "cost": 2.0})
    assert goals.compute_worth(told(0.5, 1.5)) == pytest.approx(10 * 0.5 - 2 * 1.5)
    assert goals.find_best([told(0.5, 1.5), told(0.9, 3.0)]) == told(0.9, 3.0)
    with pytest.raises(InputError, match=r"no single trial is best. opt.front has the best trade-offs"):
        Goals((YIELD, COST)).find_best([told(1.0, 1.0)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objectives": {}}, "objectives is a dict of responses"),
        ({"objectives": {"a": "up"}}, "What is wanted of 'a' must be 'maximize' or 'minimize'"),
        ({"objectives": {"a": "maximize"}, "target": "b"}, "either objectives, or a target and its direction"),
        ({"objectives": {"a": "maximize"}, "requirements": {"a": "pass"}}, "'a' is an objective, so it is a number"),
        ({"preference": {"y": 1.0}}, "preference is for several objectives"),
        ({"objectives": {"a": "maximize", "b": "minimize"}, "preference": {"c": 1.0}}, "preference names 'c'"),
        ({"objectives": {"a": "maximize", "b": "minimize"}, "preference": {"a": 1.0, "b": "<= 3"}}, "by weights or"),
        ({"objectives": {"a": "maximize", "b": "minimize"}, "preference": {"a": "<= 1"}}, "the worst that is of"),
        ({"objectives": {"a": "maximize", "b": "minimize"}, "noise_std": 0.1}, "noise_std must be a dict by response"),
        (
            {"objectives": {"a": "maximize", "b": "minimize"}, "preference": {"a": 1.0}, "log": ["b"]},
            "a unit of a response, and b is on a logarithmic scale",
        ),
        ({"log": ["z"]}, "log must be True, False or names of objectives"),
        ({"direction": Target(-1.0), "log": True}, "above 0, so its target must be"),
    ],
)
def test_aims_that_cannot_be_meant_are_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Goals.parse(**({} if "objectives" in options else {"direction": "maximize"}) | options)
