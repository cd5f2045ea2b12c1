"""Multi-indices best first: by brute force, each once, and none left out."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support import reference
from support.builders import corners
from support.cases import number, table
from support.features import ard_kernel, fixed
from tunedprior.kernels import DirectProduct, Sinh
from tunedprior.kernels.explicit_features import _compute_log_sizes, _find_large_sums, enumerate_best_first


@settings(max_examples=30)
@given(num_inputs=st.integers(1, 4), powers=st.integers(2, 5), seed=st.integers(0, 10_000), least=st.floats(-6, 3))
def test_the_search_finds_all_that_brute_force_does(num_inputs: int, powers: int, seed: int, least: float) -> None:
    sizes = np.random.default_rng(seed).normal(size=(num_inputs, powers))
    sizes[0, -1] = -np.inf  # a power that the kernel does not have
    indices, sums = _find_large_sums(sizes, least)
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
    found = [
        tuple(index)
        for batch in enumerate_best_first(base, base.make_product(corners(num_inputs)))
        for index in batch.tolist()
    ]
    powers = [power for power, value in enumerate(coefficients) if value]
    assert sorted(found) == sorted(itertools.product(powers, repeat=num_inputs))


def test_features_come_best_first_and_once() -> None:
    base = ard_kernel(3)[0]
    anchors = base.make_product(table(10, 3, low=-1, high=1))
    sizes = _compute_log_sizes(base, anchors)
    found, before = [], np.inf
    for batch in itertools.islice(enumerate_best_first(base, anchors), 8):
        logs = sizes[np.arange(3), batch.numpy()].sum(1)
        assert len(logs) == 0 or logs.max() <= before
        before = logs.min() if len(logs) else before
        found += map(tuple, batch.tolist())
    assert len(found) == len(set(found))
    everything = itertools.product(range(20), repeat=3)
    assert {index for index in everything if sizes[np.arange(3), index].sum() > before + 1e-9} <= set(found)


def test_features_of_a_dot_product_come_by_degree() -> None:
    base = fixed(Sinh(number(1.5)))
    batches = [
        batch.tolist() for batch in itertools.islice(enumerate_best_first(base, base.make_product(table(2, 3))), 4)
    ]
    for degree, batch in enumerate(batches):
        assert sorted(map(tuple, batch)) == sorted(i for i in reference.indices(3, degree) if sum(i) == degree)


def test_sizes_are_means_over_the_anchors() -> None:
    base, lengthscales = ard_kernel(2)
    anchors = torch.cat([table(5, 2), torch.zeros(1, 2)])
    sizes = np.exp(_compute_log_sizes(base, base.make_product(anchors)))
    for d, ell in enumerate(lengthscales):
        for power in range(8):
            squares = [reference.squared_exponential_feature([x], [power], [ell]) ** 2 for x in anchors[:, d].tolist()]
            weight = reference.squared_exponential_squared_weight([power], [ell])
            assert sizes[d, power] == pytest.approx(weight * sum(squares) / 6)


@pytest.mark.parametrize("coefficients", [[1.0, 10.0, 100.0], [3.0, 0.3, 0.03], [1.0, 1.0, 1.0], [0.7, 0.0, 0.07]])
@pytest.mark.parametrize("num_inputs", [2, 3, 5, 6, 7])
def test_features_of_one_size_are_neither_lost_nor_repeated(num_inputs: int, coefficients: list[float]) -> None:
    base = DirectProduct(torch.tensor(coefficients, dtype=torch.float64)).requires_grad_(False)
    some_corners = torch.where(table(20, num_inputs) > 0, 1.0, -1.0).double()
    found = torch.cat(list(enumerate_best_first(base, base.make_product(some_corners))))
    count = sum(value > 0 for value in coefficients) ** num_inputs
    assert len(found) == len(found.unique(dim=0)) == count
