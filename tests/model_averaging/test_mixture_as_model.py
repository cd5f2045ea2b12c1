"""The mixture does what BoTorch's own models do: dtypes, state, targets, conditioning, fantasies, outputs."""

from copy import deepcopy

import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.settings import validate_input_scaling
from gpytorch.kernels import ConstantKernel, MaternKernel, ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from gpytorch.means import ZeroMean

from support.builders import vector
from support.cases import table
from support.mixtures import BOX, CODES, MEMBERS, Y, mixture, sampler
from tunedprior.errors import InputError
from tunedprior.kernels.sections import KernelStack
from tunedprior.model_averaging.hypotheses import Processes
from tunedprior.model_averaging.mixture import MixtureOfProcesses

X = table(3, 2, seed=8)


def assert_same_predictions(one: MixtureOfProcesses, other: MixtureOfProcesses, tolerance: float = 1e-12) -> None:
    first, second = one.posterior(X.to(one.x)), other.posterior(X.to(other.x))
    torch.testing.assert_close(first.mixture_mean, second.mixture_mean.to(first.mixture_mean), atol=tolerance, rtol=0)
    torch.testing.assert_close(
        first.mixture_variance, second.mixture_variance.to(first.mixture_variance), atol=tolerance, rtol=0
    )


# -- dtype, device and state -------------------------------------------------------------------------------


def test_every_tensor_moves() -> None:
    model = mixture().to(torch.float32)
    floating = {
        name: tensor.dtype
        for name, tensor in model.state_dict().items()
        if tensor.is_floating_point() and not name.startswith("kernels.")  # kernels of old data stay in float64
    }
    assert set(floating.values()) == {torch.float32}
    assert {"factor", "whitened", "amplitude", "shares", "noise", "X", "train_targets", "x", "lengthscales"} <= set(
        floating
    )
    assert model.posterior(X.float()).mean.dtype == torch.float32
    assert_same_predictions(model, mixture(), tolerance=1e-4)


def test_all_of_it_is_on_the_device_it_was_sent_to() -> None:
    model = mixture().to("meta")
    assert {tensor.device.type for tensor in model.state_dict().values()} == {"meta"}
    assert model.train_inputs[0].device.type == "meta"


def test_the_state_is_whole() -> None:
    model, other = mixture(), mixture(y=Y.flip(0))
    other.load_state_dict(model.state_dict())
    assert_same_predictions(other, model, tolerance=0)
    assert torch.equal(other.train_targets, model.train_targets)


def test_a_copy_is_a_copy() -> None:
    model = mixture()
    copied = deepcopy(model)
    copied.amplitude.mul_(2)
    assert not torch.equal(copied.amplitude, model.amplitude)


# -- data ----------------------------------------------------------------------------------------------------


def test_targets_are_those_of_a_single_process() -> None:
    assert torch.equal(mixture().train_targets, Y[:, 0])
    assert torch.equal(mixture().train_inputs[0], CODES)


def test_targets_of_a_conditioned_model() -> None:
    new = table(3, 1, seed=9)
    told = mixture().condition_on_observations(X, new)
    assert torch.equal(told.train_targets, torch.cat([Y, new])[:, 0])
    each = table(len(MEMBERS), 3, seed=10)[..., None]
    told_apart = mixture().condition_on_observations(X, each)
    assert told_apart.train_targets.shape == (len(MEMBERS), len(Y) + 3)
    assert torch.equal(told_apart.train_targets[:, len(Y) :], each[..., 0])
    assert torch.equal(told_apart.train_targets[:, : len(Y)], Y[:, 0].expand(len(MEMBERS), -1))


def test_the_one_output_is_a_subset_of_itself() -> None:
    model = mixture()
    assert model.subset_output([0]) is model
    with pytest.raises(InputError, match="one output"):
        model.subset_output([1])


# -- conditioning, against BoTorch's own process ---------------------------------------------------------------

LENGTHSCALE, AMPLITUDE, NOISE, CONSTANT = 0.7, 1.3, 0.04, 0.3


def one_process() -> MixtureOfProcesses:
    stack = KernelStack(vector([[LENGTHSCALE, LENGTHSCALE]]))
    processes = Processes(stack, vector([[1.0]]), vector([NOISE / AMPLITUDE]), CONSTANT)
    return MixtureOfProcesses(processes, vector([AMPLITUDE]), torch.zeros(2, dtype=torch.long), BOX, CODES, Y)


def botorch_process() -> SingleTaskGP:
    plain, constant = MaternKernel(2.5), ConstantKernel()
    plain.lengthscale, constant.constant = LENGTHSCALE, torch.tensor(CONSTANT)
    covariance = ScaleKernel(plain + constant)
    covariance.outputscale = AMPLITUDE
    with validate_input_scaling(False):
        model = SingleTaskGP(
            CODES, Y, torch.full_like(Y, NOISE), covar_module=covariance, mean_module=ZeroMean(), outcome_transform=None
        )
    assert isinstance(model.likelihood, FixedNoiseGaussianLikelihood)
    model.double().eval()
    model.posterior(X)  # GPyTorch conditions a process that has predicted
    return model


def test_conditioning_with_given_noise_is_that_of_botorch() -> None:
    new, noise = table(3, 1, seed=9), vector([[0.01], [0.5], [2.0]])
    ours = one_process().condition_on_observations(X, new, noise=noise)
    theirs = botorch_process().condition_on_observations(X, new, noise=noise)
    points = table(4, 2, seed=12)
    with torch.no_grad():
        expected = theirs.posterior(points)
    found = ours.posterior(points)
    torch.testing.assert_close(found.mixture_mean, expected.mean, atol=1e-8, rtol=0)
    torch.testing.assert_close(found.mixture_variance, expected.variance, atol=1e-8, rtol=0)


def test_noise_that_is_given_counts() -> None:
    new = table(3, 1, seed=9)
    exact, noisy = (
        one_process().condition_on_observations(X, new, noise=torch.full_like(new, v)) for v in (1e-6, 10.0)
    )
    off_exact, off_noisy = ((model.posterior(X).mixture_mean - new).abs().max() for model in (exact, noisy))
    assert off_exact < 1e-3 < off_noisy


def test_what_conditioning_cannot_do_is_refused() -> None:
    with pytest.raises(InputError, match="takes X, Y and noise; got noise_std too"):
        mixture().condition_on_observations(X, table(3, 1, seed=9), noise_std=torch.ones(3, 1))


def test_fantasies_with_given_noise() -> None:
    noise = torch.full((1, 1, 1), 3.0, dtype=torch.float64)
    fantasies = mixture().fantasize(X, sampler(6), observation_noise=noise)
    assert fantasies.batch_shape == (6, len(MEMBERS))
    assert fantasies.train_targets.shape == (6, len(MEMBERS), len(Y) + len(X))
    own = mixture().fantasize(X, sampler(6))
    less_sure, surer = (model.posterior(X).variance.mean() for model in (fantasies, own))
    assert less_sure > 1.5 * surer  # so noisy a fantasy teaches less
    with pytest.raises(Exception, match="no longer accepts a boolean"):
        mixture().fantasize(X, sampler(6), observation_noise=True)


def test_expecting_is_conditioning_on_what_every_member_expects() -> None:
    model = mixture()
    told = model.condition_on_observations(X, model.posterior(X).mean)
    assert_same_predictions(model.condition_on_means(X), told)
    assert len(model.condition_on_means(X).amplitude) == len(set(MEMBERS)) < len(told.amplitude)


def test_expecting_twice() -> None:
    model, more = mixture(), table(2, 2, seed=15)
    once, twice = model.condition_on_means(torch.cat([X, more])), model.condition_on_means(X).condition_on_means(more)
    assert_same_predictions(once, twice, tolerance=1e-9)


def test_a_batch_as_long_as_there_are_members_is_still_a_batch() -> None:
    """Values at a batch of settings have an axis for the members only if they have one more than the settings."""
    batch = table(len(MEMBERS) * 3, 2, seed=21).reshape(len(MEMBERS), 3, 2)
    y, noise = table(len(MEMBERS) * 3, 1, seed=22).reshape(len(MEMBERS), 3, 1), 0.1 + table(3, 1, seed=23) ** 2
    together = mixture().condition_on_observations(batch, y, noise=noise.expand_as(y))
    alone = mixture().condition_on_observations(batch[4], y[4], noise=noise)
    assert together.batch_shape == (len(MEMBERS), len(MEMBERS))
    torch.testing.assert_close(together.posterior(X).mean[4], alone.posterior(X).mean)
    noisy = mixture().posterior(batch, observation_noise=noise.expand_as(y))
    torch.testing.assert_close(noisy.variance[4], mixture().posterior(batch[4], observation_noise=noise).variance)
