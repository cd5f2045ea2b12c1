"""Beliefs: against loops, by hand, as covariances, and within GPyTorch."""

from copy import deepcopy
from functools import partial

import pytest
import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import Kernel, RBFKernel, ScaleKernel

import reference
from cases import ARD, CASES, IDS, Case, number, table
from tunedprior.errors import DomainError, InputError
from tunedprior.kernels import (
    Aligned,
    Exponential,
    FreeKernel,
    Linear,
    LogRatio,
    Matched,
    Polynomial,
    Reweighted,
    ReweightedBelief,
    SquaredExponential,
    Uncertain,
    bessel,
    features,
    theorem,
)

LAM = 0.05
LENGTHSCALES = {"squared exponential": [0.8, 0.8], "squared exponential, ARD": ARD}


def coefficients(count: int, seed: int = 5) -> torch.Tensor:
    return torch.randn(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def learnt(base: FreeKernel, count: int, num_inputs: int, lam: float = LAM, seed: int = 1) -> tuple:
    """Anchors, their least-squares α, and the responses it was learnt from."""
    anchors = table(count, num_inputs, seed=seed, low=-1, high=1)
    y = (3 * anchors[:, 0]).sin() + anchors[:, 1:].prod(-1) + anchors.square().sum(-1) / 2
    gram = base.m_kernel(anchors, anchors).detach()
    return anchors, torch.linalg.solve(gram + lam * torch.eye(count), y), y


def four(case: Case):
    """The loop for L₄ of a case."""
    if case.name in LENGTHSCALES:
        return partial(reference.squared_exponential_l4, lengthscales=LENGTHSCALES[case.name])
    return partial(reference.l4, squared_weight=case.squared_weight, feature=case.feature, max_degree=case.max_degree)


def all_beliefs(case: Case, anchors: torch.Tensor, alpha: torch.Tensor) -> list:
    """Each belief beside its loop."""
    base, given = case.make(), (anchors.tolist(), alpha.tolist())
    return [
        (Matched(base, anchors, alpha, tolerance=1e-12), lambda p: reference.matched(four(case), p, *given)),
        (
            Uncertain(base, anchors, alpha, LAM, tolerance=1e-12),
            lambda p: reference.uncertain(case.loop, four(case), p, *given, LAM),
        ),
        (Aligned(base, anchors, alpha, LAM), lambda p: reference.aligned(case.loop, p, *given, LAM)),
    ]


SOME = ["matched", "uncertain", "aligned"]


def squared_exponential_beliefs(
    num_inputs: int = 2, lengthscale: float = 0.7, by_features: bool | None = None, tolerance: float = 1e-6
) -> list[Kernel]:
    base = SquaredExponential(number(lengthscale))
    anchors, alpha, _ = learnt(base, 6, num_inputs)
    return [
        Matched(base, anchors, alpha, by_features, tolerance),
        Uncertain(base, anchors, alpha, LAM, by_features, tolerance),
        Aligned(base, anchors, alpha, LAM, by_features, max(tolerance, 1e-6)),
    ]


@pytest.mark.parametrize("which", range(3), ids=SOME)
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_equals_loops(case: Case, which: int) -> None:
    anchors = table(3, 2, seed=9, low=-0.7, high=0.7)
    kernel, loop = all_beliefs(case, anchors, coefficients(3))[which]
    xs = [table(2, 2, seed=1, low=-0.7, high=0.7), table(3, 2, seed=2, low=-0.7, high=0.7)]
    values = kernel(*xs).to_dense()
    assert values.shape == (2, 3)
    for choice, expected in reference.every_choice(loop, [x.tolist() for x in xs]).items():
        assert values[choice].item() == pytest.approx(expected, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize("which", range(3), ids=SOME)
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_gradients_equal_loops(case: Case, which: int) -> None:
    anchors = table(3, 2, seed=9, low=-0.7, high=0.7)
    kernel, loop = all_beliefs(case, anchors, coefficients(3))[which]
    points = [[0.4, -0.6], [-0.3, 0.0]]  # of either sign, and at 0
    xs = [torch.tensor([point], dtype=torch.float64, requires_grad=True) for point in points]
    gradients = torch.autograd.grad(kernel(*xs).to_dense().sum(), xs)
    for argument in range(2):
        expected = reference.gradient(loop, points, argument)
        assert gradients[argument][0].tolist() == pytest.approx(expected, rel=1e-8, abs=1e-9)


# -- L₄ ------------------------------------------------------------------------------------------------

# ν below and above where L₄'s series gives way to Bessel functions, and one input on each side.
BOTH_SIDES = pytest.mark.parametrize("lengthscales", [[0.6, 0.2], [0.15, 0.12], [0.15, 0.9]], ids=str)


@BOTH_SIDES
def test_l4_equals_its_series(lengthscales: list[float]) -> None:
    base = SquaredExponential(torch.tensor(lengthscales, dtype=torch.float64)).requires_grad_(False)
    corners = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [0.0, -1.0], [1e-9, 0.5]], dtype=torch.float64)
    xs = [torch.cat([table(3, 2, seed=seed, low=-1, high=1), corners]) for seed in range(4)]
    products = [base._product(x) for x in xs]
    values = bessel.squared_exponential_l4(base, products[0].times(products[1]), products[2].times(products[3]))
    loop = partial(reference.squared_exponential_l4, lengthscales=lengthscales, terms=300)
    values = values.reshape(7, 7, 7, 7)
    for choice, expected in reference.every_choice(loop, [x.tolist() for x in xs]).items():
        assert values[choice].item() == pytest.approx(expected, rel=1e-8, abs=1e-14)
    assert values.max() > 0.01  # the corners, where h is huge and the envelope tiny


@BOTH_SIDES
@pytest.mark.parametrize("which", range(2), ids=SOME[:2])
def test_first_and_second_derivatives(which: int, lengthscales: list[float]) -> None:
    base = SquaredExponential(torch.tensor(lengthscales, dtype=torch.float64))
    anchors = torch.tensor([[0.5, -0.8], [-0.9, 0.0], [0.7, 0.9]], dtype=torch.float64)
    kernel = [
        Matched(base, anchors, coefficients(3), by_features=False),
        Uncertain(base, anchors, coefficients(3), LAM, by_features=False),
    ][which]
    x = torch.tensor([[0.0, 0.6], [-0.4, 0.0], [0.3, -0.8]], dtype=torch.float64, requires_grad=True)
    z = torch.tensor([[0.5, 0.0], [-0.7, -0.2]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(kernel.forward, (x, z))
    assert torch.autograd.gradgradcheck(kernel.forward, (x, z))
    assert torch.autograd.gradcheck(lambda x: kernel.forward(x, x), (x,))
    assert torch.autograd.gradcheck(lambda x: kernel.forward(x, x, diag=True), (x,))


@pytest.mark.parametrize("order", range(4))
def test_bessel_functions_agree_with_the_series(order: int) -> None:
    t = torch.cat([torch.linspace(-9, 9, 61, dtype=torch.float64), number(1e-300)[None]])[None]
    scale = torch.exp(-2 * t.clamp(min=0).sqrt())
    series = bessel.bessel_clifford(t, order, 40) * scale
    torch.testing.assert_close(bessel.bessel_clifford(t, order, None), series, rtol=1e-11, atol=1e-13)


def test_short_lengthscales_do_not_overflow() -> None:
    base = SquaredExponential(number(0.02))  # I₀ of 5,000
    x = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [0.5, 0.1]], dtype=torch.float64, requires_grad=True)
    gram = Matched(base, x.detach(), [1.0, 1.0, 1.0], by_features=False)(x).to_dense()
    assert gram[0, 0] > 0
    assert torch.isfinite(torch.autograd.grad(gram.sum(), x)[0]).all()


@pytest.mark.parametrize("num_inputs", [1, 40])
def test_many_inputs_do_not_overflow(num_inputs: int) -> None:
    corner = torch.ones(1, num_inputs, dtype=torch.float64)
    kernel = Matched(SquaredExponential(number(0.25)), corner, [1.0], by_features=False)
    value = kernel(corner).to_dense().item()
    one = reference.squared_exponential_l4([[1.0]] * 4, [0.25]).real
    assert value == pytest.approx(one**num_inputs, rel=1e-9)


# -- explicit features -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lengthscale", [0.3, 0.7, 3.0])
@pytest.mark.parametrize("which", range(2), ids=SOME[:2])
def test_features_agree_with_the_exact_sum(which: int, lengthscale: float) -> None:
    x = torch.cat([table(20, 2, low=-1, high=1), torch.tensor([[1.0, 1.0], [-1.0, 1.0]])])
    exact = squared_exponential_beliefs(lengthscale=lengthscale, by_features=False)[which]
    kernel = squared_exponential_beliefs(lengthscale=lengthscale, by_features=True, tolerance=1e-10)[which]
    assert exact.num_features is None
    gram, expected = kernel(x).to_dense(), exact(x).to_dense()
    allowed = max(1e-9 * expected.max().item(), kernel.missing)  # at the corners more may be missing than on average
    torch.testing.assert_close(gram, expected, rtol=0, atol=allowed)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("which", range(2), ids=SOME[:2])
def test_no_variance_in_the_box_is_further_off_than_what_is_missing(which: int, tolerance: float) -> None:
    exact = squared_exponential_beliefs(num_inputs=3, by_features=False)[which]
    kernel = squared_exponential_beliefs(num_inputs=3, by_features=True, tolerance=tolerance)[which]
    corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3).double()
    x = torch.cat([table(300, 3, low=-1, high=1), corners])
    off = (kernel(x, diag=True) - exact(x, diag=True)).abs().max()
    assert off <= kernel.missing
    assert exact.missing == 0


@pytest.mark.parametrize("tolerance", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("which", range(2), ids=SOME[:2])
def test_no_more_of_the_trace_is_missing_than_the_tolerance(which: int, tolerance: float) -> None:
    exact = squared_exponential_beliefs(num_inputs=3, by_features=False)[which]
    kernel = squared_exponential_beliefs(num_inputs=3, by_features=True, tolerance=tolerance)[which]
    x = table(2000, 3, low=-1, high=1)
    variance = exact(x, diag=True)
    assert (kernel(x, diag=True) - variance).abs().mean() <= tolerance * variance.mean()
    assert kernel.by_features
    assert not exact.by_features


@pytest.mark.parametrize("which", range(2), ids=SOME[:2])
def test_a_stricter_tolerance_takes_more_features(which: int) -> None:
    loose = squared_exponential_beliefs(num_inputs=3, by_features=True, tolerance=1e-3)[which]
    strict = squared_exponential_beliefs(num_inputs=3, by_features=True, tolerance=1e-12)[which]
    assert loose.num_features < strict.num_features


def test_kernels_that_end_are_exact() -> None:
    anchors, alpha = table(5, 2, seed=9), coefficients(5)
    x = table(4, 2)
    kernel = Matched(Polynomial(3, number(0.7)), anchors, alpha)
    assert kernel.num_features == 10
    base = Polynomial(3, number(0.7), num_inputs=2).requires_grad_(False)
    features, weights = base.features(x, 3), base.weights(3)
    w = alpha @ (weights * base.features(anchors, 3))
    expected = (weights * w * features) @ (weights * w * features).mT
    torch.testing.assert_close(kernel(x).to_dense(), expected, rtol=1e-12, atol=1e-14)


def test_too_many_features_are_refused() -> None:
    given = Exponential(number(4.0)), table(5, 8, seed=9), coefficients(5)
    with pytest.raises(InputError, match="should number 65,536 at most; Exponential on 8 inputs"):
        Matched(*given, by_features=True)
    with pytest.raises(InputError, match="Without explicit features only SquaredExponential will do; got Exponential"):
        Matched(*given)


def test_open_domains_are_cut_where_the_anchors_are() -> None:
    kernel = Matched(LogRatio(), table(4, 2, seed=9, low=-0.8, high=0.8), coefficients(4))
    assert kernel.num_features > 0


# -- by hand -----------------------------------------------------------------------------------------------


def test_one_anchor_and_a_linear_kernel() -> None:
    # φ = x, ŵ = αa = (2, -1), K_A = 1.25, M = 1/1.5, s_f² = α²·1.5 = 6; E[w²|A] = ŵ² + s_f² (1 - a²M).
    a, x, z = [1.0, -0.5], [[0.3, 0.4]], [[-0.2, 0.5]]
    products = torch.tensor([-0.06, 0.2], dtype=torch.float64)
    given = (Linear(), [a], [2.0])
    x, z = (torch.tensor(point, dtype=torch.float64) for point in (x, z))
    assert Matched(*given)(x, z).to_dense().item() == pytest.approx(4 * -0.06 + 1 * 0.2)
    e = [4 + 6 * (1 - 1 / 1.5), 1 + 6 * (1 - 0.25 / 1.5)]
    assert Uncertain(*given, 0.25)(x, z).to_dense().item() == pytest.approx(e[0] * -0.06 + e[1] * 0.2)
    g_x, g_z = 2 * 0.3 - 0.4, 2 * -0.2 - 0.5
    left_open = products.sum().item() - (0.3 - 0.2) * (-0.2 - 0.25) / 1.5
    aligned = Aligned(*given, 0.25)
    assert aligned(x, z).to_dense().item() == pytest.approx(g_x * g_z + 6 * left_open)
    assert aligned.mean(torch.cat([x, z])).tolist() == pytest.approx([g_x, g_z])


def test_xor_is_matched_by_the_product_alone() -> None:
    corners = torch.tensor([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    alpha = torch.tensor([-1.0, 1.0, 1.0, -1.0], dtype=torch.float64) / 8
    kernel = Matched(Polynomial(2, number(1.0)), corners, alpha)
    x = table(6, 2)
    product = x[:, 0] * x[:, 1]  # g = -x₀x₁ = ŵ √2 x₀x₁, so that ŵ² φφ' = x₀x₁ x₀'x₁'
    torch.testing.assert_close(kernel(x).to_dense(), product[:, None] * product)
    assert kernel.num_features == 1


def test_aligned_with_little_noise_knows_g_at_the_anchors_up_to_its_sign_and_size() -> None:
    base = SquaredExponential(number(0.4))
    anchors, alpha, y = learnt(base, 12, 2, lam=1e-8)
    kernel = Aligned(base, anchors, alpha, 1e-8)
    torch.testing.assert_close(kernel(anchors).to_dense(), torch.outer(y, y), rtol=0, atol=1e-6)
    torch.testing.assert_close(kernel.mean(anchors), y, rtol=0, atol=1e-6)
    away = torch.tensor([[0.0, 0.0]], dtype=torch.float64)
    assert kernel(away, diag=True).item() > kernel.mean(away).item() ** 2 + 1e-4


def test_uncertain_where_nothing_was_learnt_is_the_prior() -> None:
    base, x = SquaredExponential(number(0.5)), table(5, 2)
    kernel = Uncertain(base, table(4, 2, seed=1), [1e-3, 0.0, 0.0, 0.0], 1e9)
    variance = 1e-6 * (1 + 1e9) / 4
    torch.testing.assert_close(kernel(x).to_dense() / variance, base(x).to_dense().detach(), rtol=0, atol=1e-7)


# -- covariances -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lengthscale", [0.5, 1.0, 2.5])
def test_all_are_positive_semi_definite_on_six_inputs(lengthscale: float) -> None:
    base = SquaredExponential(number(lengthscale))
    anchors, alpha, _ = learnt(base, 30, 6, lam=1e-2)
    x = torch.cat([table(12, 6, low=-1, high=1), anchors[:8]])
    for kernel in (
        Matched(base, anchors, alpha),
        Uncertain(base, anchors, alpha, 1e-2),
        Aligned(base, anchors, alpha, 1e-2),
    ):
        gram = kernel(x).to_dense()
        assert torch.linalg.eigvalsh(gram).min() > -1e-10 * gram.diagonal().max()


def test_uncertain_would_not_be_a_covariance_with_k4_for_l4() -> None:
    base = SquaredExponential(number(2.5)).requires_grad_(False)
    anchors, alpha, _ = learnt(base, 30, 6, lam=1e-2)
    x = table(20, 6, low=-1, high=1)
    gram = base.m_kernel(anchors, anchors)
    ridge = gram + 1e-2 * torch.eye(30)
    variance = alpha @ ridge @ alpha / 30
    shares = torch.outer(alpha, alpha) - variance * torch.linalg.inv(ridge)
    with_k4 = variance * base.m_kernel(x, x) + torch.einsum(
        "jk,jkxz->xz", shares, base.m_kernel(anchors, anchors, x, x)
    )
    assert torch.linalg.eigvalsh(with_k4).min() < -0.1 * with_k4.diagonal().abs().max()


# -- within GPyTorch ---------------------------------------------------------------------------------------


BOTH_WAYS = [f"{name} by {way}" for way in ("sums", "features") for name in ("reweighted", *SOME)]


@pytest.fixture(params=[*BOTH_WAYS, "cubic"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    if request.param == "cubic":
        return Uncertain(Polynomial(3, number(0.7)), table(4, 2, seed=9), coefficients(4), LAM)
    base, by_features = SquaredExponential(number(0.7)), "features" in request.param
    anchors, alpha, _ = learnt(base, 6, 2)
    reweighted = ReweightedBelief(base, anchors, alpha, by_features=by_features)
    named = [reweighted, *squared_exponential_beliefs(by_features=by_features)]
    return named[BOTH_WAYS.index(request.param) % 4]


def test_diagonal_is_the_full_matrix_s(kernel: Kernel) -> None:
    x, z = table(5, 2), table(5, 2, seed=3)
    torch.testing.assert_close(kernel(x, diag=True), kernel(x).to_dense().diagonal(), rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(kernel(x, z, diag=True), kernel(x, z).to_dense().diagonal(), rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(kernel(x, x.clone()).to_dense(), kernel(x).to_dense(), rtol=1e-11, atol=1e-13)


def test_batches_are_one_matrix_for_each(kernel: Kernel) -> None:
    x, z = table(3, 2, 4, 2), table(2, 5, 2, seed=3)
    full, diagonal = kernel(x, z).to_dense(), kernel(x, diag=True)
    assert full.shape == (3, 2, 4, 5)
    assert diagonal.shape == (3, 2, 4)
    for i in range(3):
        for j in range(2):
            torch.testing.assert_close(full[i, j], kernel(x[i, j], z[j]).to_dense(), rtol=1e-11, atol=1e-13)
            torch.testing.assert_close(diagonal[i, j], kernel(x[i, j], diag=True), rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(kernel(x, z)[1, 0].to_dense(), full[1, 0], rtol=1e-11, atol=1e-13)
    assert kernel.forward(x, torch.zeros(0, 2, dtype=torch.float64)).shape == (3, 2, 4, 0)


def test_repeated_tables_are_computed_once_and_differentiated_each(kernel: Kernel) -> None:
    x, train = table(6, 1, 2), table(3, 2, seed=3)
    repeated = train.expand(6, 3, 2).clone()
    one = kernel.forward(x, train)
    torch.testing.assert_close(kernel.forward(x, repeated), one, rtol=1e-11, atol=1e-13)
    assert kernel.forward(repeated, repeated).shape == (6, 3, 3)
    assert kernel.forward(repeated, repeated, diag=True).shape == (6, 3)
    repeated.requires_grad_()
    gradient = torch.autograd.grad(kernel.forward(x, repeated)[2].sum(), repeated)[0]
    assert gradient[2].abs().min() > 0
    assert gradient[[0, 1, 3, 4, 5]].abs().max() == 0


def test_chunking_does_not_change_the_result(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    x, z = table(7, 2).requires_grad_(), table(5, 2, seed=3)
    whole = kernel.forward(x, z)
    slope = torch.autograd.grad(whole.square().sum(), x)[0]
    monkeypatch.setattr(theorem, "_CHUNK", 12)
    monkeypatch.setattr(theorem, "_PAIRS_AT_ONCE", 4)
    monkeypatch.setattr(features, "_ENTRIES", {"cpu": 20})
    monkeypatch.setattr(features, "_chunks", lambda length, _: theorem._chunks(length, 3))  # not 64 or more
    parts = kernel.forward(x, z)
    torch.testing.assert_close(parts, whole, rtol=1e-11, atol=1e-13)
    torch.testing.assert_close(torch.autograd.grad(parts.square().sum(), x)[0], slope, rtol=1e-10, atol=1e-12)


def test_float32_inputs_are_answered_in_float32(kernel: Kernel) -> None:
    x = table(5, 2)
    exact = kernel(x).to_dense()
    rounded = deepcopy(kernel).float()(x.float()).to_dense()
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded.double(), exact, rtol=1e-5, atol=1e-5 * exact.max().item())
    # Nothing kept was rounded, so that it is the very same kernel again.
    assert torch.equal(deepcopy(kernel).float()(x).to_dense(), exact)
    assert torch.linalg.eigvalsh(rounded.double()).min() > -1e-6 * exact.max()


def test_survives_copies_and_state_dicts(kernel: Kernel) -> None:
    x = table(5, 2)
    before = kernel(x).to_dense()
    assert torch.equal(deepcopy(kernel)(x).to_dense(), before)
    other = deepcopy(kernel)
    for value in other.state_dict().values():
        value.div_(2) if value.is_floating_point() else value.zero_()
    assert not torch.allclose(other(x).to_dense(), before)
    other.load_state_dict(kernel.state_dict())
    assert torch.equal(other(x).to_dense(), before)


def test_nothing_is_learnable_and_nothing_is_shared(kernel: Kernel) -> None:
    assert not any(parameter.requires_grad for parameter in kernel.parameters())
    base, anchors, alpha, x = SquaredExponential(number(0.7)), table(3, 2, seed=1), coefficients(3), table(4, 2)
    made = Matched(base, anchors, alpha)
    before = made(x).to_dense()
    base.lengthscale = 0.2
    anchors.zero_()
    alpha.zero_()
    assert base.raw_lengthscale.requires_grad
    assert torch.equal(made(x).to_dense(), before)


# Posterior covariances of kernels of low rank are singular; linear_operator says so when it samples.
@pytest.mark.filterwarnings("ignore:A not p.d.:linear_operator.utils.warnings.NumericalWarning")
def test_drops_into_a_botorch_model(kernel: Kernel) -> None:
    x = table(8, 2, low=0.0, high=1.0)
    model = SingleTaskGP(x, x.sum(-1, keepdim=True), covar_module=ScaleKernel(kernel))
    candidates = table(5, 1, 2, seed=7, low=0.0, high=1.0).requires_grad_()
    variance = model.posterior(candidates).variance
    assert variance.shape == (5, 1, 1)
    gradient = torch.autograd.grad(variance.sum(), candidates)[0]
    assert torch.isfinite(gradient).all()
    assert gradient.abs().sum() > 0
    assert torch.isfinite(model.condition_on_observations(candidates[:, 0].detach(), x[:5, :1]).posterior(x).mean).all()


# -- degenerate and wrong input ----------------------------------------------------------------------------


@pytest.mark.parametrize("by_features", [False, True])
def test_zero_alpha_gives_the_zero_kernel(by_features: bool) -> None:
    base, anchors, x = SquaredExponential(number(0.5)), table(3, 2, seed=1), table(4, 2)
    for made in (
        Matched(base, anchors, torch.zeros(3), by_features=by_features),
        Uncertain(base, anchors, torch.zeros(3), LAM, by_features=by_features),
        ReweightedBelief(base, anchors, torch.zeros(3), by_features=by_features),
        Aligned(base, anchors, torch.zeros(3), LAM, by_features=by_features),
    ):
        assert made(x).to_dense().abs().max() == 0
        assert made(x, diag=True).tolist() == [0, 0, 0, 0]


def test_alpha_that_cancels_gives_the_zero_kernel() -> None:
    made = Matched(Linear(), [[1.0, 0.5], [-1.0, -0.5]], [1.0, 1.0])
    assert made(table(4, 2)).to_dense().abs().max() == 0


@pytest.mark.parametrize("belief", [Matched, partial(Uncertain, lam=LAM), partial(Aligned, lam=LAM)], ids=SOME)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((RBFKernel(), [[0.1, 0.2]], [1.0]), "Only a free kernel .* got RBFKernel"),
        ((Linear(), [[0.1, 0.2]], [1.0, 2.0]), "each of the 1 anchors; got shape \\(2,\\)"),
        ((Linear(), [0.1, 0.2], [1.0, 2.0]), "Anchors must be a table"),
        ((Linear(), [[float("nan"), 0.0]], [1.0]), "Anchors must be finite"),
        ((Linear(), [[0.1, 0.2]], [float("inf")]), "α must be finite"),
        ((SquaredExponential([0.5, 0.6, 0.7]), [[0.1, 0.2]], [1.0]), "3 inputs; got 2"),
        ((SquaredExponential(0.5, batch_shape=torch.Size([2])), [[0.1, 0.2]], [1.0]), "about one kernel; .* \\(2,\\)"),
    ],
)
def test_bad_input_says_what_to_do(belief, arguments: tuple, message: str) -> None:
    with pytest.raises(InputError, match=message):
        belief(*arguments)


def test_points_must_be_in_the_domain_and_as_wide_as_the_anchors(kernel: Kernel) -> None:
    with pytest.raises(InputError, match="2 inputs; got 3"):
        kernel(table(2, 3)).to_dense()
    if isinstance(kernel.base, SquaredExponential):
        with pytest.raises(DomainError, match="1 of 1 points lie outside"):
            kernel(torch.tensor([[2.0, 0.0]], dtype=torch.float64)).to_dense()


def test_options_that_cannot_be_used_are_refused() -> None:
    anchors, alpha = table(3, 2, seed=1), coefficients(3)
    with pytest.raises(InputError, match="only SquaredExponential will do; got Linear"):
        Matched(Linear(), anchors, alpha, by_features=False)
    with pytest.raises(InputError, match="got Reweighted"):
        Matched(Reweighted(Linear(), anchors, alpha), anchors, alpha)
    with pytest.raises(InputError, match="λ must be"):
        Aligned(Linear(), anchors, alpha, 0.0)
    with pytest.raises(InputError, match="tolerance must be"):
        Matched(Linear(), anchors, alpha, tolerance=-1.0)
    # Aligned needs K₂ alone, so it takes any free kernel.
    aligned = Aligned(Reweighted(Linear(), anchors, alpha), anchors, alpha, LAM)
    assert torch.isfinite(aligned(anchors).to_dense()).all()
