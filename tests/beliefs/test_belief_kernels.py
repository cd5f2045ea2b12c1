"""Kernels of beliefs: batches, chunks, dtypes, copies, BoTorch, and wrong input."""

from copy import deepcopy

import pytest
import torch
from botorch.models import SingleTaskGP
from gpytorch.kernels import Kernel, RBFKernel, ScaleKernel

from support.builders import KERNEL_BELIEFS, LAM, belief_kernel, learnt_belief, normal
from support.cases import number, table
from tunedprior.beliefs import AlignedKernel, MatchedKernel, UncertainKernel
from tunedprior.errors import DomainError, InputError
from tunedprior.kernels import Linear, Polynomial, ReweightedKernel, SquaredExponential, explicit_features
from tunedprior.kernels import anchors as theorem
from tunedprior.numerics.chunking import iterate_chunks

BOTH_WAYS = [f"{name} by {way}" for way in ("sums", "features") for name in KERNEL_BELIEFS]


@pytest.fixture(params=[*BOTH_WAYS, "cubic"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    if request.param == "cubic":
        return UncertainKernel(Polynomial(3, number(0.7)), table(4, 2, seed=9), normal(4), LAM)
    name, way = request.param.split(" by ")
    return learnt_belief(name, by_features=way == "features")


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
    monkeypatch.setattr(explicit_features, "_ENTRIES", {"cpu": 20})
    monkeypatch.setattr(
        explicit_features, "iterate_chunks", lambda length, _: iterate_chunks(length, 3)
    )  # not 64 or more
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
    base, anchors, alpha, x = SquaredExponential(number(0.7)), table(3, 2, seed=1), normal(3), table(4, 2)
    made = MatchedKernel(base, anchors, alpha)
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


@pytest.mark.parametrize("by_features", [False, True])
def test_zero_alpha_gives_the_zero_kernel(by_features: bool) -> None:
    base, anchors, x = SquaredExponential(number(0.5)), table(3, 2, seed=1), table(4, 2)
    for name in KERNEL_BELIEFS:
        made = belief_kernel(name, base, anchors, torch.zeros(3), by_features=by_features)
        assert made(x).to_dense().abs().max() == 0
        assert made(x, diag=True).tolist() == [0, 0, 0, 0]


def test_alpha_that_cancels_gives_the_zero_kernel() -> None:
    made = MatchedKernel(Linear(), [[1.0, 0.5], [-1.0, -0.5]], [1.0, 1.0])
    assert made(table(4, 2)).to_dense().abs().max() == 0


@pytest.mark.parametrize("name", KERNEL_BELIEFS)
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
def test_bad_input_says_what_to_do(name: str, arguments: tuple, message: str) -> None:
    with pytest.raises(InputError, match=message):
        belief_kernel(name, *arguments)


def test_points_must_be_in_the_domain_and_as_wide_as_the_anchors(kernel: Kernel) -> None:
    with pytest.raises(InputError, match="2 inputs; got 3"):
        kernel(table(2, 3)).to_dense()
    if isinstance(kernel.base, SquaredExponential):
        with pytest.raises(DomainError, match="1 of 1 points lie outside"):
            kernel(torch.tensor([[2.0, 0.0]], dtype=torch.float64)).to_dense()


def test_options_that_cannot_be_used_are_refused() -> None:
    anchors, alpha = table(3, 2, seed=1), normal(3)
    with pytest.raises(InputError, match="only squared exponential kernels will do; got Linear"):
        MatchedKernel(Linear(), anchors, alpha, by_features=False)
    with pytest.raises(InputError, match="got Reweighted"):
        MatchedKernel(ReweightedKernel(Linear(), anchors, alpha), anchors, alpha)
    with pytest.raises(InputError, match="λ must be"):
        AlignedKernel(Linear(), anchors, alpha, 0.0)
    with pytest.raises(InputError, match="tolerance must be"):
        MatchedKernel(Linear(), anchors, alpha, tolerance=-1.0)
    # Aligned needs K₂ alone, so it takes any free kernel.
    aligned = AlignedKernel(ReweightedKernel(Linear(), anchors, alpha), anchors, alpha, LAM)
    assert torch.isfinite(aligned(anchors).to_dense()).all()
