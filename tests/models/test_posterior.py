"""Moments of any model, and models that believe in what they expect of pending settings."""

import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.deterministic import GenericDeterministicModel
from botorch.models.model import Model

from support.builders import SPACE, box_of, observed
from support.cases import table
from support.mixtures import mixture, mixture_of_many
from tunedprior.goals.observations import Observations
from tunedprior.models import posterior
from tunedprior.models.gaussian_process import StandardSurrogate
from tunedprior.models.posterior import GaussianComponents, condition_on_pending, find_components, predict_moments

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
    torch.testing.assert_close(expected[before.members], before.posterior(PENDING).mean.squeeze(-1))
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


# -- components ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ensemble", "single"])
def test_components_of_a_model_of_botorch(kind: str) -> None:
    """A mixture is an ensemble of BoTorch too: by its posterior alone it has the components that it knows itself."""
    X, observations = table(5, 2, seed=4, low=-1.0, high=1.0), observed(6)
    model = mixture() if kind == "ensemble" else StandardSurrogate(box_of(SPACE))(observations)
    found = GaussianComponents.from_model(model, observations, StandardSurrogate(box_of(SPACE)))
    mean, variance = found.predict_components(X)
    joint = list(found.iterate_joint_moments(X))
    if kind == "ensemble":
        expected = [one[:, model.members] for one in model.predict_components(X)]
        measured = model.predict_components(X, measured=True)[1][:, model.members]
        covariances = [one for _, one in model.iterate_joint_moments(X)]
        expected_joint = [covariances[member] for member in model.members.tolist()]
        torch.testing.assert_close(found.noise_variances, model.noise_variances[model.members])
    else:
        posterior = model.posterior(X)
        expected = [posterior.mean, posterior.variance]
        measured = model.posterior(X, observation_noise=True).variance
        expected_joint = [posterior.distribution.covariance_matrix]
    torch.testing.assert_close(mean, expected[0])
    torch.testing.assert_close(variance, expected[1])
    torch.testing.assert_close(found.predict_components(X, measured=True)[1], measured)
    torch.testing.assert_close(found.weights.sum().item(), 1.0)
    for (_, covariance), theirs in zip(joint, expected_joint, strict=True):
        torch.testing.assert_close(covariance, theirs, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(torch.stack([one for one, _ in joint]).mT, expected[0])


@pytest.mark.parametrize("kind", ["ensemble", "single"])
def test_moments_of_components_have_the_slopes_of_finite_differences(kind: str) -> None:
    observations, step = observed(6), 1e-5
    model = mixture() if kind == "ensemble" else StandardSurrogate(box_of(SPACE))(observations)
    found = GaussianComponents.from_model(model, observations, StandardSurrogate(box_of(SPACE)))
    X = table(3, 2, seed=4, low=-0.9, high=0.9)
    (mean, _), pull_back = found.make_moment_function().evaluate(X)
    by_mean, by_sigma = table(len(mean), 3, seed=5), table(len(mean), 3, seed=6)
    slopes = pull_back(by_mean, by_sigma)
    for column in range(2):
        moved = torch.zeros(2).double()
        moved[column] = step
        above, below = (found.evaluate(X + sign * moved)[0] for sign in (1, -1))
        by_steps = [(one - other) / (2 * step) for one, other in zip(above, below, strict=True)]
        expected = (by_mean * by_steps[0] + by_sigma * by_steps[1]).sum(0)
        torch.testing.assert_close(slopes[:, column], expected, rtol=1e-4, atol=1e-6)


def test_components_are_conditioned_as_their_model_is() -> None:
    observations, surrogate = observed(6), StandardSurrogate(box_of(SPACE))
    known = find_components(surrogate(observations), observations, surrogate)
    after = known.condition_on_means(PENDING)
    torch.testing.assert_close(
        after.predict_components(PENDING)[0], known.predict_components(PENDING)[0], rtol=1e-3, atol=1e-3
    )
    assert (after.predict_components(PENDING)[1] < 0.5 * known.predict_components(PENDING)[1]).all()


def test_what_is_not_gaussian_has_no_components() -> None:
    observations, surrogate = observed(4), Sum()
    assert find_components(surrogate(observations), observations, surrogate) is None
    assert find_components(model := mixture(), observations, surrogate) is model
