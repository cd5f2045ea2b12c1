"""Every free kernel against plain loops: K_m, its gradients, its features and weights."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support import reference
from support.cases import CASES, IDS, Case, number, table
from tunedprior.errors import DomainError, InputError
from tunedprior.kernels import DotProduct, Exponential, Linear, LogRatio, Polynomial, SquaredExponential


def tables(m: int) -> list[torch.Tensor]:
    """m tables of different lengths, two inputs each."""
    return [table(1 + k % 3, 2, seed=k) for k in range(m)]


@pytest.mark.parametrize("m", [2, 4, 6])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_m_kernel_equals_loops(case: Case, m: int) -> None:
    xs = tables(m)
    values = case.make().evaluate_m_kernel(*xs)
    assert values.shape == tuple(len(x) for x in xs)
    for choice, expected in reference.every_choice(case.loop, [x.tolist() for x in xs]).items():
        assert values[choice].item() == pytest.approx(expected, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("m", [2, 4, 6])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_m_kernel_gradients_equal_loops(case: Case, m: int) -> None:
    xs = [table(1, 2, seed=k).requires_grad_() for k in range(m)]
    gradients = torch.autograd.grad(case.make().evaluate_m_kernel(*xs).sum(), xs)
    points = [x[0].tolist() for x in xs]
    for which in range(m):
        expected = reference.gradient(case.loop, points, which)
        assert gradients[which][0].tolist() == pytest.approx(expected, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_features_and_weights_equal_loops_in_the_shared_order(case: Case) -> None:
    kernel, degree, x = case.make(num_inputs=2), min(case.max_degree, 6), table(3, 2)
    indices = kernel.list_multi_indices(degree)
    assert sorted(map(tuple, indices.tolist())) == sorted(reference.indices(2, degree))
    weights, features = kernel.compute_weights(degree), kernel.evaluate_features(x, degree)
    assert features.shape == (3, len(indices))
    for column, index in enumerate(indices.tolist()):
        assert weights[column].item() ** 2 == pytest.approx(case.squared_weight(index), rel=1e-13)
        for row, point in enumerate(x.tolist()):
            assert features[row, column].item() == pytest.approx(case.feature(point, index), rel=1e-12)


@pytest.mark.parametrize("m", [2, 4, 6])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_m_kernel_is_the_sum_over_features_to_the_truncation_bound(case: Case, m: int) -> None:
    xs, kernel = tables(m), case.make(num_inputs=2)
    weights = kernel.compute_weights(case.max_degree)

    def explicit(points: list[torch.Tensor]) -> torch.Tensor:
        total = weights**2
        for x in points:
            total = total[..., None, :] * kernel.evaluate_features(x, case.max_degree)
        return total.sum(-1)

    # The terms dropped are at most their absolute values, and those add up to K - Σ kept at |x|.
    at_abs = [x.abs() for x in xs]
    bound = kernel.evaluate_m_kernel(*at_abs) - explicit(at_abs)
    error = (kernel.evaluate_m_kernel(*xs) - explicit(xs)).abs()
    assert (error <= bound.abs() + 1e-13).all()
    assert bound.max() < (1e-13 if case.ends_at is not None else 1e-2)
    if m > 2 or case.ends_at is not None:
        assert error.max() < 1e-6


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_gradients_through_features_equal_gradients_of_the_kernel(case: Case) -> None:
    kernel = case.make(num_inputs=2)
    x, other = table(3, 2, low=-0.5, high=0.5).requires_grad_(), table(2, 2, seed=1, low=-0.5, high=0.5)
    weighted = kernel.compute_weights(case.max_degree) ** 2
    explicit = (kernel.evaluate_features(x, case.max_degree) * weighted) @ kernel.evaluate_features(
        other, case.max_degree
    ).mT
    wanted = [x, *kernel.parameters()]
    for ours, theirs in zip(
        torch.autograd.grad(kernel.evaluate_m_kernel(x, other).square().sum(), wanted),
        torch.autograd.grad(explicit.square().sum(), wanted),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-9)


def test_features_have_gradients_at_zero() -> None:
    x = torch.zeros(1, 2, dtype=torch.float64, requires_grad=True)
    gradient = torch.autograd.grad(Linear().evaluate_features(x, 3).sum(), x)[0]
    assert gradient.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("m", [0, 1, 3, 5])
def test_odd_m_is_a_clear_error(m: int) -> None:
    with pytest.raises(InputError, match=f"even number of arguments, 2 or more; got {m}"):
        Linear().evaluate_m_kernel(*tables(m))


def test_second_order_kernel_is_the_familiar_one() -> None:
    x = table(5, 2)
    kernel = SquaredExponential(torch.tensor([0.3, 2.0], dtype=torch.float64))
    scaled = x / torch.tensor([0.3, 2.0], dtype=torch.float64)
    expected = torch.exp(-(torch.cdist(scaled, scaled) ** 2) / 2)
    torch.testing.assert_close(kernel(x).to_dense(), expected, rtol=1e-12, atol=1e-14)


def test_short_lengthscales_do_not_overflow() -> None:
    corner = torch.ones(1, 4, dtype=torch.float64)
    kernel = SquaredExponential(number(0.02))  # exp(ν x·x) alone would be e^10000
    assert kernel.evaluate_m_kernel(corner, corner).item() == pytest.approx(1.0, rel=1e-10)
    assert math.isfinite(kernel.evaluate_m_kernel(corner, -corner, corner, corner).item())


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_float32_and_dtype_moves(case: Case) -> None:
    x = table(4, 2)
    exact = case.make()(x).to_dense()
    single = case.make().to(torch.float32)(x.float()).to_dense()
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_parameters_are_learnable_and_positive(case: Case) -> None:
    kernel, x = case.make(), table(4, 2)
    parameters = list(kernel.parameters())
    if not parameters:
        assert case.name in ("linear", "log ratio")
        return
    (x.sum() * 0 + kernel(x).to_dense().square().sum()).backward()
    for parameter in parameters:
        assert parameter.grad is not None
        assert parameter.grad.abs().sum() > 0
    torch.nn.init.constant_(parameters[0], -30.0)
    with torch.no_grad():
        assert torch.isfinite(kernel(x).to_dense()).all()
        name = next(kernel.named_parameters())[0].removeprefix("raw_")
        assert (getattr(kernel, name).min() if name != "coefficients" else kernel._get_positive(name).min()) > 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Polynomial(-1), "whole number, 0 or more; got -1"),
        (lambda: Polynomial(2, -1.0), "offset must be a finite number above 0; got -1"),
        (lambda: Exponential(torch.tensor([0.0, 1.0])), "scale must be a finite number above 0; got 0"),
        (lambda: SquaredExponential(math.inf), r"Use Exponential\(0.0\), which is the same"),
        (
            lambda: Linear(num_inputs=2).evaluate_implied_features(table(2, 2), 1, m=3),
            "m must be even, 2 or more; got 3",
        ),
        (lambda: SquaredExponential(-0.1), "above 0; got -0.1"),
        (lambda: SquaredExponential([0.5, float("nan")]), "lengthscale must be finite"),
        (lambda: DotProduct([1.0, -1.0]), "none below 0"),
        (lambda: DotProduct([0.0, 0.0]), "one above"),
        (lambda: DotProduct([]), "one above"),
        (lambda: Linear().compute_weights(2), "does not know how many inputs"),
        (lambda: Linear(num_inputs=2).list_multi_indices(-1), "0 or more; got -1"),
        (lambda: Linear(num_inputs=30).compute_weights(20), "Lower max_degree"),
        (lambda: Linear().evaluate_m_kernel(table(2, 2), table(2, 3)), "one common d"),
        (
            lambda: Linear(num_inputs=3).evaluate_m_kernel(table(2, 2), table(2, 2)),
            "made for points with 3 inputs; got 2",
        ),
        (lambda: SquaredExponential(lenghtscale=0.2), "does not take lenghtscale"),
        (lambda: Polynomial(2, ofset=3.0), "does not take ofset"),
        (lambda: Linear().evaluate_m_kernel("a", "b"), "Points must be numbers"),
        (lambda: setattr(DotProduct([1.0, 0.0]), "coefficients", torch.ones(2)), "only where they are not zero"),
        (lambda: SquaredExponential(1.0)(table(2, 2), last_dim_is_batch=True).to_dense(), "last_dim_is_batch"),
    ],
)
@pytest.mark.filterwarnings("ignore:The last_dim_is_batch argument:DeprecationWarning")
def test_bad_kernels_say_what_to_do(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_nan_is_refused_by_row(case: Case) -> None:
    x = table(4, 2)
    x[2, 1] = float("nan")
    with pytest.raises(InputError, match=r"1 of 4 rows are not \(rows 2\)"):
        case.make()(x).to_dense()


def test_points_outside_the_domain_are_counted_by_input() -> None:
    x = table(5, 3)
    x[0, 2], x[4, 2] = 1.5, -2.0
    with pytest.raises(DomainError, match=r"\[-1, 1\]; 2 of 5 points lie outside \(input 2: 2 up to 2 in size\)"):
        SquaredExponential(0.5)(x).to_dense()
    edge = torch.ones(1, 2, dtype=torch.float64)
    assert SquaredExponential(number(0.5)).evaluate_m_kernel(edge, edge).item() == pytest.approx(1.0)
    with pytest.raises(DomainError, match=r"\|x\| < 1; 1 of 1 points"):
        LogRatio().evaluate_m_kernel(edge, edge)


def test_active_dims_apply_everywhere() -> None:
    x = table(4, 5)
    picked = SquaredExponential(torch.tensor(0.6, dtype=torch.float64), active_dims=(1, 3))
    plain = SquaredExponential(torch.tensor(0.6, dtype=torch.float64))
    columns = x[:, [1, 3]]
    torch.testing.assert_close(picked(x).to_dense(), plain(columns).to_dense())
    torch.testing.assert_close(
        picked.evaluate_m_kernel(x, x, x, x), plain.evaluate_m_kernel(columns, columns, columns, columns)
    )
    torch.testing.assert_close(picked.evaluate_features(x, 4), plain.evaluate_features(columns, 4))
    assert picked.compute_weights(4).shape == (15,)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), inputs=st.integers(1, 4), which=st.integers(0, len(CASES) - 1))
def test_every_kernel_is_positive_semi_definite_and_symmetric(seed: int, inputs: int, which: int) -> None:
    kernel = CASES[which].make()
    if kernel.num_inputs is not None:
        inputs = kernel.num_inputs
    gram = kernel(table(8, inputs, seed=seed)).to_dense()
    torch.testing.assert_close(gram, gram.mT)
    assert torch.linalg.eigvalsh(gram).min() > -1e-10 * gram.diagonal().max()


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), which=st.integers(0, len(CASES) - 1))
def test_m_kernel_does_not_depend_on_the_order_of_its_arguments(seed: int, which: int) -> None:
    kernel, xs = CASES[which].make(), [table(1, 2, seed=seed + k) for k in range(4)]
    value = kernel.evaluate_m_kernel(*xs)
    torch.testing.assert_close(kernel.evaluate_m_kernel(*xs[::-1]), value, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(kernel.evaluate_m_kernel(xs[1], xs[3], xs[0], xs[2]), value, rtol=1e-12, atol=1e-14)


def test_the_order_of_indices_is_not_the_callers_to_change() -> None:
    kernel = Linear(num_inputs=2)
    kernel.list_multi_indices(2).add_(1)
    assert kernel.list_multi_indices(2).tolist() == [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]


def test_coefficients_can_be_set() -> None:
    kernel = DotProduct([1.0, 0.0, 2.0])
    kernel.initialize(coefficients=torch.tensor([0.5, 0.0, 4.0]))
    torch.testing.assert_close(kernel.coefficients, torch.tensor([0.5, 0.0, 4.0]))


def test_dtypes_of_points_and_parameters_may_differ() -> None:
    x = table(3, 2)
    for case in CASES:
        torch.testing.assert_close(
            case.make()(x.float()).to_dense().double(), case.make()(x).to_dense(), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("m", [2, 4, 6])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_implied_features_make_the_m_kernel(case: Case, m: int) -> None:
    xs, kernel = [table(2, 2, seed=k, low=-0.5, high=0.5) for k in range(m)], case.make(num_inputs=2)
    total = torch.ones(1, dtype=torch.float64)
    for x in xs:
        total = total[..., None, :] * kernel.evaluate_implied_features(x, case.max_degree, m)
    torch.testing.assert_close(total.sum(-1), kernel.evaluate_m_kernel(*xs), rtol=1e-6, atol=1e-8)


def test_a_squared_exponential_is_never_above_one() -> None:
    """Its exponent is a difference of large numbers, and rounding may leave it above 0."""
    x = table(300, 3)
    assert SquaredExponential(number(0.003))(x).to_dense().max() == 1.0
