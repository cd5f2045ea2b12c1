"""Explicit features against loops, and kernels that are sums over them."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cases import table
from support.features import ard_kernel, features_by_loops, gram_by_loops, random_indices
from tunedprior.kernels import explicit_features
from tunedprior.kernels.explicit_features import FeatureKernel, Features


@settings(max_examples=40)
@given(num_inputs=st.integers(1, 4), count=st.integers(0, 40), seed=st.integers(0, 10_000), data=st.data())
def test_features_equal_loops(num_inputs: int, count: int, seed: int, data: st.DataObject) -> None:
    base, lengthscales = ard_kernel(num_inputs)
    made = Features(random_indices(num_inputs, count, seed))
    x = torch.cat(
        [table(3, num_inputs, seed=seed, low=-1, high=1), torch.zeros(1, num_inputs), -torch.ones(1, num_inputs)]
    )
    expected = features_by_loops(x, made.indices, lengthscales)
    product = base.make_product(x)
    torch.testing.assert_close(made.evaluate_all(product), expected, rtol=1e-13, atol=1e-15)
    ends = sorted(data.draw(st.tuples(*[st.integers(0, len(made))] * 2)))
    some = slice(*ends)
    torch.testing.assert_close(
        made.evaluate_slice(made.compute_powers(product), some), expected[some], rtol=1e-13, atol=1e-15
    )


def test_indices_are_sorted_and_bring_their_numbers_along() -> None:
    indices = random_indices(3, 25, seed=3)
    made = Features(indices, mine=indices.sum(1).double(), rows=indices.double())
    assert made.indices.tolist() == sorted(indices.tolist())
    assert len(made) == 25
    assert torch.equal(made.mine, made.indices.sum(1).double())
    assert torch.equal(made.rows, made.indices.double())
    assert made.float().mine.dtype == torch.float64


@pytest.mark.parametrize("num_inputs", [1, 3])
def test_features_have_derivatives_also_at_zero(num_inputs: int) -> None:
    base, _ = ard_kernel(num_inputs)
    made = Features(random_indices(num_inputs, 6, seed=1, highest=5))
    x = torch.cat([table(2, num_inputs), torch.zeros(1, num_inputs)]).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: made.evaluate_all(base.make_product(x)), (x,))
    assert torch.autograd.gradgradcheck(
        lambda x: made.evaluate_slice(made.compute_powers(base.make_product(x)), slice(1, 4)), (x,)
    )


def explicit(count: int = 9, remainder: float = 0.0, highest: int = 6) -> tuple[FeatureKernel, list[float]]:
    base, lengthscales = ard_kernel(2)
    indices = random_indices(2, count, seed=4, highest=highest)
    return FeatureKernel(base, indices, 0.1 + table(count, seed=7).abs(), remainder), lengthscales


@pytest.mark.parametrize("remainder", [0.0, 0.3])
def test_an_explicit_kernel_equals_loops(remainder: float) -> None:
    kernel, lengthscales = explicit(remainder=remainder)
    x, z = table(4, 2), table(3, 2, seed=1)
    left, right = (features_by_loops(points, kernel.features.indices, lengthscales) for points in (x, z))
    expected = torch.einsum("p,pn,pk->nk", kernel.coefficients, left, right)
    expected = expected + remainder * gram_by_loops(x, z, lengthscales)
    torch.testing.assert_close(kernel(x, z).to_dense(), expected, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(kernel(x[:3], z, diag=True), expected[:3].diagonal(), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(kernel(x).to_dense().diagonal(), kernel(x, diag=True), rtol=1e-12, atol=1e-14)
    rounded = kernel(x.float(), z.float()).to_dense()
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded.double(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("remainder", [0.0, 0.3])
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 2, 4), (5,)),
        ((4,), (3, 2, 5)),
        ((3, 2, 4), (3, 2, 5)),
        ((3, 2, 4), (2, 5)),
        ((3, 1, 4), (2, 5)),
        ((3, 1), (6,)),
    ],
    ids=["left", "right", "both", "some of both", "neither of the other's", "candidates"],
)
def test_batches_are_one_matrix_for_each(left: tuple, right: tuple, remainder: float) -> None:
    kernel, _ = explicit(remainder=remainder)
    x, z = table(*left, 2), table(*right, 2, seed=1)
    values = kernel.forward(x, z)
    batch = torch.broadcast_shapes(left[:-1], right[:-1])
    assert values.shape == (*batch, left[-1], right[-1])
    x, z = x.expand(*batch, left[-1], 2), z.expand(*batch, right[-1], 2)
    for place in itertools.product(*map(range, batch)):
        torch.testing.assert_close(values[place], kernel.forward(x[place], z[place]), rtol=1e-12, atol=1e-14)
        one = kernel.forward(x[place], x[place], diag=True)
        torch.testing.assert_close(kernel.forward(x, x, diag=True)[place], one, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("shapes", [((5,), (4,)), ((2, 3), (4,)), ((2, 3), (2, 4))], ids=str)
def test_chunks_of_features_change_neither_values_nor_gradients(shapes: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, _ = explicit(200, remainder=0.3, highest=20)
    x, z = (table(*shape, 2, seed=seed).requires_grad_() for seed, shape in enumerate(shapes))

    def values_and_gradients() -> list[torch.Tensor]:
        values, diagonal = kernel.forward(x, z), kernel.forward(x, x, diag=True)
        total = values.square().sum() + diagonal.square().sum()
        return [values, diagonal, *torch.autograd.grad(total, (x, z))]

    whole = values_and_gradients()
    monkeypatch.setattr(explicit_features, "_ENTRIES", {"cpu": 1})  # 64 features at once
    for part, expected in zip(values_and_gradients(), whole, strict=True):
        torch.testing.assert_close(part, expected, rtol=1e-11, atol=1e-13)


def test_an_explicit_kernel_has_derivatives() -> None:
    kernel, _ = explicit(remainder=0.3)
    x, z = table(2, 2).requires_grad_(), table(3, 2, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(kernel.forward, (x, z))
    assert torch.autograd.gradcheck(lambda x: kernel.forward(x, x, diag=True), (x,))


def test_no_features_make_no_variance() -> None:
    kernel = FeatureKernel(ard_kernel(2)[0], torch.zeros(0, 2, dtype=torch.long), torch.zeros(0).double())
    x = table(3, 2).requires_grad_()
    assert kernel(x).to_dense().abs().max() == 0
    assert kernel(x, diag=True).tolist() == [0, 0, 0]
    assert kernel.forward(x, torch.zeros(0, 2, dtype=torch.float64)).shape == (3, 0)
    assert kernel.num_features == 0
