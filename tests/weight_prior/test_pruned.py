"""Pre-training with pruning: a prior with an α for some rows, learnt from all, wherever priors are used."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from support.builders import PLANT, observed, plant_data
from support.cases import table
from tunedprior import Optimizer, TransferConfig, WeightPrior, pretrain
from tunedprior.beliefs import get_belief
from tunedprior.errors import OldDataWarning
from tunedprior.kernels import SquaredExponential, WithBias
from tunedprior.machines import AlphaFit, FeatureFit, LeastSquares, PrunedLeastSquares
from tunedprior.weight_prior.tuned_prior import TunedPrior

PRUNED = PrunedLeastSquares(1.0, most=12)


@pytest.fixture(scope="module")
def old() -> pd.DataFrame:
    return plant_data(80, noise=0.3)


@pytest.fixture(scope="module")
def prior(old: pd.DataFrame) -> WeightPrior:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OldDataWarning)
        return pretrain(old, PLANT, machine=PRUNED, rows_with_alpha=40)


def test_many_rows_are_all_learnt_from_and_a_few_have_an_alpha(old: pd.DataFrame, prior: WeightPrior) -> None:
    assert isinstance(prior.fit, AlphaFit)
    assert prior.machine == "PrunedLeastSquares"
    assert len(prior.alpha) == len(prior.anchors) == 12
    assert torch.equal(prior.anchors, prior.fit.anchors)
    points = prior.to_kernel_inputs(prior.box.encode(old[["a", "b"]]))
    y = (torch.tensor(old["y"].to_numpy()) - prior.response_shift) / prior.response_scale
    direct, error = PrunedLeastSquares(prior.lam, most=12).fit_with_error(prior.base, points, y)
    torch.testing.assert_close(prior.alpha, direct.alpha)
    assert prior.error == pytest.approx(error)
    by_features = pretrain(old, PLANT, rows_with_alpha=40)
    assert isinstance(by_features.fit, FeatureFit)
    assert by_features.lam == prior.lam
    torch.testing.assert_close(by_features.base.lengthscale, prior.base.lengthscale)


def test_more_rows_than_are_wanted_are_pruned_though_each_might_have_an_alpha(old: pd.DataFrame) -> None:
    found = pretrain(old, PLANT, machine=PrunedLeastSquares(1.0, most=30))
    exact = pretrain(old, PLANT)
    assert (len(found.alpha), len(exact.alpha)) == (30, 80)
    assert found.lam == exact.lam
    x = table(200, 2, seed=2, low=-1, high=1)
    torch.testing.assert_close(found.fit(x), exact.fit(x), rtol=0.02, atol=0.02)
    all_kept = pretrain(old, PLANT, machine=PrunedLeastSquares(1.0, most=80))
    assert torch.equal(all_kept.alpha, exact.alpha)
    assert all_kept.places == exact.places
    assert (all_kept.error, all_kept.lam) == pytest.approx((exact.error, exact.lam))


def test_few_rows_that_predict_worse_are_warned_of(old: pd.DataFrame) -> None:
    with pytest.warns(OldDataWarning, match=r"Pruned to 2 rows, .* predicts worse .* Raise most, or leave machine out"):
        pretrain(old, PLANT, machine=PrunedLeastSquares(1.0, most=2), rows_with_alpha=40)


@pytest.mark.filterwarnings("ignore:Pruned to:tunedprior.errors.OldDataWarning")
@pytest.mark.parametrize("as_printed", [False, True])
def test_labels_as_printed_and_kernels_without_features_can_be_pruned(old: pd.DataFrame, as_printed: bool) -> None:
    labelled = old.assign(y=np.where(old["y"] > old["y"].median(), "pass", "fail"))
    kernel = WithBias(SquaredExponential())
    found = pretrain(labelled, PLANT, kernel, machine=PRUNED, rows_with_alpha=40, as_printed=as_printed)
    assert len(found.alpha) == 12
    points = found.to_kernel_inputs(found.box.encode(old[["a", "b"]]))
    right = (found.fit(points) > 0).numpy() == (labelled["y"] == "pass").to_numpy()
    assert right.mean() > 0.8


def test_a_file_has_all_of_it(prior: WeightPrior, tmp_path: Path) -> None:
    prior.save(tmp_path / "prior")
    again, x = WeightPrior.load(tmp_path / "prior"), table(9, 2, seed=4, low=-1, high=1)
    for name in ("reweighted", "matched", "uncertain", "aligned"):
        kernels = [get_belief(name).make_kernel(one.fit)(x).to_dense() for one in (prior, again)]
        torch.testing.assert_close(*kernels, rtol=1e-9, atol=1e-12)
    assert (again.machine, again.error, len(again.anchors)) == (prior.machine, prior.error, 12)


@pytest.mark.parametrize("name", ["reweighted", "aligned", "matched", "uncertain", "average"])
def test_every_belief_takes_it_and_goes_on_from_a_file(prior: WeightPrior, name: str, tmp_path: Path) -> None:
    opt = Optimizer(PLANT, prior, "maximize", transfer=TransferConfig(name), seed=0)
    for row in plant_data(4, noise=0.0).to_dict("records"):
        opt.tell({"a": row["a"], "b": row["b"]}, -row["y"])
    suggested = opt.ask()
    opt.save(tmp_path / "campaign.json")
    prior.save(tmp_path / "prior")
    again = Optimizer.load(tmp_path / "campaign.json", old_data=WeightPrior.load(tmp_path / "prior"))
    assert again.ask() == opt.ask()
    assert set(suggested) == set(PLANT)


def test_the_posterior_of_all_rows_is_narrower_than_that_of_the_kept_ones(prior: WeightPrior) -> None:
    fit = prior.fit
    assert isinstance(fit, AlphaFit)
    x = table(50, 2, seed=6, low=-1, high=1)
    alone = LeastSquares(prior.lam).fit(prior.base, fit.anchors, fit(fit.anchors))
    ours, theirs = (get_belief("aligned").make_kernel(one) for one in (fit, alone))
    open_shares = [
        ((kernel(x, diag=True) - one(x).square()) / kernel.variance).mean().item()
        for kernel, one in ((ours, fit), (theirs, alone))
    ]
    assert 0 < open_shares[0] < open_shares[1]


def test_no_row_is_named_as_coefficients_stand_for_all(prior: WeightPrior) -> None:
    told = prior.explain()
    assert len(told.rows) == 0
    assert "none has a coefficient of its own" in str(told)


def test_a_unit_diagonal_takes_it(prior: WeightPrior) -> None:
    model = TunedPrior(prior, unit_diagonal=True)(observed(6))
    assert torch.isfinite(model.posterior(prior.box.encode([{"a": 3.0, "b": 0.4}])).variance).all()


def test_without_rows_it_is_told_like_any_other(prior: WeightPrior) -> None:
    found = prior.drop_rows()
    x = table(50, 2, seed=6, low=-1, high=1)
    assert found.is_anonymous
    assert (found.predict_response(x) - prior.predict_response(x)).abs().mean() < prior.response_scale
