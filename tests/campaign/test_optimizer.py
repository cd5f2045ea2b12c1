"""Asking: suggestions that are always allowed, new, and where they should be."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from optuna.distributions import IntDistribution

from support.builders import MIXED, SMALL, SPACE, assert_allowed, mixed, old_data, scaled, told_what_it_asked
from support.optimizers import make_optimizer
from tunedprior import Optimizer, SearchConfig, TransferConfig
from tunedprior.errors import ExhaustedWarning, InputError, OldDataWarning


@pytest.mark.slow
@pytest.mark.usefixtures("short_search")
@pytest.mark.filterwarnings("ignore::tunedprior.errors.ExhaustedWarning")
@pytest.mark.parametrize("space", [SPACE, MIXED, SMALL], ids=["continuous", "mixed", "small"])
@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(
    prior=st.sampled_from([None, "reweighted", "average"]),
    acquisition=st.sampled_from(["ei", "ucb"]),
    direction=st.sampled_from(["maximize", "minimize"]),
    seed=st.integers(0, 100),
    failures=st.sets(st.integers(0, 5)),
)
def test_every_suggestion_is_allowed_finite_and_new(space, prior, acquisition, direction, seed, failures) -> None:
    old = None if prior is None else old_data(scaled(mixed, -1.0), space=space, rows=6 if space is SMALL else 15)
    transfer = None if prior is None else TransferConfig(prior)
    opt = Optimizer(
        space,
        old,
        direction,
        seed=seed,
        noise_std=0,
        transfer=transfer,
        search=SearchConfig(acquisition=acquisition, initial=4),
    )
    seen, steps = [], 7 if space is SMALL else 6  # one more than there are settings
    for step in range(steps):
        setting = opt.ask()
        assert_allowed(space, setting)
        if len(seen) < (opt.space.size or math.inf):
            assert setting not in seen
        seen.append(setting)
        opt.tell(setting, math.nan if step in failures else mixed(setting))
    assert len(opt.history) == steps
    assert (opt.history["state"] == "failed").sum() == len(failures)


def test_the_first_points_are_a_sobol_design_unless_observations_are_given() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=3)
    design = opt.space.sobol(3, seed=3)
    assert opt.ask(n=3) == design
    assert opt.ask(n=3) == opt.space.sobol(6, seed=3)[3:]  # nothing told yet: the design goes on
    informed = Optimizer(SPACE, direction="maximize", seed=3)
    informed.tell({"a": 0.1, "b": 1.0}, 0.3)
    assert informed.ask() not in design
    assert Optimizer(SPACE, direction="maximize", seed=3, search=SearchConfig(initial=6)).ask(n=6) == opt.space.sobol(
        6, seed=3
    )


@pytest.mark.usefixtures("short_search")
def test_batches_spread_and_respect_what_is_pending() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=1, noise_std=0.01)
    told_what_it_asked(opt, 4, mixed)
    batch = opt.ask(n=4)
    assert len({tuple(setting.values()) for setting in batch}) == 4
    assert opt.pending == batch
    assert opt.ask() not in batch
    opt.tell(batch, [mixed(setting) for setting in batch])
    assert len(opt.pending) == 1
    opt.cancel(opt.pending[0])
    assert opt.pending == []
    with pytest.raises(InputError, match="Only a pending setting"):
        opt.cancel({"a": 0.0, "b": 0.0})


def test_candidates_are_picked_from_and_only_once() -> None:
    opt = Optimizer(MIXED, old_data(scaled(mixed, -1.0), space=MIXED), direction="maximize", seed=2)
    pool = pd.DataFrame(opt.space.sobol(9, seed=5))
    picked = []
    for _ in range(9):
        setting = opt.ask(candidates=pool)
        assert setting in pool.to_dict("records")
        assert setting not in picked
        picked.append(setting)
        opt.tell(setting, mixed(setting))
    with pytest.warns(ExhaustedWarning, match="All 9 candidates"):
        assert opt.ask(candidates=pool) in picked  # nothing else is left
    with pytest.raises(InputError, match="10 settings were asked for, and there are 9 candidates"):
        opt.ask(n=10, candidates=pool)


def test_candidates_may_shrink_as_they_are_measured() -> None:
    opt, whole = Optimizer(SPACE, direction="maximize", seed=2), Optimizer(SPACE, direction="maximize", seed=2)
    pool = pd.DataFrame(opt.space.sobol(20, seed=5))
    left = pool.copy()
    for _ in range(5):
        setting = opt.ask(candidates=left)
        assert whole.ask(candidates=pool) == setting
        for each in (opt, whole):
            each.tell(setting, mixed(setting))
        left = left[(left != pd.Series(setting)).any(axis=1)]


def test_candidates_must_lie_in_the_space_even_where_old_data_did_not() -> None:
    old = pd.DataFrame({"x": np.linspace(0, 1, 12), "gas": ["air", "helium"] * 6}).assign(
        y=lambda t: np.sin(4 * t["x"])
    )
    with pytest.warns(OldDataWarning, match="'helium' in old data, which the search space does not offer"):
        opt = Optimizer({"x": (0.0, 0.3), "gas": ["air", "argon"]}, old, direction="maximize", seed=0)
    for wrong in ({"x": 0.9, "gas": "air"}, {"x": 0.1, "gas": "helium"}):
        with pytest.raises(InputError, match=r"must lie between 0 and 0\.3|must be one of air, argon"):
            opt.ask(candidates=[{"x": 0.1, "gas": "air"}, wrong])
        with pytest.raises(InputError, match=r"must lie between 0 and 0\.3|must be one of air, argon"):
            opt.tell(wrong, 1.0)
    assert len(opt.trials) == 0
    assert_allowed({"x": (0.0, 0.3), "gas": ["air", "argon"]}, opt.ask())
    with pytest.raises(InputError, match="1 of 1 are not"):
        Optimizer({"n": [1, 2, 3]}, direction="maximize", seed=0).ask(candidates=[{"n": 1.7}])


def test_failed_runs_are_remembered_and_avoided() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=0)
    for x in (0.1, 0.3, 0.5):
        opt.tell({"x": x}, x)
    for x in (0.8, 0.9, 1.0):
        opt.tell({"x": x}, failed=True)
    assert opt.history["y"].isna().tolist() == [False] * 3 + [True] * 3
    assert opt.best.value == 0.5
    assert 0.3 < opt.ask()["x"] < 0.8


def test_failures_are_avoided_after_a_single_success() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=0)
    opt.tell({"x": 0.2}, 1.0)
    opt.tell([{"x": x} for x in (0.7, 0.8, 0.9, 1.0)], [math.nan] * 4)
    good, bad = opt.predict([{"x": 0.2}, {"x": 0.85}])["probability"]
    assert good > 0.5 > bad
    assert opt.ask()["x"] < 0.65


@pytest.mark.parametrize(
    "space",
    [
        {"x": (0.0, 1.0), "gas": ["air"]},
        {"x": (0.0, 1.0), "fixed": (2.0, 2.0), "n": [1, 2, 3]},
        {"n": [1, 2, 3], "fixed": (2.0, 2.0)},
    ],
    ids=["category", "number beside a grid", "finite"],
)
@pytest.mark.usefixtures("short_search")
def test_fixed_parameters_are_no_trouble(space: dict) -> None:
    opt = Optimizer(space, direction="maximize", seed=0, search=SearchConfig(initial=1))
    for _ in range(3):
        setting = opt.ask()
        assert_allowed(space, setting)
        opt.tell(setting, float(next(iter(setting.values()))))


@pytest.mark.parametrize(
    "space",
    [
        {f"p{k}": list(range(11)) for k in range(5)},  # 161,051 settings: local search
        {"n": IntDistribution(1, 10**6), "m": IntDistribution(1, 10**6, log=True)},  # rounded from a continuum
        {"n": IntDistribution(1, 10**6), "gas": ["air", "argon"]},
    ],
    ids=["many settings", "many values", "many values and a category"],
)
@pytest.mark.usefixtures("short_search")
def test_large_discrete_spaces_stay_on_their_grid(space: dict) -> None:
    opt = Optimizer(space, direction="maximize", seed=0, search=SearchConfig(initial=2))
    seen = []
    for _ in range(5):
        setting = opt.ask()
        assert_allowed(space, setting)
        assert setting not in seen
        seen.append(setting)
        opt.tell(setting, -abs(next(iter(setting.values())) - 5))


@pytest.mark.usefixtures("short_search")
def test_a_campaign_of_failures_goes_on() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    for _ in range(6):
        opt.tell(opt.ask(), math.nan)
    assert opt.best is None
    assert_allowed(SPACE, opt.ask())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "up"}, "'maximize' or 'minimize'"),
        ({"noise_std": -1.0}, "noise_std must be"),
        ({"initial": 0}, "initial must be a whole number, 1 or more"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"acquisition": "EI"}, "acquisition must be 'ei', 'ucb'"),
        ({"beta": "other"}, "beta must be 'brochu', 'srinivas', 'fixed' or a number"),
        ({"beta": -1.0}, "beta must be a finite number above 0"),
    ],
)
def test_bad_options_say_what_to_do(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_optimizer(SPACE, **options)


def test_bad_asks_say_what_to_do() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    with pytest.raises(InputError, match="n must be a whole number, 1 or more"):
        opt.ask(n=0)
    with pytest.raises(InputError, match="at least one setting"):
        opt.ask(candidates=[])
