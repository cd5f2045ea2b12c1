"""Which features matter: their means, peaks and factors, and the largest of them."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import poisson

from support import reference
from support.builders import vector
from support.cases import number, table
from support.features import ard_kernel, fixed
from tunedprior.beliefs import FixedReweightedKernel, MatchedKernel
from tunedprior.kernels import DirectProduct, FreeKernel, LogRatio, Polynomial, SquaredExponential
from tunedprior.kernels.explicit_features import (
    bound_missing_variance,
    select_largest_features,
    select_relevant_features,
)


@pytest.mark.parametrize("far", [0.6, 1.0, 1.5])
def test_means_peaks_and_factors_of_a_squared_exponential(far: float) -> None:
    lengthscales = [0.2, 0.7, 3.0]
    base = fixed(SquaredExponential(torch.tensor(lengthscales, dtype=torch.float64)))
    reach = torch.tensor([1.0, far, far], dtype=torch.float64)
    means, peaks, factors = (
        base.compute_log_mean_squares(12, reach),
        base.compute_log_peaks(12, reach),
        base.compute_log_factors(12),
    )
    for d, (ell, end) in enumerate(zip(lengthscales, reach.tolist(), strict=True)):
        for power in (0, 1, 2, 5, 12):
            feature = partial(reference.squared_exponential_feature, index=[power], lengthscales=[ell])
            mean = quad(lambda t, f=feature: f([t]) ** 2, 0, end, points=[min(end, 2 * ell)])[0] / end
            peak = max(abs(feature([t])) for t in np.linspace(-end, end, 2001))
            assert means[d, power].exp().item() == pytest.approx(mean, rel=1e-8)
            assert peaks[d, power].exp().item() == pytest.approx(peak, rel=1e-4)
            weight = reference.squared_exponential_squared_weight([power], [ell])
            assert factors[d, power].exp().item() == pytest.approx(weight, rel=1e-12)


@pytest.mark.parametrize(
    ("base", "xi"),
    [
        (DirectProduct(torch.tensor([0.5, 0.0, 2.0, 0.25], dtype=torch.float64)), [0.5, 0.0, 2.0, 0.25, 0.0]),
        (LogRatio(), [0, 2, 0, 2 / 3, 0]),
    ],
    ids=["direct product", "log ratio"],
)
def test_means_peaks_and_factors_of_monomials(base: FreeKernel, xi: list[float]) -> None:
    reach = torch.tensor([0.7, 0.95], dtype=torch.float64)
    means, peaks, factors = (
        base.compute_log_mean_squares(4, reach),
        base.compute_log_peaks(4, reach),
        base.compute_log_factors(4),
    )
    assert factors.exp().flatten().tolist() == pytest.approx(xi)
    for d, end in enumerate(reach.tolist()):
        for power in range(5):
            mean = quad(lambda t, k=power: t ** (2 * k), 0, end)[0] / end
            assert means[d, power].exp().item() == pytest.approx(mean)
            assert peaks[d, power].exp().item() == pytest.approx(end**power)


def test_the_largest_features_are_the_largest() -> None:
    base, lengthscales = ard_kernel(2)
    x = table(8, 2, low=-1, high=1)
    size = {
        index: sum(
            reference.squared_exponential_squared_weight(index, lengthscales)
            * reference.squared_exponential_feature(point, index, lengthscales) ** 2
            for point in x.tolist()
        )
        for index in itertools.product(range(16), repeat=2)
    }
    indices, missing = select_largest_features(base, base.make_product(x), 12, 1e-9)
    assert {tuple(index) for index in indices.tolist()} == set(sorted(size, key=size.get)[-12:])
    assert missing == pytest.approx(1 - sum(sorted(size.values())[-12:]) / 8, rel=1e-6)
    enough, left = select_largest_features(base, base.make_product(x), 1000, 1e-4)
    assert left <= 1e-4
    assert sum(sorted(size.values())[-len(enough) + 1 :]) < (1 - 1e-4) * 8  # one less would not do


def test_features_whose_weights_overflow_count_as_missed() -> None:
    base = fixed(SquaredExponential(number(0.025)))  # τ_i² is largest at i = 1/ℓ² = 1600, and then e^1600/√(2π·1600)
    x = torch.linspace(-1, 1, 201, dtype=torch.float64)[:, None]
    indices, missing = select_largest_features(base, base.make_product(x), 2048, 1e-6)
    powers = indices.flatten().tolist()
    assert sorted(powers) == list(range(max(powers) + 1))
    squares = [k * np.log(1600) - math.lgamma(k + 1) for k in (max(powers), max(powers) + 1)]
    assert squares[0] < 2 * np.log(np.finfo(float).max) < squares[1]
    # Of a row, φ_0² + … + φ_k² is the probability that a Poisson variable with the mean ν x² is at most k.
    kept = poisson.cdf(max(powers), 1600 * x.flatten().numpy() ** 2)
    assert missing == pytest.approx(1 - kept.mean(), rel=1e-9)
    mean = quad(lambda t: poisson.cdf(max(powers), 1600 * t**2), 0, 1, points=[0.7, 0.8])[0]
    assert bound_missing_variance(base, indices, base.make_product(x)) == pytest.approx(1 - mean, rel=1e-6)


def test_where_the_weights_of_all_large_features_overflow_everything_is_missed() -> None:
    base, one_hot = fixed(SquaredExponential(number(0.03))), 2 * torch.eye(4, dtype=torch.float64) - 1
    x = torch.cat([table(4, 1, low=-1, high=1), one_hot], dim=1)
    indices, missing = select_largest_features(base, base.make_product(x), 64, 1e-6)
    assert indices.tolist() == [[0] * 5]
    assert missing == 1


def test_no_bound_holds_for_points_outside_the_box() -> None:
    base = fixed(Polynomial(2, number(1.0)))
    far = base.make_product(torch.tensor([[2.0, 0.0]], dtype=torch.float64))
    found = select_relevant_features(base, far, vector([[1.0]]), weighted=False, remainder=0.0, tolerance=1e-6)
    assert found is None
    kernel = FixedReweightedKernel(base, far.points, [1.0])
    assert not kernel.by_features
    assert MatchedKernel(base, far.points, [1.0]).by_features
