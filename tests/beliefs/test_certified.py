"""What explicit features of a belief leave out is no more than was certified."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support.builders import KERNEL_BELIEFS, belief_kernel, corners, learnt, learnt_belief
from support.cases import number, table
from tunedprior.beliefs import FixedReweightedKernel
from tunedprior.kernels import LogRatio, SquaredExponential


@pytest.mark.parametrize("num_inputs", [1, 2, 3, 4])
@pytest.mark.parametrize("name", KERNEL_BELIEFS[:3])
@settings(max_examples=4)
@given(seed=st.integers(0, 10_000), stretch=st.floats(0.8, 3.0), tolerance=st.sampled_from([1e-1, 1e-3, 1e-6]))
def test_no_more_is_missing_than_is_certified(
    name: str, num_inputs: int, seed: int, stretch: float, tolerance: float
) -> None:
    base = SquaredExponential(number(0.5 * stretch * num_inputs**0.5))
    anchors, alpha = table(5, num_inputs, seed=seed, low=-1, high=1), table(5, seed=seed + 1)
    kernel = belief_kernel(name, base, anchors, alpha, by_features=True, tolerance=tolerance)
    exact = belief_kernel(name, base, anchors, alpha, by_features=False)
    x = torch.cat([table(400, num_inputs, seed=seed + 2, low=-1, high=1), anchors, corners(num_inputs)])
    variance = exact(x, diag=True)
    off = (kernel(x, diag=True) - variance).abs()
    assert (off <= kernel.missing + 1e-14 * variance.max()).all()
    assert off[:400].mean() <= tolerance * variance[:400].mean()


def test_what_is_missing_of_a_log_ratio_is_certified_too() -> None:
    anchors, alpha = table(4, 2, seed=9, low=-0.8, high=0.8), table(4, seed=1)
    kernel = FixedReweightedKernel(LogRatio(), anchors, alpha, by_features=True, tolerance=1e-4)
    exact = FixedReweightedKernel(LogRatio(), anchors, alpha, by_features=False)
    far = anchors.abs().amax(0)
    x = torch.cat([table(200, 2, low=-1, high=1), torch.tensor([[1.0, 1.0], [-1.0, 1.0]])]) * far
    off = (kernel(x, diag=True) - exact(x, diag=True)).abs()
    assert (off <= kernel.missing).all()
    assert off.mean() <= 1e-4 * exact(x, diag=True).mean()


def test_a_kernel_with_a_pole_is_certified_beyond_the_anchors() -> None:
    anchors, alpha = table(6, 2, seed=9, low=-0.3, high=0.3), table(6, seed=1)
    for tolerance in (1e-3, 1e-6):
        kernel = FixedReweightedKernel(LogRatio(), anchors, alpha, by_features=True, tolerance=tolerance)
        exact = FixedReweightedKernel(LogRatio(), anchors, alpha, by_features=False)
        x = torch.cat([table(400, 2, low=-0.95, high=0.95), torch.tensor([[0.95, 0.95]], dtype=torch.float64)])
        off = (kernel(x, diag=True) - exact(x, diag=True)).abs()
        assert (off <= kernel.missing).all()
        assert off[:400].mean() <= tolerance * exact(x[:400], diag=True).mean()


@pytest.mark.parametrize("tolerance", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("name", ["matched", "uncertain"])
def test_no_variance_in_the_box_is_further_off_than_what_is_missing(name: str, tolerance: float) -> None:
    exact = learnt_belief(name, num_inputs=3, by_features=False)
    kernel = learnt_belief(name, num_inputs=3, by_features=True, tolerance=tolerance)
    x = torch.cat([table(300, 3, low=-1, high=1), corners(3)])
    off = (kernel(x, diag=True) - exact(x, diag=True)).abs().max()
    assert off <= kernel.missing
    assert exact.missing == 0


@pytest.mark.parametrize("tolerance", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("name", ["matched", "uncertain"])
def test_no_more_of_the_trace_is_missing_than_the_tolerance(name: str, tolerance: float) -> None:
    exact = learnt_belief(name, num_inputs=3, by_features=False)
    kernel = learnt_belief(name, num_inputs=3, by_features=True, tolerance=tolerance)
    x = table(2000, 3, low=-1, high=1)
    variance = exact(x, diag=True)
    assert (kernel(x, diag=True) - variance).abs().mean() <= tolerance * variance.mean()
    assert kernel.by_features
    assert not exact.by_features


@pytest.mark.parametrize("name", ["matched", "uncertain"])
def test_a_stricter_tolerance_takes_more_features(name: str) -> None:
    loose = learnt_belief(name, num_inputs=3, by_features=True, tolerance=1e-3)
    strict = learnt_belief(name, num_inputs=3, by_features=True, tolerance=1e-12)
    assert loose.num_features < strict.num_features


def test_little_regularisation_takes_more_features() -> None:
    """What A explains is k(x)ᵀ(K_A + λI)⁻¹k(x'), so the certificate must count an error of k 1/λ times."""
    base = SquaredExponential(number(1.0))
    found = []
    for lam in (1e-3, 1e-9):
        kernel = belief_kernel("aligned", base, *learnt(base, 6, 2, lam), lam, by_features=True, tolerance=1e-3)
        found.append(kernel.num_features)
    assert found[0] < found[1]
