"""Campaigns with several responses, requirements, targets, failures, noise and cost: asked, told, saved and resumed."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tunedprior import Optimizer, Target, optimize
from tunedprior.errors import InputError
from tunedprior.problem.space import Setting

SPACE = {"x": (0.0, 1.0), "z": (0.0, 1.0)}
BOTH = {"yield": "maximize", "cost": "minimize"}


def run(setting: Setting) -> dict[str, float]:
    x, z = setting["x"], setting["z"]
    return {"yield": 1 - (x - 0.7) ** 2, "cost": x + z, "purity": 1 - z}


def told(opt: Optimizer, count: int, *names: str) -> Optimizer:
    for _ in range(count):
        setting = opt.ask()
        opt.tell(setting, {name: run(setting)[name] for name in names})
    return opt


def old(rows: int = 30, **columns: float) -> pd.DataFrame:
    """Old data in which each response is turned and stretched by a factor."""
    points = np.random.default_rng(0).random((rows, 2))
    table = pd.DataFrame(points, columns=["x", "z"])
    for name, factor in columns.items():
        table[name] = [factor * run(row)[name] for row in table.to_dict("records")]
    return table


def test_the_front_comes_near_the_true_one() -> None:
    opt = told(Optimizer(SPACE, objectives=BOTH, seed=1), 20, "yield", "cost")
    front = opt.front
    # Without z, which only costs, the true front is x from 0 to 0.7.
    assert (front["z"] < 0.1).mean() > 0.7
    assert (front["x"] < 0.75).all()
    assert len(front) >= 6
    with pytest.raises(InputError, match="no single trial is best"):
        _ = opt.best


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


@pytest.mark.parametrize("form", ["file", "table", "text"])
def test_a_campaign_of_all_sorts_is_resumed_as_it_was(form: str, tmp_path: Path) -> None:
    options: dict = {
        "objectives": {"yield": "maximize", "cost": Target(0.4, 0.5)},
        "requirements": {"purity": ">= 0.3", "works": "pass"},
        "seed": 2,
    }
    opt = Optimizer(SPACE, **options)
    for k in range(6):
        setting = opt.ask()
        found = run(setting) | {"works": setting["x"] < 0.8}
        noise = {"yield": 0.01 * (k + 1)} if k % 2 else None
        opt.tell(setting, found, noise_std=noise, cost=1 + setting["x"])
    opt.tell(opt.ask(), failed=True)
    opt.ask()
    if form == "file":
        opt.save(tmp_path / "campaign.json")
        again = Optimizer.load(tmp_path / "campaign.json")
    else:
        table = opt.history
        if form == "text":
            table.to_csv(tmp_path / "campaign.csv", index=False)
        again = Optimizer(SPACE, **options).resume(table if form == "table" else tmp_path / "campaign.csv")
    assert again.trials == opt.trials
    assert again.suggester.aims == opt.suggester.aims
    assert again.ask() == opt.ask()
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
        Optimizer(SPACE, old(purity=1.0), objectives=BOTH)


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


def test_requirements_are_met_by_what_is_suggested() -> None:
    opt = Optimizer(SPACE, target="yield", requirements={"purity": ">= 0.6"}, seed=0)
    told(opt, 14, "yield", "purity")
    assert opt.best.more["purity"] >= 0.6
    assert opt.best.value > 0.99
    late = opt.history.tail(5)
    assert (late["purity"] >= 0.55).all()
    probability = opt.predict([{"x": 0.7, "z": 0.1}, {"x": 0.7, "z": 0.9}])["probability"]
    assert probability.iloc[0] > 0.9 > 0.1 > probability.iloc[1]


def test_old_labels_say_where_runs_work() -> None:
    table = old()
    table["works"] = np.where(table["x"] < 0.5, "pass", "fail")
    opt = Optimizer(SPACE, table, target="yield", requirements={"works": "pass"}, seed=0)
    for x, z in [(0.1, 0.2), (0.3, 0.9), (0.9, 0.5), (0.2, 0.6)]:
        opt.tell({"x": x, "z": z}, {"yield": x, "works": x < 0.5})
    chance = opt.predict([{"x": x, "z": 0.4} for x in (0.15, 0.35, 0.65, 0.95)])["probability"].tolist()
    assert min(chance[:2]) > 0.7 > 0.4 > max(chance[2:])


@pytest.mark.parametrize("failures", ["learnt", "worst"])
def test_failed_runs_are_avoided(failures: str) -> None:
    """The response is best where runs fail, so an optimiser that did not learn of it would stay there."""
    opt = Optimizer(SPACE, seed=0, failures=failures)
    for _ in range(16):
        setting = opt.ask()
        opt.tell(setting, math.nan if setting["x"] > 0.6 else setting["x"] - (setting["z"] - 0.5) ** 2)
    assert opt.best.value > 0.5
    assert ("probability" in opt.predict([setting])) == (failures == "learnt")
    with pytest.raises(InputError, match="failures must be one of 'learnt', 'worst'"):
        Optimizer(SPACE, failures="ignored")


def test_a_target_is_met_and_old_data_of_the_response_helps() -> None:
    def length(setting: Setting) -> float:
        return 800 * setting["x"] + 100 * math.sin(5 * setting["z"])

    table = old()
    table["y"] = [-0.5 * length(row) + 30 for row in table.to_dict("records")]
    errors = []
    for data in (None, table):
        opt = Optimizer(SPACE, data, direction=Target(500.0), seed=3)
        for _ in range(6):
            setting = opt.ask()
            opt.tell(setting, length(setting))
        errors.append(abs(opt.best.value - 500))
    assert errors[1] < 5
    assert opt.recommend().low <= 500 <= opt.recommend().high + 5
    assert "bring y to 500" in repr(opt)


def test_a_response_over_orders_of_magnitude_is_modelled_by_its_logarithm() -> None:
    opt = Optimizer(SPACE, direction="minimize", log=True, seed=1)
    for _ in range(8):
        setting = opt.ask()
        opt.tell(setting, 10 ** (6 * abs(setting["x"] - 0.3) - 3))
    assert opt.best.value < 0.003
    found = opt.predict([{"x": 0.9, "z": 0.5}]).iloc[0]
    assert found["mean"] > 0
    with pytest.raises(InputError, match="logarithmic scale, so it must be above 0; got 0"):
        opt.tell(setting, 0.0)


def test_noise_that_is_told_counts_result_by_result() -> None:
    """Two results at one setting: the exact one is believed."""
    opt = Optimizer(SPACE, seed=0)
    for x in (0.1, 0.4, 0.6, 0.9):
        opt.tell({"x": x, "z": 0.5}, x, noise_std=0.01)
    opt.tell({"x": 0.5, "z": 0.5}, 5.0, noise_std=3.0)
    assert opt.predict([{"x": 0.5, "z": 0.5}])["mean"].iloc[0] < 1.0
    assert opt.recommend().setting["x"] > 0.8
    with pytest.raises(InputError, match=r"noise_std of 'y' must be a finite number, 0 or more"):
        opt.tell({"x": 0.5, "z": 0.5}, 5.0, noise_std=-1.0)
    with pytest.raises(InputError, match=r"cost must be a number above 0"):
        opt.tell({"x": 0.5, "z": 0.5}, 5.0, cost=0)


@pytest.mark.parametrize("known", [True, False])
def test_what_is_cheap_is_tried_first(known: bool) -> None:
    """Two equal peaks, one of which costs a hundred times as much."""
    spent = []
    for cares in (False, True):
        options = {"cost": lambda setting: 100 if setting["x"] > 0.5 else 1} if known and cares else {}
        opt = Optimizer(SPACE, seed=1, **options)
        total = 0.0
        for _ in range(10):
            setting = opt.ask()
            x, cost = setting["x"], 100 if setting["x"] > 0.5 else 1
            value = math.exp(-30 * (x - 0.25) ** 2) + math.exp(-30 * (x - 0.75) ** 2)
            opt.tell(setting, value, cost=cost if cares and not known else None)
            total += cost
        spent.append(total)
    assert spent[1] < 0.75 * spent[0]


def test_weights_lead_to_the_trade_off_that_is_worth_most() -> None:
    weights = {"yield": 10.0, "cost": 1.0}
    opt = told(Optimizer(SPACE, objectives=BOTH, preference=weights, seed=1), 14, "yield", "cost")
    # 10 (1 - (x - 0.7)²) - (x + z) is largest at x = 0.65, z = 0.
    assert opt.best.setting["x"] == pytest.approx(0.65, abs=0.06)
    assert opt.best.setting["z"] < 0.05
    assert opt.recommend().setting["z"] < 0.1


def test_bounds_keep_to_the_part_of_the_front_that_is_of_interest() -> None:
    bounds = {"yield": ">= 0.9"}
    opt = told(Optimizer(SPACE, objectives=BOTH, preference=bounds, seed=1), 16, "yield", "cost")
    assert (opt.history["yield"].tail(8) > 0.85).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objectives": BOTH, "acquisition": "ucb"}, "take prior='average' and acquisition='ei'"),
        ({"direction": Target(3.0), "prior": "uninformed", "acquisition": "ucb"}, "acquisition='ei'"),
        ({"objectives": {"x": "maximize", "b": "minimize"}}, "x is a parameter, so it cannot be a response too"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Optimizer(SPACE, **options)


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
    opt = Optimizer(SPACE, objectives=BOTH, seed=1, **options)
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
    opt = Optimizer(SPACE, constraints="x + z <= 1", seed=0)
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
    one = Optimizer(SPACE, target="yield", requirements={"purity": ">= 5"}, seed=0)
    one.tell({"x": 0.1, "z": 0.2}, {"yield": 1.0, "purity": 0.5})
    with pytest.raises(InputError, match="Nothing that was tried meets what is required yet"):
        one.remaining()
    with pytest.raises(InputError, match="more_than must be a finite number, 0 or more; got nan"):
        one.remaining(more_than=math.nan)


def test_a_history_is_not_taken_for_that_of_other_goals() -> None:
    table = told(Optimizer(SPACE, objectives=BOTH, seed=1), 2, "yield", "cost").history
    other = Optimizer(SPACE, objectives={"yield": "minimize", "cost": "maximize"}, seed=1)
    with pytest.raises(InputError, match=r"direction is 'maximize yield, minimize cost', and this Optimizer's is"):
        other.resume(table)


def test_a_function_of_several_responses_is_optimised_in_one_call() -> None:
    def function(setting: Setting) -> dict[str, float] | float:
        return math.nan if setting["x"] > 0.95 else {name: run(setting)[name] for name in BOTH}

    result = optimize(function, SPACE, 8, objectives=BOTH, progress=False)
    assert len(result.trials) == 8
    assert len(result.front) >= 2
    with pytest.raises(
        InputError, match=r"must return a dict of yield, cost, or NaN for a failed run; <lambda> returned"
    ):
        optimize(lambda _: 1.0, SPACE, 2, objectives=BOTH, progress=False)
