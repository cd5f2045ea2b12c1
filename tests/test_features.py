"""Explicit features: against loops, by brute force, and against the sums that they stand for."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
import torch
from gpytorch.kernels import Kernel
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import reference
from cases import number, table
from tunedprior.errors import InputError
from tunedprior.kernels import (
    Aligned,
    DirectProduct,
    Exponential,
    FreeKernel,
    Linear,
    LogRatio,
    Matched,
    Polynomial,
    ReweightedBelief,
    Sinh,
    SquaredExponential,
    Uncertain,
    features,
)
from tunedprior.kernels.best_first import _at_least, _log_sizes, best_first
from tunedprior.kernels.features import AlignedFeatures, Explicit, Features
from tunedprior.kernels.search import features_that_matter, largest_features
from tunedprior.linalg import symmetric_root

LAM = 0.05
NAMES = ["reweighted", "matched", "uncertain", "aligned"]


def ones(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, dtype=torch.float64)


def fixed(kernel: FreeKernel) -> FreeKernel:
    return kernel.double().requires_grad_(False)


def squared_exponential(num_inputs: int) -> tuple[FreeKernel, list[float]]:
    """With a length-scale for each input."""
    lengthscales = [0.6, 0.9, 1.4, 2.0][:num_inputs]
    return fixed(SquaredExponential(torch.tensor(lengthscales, dtype=torch.float64))), lengthscales


def random_indices(num_inputs: int, count: int, seed: int, highest: int = 6) -> torch.Tensor:
    """Some multi-indices, all different, in no order, and with gaps: not everything below one of them is there."""
    everything = list(itertools.product(range(highest + 1), repeat=num_inputs))
    rows = torch.randperm(len(everything), generator=torch.Generator().manual_seed(seed))[:count]
    return torch.tensor(everything)[rows]


def loops(points: torch.Tensor, indices: torch.Tensor, lengthscales: list[float]) -> torch.Tensor:
    """ϑ_i(x), one by one, `p x n`."""
    each = [
        [reference.squared_exponential_feature(point, index, lengthscales) for point in points.tolist()]
        for index in indices.tolist()
    ]
    return torch.tensor(each, dtype=torch.float64).reshape(len(indices), len(points))


def learnt(base: FreeKernel, count: int, num_inputs: int, lam: float = LAM) -> tuple[torch.Tensor, torch.Tensor]:
    """Anchors, and their least-squares α."""
    anchors = table(count, num_inputs, seed=1, low=-1, high=1)
    y = (3 * anchors[:, 0]).sin() + anchors.prod(-1) + anchors.square().sum(-1) / 2
    gram = base.m_kernel(anchors, anchors).detach()
    return anchors, torch.linalg.solve(gram + lam * torch.eye(count), y)


def belief(name: str, base: FreeKernel, anchors: torch.Tensor, alpha: torch.Tensor, **options) -> Kernel:
    if name == "reweighted":
        return ReweightedBelief(base, anchors, alpha, **options)
    if name == "matched":
        return Matched(base, anchors, alpha, **options)
    return {"uncertain": Uncertain, "aligned": Aligned}[name](base, anchors, alpha, LAM, **options)


# -- ϑ -------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(num_inputs=st.integers(1, 4), count=st.integers(0, 40), seed=st.integers(0, 10_000), data=st.data())
def test_features_equal_loops(num_inputs: int, count: int, seed: int, data: st.DataObject) -> None:
    base, lengthscales = squared_exponential(num_inputs)
    made = Features(random_indices(num_inputs, count, seed))
    x = torch.cat([table(3, num_inputs, seed=seed, low=-1, high=1), torch.zeros(1, num_inputs), -ones(1, num_inputs)])
    expected = loops(x, made.indices, lengthscales)
    product = base._product(x)
    torch.testing.assert_close(made.all(product), expected, rtol=1e-13, atol=1e-15)
    ends = sorted(data.draw(st.tuples(*[st.integers(0, len(made))] * 2)))
    some = slice(*ends)
    torch.testing.assert_close(made.at(made.powers(product), some), expected[some], rtol=1e-13, atol=1e-15)


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
    base, _ = squared_exponential(num_inputs)
    made = Features(random_indices(num_inputs, 6, seed=1, highest=5))
    x = torch.cat([table(2, num_inputs), torch.zeros(1, num_inputs)]).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: made.all(base._product(x)), (x,))
    assert torch.autograd.gradgradcheck(lambda x: made.at(made.powers(base._product(x)), slice(1, 4)), (x,))


# -- kernels that are sums over features ---------------------------------------------------------------


def explicit(count: int = 9, remainder: float = 0.0, highest: int = 6) -> tuple[Explicit, list[float]]:
    base, lengthscales = squared_exponential(2)
    indices = random_indices(2, count, seed=4, highest=highest)
    return Explicit(base, indices, 0.1 + table(count, seed=7).abs(), remainder), lengthscales


@pytest.mark.parametrize("remainder", [0.0, 0.3])
def test_an_explicit_kernel_equals_loops(remainder: float) -> None:
    kernel, lengthscales = explicit(remainder=remainder)
    x, z = table(4, 2), table(3, 2, seed=1)
    left, right = (loops(points, kernel.features.indices, lengthscales) for points in (x, z))
    prior = [[reference.squared_exponential([a, b], lengthscales).real for b in z.tolist()] for a in x.tolist()]
    expected = torch.einsum("p,pn,pk->nk", kernel.coefficients, left, right) + remainder * torch.tensor(
        prior, dtype=torch.float64
    )
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
    monkeypatch.setattr(features, "_ENTRIES", {"cpu": 1})  # 64 features at once
    for part, expected in zip(values_and_gradients(), whole, strict=True):
        torch.testing.assert_close(part, expected, rtol=1e-11, atol=1e-13)


def test_an_explicit_kernel_has_derivatives() -> None:
    kernel, _ = explicit(remainder=0.3)
    x, z = table(2, 2).requires_grad_(), table(3, 2, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(kernel.forward, (x, z))
    assert torch.autograd.gradcheck(lambda x: kernel.forward(x, x, diag=True), (x,))


def test_no_features_make_no_variance() -> None:
    kernel = Explicit(squared_exponential(2)[0], torch.zeros(0, 2, dtype=torch.long), torch.zeros(0).double())
    x = table(3, 2).requires_grad_()
    assert kernel(x).to_dense().abs().max() == 0
    assert kernel(x, diag=True).tolist() == [0, 0, 0]
    assert kernel.forward(x, torch.zeros(0, 2, dtype=torch.float64)).shape == (3, 0)
    assert kernel.num_features == 0


def test_aligned_features_equal_loops() -> None:
    base, lengthscales = squared_exponential(2)
    indices, x, z = random_indices(2, 7, seed=2), table(3, 4, 2), table(5, 2, seed=1)
    weights, known = table(7, seed=3), table(7, 2, seed=4) / 4
    kernel = AlignedFeatures(base, indices, weights, known, 0.7)
    tau = [math.sqrt(reference.squared_exponential_squared_weight(index, lengthscales)) for index in indices.tolist()]
    values = kernel(x, z).to_dense()
    for place in range(3):
        phi, other = (torch.tensor(tau)[:, None] * loops(points, indices, lengthscales) for points in (x[place], z))
        prior = torch.tensor(
            [[reference.squared_exponential([a, b], lengthscales).real for b in z.tolist()] for a in x[place].tolist()]
        )
        expected = torch.outer(weights @ phi, weights @ other) + 0.7 * (prior - phi.mT @ known @ known.mT @ other)
        torch.testing.assert_close(values[place], expected, rtol=0, atol=1e-6)


def test_a_symmetric_root_squares_to_its_matrix_with_no_column_too_many() -> None:
    half = table(6, 3)
    root = symmetric_root(half @ half.mT)
    assert root.shape == (6, 3)
    torch.testing.assert_close(root @ root.mT, half @ half.mT, rtol=1e-12, atol=1e-13)


# -- the search ----------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(num_inputs=st.integers(1, 4), powers=st.integers(2, 5), seed=st.integers(0, 10_000), least=st.floats(-6, 3))
def test_the_search_finds_all_that_brute_force_does(num_inputs: int, powers: int, seed: int, least: float) -> None:
    sizes = np.random.default_rng(seed).normal(size=(num_inputs, powers))
    sizes[0, -1] = -np.inf  # a power that the kernel does not have
    indices, sums = _at_least(sizes, least)
    expected = {
        index: sum(sizes[d, i] for d, i in enumerate(index))
        for index in itertools.product(range(powers), repeat=num_inputs)
    }
    assert {tuple(index) for index in indices.tolist()} == {index for index, size in expected.items() if size >= least}
    assert len(indices) == len(set(map(tuple, indices.tolist())))
    assert sums.tolist() == pytest.approx([expected[tuple(index)] for index in indices.tolist()])


@pytest.mark.parametrize("coefficients", [[0.5, 0.0, 2.0, 0.25], [1.0, 0.1, 0.01], [1.0, 1.0]], ids=str)
@pytest.mark.parametrize("num_inputs", [1, 2, 4])
def test_every_feature_of_a_kernel_that_ends_comes_once(num_inputs: int, coefficients: list[float]) -> None:
    base = fixed(DirectProduct(torch.tensor(coefficients, dtype=torch.float64)))
    corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * num_inputs).double().reshape(-1, num_inputs)
    found = [tuple(index) for batch in best_first(base, base._product(corners)) for index in batch.tolist()]
    powers = [power for power, value in enumerate(coefficients) if value]
    assert sorted(found) == sorted(itertools.product(powers, repeat=num_inputs))


def test_features_come_best_first_and_once() -> None:
    base = squared_exponential(3)[0]
    anchors = base._product(table(10, 3, low=-1, high=1))
    sizes = _log_sizes(base, anchors)
    found, before = [], np.inf
    for batch in itertools.islice(best_first(base, anchors), 8):
        logs = sizes[np.arange(3), batch.numpy()].sum(1)
        assert len(logs) == 0 or logs.max() <= before
        before = logs.min() if len(logs) else before
        found += map(tuple, batch.tolist())
    assert len(found) == len(set(found))
    everything = itertools.product(range(20), repeat=3)
    assert {index for index in everything if sizes[np.arange(3), index].sum() > before + 1e-9} <= set(found)


def test_features_of_a_dot_product_come_by_degree() -> None:
    base = fixed(Sinh(number(1.5)))
    batches = [batch.tolist() for batch in itertools.islice(best_first(base, base._product(table(2, 3))), 4)]
    for degree, batch in enumerate(batches):
        assert sorted(map(tuple, batch)) == sorted(i for i in reference.indices(3, degree) if sum(i) == degree)


@pytest.mark.parametrize("far", [0.6, 1.0, 1.5])
def test_means_peaks_and_factors_of_a_squared_exponential(far: float) -> None:
    lengthscales = [0.2, 0.7, 3.0]
    base = fixed(SquaredExponential(torch.tensor(lengthscales, dtype=torch.float64)))
    reach = torch.tensor([1.0, far, far], dtype=torch.float64)
    means, peaks, factors = base._log_mean_squares(12, reach), base._log_peaks(12, reach), base._log_factors(12)
    for d, (ell, end) in enumerate(zip(lengthscales, reach.tolist(), strict=True)):
        for power in (0, 1, 2, 5, 12):
            feature = partial(reference.squared_exponential_feature, index=[power], lengthscales=[ell])
            mean = quad(lambda t, f=feature: f([t]) ** 2, 0, end, points=[min(end, 2 * ell)])[0] / end
            peak = max(abs(feature([t])) for t in np.linspace(-end, end, 2001))
            assert means[d, power].exp().item() == pytest.approx(mean, rel=1e-8)
            assert peaks[d, power].exp().item() == pytest.approx(peak, rel=1e-4)
            weight = reference.squared_exponential_squared_weight([power], [ell])
            assert factors[d, power].exp().item() == pytest.approx(weight, rel=1e-12)


@pytest.mark.parametrize(
    ("base", "xi"),
    [
        (DirectProduct(torch.tensor([0.5, 0.0, 2.0, 0.25], dtype=torch.float64)), [0.5, 0.0, 2.0, 0.25, 0.0]),
        (LogRatio(), [0, 2, 0, 2 / 3, 0]),
    ],
    ids=["direct product", "log ratio"],
)
def test_means_peaks_and_factors_of_monomials(base: FreeKernel, xi: list[float]) -> None:
    reach = torch.tensor([0.7, 0.95], dtype=torch.float64)
    means, peaks, factors = base._log_mean_squares(4, reach), base._log_peaks(4, reach), base._log_factors(4)
    assert factors.exp().flatten().tolist() == pytest.approx(xi)
    for d, end in enumerate(reach.tolist()):
        for power in range(5):
            mean = quad(lambda t, k=power: t ** (2 * k), 0, end)[0] / end
            assert means[d, power].exp().item() == pytest.approx(mean)
            assert peaks[d, power].exp().item() == pytest.approx(end**power)


def test_sizes_are_means_over_the_anchors() -> None:
    base, lengthscales = squared_exponential(2)
    anchors = torch.cat([table(5, 2), torch.zeros(1, 2)])
    sizes = np.exp(_log_sizes(base, base._product(anchors)))
    for d, ell in enumerate(lengthscales):
        for power in range(8):
            squares = [reference.squared_exponential_feature([x], [power], [ell]) ** 2 for x in anchors[:, d].tolist()]
            weight = reference.squared_exponential_squared_weight([power], [ell])
            assert sizes[d, power] == pytest.approx(weight * sum(squares) / 6)


def test_the_largest_features_are_the_largest() -> None:
    base, lengthscales = squared_exponential(2)
    x = table(8, 2, low=-1, high=1)
    size = {
        index: sum(
            reference.squared_exponential_squared_weight(index, lengthscales)
            * reference.squared_exponential_feature(point, index, lengthscales) ** 2
            for point in x.tolist()
        )
        for index in itertools.product(range(16), repeat=2)
    }
    indices, missing = largest_features(base, base._product(x), 12, 1e-9)
    assert {tuple(index) for index in indices.tolist()} == set(sorted(size, key=size.get)[-12:])
    assert missing == pytest.approx(1 - sum(sorted(size.values())[-12:]) / 8, rel=1e-6)
    enough, left = largest_features(base, base._product(x), 1000, 1e-4)
    assert left <= 1e-4
    assert sum(sorted(size.values())[-len(enough) + 1 :]) < (1 - 1e-4) * 8  # one less would not do


# -- the certificate -----------------------------------------------------------------------------------


@pytest.mark.parametrize("num_inputs", [1, 2, 3, 4])
@pytest.mark.parametrize("name", NAMES[:3])
@settings(max_examples=4)
@given(seed=st.integers(0, 10_000), stretch=st.floats(0.8, 3.0), tolerance=st.sampled_from([1e-1, 1e-3, 1e-6]))
def test_no_more_is_missing_than_is_certified(
    name: str, num_inputs: int, seed: int, stretch: float, tolerance: float
) -> None:
    base = SquaredExponential(number(0.5 * stretch * num_inputs**0.5))
    anchors, alpha = table(5, num_inputs, seed=seed, low=-1, high=1), table(5, seed=seed + 1)
    kernel = belief(name, base, anchors, alpha, by_features=True, tolerance=tolerance)
    exact = belief(name, base, anchors, alpha, by_features=False)
    corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * num_inputs).double().reshape(-1, num_inputs)
    x = torch.cat([table(400, num_inputs, seed=seed + 2, low=-1, high=1), anchors, corners])
    variance = exact(x, diag=True)
    off = (kernel(x, diag=True) - variance).abs()
    assert (off <= kernel.missing + 1e-14 * variance.max()).all()
    assert off[:400].mean() <= tolerance * variance[:400].mean()


def test_what_is_missing_of_a_log_ratio_is_certified_too() -> None:
    anchors, alpha = table(4, 2, seed=9, low=-0.8, high=0.8), table(4, seed=1)
    kernel = ReweightedBelief(LogRatio(), anchors, alpha, by_features=True, tolerance=1e-4)
    exact = ReweightedBelief(LogRatio(), anchors, alpha, by_features=False)
    far = anchors.abs().amax(0)
    x = torch.cat([table(200, 2, low=-1, high=1), torch.tensor([[1.0, 1.0], [-1.0, 1.0]])]) * far
    off = (kernel(x, diag=True) - exact(x, diag=True)).abs()
    assert (off <= kernel.missing).all()
    assert off.mean() <= 1e-4 * exact(x, diag=True).mean()


# -- beliefs by features, and by sums ------------------------------------------------------------------


@pytest.mark.parametrize(("num_inputs", "lengthscale"), [(1, 0.3), (2, 0.6), (3, 1.0), (5, 3.0)])
@pytest.mark.parametrize("name", NAMES)
def test_features_equal_the_exact_sums(name: str, num_inputs: int, lengthscale: float) -> None:
    base = SquaredExponential(number(lengthscale))
    anchors, alpha = learnt(base, 6, num_inputs)
    tolerance = 1e-6 if name == "aligned" else 1e-9
    kernel = belief(name, base, anchors, alpha, by_features=True, tolerance=tolerance)
    exact = belief(name, base, anchors, alpha, by_features=False)
    assert kernel.by_features
    assert kernel.num_features > 0
    assert (exact.by_features, exact.num_features) == (False, None)
    x = torch.cat([table(4, num_inputs, low=-1, high=1), anchors[:2], ones(1, num_inputs)]).requires_grad_()
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


@pytest.mark.parametrize("name", NAMES)
def test_many_anchors_make_no_more_features(name: str) -> None:
    base = SquaredExponential(number(0.8))
    anchors, alpha = learnt(base, 150, 1)
    kernel, exact = (belief(name, base, anchors, alpha, by_features=how) for how in (None, False))
    assert kernel.by_features
    assert kernel.num_features < 40
    x = table(5, 1, low=-1, high=1)
    largest = exact(x, diag=True).max().item()
    torch.testing.assert_close(kernel(x).to_dense(), exact(x).to_dense(), rtol=0, atol=1e-5 * largest)


def test_aligned_takes_features_only_where_they_are_far_fewer_than_the_anchors() -> None:
    base = SquaredExponential(number(0.8))
    assert not Aligned(base, *learnt(base, 10, 2), LAM).by_features
    assert Aligned(base, *learnt(base, 10, 2), LAM, by_features=True).num_features > 10
    many = Aligned(base, *learnt(base, 300, 2), LAM)
    assert many.num_features <= 150


def test_features_of_few_anchors_take_no_more_memory_than_they_have_to() -> None:
    base = SquaredExponential(number(4.0))
    anchors, alpha = learnt(base, 3, 12)
    kernel = Aligned(base, anchors, alpha, LAM, by_features=True, tolerance=1e-4)
    assert kernel.num_features > 300
    assert kernel.explicit.mixing.shape[1] == 4  # ĝ, and a column for each anchor


@pytest.mark.parametrize("name", NAMES[1:])  # what the paper re-weights is few features even then
def test_short_lengthscales_on_six_inputs_fall_back_to_the_sum(name: str) -> None:
    base = SquaredExponential(number(0.3))
    anchors, alpha = learnt(base, 5, 6)
    kernel = belief(name, base, anchors, alpha)
    assert (kernel.by_features, kernel.num_features) == (False, None)
    exact = belief(name, base, anchors, alpha, by_features=False)
    x = table(4, 6)
    assert torch.equal(kernel(x).to_dense(), exact(x).to_dense())
    with pytest.raises(InputError, match=r"65,536 at most; SquaredExponential on 6 inputs .* tolerance of 1e-06"):
        belief(name, base, anchors, alpha, by_features=True)


@pytest.mark.parametrize("name", NAMES)
def test_forty_inputs_are_no_trouble(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunedprior.kernels.best_first.MOST_LOOKED_AT", 2**15)  # to give up sooner
    base = SquaredExponential(number(0.5))
    anchors, alpha = table(4, 40, seed=9, low=-0.2, high=0.2), table(4, seed=1)
    kernel = belief(name, base, anchors, alpha)
    assert not kernel.by_features
    assert torch.isfinite(kernel(anchors).to_dense()).all()
    with pytest.raises(InputError, match="SquaredExponential on 40 inputs cannot be shown"):
        belief(name, base, anchors, alpha, by_features=True)


def test_very_many_inputs_of_a_dot_product_fall_back_to_the_sum() -> None:
    anchors, alpha = table(3, 150, seed=9, low=-0.2, high=0.2), table(3, seed=1)
    assert not ReweightedBelief(Exponential(number(1.0)), anchors, alpha).by_features


def test_long_lengthscales_have_features_on_forty_inputs() -> None:
    base = SquaredExponential(number(20.0))
    anchors, alpha = learnt(base, 5, 40)
    kernel, exact = Matched(base, anchors, alpha), Matched(base, anchors, alpha, by_features=False)
    assert kernel.by_features
    x = table(4, 40, low=-1, high=1)
    torch.testing.assert_close(kernel(x).to_dense(), exact(x).to_dense(), rtol=1e-5, atol=0)


def test_kernels_that_end_have_all_their_features_and_miss_nothing() -> None:
    base, anchors, alpha = Polynomial(3, number(0.7)), table(30, 2, seed=9), table(30, seed=1)
    kernel = ReweightedBelief(base, anchors, alpha, tolerance=1e-12)
    exact = ReweightedBelief(base, anchors, alpha, by_features=False)
    x = table(5, 2)
    assert kernel.num_features == 10
    assert kernel.missing < 1e-10 * exact(x, diag=True).max()
    torch.testing.assert_close(kernel(x).to_dense(), exact(x).to_dense(), rtol=1e-10, atol=1e-11)


def test_no_bound_holds_for_points_outside_the_box() -> None:
    base = fixed(Polynomial(2, number(1.0)))
    far = base._product(torch.tensor([[2.0, 0.0]], dtype=torch.float64))
    assert features_that_matter(base, far, ones(1, 1), weighted=False, remainder=0.0, tolerance=1e-6) is None
    kernel = ReweightedBelief(base, far.points, [1.0])
    assert not kernel.by_features
    assert Matched(base, far.points, [1.0]).by_features


# -- what a review found ---------------------------------------------------------------------------------


@pytest.mark.parametrize("coefficients", [[1.0, 10.0, 100.0], [3.0, 0.3, 0.03], [1.0, 1.0, 1.0], [0.7, 0.0, 0.07]])
@pytest.mark.parametrize("num_inputs", [2, 3, 5, 6, 7])
def test_features_of_one_size_are_neither_lost_nor_repeated(num_inputs: int, coefficients: list[float]) -> None:
    base = DirectProduct(torch.tensor(coefficients, dtype=torch.float64)).requires_grad_(False)
    corners = torch.where(table(20, num_inputs) > 0, 1.0, -1.0).double()
    found = torch.cat(list(best_first(base, base._product(corners))))
    count = sum(value > 0 for value in coefficients) ** num_inputs
    assert len(found) == len(found.unique(dim=0)) == count


def test_a_kernel_with_a_pole_is_certified_beyond_the_anchors() -> None:
    anchors, alpha = table(6, 2, seed=9, low=-0.3, high=0.3), table(6, seed=1)
    for tolerance in (1e-3, 1e-6):
        kernel = ReweightedBelief(LogRatio(), anchors, alpha, by_features=True, tolerance=tolerance)
        exact = ReweightedBelief(LogRatio(), anchors, alpha, by_features=False)
        x = torch.cat([table(400, 2, low=-0.95, high=0.95), torch.tensor([[0.95, 0.95]], dtype=torch.float64)])
        off = (kernel(x, diag=True) - exact(x, diag=True)).abs()
        assert (off <= kernel.missing).all()
        assert off[:400].mean() <= tolerance * exact(x[:400], diag=True).mean()


def test_kernels_that_vanish_at_all_anchors_are_no_trouble() -> None:
    anchors = torch.cat([table(30, 1, low=-0.5, high=0.5), torch.zeros(30, 1, dtype=torch.float64)], dim=1)
    made = Aligned(LogRatio(), anchors, table(30, seed=1), 0.1)
    assert torch.isfinite(made(anchors).to_dense()).all()


def test_a_short_lengthscale_far_from_the_origin_is_searched_in_no_time() -> None:
    anchors, alpha = table(5, 1, low=0.9, high=1.0), table(5, seed=1)
    kernel, exact = (Matched(SquaredExponential(number(0.03)), anchors, alpha, by_features=by) for by in (None, False))
    torch.testing.assert_close(kernel(anchors).to_dense(), exact(anchors).to_dense(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("base", [Linear(), Polynomial(2, number(1.0)), Exponential(number(1.0))], ids=str)
def test_aligned_by_features_of_dot_products(base: FreeKernel) -> None:
    anchors, alpha = table(40, 2, low=-1, high=1), table(40, seed=1)
    kernel, exact = (Aligned(base, anchors, alpha, 0.1, by_features=by) for by in (True, False))
    x = table(20, 2, seed=3, low=-1, high=1)
    largest = exact(x, diag=True).max().item()
    torch.testing.assert_close(kernel(x).to_dense(), exact(x).to_dense(), rtol=0, atol=1e-5 * largest)
