"""The weight-space posterior equals the function-space Gaussian process on the same kernel."""

import gpytorch
import pytest
import torch

from support.builders import normal
from support.cases import number, table
from tunedprior.errors import InputError
from tunedprior.kernels import FreeKernel, Polynomial, ReweightedKernel, SquaredExponential
from tunedprior.kernels.weight_space import compute_function_posterior, compute_weight_posterior

NOISE = 0.05


class FeatureMean(gpytorch.means.Mean):
    """µ(x) = µᵀϑ(x)."""

    def __init__(self, kernel: FreeKernel, degree: int, mu: torch.Tensor) -> None:
        super().__init__()
        self.kernel, self.degree, self.mu = kernel, degree, mu

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.kernel.evaluate_features(x, self.degree) @ self.mu


class FunctionSpace(gpytorch.models.ExactGP):
    """The same process by GPyTorch, which knows nothing of weights."""

    def __init__(self, x, y, kernel, mean) -> None:
        likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=gpytorch.constraints.Positive())
        likelihood.double().noise = NOISE
        super().__init__(x, y, likelihood)
        self.mean_module, self.covar_module = mean, kernel

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


KERNELS = {
    "polynomial": (Polynomial(3, number(0.7)), 3),
    "reweighted": (ReweightedKernel(Polynomial(3, number(0.7)), table(5, 2, seed=8), table(5, seed=9)), 3),
    "squared exponential": (SquaredExponential(number(1.0)), 24),
}


@pytest.mark.parametrize("with_mean", [False, True], ids=["zero mean", "prior mean"])
@pytest.mark.parametrize("name", KERNELS)
def test_equals_the_function_space(name: str, with_mean: bool) -> None:
    kernel, degree = KERNELS[name]
    x, new = table(9, 2), table(4, 2, seed=1)
    y = torch.sin(3 * x[:, 0]) + x[:, 1] ** 2
    weights = kernel.compute_weights(degree, num_inputs=2)
    mu = normal(len(weights), seed=2) * with_mean
    posterior = compute_weight_posterior(
        kernel.evaluate_features(x, degree), weights, y, NOISE, mu if with_mean else None
    )
    ours = compute_function_posterior(posterior, kernel.evaluate_features(new, degree))
    theirs = FunctionSpace(x, y, kernel, FeatureMean(kernel, degree, mu)).eval()(new)
    torch.testing.assert_close(ours.mean, theirs.mean, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(ours.covariance, theirs.covariance_matrix, rtol=1e-8, atol=1e-8)


def test_one_weight_by_hand() -> None:
    # f(x) = v x with v ~ N(1, 4), one observation y = 3 at x = 1 with noise 1: precision 1/4 + 1.
    posterior = compute_weight_posterior(*map(torch.tensor, ([[1.0]], [2.0], [3.0])), 1.0, torch.tensor([1.0]))
    assert posterior.mean.item() == pytest.approx((1 / 4 + 3) / (5 / 4))
    assert posterior.covariance.item() == pytest.approx(4 / 5)


def test_a_dead_feature_stays_at_its_prior_mean() -> None:
    posterior = compute_weight_posterior(table(6, 3), torch.tensor([1.0, 0.0, 1.0]).double(), table(6, seed=1), 0.1)
    assert posterior.mean[1].item() == 0.0
    assert posterior.covariance[1].abs().max().item() == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise_variance": 0.0}, "σ² must be a finite number above 0"),
        ({"weights": torch.ones(2).double()}, r"got features \(6, 3\), observations \(6,\), weights \(2,\)"),
        ({"y": table(6, 1)}, r"observations \(6, 1\)"),
        ({"y": torch.full((6,), float("nan")).double()}, "Observations must be finite; 6 of 6"),
    ],
)
def test_bad_input_says_what_to_do(change: dict, message: str) -> None:
    good = {"features": table(6, 3), "weights": torch.ones(3).double(), "y": table(6), "noise_variance": 0.1}
    with pytest.raises(InputError, match=message):
        compute_weight_posterior(**(good | change))
