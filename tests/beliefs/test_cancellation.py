"""Sums over pairs of old settings whose terms cancel are refused; those that are not refused are right."""

import pytest
import torch

from support.builders import belief_kernel
from support.cases import number, table
from tunedprior.errors import InputError
from tunedprior.kernels import SquaredExponential
from tunedprior.machines import LeastSquares


def fit_of(lengthscale: float, lam: float):
    anchors = table(30, 2, low=-1, high=1)
    y = torch.sin(3 * anchors[:, 0]) + anchors[:, 1] ** 2
    return LeastSquares(lam).fit(SquaredExponential(number(lengthscale)), anchors, y)


@pytest.mark.parametrize("name", ["matched", "reweighted"])
@pytest.mark.parametrize("lengthscale", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("lam", [1e-12, 1e-8, 1e-4])
def test_a_sum_over_pairs_is_right_or_refused(name: str, lengthscale: float, lam: float) -> None:
    fit, x = fit_of(lengthscale, lam), table(20, 2, seed=1, low=-1, high=1)
    given = (name, fit.kernel, fit.anchors, fit.alpha)
    exact = belief_kernel(*given, by_features=True, tolerance=1e-10)(x).to_dense()
    try:
        summed = belief_kernel(*given, by_features=False)(x).to_dense()
    except InputError:
        assert lam < 1e-4  # nothing that an ordinary λ gives is refused
        assert lengthscale > 1
    else:
        assert (summed - exact).abs().max() < 2e-3 * exact.diagonal().mean()
        assert torch.linalg.eigvalsh(summed).min() > -2e-3 * exact.diagonal().mean()


def test_the_worst_case_is_refused() -> None:
    fit = fit_of(2.0, 1e-12)
    with pytest.raises(InputError, match="The sum over pairs of old settings cancels: its terms add up to"):
        belief_kernel("matched", fit.kernel, fit.anchors, fit.alpha, by_features=False)
