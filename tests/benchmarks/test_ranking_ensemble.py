"""How RGPE weighs its processes, and what it ranks them by, against loops."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.methods.rivals import RankingEnsemble
from benchmarks.methods.rivals.ranking_ensemble import WeightedSum, leave_one_out, misranked
from benchmarks.methods.rivals.source import Source, gaussian_process
from support import reference
from tunedprior.goals.observations import Observations

SPACE = {"a": (0.0, 2.0), "b": (-1.0, 1.0)}


def test_the_ensembles_weights_by_loops(old: pd.DataFrame, observations: Observations) -> None:
    noisy = old.assign(y=-old["y"] + 0.1 * np.random.default_rng(0).standard_normal(len(old)))
    rival = RankingEnsemble(Source.read(noisy, SPACE), seed=5)
    inputs, y = (1 + observations.X) / 2, observations.y[:, 0].tolist()
    new = gaussian_process(inputs, observations.y)
    normal = torch.randn(2, 256, len(y), generator=torch.Generator().manual_seed(5), dtype=torch.float64).tolist()
    covariance = rival.source.model.posterior(inputs).distribution.covariance_matrix.detach().numpy()
    root = np.linalg.cholesky(covariance + 1e-8 * covariance.diagonal().mean() * np.eye(len(y)))
    centre = rival.source.model.posterior(inputs).mean[:, 0].tolist()
    means, stds = (values.tolist() for values in leave_one_out(new))
    pairs = [(j, k) for j in range(len(y)) for k in range(len(y)) if j != k]
    losses = []
    for old_normal, new_normal in zip(*normal, strict=True):
        drawn = [
            c + sum(r * z for r, z in zip(row, old_normal, strict=True)) for c, row in zip(centre, root, strict=True)
        ]
        left_out = [m + s * z for m, s, z in zip(means, stds, new_normal, strict=True)]
        losses.append((
            sum((drawn[j] < drawn[k]) != (y[j] < y[k]) for j, k in pairs),
            sum((left_out[j] < y[k]) != (y[j] < y[k]) for j, k in pairs),
        ))  # fmt: skip
    wins = [1.0 if a < b else 0.5 if a == b else 0.0 for a, b in losses]
    assert np.median([a for a, _ in losses]) <= np.quantile([b for _, b in losses], 0.95)  # so it is not dropped
    weight = float(rival.weights(new, inputs, observations.y)[0])
    assert 0.05 < weight < 0.95
    assert weight == pytest.approx(np.mean(wins), abs=1e-9)


def test_the_ensemble_keeps_what_ranks_well_and_drops_what_does_not(
    old: pd.DataFrame, observations: Observations
) -> None:
    def old_weight(table: pd.DataFrame) -> float:
        rival = RankingEnsemble(Source.read(table, SPACE))
        return float(rival(observations).inner.weights[0])

    assert old_weight(old) == 0.0  # backwards
    assert old_weight(old.assign(y=-old["y"])) > 0.4
    few = Observations(observations.X[:2], observations.y[:2])
    assert RankingEnsemble(Source.read(old, SPACE))(few).inner.weights.tolist() == [0.5, 0.5]


def test_left_out_predictions_and_misranked_pairs_by_loops(observations: Observations) -> None:
    model = gaussian_process((1 + observations.X) / 2, 5 + 2 * observations.y)
    X, y = model.train_inputs[0].tolist(), model.train_targets.tolist()
    noise, constant = model.likelihood.noise.item(), model.mean_module.constant.item()
    shift, scale = 5.0, 2 * float(observations.y.std())
    means, stds = (values.tolist() for values in leave_one_out(model))
    kernel = reference.stationary("squared exponential", model.covar_module.lengthscale.detach()[0].tolist())
    for out in range(len(y)):
        rest = [i for i in range(len(y)) if i != out]
        mean, variance = reference.gp_posterior(
            kernel, [X[i] for i in rest], [y[i] for i in rest], [noise] * len(rest),
            lambda _: constant, X[out],
        )  # fmt: skip
        expected = (shift + scale * mean, scale * math.sqrt(variance))
        assert (means[out], stds[out]) == pytest.approx(expected, rel=1e-5, abs=1e-7)
    left, right = torch.randn(3, 7, 1, generator=torch.Generator().manual_seed(0)).double(), observations.y.T[None]
    counts = [
        sum((left[s, j, 0] < right[0, 0, k]) != (y[j] < y[k]) for j in range(7) for k in range(7) if j != k)
        for s in range(3)
    ]
    assert misranked(left, right, observations.y).tolist() == [float(count) for count in counts]


def test_the_ensemble_predicts_settings_that_are_all_but_the_same(observations: Observations) -> None:
    inputs = (1 + observations.X) / 2
    model = gaussian_process(inputs, observations.y)
    close = inputs[:1] + 1e-9 * torch.arange(30, dtype=torch.float64)[:, None]  # their covariance is singular
    found = WeightedSum([model, model], torch.tensor([0.5, 0.5], dtype=torch.float64)).posterior(close)
    assert found.mean[:, 0].tolist() == pytest.approx(model.posterior(close).mean[:, 0].tolist())
    assert found.variance[:, 0].tolist() == pytest.approx((model.posterior(close).variance[:, 0] / 2).tolist())
