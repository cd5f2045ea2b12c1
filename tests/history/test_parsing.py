"""Telling: what was run, in whatever form, and all of it or nothing."""

import math
import pickle
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from optuna.distributions import CategoricalDistribution

from support.builders import MIXED, SPACE, mixed
from tunedprior import History, Optimizer, SearchConfig
from tunedprior.errors import InputError, OddResultWarning
from tunedprior.suggestion.suggester import Suggester


def test_a_lab_that_rounds_its_settings_is_understood() -> None:
    exact, rounding = Optimizer(SPACE, direction="maximize", seed=6), Optimizer(SPACE, direction="maximize", seed=6)
    for step in range(5):
        suggested = rounding.ask()
        if step < 3:  # the design goes on
            assert suggested == exact.ask()
            exact.tell(suggested, mixed(suggested))
        run = {name: round(value, 2) for name, value in suggested.items()}
        rounding.tell(run, mixed(run))
        assert rounding.pending == []
        assert rounding.history[list(SPACE)].to_dict("records")[-1] == run
    resumed = Optimizer(SPACE, direction="maximize", seed=6).resume(rounding.history)
    assert resumed.ask() == rounding.ask()


def test_what_is_handed_out_is_not_what_is_kept() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    setting = opt.ask()
    setting["note"] = "by night"
    opt.tell(setting, 1.0)
    assert opt.pending == []
    opt.best.setting["a"] = 99.0
    assert abs(opt.best.setting["a"]) <= 1


def test_some_of_several_may_have_failed() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    settings_ = opt.ask(n=3)
    with pytest.raises(InputError, match="one for each of the 3 settings; got 2"):
        opt.tell(settings_, [1.0, 2.0, 3.0], failed=[True, False])
    opt.tell(settings_, [1.0, 2.0, 3.0], failed=[False, True, False])
    assert opt.history["state"].tolist() == ["complete", "failed", "complete"]


@pytest.mark.parametrize("choices", [(None, 32, 64), (0.5, 1, 2), (True, False)], ids=str)
def test_categories_of_any_kind_survive_tables(choices: tuple, tmp_path) -> None:
    space = {"x": (0.0, 1.0), "n": CategoricalDistribution(choices)}
    opt = Optimizer(space, direction="maximize", seed=0)
    for setting in [opt.ask(), *opt.ask(n=4)]:
        assert setting["n"] in choices
        opt.tell(setting, setting["x"])
    opt.history.to_csv(tmp_path / "history.csv", index=False)
    again = Optimizer(space, direction="maximize", seed=0).resume(pd.read_csv(tmp_path / "history.csv"))
    assert again.ask() == opt.ask()


def test_bad_tells_change_nothing() -> None:
    opt = Optimizer(MIXED, direction="maximize", seed=0)
    good = opt.ask()
    opt.tell(good, 1.0)
    history = opt.history
    for setting, value, message in [
        (good | {"x": 7.0}, 1.0, "'x' must lie between 0 and 1"),
        (good | {"gas": "neon"}, 1.0, "'gas' must be one of"),
        ({"x": 0.5}, 1.0, "is missing"),
        (good | {"x": "fast"}, 1.0, "'x' must be numbers; got 'fast'"),
        (good, "high", "Values must be numbers"),
        (good, None, "needs a value"),
        (good, [1.0, 2.0], "one value for each of the 1 settings; got 2"),
        ([good, good | {"x": -1.0}], [1.0, 2.0], "'x' must lie between"),
    ]:
        with pytest.raises(InputError, match=message):
            opt.tell(setting, value)
        pd.testing.assert_frame_equal(opt.history, history)


def test_an_interrupted_tell_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    batch, count = opt.ask(n=3), []
    before, real = opt.trials, History.append_result

    def interrupted(self, *args, **more) -> History:
        count.append(1)
        if len(count) == 2:
            raise KeyboardInterrupt
        return real(self, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(History, "append_result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            opt.tell(batch, [1.0, 2.0, 3.0])
    assert opt.trials is before
    opt.tell(batch, [1.0, 2.0, 3.0])
    assert len(opt.trials) == 3


def test_a_batch_that_cannot_be_asked_for_leaves_nothing_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    opt, real = Optimizer(SPACE, direction="maximize", seed=0), Suggester.suggest

    def fails(self, history, pending, *args) -> dict:
        if len(pending) == 2:
            raise KeyboardInterrupt
        return real(self, history, pending, *args)

    monkeypatch.setattr(Suggester, "suggest", fails)
    with pytest.raises(KeyboardInterrupt):
        opt.ask(n=4)
    assert opt.pending == []


def test_notes_of_a_table_are_notes() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    opt.tell(pd.DataFrame(opt.ask(n=2)).assign(note=["by night", None]), [1.0, 2.0])
    assert [trial.note for trial in opt.trials.told] == ["by night", ""]
    assert opt.trials.told[0].extra == {}


@pytest.mark.parametrize("choices", [("NA", "None", "air"), ("1", "01"), ((1, 2), (3, 4)), (math.nan, "a")], ids=str)
def test_odd_categories_survive_files_and_pickles(choices: tuple, tmp_path) -> None:
    space = {"x": (0.0, 1.0), "n": list(choices)}
    opt = Optimizer(space, direction="maximize", seed=0)
    for setting in pickle.loads(pickle.dumps(opt.ask(n=6)))[:5]:
        opt.tell(setting, setting["x"])
    assert len(opt.pending) == 1
    opt.history.to_csv(tmp_path / "history.csv", index=False)
    assert Optimizer(space, direction="maximize", seed=0).resume(tmp_path / "history.csv").trials == opt.trials


def test_a_result_typed_into_the_file_is_a_result(tmp_path) -> None:
    path, opt = tmp_path / "history.csv", Optimizer(MIXED, direction="maximize", seed=0)
    opt.ask(n=2)
    opt.history.to_csv(path, index=False)
    header, first, second = path.read_text().splitlines()
    path.write_text("\n".join([header, first.replace(",,pending", ",0.75,pending"), second]))
    resumed = Optimizer(MIXED, direction="maximize", seed=0).resume(path)
    assert [(trial.id, trial.value) for trial in resumed.trials.told] == [(1, 0.75)]
    assert [trial.id for trial in resumed.trials.pending] == [2]
    typed = first.replace(",,pending", ",inf,pending")
    path.write_text("\n".join([header, typed, second.replace(second.split(",")[0], "99")]))
    untouched = Optimizer(MIXED, direction="maximize", seed=0)
    with pytest.raises(InputError, match=r"(?s)line 2: y is inf.*line 3: 'x' must lie between"):
        untouched.resume(path)
    assert untouched.trials == History()


def test_what_was_actually_run_may_lie_off_the_grid() -> None:
    opt = Optimizer({"speed": [98, 63, 48]}, direction="maximize", seed=0)
    opt.tell([{"speed": 63.2}, {"speed": 98.4}], [0.4, 0.3])
    assert opt.history["speed"].tolist() == [63.2, 98.4]
    assert opt.ask()["speed"] in (98, 63, 48)


def test_predictions_follow_the_data_in_the_users_units() -> None:
    opt = Optimizer(SPACE, direction="minimize", noise_std=0.0, seed=0)
    with pytest.raises(InputError, match="nothing to predict from"):
        opt.predict({"a": 0.0, "b": 0.0})
    for setting in opt.ask(n=8):
        opt.tell(setting, 100 + mixed(setting))
    told = opt.predict(opt.history)
    np.testing.assert_allclose(told["mean"], opt.history["y"], atol=0.05)
    assert (told["std"] < 0.1).all()
    assert opt.predict({"a": 1.0, "b": 5.0})["std"].item() > told["std"].max()


def test_a_suggestion_is_known_by_its_number_however_much_it_was_changed() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    first, second = opt.ask(n=2)
    assert (first.trial, second.trial) == (1, 2)
    first["a"] = second["a"]  # nearer to the other one now
    first["b"] = second["b"]
    opt.tell(first, 1.0)
    assert [setting.trial for setting in opt.pending] == [2]
    opt.tell({"a": 0.9, "b": 0.1}, 2.0, trial=2, note="by night")
    assert opt.pending == []
    assert opt.history["trial"].tolist() == [1, 2]
    assert opt.history["note"].tolist() == ["", "by night"]
    assert opt.history["asked"].all()
    assert opt.history["asked a"].tolist() == [opt.space.sobol(2, seed=0)[0]["a"], second["a"]]


def test_columns_of_ones_own_are_kept() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    results = pd.DataFrame(opt.ask(n=3)).assign(operator=["Ada", "Bo", "Cy"], trial=[3, 2, 1])
    opt.tell(results, [1.0, 2.0, 3.0])
    assert opt.history["operator"].tolist() == ["Ada", "Bo", "Cy"]
    assert opt.history["trial"].tolist() == [3, 2, 1]
    again = Optimizer(SPACE, direction="maximize", seed=0).resume(opt.history)
    pd.testing.assert_frame_equal(again.history, opt.history)
    assert again.ask() == opt.ask()


def test_parameters_and_response_may_have_any_name() -> None:
    space = {"y": (0.0, 1.0), "state": ["solid", "liquid"], "trial": (0.0, 2.0)}
    opt = Optimizer(space, direction="maximize", seed=0, target="trial", search=SearchConfig(initial=2))
    for _ in range(3):
        setting = opt.ask()
        opt.tell(setting, setting["y"])
    history = opt.history
    assert list(history.columns[:4]) == ["y", "state", "trial", "trial_"]
    assert history["trial_"].tolist() == history["y"].tolist()
    assert set(history["state_"]) == {"complete"}
    assert (
        Optimizer(space, direction="maximize", seed=0, target="trial", search=SearchConfig(initial=2))
        .resume(history)
        .ask()
        == opt.ask()
    )


@pytest.mark.parametrize(
    ("run", "meant"),
    [
        ({"a": 0.0, "b": 2.7}, True),  # 4 % of the range of b
        ({"a": 0.0, "b": 2.8}, False),  # 6 %
        ({"a": 0.08, "b": 2.3}, True),
        ({"a": 0.0, "b": 4.0}, False),  # exact in one parameter, far off in the other
        ({"a": 0.9, "b": 2.5}, False),
    ],
    ids=str,
)
def test_what_was_run_may_be_five_per_cent_off_in_every_parameter(run: dict, meant: bool) -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    opt.ask(candidates=[{"a": 0.0, "b": 2.5}])
    opt.tell(run, 1.0)
    assert (opt.pending == []) is meant


@pytest.mark.parametrize("value", [inf, -inf, np.float64(inf), torch.tensor(inf)])
def test_a_run_told_as_infinite_is_kept_as_a_failed_one(value: Any) -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=0)
    first, second = opt.ask(n=2)
    with pytest.warns(OddResultWarning, match="inf is no measurement: it is kept as a failed run"):
        opt.tell([first, second], [value, 0.5])
    assert [trial.failed for trial in opt.trials] == [True, False]
    assert [trial.setting for trial in opt.trials] == [dict(first), dict(second)]


def test_one_response_of_several_that_is_infinite_was_not_measured() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, objectives={"y": "maximize", "cost": "minimize"}, seed=0)
    with pytest.warns(OddResultWarning, match="no measurement"):
        opt.tell({"x": 0.5}, {"y": 1.0, "cost": inf})
    (trial,) = opt.trials
    assert (trial.value, dict(trial.more)) == (1.0, {})
