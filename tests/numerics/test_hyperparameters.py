"""Length-scales and noise: their posterior with its gradient by hand, where it is largest, and weighted draws."""

import math
from itertools import product

import numpy as np
import pytest
import torch

from support import reference
from support.builders import standardised, vector
from support.cases import table
from tunedprior.numerics.hyperparameters import HyperPrior, compute_normal_log_density, draw_hyperparameters
from tunedprior.numerics.linalg import compute_log_evidence
from tunedprior.numerics.stationary import Axes

KERNELS = {"matern 5/2": False, "squared exponential": True}


def data(rows: int, num_inputs: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = table(rows, num_inputs, seed=3, low=-1.0, high=1.0)
    y = torch.sin(4 * x[:, 0]) + 0.1 * table(rows, seed=4)
    return x, standardised(y) if rows > 1 else torch.ones(1).double()


def a_prior(num_axes: int, kernel: str = "matern 5/2", constant: float = 0.7) -> HyperPrior:
    return HyperPrior.from_axis_count(
        num_axes, median=0.8, shared=0.6, own=0.9, noise=(-3.0, 1.5), constant=constant, certainty=1.3,
        smooth=KERNELS[kernel],
    )  # fmt: skip


def log_posterior_by_loops(
    prior: HyperPrior, kernel: str, x: torch.Tensor, y: torch.Tensor, theta: list[float]
) -> float:
    """log p(y | θ) + log p(θ), up to a constant that does not depend on θ."""
    plain = reference.stationary(kernel, np.exp(theta[:-1]).tolist())
    rows = x.tolist()
    entries = [[plain(p, q) + prior.constant for q in rows] for p in rows]
    covariance = vector(entries) + math.exp(theta[-1]) * torch.eye(len(rows)).double()
    factor = torch.linalg.cholesky(covariance)
    white = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
    evidence = compute_log_evidence(factor.diagonal(), white, prior.certainty).item()
    density = torch.distributions.MultivariateNormal(prior.mean, prior.covariance)
    return evidence + density.log_prob(vector(theta)).item()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("rows", "num_inputs"), [(1, 1), (2, 3), (20, 2), (40, 5)])
def test_the_posterior_and_its_gradient_are_those_of_loops(rows: int, num_inputs: int, kernel: str) -> None:
    (x, y), prior = data(rows, num_inputs), a_prior(num_inputs, kernel)
    squares = Axes.make_numeric(num_inputs).compute_squared_distances(x, x)
    first, second = ([*np.linspace(low, 0.7, num_inputs), noise] for low, noise in ((-0.9, -6.0), (-0.2, -1.0)))
    found = [prior.compute_log_posterior(vector(theta), squares, y) for theta in (first, second)]
    expected = [log_posterior_by_loops(prior, kernel, x, y, theta) for theta in (first, second)]
    assert found[0][0] - found[1][0] == pytest.approx(expected[0] - expected[1], abs=1e-8)
    for place in range(num_inputs + 1):
        ends = []
        for sign in (1, -1):
            moved = vector(second)
            moved[place] += sign * 1e-5
            ends.append(prior.compute_log_posterior(moved, squares, y)[0])
        assert found[1][1][place].item() == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4, abs=1e-5)


def test_the_most_probable_is_that_of_a_grid() -> None:
    (x, y), prior = data(8, 1), a_prior(1)
    squares = Axes.make_numeric(1).compute_squared_distances(x, x)
    found = prior.find_most_probable(squares, y)
    grid = product(np.linspace(-3, 4, 31), np.linspace(-9, 1, 31))
    best = max(prior.compute_log_posterior(vector(theta), squares, y)[0] for theta in grid)
    assert prior.compute_log_posterior(found, squares, y)[0] > best - 1e-6
    assert prior.compute_log_posterior(found + 0.3, squares, y)[0] < best - 1e-3


def test_the_best_of_several_starts_is_kept() -> None:
    """A fast wave, which a long length-scale takes for noise: two maxima of the posterior."""
    x = torch.linspace(-1, 1, 30).double()[:, None]
    y = standardised(torch.sin(20 * x[:, 0]) + 0.3 * x[:, 0])
    prior = HyperPrior.from_axis_count(
        1, median=1.6, shared=1.5, own=1.5, noise=(-2.0, 2.0), constant=0.0, certainty=1.0
    )
    starts = [torch.tensor(np.log(start)) for start in ((0.15, 0.01), (20.0, 1.0))]
    squares = Axes.make_numeric(1).compute_squared_distances(x, x)
    alone = [prior.find_most_probable(squares, y, [start])[0].exp().item() for start in starts]
    assert alone[0] < 0.5 < 1.0 < alone[1]
    for order in (starts, starts[::-1]):
        assert prior.find_most_probable(squares, y, order)[0].exp().item() == pytest.approx(alone[0], rel=1e-2)


def test_the_prior_has_its_moments() -> None:
    """Length-scales share a part, the noise is apart, and all grow with the root of the number of parameters."""
    prior = HyperPrior.from_axis_count(
        4, median=0.5, shared=0.6, own=0.8, noise=(-3.0, 2.0), constant=0.0, certainty=1.0
    )
    drawn = prior.sample(4096)
    torch.testing.assert_close(drawn.mean(0), vector([0.0] * 4 + [-3.0]), rtol=0, atol=0.05)
    expected = torch.full((5, 5), 0.36).double() + 0.64 * torch.eye(5).double()
    expected[-1], expected[:, -1] = 0.0, 0.0
    expected[-1, -1] = 4.0
    torch.testing.assert_close(drawn.T.cov(), expected, rtol=0, atol=0.12)
    assert torch.equal(drawn, prior.sample(4096))
    known = prior.fix_noise(0.25).sample(64)
    assert (known[:, -1] - math.log(0.25)).abs().max() < 0.05


@pytest.mark.parametrize("num_inputs", [1, 3])
def test_weighted_draws_estimate_the_integral_over_the_prior(num_inputs: int) -> None:
    (x, y), prior = data(14, num_inputs), a_prior(num_inputs)
    squares = Axes.make_numeric(num_inputs).compute_squared_distances(x, x)

    def log_likelihood(theta: torch.Tensor) -> torch.Tensor:
        values = vector([prior.compute_log_posterior(one, squares, y)[0] for one in theta])
        return values - compute_normal_log_density(theta, prior.mean, prior.root)

    many = prior.sample(2048)
    expected = (log_likelihood(many).logsumexp(0) - math.log(len(many))).item()
    found = draw_hyperparameters(prior, prior.sample(32), squares, y, 32, 1.3)
    estimate = (found.log_weight + log_likelihood(found.theta)).logsumexp(0).item()
    assert estimate == pytest.approx(expected, abs=0.25)
    assert found.theta.shape == (64, num_inputs + 1)
    torch.testing.assert_close(found.theta[32], found.most_probable)  # the first of the draws near the top
    share = (found.log_weight + log_likelihood(found.theta)).softmax(0)
    assert share[32:].sum() > 0.5  # which is where the posterior is
    assert 1 / share.square().sum() > 5
