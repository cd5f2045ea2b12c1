"""Old data in, weight prior out: what is learnt, what is accepted, and what is reported."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from optuna.distributions import FloatDistribution

from support.builders import PLANT, plant_data
from tunedprior import pretrain
from tunedprior.beliefs import FixedReweightedKernel
from tunedprior.errors import InputError, NothingToLearnError, OldDataWarning
from tunedprior.kernels import ReweightedKernel
from tunedprior.machines import LeastSquares, SupportVectorRegressor, compute_loo_error


def test_a_prior_holds_what_was_learnt() -> None:
    old = plant_data()
    prior = pretrain(old, PLANT)
    assert prior.machine == "LeastSquares"
    assert prior.anchors.shape == (20, 2)
    assert prior.anchors.abs().max() <= 1
    assert not prior.vanishes
    scaled = (old["y"].to_numpy() - prior.response_shift) / prior.response_scale
    points = prior.to_kernel_inputs(prior.box.encode(old[["a", "b"]]))
    error = compute_loo_error(LeastSquares(prior.lam), prior.base, points, scaled)
    assert prior.error == pytest.approx(error, rel=1e-6)
    assert scaled.std() == pytest.approx(1.0)
    kernel = prior.make_kernel()
    assert isinstance(kernel, FixedReweightedKernel)
    exact = ReweightedKernel(prior.base, prior.anchors, prior.alpha)(points).to_dense()
    torch.testing.assert_close(kernel(points).to_dense(), exact, rtol=0, atol=1e-4 * exact.diagonal().max().item())


def test_a_file_and_a_table_are_the_same(tmp_path: Path) -> None:
    old = plant_data()
    old.to_csv(tmp_path / "old.csv", index=False)
    torch.testing.assert_close(pretrain(tmp_path / "old.csv", PLANT).alpha, pretrain(old, PLANT).alpha)
    torch.testing.assert_close(pretrain(str(tmp_path / "old.csv"), PLANT).alpha, pretrain(old, PLANT).alpha)


@pytest.mark.slow
def test_labels_train_a_classifier_and_it_can_be_overridden() -> None:
    old = plant_data(12)
    old["y"] = np.where(old["y"] > old["y"].median(), 1, -1)
    assert pretrain(old, PLANT).machine == "SupportVectorClassifier"
    assert pretrain(old, PLANT, machine=LeastSquares(1.0)).machine == "LeastSquares"
    assert pretrain(plant_data(10), PLANT, machine=SupportVectorRegressor(1.0)).machine == "SupportVectorRegressor"


def test_labels_that_contradict_themselves_say_nothing() -> None:
    old = pd.concat([plant_data().assign(y="pass"), plant_data().assign(y="fail")])
    with pytest.raises(NothingToLearnError, match="contradicts itself"):
        pretrain(old, PLANT)


def test_an_input_is_not_the_response() -> None:
    with pytest.raises(InputError, match="'b' is a parameter, so it cannot be the response too"):
        pretrain(plant_data(), PLANT, target="b")


def test_repeated_settings_are_merged() -> None:
    old = pd.concat([plant_data(), plant_data().assign(y=1.0)])
    prior = pretrain(old, PLANT)
    assert len(prior.anchors) == 20
    assert prior.response_shift == pytest.approx((plant_data()["y"].mean() + 1) / 2)


def test_rows_outside_the_new_bounds_are_kept() -> None:
    prior = pretrain(plant_data().assign(a=lambda t: t["a"] * 3 - 5), PLANT)
    assert len(prior.anchors) == 20
    assert prior.box.axes[0].low < 0
    assert prior.box.axes[0].high > 10


def test_other_columns_and_constant_ones_are_reported_by_name() -> None:
    with pytest.warns(OldDataWarning, match="ignored: date, operator"):
        pretrain(plant_data().assign(date="x", operator=1), PLANT)
    with pytest.warns(OldDataWarning, match="says nothing about b"):
        pretrain(plant_data().assign(b=0.5), PLANT)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns=["a", "b"]), "a, b is missing"),
        (lambda t: t.rename(columns={"y": "yield"}), "y is missing .* name the response with target="),
        (
            lambda t: t.assign(b=["x"] * 2 + list(t["b"])[2:]),
            r"'b' must be numbers; 2 of 20 are not \(row 0, row 1: 'x'",
        ),
        (lambda t: t.assign(y=["high", *t["y"][1:]]), r"'y' must be numbers; 1 of 20 are not"),
        (lambda t: t.assign(y=np.nan), "blank in every row"),
        (lambda t: t.assign(y=np.inf), "'y' must be numbers"),
    ],
)
def test_unusable_old_data_say_what_to_do(change, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pretrain(change(plant_data()), PLANT)


def test_unreadable_files_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        pretrain(tmp_path / "nothing.csv", PLANT)
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match=r"empty\.csv is empty"):
        pretrain(tmp_path / "empty.csv", PLANT)


def test_logarithmic_parameters_need_positive_old_values() -> None:
    space = PLANT | {"b": FloatDistribution(0.01, 1.0, log=True)}
    with pytest.warns(OldDataWarning, match="'b' is left out, as its scale is logarithmic"):
        prior = pretrain(plant_data().assign(b=lambda t: t["b"] - 0.5), space)
    assert len(prior.anchors) == (plant_data()["b"] > 0.5).sum()


@pytest.mark.parametrize(
    "old",
    [plant_data().iloc[:0], plant_data().iloc[:1], plant_data().assign(y=3.0)],
    ids=["empty", "one row", "constant"],
)
@pytest.mark.filterwarnings("ignore:Old data says nothing")
def test_nothing_to_learn_is_its_own_error(old: pd.DataFrame) -> None:
    with pytest.raises(NothingToLearnError):
        pretrain(old, PLANT)


def test_old_data_is_not_changed() -> None:
    old = plant_data()
    old["y"] = old["y"].astype(object)
    old.loc[2, "y"] = "failed"
    before = old.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pretrain(old, PLANT)
    pd.testing.assert_frame_equal(old, before)


def test_whoever_moves_a_priors_kernel_moves_their_own() -> None:
    prior = pretrain(plant_data(150), PLANT, rows_with_alpha=50)
    assert prior.make_kernel() is not prior.make_kernel()


def test_algorithm_1_needs_every_column() -> None:
    table = plant_data().drop(columns="b")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OldDataWarning)
        with pytest.raises(InputError, match="b is missing or nearly empty"):
            pretrain(table, PLANT)
