"""The evidence of a squared exponential kernel, its gradient by hand, and where it is largest."""

import math

import numpy as np
import pytest
import torch
from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior

from support.builders import standardised
from support.cases import table
from tunedprior.numerics.evidence import (
    _AMPLITUDE_CERTAINTY,
    _evidence_and_gradient,
    amplitude,
    lengthscale_prior,
    log_evidence,
    most_probable,
    profile_log_evidence,
)
from tunedprior.numerics.squared_exponentials import squared_differences


def data(rows: int, num_inputs: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = table(rows, num_inputs, seed=3, low=-1.0, high=1.0)
    y = torch.sin(4 * x[:, 0]) + 0.1 * table(rows, seed=4)
    return x, standardised(y)


def by_autograd(x: torch.Tensor, y: torch.Tensor, logs: torch.Tensor) -> torch.Tensor:
    """The evidence as its definition has it, with PyTorch's own derivatives."""
    lengthscale, noise = logs[:-1].exp(), logs[-1].exp()
    gram = (-(((x[:, None] - x) / lengthscale) ** 2).sum(-1) / 2).exp()
    factor = torch.linalg.cholesky(gram + noise * torch.eye(len(y)).double())
    white = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
    return log_evidence(factor.diagonal(), white, _AMPLITUDE_CERTAINTY)


@pytest.mark.parametrize(("rows", "num_inputs"), [(1, 1), (2, 3), (20, 1), (20, 2), (60, 5)])
@pytest.mark.parametrize("noise", [1e-4, 0.3])
def test_the_gradient_by_hand_is_that_of_the_definition(rows: int, num_inputs: int, noise: float) -> None:
    x, y = data(rows, num_inputs) if rows > 1 else (table(1, num_inputs), torch.ones(1).double())
    theta = torch.cat([torch.linspace(0.4, 2.0, num_inputs), torch.tensor([noise])]).double()
    squares = squared_differences(x, x)
    value, gradient = _evidence_and_gradient(y, squares, theta)
    logs = theta.log().requires_grad_()
    expected = by_autograd(x, y, logs)
    (slopes,) = torch.autograd.grad(expected, logs)
    assert value == pytest.approx(expected.item(), rel=1e-10, abs=1e-10)
    torch.testing.assert_close(gradient, slopes, rtol=1e-7, atol=1e-8)
    step = 1e-5
    for place in range(len(logs)):
        shift = step * torch.eye(len(logs)).double()[place]
        ends = [_evidence_and_gradient(y, squares, (logs.detach() + sign * shift).exp())[0] for sign in (1, -1)]
        assert gradient[place].item() == pytest.approx(np.subtract(*ends) / (2 * step), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("num_inputs", [1, 2])
def test_the_most_probable_length_scales_are_those_of_a_grid(num_inputs: int) -> None:
    x = table(8, num_inputs, seed=3)
    y = standardised(torch.sin(4 * x[:, 0]) + 0.1 * table(8, seed=4))
    lengthscales, noises = (0.5, 1.0), (-3.0, 1.5)
    starts = [(length, noise) for length in (0.3, 1.0, 3.0) for noise in (0.01, 0.3)]
    found = most_probable(x, y, starts, lengthscales, noises)
    assert found.shape == (num_inputs,)

    def log_posterior(log_lengthscale: np.ndarray, log_noise: np.ndarray) -> np.ndarray:
        """At every row; the amplitude's integral in closed form, as the evidence above has it."""
        squares = ((x[:, None] - x).numpy() / np.exp(log_lengthscale)[:, None, None, :]) ** 2
        covariance = np.exp(-squares.sum(-1) / 2) + np.exp(log_noise)[:, None, None] * np.eye(8)
        quadratic = (np.linalg.solve(covariance, y.numpy()[:, None])[..., 0] * y.numpy()).sum(-1)
        evidence = -np.linalg.slogdet(covariance)[1] / 2 - (1 + 8 / 2) * np.log(1 + quadratic / 2)
        log_prior = -(((log_lengthscale - lengthscales[0]) / lengthscales[1]) ** 2).sum(-1) / 2
        return evidence + log_prior - ((log_noise - noises[0]) / noises[1]) ** 2 / 2

    axes = [np.linspace(np.log(0.15), np.log(20), 30)] * num_inputs + [np.linspace(-9, 1, 30)]
    grid = np.stack(np.meshgrid(*axes), -1).reshape(-1, num_inputs + 1)
    best = log_posterior(grid[:, :-1], grid[:, -1]).max()
    finely = np.linspace(-11, 1, 400)
    reached = log_posterior(np.tile(found.log().numpy(), (400, 1)), finely).max()
    assert reached > best - 1e-3
    away = log_posterior(np.tile(found.log().numpy() + 0.3, (400, 1)), finely).max()
    assert away < reached - 1e-3


def test_the_profile_is_the_largest_over_the_amplitude() -> None:
    root = table(5, 5)
    covariance, y = root @ root.mT + torch.eye(5).double(), table(5, seed=1)
    misfit = float(y @ torch.linalg.solve(covariance, y))
    found = profile_log_evidence(float(torch.logdet(covariance)), misfit, 5)

    def at(amplitude: float) -> float:
        scaled = torch.distributions.MultivariateNormal(torch.zeros(5).double(), amplitude * covariance)
        return float(scaled.log_prob(y)) + 5 / 2 * (math.log(2 * math.pi) + 1)  # the constant that is left out

    best = misfit / 5
    assert found == pytest.approx(at(best), rel=1e-12)
    assert max(at(best * factor) for factor in (0.5, 0.99, 1.01, 2.0)) < found


@pytest.mark.parametrize("num_inputs", [1, 2, 7])
def test_the_prior_of_length_scales_is_that_of_botorch_on_a_wider_box(num_inputs: int) -> None:
    prior = get_covar_module_with_dim_scaled_prior(num_inputs).lengthscale_prior
    middle, spread = lengthscale_prior(num_inputs)
    assert middle == pytest.approx(prior.loc.item() + math.log(2), rel=1e-6)
    assert spread == pytest.approx(prior.scale.item(), rel=1e-6)


def test_the_best_of_several_starts_is_kept() -> None:
    """A fast wave, which a long length-scale takes for noise: two maxima of the posterior."""
    x = torch.linspace(-1, 1, 30).double()[:, None]
    y = standardised(torch.sin(20 * x[:, 0]) + 0.3 * x[:, 0])
    priors = (0.5, 2.0), (-2.0, 2.0)
    starts = [(0.15, 0.01), (20.0, 1.0)]
    alone = [most_probable(x, y, [start], *priors).item() for start in starts]
    assert alone[0] < 0.3 < 1.0 < alone[1]
    for order in (starts, starts[::-1]):
        assert most_probable(x, y, order, *priors).item() == pytest.approx(alone[0], rel=1e-3)


@pytest.mark.parametrize("certainty", [1.0, 30.0])
def test_the_amplitude_is_that_of_a_numerical_posterior(certainty: float) -> None:
    """1/E[1/a | y] with p(a | y) ∝ N(y; 0, aI) inverse gamma(a; c, c), by summing over a."""
    y = np.array([0.5, -2.0, 1.0, 3.0, 0.1])
    a = np.geomspace(1e-3, 1e4, 20001)
    logs = -len(y) / 2 * np.log(a) - y @ y / (2 * a) - (certainty + 1) * np.log(a) - certainty / a + np.log(a)
    weights = np.exp(logs - logs.max())
    expected = 1 / ((weights / a).sum() / weights.sum())
    found = amplitude(torch.as_tensor(y)[None, :, None], torch.tensor([certainty]).double())
    assert found.tolist() == pytest.approx([expected], rel=1e-6)
