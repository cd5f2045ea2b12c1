"""The average as a BoTorch ensemble: every member is a Gaussian process, and BoTorch's tools work on all of them."""

import math
from copy import deepcopy
from functools import cache

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
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.optim.utils import get_X_baseline
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from botorch.sampling import SobolQMCNormalSampler
from botorch.settings import validate_input_scaling
from gpytorch.kernels import ConstantKernel, RBFKernel, ScaleKernel
from gpytorch.means import ZeroMean
from hypothesis import given
from hypothesis import strategies as st

import reference
from cases import table
from tunedprior.box import Box
from tunedprior.errors import InputError
from tunedprior.kernels import Aligned, Matched, SquaredExponential
from tunedprior.kernels.stack import KernelStack
from tunedprior.mixture import MixtureOfProcesses, Processes, slots
from tunedprior.space import Space

BOX = Box.around(Space.parse({"a": (-1.0, 1.0), "b": (-1.0, 1.0)}))
BOUNDS = torch.tensor([[-1.0, -1.0], [1.0, 1.0]], dtype=torch.float64)
LENGTHSCALES = [[0.5, 0.9], [1.5, 1.2]]
BASE = [0.8, 0.8]
ANCHORS, ALPHA, LAM = table(4, 2, seed=5), table(4, seed=6), 0.1
SIZES = (0.7, 1.3)
SHARES = [[1.0, 0.0, 0.0, 0.0], [0.0, 0.3, 0.7, 0.0], [0.0, 0.0, 0.0, 1.0]]
NOISE, CONSTANT, AMPLITUDE = [0.01, 0.1, 0.02], 0.3, [0.5, 1.0, 2.0]
MEMBERS = [2, 0, 1, 1, 0, 2, 0]
CODES, Y = table(5, 2, seed=1), table(5, 1, seed=2)


def vector(values: list) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def processes() -> Processes:
    base = SquaredExponential(vector(BASE))
    learnt = (Aligned(base, ANCHORS, ALPHA, LAM), Matched(base, ANCHORS, ALPHA, by_features=True, tolerance=1e-13))
    return Processes(KernelStack(vector(LENGTHSCALES), learnt, SIZES), vector(SHARES), vector(NOISE), CONSTANT)


def mixture(members: list = MEMBERS, codes: torch.Tensor = CODES, y: torch.Tensor = Y) -> MixtureOfProcesses:
    return MixtureOfProcesses(processes(), vector(AMPLITUDE), torch.tensor(members), BOX, codes, y)


def sampler(count: int = 16) -> SobolQMCNormalSampler:
    return SobolQMCNormalSampler(torch.Size([count]), seed=0)


@cache
def _loop(which: int, x: tuple, z: tuple) -> float:
    def kernel(points):
        return reference.squared_exponential(points, BASE)

    def four(points):
        return reference.squared_exponential_l4(points, BASE)

    anchors, alpha = ANCHORS.tolist(), ALPHA.tolist()
    if which < 2:
        return reference.stationary("squared exponential", LENGTHSCALES[which])(x, z)
    if which == 2:
        return complex(reference.aligned(kernel, [x, z], anchors, alpha, LAM)).real / SIZES[0]
    return complex(reference.matched(four, [x, z], anchors, alpha)).real / SIZES[1]


def loop_of(process: int):
    kernels = [lambda x, z, which=which: _loop(which, tuple(x), tuple(z)) for which in range(4)]
    return reference.process(kernels, SHARES[process], CONSTANT)


def loop_posterior(process: int, points: torch.Tensor, codes: torch.Tensor = CODES, y: torch.Tensor = Y):
    """Means and covariances of one process at q joint points, as tensors."""
    means, covariances = reference.joint_posterior(
        loop_of(process), codes.tolist(), y[:, 0].tolist(), NOISE[process], AMPLITUDE[process], points.tolist()
    )
    return vector(means), vector(covariances)


def by_member(points: torch.Tensor, **data) -> tuple[torch.Tensor, torch.Tensor]:
    """Loop posteriors of a batch of q joint points: `... m q` and `... m q q`."""
    batch, (q, k) = points.shape[:-2], points.shape[-2:]
    found = [[loop_posterior(s, joint, **data) for s in MEMBERS] for joint in points.reshape(-1, q, k)]
    means = torch.stack([torch.stack([mean for mean, _ in row]) for row in found])
    covariances = torch.stack([torch.stack([covariance for _, covariance in row]) for row in found])
    return means.reshape(*batch, len(MEMBERS), q), covariances.reshape(*batch, len(MEMBERS), q, q)


# -- every member --------------------------------------------------------------------------------------


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
        scaled = ScaleKernel(RBFKernel(ard_num_dims=2))
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
    box = Box.around(Space.parse({"gas": ["air", "argon", "helium"], "x": (0.0, 1.0)}))
    one = Processes(KernelStack(torch.full((1, 4), 2.0).double()), vector([[1.0]]), vector([0.01]), CONSTANT)
    codes = vector([[0.0, 0.5], [1.0, -0.5], [2.0, 0.0]])
    model = MixtureOfProcesses(one, vector([1.0]), torch.tensor([0]), box, codes[:1], vector([[1.0]]))
    argon, helium = model.posterior(vector([[[1.0, 0.5]], [[2.0, 0.5]]])).mean.flatten()
    assert argon == pytest.approx(helium.item())
    inputs = box.inputs(codes).tolist()
    kernel = reference.process([reference.stationary("squared exponential", [2.0] * 4)], [1.0], CONSTANT)
    means, _ = reference.joint_posterior(kernel, inputs[:1], [1.0], 0.01, 1.0, inputs)
    torch.testing.assert_close(model.posterior(codes).mean[0, :, 0], vector(means))


def test_taking_some_processes_keeps_what_they_say() -> None:
    few = processes().take(torch.tensor([2, 0]))
    assert len(few) == 2
    assert len(few.kernels) == 2  # one squared exponential, and the one belief that is in use
    x, z = table(3, 2, seed=3), table(4, 2, seed=4)
    torch.testing.assert_close(few.covariance(x, z), processes().covariance(x, z)[[2, 0]])
    torch.testing.assert_close(few.variance(x), processes().variance(x)[[2, 0]])
    assert few.noise.tolist() == [NOISE[2], NOISE[0]]


def test_variances_are_the_diagonals_of_covariances() -> None:
    x = table(2, 6, 2, seed=3)
    covariance = processes().covariance(x, x)
    assert covariance.shape == (2, 3, 6, 6)
    torch.testing.assert_close(covariance.diagonal(dim1=-2, dim2=-1), processes().variance(x))
    noisy = processes().with_noise(covariance)
    expected = vector(NOISE)[:, None].expand(2, 3, 6)
    torch.testing.assert_close((noisy - covariance).diagonal(dim1=-2, dim2=-1), expected, rtol=0, atol=1e-12)
    assert (noisy - covariance).count_nonzero() == 2 * 3 * 6


# -- how many members a process is ---------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=1, max_size=200).filter(lambda w: sum(w) > 1e-3), st.integers(1, 100))
def test_no_weight_is_off_by_more_than_one_member(weights: list[float], count: int) -> None:
    shares = vector(weights) / sum(weights)
    members = slots(vector(weights), count)
    assert members.shape == (count,)
    assert torch.equal(members, slots(vector(weights), count))
    held = torch.bincount(members, minlength=len(weights))
    assert len(held) == len(weights)
    assert ((held - count * shares).abs() <= 1 + 1e-9).all()


def test_a_certain_process_is_every_member_and_equal_ones_share_them() -> None:
    certain = torch.zeros(50).double()
    certain[17] = 1.0
    assert set(slots(certain).tolist()) == {17}
    assert torch.bincount(slots(torch.ones(4).double(), 64)).tolist() == [16] * 4
    assert torch.bincount(slots(vector([2.0, 6.0]), 8)).tolist() == [2, 6]  # need not sum to 1


def test_many_light_processes_have_their_members_together() -> None:
    """None of 10,000 deserves a member, but half of the probability lies with them."""
    weights = torch.cat([vector([0.5]), torch.full((10_000,), 0.5 / 10_000).double()])
    members = slots(weights, 64)
    assert (members == 0).sum() == 32
    assert len(members.unique()) == 33


# -- more observations ---------------------------------------------------------------------------------


def assert_same(first: MixtureOfProcesses, second: MixtureOfProcesses) -> None:
    for points in (table(4, 2, seed=11), table(3, 1, 2, seed=12)):
        left, right = first.posterior(points), second.posterior(points)
        torch.testing.assert_close(left.mean, right.mean, rtol=1e-6, atol=1e-8)
        covariances = [each.distribution.covariance_matrix for each in (left, right)]
        torch.testing.assert_close(*covariances, rtol=1e-6, atol=1e-8)


def test_being_told_more_is_being_told_all_at_once() -> None:
    more, observed = table(3, 2, seed=21), table(3, 1, seed=22)
    model = mixture()
    before = model.posterior(more).mean
    together = mixture(codes=torch.cat([CODES, more]), y=torch.cat([Y, observed]))
    assert_same(model.condition_on_observations(more, observed), together)
    one_by_one = model
    for row in range(3):
        one_by_one = one_by_one.condition_on_observations(more[row : row + 1], observed[row : row + 1])
    assert_same(one_by_one, together)
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


# -- BoTorch's tools -----------------------------------------------------------------------------------


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
        told = {"codes": torch.cat([CODES, point]), "y": torch.cat([Y, torch.zeros(1, 1).double()])}
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


# -- noise, transforms, copies -------------------------------------------------------------------------


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
    assert_same(copy, model)
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
