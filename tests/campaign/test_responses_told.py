"""Campaigns with several responses are asked, told, corrected, saved and resumed, whatever they suggest."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support.optimizers import make_optimizer
from support.responses import BOTH, SPACE, old, run, told
from tunedprior import Optimizer, Target, optimize
from tunedprior.errors import InputError
from tunedprior.space.search_space import Setting

pytestmark = pytest.mark.usefixtures("short_search")


def test_parts_of_what_was_measured_may_be_missing() -> None:
    opt = Optimizer(SPACE, objectives=BOTH, seed=1)
    for k in range(6):
        setting = opt.ask()
        names = ["yield"] if k % 3 == 0 else ["cost"] if k % 3 == 1 else ["yield", "cost"]
        opt.tell(setting, {name: run(setting)[name] for name in names})
    assert opt.history["yield"].isna().sum() == 2
    assert len(opt.front) >= 1
    assert set(opt.predict([setting]).columns.get_level_values(0)) == {"yield", "cost"}
    assert set(opt.ask()) == set(SPACE)
    with pytest.raises(InputError, match="got none of them"):
        opt.tell(opt.ask(), {"yield": math.nan})
    with pytest.raises(InputError, match=r"The responses are yield, cost; got 'price'"):
        opt.tell(opt.ask(), {"price": 1.0})


@pytest.mark.slow
def test_a_campaign_of_all_sorts_is_resumed_as_it_was(tmp_path: Path) -> None:
    """From its own file, from a table, and from a table that was written as text."""
    options: dict = {
        "objectives": {"yield": "maximize", "cost": Target(0.4, 0.5)},
        "requirements": {"purity": ">= 0.3", "works": "pass"},
        "seed": 2,
    }
    opt = make_optimizer(SPACE, **options)
    for k in range(6):
        setting = opt.ask()
        found = run(setting) | {"works": setting["x"] < 0.8}
        noise = {"yield": 0.01 * (k + 1)} if k % 2 else None
        opt.tell(setting, found, noise_std=noise, cost=1 + setting["x"])
    opt.tell(opt.ask(), failed=True)
    opt.ask()
    file, text = tmp_path / "campaign.json", tmp_path / "campaign.csv"
    opt.save(file)
    opt.history.to_csv(text, index=False)
    resumed = [Optimizer.load(file), *(make_optimizer(SPACE, **options).resume(told) for told in (opt.history, text))]
    for again in resumed:
        assert again.trials == opt.trials
        assert again.suggester.goals == opt.suggester.goals
    expected = opt.ask()
    for again in resumed:
        assert again.ask() == expected
        pd.testing.assert_frame_equal(again.front, opt.front)


def test_old_data_of_each_response_is_trusted_for_itself() -> None:
    tables = {"lab": old(**{"yield": -2.0, "cost": 3.0}), "plant": old(20, cost=-1.0)}
    opt = told(Optimizer(SPACE, tables, objectives=BOTH, seed=1), 7, "yield", "cost")
    assert set(opt.trust) == {"yield", "cost"}
    of_yield = opt.trust["yield"].relations.set_index("old data")
    assert list(of_yield.index) == ["lab"]  # the plant did not measure it
    assert of_yield.loc["lab", "positive"] < 0.2
    of_cost = opt.trust["cost"].relations.set_index("old data")
    assert set(of_cost.index) == {"lab", "plant"}
    assert of_cost["trust"].max() > 0.5
    with pytest.raises(InputError, match=r"must have one of the responses yield, cost as a column"):
        Optimizer(SPACE, old(purity=1.0), objectives=BOTH, seed=0)


def test_batches_candidates_and_shadows_work_with_several_responses() -> None:
    pool = pd.DataFrame(np.random.default_rng(1).random((40, 2)), columns=["x", "z"])
    opt = Optimizer(SPACE, old(**{"yield": 1.0}), objectives=BOTH, requirements={"purity": ">= 0.2"}, seed=4)
    for _ in range(3):
        batch = opt.ask(n=2, candidates=pool)
        assert batch[0] != batch[1]
        opt.tell(batch, [run(one) for one in batch])
    first, second = opt.ask(n=2)
    assert first != second
    assert 0 <= opt.shadow(second).distance <= 1
    assert "purity" in repr(opt)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objectives": BOTH, "acquisition": "ucb"}, "acquisition='ei'"),
        ({"direction": Target(3.0), "prior": "uninformed", "acquisition": "ucb"}, "acquisition='ei'"),
        ({"objectives": {"x": "maximize", "b": "minimize"}}, "x is a parameter, so it cannot be a response too"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_optimizer(SPACE, **options)


def test_a_wrong_result_is_corrected_by_name() -> None:
    opt = told(Optimizer(SPACE, objectives=BOTH, seed=1), 3, "yield", "cost")
    kept = opt.trials.told[1].value
    opt.amend(2, {"cost": 9.0})
    assert opt.trials.told[1].more == {"cost": 9.0}
    assert opt.trials.told[1].value == kept
    opt.amend(2, {"cost": math.nan})  # it was not measured after all
    assert opt.trials.told[1].more == {}
    opt.withdraw(1)
    assert len(opt.trials) == 2


@pytest.mark.parametrize("first", [{"yield": 1.0}, {"cost": 1.0}])
@pytest.mark.parametrize("options", [{}, {"preference": {"yield": 1.0, "cost": 2.0}}, {"requirements": {"p": "pass"}}])
def test_a_response_may_come_in_a_week_late(first: dict, options: dict) -> None:
    opt = make_optimizer(SPACE, objectives=BOTH, seed=1, **options)
    seen = []
    for _ in range(5):
        setting = opt.ask()
        opt.tell(setting, first)
        seen.append(tuple(setting.values()))
    assert len(set(seen)) == 5
    for trial in (1, 2):
        opt.amend(trial, {"yield": 0.3 * trial, "cost": 0.5})
    assert set(opt.ask()) == set(SPACE)


def test_responses_that_are_never_measured_together_have_a_front_all_the_same() -> None:
    opt = Optimizer(SPACE, objectives=BOTH, seed=1)
    for k in range(8):
        setting = opt.ask()
        name = "yield" if k % 2 else "cost"
        opt.tell(setting, {name: run(setting)[name]})
    assert len(opt.front) == 0
    assert set(opt.ask()) == set(SPACE)


def test_what_violates_constraints_is_not_recommended() -> None:
    opt = Optimizer(SPACE, direction="maximize", constraints="x + z <= 1", seed=0)
    opt.tell({"x": 0.9, "z": 0.9}, 5.0)
    for _ in range(5):
        setting = opt.ask()
        opt.tell(setting, setting["x"])
    assert opt.space.allows(opt.recommend().setting)
    assert opt.best.value == 5.0  # it was told, after all


def test_contradictions_are_refused_and_nothing_at_all_is_a_failed_run() -> None:
    opt = Optimizer(SPACE, objectives=BOTH, requirements={"purity": ">= 5"}, seed=0)
    with pytest.raises(InputError, match=r"A run has responses \(cost\), or it failed; got both"):
        opt.tell(opt.ask(), {"cost": 1.0}, failed=True)
    opt.tell(opt.ask(), {"yield": math.nan, "cost": math.nan, "purity": math.nan})
    opt.tell(opt.ask(n=2), [run({"x": 0.1, "z": 0.2}), None], failed=[False, True], cost=[1.0, 2.0])
    assert opt.history["state"].tolist()[:3] == ["failed", "complete", "failed"]
    one = Optimizer(SPACE, direction="maximize", target="yield", requirements={"purity": ">= 5"}, seed=0)
    one.tell({"x": 0.1, "z": 0.2}, {"yield": 1.0, "purity": 0.5})
    with pytest.raises(InputError, match="Nothing that was tried meets what is required yet"):
        one.estimate_remaining()
    with pytest.raises(InputError, match="more_than must be a finite number, 0 or more; got nan"):
        one.estimate_remaining(more_than=math.nan)


def test_a_history_is_not_taken_for_that_of_other_goals() -> None:
    table = told(Optimizer(SPACE, objectives=BOTH, seed=1), 2, "yield", "cost").history
    other = Optimizer(SPACE, objectives={"yield": "minimize", "cost": "maximize"}, seed=1)
    with pytest.raises(InputError, match=r"direction is 'maximize yield, minimize cost', and this Optimizer's is"):
        other.resume(table)


def test_a_function_of_several_responses_is_optimised_in_one_call() -> None:
    def function(setting: Setting) -> dict[str, float] | float:
        return math.nan if setting["x"] > 0.95 else {name: run(setting)[name] for name in BOTH}

    result = optimize(function, SPACE, 8, objectives=BOTH, progress=False, seed=0)
    assert len(result.trials) == 8
    assert len(result.front) >= 2
    with pytest.raises(
        InputError, match=r"must return a dict of yield, cost, or NaN for a failed run; <lambda> returned"
    ):
        optimize(lambda _: 1.0, SPACE, 2, objectives=BOTH, progress=False, seed=0)
