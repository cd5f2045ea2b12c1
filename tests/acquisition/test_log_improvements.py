"""Expected improvements against numerical integration, in the middle and in the tails."""

import math

import mpmath
import pytest
import torch

from tunedprior.acquisition.closed_form import (
    compute_log_closeness,
    compute_log_excess,
    compute_log_probability_within,
)

mpmath.mp.dps = 40


def tensor(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def exact_excess(level: float, mean: float, sigma: float) -> mpmath.mpf:
    """E[(f - level)₊] by the formula, in 40 digits."""
    u = (mpmath.mpf(mean) - level) / sigma
    return sigma * (mpmath.npdf(u) + u * mpmath.ncdf(u))


def exact_closeness(distance: float, mean: float, sigma: float, low: float, high: float) -> mpmath.mpf:
    """E[(distance - dist(f, [low, high]))₊] as four ramps, in 40 digits."""
    d = mpmath.mpf(distance)
    edges = (low - d, mpmath.mpf(low), mpmath.mpf(high), high + d)
    ramps = [exact_excess(edge, mean, sigma) for edge in edges]
    return ramps[0] - ramps[1] - ramps[2] + ramps[3]


@pytest.mark.parametrize("mean", [-40.0, -3.0, 0.0, 2.0, 50.0])
@pytest.mark.parametrize("sigma", [0.01, 1.0, 7.0])
def test_excess(mean: float, sigma: float) -> None:
    wanted = exact_excess(0.3, mean, sigma)
    if wanted > mpmath.mpf(10) ** -30:  # 40 digits say no more
        found = float(compute_log_excess(tensor(0.3), tensor(mean), tensor(sigma)))
        assert found == pytest.approx(float(mpmath.log(wanted)), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("mean", [-5.0, -0.4, 0.5, 0.6, 1.9, 6.0])
@pytest.mark.parametrize("sigma", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("distance", [1e-6, 1e-2, 0.5, 4.0])
@pytest.mark.parametrize("ends", [(0.5, 0.5), (0.2, 0.9)], ids=["value", "range"])
def test_closeness(mean: float, sigma: float, distance: float, ends: tuple[float, float]) -> None:
    wanted = exact_closeness(distance, mean, sigma, *ends)
    if wanted > mpmath.mpf(10) ** -25:
        found = float(compute_log_closeness(tensor(distance), tensor(mean), tensor(sigma), *ends))
        assert found == pytest.approx(float(mpmath.log(wanted)), abs=2e-5)


@pytest.mark.parametrize("ends", [(-math.inf, 0.4), (0.4, math.inf), (-0.5, 0.4)])
@pytest.mark.parametrize("mean", [-9.0, 0.0, 0.7, 8.0])
def test_within(ends: tuple[float, float], mean: float) -> None:
    low, high = (mpmath.ncdf((mpmath.mpf(end) - mean) / 0.8) for end in ends)
    wanted = float(mpmath.log(high - low))
    assert float(compute_log_probability_within(*ends, tensor(mean), tensor(0.8))) == pytest.approx(
        wanted, rel=1e-6, abs=1e-9
    )


def test_derivatives_are_those_of_the_values() -> None:
    mean = tensor(-2.0, 0.1, 0.8, 3.0).requires_grad_()
    sigma = tensor(0.5, 1.0, 0.3, 2.0).requires_grad_()
    assert torch.autograd.gradcheck(lambda m, s: compute_log_excess(tensor(0.3), m, s), (mean, sigma))
    assert torch.autograd.gradcheck(lambda m, s: compute_log_closeness(tensor(0.4), m, s, 0.2, 0.5), (mean, sigma))
    assert torch.autograd.gradcheck(lambda m, s: compute_log_closeness(tensor(1e-5), m, s, 0.2, 0.2), (mean, sigma))
    assert torch.autograd.gradcheck(lambda m, s: compute_log_probability_within(-0.1, 0.5, m, s), (mean, sigma))
