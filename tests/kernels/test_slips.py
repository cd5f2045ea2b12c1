"""The slips of the paper that docs/notation.md lists, each by numbers; 10 is about letters."""

import cmath
import math

import numpy as np
import pytest
import torch

from benchmarks.problems.functions import FUNCTIONS
from benchmarks.problems.kinds import FLIPPED, old_data
from support import reference
from support.builders import normal
from support.cases import number, table
from tunedprior.kernels import Exponential, Polynomial, ReweightedKernel, SquaredExponential
from tunedprior.machines import LeastSquares, SupportVectorClassifier

CORNERS = [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
LABELS = [-1.0, 1.0, 1.0, -1.0]
ALPHA = [label / 8 for label in LABELS]


def quadratic(points: list[list[float]]) -> float:
    return reference.polynomial(points, degree=2, offset=1)


def test_1_the_trained_model_of_example_1_has_the_other_sign() -> None:
    trained = SupportVectorClassifier(lam=1.0).fit(Polynomial(2, number(1.0)), CORNERS, LABELS)
    assert trained.alpha.tolist() == pytest.approx(ALPHA, rel=1e-5)
    for x in ([0.5, 0.4], [-0.3, 0.9]):
        g = sum(alpha * quadratic([corner, x]) for alpha, corner in zip(ALPHA, CORNERS, strict=True))
        assert g == pytest.approx(-x[0] * x[1])


def test_2_the_covariance_of_example_1_holds_a_half() -> None:
    x, z = [0.5, 0.4], [-0.3, 0.9]
    kernel = reference.reweighted(quadratic, [x, z], CORNERS, ALPHA)
    assert kernel == pytest.approx(0.5 * x[0] * x[1] * z[0] * z[1])
    assert kernel != pytest.approx(math.sqrt(0.5) * x[0] * x[1] * z[0] * z[1])


def test_3_the_middle_expression_of_example_1_is_another_kernel() -> None:
    printed = sum((1 + sum(a) * sum(b)) ** 2 for a in CORNERS for b in CORNERS) / 64
    assert printed == 1.25
    assert reference.reweighted(quadratic, [[1.0, 1.0]] * 2, CORNERS, ALPHA) == pytest.approx(0.5)


def test_4_the_coefficients_hold_the_square_of_tau() -> None:
    kernel, anchors, x = Polynomial(2, number(0.8), num_inputs=2), table(4, 2, seed=9), table(5, 2)
    alpha, tau = normal(4), kernel.compute_weights(2)
    s = alpha @ kernel.evaluate_features(anchors, 2)
    g, features = kernel(x, anchors).to_dense() @ alpha, kernel.evaluate_features(x, 2)
    torch.testing.assert_close(features @ (tau**2 * s), g)
    assert not torch.allclose(features @ (tau * s), g, rtol=1e-2)
    # So the prior standard deviation of coefficient i, |τ_A|, is |v_i|/τ_i.
    torch.testing.assert_close(
        ReweightedKernel(kernel, anchors, alpha).compute_weights(2).abs(), (tau**2 * s).abs() / tau
    )


def test_5_the_views_agree_once_the_prior_mean_is_taken_from_y() -> None:
    rng = np.random.default_rng(0)
    theta, covariance, mean, noise = rng.normal(size=(3, 5)), np.diag([0.5, 1.0, 2.0]), rng.normal(size=3), 0.1
    y, at = rng.normal(size=5), rng.normal(size=3)
    precision = np.linalg.inv(covariance) + theta @ theta.T / noise  # Bayes' rule, without a kernel
    exact = at @ np.linalg.solve(precision, np.linalg.solve(covariance, mean) + theta @ y / noise)
    gain = covariance @ theta @ np.linalg.inv(theta.T @ covariance @ theta + noise * np.eye(5))
    assert at @ (mean + gain @ (y - theta.T @ mean)) == pytest.approx(exact)
    assert at @ (mean + gain @ y) != pytest.approx(exact, rel=1e-2)


def test_6_the_norm_in_the_features_of_se_is_that_of_phi() -> None:
    x, exponential = table(3, 2), Exponential(number(1.5), num_inputs=2)
    theta, tau = exponential.evaluate_features(x, 30), exponential.compute_weights(30)
    norm = (tau * theta).norm(dim=1)  # ‖φ_e(x)‖
    torch.testing.assert_close(norm, (0.75 * x.square().sum(1)).exp())
    right, printed = (theta / of[:, None] for of in (norm, (tau * tau * theta).norm(dim=1)))
    expected = SquaredExponential(number(1.5**-0.5))(x).to_dense()
    torch.testing.assert_close((right * tau**2) @ right.mT, expected)
    assert not torch.allclose((printed * tau**2) @ printed.mT, expected, rtol=1e-2)


def test_7_the_log_ratio_has_a_pole_at_the_edge() -> None:
    near = [reference.log_ratio([[x], [x]]).real for x in (0.9, 0.999, 1 - 1e-12)]
    assert near == sorted(near)
    assert near[-1] > 25
    with pytest.raises(ZeroDivisionError):
        reference.log_ratio([[1.0], [1.0]])


def test_8_features_of_one_degree_may_get_different_weights() -> None:
    """A dot-product kernel gives x₀² and x₁² the same weight; what is learnt from g = x₀² does not."""
    x = table(30, 2)
    fit = LeastSquares(1e-6).fit(Polynomial(2, number(1.0), num_inputs=2), x, x[:, 0] ** 2)
    kernel = fit.make_reweighted_kernel()
    weights = dict(
        zip(map(tuple, kernel.list_multi_indices(2).tolist()), kernel.compute_weights(2).tolist(), strict=True)
    )
    assert abs(weights[2, 0]) > 100 * abs(weights[0, 2])


def test_9_a_flipped_response_between_0_and_1_is_not_minus_f() -> None:
    function = FUNCTIONS["Himmelblau"]
    table = old_data(FLIPPED, function, seed=0)
    f = function(table[["x0", "x1"]].to_numpy())
    assert (-f > 0).sum() == 0
    np.testing.assert_allclose(table["y"], 1 - f)


def test_11_easom_gives_no_alpha_only_where_a_bias_takes_the_constant() -> None:
    """Flipped and brought to [0, 1] Easom is 0.991 but for its well, and the dual without a bias has α ≠ 0."""
    function = FUNCTIONS["Easom"]
    flat = 1 - float(function(np.array([0.9, 0.9])))
    assert flat == pytest.approx(0.991, abs=1e-3)
    x = old_data(FLIPPED, function, seed=0)[["x0", "x1"]].to_numpy().tolist()[:12]
    gram = [[complex(reference.squared_exponential([a, b], [0.5, 0.5])).real for b in x] for a in x]
    assert max(map(abs, reference.ridge(gram, [flat] * len(x), 0.01))) > 0.1
    ridge = [[value + 0.01 * (i == j) for j, value in enumerate(row)] for i, row in enumerate(gram)]
    bordered = [[*row, 1.0] for row in ridge] + [[1.0] * len(x) + [0.0]]  # sum(α) = 0
    *alpha, bias = reference.solve(bordered, [flat] * len(x) + [0.0])
    assert alpha == pytest.approx([0.0] * len(x), abs=1e-9)
    assert bias == pytest.approx(flat)


def test_12_a_fractional_power_of_tau_needs_its_absolute_value() -> None:
    """K₄ of a re-weighted kernel from φ₄ = |τ|^{1/2} ϑ; where τ_A < 0, τ^{1/2} is not real."""
    kernel = ReweightedKernel(Polynomial(2, number(0.8), num_inputs=2), table(4, 2, seed=9), normal(4))
    tau = kernel.compute_weights(2).tolist()
    assert min(tau) < 0
    assert abs(cmath.sqrt(min(tau)).imag) > 0
    xs = [table(1, 2, seed=k) for k in range(4)]
    implied = torch.stack([kernel.evaluate_implied_features(x, 2, 4)[0] for x in xs])
    torch.testing.assert_close(implied.prod(0).sum(), kernel.evaluate_m_kernel(*xs).squeeze())
