"""The free kernel whose features are places: K_m, the Theorem and the features against quadrature over ω and loops."""

from functools import partial
from math import pi, sqrt

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support import reference
from support.builders import normal
from support.cases import table
from tunedprior.beliefs.matched import MatchedKernel
from tunedprior.beliefs.reweighted import FixedReweightedKernel
from tunedprior.beliefs.uncertain import UncertainKernel
from tunedprior.errors import DomainError, InputError
from tunedprior.kernels import ReweightedKernel, SquaredExponential, StationarySquaredExponential, WithBias
from tunedprior.kernels.sections import AutogradSection
from tunedprior.kernels.stationary import SPACING, compute_offsets

LENGTHSCALES = {"one": [0.6, 0.6], "ARD": [0.4, 1.1]}
BY_LENGTHSCALES = pytest.mark.parametrize("lengthscales", LENGTHSCALES.values(), ids=list(LENGTHSCALES))


def make(lengthscales: list[float]) -> StationarySquaredExponential:
    equal = len(set(lengthscales)) == 1
    return StationarySquaredExponential(torch.tensor(lengthscales[0] if equal else lengthscales, dtype=torch.float64))


def by_quadrature(lengthscales: list[float]):
    return partial(reference.stationary_squared_exponential, lengthscales=lengthscales)


@pytest.mark.parametrize("m", [2, 4, 6])
@BY_LENGTHSCALES
def test_m_kernel_equals_the_integral_over_places(lengthscales: list[float], m: int) -> None:
    xs = [table(1 + k % 2, 2, seed=k) for k in range(m)]
    values = make(lengthscales).evaluate_m_kernel(*xs)
    for choice, expected in reference.every_choice(by_quadrature(lengthscales), [x.tolist() for x in xs]).items():
        assert values[choice].item() == pytest.approx(expected, rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("m", [2, 4, 6])
@BY_LENGTHSCALES
def test_gradients_equal_those_of_the_integral(lengthscales: list[float], m: int) -> None:
    xs = [table(1, 2, seed=k).requires_grad_() for k in range(m)]
    gradients = torch.autograd.grad(make(lengthscales).evaluate_m_kernel(*xs).sum(), xs)
    points = [x[0].tolist() for x in xs]
    for which in range(m):
        expected = reference.gradient(by_quadrature(lengthscales), points, which)
        assert gradients[which][0].tolist() == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_the_gradient_by_the_lengthscale_equals_a_difference_quotient() -> None:
    xs = [table(2, 2, seed=k) for k in range(4)]
    kernel = StationarySquaredExponential(torch.tensor([0.4, 1.1], dtype=torch.float64))
    kernel.evaluate_m_kernel(*xs).sum().backward()

    def evaluate(raw: torch.Tensor) -> torch.Tensor:
        moved = StationarySquaredExponential(torch.tensor([0.4, 1.1], dtype=torch.float64))
        moved.initialize(raw_lengthscale=raw)
        return moved.evaluate_m_kernel(*xs).sum().detach()

    for d in range(2):
        step = torch.zeros(1, 2, dtype=torch.float64)
        step[0, d] = 1e-5
        raw = kernel.raw_lengthscale.detach()
        quotient = (evaluate(raw + step) - evaluate(raw - step)) / 2e-5
        assert kernel.raw_lengthscale.grad[0, d].item() == pytest.approx(float(quotient), rel=1e-8)


def test_two_arguments_make_the_squared_exponential() -> None:
    x, z = table(5, 3), table(4, 3, seed=1)
    ell = torch.tensor([0.3, 0.8, 2.0], dtype=torch.float64)
    expected = SquaredExponential(ell)(x, z).to_dense()
    torch.testing.assert_close(StationarySquaredExponential(ell)(x, z).to_dense(), expected, rtol=1e-13, atol=1e-14)


@settings(deadline=None, max_examples=30)
@given(shift=st.floats(-1e3, 1e3), m=st.sampled_from([2, 4, 6]), order=st.permutations(range(6)))
def test_it_is_invariant_to_a_common_shift_and_to_the_order(shift: float, m: int, order: list[int]) -> None:
    kernel, xs = make([0.4, 1.1]), [table(1, 2, seed=k) for k in range(m)]
    value = kernel.evaluate_m_kernel(*xs).item()
    moved = [xs[k] + shift for k in order if k < m]
    assert kernel.evaluate_m_kernel(*moved).item() == pytest.approx(value, rel=1e-9)


def test_far_from_the_origin_no_digits_are_lost() -> None:
    kernel, x = make([0.6, 0.6]), table(6, 2)
    anchors, alpha = table(4, 2, seed=9), normal(4)
    here = ReweightedKernel(kernel, anchors, alpha)(x).to_dense()
    there = ReweightedKernel(kernel, anchors + 2.0**10, alpha)(x + 2.0**10).to_dense()
    torch.testing.assert_close(there, here, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("m", [2, 4])
@BY_LENGTHSCALES
def test_the_theorem_equals_loops_over_the_integral(lengthscales: list[float], m: int) -> None:
    anchors, alpha = table(3, 2, seed=9), normal(3)
    xs = [table(1 + k % 2, 2, seed=k) for k in range(m)]
    values = ReweightedKernel(make(lengthscales), anchors, alpha).evaluate_m_kernel(*xs)

    def loop(points: list) -> complex:
        return reference.reweighted(by_quadrature(lengthscales), points, anchors.tolist(), alpha.tolist())

    for choice, expected in reference.every_choice(loop, [x.tolist() for x in xs]).items():
        assert values[choice].item() == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_the_theorem_says_that_places_are_weighted_by_what_was_learnt_there() -> None:
    anchors, alpha, lengthscales = table(3, 2, seed=9), normal(3), [0.4, 1.1]
    x, z = table(1, 2), table(1, 2, seed=1)
    value = ReweightedKernel(make(lengthscales), anchors, alpha)(x, z).to_dense().item()
    expected = reference.reweighted_by_places(
        [x[0].tolist(), z[0].tolist()], anchors.tolist(), alpha.tolist(), lengthscales
    )
    assert value == pytest.approx(expected, rel=1e-10)


def test_re_weighting_composes() -> None:
    first, second = (table(3, 2, seed=1), normal(3)), (table(2, 2, seed=2), normal(2, seed=6))
    kernel, x, z = make([0.4, 1.1]), table(2, 2), table(2, 2, seed=3)
    twice = ReweightedKernel(ReweightedKernel(kernel, *first), *second)

    def once(points: list) -> complex:
        return reference.reweighted(by_quadrature([0.4, 1.1]), points, first[0].tolist(), first[1].tolist())

    values = twice(x, z).to_dense()
    for row, left in enumerate(x.tolist()):
        for column, right in enumerate(z.tolist()):
            expected = reference.reweighted(once, [left, right], second[0].tolist(), second[1].tolist())
            assert values[row, column].item() == pytest.approx(complex(expected).real, rel=1e-10)


def test_multi_indices_number_the_places_on_both_sides_of_the_origin() -> None:
    assert compute_offsets(torch.arange(7)).tolist() == [0, -1, 1, -2, 2, -3, 3]
    kernel, indices = make([0.4, 1.1]), torch.tensor([[0, 0], [1, 2], [4, 3]])
    expected = [[0.0, 0.0], [-0.4 * SPACING, 1.1 * SPACING], [0.8 * SPACING, -2.2 * SPACING]]
    assert kernel.locate(indices).tolist() == [pytest.approx(row) for row in expected]
    x = table(3, 2)
    features = kernel.evaluate_features_at(kernel.make_product(x), indices)
    for row, point in enumerate(x.tolist()):
        for column, place in enumerate(expected):
            value = reference.stationary_feature(point, place, [0.4, 1.1])
            assert features[row, column].item() == pytest.approx(value, rel=1e-12)
    assert kernel.compute_weights_at(indices).square().tolist() == pytest.approx([2 / pi * SPACING**2] * 3)


# 1 ± 2 exp(-π²/(m SPACING²)) for each of two inputs
@pytest.mark.parametrize(("m", "tolerance"), [(2, 1e-12), (4, 1e-11), (6, 1e-7)])
def test_the_sum_over_places_is_the_integral(m: int, tolerance: float) -> None:
    kernel = make([0.8, 1.1])
    axis = torch.arange(45)
    indices = torch.cartesian_prod(axis, axis)
    xs = [table(1 + k % 2, 2, seed=k) for k in range(m)]
    total = kernel.compute_weights_at(indices).square()
    for x in xs:
        total = total[..., None, :] * kernel.evaluate_features_at(kernel.make_product(x), indices)
    values = kernel.evaluate_m_kernel(*xs)
    torch.testing.assert_close(total.sum(-1), values, rtol=tolerance, atol=0.0)


@BY_LENGTHSCALES
def test_means_and_peaks_of_features_equal_sums_over_a_fine_grid(lengthscales: list[float]) -> None:
    kernel, far = make(lengthscales), torch.tensor([1.0, 1.4], dtype=torch.float64)
    means, peaks = kernel.compute_log_mean_squares(60, far), kernel.compute_log_peaks(60, far)
    places = torch.as_tensor(compute_offsets(torch.arange(61))) * SPACING
    grid = torch.linspace(-1, 1, 20_001, dtype=torch.float64)
    for d, ell in enumerate(lengthscales):
        logs = -2 * ((far[d] * grid[:, None] - ell * places) / ell).square()
        weights = torch.full_like(grid, 1 / 20_000).index_fill(0, torch.tensor([0, -1]), 0.5 / 20_000)
        expected = (logs + weights.log()[:, None]).logsumexp(0)
        row = min(d, len(means) - 1)
        torch.testing.assert_close(means[row if len(means) > 1 else 0], expected, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(peaks[row] * 2, logs.amax(0), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("num_inputs", [1, 2, 3])
def test_explicit_places_are_right_to_what_they_certify(num_inputs: int) -> None:
    kernel = StationarySquaredExponential(torch.tensor(0.7, dtype=torch.float64))
    anchors, alpha = table(12, num_inputs, seed=3, low=-1, high=1), normal(12)
    by_places = FixedReweightedKernel(kernel, anchors, alpha, by_features=True)
    by_pairs = FixedReweightedKernel(kernel, anchors, alpha, by_features=False)
    x = table(200, num_inputs, seed=5, low=-1, high=1)
    error = (by_places(x).to_dense() - by_pairs(x).to_dense()).abs().max()
    assert float(error) <= by_places.missing
    assert float(error) < 1e-5 * float(by_pairs(x, diag=True).mean())
    torch.testing.assert_close(by_places(x, diag=True), by_places(x).to_dense().diagonal(), rtol=1e-9, atol=1e-12)


def test_gradients_through_explicit_places_equal_those_of_the_sum_over_pairs() -> None:
    kernel, (anchors, alpha) = make([0.6, 0.6]), (table(8, 2, seed=3), normal(8))
    gradients = []
    for by_features in (True, False):
        x, z = table(4, 2).requires_grad_(), table(3, 2, seed=1)
        fixed = FixedReweightedKernel(kernel, anchors, alpha, by_features=by_features)
        gradients.append(torch.autograd.grad(fixed(x, z).to_dense().sum() + fixed(x, diag=True).sum(), x)[0])
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("by_features", [True, False])
def test_the_section_has_the_gradient_of_the_kernel(by_features: bool) -> None:
    kernel, (anchors, alpha) = make([0.4, 1.1]), (table(8, 2, seed=3), normal(8))
    fixed = FixedReweightedKernel(kernel, anchors, alpha, by_features=by_features)
    points, x = table(5, 2, seed=1), table(4, 2)
    section = fixed.make_section(2.0, points[:3])
    assert section is not None
    section = section.append_points(points[3:])
    found, expected = section.evaluate(x), AutogradSection(points, fixed, 2.0).evaluate(x)
    torch.testing.assert_close(found.cross, expected.cross, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(found.variance, expected.variance, rtol=1e-9, atol=1e-12)
    slopes = torch.randn(1, 4, 5, dtype=torch.float64), torch.randn(1, 4, dtype=torch.float64)
    gradient = expected.pull_back_gradient(*slopes)
    torch.testing.assert_close(found.pull_back_gradient(*slopes), gradient, rtol=1e-8, atol=1e-10)
    kept = section.keep_first(2).evaluate(x)
    torch.testing.assert_close(kept.cross, expected.cross[..., :2], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("num_inputs", [1, 2, 5])
@pytest.mark.parametrize("lengthscale", [0.1, 0.7, 4.0])
def test_midpoints_equal_the_sum_over_pairs(num_inputs: int, lengthscale: float) -> None:
    kernel = StationarySquaredExponential(torch.tensor(lengthscale, dtype=torch.float64))
    anchors, alpha = table(20, num_inputs, seed=3), normal(20)
    fixed = FixedReweightedKernel(kernel, anchors, alpha, by_features=False)
    x, z = table(2, 4, num_inputs), table(3, num_inputs, seed=1)
    expected = ReweightedKernel(kernel, anchors, alpha)
    for left, right in ((x, x), (x, z), (z, z)):
        torch.testing.assert_close(
            fixed(left, right).to_dense(), expected(left, right).to_dense(), rtol=1e-9, atol=1e-12
        )
    torch.testing.assert_close(fixed(z, diag=True), expected(z, diag=True), rtol=1e-9, atol=1e-12)


def test_explicit_places_serve_their_box_alone() -> None:
    fixed = FixedReweightedKernel(make([0.6, 0.6]), table(4, 2), normal(4), by_features=True)
    with pytest.raises(DomainError, match="by_features=False"):
        fixed(torch.tensor([[1.5, 0.0]], dtype=torch.float64)).to_dense()


def test_more_than_three_inputs_take_the_sum_over_pairs() -> None:
    kernel, anchors, alpha = StationarySquaredExponential(1.0).double(), table(6, 4), normal(6)
    fixed = FixedReweightedKernel(kernel, anchors, alpha)
    assert not fixed.by_features
    x = table(3, 4, seed=1)
    expected = ReweightedKernel(kernel, anchors, alpha)(x).to_dense()
    torch.testing.assert_close(fixed(x).to_dense(), expected, rtol=1e-12, atol=1e-13)
    with pytest.raises(InputError, match="three inputs"):
        FixedReweightedKernel(kernel, anchors, alpha, by_features=True)


def test_matched_is_reweighted_up_to_a_factor_as_all_places_have_one_weight() -> None:
    kernel, anchors, alpha = make([0.6, 0.6]), table(6, 2, seed=3), normal(6)
    x = table(5, 2)
    for by_features in (True, False):
        matched = MatchedKernel(kernel, anchors, alpha, by_features=by_features)(x).to_dense()
        reweighted = FixedReweightedKernel(kernel, anchors, alpha, by_features=by_features)(x).to_dense()
        torch.testing.assert_close(matched, 2 / pi * SPACING**2 * reweighted, rtol=1e-4, atol=1e-9)


def test_uncertain_has_no_meaning_for_places() -> None:
    with pytest.raises(InputError, match="determine the weight of none"):
        UncertainKernel(make([0.6, 0.6]), table(6, 2), normal(6), 0.1)


def test_with_a_bias_the_constant_is_one_more_weight() -> None:
    kernel, anchors, alpha = make([0.6, 0.6]), table(3, 2, seed=9), normal(3)
    x = table(4, 2)
    biased = ReweightedKernel(WithBias(kernel), anchors, alpha)(x).to_dense()
    plain = ReweightedKernel(kernel, anchors, alpha)(x).to_dense()
    torch.testing.assert_close(biased, plain + alpha.sum().square(), rtol=1e-10, atol=1e-12)


def test_where_old_data_is_far_nothing_varies_and_elsewhere_it_does_wherever_the_origin_is() -> None:
    """s(ω) is about α ϑ_ω(a): K^A(x, x) = α² 2^{-1/2} exp(-‖x - a‖²/ℓ²) for one anchor a."""
    kernel = StationarySquaredExponential(torch.tensor(0.3, dtype=torch.float64))
    anchor, alpha = torch.tensor([[0.8]], dtype=torch.float64), torch.tensor([2.0], dtype=torch.float64)
    x = torch.tensor([[0.8], [0.5], [-0.8]], dtype=torch.float64)
    expected = 4 / sqrt(2) * torch.exp(-((x[:, 0] - 0.8) / 0.3).square())
    torch.testing.assert_close(ReweightedKernel(kernel, anchor, alpha)(x, diag=True), expected)
