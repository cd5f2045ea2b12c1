"""Beliefs against loops and by hand, and as covariances."""

from collections.abc import Callable
from functools import partial

import pytest
import torch

from support import reference
from support.builders import LAM, belief_kernel, learnt, normal, response_at, vector
from support.cases import ARD, CASES, IDS, Case, number, table
from support.features import ard_kernel, features_by_loops, gram_by_loops, random_indices
from tunedprior.beliefs import AlignedFeatureKernel, AlignedKernel, MatchedKernel, UncertainKernel
from tunedprior.kernels import Linear, Polynomial, SquaredExponential
from tunedprior.kernels.anchors import FixedKernel

LENGTHSCALES = {"squared exponential": [0.8, 0.8], "squared exponential, ARD": ARD}


def four(case: Case):
    """The loop for L₄ of a case."""
    if case.name in LENGTHSCALES:
        return partial(reference.squared_exponential_l4, lengthscales=LENGTHSCALES[case.name])
    return partial(reference.l4, squared_weight=case.squared_weight, feature=case.feature, max_degree=case.max_degree)


def kernel_and_loop(name: str, case: Case) -> tuple[FixedKernel, Callable]:
    """A belief of a case's kernel, beside what it must equal."""
    anchors, alpha = table(3, 2, seed=9, low=-0.7, high=0.7), normal(3)
    given = (anchors.tolist(), alpha.tolist())
    if name == "aligned":
        return AlignedKernel(case.make(), anchors, alpha, LAM), lambda p: reference.aligned(case.loop, p, *given, LAM)
    kernel = belief_kernel(name, case.make(), anchors, alpha, tolerance=1e-12)
    if name == "matched":
        return kernel, lambda p: reference.matched(four(case), p, *given)
    return kernel, lambda p: reference.uncertain(case.loop, four(case), p, *given, LAM)


@pytest.mark.parametrize("name", ["matched", "uncertain", "aligned"])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_equals_loops(case: Case, name: str) -> None:
    kernel, loop = kernel_and_loop(name, case)
    xs = [table(2, 2, seed=1, low=-0.7, high=0.7), table(3, 2, seed=2, low=-0.7, high=0.7)]
    values = kernel(*xs).to_dense()
    assert values.shape == (2, 3)
    for choice, expected in reference.every_choice(loop, [x.tolist() for x in xs]).items():
        assert values[choice].item() == pytest.approx(expected, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("name", ["matched", "uncertain", "aligned"])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_gradients_equal_loops(case: Case, name: str) -> None:
    kernel, loop = kernel_and_loop(name, case)
    points = [[0.4, -0.6], [-0.3, 0.0]]  # of either sign, and at 0
    xs = [torch.tensor([point], dtype=torch.float64, requires_grad=True) for point in points]
    gradients = torch.autograd.grad(kernel(*xs).to_dense().sum(), xs)
    for argument in range(2):
        expected = reference.gradient(loop, points, argument)
        assert gradients[argument][0].tolist() == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_aligned_features_equal_loops() -> None:
    base, lengthscales = ard_kernel(2)
    indices, x, z = random_indices(2, 7, seed=2), table(3, 4, 2), table(5, 2, seed=1)
    weights, known = table(7, seed=3), table(7, 2, seed=4) / 4
    kernel = AlignedFeatureKernel(base, indices, weights, known, 0.7)
    squares = [reference.squared_exponential_squared_weight(index, lengthscales) for index in indices.tolist()]
    tau = vector(squares).sqrt()
    values = kernel(x, z).to_dense()
    for place in range(3):
        phi, other = (tau[:, None] * features_by_loops(points, indices, lengthscales) for points in (x[place], z))
        prior = gram_by_loops(x[place], z, lengthscales)
        expected = torch.outer(weights @ phi, weights @ other) + 0.7 * (prior - phi.mT @ known @ known.mT @ other)
        torch.testing.assert_close(values[place], expected, rtol=0, atol=1e-6)


def test_one_anchor_and_a_linear_kernel() -> None:
    # φ = x, ŵ = αa = (2, -1), K_A = 1.25, M = 1/1.5, s_f² = α²·1.5 = 6; E[w²|A] = ŵ² + s_f² (1 - a²M).
    a, x, z = [1.0, -0.5], [[0.3, 0.4]], [[-0.2, 0.5]]
    products = torch.tensor([-0.06, 0.2], dtype=torch.float64)
    given = (Linear(), [a], [2.0])
    x, z = (torch.tensor(point, dtype=torch.float64) for point in (x, z))
    assert MatchedKernel(*given)(x, z).to_dense().item() == pytest.approx(4 * -0.06 + 1 * 0.2)
    e = [4 + 6 * (1 - 1 / 1.5), 1 + 6 * (1 - 0.25 / 1.5)]
    assert UncertainKernel(*given, 0.25)(x, z).to_dense().item() == pytest.approx(e[0] * -0.06 + e[1] * 0.2)
    g_x, g_z = 2 * 0.3 - 0.4, 2 * -0.2 - 0.5
    left_open = products.sum().item() - (0.3 - 0.2) * (-0.2 - 0.25) / 1.5
    aligned = AlignedKernel(*given, 0.25)
    assert aligned(x, z).to_dense().item() == pytest.approx(g_x * g_z + 6 * left_open)
    assert aligned.evaluate_mean(torch.cat([x, z])).tolist() == pytest.approx([g_x, g_z])


def test_xor_is_matched_by_the_product_alone() -> None:
    corners = torch.tensor([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    alpha = torch.tensor([-1.0, 1.0, 1.0, -1.0], dtype=torch.float64) / 8
    kernel = MatchedKernel(Polynomial(2, number(1.0)), corners, alpha)
    x = table(6, 2)
    product = x[:, 0] * x[:, 1]  # g = -x₀x₁ = ŵ √2 x₀x₁, so that ŵ² φφ' = x₀x₁ x₀'x₁'
    torch.testing.assert_close(kernel(x).to_dense(), product[:, None] * product)
    assert kernel.num_features == 1


def test_aligned_with_little_noise_knows_g_at_the_anchors_up_to_its_sign_and_size() -> None:
    base = SquaredExponential(number(0.4))
    anchors, alpha = learnt(base, 12, 2, lam=1e-8)
    y = response_at(anchors)
    kernel = AlignedKernel(base, anchors, alpha, 1e-8)
    torch.testing.assert_close(kernel(anchors).to_dense(), torch.outer(y, y), rtol=0, atol=1e-6)
    torch.testing.assert_close(kernel.evaluate_mean(anchors), y, rtol=0, atol=1e-6)
    away = torch.tensor([[0.0, 0.0]], dtype=torch.float64)
    assert kernel(away, diag=True).item() > kernel.evaluate_mean(away).item() ** 2 + 1e-4


def test_uncertain_where_nothing_was_learnt_is_the_prior() -> None:
    base, x = SquaredExponential(number(0.5)), table(5, 2)
    kernel = UncertainKernel(base, table(4, 2, seed=1), [1e-3, 0.0, 0.0, 0.0], 1e9)
    variance = 1e-6 * (1 + 1e9) / 4
    torch.testing.assert_close(kernel(x).to_dense() / variance, base(x).to_dense().detach(), rtol=0, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("lengthscale", [0.5, 1.0, 2.5])
def test_all_are_positive_semi_definite_on_six_inputs(lengthscale: float) -> None:
    base = SquaredExponential(number(lengthscale))
    anchors, alpha = learnt(base, 30, 6, lam=1e-2)
    x = torch.cat([table(12, 6, low=-1, high=1), anchors[:8]])
    for kernel in (
        MatchedKernel(base, anchors, alpha),
        UncertainKernel(base, anchors, alpha, 1e-2),
        AlignedKernel(base, anchors, alpha, 1e-2),
    ):
        gram = kernel(x).to_dense()
        assert torch.linalg.eigvalsh(gram).min() > -1e-10 * gram.diagonal().max()


def test_uncertain_would_not_be_a_covariance_with_k4_for_l4() -> None:
    base = SquaredExponential(number(2.5)).requires_grad_(False)
    anchors, alpha = learnt(base, 30, 6, lam=1e-2)
    x = table(20, 6, low=-1, high=1)
    gram = base.evaluate_m_kernel(anchors, anchors)
    ridge = gram + 1e-2 * torch.eye(30)
    variance = alpha @ ridge @ alpha / 30
    shares = torch.outer(alpha, alpha) - variance * torch.linalg.inv(ridge)
    with_k4 = variance * base.evaluate_m_kernel(x, x) + torch.einsum(
        "jk,jkxz->xz", shares, base.evaluate_m_kernel(anchors, anchors, x, x)
    )
    assert torch.linalg.eigvalsh(with_k4).min() < -0.1 * with_k4.diagonal().abs().max()
