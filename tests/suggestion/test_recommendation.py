"""What to use, whether to repeat, and when to stop."""

import math
import warnings

import numpy as np
import pytest

from support.optimizers import make_optimizer
from tunedprior import Goals, Optimizer
from tunedprior.campaign import simulate
from tunedprior.errors import InputError, OddResultWarning
from tunedprior.space.search_space import Setting

SPACE = {"x": (0.0, 1.0), "z": (0.0, 1.0)}


def truth(setting: Setting) -> float:
    return -4 * ((setting["x"] - 0.3) ** 2 + (setting["z"] - 0.6) ** 2)


def campaign(noise: float, trials: int = 16, seed: int = 0) -> Optimizer:
    rng, opt = np.random.default_rng(seed), Optimizer(SPACE, direction="maximize", seed=seed)
    simulate(opt, lambda setting: truth(setting) + noise * rng.normal(), trials)
    return opt


@pytest.mark.slow
def test_the_luckiest_measurement_is_not_recommended() -> None:
    opt = campaign(0.3, 24)
    opt.tell([{"x": 0.7, "z": 0.9}] * 4, [0.9, -0.9, -1.1, -1.2])  # once it was lucky
    found = opt.recommend()
    assert opt.best.setting == {"x": 0.7, "z": 0.9}
    assert truth(found.setting) > truth(opt.best.setting) + 0.5
    assert found.low < found.mean < found.high
    assert found.low <= truth(found.setting) <= found.high
    assert f"{found.mean:.6g}" in str(found)


@pytest.mark.slow
def test_noise_is_found_out() -> None:
    assert campaign(0.3, 24).noise == pytest.approx(0.3, rel=0.5)
    assert campaign(0.0, 12).noise < 0.05


@pytest.mark.slow
def test_less_and_less_is_left_to_gain() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    bounds = []
    for count in (4, 8, 8):
        simulate(opt, truth, count)
        left = opt.estimate_remaining(more_than=0.05)
        regret = 0 - truth(opt.recommend().setting)
        assert regret <= left.bound + 1e-6
        assert 0 <= left.expected <= left.bound
        bounds.append(left.bound)
    assert bounds[2] < 0.2 * bounds[0]
    assert left.probability < 0.2
    assert "left to gain" in str(left)


def test_repeating_pays_where_noise_hides_which_of_two_is_better() -> None:
    candidates = [{"x": 0.1, "z": 0.1}, {"x": 0.9, "z": 0.9}, {"x": 0.5, "z": 0.5}]
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    rng = np.random.default_rng(1)
    for setting in candidates[:2]:
        for _ in range(4):
            opt.tell(setting, 1.0 + 0.5 * rng.normal())
    for _ in range(6):
        opt.tell(candidates[2], -20.0 + 0.5 * rng.normal())
    assert opt.replicate().setting != candidates[2]
    exact = Optimizer(SPACE, direction="maximize", seed=0, noise_std=0.0)
    simulate(exact, truth, 6)
    assert not exact.replicate().worthwhile
    assert "rather than repeat" in str(exact.replicate())


def test_there_must_be_something_to_go_by() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    for ask in (opt.recommend, opt.estimate_remaining, opt.replicate, lambda: opt.noise):
        with pytest.raises(InputError, match="needs a result; nothing was told of y yet"):
            ask()
    several = Optimizer(SPACE, objectives={"a": "maximize", "b": "minimize"}, seed=0)
    for setting in several.space.sobol(3, 0):
        several.tell(setting, {"a": setting["x"], "b": setting["z"]})
    with pytest.raises(InputError, match=r"Take a setting of opt.front, or give a preference by weights"):
        several.recommend()
    assert set(several.noise) == {"a", "b"}


def test_a_setting_that_probably_fails_is_not_recommended() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    for x in np.linspace(0, 1, 9):
        opt.tell({"x": float(x), "z": 0.5}, math.nan if x > 0.6 else float(x))
    assert opt.recommend().setting["x"] <= 0.65
    assert opt.recommend().probability > 0.5


def test_the_search_for_the_recommended_setting_has_gradients_where_there_are_categories() -> None:
    opt = Optimizer({"x": (0.0, 1.0), "gas": ["air", "argon"]}, direction="maximize", noise_std=0.01, seed=0)
    for x, gas, y in [
        (0.1, "air", 0.2),
        (0.5, "air", 1.0),
        (0.9, "argon", 0.1),
        (0.4, "argon", 0.5),
        (0.65, "air", 0.9),
    ]:
        opt.tell({"x": x, "gas": gas}, y)  # BoTorch warns if it has to do without them, and warnings are errors here
    assert opt.recommend().setting["gas"] == "air"


@pytest.mark.parametrize(
    ("target", "direction", "values", "caveat", "limit"),
    [
        ("yield [%]", "maximize", [60.0, 80.0, 96.0, 96.7], "", 100.0),
        ("yield_pct", "maximize", [60.0, 80.0, 96.0, 96.7], "", 100.0),
        ("waste percent", "minimize", [40.0, 20.0, 4.0, 3.3], "", 0.0),
        ("yield", "maximize", [60.0, 80.0, 96.0, 96.7], "if yield cannot be above 100", None),
        ("yield", "maximize", [0.60, 0.80, 0.96, 0.967], "if yield cannot be above 1", None),
        ("mole fraction", "maximize", [0.60, 0.80, 0.96, 0.967], "", 1.0),
        ("strength", "maximize", [60.0, 80.0, 96.0, 96.7], "", None),
        ("yield", "maximize", [60.0, 80.0, 96.0, 196.7], "", None),
    ],
)
def test_a_percentage_is_not_said_to_gain_beyond_its_limit(target, direction, values, caveat, limit) -> None:
    opt = Optimizer({"x": (0.0, 10.0)}, direction=direction, target=target, seed=0)
    opt.tell([{"x": x} for x in (1.0, 2.0, 3.0, 4.0)], values)
    left = opt.estimate_remaining()
    assert caveat in left.caveat if caveat else left.caveat == ""
    assert caveat in str(left)
    room = abs((limit if limit is not None else np.inf) - opt.recommend().mean)
    assert left.bound <= room + 0.01 * max(values)  # the mean is that of samples
    if limit is None:
        assert left.bound > abs((1.0 if max(values) < 1 else 100.0) - max(values))


@pytest.mark.parametrize(
    ("options", "low", "high"),
    [
        ({"limits": (0, 100)}, 0.0, 100.0),
        ({"limits": "<= 97"}, -np.inf, 97.0),
        ({"target": "yield (%)"}, 0.0, 100.0),
        ({"objectives": {"yield": "maximize"}, "limits": {"yield": (0, 100)}}, 0.0, 100.0),
        ({"limits": (1, 100), "log": True}, 1.0, 100.0),
    ],
)
def test_nothing_is_expected_beyond_the_limits(options, low: float, high: float, tmp_path) -> None:
    opt = make_optimizer({"x": (0.0, 10.0)}, **options)
    opt.tell([{"x": x} for x in (1.0, 2.0, 3.0, 4.0)], [60.0, 80.0, 94.0, 96.7])
    opt.save(tmp_path / "a.json")
    again = Optimizer.load(tmp_path / "a.json")
    assert again.suggester.goals == opt.suggester.goals
    found = again.recommend()
    assert low <= found.low <= found.mean <= found.high <= high
    for x in (5.0, 9.0):
        row = again.explain({"x": x}).expected.iloc[0]
        assert row[["mean", "low", "high", "measured_low", "measured_high"]].between(low, high).all()
    without = make_optimizer({"x": (0.0, 10.0)}, **({} if "target" in options else {"log": options.get("log", False)}))
    without.tell([{"x": x} for x in (1.0, 2.0, 3.0, 4.0)], [60.0, 80.0, 94.0, 96.7])
    assert without.explain({"x": 5.0}).expected["high"].item() > high
    assert again.estimate_remaining().bound <= high - 90.0


def test_a_result_beyond_its_limits_is_taken_and_said() -> None:
    opt = Optimizer({"x": (0.0, 10.0)}, objectives=Goals.parse("maximize", limits=(0, 100)), seed=0)
    with pytest.warns(OddResultWarning, match=r"y is beyond its limits \(0 <= y <= 100\): 101 \(trial 1\)"):
        opt.tell({"x": 1.0}, 101.0)
    assert opt.best.value == 101.0


def test_limits_that_results_contradict_change_nothing_that_is_said() -> None:
    """Of a yield in percent, limits of a fraction would make all settings equally good."""
    found = []
    for limits in (None, (0, 1)):
        opt = Optimizer({"x": (0.0, 10.0)}, objectives=Goals.parse("maximize", limits=limits), seed=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OddResultWarning)
            opt.tell([{"x": x} for x in (1.0, 3.0, 5.0, 7.0, 9.0)], [60.0, 80.0, 97.0, 70.0, 40.0])
        found.append((opt.recommend().setting, opt.recommend().mean, opt.predict([{"x": 6.0}])["mean"].item()))
    assert found[0] == found[1]


@pytest.mark.parametrize("options", [{"limits": (0, 100)}, {"target": "yield (%)"}])
def test_limits_hold_for_all_that_is_said(options) -> None:
    opt = make_optimizer({"x": (0.0, 10.0)}, noise_std=0.5, **options)
    opt.tell([{"x": x} for x in (1.0, 2.0, 3.0, 4.0)], [10.0, 40.0, 70.0, 99.0])
    assert opt.predict([{"x": x} for x in (4.5, 5.0, 6.0)])["mean"].max() == 100.0
    left, best = opt.estimate_remaining(), opt.recommend()
    assert 0 <= left.bound <= 100.0 - best.mean
    assert opt.explain({"x": 5.0}).gain <= 100.0 - 99.0


def test_a_logarithm_has_limits_above_0() -> None:
    with pytest.raises(InputError, match="upper limit must be; got 0"):
        Optimizer({"x": (0.0, 10.0)}, objectives=Goals.parse("maximize", log=True, limits="<= 0"), seed=0)


@pytest.mark.parametrize("limits", [(100, 0), "pass", 5, "about 3", {"z": (0, 1)}, (0, float("nan"))])
def test_limits_that_are_none_are_refused(limits) -> None:
    with pytest.raises(InputError, match="limits"):
        Optimizer({"x": (0.0, 10.0)}, objectives=Goals.parse("maximize", limits=limits), seed=0)


def test_the_recommended_setting_is_one_that_was_offered() -> None:
    """A screening plate has no other wells; wells that were used are no longer offered."""
    plate = [{"x": x, "z": z} for x in (0.05, 0.5, 0.95) for z in (0.05, 0.5, 0.95)]
    opt, rest = Optimizer(SPACE, direction="maximize", seed=0), list(plate)
    for _ in range(5):
        asked = opt.ask(candidates=rest)
        opt.tell(asked, truth(asked))
        rest = [one for one in rest if one != dict(asked)]
    assert dict(opt.recommend().setting) in plate
    best = opt.recommend().setting
    assert dict(opt.recommend(candidates=rest).setting) in rest
    opt.ask()
    assert dict(opt.recommend().setting) not in plate or opt.recommend().setting == best
