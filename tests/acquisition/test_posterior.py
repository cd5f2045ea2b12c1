"""Moments of any model, and models that believe in what they expect of pending settings."""

import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.deterministic import GenericDeterministicModel
from botorch.models.model import Model

from support.builders import SPACE, box_of, observed
from support.cases import table
from support.mixtures import mixture, mixture_of_many
from tunedprior.acquisition import posterior
from tunedprior.acquisition.posterior import condition_on_pending, predict_moments
from tunedprior.goals.observations import Observations
from tunedprior.models.gaussian_process import StandardSurrogate

PENDING = torch.tensor([[0.3, -0.2], [-0.7, 0.9]]).double()


@pytest.mark.parametrize("count", [1, 2, 5])
def test_moments_are_one_mean_and_one_variance_for_each_setting(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, standard = table(count, 2), StandardSurrogate(box_of(SPACE))(observed(6))
    mean, variance = predict_moments(standard, X)
    theirs = standard.posterior(X)
    assert torch.equal(mean, theirs.mean[:, 0])
    assert torch.equal(variance, theirs.variance[:, 0])
    monkeypatch.setattr(posterior, "_PREDICTED_AT_ONCE", 2)
    mean, variance = predict_moments(mixture(), X)
    for row in range(count):
        one = mixture().posterior(X[row : row + 1])
        assert mean[row].item() == pytest.approx(one.mixture_mean.item())
        assert variance[row].item() == pytest.approx(one.mixture_variance.item())


@pytest.mark.parametrize("noise_std", [None, 0.01])
def test_what_is_expected_is_believed(noise_std: float | None) -> None:
    observations = observed(6, noise_std=noise_std)
    surrogate = StandardSurrogate(box_of(SPACE))
    before = surrogate(observations)
    after, expected = condition_on_pending(before, surrogate, observations, PENDING)
    torch.testing.assert_close(expected, predict_moments(before, PENDING)[0])
    assert isinstance(after, SingleTaskGP)
    torch.testing.assert_close(
        predict_moments(after, PENDING)[0], predict_moments(before, PENDING)[0], rtol=1e-3, atol=1e-3
    )
    assert (predict_moments(after, PENDING)[1] < 0.5 * predict_moments(before, PENDING)[1]).all()


def test_in_a_mixture_every_process_believes_in_its_own() -> None:
    before = mixture_of_many(2)
    after, expected = condition_on_pending(before, StandardSurrogate(box_of(SPACE)), observed(6), PENDING)
    torch.testing.assert_close(expected, before.posterior(PENDING).mean.squeeze(-1))
    torch.testing.assert_close(after.posterior(PENDING).mean, before.posterior(PENDING).mean, rtol=1e-3, atol=1e-3)
    assert (predict_moments(after, PENDING)[1] <= predict_moments(before, PENDING)[1]).all()


class Sum:
    """A surrogate whose model is nothing that BoTorch could condition."""

    def __init__(self) -> None:
        self.box, self.seen = box_of(SPACE), []

    def __call__(self, observations: Observations) -> Model:
        self.seen.append(observations)
        return GenericDeterministicModel(lambda x: x.sum(-1, keepdim=True))


def test_other_models_are_made_again_with_what_they_expected() -> None:
    observations, surrogate = observed(4), Sum()
    condition_on_pending(surrogate(observations), surrogate, observations, PENDING)
    found = surrogate.seen[1]
    assert torch.equal(found.X, torch.cat([observations.X, PENDING]))
    torch.testing.assert_close(found.y[4:], PENDING.sum(-1, keepdim=True))
