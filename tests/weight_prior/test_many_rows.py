"""Pre-training on more rows than can have a coefficient each."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from gpytorch.constraints import Interval

from support.builders import PLANT, plant_data
from support.cases import number, table
from tunedprior import pretrain
from tunedprior.errors import OldDataWarning
from tunedprior.kernels import SquaredExponential
from tunedprior.machines import AlphaFit, FeatureFit, LeastSquares, SupportVectorRegressor
from tunedprior.machines.feature_ridge import FeatureMap, NormalEquations
from tunedprior.machines.selection import Selection
from tunedprior.weight_prior import pretraining
from tunedprior.weight_prior.pretraining import confirm_kernel


def test_large_tables_are_learnt_from_without_alpha_and_without_a_word() -> None:
    old = plant_data(60, noise=0.1)
    prior = pretrain(old, PLANT, rows_with_alpha=20)
    assert isinstance(prior.fit, FeatureFit)
    assert (prior.machine, len(prior.alpha), len(prior.anchors)) == ("LeastSquares", 0, 20)
    assert not prior.vanishes
    points = prior.to_kernel_inputs(prior.box.encode(old[["a", "b"]]))
    predicted = prior.response_shift + prior.response_scale * prior.fit(points)
    assert (predicted - torch.tensor(old["y"])).abs().max() < 0.5
    assert torch.equal(pretrain(old, PLANT, rows_with_alpha=20, seed=0).fit.weights, prior.fit.weights)


@pytest.mark.parametrize(
    "options",
    [{"machine": SupportVectorRegressor(1.0)}, {"kernel": SquaredExponential(active_dims=(0, 1))}],
    ids=["a machine without a primal form", "a kernel that picks columns"],
)
def test_large_tables_are_thinned_where_they_must_be_and_that_is_said(options: dict) -> None:
    with pytest.warns(OldDataWarning, match="has 30 rows; learning from .* 6"):
        prior = pretrain(plant_data(30), PLANT, rows_with_alpha=6, **options)
    assert len(prior.anchors) == len(prior.alpha) == 6
    assert isinstance(prior.fit, AlphaFit)


def test_a_few_rows_with_alpha_are_preferred_where_features_predict_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretraining, "_MOST_FEATURES", 2)
    with pytest.warns(OldDataWarning, match="has 40 rows; learning from .* 20"):
        prior = pretrain(plant_data(40), PLANT, rows_with_alpha=20)
    assert isinstance(prior.fit, AlphaFit)
    assert len(prior.alpha) == 20


@pytest.mark.slow
def test_a_few_rows_with_alpha_are_preferred_where_a_short_lengthscale_makes_features_overflow() -> None:
    x, kind = np.linspace(0, 1, 120).repeat(2), np.tile(["A", "B"], 120)
    old = pd.DataFrame({"x": x, "kind": kind, "y": np.where(kind == "A", 1, -1) * np.sin(60 * x)})
    with pytest.warns(OldDataWarning, match="has 240 rows; learning from .* 150"):
        prior = pretrain(old, {"x": (0.0, 1.0), "kind": ["A", "B"]}, rows_with_alpha=150)
    assert isinstance(prior.fit, AlphaFit)
    assert prior.fit.kernel.lengthscale.item() < 0.08  # of three inputs, τ overflows below 0.05, which is confirmed too
    predicted = prior.response_scale * prior.fit(prior.to_kernel_inputs(prior.box.encode(old[["x", "kind"]])))
    assert (predicted - torch.tensor(old["y"])).square().mean() < 0.05


def test_a_lengthscale_stays_within_its_constraint() -> None:
    kernel = SquaredExponential(0.5, lengthscale_constraint=Interval(0.4, 0.6))
    prior = pretrain(plant_data(60, noise=0.1), PLANT, kernel, rows_with_alpha=20)
    assert isinstance(prior.fit, FeatureFit)
    assert 0.4 <= prior.fit.kernel.lengthscale.item() <= 0.6


def test_labels_in_large_number_are_told_apart() -> None:
    old = plant_data(200, noise=0.0)
    good = old["y"] > old["y"].median()
    prior = pretrain(old.assign(y=np.where(good, "pass", "fail")), PLANT, rows_with_alpha=60)
    assert prior.machine == "LeastSquares"
    assert isinstance(prior.fit, FeatureFit)
    assert (prior.response_shift, prior.response_scale) == (0.0, 1.0)
    x = prior.to_kernel_inputs(prior.box.encode(old[["a", "b"]]))
    right = (prior.fit(x) > 0) == torch.tensor(good)
    assert right.double().mean() > 0.9


@pytest.mark.parametrize("start", [2.4, 0.15], ids=["too long", "too short"])
def test_held_out_rows_correct_a_bad_lengthscale(start: float) -> None:
    x = table(300, 2, seed=3, low=-1, high=1)
    y = (6 * x[:, 0]).sin() + (5 * x[:, 1]).cos() + 0.3 * table(300, seed=4)
    kernel = SquaredExponential(number(start)).requires_grad_(False)
    begun = Selection(LeastSquares(0.1), kernel, 1.0)
    better, lam = confirm_kernel(begun, x, y, (1e-2, 10.0), 0)
    fit = NormalEquations.from_rows(FeatureMap.from_largest_features(better, x, 2048), x, y).solve(lam)
    stayed = NormalEquations.from_rows(FeatureMap.from_largest_features(kernel, x, 512), x, y).solve(0.1)
    assert fit.compute_loo_error(x, y) < stayed.compute_loo_error(x, y)
    assert abs(math.log(fit.feature_map.kernel.lengthscale.item() / 0.6)) < abs(math.log(start / 0.6))
    assert 1e-2 <= fit.lam <= 10
    z = table(200, 2, seed=5, low=-1, high=1)
    clean = (6 * z[:, 0]).sin() + (5 * z[:, 1]).cos()
    assert fit.compute_error(z, clean) < stayed.compute_error(z, clean)
