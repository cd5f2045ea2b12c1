"""Beliefs by explicit features, and by the sums that they stand for: when, and how close."""

import pytest
import torch

from support.builders import KERNEL_BELIEFS, LAM, belief_kernel, learnt, learnt_belief, normal
from support.cases import number, table
from tunedprior.beliefs import AlignedKernel, FixedReweightedKernel, MatchedKernel
from tunedprior.errors import InputError
from tunedprior.kernels import Exponential, FreeKernel, Linear, LogRatio, Polynomial, SquaredExponential


@pytest.mark.parametrize(("num_inputs", "lengthscale"), [(1, 0.3), (2, 0.6), (3, 1.0), (5, 3.0)])
@pytest.mark.parametrize("name", KERNEL_BELIEFS)
def test_features_equal_the_exact_sums(name: str, num_inputs: int, lengthscale: float) -> None:
    base = SquaredExponential(number(lengthscale))
    anchors, alpha = learnt(base, 6, num_inputs)
    tolerance = 1e-6 if name == "aligned" else 1e-9
    kernel = belief_kernel(name, base, anchors, alpha, by_features=True, tolerance=tolerance)
    exact = belief_kernel(name, base, anchors, alpha, by_features=False)
    assert kernel.by_features
    assert kernel.num_features == len(set(map(tuple, kernel.explicit.features.indices.tolist()))) > num_inputs
    assert (exact.by_features, exact.num_features) == (False, None)
    x = torch.cat([table(4, num_inputs, low=-1, high=1), anchors[:2], torch.ones(1, num_inputs)]).requires_grad_()
    z = table(3, num_inputs, seed=2, low=-1, high=1).requires_grad_()
    largest = exact(x.detach(), diag=True).max().item()
    slopes = []
    for one in (kernel, exact):
        slopes.append(torch.autograd.grad((one(x, z).to_dense() * torch.arange(1.0, 4.0)).sum(), (x, z)))
    # The tolerance is kept on average; at a corner `missing` bounds what is off.
    allowed = max(10 * tolerance * largest, 0.0 if name == "aligned" else kernel.missing)
    torch.testing.assert_close(kernel(x, z).to_dense(), exact(x, z).to_dense(), rtol=0, atol=allowed)
    torch.testing.assert_close(kernel(x, diag=True), exact(x, diag=True), rtol=0, atol=allowed)
    for mine, theirs in zip(*slopes, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e3 * tolerance * largest)


@pytest.mark.parametrize("name", KERNEL_BELIEFS)
def test_many_anchors_make_no_more_features(name: str) -> None:
    base = SquaredExponential(number(0.8))
    anchors, alpha = learnt(base, 150, 1)
    kernel, exact = (belief_kernel(name, base, anchors, alpha, by_features=how) for how in (None, False))
    assert kernel.by_features
    assert kernel.num_features < 40
    x = table(5, 1, low=-1, high=1)
    largest = exact(x, diag=True).max().item()
    torch.testing.assert_close(kernel(x).to_dense(), exact(x).to_dense(), rtol=0, atol=1e-5 * largest)


def test_aligned_takes_features_only_where_they_are_far_fewer_than_the_anchors() -> None:
    base = SquaredExponential(number(0.8))
    assert not AlignedKernel(base, *learnt(base, 10, 2), LAM).by_features
    assert AlignedKernel(base, *learnt(base, 10, 2), LAM, by_features=True).num_features > 10
    many = AlignedKernel(base, *learnt(base, 300, 2), LAM)
    assert many.num_features <= 150


def test_features_of_few_anchors_take_no_more_memory_than_they_have_to() -> None:
    base = SquaredExponential(number(4.0))
    anchors, alpha = learnt(base, 3, 12)
    kernel = AlignedKernel(base, anchors, alpha, LAM, by_features=True, tolerance=1e-4)
    assert kernel.num_features > 300
    assert kernel.explicit.mixing.shape[1] == 4  # ĝ, and a column for each anchor


@pytest.mark.parametrize("name", KERNEL_BELIEFS[1:])  # what the paper re-weights is few features even then
def test_short_lengthscales_on_six_inputs_fall_back_to_the_sum(name: str) -> None:
    base = SquaredExponential(number(0.3))
    anchors, alpha = learnt(base, 5, 6)
    kernel = belief_kernel(name, base, anchors, alpha)
    assert (kernel.by_features, kernel.num_features) == (False, None)
    exact = belief_kernel(name, base, anchors, alpha, by_features=False)
    x = table(4, 6)
    assert torch.equal(kernel(x).to_dense(), exact(x).to_dense())
    with pytest.raises(InputError, match=r"65,536 at most; SquaredExponential on 6 inputs .* tolerance of 1e-06"):
        belief_kernel(name, base, anchors, alpha, by_features=True)


@pytest.mark.parametrize("name", KERNEL_BELIEFS)
def test_forty_inputs_are_no_trouble(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunedprior.kernels.explicit_features.MOST_LOOKED_AT", 2**15)  # to give up sooner
    base = SquaredExponential(number(0.5))
    anchors, alpha = table(4, 40, seed=9, low=-0.2, high=0.2), table(4, seed=1)
    kernel = belief_kernel(name, base, anchors, alpha)
    assert not kernel.by_features
    assert torch.isfinite(kernel(anchors).to_dense()).all()
    with pytest.raises(InputError, match="SquaredExponential on 40 inputs cannot be shown"):
        belief_kernel(name, base, anchors, alpha, by_features=True)


def test_very_many_inputs_of_a_dot_product_fall_back_to_the_sum() -> None:
    anchors, alpha = table(3, 150, seed=9, low=-0.2, high=0.2), table(3, seed=1)
    assert not FixedReweightedKernel(Exponential(number(1.0)), anchors, alpha).by_features


def test_long_lengthscales_have_features_on_forty_inputs() -> None:
    base = SquaredExponential(number(20.0))
    anchors, alpha = learnt(base, 5, 40)
    kernel, exact = MatchedKernel(base, anchors, alpha), MatchedKernel(base, anchors, alpha, by_features=False)
    assert kernel.by_features
    x = table(4, 40, low=-1, high=1)
    torch.testing.assert_close(kernel(x).to_dense(), exact(x).to_dense(), rtol=1e-5, atol=0)


def test_kernels_that_end_have_all_their_features_and_miss_nothing() -> None:
    base, anchors, alpha = Polynomial(3, number(0.7)), table(30, 2, seed=9), table(30, seed=1)
    kernel = FixedReweightedKernel(base, anchors, alpha, tolerance=1e-12)
    exact = FixedReweightedKernel(base, anchors, alpha, by_features=False)
    x = table(5, 2)
    assert kernel.num_features == 10
    assert kernel.missing < 1e-10 * exact(x, diag=True).max()
    torch.testing.assert_close(kernel(x).to_dense(), exact(x).to_dense(), rtol=1e-10, atol=1e-11)


def test_kernels_that_vanish_at_all_anchors_are_no_trouble() -> None:
    anchors = torch.cat([table(30, 1, low=-0.5, high=0.5), torch.zeros(30, 1, dtype=torch.float64)], dim=1)
    made = AlignedKernel(LogRatio(), anchors, table(30, seed=1), 0.1)
    assert torch.isfinite(made(anchors).to_dense()).all()


def test_a_short_lengthscale_far_from_the_origin_is_searched_in_no_time() -> None:
    anchors, alpha = table(5, 1, low=0.9, high=1.0), table(5, seed=1)
    kernel, exact = (
        MatchedKernel(SquaredExponential(number(0.03)), anchors, alpha, by_features=by) for by in (None, False)
    )
    torch.testing.assert_close(kernel(anchors).to_dense(), exact(anchors).to_dense(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("base", [Linear(), Polynomial(2, number(1.0)), Exponential(number(1.0))], ids=str)
def test_aligned_by_features_of_dot_products(base: FreeKernel) -> None:
    anchors, alpha = table(40, 2, low=-1, high=1), table(40, seed=1)
    kernel, exact = (AlignedKernel(base, anchors, alpha, 0.1, by_features=by) for by in (True, False))
    x = table(20, 2, seed=3, low=-1, high=1)
    largest = exact(x, diag=True).max().item()
    torch.testing.assert_close(kernel(x).to_dense(), exact(x).to_dense(), rtol=0, atol=1e-5 * largest)


@pytest.mark.parametrize("lengthscale", [0.3, 0.7, 3.0])
@pytest.mark.parametrize("name", ["matched", "uncertain"])
def test_features_agree_with_the_exact_sum(name: str, lengthscale: float) -> None:
    x = torch.cat([table(20, 2, low=-1, high=1), torch.tensor([[1.0, 1.0], [-1.0, 1.0]])])
    exact = learnt_belief(name, lengthscale=lengthscale, by_features=False)
    kernel = learnt_belief(name, lengthscale=lengthscale, by_features=True, tolerance=1e-10)
    assert exact.num_features is None
    gram, expected = kernel(x).to_dense(), exact(x).to_dense()
    allowed = max(1e-9 * expected.max().item(), kernel.missing)  # at the corners more may be missing than on average
    torch.testing.assert_close(gram, expected, rtol=0, atol=allowed)


def test_kernels_that_end_are_exact() -> None:
    anchors, alpha = table(5, 2, seed=9), normal(5)
    x = table(4, 2)
    kernel = MatchedKernel(Polynomial(3, number(0.7)), anchors, alpha)
    assert kernel.num_features == 10
    base = Polynomial(3, number(0.7), num_inputs=2).requires_grad_(False)
    features, weights = base.evaluate_features(x, 3), base.compute_weights(3)
    w = alpha @ (weights * base.evaluate_features(anchors, 3))
    expected = (weights * w * features) @ (weights * w * features).mT
    torch.testing.assert_close(kernel(x).to_dense(), expected, rtol=1e-12, atol=1e-14)


def test_too_many_features_are_refused() -> None:
    given = Exponential(number(4.0)), table(5, 8, seed=9), normal(5)
    with pytest.raises(InputError, match="should number 65,536 at most; Exponential on 8 inputs"):
        MatchedKernel(*given, by_features=True)
    with pytest.raises(
        InputError, match="Without explicit features only squared exponential kernels will do; got Exponential"
    ):
        MatchedKernel(*given)


def test_open_domains_are_cut_where_the_anchors_are() -> None:
    kernel = MatchedKernel(LogRatio(), table(4, 2, seed=9, low=-0.8, high=0.8), normal(4))
    assert kernel.num_features == len(set(map(tuple, kernel.explicit.features.indices.tolist()))) > 2
