"""The evidence of observations: its largest value over the amplitude, and the amplitude itself."""

import math

import numpy as np
import pytest
import torch

from support.cases import table
from tunedprior.numerics.linalg import compute_amplitude, compute_profile_log_evidence


def test_the_profile_is_the_largest_over_the_amplitude() -> None:
    root = table(5, 5)
    covariance, y = root @ root.mT + torch.eye(5).double(), table(5, seed=1)
    misfit = float(y @ torch.linalg.solve(covariance, y))
    found = compute_profile_log_evidence(float(torch.logdet(covariance)), misfit, 5)

    def at(amplitude: float) -> float:
        scaled = torch.distributions.MultivariateNormal(torch.zeros(5).double(), amplitude * covariance)
        return float(scaled.log_prob(y)) + 5 / 2 * (math.log(2 * math.pi) + 1)  # the constant that is left out

    best = misfit / 5
    assert found == pytest.approx(at(best), rel=1e-12)
    assert max(at(best * factor) for factor in (0.5, 0.99, 1.01, 2.0)) < found


@pytest.mark.parametrize("certainty", [1.0, 30.0])
def test_the_amplitude_is_that_of_a_numerical_posterior(certainty: float) -> None:
    """1/E[1/a | y] with p(a | y) ∝ N(y; 0, aI) inverse gamma(a; c, c), by summing over a."""
    y = np.array([0.5, -2.0, 1.0, 3.0, 0.1])
    a = np.geomspace(1e-3, 1e4, 20001)
    logs = -len(y) / 2 * np.log(a) - y @ y / (2 * a) - (certainty + 1) * np.log(a) - certainty / a + np.log(a)
    weights = np.exp(logs - logs.max())
    expected = 1 / ((weights / a).sum() / weights.sum())
    found = compute_amplitude(torch.as_tensor(y)[None, :, None], torch.tensor([certainty]).double())
    assert found.tolist() == pytest.approx([expected], rel=1e-6)
