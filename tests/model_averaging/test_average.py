"""What the average is good for: flipped, unrelated and useless old data, and several sets."""

import pandas as pd
import pytest

from support.builders import (
    SPACE,
    average_over,
    flipped,
    noise_data,
    observations_of,
    observed,
    old_data,
    probabilities,
    scaled,
    smooth,
    told,
    unrelated,
    weighed_after,
    weighed_beforehand,
)
from tunedprior import Optimizer, SearchConfig
from tunedprior.space.search_space import Space

POOL = Space.parse(SPACE).sobol(200, seed=3)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_flipped_old_data_leads_to_the_best_setting_soon(seed: int) -> None:
    best = max(map(smooth, POOL))
    regrets = []
    for model in (average_over(flipped, rows=40), None):
        opt = Optimizer(SPACE, direction="maximize", seed=seed, search=SearchConfig(initial=2, model=model))
        for _ in range(6):
            setting = opt.ask(candidates=POOL)
            opt.tell(setting, smooth(setting))
        regrets.append(best - opt.best.value)
    assert regrets[0] < 0.03
    assert regrets[1] > 0.1


def test_unrelated_old_data_loses_its_trust() -> None:
    average = average_over(unrelated)
    before, after = probabilities(weighed_beforehand(average)), probabilities(weighed_after(average, observed(10)))
    assert after["old data", "aligned"] < 0.3 * before["old data", "aligned"]


@pytest.mark.parametrize("old", [old_data(unrelated), noise_data()], ids=["unrelated", "noise"])
def test_useless_old_data_leaves_predictions_as_good_as_plain_ones(old: pd.DataFrame) -> None:
    truth = [smooth(setting) for setting in POOL]
    informed, plain = (
        told(Optimizer(SPACE, given, direction="maximize", seed=0), 14).predict(POOL)["mean"].sub(truth).pow(2).mean()
        ** 0.5
        for given in (old, None)
    )
    assert informed < 1.3 * plain
    helped = (
        told(Optimizer(SPACE, direction="maximize", search=SearchConfig(model=average_over(rows=30)), seed=0), 14)
        .predict(POOL)["mean"]
        .sub(truth)
        .pow(2)
        .mean()
        ** 0.5
    )
    assert helped < 0.3 * plain


def test_of_several_old_data_sets_the_good_one_is_trusted() -> None:
    tables = {"bad": old_data(unrelated), "good": old_data(scaled(smooth, -3.0))}
    opt = told(Optimizer(SPACE, tables, direction="maximize", seed=0), 5)
    found = probabilities(weighed_after(opt.surrogate, observations_of(opt)))
    assert {name for name, _ in found} == {"", "bad", "good"}
    assert found["good", "aligned"] > 0.9
    assert found["bad", "aligned"] + found["bad", "shape"] < 0.1
    listed = told(Optimizer(SPACE, list(tables.values()), direction="maximize", seed=0), 5)
    assert [old.name for old in listed.surrogate.sources] == ["old data 1", "old data 2"]
    pd.testing.assert_frame_equal(listed.predict(POOL), opt.predict(POOL))
    assert opt.ask(candidates=POOL) in POOL


def test_many_settings_are_predicted_point_by_point() -> None:
    opt = told(Optimizer(SPACE, direction="maximize", search=SearchConfig(model=average_over()), seed=0), 4)
    predicted = opt.predict(POOL * 20)  # jointly, 64 matrices of 4000 x 4000
    pd.testing.assert_frame_equal(predicted.iloc[: len(POOL)], opt.predict(POOL))
