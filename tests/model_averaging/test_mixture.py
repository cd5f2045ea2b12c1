"""The average as a BoTorch ensemble: every member is a Gaussian process."""

from copy import deepcopy

import pytest
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.models import SingleTaskGP
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from botorch.settings import validate_input_scaling
from gpytorch.kernels import ConstantKernel, MaternKernel, ScaleKernel
from gpytorch.means import ZeroMean
from hypothesis import given
from hypothesis import strategies as st

from support import reference
from support.builders import vector
from support.cases import table
from support.mixtures import (
    AMPLITUDE,
    BOX,
    CODES,
    CONSTANT,
    LENGTHSCALES,
    MEMBERS,
    NOISE,
    Y,
    assert_same_predictions,
    by_member,
    mixture,
)
from tunedprior.errors import InputError
from tunedprior.kernels.sections import KernelStack
from tunedprior.model_averaging.hypotheses import Processes
from tunedprior.model_averaging.mixture import MixtureOfProcesses
from tunedprior.models.posterior import assign_members
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space


@pytest.mark.parametrize("batch", [(), (5,), (2, 3)], ids=str)
@pytest.mark.parametrize("q", [1, 3])
def test_every_member_equals_a_loop(batch: tuple, q: int) -> None:
    points = table(*batch, q, 2, seed=7)
    posterior = mixture().posterior(points)
    means, covariances = by_member(points)
    assert isinstance(posterior, GaussianMixturePosterior)
    assert posterior.mean.dtype == torch.float64
    torch.testing.assert_close(posterior.mean, means[..., None], rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(posterior.distribution.covariance_matrix, covariances, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(
        posterior.variance, covariances.diagonal(dim1=-2, dim2=-1)[..., None], rtol=1e-6, atol=1e-7
    )


def test_what_a_mixture_predicts_is_the_law_of_total_variance() -> None:
    points = table(4, 1, 2, seed=7)
    posterior = mixture().posterior(points)
    means, covariances = by_member(points)
    mean = means.mean(-2)
    variance = covariances[..., 0].mean(-2) + ((means - mean[..., None, :]) ** 2).mean(-2)
    torch.testing.assert_close(posterior.mixture_mean[..., 0], mean, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(posterior.mixture_variance[..., 0], variance, rtol=1e-6, atol=1e-7)


def test_a_member_is_the_standard_gaussian_process_of_botorch() -> None:
    """Of the same kernel, noise and unknown constant, before and after one more observation."""
    amplitude, noise, share = 1.7, 0.05, 0.6
    stack = KernelStack(vector(LENGTHSCALES))
    one = Processes(stack, vector([[share, 1 - share]]), vector([noise]), CONSTANT)
    model = MixtureOfProcesses(one, vector([amplitude]), torch.tensor([0]), BOX, CODES, Y)
    kernel = ConstantKernel().double()
    kernel.constant = vector([amplitude * CONSTANT])
    for lengthscale, part in zip(LENGTHSCALES, (share, 1 - share), strict=True):
        scaled = ScaleKernel(MaternKernel(2.5, ard_num_dims=2))
        scaled.base_kernel.lengthscale, scaled.outputscale = vector(lengthscale), amplitude * part
        kernel = kernel + scaled
    with validate_input_scaling(False):
        theirs = SingleTaskGP(
            CODES, Y, torch.full_like(Y, amplitude * noise), covar_module=kernel.double(), mean_module=ZeroMean(),
            outcome_transform=None,
        ).eval()  # fmt: skip
    points, more, observed = table(4, 2, seed=7), table(2, 2, seed=8), table(2, 1, seed=9)
    for _ in range(2):
        with torch.no_grad():
            expected = theirs.posterior(points)
        found = model.posterior(points)
        torch.testing.assert_close(found.mean[0], expected.mean, rtol=1e-6, atol=1e-7)
        torch.testing.assert_close(
            found.distribution.covariance_matrix[0], expected.distribution.covariance_matrix, rtol=1e-5, atol=1e-6
        )
        model = model.condition_on_observations(more, observed)
        theirs = theirs.condition_on_observations(more, observed, noise=torch.full_like(observed, amplitude * noise))


def test_settings_are_seen_through_the_box() -> None:
    """A category is no number: codes 0, 1, 2 are equally far from each other."""
    box = Box.enclose(Space.parse({"gas": ["air", "argon", "helium"], "x": (0.0, 1.0)}))
    one = Processes(KernelStack(torch.full((1, 4), 2.0).double()), vector([[1.0]]), vector([0.01]), CONSTANT)
    X = vector([[0.0, 0.5], [1.0, -0.5], [2.0, 0.0]])
    model = MixtureOfProcesses(one, vector([1.0]), torch.tensor([0]), box, X[:1], vector([[1.0]]))
    argon, helium = model.posterior(vector([[[1.0, 0.5]], [[2.0, 0.5]]])).mean.flatten()
    assert argon == pytest.approx(helium.item())
    inputs = box.to_kernel_inputs(X).tolist()
    kernel = reference.process([reference.stationary("matern 5/2", [2.0] * 4)], [1.0], CONSTANT)
    means, _ = reference.joint_posterior(kernel, inputs[:1], [1.0], 0.01, 1.0, inputs)
    torch.testing.assert_close(model.posterior(X).mean[0, :, 0], vector(means))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=200).filter(lambda w: sum(w) > 1e-3), st.integers(1, 100))
def test_no_weight_is_off_by_more_than_one_member(weights: list[float], count: int) -> None:
    shares = vector(weights) / sum(weights)
    members = assign_members(vector(weights), count)
    assert members.shape == (count,)
    assert torch.equal(members, assign_members(vector(weights), count))
    held = torch.bincount(members, minlength=len(weights))
    assert len(held) == len(weights)
    assert ((held - count * shares).abs() <= 1 + 1e-9).all()


def test_a_certain_process_is_every_member_and_equal_ones_share_them() -> None:
    certain = torch.zeros(50).double()
    certain[17] = 1.0
    assert set(assign_members(certain).tolist()) == {17}
    assert torch.bincount(assign_members(torch.ones(4).double(), 64)).tolist() == [16] * 4
    assert torch.bincount(assign_members(vector([2.0, 6.0]), 8)).tolist() == [2, 6]  # need not sum to 1


def test_many_light_processes_have_their_members_together() -> None:
    """None of 10,000 deserves a member, but half of the probability lies with them."""
    weights = torch.cat([vector([0.5]), torch.full((10_000,), 0.5 / 10_000).double()])
    members = assign_members(weights, 64)
    assert (members == 0).sum() == 32
    assert len(members.unique()) == 33


@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("batch", [(), (4,)], ids=str)
def test_noise_is_added_to_the_variances_alone(batch: tuple, q: int) -> None:
    points, model = table(*batch, q, 2, seed=7), mixture()
    exact = model.posterior(points).distribution.covariance_matrix
    own = (vector(NOISE) * vector(AMPLITUDE))[MEMBERS]
    given_noise = {
        "the model's": (True, own[:, None].expand(-1, q)),
        "one for all": (vector([[0.3]]), vector([0.3] * q)),
        "one for each point": (table(q, 1, low=0.1, seed=8), table(q, 1, low=0.1, seed=8)[:, 0]),
        "one for each member": (own[:, None, None], own[:, None].expand(-1, q)),
    }
    for observation_noise, added in given_noise.values():
        noisy = model.posterior(points, observation_noise=observation_noise)
        expected = torch.diag_embed(added.expand(exact.shape[:-1]))
        torch.testing.assert_close(noisy.distribution.covariance_matrix - exact, expected, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(noisy.mean, model.posterior(points).mean)


def test_the_likelihood_has_the_noise_in_units_of_the_response() -> None:
    expected = (vector(NOISE) * vector(AMPLITUDE))[MEMBERS]
    torch.testing.assert_close(mixture().likelihood.noise.squeeze(-1), expected)
    conditioned = mixture().condition_on_observations(table(1, 2), table(1, 1))
    torch.testing.assert_close(conditioned.likelihood.noise.squeeze(-1), expected)


def test_a_transformed_mixture_is_a_mixture() -> None:
    points, model = table(4, 3, 2, seed=7), mixture()
    turned = ScalarizedPosteriorTransform(vector([-2.0]), offset=0.5)
    plain, found = model.posterior(points), model.posterior(points, posterior_transform=turned)
    torch.testing.assert_close(found.mean, 0.5 - 2 * plain.mean)
    torch.testing.assert_close(found.variance, 4 * plain.variance)
    torch.testing.assert_close(found.mixture_variance, 4 * plain.mixture_variance)
    one = points[:, :1]
    lowest = LogExpectedImprovement(model, best_f=0.1, posterior_transform=turned)(one)
    assert lowest.shape == (4,)


def test_there_is_one_output() -> None:
    model = mixture()
    assert model.num_outputs == 1
    assert model.batch_shape == (len(MEMBERS),)
    torch.testing.assert_close(model.posterior(table(2, 2), output_indices=[0]).mean, model.posterior(table(2, 2)).mean)
    with pytest.raises(InputError, match="one output"):
        model.posterior(table(2, 2), output_indices=[1])


def test_a_copy_is_the_same_and_its_own() -> None:
    model = mixture()
    copy = deepcopy(model)
    assert_same_predictions(copy, model)
    copy.whitened.zero_()
    assert model.posterior(table(2, 2)).mean.abs().max() > 1e-3


def test_certainty_at_an_exact_observation_is_no_trouble() -> None:
    exact = Processes(KernelStack(vector([[3.0, 3.0]])), vector([[1.0]]), vector([2e-6]), CONSTANT)
    model = MixtureOfProcesses(exact, vector([1.0]), torch.tensor([0, 0]), BOX, CODES, Y)
    for points in (CODES[:, None], CODES[None, :2]):
        posterior = model.posterior(points)
        assert (posterior.variance > 0).all()
        assert torch.isfinite(posterior.rsample(torch.Size([4]))).all()
    assert torch.isfinite(LogExpectedImprovement(model, best_f=float(Y.max()))(CODES[:, None])).all()
