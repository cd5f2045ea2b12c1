"""Campaigns with several responses, requirements, targets, failures, noise and cost reach their goals."""

import math

import numpy as np
import pytest

from support.optimizers import make_optimizer
from support.responses import BOTH, SPACE, old, told
from tunedprior import Goals, Optimizer, SearchConfig, Target
from tunedprior.errors import InputError
from tunedprior.space.search_space import Setting


@pytest.mark.slow
def test_the_front_comes_near_the_true_one() -> None:
    opt = told(Optimizer(SPACE, objectives=BOTH, seed=1), 20, "yield", "cost")
    front = opt.front
    # Without z, which only costs, the true front is x from 0 to 0.7.
    assert (front["z"] < 0.1).mean() > 0.7
    assert (front["x"] < 0.75).all()
    assert len(front) >= 6
    with pytest.raises(InputError, match="no single trial is best"):
        _ = opt.best


@pytest.mark.slow
def test_requirements_are_met_by_what_is_suggested() -> None:
    opt = Optimizer(SPACE, direction="maximize", target="yield", requirements={"purity": ">= 0.6"}, seed=0)
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
    opt = Optimizer(SPACE, table, direction="maximize", target="yield", requirements={"works": "pass"}, seed=0)
    for x, z in [(0.1, 0.2), (0.3, 0.9), (0.9, 0.5), (0.2, 0.6)]:
        opt.tell({"x": x, "z": z}, {"yield": x, "works": x < 0.5})
    chance = opt.predict([{"x": x, "z": 0.4} for x in (0.15, 0.35, 0.65, 0.95)])["probability"].tolist()
    assert min(chance[:2]) > 0.7 > 0.4 > max(chance[2:])


@pytest.mark.parametrize("failures", ["learnt", "worst"])
def test_failed_runs_are_avoided(failures: str) -> None:
    """The response is best where runs fail, so an optimiser that did not learn of it would stay there."""
    opt = Optimizer(SPACE, direction="maximize", seed=0, search=SearchConfig(failures=failures))
    for _ in range(16):
        setting = opt.ask()
        opt.tell(setting, math.nan if setting["x"] > 0.6 else setting["x"] - (setting["z"] - 0.5) ** 2)
    assert opt.best.value > 0.5
    assert ("probability" in opt.predict([setting])) == (failures == "learnt")
    with pytest.raises(InputError, match="failures must be one of 'learnt', 'worst'"):
        Optimizer(SPACE, direction="maximize", search=SearchConfig(failures="ignored"), seed=0)


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
    opt = Optimizer(SPACE, objectives=Goals.parse(direction="minimize", log=True), seed=1)
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
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    for x in (0.1, 0.4, 0.6, 0.9):
        opt.tell({"x": x, "z": 0.5}, x, noise_std=0.01)
    opt.tell({"x": 0.5, "z": 0.5}, 5.0, noise_std=3.0)
    assert opt.predict([{"x": 0.5, "z": 0.5}])["mean"].iloc[0] < 1.0
    assert opt.recommend().setting["x"] > 0.8
    with pytest.raises(InputError, match=r"noise_std of 'y' must be a finite number, 0 or more"):
        opt.tell({"x": 0.5, "z": 0.5}, 5.0, noise_std=-1.0)
    with pytest.raises(InputError, match=r"cost must be a number above 0"):
        opt.tell({"x": 0.5, "z": 0.5}, 5.0, cost=0)


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_what_is_cheap_is_tried_first(known: bool) -> None:
    """Two equal peaks, one of which costs a hundred times as much."""
    spent = []
    for cares in (False, True):
        options = {"cost": lambda setting: 100 if setting["x"] > 0.5 else 1} if known and cares else {}
        opt = make_optimizer(SPACE, seed=1, **options)
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
    opt = told(
        Optimizer(SPACE, objectives=Goals.parse(objectives=BOTH, preference=weights), seed=1), 14, "yield", "cost"
    )
    # 10 (1 - (x - 0.7)²) - (x + z) is largest at x = 0.65, z = 0.
    assert opt.best.setting["x"] == pytest.approx(0.65, abs=0.06)
    assert opt.best.setting["z"] < 0.05
    assert opt.recommend().setting["z"] < 0.1


@pytest.mark.slow
def test_bounds_keep_to_the_part_of_the_front_that_is_of_interest() -> None:
    bounds = {"yield": ">= 0.9"}
    opt = told(
        Optimizer(SPACE, objectives=Goals.parse(objectives=BOTH, preference=bounds), seed=1), 16, "yield", "cost"
    )
    assert (opt.history["yield"].tail(8) > 0.85).all()
