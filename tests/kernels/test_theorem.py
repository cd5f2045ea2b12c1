"""The Theorem: re-weighted kernels against loops, against explicit features, and within their memory."""

import pytest
import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import RBFKernel, ScaleKernel
from hypothesis import given, settings
from hypothesis import strategies as st

from support import reference
from support.builders import normal
from support.cases import CASES, IDS, Case, number, table
from support.memory import LargestTensor
from tunedprior.errors import DomainError, InputError
from tunedprior.kernels import Linear, Polynomial, ReweightedKernel, SquaredExponential
from tunedprior.kernels import anchors as theorem
from tunedprior.machines import LeastSquares


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_equals_loops(case: Case, m: int) -> None:
    anchors, alpha = table(4, 2, seed=9), normal(4)
    xs = [table(1 + k % 2, 2, seed=k) for k in range(m)]
    values = ReweightedKernel(case.make(), anchors, alpha).evaluate_m_kernel(*xs)

    def loop(points: list) -> complex:
        return reference.reweighted(case.loop, points, anchors.tolist(), alpha.tolist())

    for choice, expected in reference.every_choice(loop, [x.tolist() for x in xs]).items():
        assert values[choice].item() == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_gradients_equal_loops(case: Case) -> None:
    anchors, alpha = table(3, 2, seed=9), normal(3)
    xs = [table(1, 2, seed=k).requires_grad_() for k in range(2)]
    gradients = torch.autograd.grad(ReweightedKernel(case.make(), anchors, alpha).evaluate_m_kernel(*xs).sum(), xs)

    def loop(points: list) -> complex:
        return reference.reweighted(case.loop, points, anchors.tolist(), alpha.tolist())

    for which in range(2):
        expected = reference.gradient(loop, [x[0].tolist() for x in xs], which)
        assert gradients[which][0].tolist() == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_weights_are_tau_times_s(case: Case) -> None:
    base, anchors, alpha = case.make(num_inputs=2), table(4, 2, seed=9), normal(4)
    kernel = ReweightedKernel(base, anchors, alpha)
    s = sum(
        a * base.evaluate_features(anchor[None], case.max_degree)[0] for a, anchor in zip(alpha, anchors, strict=True)
    )
    torch.testing.assert_close(kernel.compute_weights(case.max_degree), base.compute_weights(case.max_degree) * s)
    x = table(3, 2)
    torch.testing.assert_close(kernel.evaluate_features(x, 5), base.evaluate_features(x, 5))


@pytest.mark.parametrize("m", [2, 4, 6])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_equals_explicit_features(case: Case, m: int) -> None:
    kernel = ReweightedKernel(case.make(), table(4, 2, seed=9, low=-0.7, high=0.7), normal(4))
    xs = [table(1 + k % 2, 2, seed=k, low=-0.7, high=0.7) for k in range(m)]
    total = kernel.compute_weights(case.max_degree) ** 2
    for x in xs:
        total = total[..., None, :] * kernel.evaluate_features(x, case.max_degree)
    torch.testing.assert_close(kernel.evaluate_m_kernel(*xs), total.sum(-1), rtol=1e-6, atol=1e-8)


def test_composes_twice() -> None:
    anchors, alpha = table(3, 2, seed=1), normal(3)
    more, beta = table(2, 2, seed=2), normal(2, seed=6)
    once = ReweightedKernel(Polynomial(2, number(0.8)), anchors, alpha)
    twice = ReweightedKernel(once, more, beta)
    x = table(4, 2)
    weights = once.compute_weights(2) * (beta @ once.evaluate_features(more, 2))
    torch.testing.assert_close(twice.compute_weights(2), weights)
    explicit = twice.evaluate_features(x, 2)
    torch.testing.assert_close(twice(x).to_dense(), (explicit * weights**2) @ explicit.mT, rtol=1e-10, atol=1e-12)

    def loop(points: list) -> complex:
        def inner(some: list) -> complex:
            return reference.polynomial(some, degree=2, offset=0.8)

        def outer(some: list) -> complex:
            return reference.reweighted(inner, some, anchors.tolist(), alpha.tolist())

        return reference.reweighted(outer, points, more.tolist(), beta.tolist())

    for choice, expected in reference.every_choice(loop, [x.tolist(), x.tolist()]).items():
        assert twice(x).to_dense()[choice].item() == pytest.approx(expected, rel=1e-10, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), lengthscale=st.floats(0.2, 5.0), count=st.integers(1, 20))
def test_is_positive_semi_definite(seed: int, lengthscale: float, count: int) -> None:
    anchors, alpha = table(count, 3, seed=seed, low=-1, high=1), normal(count, seed=seed)
    kernel = ReweightedKernel(SquaredExponential(number(lengthscale)), anchors, alpha)
    gram = kernel(table(10, 3, seed=seed + 1, low=-1, high=1)).to_dense()
    torch.testing.assert_close(gram, gram.mT, rtol=1e-9, atol=1e-11)
    # Rounding of the α_j α_k terms, not of their sum, sets the floor.
    assert torch.linalg.eigvalsh(gram).min() > -1e-13 * alpha.abs().sum() ** 2 * len(gram)


def test_xor_kernel_is_half_the_product_of_products() -> None:
    corners = torch.tensor([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    alpha = torch.tensor([-1.0, 1.0, 1.0, -1.0], dtype=torch.float64) / 8
    kernel = ReweightedKernel(Polynomial(2, number(1.0)), corners, alpha)
    x = table(6, 2)
    product = x[:, 0] * x[:, 1]
    torch.testing.assert_close(kernel(x).to_dense(), product[:, None] * product / 2)
    torch.testing.assert_close(kernel(x, diag=True), product**2 / 2)
    expected = torch.tensor([0, 0, 0, 0, -(0.5**0.5), 0], dtype=torch.float64)
    torch.testing.assert_close(kernel.compute_weights(2), expected)
    # The paper's middle expression, (1/64) Σ_ij (1 + xᵀ(x_i x_jᵀ)x')², is another kernel (docs/notation.md).
    one = torch.ones(2, dtype=torch.float64)
    printed = (1 + torch.outer(corners @ one, corners @ one)).square().sum() / 64
    assert (printed.item(), kernel(one[None]).to_dense().item()) == pytest.approx((1.25, 0.5))


# BoTorch advises against float32; people use it all the same.
@pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_stays_a_covariance_when_alpha_is_large(dtype: torch.dtype) -> None:
    anchors = table(40, 2, seed=1, low=-1, high=1)
    trained = LeastSquares(1e-6).fit(SquaredExponential(number(2.0)), anchors, anchors[:, 0] + 0.3 * anchors[:, 1])
    assert trained.alpha.abs().sum() > 1e3  # terms far larger than their sum
    kernel, x = trained.make_reweighted_kernel().to(dtype), table(25, 2, seed=2, low=-1, high=1).to(dtype)
    gram = kernel(x).to_dense()
    assert gram.dtype == dtype
    assert torch.linalg.eigvalsh(gram.double()).min() > -1e-6 * gram.diagonal().max()
    assert kernel.alpha.dtype == torch.float64
    x, y = x / 2 + 0.5, (x[:, :1] * 2).sin()
    assert SingleTaskGP(x, y, covar_module=ScaleKernel(kernel)).posterior(x).variance.min() > 0


def test_dtypes_may_be_mixed() -> None:
    x, anchors, alpha = table(4, 2), table(3, 2, seed=1), normal(3)
    exact = ReweightedKernel(SquaredExponential(number(0.5)), anchors, alpha)(x).to_dense()
    for base in (SquaredExponential(0.5), SquaredExponential(number(0.5))):
        for points in (anchors.tolist(), anchors.float()):
            for inputs in (x, x.float()):
                mixed = ReweightedKernel(base, points, alpha)(inputs).to_dense()
                torch.testing.assert_close(mixed.double(), exact, rtol=1e-4, atol=1e-5)


def test_gradients_reach_the_base_lengthscale() -> None:
    x, anchors, alpha = table(3, 2), table(4, 2, seed=1), normal(4)

    def total(lengthscale: float) -> float:
        return ReweightedKernel(SquaredExponential(number(lengthscale)), anchors, alpha)(x).to_dense().sum().item()

    base = SquaredExponential(number(0.6))
    ReweightedKernel(base, anchors, alpha)(x).to_dense().sum().backward()
    chain = torch.sigmoid(base.raw_lengthscale).item()  # dℓ/draw of the softplus constraint
    slope = (total(0.6 + 1e-6) - total(0.6 - 1e-6)) / 2e-6
    assert base.raw_lengthscale.grad.item() == pytest.approx(slope * chain, rel=1e-6)


def test_base_kernels_may_pick_columns() -> None:
    x, anchors, alpha = table(4, 5), table(6, 5, seed=1), normal(6)
    picked = ReweightedKernel(SquaredExponential(number(0.6), active_dims=(1, 3)), anchors, alpha)
    plain = ReweightedKernel(SquaredExponential(number(0.6)), anchors[:, [1, 3]], alpha)
    torch.testing.assert_close(picked(x).to_dense(), plain(x[:, [1, 3]]).to_dense())
    torch.testing.assert_close(picked.compute_weights(4), plain.compute_weights(4))
    torch.testing.assert_close(picked.evaluate_features(x, 4), plain.evaluate_features(x[:, [1, 3]], 4))
    assert torch.equal(picked.list_multi_indices(4), plain.list_multi_indices(4))


def test_empty_tables_give_empty_matrices() -> None:
    x, empty = table(4, 2), torch.zeros(0, 2, dtype=torch.float64)
    kernel = ReweightedKernel(SquaredExponential(number(0.6)), table(3, 2, seed=1), normal(3))
    assert kernel.forward(x, empty).shape == (4, 0)
    assert kernel.forward(empty, x).shape == (0, 4)


def test_the_caller_keeps_their_data_to_themselves() -> None:
    anchors, alpha, x = table(3, 2, seed=1), normal(3), table(4, 2)
    kernel = ReweightedKernel(SquaredExponential(number(0.6)), anchors, alpha)
    before = kernel(x).to_dense()
    anchors.zero_()
    alpha.zero_()
    assert torch.equal(kernel(x).to_dense(), before)


@pytest.mark.parametrize("shape", [(80, 2), (3600, 1, 2), (9, 20, 2)], ids=["matrix", "t-batch", "batch of matrices"])
def test_memory_stays_chunked_forward_and_backward(shape: tuple[int, ...]) -> None:
    anchors = 60
    x = table(*shape).requires_grad_()
    kernel = ReweightedKernel(SquaredExponential(number(0.5)), table(anchors, 2, seed=1), normal(anchors))
    saved = 0

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal saved
        saved += tensor.numel()
        return tensor

    with LargestTensor() as mode:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            total = kernel.forward(x, x).sum()
        total.backward()
    everything = x.shape[:-2].numel() * x.shape[-2] ** 2 * anchors * (anchors + 1) // 2
    assert everything > 20 * theorem._CHUNK
    assert mode.entries <= theorem._CHUNK
    assert saved < everything / 5


def test_chunking_does_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    x, other = table(7, 2), table(5, 2, seed=3)
    kernel = ReweightedKernel(SquaredExponential(number(0.5)), table(6, 2, seed=1), normal(6))
    whole = kernel(x, other).to_dense()
    monkeypatch.setattr(theorem, "_CHUNK", 12)
    monkeypatch.setattr(theorem, "_PAIRS_AT_ONCE", 4)
    torch.testing.assert_close(kernel(x, other).to_dense(), whole, rtol=1e-12, atol=1e-14)


def test_zero_alpha_gives_the_zero_kernel() -> None:
    x = table(4, 2)
    kernel = ReweightedKernel(SquaredExponential(0.5).double(), table(3, 2, seed=1), torch.zeros(3))
    assert kernel(x).to_dense().abs().max() == 0
    assert kernel(x, diag=True).shape == (4,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ReweightedKernel(RBFKernel(), table(2, 2), [1, 2]), "Only a free kernel .* got RBFKernel"),
        (lambda: ReweightedKernel(Linear(), table(2, 2), [1.0, 2.0, 3.0]), "each of the 2 anchors; got shape \\(3,\\)"),
        (lambda: ReweightedKernel(Linear(), [[float("nan"), 0.0]], [1.0]), "Anchors must be finite"),
        (lambda: ReweightedKernel(Linear(), table(2, 2), [1.0, float("inf")]), "α must be finite"),
        (lambda: ReweightedKernel(Linear(), torch.zeros(0, 2), []), "at least one row"),
        (lambda: ReweightedKernel(Linear(), table(2, 2), [1.0, 1.0])(table(2, 3)).to_dense(), "2 inputs; got 3"),
    ],
)
def test_bad_input_says_what_to_do(make, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_anchors_must_lie_in_the_domain() -> None:
    with pytest.raises(DomainError, match="1 of 1 points lie outside"):
        ReweightedKernel(SquaredExponential(1.0), [[2.0, 0.0]], [1.0])


def test_features_are_those_of_the_columns_that_the_kernel_sees() -> None:
    anchors, alpha, x = table(3, 2, seed=1), table(3, seed=2), table(4, 5, seed=3)
    tuned = ReweightedKernel(Polynomial(2, number(1.0)), anchors, alpha, active_dims=(3, 1))
    plain = ReweightedKernel(Polynomial(2, number(1.0)), anchors, alpha)
    torch.testing.assert_close(tuned.evaluate_features(x, 2), plain.evaluate_features(x[:, [3, 1]], 2), rtol=0, atol=0)
