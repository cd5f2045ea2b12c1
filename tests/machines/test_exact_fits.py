"""Algorithm 1's ridge problem for many rows: the same as the dual in fifty digits, or refused."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from support import reference
from tunedprior import WeightPrior, pretrain
from tunedprior.beliefs.reweighted import ReweightedBelief
from tunedprior.errors import InputError
from tunedprior.kernels import Exponential, FreeKernel, Polynomial, Sinh, SquaredExponential
from tunedprior.kernels.explicit_features import select_complete_features
from tunedprior.machines import AlphaFit, FeatureFit, feature_ridge
from tunedprior.machines.feature_ridge import FeatureMap, NormalEquations, solve_exactly

LAM = 1e-8


def rows(count: int = 16, num_inputs: int = 2, noise: float = 0.0) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (count, num_inputs))
    y = 0.5 + 0.4 * np.sin(3 * x[:, 0]) * x[:, -1] + noise * rng.standard_normal(count)
    return torch.as_tensor(x), torch.as_tensor(y)


def fixed(kernel: FreeKernel) -> FreeKernel:
    found: FreeKernel = kernel.double().requires_grad_(False)
    return found


def error(fit: AlphaFit | FeatureFit, kind: str, parameter: float, x: torch.Tensor, y: torch.Tensor) -> float:
    """The largest error of the variances at two points and their covariance, over the mean of the variances."""
    first, second = points = [[0.3, -0.6], [0.9, 0.8]]
    pairs = [(first, first), (second, second), (first, second)]
    exact = np.array(reference.exact_reweighted(kind, parameter, x.tolist(), y.tolist(), LAM, pairs))
    matrix = ReweightedBelief().make_kernel(fit)(torch.tensor(points, dtype=torch.float64)).to_dense().numpy()
    ours = np.array([matrix[0, 0], matrix[1, 1], matrix[0, 1]])
    return float(np.abs(ours - exact).max() / exact[:2].mean())


KERNELS = {
    "squared exponential": (lambda: SquaredExponential(0.5), 0.5),
    "exponential": (lambda: Exponential(1.5), 1.5),
    "polynomial": (lambda: Polynomial(4, 1.0), 1.0),
    "sinh": (lambda: Sinh(2.0), 2.0),
}


@pytest.mark.parametrize("kind", KERNELS)
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_features_are_as_many_as_lambda_asks_for(kind: str, noise: float) -> None:
    make, parameter = KERNELS[kind]
    x, y = rows(noise=noise)
    fit, loo = solve_exactly(fixed(make()), x, y, LAM)
    assert isinstance(fit, FeatureFit)
    exact = getattr(fit.kernel, str(fit.kernel.tuned_parameter)).item()
    assert exact == pytest.approx(parameter)
    assert error(fit, kind, exact, x, y) < feature_ridge.ACCURACY
    assert math.isfinite(loo)


def test_the_features_of_a_millionth_of_the_trace_would_not_do() -> None:
    """What a fit of many rows was, and what that of the other priors is, whose λ has a floor."""
    x, y = rows(noise=0.05)
    kernel = fixed(SquaredExponential(1.5))
    before = NormalEquations.from_rows(FeatureMap.from_largest_features(kernel, x, 2048), x, y).solve(LAM)
    assert error(before, "squared exponential", 1.5, x, y) > 1000 * feature_ridge.ACCURACY


def test_with_too_many_features_every_row_has_an_alpha(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_ridge, "_MOST_FEATURES", 100)
    monkeypatch.setattr("tunedprior.beliefs.reweighted.MOST_ROWS_WITH_ALPHA", 10)
    x, y = rows()
    fit, loo = solve_exactly(fixed(SquaredExponential(0.5)), x, y, LAM)
    assert isinstance(fit, AlphaFit)
    assert error(fit, "squared exponential", 0.5, x, y) < feature_ridge.ACCURACY
    gram = np.exp(-2 * ((x[:, None] - x[None]) ** 2).sum(-1).numpy()) + LAM * np.eye(len(x))
    left_out = []
    for row in range(len(x)):
        others = np.arange(len(x)) != row
        alpha = np.linalg.solve(gram[np.ix_(others, others)], y.numpy()[others])
        left_out.append(float(y[row] - gram[row, others] @ alpha) ** 2)
    assert loo == pytest.approx(np.mean(left_out), rel=1e-4)


def test_what_cannot_be_accurate_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = rows(60, noise=0.05)  # with noise α is so large that its rounding shows, and three features are too few
    monkeypatch.setattr(feature_ridge, "_MOST_FEATURES", 3)
    with pytest.raises(
        InputError, match=r"60 old rows, with λ = 1e-08 .* fewer rows .* larger λ .* prior='reweighted'"
    ):
        solve_exactly(fixed(SquaredExponential(2.0)), x, y, LAM)
    monkeypatch.setattr(feature_ridge, "MOST_ROWS", 50)
    with pytest.raises(InputError, match="Learn from 50 rows or fewer"):
        solve_exactly(fixed(SquaredExponential(0.5)), x, y, 1.0)
    monkeypatch.setattr(feature_ridge, "MOST_ROWS", 60)
    assert isinstance(solve_exactly(fixed(SquaredExponential(0.5)), x, y, 1.0)[0], AlphaFit)


@pytest.mark.parametrize("most", [2048, 20])
def test_as_printed_learns_the_exact_fit_of_all_rows(most: int, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(feature_ridge, "_MOST_FEATURES", most)
    monkeypatch.setattr("tunedprior.beliefs.reweighted.MOST_ROWS_WITH_ALPHA", 10)
    x, _ = rows()
    y = 0.5 + 0.4 * x[:, 0] * x[:, 1]  # smooth, so that few features will do
    old = pd.DataFrame(x.numpy(), columns=["a", "b"]).assign(y=y.numpy())
    space = {"a": (-1.0, 1.0), "b": (-1.0, 1.0)}
    prior = pretrain(old, space, as_printed=True, rows_with_alpha=10, lam_bounds=(LAM, LAM))
    assert prior.lam == pytest.approx(LAM)
    assert isinstance(prior.fit, FeatureFit if most == 2048 else AlphaFit)
    inputs = prior.to_kernel_inputs(prior.box.encode(old[["a", "b"]]))
    assert error(prior.fit, "squared exponential", prior.base.lengthscale.item(), inputs, y) < feature_ridge.ACCURACY
    prior.save(tmp_path / "prior")
    again = WeightPrior.load(tmp_path / "prior")
    torch.testing.assert_close(again.make_kernel()(x).to_dense(), prior.make_kernel()(x).to_dense(), rtol=0, atol=0)


def test_a_kernel_that_only_pairs_of_rows_give_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feature_ridge, "_MOST_FEATURES", 3)
    monkeypatch.setattr("tunedprior.beliefs.feature_variances.select_relevant_features", lambda *_arguments: None)
    x, y = rows()
    old = pd.DataFrame(x.numpy(), columns=["a", "b"]).assign(y=y.numpy())
    with pytest.raises(InputError, match="cannot be computed to 1e-06 of its mean variance"):
        pretrain(old, {"a": (-1.0, 1.0), "b": (-1.0, 1.0)}, as_printed=True, rows_with_alpha=10, lam_bounds=(0.1, 1.0))


def test_what_is_missing_is_added_up_and_not_subtracted() -> None:
    """Σ_j Σ_k e^{-νx²} (νx²)^k/k! over the powers k left out, far below the rounding of the sum over all."""
    x, nu = torch.linspace(-1, 1, 9, dtype=torch.float64)[:, None], 0.5**-2
    kernel = fixed(SquaredExponential(0.5))
    for negligible in (1e-8, 1e-16, 1e-24, 1e-32):
        indices, missing = select_complete_features(kernel, kernel.make_product(x), 2048, negligible)
        kept = set(indices[:, 0].tolist())
        assert kept == set(range(len(kept)))
        sizes = [nu * value**2 for value in x[:, 0].tolist()]
        tail = sum(
            math.exp(-size + k * math.log(size) - math.lgamma(k + 1))
            for size in sizes
            if size
            for k in range(len(kept), 200)
        ) / len(sizes)
        assert tail <= missing <= negligible
        assert missing < 100 * tail
    few, missing = select_complete_features(kernel, kernel.make_product(x), 6, 1e-24)
    assert len(few) == 6
    assert 1e-4 < missing < 1
    assert (
        select_complete_features(kernel, kernel.make_product(torch.rand(5, 4, dtype=torch.float64)), 10, 1e-24)[1]
        == 1.0
    )


def test_rows_and_normal_equations_agree_where_both_are_accurate() -> None:
    x, y = rows(200)
    feature_map = FeatureMap.from_largest_features(fixed(SquaredExponential(0.7)), x, 40)
    direct, squared = (
        FeatureFit.fit_by_rows(feature_map, x, y, 0.1),
        NormalEquations.from_rows(feature_map, x, y).solve(0.1),
    )
    torch.testing.assert_close(direct.weights, squared.weights, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(direct.factor, squared.factor, rtol=1e-9, atol=1e-12)
    assert direct.signal == pytest.approx(squared.signal)
