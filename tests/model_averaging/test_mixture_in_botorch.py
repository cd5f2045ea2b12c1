"""BoTorch's tools on a mixture: samplers, acquisition functions and their maximisation."""

import math

import numpy as np
import pytest
import torch
from botorch.acquisition import (
    LogExpectedImprovement,
    PosteriorMean,
    UpperConfidenceBound,
    qLogExpectedImprovement,
    qLogNoisyExpectedImprovement,
    qNegIntegratedPosteriorVariance,
)
from botorch.optim import optimize_acqf
from botorch.optim.utils import get_X_baseline

from support import reference
from support.builders import vector
from support.cases import table
from support.mixtures import BOUNDS, CODES, MEMBERS, Y, by_member, mixture, sampler
from tunedprior.model_averaging.mixture import MixtureOfProcesses


def test_draws_have_the_moments_of_each_member() -> None:
    points = table(2, 3, 2, seed=7)
    posterior = mixture().posterior(points)
    assert posterior.rsample(torch.Size([6])).shape == (6, 2, len(MEMBERS), 3, 1)
    draws = sampler(2048)(posterior)
    assert draws.shape == (2048, 2, len(MEMBERS), 3, 1)
    means, covariances = by_member(points)
    scale = covariances.diagonal(dim1=-2, dim2=-1).sqrt()
    assert ((draws.mean(0).squeeze(-1) - means).abs() < 0.01 * scale + 1e-6).all()
    centred = draws.squeeze(-1) - means
    found = torch.einsum("z...i,z...j->...ij", centred, centred) / len(draws)
    assert ((found - covariances).abs() < 0.05 * scale[..., :, None] * scale[..., None, :] + 1e-6).all()


@pytest.mark.parametrize("batch", [(), (5,), (2, 3)], ids=str)
def test_expected_improvement_is_the_mean_over_members(batch: tuple) -> None:
    points, best = table(*batch, 1, 2, seed=7), 0.2
    means, covariances = by_member(points)
    expected = [
        sum(reference.expected_improvement(m, v, best) for m, v in zip(mean, variance, strict=True)) / len(MEMBERS)
        for mean, variance in zip(
            means.reshape(-1, len(MEMBERS)).tolist(), covariances.reshape(-1, len(MEMBERS)).tolist(), strict=True
        )
    ]
    found = LogExpectedImprovement(mixture(), best_f=best)(points)
    assert found.shape == (batch or (1,))
    torch.testing.assert_close(found.flatten(), vector(expected).log(), rtol=1e-5, atol=1e-5)


def test_confidence_bounds_and_means_are_those_of_the_members() -> None:
    points, beta = table(5, 1, 2, seed=7), 3.0
    means, covariances = by_member(points)
    bound = (means[..., 0] + (beta * covariances[..., 0, 0]).sqrt()).mean(-1)
    torch.testing.assert_close(UpperConfidenceBound(mixture(), beta=beta)(points), bound, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(PosteriorMean(mixture())(points), means[..., 0].mean(-1), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("noisy", [False, True], ids=["best known", "noisy"])
def test_sampled_improvements_are_the_mean_over_members(q: int, noisy: bool) -> None:
    def acquisition(model: MixtureOfProcesses):
        if noisy:
            return qLogNoisyExpectedImprovement(model, X_baseline=CODES, sampler=sampler(), prune_baseline=False)
        return qLogExpectedImprovement(model, best_f=0.2, sampler=sampler())

    points = table(6, q, 2, seed=7)
    each = torch.stack([acquisition(mixture([member]))(points) for member in MEMBERS])
    expected = each.logsumexp(0) - math.log(len(MEMBERS))
    torch.testing.assert_close(acquisition(mixture())(points), expected, rtol=1e-5, atol=1e-5)
    assert (each.std(0) > 1e-3).any()


def test_sampled_improvement_comes_near_the_exact_one() -> None:
    points = table(6, 1, 2, seed=7)
    sampled = qLogExpectedImprovement(mixture(), best_f=0.2, sampler=sampler(1024))(points)
    torch.testing.assert_close(sampled, LogExpectedImprovement(mixture(), best_f=0.2)(points), rtol=0, atol=0.05)
    pruned = qLogNoisyExpectedImprovement(mixture(), X_baseline=CODES, sampler=sampler(), prune_baseline=True)
    assert torch.isfinite(pruned(points)).all()


def test_what_would_be_learnt_can_be_asked() -> None:
    """An acquisition that imagines observations: the variance left on average over some settings, by hand."""
    points, where = table(4, 1, 2, seed=7), table(5, 2, seed=8)
    found = qNegIntegratedPosteriorVariance(mixture(), mc_points=where)(points)
    expected = []
    for point in points:
        told = {"X": torch.cat([CODES, point]), "y": torch.cat([Y, torch.zeros(1, 1).double()])}
        _, covariances = by_member(where, **told)
        expected.append(-covariances.diagonal(dim1=-2, dim2=-1).mean())
    torch.testing.assert_close(found, torch.stack(expected), rtol=1e-6, atol=1e-7)


def test_gradients_equal_finite_differences() -> None:
    model, step = mixture(), 1e-5
    targets = [
        lambda x: model.posterior(x).mean.sum(),
        lambda x: model.posterior(x[:, :1]).variance.sum(),
        lambda x: model.posterior(x).distribution.covariance_matrix.sum(),
        lambda x: LogExpectedImprovement(model, best_f=0.2)(x[:, :1]).sum(),
        lambda x: qLogExpectedImprovement(model, best_f=0.2, sampler=sampler())(x).sum(),
    ]
    for target in targets:
        x = table(2, 2, 2, seed=7).requires_grad_()
        (gradient,) = torch.autograd.grad(target(x), x)
        with torch.no_grad():
            for place in np.ndindex(*x.shape):
                ends = []
                for sign in (1, -1):
                    moved = x.detach().clone()
                    moved[place] += sign * step
                    ends.append(float(target(moved)))
                slope = (ends[0] - ends[1]) / (2 * step)
                assert gradient[place].item() == pytest.approx(slope, rel=1e-4, abs=1e-5)


def test_an_acquisition_is_maximised_by_botorch() -> None:
    acquisition = LogExpectedImprovement(mixture(), best_f=float(Y.max()))
    torch.manual_seed(0)
    found, value = optimize_acqf(acquisition, BOUNDS, q=1, num_restarts=4, raw_samples=64)
    with torch.no_grad():
        tried = acquisition(table(500, 1, 2, low=-1.0, high=1.0))
    assert value >= tried.max() - 1e-6
    assert (found.abs() <= 1).all()


def test_botorch_finds_where_observations_were_made() -> None:
    more = table(2, 2, seed=21)
    conditioned = mixture().condition_on_observations(more, table(2, 1))
    assert torch.equal(get_X_baseline(LogExpectedImprovement(mixture(), best_f=0.0)), CODES)
    found = get_X_baseline(LogExpectedImprovement(conditioned, best_f=0.0))
    assert torch.equal(found, torch.cat([CODES, more]))
