"""One campaign on a test function: old data of the kind it says, the same start for all, repeatable curves."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from benchmarks.methods.by_name import AVERAGE, BASELINE, OWN_START, PLAIN, SOBOL_START, OldData
from benchmarks.methods.campaigns import campaign_in_box, campaign_in_pool, coverage_in_pool, optimizer_for
from benchmarks.problems.functions import FUNCTIONS, function_named
from benchmarks.problems.kinds import KINDS, SPACE, old_data
from benchmarks.problems.pools import pool_of
from benchmarks.studies.paper import FunctionJob, on_function
from tunedprior import Optimizer
from tunedprior.space.search_space import Setting

# linear_operator builds sparse tensors for task indices, and torch warns whoever does so.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")


def test_old_data_is_of_the_kind_it_says() -> None:
    function = FUNCTIONS["Himmelblau"]
    tables = {kind: old_data(kind, function, seed=4) for kind in KINDS}
    x = tables["flipped"][list(SPACE)].to_numpy()
    for table in tables.values():
        np.testing.assert_array_equal(table[list(SPACE)], x)  # the same settings for every kind
    y = {kind: table["y"].to_numpy() for kind, table in tables.items()}
    np.testing.assert_allclose(y["flipped"], 1 - function(x))
    np.testing.assert_allclose(y["same"] ** 2, y["squared"])
    np.testing.assert_allclose(y["shifted"], function(x - 0.15))
    np.testing.assert_allclose(y["another function"], FUNCTIONS["Ackley"](x))
    assert 0.05 < np.std(y["noisy flip"] - y["flipped"]) < 0.2
    assert set(y["binary labels"]) == {-1.0, 1.0}
    assert abs(np.corrcoef(y["pure noise"], y["same"])[0, 1]) < 0.4


@pytest.mark.filterwarnings("ignore:In .* % of the box")
def test_every_method_starts_from_the_same_settings() -> None:
    function = FUNCTIONS["Ackley"]
    pool = pool_of(function, 64, 5)
    old = OldData(old_data("flipped", function, 5), SPACE, "maximize", 5)
    values = function(pool.to_numpy())
    curves = [campaign_in_pool(method, old, pool, values, 3) for method in ("EI", "TP-EI-BO", "envGPUCB")]
    assert curves[0] == curves[1] == curves[2]


@pytest.mark.parametrize("method", [AVERAGE, BASELINE])
@pytest.mark.usefixtures("short_search")
def test_settings_told_before_asking_may_come_one_by_one(method: str) -> None:
    function, steps = function_named("Branin"), 2
    old = OldData(old_data("flipped", function, 3), function.space, "maximize", 3)
    curve = campaign_in_box(method, old, function.respond, steps)
    # By hand: the first settings as one table, then ask and tell.
    optimizer = optimizer_for(method, old)
    first = np.random.default_rng(3).uniform(-1, 1, (3, 2))
    optimizer.tell([dict(zip(function.space, row, strict=True)) for row in first.tolist()], function(first))
    by_hand = []
    for _ in range(steps):
        setting = optimizer.ask()
        optimizer.tell(setting, function.respond(setting))
        by_hand.append(optimizer.best.value)
    assert curve == by_hand
    assert len(curve) == steps


@pytest.fixture
def in_pool() -> tuple[OldData, pd.DataFrame, np.ndarray]:
    function = FUNCTIONS["Ackley"]
    pool = pool_of(function, 64, 5)
    return OldData(old_data("flipped", function, 5), SPACE, "maximize", 5), pool, function(pool.to_numpy())


def response(setting: Setting, pool: pd.DataFrame, values: np.ndarray) -> float:
    return float(values[(pool == pd.Series(setting)).all(axis=1).to_numpy()].item())


def test_a_method_may_choose_its_own_start(in_pool: tuple[OldData, pd.DataFrame, np.ndarray]) -> None:
    old, pool, values = in_pool
    curve = campaign_in_pool(OWN_START, old, pool, values, 5)
    optimizer, by_hand = Optimizer(SPACE, old.table, direction="maximize", seed=5), []
    for _ in range(5):
        setting = optimizer.ask(candidates=pool)
        optimizer.tell(setting, response(setting, pool, values))
        by_hand.append(optimizer.best.value)
    assert curve == by_hand
    assert curve[:3] != campaign_in_pool(AVERAGE, old, pool, values, 3)


def test_own_starts_differ_by_their_design(in_pool: tuple[OldData, pd.DataFrame, np.ndarray]) -> None:
    old, pool, values = in_pool
    curves = [campaign_in_pool(method, old, pool, values, 4) for method in (OWN_START, SOBOL_START)]
    assert curves[0] != curves[1]


@pytest.mark.parametrize("method", [AVERAGE, PLAIN])
def test_intervals_are_predicted_before_a_result_is_told(
    method: str, in_pool: tuple[OldData, pd.DataFrame, np.ndarray]
) -> None:
    old, pool, values = in_pool
    inside = coverage_in_pool(method, old, pool, values, 3 + 4)
    first = pool.iloc[np.random.default_rng(5).choice(64, size=3, replace=False)]
    optimizer, expected = optimizer_for(method, old), []
    optimizer.tell(first, values[first.index])
    for _ in range(4):
        setting = optimizer.ask(candidates=pool)
        mean, std = optimizer.predict([setting])[["mean", "measured_std"]].iloc[0]
        value = response(setting, pool, values)
        expected.append(float(mean - 1.96 * std <= value <= mean + 1.96 * std))
        optimizer.tell(setting, value)
    assert inside == expected


def test_what_lies_outside_of_its_interval_is_noticed(
    in_pool: tuple[OldData, pd.DataFrame, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, pool, values = in_pool
    sure = pd.DataFrame({"mean": [-9.0], "measured_std": [1e-3]})
    monkeypatch.setattr(Optimizer, "predict", lambda _self, _settings: sure)
    assert coverage_in_pool(BASELINE, old, pool, values, 3 + 2) == [0.0, 0.0]


def test_campaigns_can_be_repeated_and_never_get_worse() -> None:
    job = FunctionJob("Himmelblau", "flipped", "MTGP-EI (free sign)", 3, 6, 64)
    first, second = (on_function(job) for _ in range(2))
    assert first == second
    assert all(earlier >= later >= 0 for earlier, later in pairwise(first))


def test_flipped_and_same_are_the_same_to_the_tuned_prior() -> None:
    flipped, same = (on_function(FunctionJob("Himmelblau", kind, "TP-EI-BO", 2, 6, 64)) for kind in ("flipped", "same"))
    assert flipped == pytest.approx(same)


def test_a_needle_is_in_the_haystack() -> None:
    # Relative to the well, which the pool would miss.
    assert on_function(FunctionJob("Easom", "flipped", "EI", 0, 3, 64))[0] > 0.9
