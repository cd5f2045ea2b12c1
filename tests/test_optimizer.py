"""Ask and tell: suggestions that are always allowed, repeatable, and never lose what was told."""

import functools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from botorch.acquisition import (
    ExpectedImprovement,
    PosteriorMean,
    UpperConfidenceBound,
    qLogNoisyExpectedImprovement,
    qUpperConfidenceBound,
)
from botorch.acquisition.fixed_feature import FixedFeatureAcquisitionFunction
from botorch.models.model import Model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from cases import table
from tunedprior import Optimizer, WeightPrior, optimize, pretrain
from tunedprior.acquisition import Situation, confidence_width
from tunedprior.box import Box
from tunedprior.errors import AuxiliaryDataWarning, InputError
from tunedprior.machines import SupportVectorRegressor
from tunedprior.space import Space
from tunedprior.surrogates import Observations, Standard, Surrogate, TunedPrior, believing

SPACE = {"a": (-1.0, 1.0), "b": (0.0, 5.0)}
MIXED = {
    "x": (0.0, 1.0),
    "rate": FloatDistribution(1e-3, 1.0, log=True),
    "layers": IntDistribution(1, 7, step=2),
    "speed": [98, 63, 48],
    "gas": ["air", "argon", "helium"],
}
SMALL = {"speed": [98, 63, 48], "gas": ["air", "argon"]}


def objective(setting: dict) -> float:
    """Smooth in whatever is numeric, with a bonus for some categories."""
    bonus = {"air": 0.2, "argon": 0.9, "helium": 0.5}
    spans = {"a": 1.0, "b": 5.0, "x": 1.0, "rate": 1.0, "layers": 7.0, "speed": 98.0}
    numbers = [bonus.get(value, 0.0) if name == "gas" else value / spans[name] for name, value in setting.items()]
    return math.sin(2 * numbers[0]) + sum(numbers[1:]) + numbers[0] * numbers[-1]


def old_data(space: dict, rows: int = 30) -> pd.DataFrame:
    old = pd.DataFrame(Space.parse(space).sobol(rows, seed=99))
    old["y"] = [-objective(row) for row in old.to_dict("records")]
    return old


def check_allowed(space: dict, setting: dict) -> None:
    assert list(setting) == list(space)
    for name, value in setting.items():
        match space[name]:
            case (low, high):
                assert low <= value <= high
            case list() as values:
                assert value in values
            case IntDistribution() as grid:
                assert isinstance(value, int)
                assert value in range(grid.low, grid.high + 1, grid.step)
            case FloatDistribution() as interval:
                assert interval.low <= value <= interval.high
        assert isinstance(value, str) or math.isfinite(value)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    space=st.sampled_from([SPACE, MIXED, SMALL]),
    prior=st.sampled_from([None, "reweighted", "average"]),
    acquisition=st.sampled_from(["ei", "ucb"]),
    direction=st.sampled_from(["maximize", "minimize"]),
    seed=st.integers(0, 100),
    failures=st.sets(st.integers(0, 6)),
)
def test_every_suggestion_is_allowed_finite_and_new(space, prior, acquisition, direction, seed, failures) -> None:
    old = None if prior is None else old_data(space, 6 if space is SMALL else 15)
    options = {} if prior is None else {"prior": prior}
    opt = Optimizer(space, old, direction, acquisition, seed, noise_std=0, initial=4, **options)
    seen = []
    for step in range(7):
        setting = opt.ask()
        check_allowed(space, setting)
        if len(seen) < (opt.space.size or math.inf):
            assert setting not in seen
        seen.append(setting)
        opt.tell(setting, math.nan if step in failures else objective(setting))
    assert len(opt.history) == 7
    assert (opt.history["state"] == "failed").sum() == len(failures)


@pytest.mark.parametrize("with_old", [False, True])
@pytest.mark.parametrize("space", [SPACE, MIXED], ids=["continuous", "mixed"])
def test_a_campaign_rebuilt_at_any_step_goes_on_the_same(space: dict, with_old: bool, tmp_path) -> None:
    old = old_data(space, 15) if with_old else None
    opt = Optimizer(space, old, seed=4, initial=2)
    torch.manual_seed(0)
    for step in range(5):
        opt.history.to_csv(tmp_path / "history.csv", index=False)
        expected = opt.ask()
        if step != 3:  # in the design, at the first step of the model, and after a failure
            torch.manual_seed(step + 1)  # nothing may depend on it
            saved = pd.read_csv(tmp_path / "history.csv")
            again = Optimizer(space, old, seed=4, initial=2).resume(saved)
            assert again.pending == []
            assert again.ask() == expected
        opt.tell(expected, math.nan if step == 3 else objective(expected))


def test_a_campaign_with_pending_settings_goes_on_the_same() -> None:
    opt = Optimizer(SPACE, seed=2)
    for setting in opt.ask(n=3):
        opt.tell(setting, objective(setting))
    batch = opt.ask(n=3)
    opt.tell(batch[0], objective(batch[0]))
    again = Optimizer(SPACE, seed=2).resume(opt.history)
    pd.testing.assert_frame_equal(again.history, opt.history)
    assert again.pending == batch[1:]
    assert again.ask() == opt.ask()
    with pytest.raises(InputError, match="told nothing yet"):
        opt.resume(opt.history)
    with pytest.raises(InputError, match="state is missing"):
        Optimizer(SPACE).resume(opt.history.drop(columns="state"))


def test_a_lab_that_rounds_its_settings_is_understood() -> None:
    exact, rounding = Optimizer(SPACE, seed=6), Optimizer(SPACE, seed=6)
    for step in range(5):
        suggested = rounding.ask()
        if step < 3:  # the design goes on
            assert suggested == exact.ask()
            exact.tell(suggested, objective(suggested))
        run = {name: round(value, 2) for name, value in suggested.items()}
        rounding.tell(run, objective(run))
        assert rounding.pending == []
        assert rounding.history[list(SPACE)].to_dict("records")[-1] == run
    resumed = Optimizer(SPACE, seed=6).resume(rounding.history)
    assert resumed.ask() == rounding.ask()


def test_what_is_handed_out_is_not_what_is_kept() -> None:
    opt = Optimizer(SPACE, seed=0)
    setting = opt.ask()
    setting["note"] = "by night"
    opt.tell(setting, 1.0)
    assert opt.pending == []
    opt.best.setting["a"] = 99.0
    assert abs(opt.best.setting["a"]) <= 1


@pytest.mark.parametrize(("factor", "offset"), [(1e-12, 0.0), (1e9, 0.0), (1e250, 0.0), (1.0, 1000.0)])
@pytest.mark.parametrize("with_old", [False, True])
def test_the_units_of_the_response_do_not_matter(factor: float, offset: float, with_old: bool) -> None:
    old = old_data(SPACE) if with_old else None
    plain, scaled = (
        Optimizer(SPACE, old, seed=1, noise_std=0.01),
        Optimizer(SPACE, old, seed=1, noise_std=0.01 * factor),
    )
    for setting in plain.ask(n=4):
        plain.tell(setting, objective(setting))
        scaled.tell(setting, factor * objective(setting) + offset)
    there, here = scaled.predict({"a": 0.5, "b": 3.0}), plain.predict({"a": 0.5, "b": 3.0})
    assert there["mean"].item() == pytest.approx(factor * here["mean"].item() + offset, rel=1e-3)
    assert there["std"].item() == pytest.approx(factor * here["std"].item(), rel=0.05)
    assert scaled.ask()["a"] == pytest.approx(plain.ask()["a"], abs=0.02)


def test_same_seed_same_suggestions_and_no_global_state() -> None:
    state = torch.get_rng_state()
    runs = []
    for _ in range(2):
        opt = Optimizer(SPACE, seed=7)
        for _ in range(5):
            setting = opt.ask()
            opt.tell(setting, objective(setting))
        runs.append(opt.history)
    pd.testing.assert_frame_equal(*runs)
    assert torch.equal(torch.get_rng_state(), state)
    assert Optimizer(SPACE, seed=8).ask() != Optimizer(SPACE, seed=7).ask()


def test_the_first_points_are_a_sobol_design_unless_observations_are_given() -> None:
    opt = Optimizer(SPACE, seed=3)
    design = opt.space.sobol(3, seed=3)
    assert opt.ask(n=3) == design
    assert opt.ask(n=3) == opt.space.sobol(6, seed=3)[3:]  # nothing told yet: the design goes on
    informed = Optimizer(SPACE, seed=3)
    informed.tell({"a": 0.1, "b": 1.0}, 0.3)
    assert informed.ask() not in design
    assert Optimizer(SPACE, seed=3, initial=6).ask(n=6) == opt.space.sobol(6, seed=3)


@pytest.mark.parametrize("with_old", [False, True])
def test_it_finds_the_best_of_a_smooth_function(with_old: bool) -> None:
    def bowl(setting: dict) -> float:
        return (setting["a"] - 0.3) ** 2 + (setting["b"] / 5 - 0.6) ** 2

    old = None
    if with_old:  # the same bowl, upside down
        points = table(40, 2).numpy()
        old = pd.DataFrame({"a": points[:, 0], "b": 2.5 + 2.5 * points[:, 1]})
        old["y"] = [-bowl(row) for row in old.to_dict("records")]
    opt = optimize(bowl, SPACE, 15, auxiliary=old, direction="minimize", progress=False)
    assert opt.best.value < 2e-3
    assert opt.best.value == pytest.approx(bowl(opt.best.setting))


def test_batches_spread_and_respect_what_is_pending() -> None:
    opt = Optimizer(SPACE, seed=1, noise_std=0.01)
    for setting in opt.ask(n=4):
        opt.tell(setting, objective(setting))
    batch = opt.ask(n=4)
    assert len({tuple(setting.values()) for setting in batch}) == 4
    assert opt.pending == batch
    assert opt.ask() not in batch
    opt.tell(batch, [objective(setting) for setting in batch])
    assert len(opt.pending) == 1
    opt.cancel(opt.pending[0])
    assert opt.pending == []
    with pytest.raises(InputError, match="Only a pending setting"):
        opt.cancel({"a": 0.0, "b": 0.0})


@pytest.mark.parametrize("noise_std", [None, 0.01])
def test_pending_points_are_believed_not_observed(noise_std: float | None) -> None:
    opt = Optimizer(SPACE, seed=1, noise_std=noise_std)
    for setting in opt.ask(n=5):
        opt.tell(setting, objective(setting))
    model, pending = opt._fitted(opt._observations()), opt._box.codes([{"a": 0.9, "b": 4.5}, {"a": -0.9, "b": 0.2}])
    before = model.posterior(pending)
    after = believing(model, opt._surrogate, opt._observations(), pending).posterior(pending)
    torch.testing.assert_close(after.mean, before.mean, rtol=1e-3, atol=1e-3)
    assert (after.variance < 0.2 * before.variance).all()


def test_candidates_are_picked_from_and_only_once() -> None:
    opt = Optimizer(MIXED, old_data(MIXED), seed=2)
    pool = pd.DataFrame(opt.space.sobol(9, seed=5))
    picked = []
    for _ in range(9):
        setting = opt.ask(candidates=pool)
        assert setting in pool.to_dict("records")
        assert setting not in picked
        picked.append(setting)
        opt.tell(setting, objective(setting))
    assert opt.ask(candidates=pool) in picked  # nothing else is left
    with pytest.raises(InputError, match="10 settings were asked for, and there are 9 candidates"):
        opt.ask(n=10, candidates=pool)


def test_candidates_may_shrink_as_they_are_measured() -> None:
    opt, whole = Optimizer(SPACE, seed=2), Optimizer(SPACE, seed=2)
    pool = pd.DataFrame(opt.space.sobol(20, seed=5))
    left = pool.copy()
    for _ in range(5):
        setting = opt.ask(candidates=left)
        assert whole.ask(candidates=pool) == setting
        for each in (opt, whole):
            each.tell(setting, objective(setting))
        left = left[(left != pd.Series(setting)).any(axis=1)]


def test_candidates_must_lie_in_the_space_even_where_old_data_did_not() -> None:
    old = pd.DataFrame({"x": np.linspace(0, 1, 12), "gas": ["air", "helium"] * 6}).assign(
        y=lambda t: np.sin(4 * t["x"])
    )
    with pytest.warns(AuxiliaryDataWarning, match="'helium', which the search space does not offer"):
        opt = Optimizer({"x": (0.0, 0.3), "gas": ["air", "argon"]}, old)
    for wrong in ({"x": 0.9, "gas": "air"}, {"x": 0.1, "gas": "helium"}):
        with pytest.raises(InputError, match=r"1 of 2 are not \(rows 1"):
            opt.ask(candidates=[{"x": 0.1, "gas": "air"}, wrong])
    opt.tell({"x": 0.9, "gas": "helium"}, 1.0)  # but what was run was run
    assert opt.history["gas"].tolist() == ["helium"]
    check_allowed({"x": (0.0, 0.3), "gas": ["air", "argon"]}, opt.ask())
    with pytest.raises(InputError, match="1 of 1 are not"):
        Optimizer({"n": [1, 2, 3]}).ask(candidates=[{"n": 1.7}])


def test_failed_runs_are_remembered_and_avoided() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, seed=0)
    for x in (0.1, 0.3, 0.5):
        opt.tell({"x": x}, x)
    for x in (0.8, 0.9, 1.0):
        opt.tell({"x": x}, failed=True)
    assert opt.history["y"].isna().tolist() == [False] * 3 + [True] * 3
    assert opt.best.value == 0.5
    assert 0.3 < opt.ask()["x"] < 0.8


def test_failures_are_avoided_after_a_single_success() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, seed=0)
    opt.tell({"x": 0.2}, 1.0)
    opt.tell([{"x": x} for x in (0.7, 0.8, 0.9, 1.0)], [math.nan] * 4)
    good, bad = opt.predict([{"x": 0.2}, {"x": 0.85}])["mean"]
    assert good > bad + 0.1
    assert opt.ask()["x"] < 0.65


def test_some_of_several_may_have_failed() -> None:
    opt = Optimizer(SPACE)
    settings_ = opt.ask(n=3)
    with pytest.raises(InputError, match="one for each of the 3 settings; got 2"):
        opt.tell(settings_, [1.0, 2.0, 3.0], failed=[True, False])
    opt.tell(settings_, [1.0, 2.0, 3.0], failed=[False, True, False])
    assert opt.history["state"].tolist() == ["complete", "failed", "complete"]


@pytest.mark.parametrize(
    "space",
    [
        {"x": (0.0, 1.0), "gas": ["air"]},
        {"x": (0.0, 1.0), "fixed": (2.0, 2.0), "n": [1, 2, 3]},
        {"n": [1, 2, 3], "fixed": (2.0, 2.0)},
    ],
    ids=["category", "number beside a grid", "finite"],
)
def test_fixed_parameters_are_no_trouble(space: dict) -> None:
    opt = Optimizer(space, seed=0, initial=1)
    for _ in range(3):
        setting = opt.ask()
        check_allowed(space, setting)
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
def test_large_discrete_spaces_stay_on_their_grid(space: dict) -> None:
    opt = Optimizer(space, seed=0, initial=2)
    seen = []
    for _ in range(5):
        setting = opt.ask()
        check_allowed(space, setting)
        assert setting not in seen
        seen.append(setting)
        opt.tell(setting, -abs(next(iter(setting.values())) - 5))


@pytest.mark.parametrize("choices", [(None, 32, 64), (0.5, 1, 2), (True, False)], ids=str)
def test_categories_of_any_kind_survive_tables(choices: tuple, tmp_path) -> None:
    space = {"x": (0.0, 1.0), "n": CategoricalDistribution(choices)}
    opt = Optimizer(space, seed=0)
    for setting in [opt.ask(), *opt.ask(n=4)]:
        assert setting["n"] in choices
        opt.tell(setting, setting["x"])
    opt.history.to_csv(tmp_path / "history.csv", index=False)
    again = Optimizer(space, seed=0).resume(pd.read_csv(tmp_path / "history.csv"))
    assert again.ask() == opt.ask()


def test_a_campaign_of_failures_goes_on() -> None:
    opt = Optimizer(SPACE, seed=0)
    for _ in range(6):
        opt.tell(opt.ask(), math.nan)
    assert opt.best is None
    check_allowed(SPACE, opt.ask())


def test_bad_tells_change_nothing() -> None:
    opt = Optimizer(MIXED, seed=0)
    good = opt.ask()
    opt.tell(good, 1.0)
    history = opt.history
    for setting, value, message in [
        (good | {"x": 7.0}, 1.0, "'x' must lie between 0 and 1"),
        (good | {"gas": "neon"}, 1.0, "'gas' must be one of"),
        ({"x": 0.5}, 1.0, "is missing"),
        (good | {"x": "fast"}, 1.0, "'x' must be numbers; got fast"),
        (good, "high", "Values must be numbers"),
        (good, math.inf, "Values must be finite"),
        (good, None, "needs a value"),
        (good, [1.0, 2.0], "one value for each of the 1 settings; got 2"),
        ([good, good | {"x": -1.0}], [1.0, 2.0], "'x' must lie between"),
    ]:
        with pytest.raises(InputError, match=message):
            opt.tell(setting, value)
        pd.testing.assert_frame_equal(opt.history, history)


def test_what_was_actually_run_may_lie_off_the_grid() -> None:
    opt = Optimizer({"speed": [98, 63, 48]}, seed=0)
    opt.tell([{"speed": 63.2}, {"speed": 98.4}], [0.4, 0.3])
    assert opt.history["speed"].tolist() == [63.2, 98.4]
    assert opt.ask()["speed"] in (98, 63, 48)


def test_predictions_follow_the_data_in_the_users_units() -> None:
    opt = Optimizer(SPACE, direction="minimize", noise_std=0.0, seed=0)
    with pytest.raises(InputError, match="nothing to predict from"):
        opt.predict({"a": 0.0, "b": 0.0})
    for setting in opt.ask(n=8):
        opt.tell(setting, 100 + objective(setting))
    told = opt.predict(opt.history)
    np.testing.assert_allclose(told["mean"], opt.history["y"], atol=0.05)
    assert (told["std"] < 0.1).all()
    assert opt.predict({"a": 1.0, "b": 5.0})["std"].item() > told["std"].max()


@pytest.mark.parametrize(
    "acquisition",
    [ExpectedImprovement, PosteriorMean, qLogNoisyExpectedImprovement, qUpperConfidenceBound],
    ids=lambda acquisition: acquisition.__name__,
)
@pytest.mark.filterwarnings("ignore:.*has known numerical issues")  # BoTorch's word on plain EI
def test_any_botorch_acquisition_can_be_passed(acquisition) -> None:
    suggestions = []
    for _ in range(2):
        opt = Optimizer(SPACE, acquisition=acquisition, seed=5)
        for setting in opt.ask(n=3):
            opt.tell(setting, objective(setting))
        suggestions.append(opt.ask())
    check_allowed(SPACE, suggestions[0])
    assert suggestions[0] == suggestions[1]


def test_an_acquisition_that_needs_more_says_how_to_give_it() -> None:
    with pytest.raises(InputError, match=r"needs acq_function, d, columns, values.*functools.partial"):
        Optimizer(SPACE, acquisition=FixedFeatureAcquisitionFunction)


def test_what_a_partial_fixes_stays_fixed() -> None:
    received = []

    class Spy(UpperConfidenceBound):
        def __init__(self, model, beta) -> None:
            received.append(beta)
            super().__init__(model, beta)

    opt = Optimizer(SPACE, acquisition=functools.partial(Spy, beta=0.01))
    opt.tell({"a": 0.0, "b": 0.0}, 1.0)
    opt.ask()
    assert received == [0.01]


def test_confidence_widths_by_hand() -> None:
    situation = Situation(best=0.0, codes=torch.zeros(2, 2), step=3, num_inputs=2, num_choices=155, seed=0)
    assert confidence_width("brochu", situation) == pytest.approx(2 * math.log(3**3 * math.pi**2 / 0.3))
    assert confidence_width("srinivas", situation) == pytest.approx(2 * math.log(155 * 9 * math.pi**2 / 0.6))
    assert confidence_width("fixed", situation) == 4.0
    assert confidence_width(9.0, situation) == 9.0


def test_srinivas_needs_a_finite_choice() -> None:
    opt = Optimizer(SPACE, acquisition="ucb", beta="srinivas")
    opt.tell({"a": 0.0, "b": 0.0}, 1.0)
    with pytest.raises(InputError, match="this space is continuous"):
        opt.ask()
    assert opt.ask(candidates=opt.space.sobol(20, seed=0))


@pytest.mark.parametrize(
    ("old", "reasons"),
    [
        (old_data(SPACE).iloc[:0], {"average": "is empty", "reweighted": "is empty"}),
        (old_data(SPACE).iloc[:1], {"average": "it has 1", "reweighted": "at least two points"}),
        (old_data(SPACE).assign(y=2.0), {"average": "never varies", "reweighted": "must vary"}),
        # Nothing is learnt from there, so nothing is scaled to it either.
        (old_data(SPACE).assign(y=2.0, a=[-9.0, 9.0] * 15), {"average": "never varies", "reweighted": "must vary"}),
    ],
    ids=["empty", "one row", "constant", "constant, and far away"],
)
@pytest.mark.parametrize("prior", ["average", "reweighted"])
def test_old_data_that_says_nothing_is_said_and_left_out(old: pd.DataFrame, reasons: dict, prior: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opt = Optimizer(SPACE, old, seed=1, prior=prior)
    messages = [str(w.message) for w in caught if w.category is AuxiliaryDataWarning]
    assert any(reasons[prior] in message and "Going on without old data" in message for message in messages)
    assert isinstance(opt.surrogate, Standard)
    plain = Optimizer(SPACE, seed=1)
    for _ in range(4):
        setting = opt.ask()
        assert setting == plain.ask()
        opt.tell(setting, objective(setting))
        plain.tell(setting, objective(setting))


@pytest.mark.parametrize("prior", ["average", "reweighted"])
@pytest.mark.filterwarnings("ignore:The machine learnt nothing")
def test_a_vanishing_kernel_is_said_and_left_out(prior: str) -> None:
    nothing = pretrain(old_data(SPACE), SPACE, machine=SupportVectorRegressor(1.0, epsilon=5.0))
    assert nothing.vanishes
    with pytest.warns(AuxiliaryDataWarning, match=r"vanishes\. Going on without old data"):
        opt = Optimizer(SPACE, nothing, prior=prior)
    assert isinstance(opt.surrogate, Standard)
    assert opt.ask()


def test_a_prior_learnt_before_can_be_used_again(tmp_path) -> None:
    prior = pretrain(old_data(SPACE), SPACE)
    prior.save(tmp_path / "prior")
    read = WeightPrior.load(tmp_path / "prior")
    loaded, fresh = (Optimizer(SPACE, old, prior="reweighted") for old in (read, old_data(SPACE)))
    for opt in (loaded, fresh):
        opt.tell({"a": 0.2, "b": 2.0}, 1.0)
    assert loaded.ask() == fresh.ask()
    with pytest.raises(InputError, match="does not cover this search space"):
        Optimizer({"a": (-1.0, 1.0), "c": (0.0, 1.0)}, prior)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "up"}, "'maximize' or 'minimize'"),
        ({"noise_std": -1.0}, "noise_std must be"),
        ({"initial": 0}, "initial must be 1 or more"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"acquisition": "EI"}, "acquisition must be 'ei', 'ucb'"),
        ({"beta": "other"}, "beta must be 'brochu', 'srinivas', 'fixed' or a number"),
        ({"beta": -1.0}, "beta must be a finite number above 0"),
        ({"target": "a"}, "no parameter may be called a"),
    ],
)
def test_bad_options_say_what_to_do(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Optimizer(SPACE, **options)


def test_bad_asks_say_what_to_do() -> None:
    opt = Optimizer(SPACE)
    with pytest.raises(InputError, match="n must be 1 or more"):
        opt.ask(n=0)
    with pytest.raises(InputError, match="at least one setting"):
        opt.ask(candidates=[])


def test_optimize_counts_caught_exceptions_as_failures(capsys: pytest.CaptureFixture[str]) -> None:
    def sometimes(setting: dict) -> float:
        if setting["a"] > 0:
            raise RuntimeError("the pump stopped")
        return objective(setting)

    opt = optimize(sometimes, SPACE, 5, catch=(RuntimeError,), seed=0)
    assert len(opt.history) == 5
    assert "failed" in set(opt.history["state"])
    assert "5/5" in capsys.readouterr().err
    with pytest.raises(RuntimeError, match="the pump stopped") as caught:
        optimize(sometimes, SPACE, 5, progress=False, seed=0)
    assert isinstance(caught.value.optimizer, Optimizer)
    with pytest.raises(InputError, match="n_trials must be a whole number"):
        optimize(sometimes, SPACE, 0)


# -- a model of one's own --------------------------------------------------------------------------------


class Remembering:
    """The standard model, and what it was given."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.given: list[Observations] = []

    def __call__(self, observations: Observations):
        self.given.append(observations)
        return Standard(self.box)(observations)


def test_a_model_of_ones_own_gets_the_observations_and_decides() -> None:
    own = Remembering(Box.around(Space.parse(SPACE)))
    assert isinstance(own, Surrogate)
    opt, plain = (Optimizer(SPACE, direction="minimize", seed=3, initial=3, model=model) for model in (own, None))
    for _ in range(5):
        setting = opt.ask()
        assert setting == plain.ask()
        for each in (opt, plain):
            each.tell(setting, 100 + 7 * objective(setting))
    told, last = own.given[-1], [-value for value in opt.history["y"][: len(own.given[-1].y)]]
    np.testing.assert_allclose(told.shift + told.scale * told.y[:, 0], last)
    assert float(told.y.mean()) == pytest.approx(0.0, abs=1e-12)
    assert told.noise_std is None


def test_a_known_noise_reaches_the_model_in_its_units() -> None:
    own = Remembering(Box.around(Space.parse(SPACE)))
    opt = Optimizer(SPACE, noise_std=0.5, initial=3, model=own)
    for setting in opt.ask(n=3):
        opt.tell(setting, 10 * objective(setting))
    opt.ask()
    assert own.given[-1].noise_std == pytest.approx(0.5 / own.given[-1].scale)


def test_the_default_models_can_be_named() -> None:
    prior = pretrain(old_data(SPACE), SPACE)
    runs = []
    for arguments in ({"auxiliary": prior, "prior": "reweighted"}, {"model": TunedPrior(prior)}):
        opt = Optimizer(SPACE, seed=2, initial=3, **arguments)
        for _ in range(4):
            setting = opt.ask()
            opt.tell(setting, objective(setting))
        runs.append(opt.history)
    pd.testing.assert_frame_equal(*runs)


def test_a_model_that_does_not_fit_is_refused() -> None:
    small = Standard(Box.around(Space.parse({"a": (-0.5, 0.5), "b": (0.0, 5.0)})))
    with pytest.raises(InputError, match="does not hold this search space"):
        Optimizer(SPACE, model=small)
    fitting = Standard(Box.around(Space.parse(SPACE)))
    with pytest.raises(InputError, match="either auxiliary data or a model"):
        Optimizer(SPACE, old_data(SPACE), model=fitting)


class NotConditioned(Remembering):
    """A model that cannot be told more: believing has to ask for a new one."""

    def __call__(self, observations: Observations):
        model = super().__call__(observations)
        return Opaque(model)


class Opaque(Model):
    num_outputs = 1

    def __init__(self, inner: Model) -> None:
        super().__init__()
        self.inner = inner

    @property
    def batch_shape(self) -> torch.Size:
        return torch.Size()

    def posterior(self, X, *args, **kwargs):
        return self.inner.posterior(X, *args, **kwargs)


def test_any_model_can_believe_in_what_is_pending() -> None:
    own = NotConditioned(Box.around(Space.parse(SPACE)))
    opt = Optimizer(SPACE, seed=1, initial=4, model=own)
    for setting in opt.ask(n=4):
        opt.tell(setting, objective(setting))
    first, second = opt.ask(n=2)
    assert first != second
    told, believed = own.given[-2:]
    assert len(believed.y) == 5  # the four that were told, and the one that is pending
    expected = Standard(own.box)(told).posterior(believed.codes[-1:]).mean.item()
    assert believed.y[-1].item() == pytest.approx(expected, abs=1e-4)
