"""Results that look like slips are taken, and said to; settings and values of different rows are refused."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from support.builders import SPACE, smooth
from support.optimizers import make_optimizer
from tunedprior import Optimizer
from tunedprior.audit.auditing import find_faults
from tunedprior.campaign import simulate
from tunedprior.errors import InputError, OddResultWarning, OldDataWarning
from tunedprior.source_data.matching import read_old_data
from tunedprior.space.search_space import Space

SETTINGS = Space.parse(SPACE).sobol(9, seed=1)


def told_some() -> Optimizer:
    opt = Optimizer(SPACE, direction="maximize", seed=1)
    for setting in SETTINGS[:7]:
        opt.tell(setting, smooth(setting))
    return opt


@pytest.mark.parametrize("value", [-9999.0, 4000.0, -1e9])
def test_a_result_far_from_all_others_is_said_to_be_and_can_be_amended(value: float) -> None:
    opt = told_some()
    with pytest.warns(OddResultWarning, match=rf"{re.escape(f'{value:g}')} \(trial 8\).*amend the trial"):
        opt.tell(SETTINGS[7], value)
    assert len(opt.trials) == 8
    opt.amend(8, smooth(SETTINGS[7]))
    opt.tell(SETTINGS[8], smooth(SETTINGS[8]))  # says nothing more


def test_a_correction_that_looks_like_a_slip_is_said_to() -> None:
    opt = told_some()
    with pytest.warns(OddResultWarning, match=r"4000 \(trial 2\).*amend the trial"):
        opt.amend(2, 4000.0)
    opt.amend(2, note="to be looked at")  # says nothing more
    opt.amend(2, smooth(SETTINGS[1]))


def test_what_was_odd_before_is_not_said_again() -> None:
    opt = told_some()
    with pytest.warns(OddResultWarning):
        opt.tell(SETTINGS[7], 4000.0)
    opt.tell(SETTINGS[8], smooth(SETTINGS[8]))


def test_a_sentinel_typed_into_a_history_is_said_to_be() -> None:
    table = told_some().history
    table.loc[3, "y"] = -9999.0
    with pytest.warns(OddResultWarning, match=r"-9999 \(trial 4\)"):
        Optimizer(SPACE, direction="maximize", seed=1).resume(table)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_results_of_any_size_are_no_slips(scale: float) -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=1)
    for setting in SETTINGS:
        opt.tell(setting, scale * smooth(setting))


def with_old(low: float, high: float, told: tuple[float, ...], **options: Any) -> Optimizer:
    """A campaign with old responses from one end to the other, and these results."""
    old = pd.DataFrame(Space.parse(SPACE).sobol(12, seed=2)).assign(y=np.linspace(low, high, 12))
    opt = make_optimizer(SPACE, old, seed=1, **options)
    for setting, value in zip(SETTINGS, told, strict=False):
        opt.tell(setting, value)
    return opt


@pytest.mark.parametrize(("low", "value"), [(0.2, 863.0), (0.2, 230.0), (0.2, -150.0), (40.0, 863.0)])
def test_a_result_far_from_old_data_and_all_others_is_said_to_be_once(low: float, value: float) -> None:
    opt = with_old(low, 100.0, (60.0, 75.0, 82.0))
    said = rf"far from all others and from old data \({low:g} to 100\): {value:g} \(trial 4\).*decimal point.*amend"
    with pytest.warns(OddResultWarning, match=said):
        opt.tell(SETTINGS[3], value)
    opt.tell(SETTINGS[4], 70.0)  # says nothing more


def test_rows_of_one_sheet_do_not_vouch_for_each_other() -> None:
    opt = with_old(0.04, 0.85, (0.25, 0.1, 0.046, 0.2))
    with pytest.warns(OddResultWarning, match=r"11\.73 \(trial 5\), 30\.93 \(trial 6\), 4\.6 \(trial 7\)"):
        opt.tell(SETTINGS[4:7], [11.73, 30.93, 4.6])


@pytest.mark.parametrize("value", [-9999.0, 9999.0, -999.0])
def test_old_data_shows_a_sentinel_among_the_first_results(value: float) -> None:
    opt = with_old(0.04, 0.85, ())
    with pytest.warns(OddResultWarning, match=rf"{value:g} \(trial 1\)"):
        opt.tell(SETTINGS[0], value)


def test_the_only_result_below_0_is_said_to_be_that() -> None:
    opt = with_old(0.1, 0.9, (0.5, 0.6, 0.7))
    with pytest.warns(OddResultWarning, match=r"^A result is below 0, where .*: -0\.02 \(trial 4\)\. If it is a slip"):
        opt.tell(SETTINGS[3], -0.02)


@pytest.mark.parametrize("value", [0.0, 0.02, 0.863, -0.5, 101.0, 150.0, 190.0])
def test_a_new_best_or_worst_near_old_data_is_no_slip(value: float) -> None:
    with_old(0.2, 100.0, (60.0, 75.0, 82.0, value))


def test_what_is_minimised_may_come_down_to_0_and_below() -> None:
    with_old(0.1, 1.0, (0.6, 0.75, 0.82, 0.006, -0.5), direction="minimize")
    with_old(0.1, 1.0, (0.6, 0.75, 0.82, 0.006))  # near 0 is near to the others, whatever the ratio


def test_old_data_tells_nothing_of_another_quantity() -> None:
    with_old(0.2, 100.0, (600.0, 750.0, 820.0, 2300.0, 1.0))
    with_old(5000.0, 9000.0, (6.0, 7.5, 8.2, 23.0))
    with_old(0.2, 100.0, (60.0, 75.0, 82.0, 230.0), relation="opposite")


def test_a_response_over_decades_is_compared_by_its_logarithm() -> None:
    opt = with_old(0.2, 100.0, (60.0, 0.3, 82.0, 4000.0), log=True)
    with pytest.warns(OddResultWarning, match="old data"):
        opt.tell(SETTINGS[6], 1e9)


def test_what_old_data_spans_is_kept_with_a_campaign(tmp_path: Path) -> None:
    with_old(0.2, 100.0, (60.0, 75.0, 82.0), storage=f"sqlite:///{tmp_path / 'a.db'}", name="a")
    again = Optimizer.load(f"sqlite:///{tmp_path / 'a.db'}", name="a")
    with pytest.warns(OddResultWarning, match="old data"):
        again.tell(SETTINGS[3], 863.0)


def test_values_of_other_rows_are_refused() -> None:
    table = pd.DataFrame(SETTINGS).assign(y=np.arange(9.0))
    opt, names = Optimizer(SPACE, direction="maximize", seed=0), list(SPACE)
    with pytest.raises(InputError, match="different indices"):
        opt.tell(table[names].head(4), table["y"].sort_values(ascending=False).head(4))
    opt.tell(table[names].head(4), table["y"].head(4))
    opt.tell(table[names].tail(2), table["y"].tail(2).to_numpy())
    assert opt.history["y"].tolist() == [0.0, 1.0, 2.0, 3.0, 7.0, 8.0]


def test_what_else_a_setting_says_is_kept() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    opt.tell({**SETTINGS[0], "bottle": "B7"}, 1.0)
    assert opt.history["bottle"].tolist() == ["B7"]


def test_the_word_failed_in_the_place_of_a_value_is_a_failed_run() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=1)
    opt.tell(SETTINGS[0], 1.0)
    opt.ask()
    table = opt.history.astype({"y": object})
    table.loc[1, "y"] = "failed"
    again = Optimizer(SPACE, direction="maximize", seed=1).resume(table)
    assert [trial.state for trial in again.trials.told] == ["complete", "failed"]
    assert not again.pending


def diverging(setting: dict[str, float]) -> float:
    return 1e30 if setting["x"] > 0.5 else -setting["x"]


def test_that_results_are_far_worse_is_said_once_with_their_trials() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, direction="minimize", seed=1)
    opt.tell([{"x": x} for x in (0.1, 0.3, 0.2)], [-0.1, -0.3, -0.2])
    with pytest.warns(OddResultWarning, match=r"y is so much worse .*: 1e\+30 \(trial 4\)\. They take .*merely worse"):
        opt.tell({"x": 0.9}, 1e30)
    opt.tell([{"x": 0.7}, {"x": 0.4}], [1e30, -0.4])  # says nothing more
    opt.tell({"x": 0.6}, 2e25)
    assert opt.summary["far worse"] == "3 (trials 4, 5, 7), which models take as merely worse"
    assert opt.history["y"].max() == 1e30
    assert opt.best.value == -0.4


def test_a_loss_that_diverges_on_half_of_the_box_is_minimised_all_the_same() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, direction="minimize", seed=2)
    with pytest.warns(OddResultWarning):
        simulate(opt, diverging, 14)
    assert opt.best.value < -0.45  # without warping -0.25: where the good results lie is not seen
    assert opt.predict([{"x": 0.2}])["mean"].iloc[0] == pytest.approx(-0.2, abs=0.1)


@pytest.mark.parametrize(("scale", "said"), [(1e-320, "too small to compute with"), (1.7e308, "too large to compute")])
def test_numbers_that_cannot_be_computed_with_are_said_to_be_once(scale: float, said: str) -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=1)
    opt.tell({"x": 0.1}, 0.0)
    with pytest.warns(OddResultWarning, match=said):
        opt.tell([{"x": 0.3}, {"x": 0.6}], [scale * 0.5, -scale])
    opt.tell({"x": 0.8}, 0.7 * scale)
    assert 0 <= opt.ask()["x"] <= 1
    assert np.isfinite(opt.predict([{"x": 0.5}]).to_numpy()).all()


@pytest.mark.parametrize("value", [True, np.bool_(False), [True], pd.Series([True]), {"y": True}])
def test_true_and_false_among_numbers(value: Any) -> None:
    opt = told_some()
    with pytest.warns(OddResultWarning, match="y is a number, and True or False was told: it is kept as 1 or 0"):
        opt.tell([SETTINGS[7]] if isinstance(value, list | pd.Series) else SETTINGS[7], value)
    with pytest.warns(OddResultWarning, match="y is a number, and True or False was told"):
        opt.amend(2, True)


def test_a_campaign_told_in_flags_is_no_slip(recwarn: pytest.WarningsRecorder) -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=1)
    opt.tell(SETTINGS[:3], [True, False, True])
    opt.tell(SETTINGS[3], float("nan"))
    opt.amend(2, True)
    several = Optimizer(SPACE, objectives={"y": "maximize"}, requirements={"pure": "pass"}, seed=1)
    several.tell(SETTINGS[0], {"y": 0.5, "pure": True})
    several.tell(SETTINGS[1], float("nan"))
    assert not [one for one in recwarn if "True or False" in str(one.message)]


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_fraction_among_percentages_is_noted(direction: str) -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, direction=direction, seed=0)
    opt.tell([{"x": k / 10} for k in range(6)], [83.0, 41.0, 55.0, 71.0, 90.0, 66.0])
    opt.tell({"x": 0.9}, 0.62)  # a single low yield is common
    if direction == "minimize":  # where it may be the best of all
        opt.tell({"x": 0.8}, 0.71)
        return
    with pytest.warns(OddResultWarning, match=r"a fraction where all others are percentages: 0\.71 \(trial 8\)"):
        opt.tell({"x": 0.8}, 0.71)


def test_a_fraction_among_old_percentages_is_noted() -> None:
    values = [83.0, 41.0, 0.62, 55.0, 71.0, 90.0]
    old = pd.DataFrame({"x": np.linspace(0, 1, 6), "y": values})
    with pytest.warns(OldDataWarning, match="0.62 in row 2, .* a fraction among percentages"):
        read_old_data(old, Space.parse({"x": (0.0, 1.0)}), "y", "maximize")
    assert not read_old_data(old, Space.parse({"x": (0.0, 1.0)}), "y", "minimize").doubtful.any()
    kinds = [
        [fault.kind for fault in find_faults(old, Space.parse({"x": (0.0, 1.0)}), {"y": goal})]
        for goal in ("maximize", "minimize")
    ]
    assert kinds == [["far off"], []]
