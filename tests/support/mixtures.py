"""Mixtures of processes to test with, and the loops that say what they must predict."""

from functools import cache, partial

import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound
from botorch.sampling import SobolQMCNormalSampler

from support import reference
from support.builders import vector
from support.cases import number, table
from tunedprior.acquisition.closed_form import (
    ClosedFormAcquisition,
    compute_log_expected_improvement,
    compute_upper_confidence_bound,
)
from tunedprior.beliefs import AlignedKernel, MatchedKernel
from tunedprior.kernels import Polynomial, SquaredExponential
from tunedprior.kernels.sections import KernelStack
from tunedprior.model_averaging.hypotheses import Processes
from tunedprior.model_averaging.mixture import MixtureOfProcesses
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space

BOUNDS = vector([[-1.0, -1.0], [1.0, 1.0]])
BOX = Box.enclose(Space.parse({"a": (-1.0, 1.0), "b": (-1.0, 1.0)}))
LENGTHSCALES = [[0.5, 0.9], [1.5, 1.2]]
ANCHORS, ALPHA = table(4, 2, seed=5), table(4, seed=6)
# Two plain kernels, then `AlignedKernel` twice on the same anchors, then `MatchedKernel`: base length-scale, factor
# of α, λ, size.
ALIGNED = [(0.8, 1.0, 0.1, 0.7), (0.5, 2.0, 0.3, 0.9)]
MATCHED = (0.8, 1.3)
SHARES = [[1.0, 0, 0, 0, 0], [0, 0.3, 0.7, 0, 0], [0, 0.5, 0, 0.5, 0], [0, 0, 0, 0, 1.0]]
NOISE, CONSTANT, AMPLITUDE = [0.01, 0.1, 0.05, 0.02], 0.3, [0.5, 1.0, 0.8, 2.0]
MEMBERS = [3, 0, 1, 1, 0, 2, 3, 0]
CODES, Y = table(5, 2, seed=1), table(5, 1, seed=2)


def four_processes(noise: list[float] = NOISE) -> Processes:
    learnt = [
        AlignedKernel(SquaredExponential(vector([ell, ell])), ANCHORS, factor * ALPHA, lam)
        for ell, factor, lam, _ in ALIGNED
    ]
    base = SquaredExponential(vector([MATCHED[0]] * 2))
    learnt.append(MatchedKernel(base, ANCHORS, ALPHA, by_features=True, tolerance=1e-13))
    stack = KernelStack(vector(LENGTHSCALES), tuple(learnt), (*(size for *_, size in ALIGNED), MATCHED[1]))
    return Processes(stack, vector(SHARES), vector(noise), CONSTANT)


def mixture(members: list[int] = MEMBERS, X: torch.Tensor = CODES, y: torch.Tensor = Y) -> MixtureOfProcesses:
    """Of those four processes."""
    return MixtureOfProcesses(four_processes(), vector(AMPLITUDE), torch.tensor(members), BOX, X, y)


def assert_same_predictions(first: MixtureOfProcesses, second: MixtureOfProcesses) -> None:
    for points in (table(4, 2, seed=11), table(3, 1, 2, seed=12)):
        left, right = first.posterior(points), second.posterior(points)
        torch.testing.assert_close(left.mean, right.mean, rtol=1e-6, atol=1e-8)
        covariances = [each.distribution.covariance_matrix for each in (left, right)]
        torch.testing.assert_close(*covariances, rtol=1e-6, atol=1e-8)


def sampler(count: int = 16) -> SobolQMCNormalSampler:
    return SobolQMCNormalSampler(torch.Size([count]), seed=0)


# -- what it must predict ------------------------------------------------------------------------------


@cache
def _kernel_by_loops(which: int, x: tuple[float, ...], z: tuple[float, ...]) -> float:
    if which < 2:
        return reference.stationary("matern 5/2", LENGTHSCALES[which])(x, z)
    anchors, alpha = ANCHORS.tolist(), ALPHA.tolist()
    if which == 4:
        ell, size = MATCHED
        value = reference.matched(lambda p: reference.squared_exponential_l4(p, [ell, ell]), [x, z], anchors, alpha)
    else:
        ell, factor, lam, size = ALIGNED[which - 2]
        value = reference.aligned(
            lambda p: reference.squared_exponential(p, [ell, ell]), [x, z], anchors, [factor * a for a in alpha], lam
        )
    return complex(value).real / size


def loop_posterior(
    process: int, points: torch.Tensor, X: torch.Tensor = CODES, y: torch.Tensor = Y
) -> tuple[torch.Tensor, torch.Tensor]:
    """Means and covariances of one process at q joint points."""
    kernels = [lambda x, z, which=which: _kernel_by_loops(which, tuple(x), tuple(z)) for which in range(5)]
    kernel = reference.process(kernels, SHARES[process], CONSTANT)
    given = X.tolist(), y[:, 0].tolist(), NOISE[process], AMPLITUDE[process]
    means, covariances = reference.joint_posterior(kernel, *given, points.tolist())
    return vector(means), vector(covariances)


def by_member(points: torch.Tensor, **data: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Loop posteriors of a batch of q joint points: `... m q` and `... m q q`."""
    batch, (q, k) = points.shape[:-2], points.shape[-2:]
    means, covariances = [], []
    for joint in points.reshape(-1, q, k):
        each = [loop_posterior(process, joint, **data) for process in range(len(SHARES))]
        means.append(torch.stack([each[process][0] for process in MEMBERS]))
        covariances.append(torch.stack([each[process][1] for process in MEMBERS]))
    found = torch.stack(means), torch.stack(covariances)
    return found[0].reshape(*batch, len(MEMBERS), q), found[1].reshape(*batch, len(MEMBERS), q, q)


# -- many kernels of all kinds -------------------------------------------------------------------------


def many_kernels(num_inputs: int, others: bool = True) -> KernelStack:
    """Two plain kernels, `AlignedKernel` ones on two sets of anchors and by features, and two that have no rule by
    hand."""
    lengthscales = table(4, num_inputs, low=0.4, high=1.5, seed=1)
    first, second = table(9, num_inputs, seed=5), table(6, num_inputs, seed=8)
    learnt = [
        AlignedKernel(SquaredExponential(lengthscales[2]), first, table(9, seed=6), 0.01, by_features=False),
        AlignedKernel(SquaredExponential(number(0.7)), first, table(9, seed=7), 0.3, by_features=False),
        AlignedKernel(SquaredExponential(lengthscales[3]), second, table(6, seed=7), 0.1, by_features=False),
        AlignedKernel(
            SquaredExponential(2 * lengthscales[3]), second, table(6, seed=7), 0.1, by_features=True, tolerance=0.1
        ),
    ]
    if others:
        learnt.append(AlignedKernel(Polynomial(2), second, table(6, seed=7), 0.1))
        learnt.append(MatchedKernel(SquaredExponential(lengthscales[2]), second, table(6, seed=7), tolerance=1e-3))
    return KernelStack(lengthscales[:2], tuple(learnt), tuple(0.5 + 0.1 * k for k in range(len(learnt))))


def mixture_of_many(num_inputs: int, rows: int = 12, others: bool = True) -> MixtureOfProcesses:
    """Each of those kernels alone, and in pairs."""
    kernels = many_kernels(num_inputs, others)
    shares = torch.eye(len(kernels)).double()
    shares = torch.cat([shares, (shares + 2 * shares.roll(2, 1)) / 3])
    noise = torch.logspace(-4, -1, len(shares)).double()
    amplitude = torch.linspace(0.3, 2.0, len(shares)).double()
    # Every process once, and some of them more often.
    members = torch.cat([torch.arange(len(shares)), torch.arange(64 - len(shares)) ** 2 % len(shares)])
    space = Space.parse({f"x{column}": (-1.0, 1.0) for column in range(num_inputs)})
    X = table(rows, num_inputs, seed=2, low=-1.0, high=1.0)
    y = torch.sin(3 * X.sum(-1, keepdim=True))
    return MixtureOfProcesses(Processes(kernels, shares, noise, 0.3), amplitude, members, Box.enclose(space), X, y)


def make_closed_form(acquisition: LogExpectedImprovement | UpperConfidenceBound) -> ClosedFormAcquisition:
    """The acquisition with gradients by hand that equals one of BoTorch on a mixture."""
    model = acquisition.model
    if isinstance(acquisition, UpperConfidenceBound):
        return ClosedFormAcquisition(
            [model], partial(compute_upper_confidence_bound, model.weights, acquisition.beta.to(model.x).sqrt())
        )
    best = acquisition.best_f.to(model.x)
    return ClosedFormAcquisition([model], partial(compute_log_expected_improvement, model.weights, best))
