"""Old data in, weight prior out: what is accepted, what is reported, and what survives a file."""

import json
import warnings
import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from optuna.distributions import FloatDistribution

from cases import table
from tunedprior import WeightPrior, pretrain
from tunedprior.auxiliary import read_auxiliary
from tunedprior.errors import AuxiliaryDataWarning, FileFormatError, InputError, NothingToLearnError
from tunedprior.kernels import (
    DotProduct,
    Exponential,
    Linear,
    LogRatio,
    Polynomial,
    Reweighted,
    ReweightedBelief,
    SquaredExponential,
)
from tunedprior.machines import LeastSquares, SupportVectorRegressor, leave_one_out_error
from tunedprior.space import Space

SPACE = {"a": (0.0, 10.0), "b": (0.0, 1.0)}


def old_data(rows: int = 20) -> pd.DataFrame:
    points = table(rows, 2, low=0.0, high=1.0).numpy()
    return pd.DataFrame({"a": 10 * points[:, 0], "b": points[:, 1], "y": 5 + np.sin(4 * points[:, 0]) * 3})


def test_a_prior_holds_what_was_learnt() -> None:
    old = old_data()
    prior = pretrain(old, SPACE)
    assert prior.machine == "LeastSquares"
    assert prior.anchors.shape == (20, 2)
    assert prior.anchors.abs().max() <= 1
    assert not prior.vanishes
    scaled = (old["y"].to_numpy() - prior.response_shift) / prior.response_scale
    points = prior.inputs(prior.box.codes(old[["a", "b"]]))
    error = leave_one_out_error(LeastSquares(prior.lam), prior.base, points, scaled)
    assert prior.error == pytest.approx(error, rel=1e-6)
    assert scaled.std() == pytest.approx(1.0)
    kernel = prior.kernel()
    assert isinstance(kernel, ReweightedBelief)
    exact = Reweighted(prior.base, prior.anchors, prior.alpha)(points).to_dense()
    torch.testing.assert_close(kernel(points).to_dense(), exact, rtol=0, atol=1e-4 * exact.diagonal().max().item())


def test_a_file_and_a_table_are_the_same(tmp_path: Path) -> None:
    old = old_data()
    old.to_csv(tmp_path / "old.csv", index=False)
    torch.testing.assert_close(pretrain(tmp_path / "old.csv", SPACE).alpha, pretrain(old, SPACE).alpha)
    torch.testing.assert_close(pretrain(str(tmp_path / "old.csv"), SPACE).alpha, pretrain(old, SPACE).alpha)


@pytest.mark.parametrize(
    ("good", "bad"),
    [(1, -1), (1, 0), ("pass", "fail"), ("OK", "nok"), (True, False), ("Yes", np.nan)],
    ids=["±1", "0/1", "pass/fail", "case", "booleans", "empty is a failure"],
)
def test_labels_in_any_spelling_are_labels(good, bad) -> None:
    old = old_data()
    old["y"] = pd.Series([good if value > 5 else bad for value in old["y"]], dtype=object)
    data = read_auxiliary(old, Space.parse(SPACE))
    assert data.labels
    assert data.response.tolist() == [1.0 if value > 5 else -1.0 for value in old_data()["y"]]


def test_labels_train_a_classifier_and_it_can_be_overridden() -> None:
    old = old_data()
    old["y"] = np.where(old["y"] > 5, 1, -1)
    assert pretrain(old, SPACE).machine == "SupportVectorClassifier"
    assert pretrain(old, SPACE, machine=LeastSquares(1.0)).machine == "LeastSquares"
    assert pretrain(old_data(10), SPACE, machine=SupportVectorRegressor(1.0)).machine == "SupportVectorRegressor"


@pytest.mark.parametrize(("direction", "worst"), [("maximize", min), ("minimize", max)])
def test_failed_old_runs_count_as_the_worst(direction, worst) -> None:
    old = old_data()
    old.loc[[3, 7], "y"] = np.nan
    data = read_auxiliary(old, Space.parse(SPACE), direction=direction)
    assert not data.labels
    assert data.response[3] == data.response[7] == worst(old["y"].dropna())
    assert not pretrain(old, SPACE, direction=direction).vanishes


def test_the_word_failed_among_numbers_is_a_failed_run() -> None:
    old = old_data()
    old["y"] = old["y"].astype(object)
    old.loc[4, "y"] = "failed"
    data = read_auxiliary(old, Space.parse(SPACE))
    assert data.response[4] == min(value for value in old["y"] if value != "failed")


def test_one_good_value_and_failures_are_labels() -> None:
    old = old_data().assign(y=7.0)
    old.loc[:5, "y"] = np.nan
    data = read_auxiliary(old, Space.parse(SPACE))
    assert data.labels
    assert data.response.tolist() == [-1.0] * 6 + [1.0] * 14


def test_large_tables_are_learnt_from_without_alpha_and_without_a_word() -> None:
    old = old_data(60)
    prior = pretrain(old, SPACE, rows_with_alpha=20)
    assert prior.fit is not None
    assert (prior.machine, len(prior.alpha), len(prior.anchors)) == ("LeastSquares", 0, 20)
    assert not prior.vanishes
    points = prior.inputs(prior.box.codes(old[["a", "b"]]))
    predicted = prior.response_shift + prior.response_scale * prior.fit(points)
    assert (predicted - torch.tensor(old["y"])).abs().max() < 0.5
    assert torch.equal(pretrain(old, SPACE, rows_with_alpha=20, seed=0).fit.weights, prior.fit.weights)


@pytest.mark.parametrize(
    "options",
    [{"machine": SupportVectorRegressor(1.0)}, {"kernel": SquaredExponential(active_dims=(0, 1))}],
    ids=["a machine without a primal form", "a kernel that picks columns"],
)
def test_large_tables_are_thinned_where_they_must_be_and_that_is_said(options: dict) -> None:
    with pytest.warns(AuxiliaryDataWarning, match="has 30 rows; learning from .* 6"):
        prior = pretrain(old_data(30), SPACE, rows_with_alpha=6, **options)
    assert len(prior.anchors) == len(prior.alpha) == 6
    assert prior.fit is None


def test_a_few_rows_with_alpha_are_preferred_where_features_predict_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("tunedprior.pretrain"), "_MOST_FEATURES", 2)  # the function has the same name
    with pytest.warns(AuxiliaryDataWarning, match="has 40 rows; learning from .* 20"):
        prior = pretrain(old_data(40), SPACE, rows_with_alpha=20)
    assert prior.fit is None
    assert len(prior.alpha) == 20


def test_labels_that_contradict_themselves_say_nothing() -> None:
    old = pd.concat([old_data().assign(y="pass"), old_data().assign(y="fail")])
    with pytest.raises(NothingToLearnError, match="contradicts itself"):
        pretrain(old, SPACE)


def test_an_input_is_not_the_response() -> None:
    with pytest.raises(InputError, match="'b' is a parameter, so it cannot be the response too"):
        pretrain(old_data(), SPACE, target="b")


def test_repeated_settings_are_merged() -> None:
    old = pd.concat([old_data(), old_data().assign(y=1.0)])
    prior = pretrain(old, SPACE)
    assert len(prior.anchors) == 20
    assert prior.response_shift == pytest.approx((old_data()["y"].mean() + 1) / 2)


def test_rows_outside_the_new_bounds_are_kept() -> None:
    prior = pretrain(old_data().assign(a=lambda t: t["a"] * 3 - 5), SPACE)
    assert len(prior.anchors) == 20
    assert prior.box.axes[0].low < 0
    assert prior.box.axes[0].high > 10


def test_other_columns_and_constant_ones_are_reported_by_name() -> None:
    with pytest.warns(AuxiliaryDataWarning, match="ignored: date, operator"):
        pretrain(old_data().assign(date="x", operator=1), SPACE)
    with pytest.warns(AuxiliaryDataWarning, match="says nothing about b"):
        pretrain(old_data().assign(b=0.5), SPACE)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="b"), "b is missing"),
        (lambda t: t.rename(columns={"y": "yield"}), "y is missing .* name the response with target="),
        (lambda t: t.assign(b=["x"] * 2 + list(t["b"])[2:]), r"'b' must be numbers; 2 of 20 are not \(rows 0, 1: 'x'"),
        (lambda t: t.assign(b=[np.nan, *t["b"][1:]]), r"'b' is empty in 1 of 20 rows \(rows 0\)"),
        (lambda t: t.assign(y=["?", *t["y"][1:]]), r"'y' must be numbers; 1 of 20 are not"),
        (lambda t: t.assign(y=np.nan), "empty in every row"),
        (lambda t: t.assign(y=np.inf), "'y' must be numbers"),
    ],
)
def test_unusable_old_data_say_what_to_do(change, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pretrain(change(old_data()), SPACE)


def test_unreadable_files_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        pretrain(tmp_path / "nothing.csv", SPACE)
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match="is not a CSV file that can be read"):
        pretrain(tmp_path / "empty.csv", SPACE)


def test_logarithmic_parameters_need_positive_old_values() -> None:
    space = SPACE | {"b": FloatDistribution(0.01, 1.0, log=True)}
    with pytest.raises(InputError, match="'b' has a logarithmic scale, so old values must be above 0"):
        pretrain(old_data().assign(b=lambda t: t["b"] - 0.5), space)


@pytest.mark.parametrize(
    "old", [old_data().iloc[:0], old_data().iloc[:1], old_data().assign(y=3.0)], ids=["empty", "one row", "constant"]
)
@pytest.mark.filterwarnings("ignore:Old data says nothing")
def test_nothing_to_learn_is_its_own_error(old: pd.DataFrame) -> None:
    with pytest.raises(NothingToLearnError):
        pretrain(old, SPACE)


SAVED = {
    "squared exponential": {},
    "squared exponential, ARD": {"ard": True},
    "linear": {"kernel": Linear()},
    "polynomial": {"kernel": Polynomial(3)},
    "exponential": {"kernel": Exponential()},
    "log ratio": {"kernel": LogRatio()},
    "dot product": {"kernel": DotProduct([1.0, 0.0, 0.5])},
}


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_prior_is_the_same_prior(name: str, tmp_path: Path) -> None:
    space = SPACE | {"gas": ["air", "argon", "helium"]}
    old = old_data().assign(gas=["air", "argon"] * 10)
    prior = pretrain(old, space, **SAVED[name])
    prior.save(tmp_path / "prior.tp")
    again = WeightPrior.load(tmp_path / "prior.tp")
    x = prior.inputs(prior.box.codes(old.drop(columns="y")))
    torch.testing.assert_close(again.kernel()(x).to_dense(), prior.kernel()(x).to_dense(), rtol=1e-10, atol=1e-12)
    assert again.box == prior.box
    for field in ("lam", "machine", "error", "reach", "response_shift", "response_scale", "vanishes"):
        assert getattr(again, field) == getattr(prior, field)
    assert [path.name for path in tmp_path.iterdir()] == ["prior.tp"]


def test_files_that_are_not_priors_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "prior.tp"
    prior = pretrain(old_data(), SPACE)
    prior.save(path)
    whole = path.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match="is not a weight prior, or is damaged"):
            WeightPrior.load(path)
    path.write_text("a,b,y\n1,2,3\n")
    with pytest.raises(FileFormatError, match="is not a weight prior"):
        WeightPrior.load(path)
    with path.open("wb") as file:
        np.savez(file, anything=np.ones(3))
    with pytest.raises(FileFormatError, match="is not a weight prior"):
        WeightPrior.load(path)
    with path.open("wb") as file:
        np.save(file, np.ones(3))
    with pytest.raises(FileFormatError, match="is not a weight prior"):
        WeightPrior.load(path)
    with pytest.raises(InputError, match="There is no file"):
        WeightPrior.load(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "format version 99; this tunedprior reads up to 2"),
        ({"format": "something else"}, "does not hold a weight prior"),
        ({"kernel": "Matern"}, "names a kernel 'Matern'"),
    ],
)
def test_newer_and_foreign_headers_are_refused(change: dict, message: str, tmp_path: Path) -> None:
    path = tmp_path / "prior.tp"
    pretrain(old_data(), SPACE).save(path)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(bytes(arrays["header"])) | change
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(FileFormatError, match=message):
        WeightPrior.load(path)


def test_files_of_the_first_version_can_still_be_read(tmp_path: Path) -> None:
    anchors, alpha = table(3, 2, low=-1, high=1), torch.tensor([0.5, -1.0, 0.25], dtype=torch.float64)
    header = {
        "format": "tunedprior weight prior",
        "version": 1,
        "kernel": "SquaredExponential",
        "arguments": {"lengthscale": [0.75]},
        "axes": [{"name": name, "low": 0.0, "high": 1.0, "log": False, "choices": None} for name in ("a", "b")],
        "lam": 0.1,
        "machine": "LeastSquares",
        "error": 0.2,
        "reach": 1.0,
        "response_shift": 5.0,
        "response_scale": 2.0,
    }
    with (tmp_path / "prior.tp").open("wb") as file:
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        np.savez(file, header=text, anchors=anchors.numpy(), alpha=alpha.numpy())
    prior = WeightPrior.load(tmp_path / "prior.tp")
    assert prior.fit is None
    assert (prior.lam, prior.error, prior.response_shift, prior.response_scale) == (0.1, 0.2, 5.0, 2.0)
    x = table(5, 2, seed=1)
    exact = Reweighted(SquaredExponential(torch.tensor([0.75], dtype=torch.float64)), anchors, alpha)(x).to_dense()
    torch.testing.assert_close(prior.kernel()(x).to_dense(), exact.detach(), rtol=0, atol=1e-5)


def test_the_file_holds_no_pickle(tmp_path: Path) -> None:
    pretrain(old_data(), SPACE).save(tmp_path / "prior.tp")
    with zipfile.ZipFile(tmp_path / "prior.tp") as archive:
        assert sorted(archive.namelist()) == ["alpha.npy", "anchors.npy", "header.npy"]
        assert all(b"|O" not in archive.read(name)[:128] for name in archive.namelist())


def test_old_data_is_not_changed() -> None:
    old = old_data()
    old.loc[2, "y"] = np.nan
    before = old.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pretrain(old, SPACE)
    pd.testing.assert_frame_equal(old, before)
