"""A mixture that is told more: by observations, by fantasies, and by what it expects itself."""

import pytest
import torch

from support.cases import table
from support.mixtures import CODES, MEMBERS, Y, assert_same_predictions, loop_posterior, mixture, sampler


def test_being_told_more_is_being_told_all_at_once() -> None:
    more, observed = table(3, 2, seed=21), table(3, 1, seed=22)
    model = mixture()
    before = model.posterior(more).mean
    together = mixture(X=torch.cat([CODES, more]), y=torch.cat([Y, observed]))
    assert_same_predictions(model.condition_on_observations(more, observed), together)
    one_by_one = model
    for row in range(3):
        one_by_one = one_by_one.condition_on_observations(more[row : row + 1], observed[row : row + 1])
    assert_same_predictions(one_by_one, together)
    torch.testing.assert_close(model.posterior(more).mean, before, rtol=0, atol=0)  # as it was


def test_each_member_may_be_told_something_else() -> None:
    more, observed = table(2, 2, seed=21), table(len(MEMBERS), 2, 1, seed=22)
    later, also = table(1, 2, seed=23), table(len(MEMBERS), 1, 1, seed=24)
    found = mixture().condition_on_observations(more, observed).condition_on_observations(later, also)
    points = table(4, 2, seed=11)
    posterior = found.posterior(points)
    for member, process in enumerate(MEMBERS):
        means, covariances = loop_posterior(
            process, points, torch.cat([CODES, more, later]), torch.cat([Y, observed[member], also[member]])
        )
        torch.testing.assert_close(posterior.mean[member, :, 0], means, rtol=1e-6, atol=1e-7)
        torch.testing.assert_close(posterior.distribution.covariance_matrix[member], covariances, rtol=1e-6, atol=1e-7)


def test_a_batch_of_observations_is_one_model_each() -> None:
    more, observed = table(5, 2, 2, seed=21), table(5, 2, 1, seed=22)
    points = table(3, 2, seed=11)
    found = mixture().condition_on_observations(more, observed)
    assert found.batch_shape == (5, len(MEMBERS))
    posterior = found.posterior(points)
    shared = mixture().condition_on_observations(more, observed[0]).posterior(points)  # the same at every setting
    for row in range(5):
        alone = mixture().condition_on_observations(more[row], observed[row]).posterior(points)
        torch.testing.assert_close(posterior.mean[row], alone.mean)
        torch.testing.assert_close(posterior.variance[row], alone.variance)
        alone = mixture().condition_on_observations(more[row], observed[0]).posterior(points)
        torch.testing.assert_close(shared.mean[row], alone.mean)


def test_fantasies_are_conditioned_on_what_was_drawn() -> None:
    imagined, points = table(2, 2, seed=21), table(3, 2, seed=11)
    model = mixture()
    drawn = sampler()(model.posterior(imagined, observation_noise=True))
    fantasies = model.fantasize(imagined, sampler())
    assert fantasies.batch_shape == (16, len(MEMBERS))
    found = fantasies.posterior(points)
    assert found.mean.shape == (16, len(MEMBERS), 3, 1)
    for row in (0, 7):
        alone = model.condition_on_observations(imagined, drawn[row]).posterior(points)
        torch.testing.assert_close(found.mean[row], alone.mean, rtol=1e-6, atol=1e-8)
        torch.testing.assert_close(found.variance[row], alone.variance, rtol=1e-6, atol=1e-8)
    assert (found.mean.std(0) > 1e-4).all()
    assert (found.variance < model.posterior(points).variance).all()


def test_fantasies_of_a_batch_and_of_fantasies_have_their_shapes() -> None:
    imagined = table(5, 2, 2, seed=21)
    fantasies = mixture().fantasize(imagined, sampler(8))
    assert fantasies.batch_shape == (8, 5, len(MEMBERS))
    assert fantasies.posterior(table(8, 5, 3, 2)).mean.shape == (8, 5, len(MEMBERS), 3, 1)
    assert fantasies.posterior(table(3, 2)).mean.shape == (8, 5, len(MEMBERS), 3, 1)
    again = fantasies.fantasize(table(8, 5, 1, 2, seed=22), sampler(4))
    assert again.posterior(table(1, 2)).mean.shape == (4, 8, 5, len(MEMBERS), 1, 1)
    nothing = mixture().fantasize(table(0, 2), sampler(8))
    torch.testing.assert_close(
        nothing.posterior(table(3, 2)).mean, mixture().posterior(table(3, 2)).mean.expand(8, -1, -1, -1)
    )


def test_what_is_imagined_changes_nothing_on_average() -> None:
    """The mean over fantasies of a new mean is the old mean: observations that are only imagined are no evidence."""
    imagined, points = table(1, 2, seed=21), table(6, 2, seed=11)
    found = mixture().fantasize(imagined, sampler(512)).posterior(points).mean
    before = mixture().posterior(points)
    torch.testing.assert_close(found.mean(0), before.mean, rtol=0, atol=0.01)
    # And the variance is split into what is left and what would be learnt.
    left = mixture().fantasize(imagined, sampler(512)).posterior(points).variance[0]
    torch.testing.assert_close(left + found.var(0), before.variance, rtol=0.02, atol=1e-4)


def test_gradients_go_through_fantasies() -> None:
    def later(x: torch.Tensor) -> torch.Tensor:
        return mixture().fantasize(x, sampler(4)).posterior(table(2, 2, seed=3)).mean.square().sum()

    x, step = table(1, 2, seed=7).requires_grad_(), 1e-5
    (gradient,) = torch.autograd.grad(later(x), x)
    with torch.no_grad():
        for column in range(2):
            shift = torch.zeros(1, 2).double()
            shift[0, column] = step
            slope = float(later(x + shift) - later(x - shift)) / (2 * step)
            assert gradient[0, column].item() == pytest.approx(slope, rel=1e-4, abs=1e-6)
