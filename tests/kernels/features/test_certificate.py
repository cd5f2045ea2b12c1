"""Which features matter: their means, peaks and factors, and the largest of them."""

import itertools
from functools import partial

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from support import reference
from support.builders import vector
from support.cases import number, table
from support.features import ard_kernel, fixed
from tunedprior.beliefs import FixedReweighted, Matched
from tunedprior.kernels import DirectProduct, FreeKernel, LogRatio, Polynomial, SquaredExponential
from tunedprior.kernels.features.certificate import features_that_matter, largest_features


@pytest.mark.parametrize("far", [0.6, 1.0, 1.5])
def test_means_peaks_and_factors_of_a_squared_exponential(far: float) -> None:
    lengthscales = [0.2, 0.7, 3.0]
    base = fixed(SquaredExponential(torch.tensor(lengthscales, dtype=torch.float64)))
    reach = torch.tensor([1.0, far, far], dtype=torch.float64)
    means, peaks, factors = base.log_mean_squares(12, reach), base.log_peaks(12, reach), base.log_factors(12)
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
    means, peaks, factors = base.log_mean_squares(4, reach), base.log_peaks(4, reach), base.log_factors(4)
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
    indices, missing = largest_features(base, base.product(x), 12, 1e-9)
    assert {tuple(index) for index in indices.tolist()} == set(sorted(size, key=size.get)[-12:])
    assert missing == pytest.approx(1 - sum(sorted(size.values())[-12:]) / 8, rel=1e-6)
    enough, left = largest_features(base, base.product(x), 1000, 1e-4)
    assert left <= 1e-4
    assert sum(sorted(size.values())[-len(enough) + 1 :]) < (1 - 1e-4) * 8  # one less would not do


def test_no_bound_holds_for_points_outside_the_box() -> None:
    base = fixed(Polynomial(2, number(1.0)))
    far = base.product(torch.tensor([[2.0, 0.0]], dtype=torch.float64))
    found = features_that_matter(base, far, vector([[1.0]]), weighted=False, remainder=0.0, tolerance=1e-6)
    assert found is None
    kernel = FixedReweighted(base, far.points, [1.0])
    assert not kernel.by_features
    assert Matched(base, far.points, [1.0]).by_features
