"""Beliefs of a fit: of few rows with a coefficient each, and of many in features, they are the same kernels."""

import pytest
import torch

from support.builders import KERNEL_BELIEFS, belief_kernel, rows_of_ripple, vector
from support.cases import table
from tunedprior.beliefs import (
    AlignedFeatureKernel,
    AlignedKernel,
    FixedReweightedKernel,
    MatchedKernel,
    UncertainKernel,
    get_belief,
)
from tunedprior.beliefs.aligned import AlignedBelief
from tunedprior.kernels import Polynomial, ReweightedKernel, SquaredExponential
from tunedprior.machines import AlphaFit, FeatureFit, feature_ridge
from tunedprior.machines.feature_ridge import FeatureMap
from tunedprior.machines.machine import get_lengthscales
from tunedprior.numerics.linalg import compute_symmetric_root


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """Features are left out only where they are rounding."""
    monkeypatch.setattr(feature_ridge, "_NEGLIGIBLE", 1e-14)


def fits_of_the_same_rows() -> tuple[AlphaFit, FeatureFit]:
    """With an α for each row, and in features."""
    x, y = rows_of_ripple(80)
    by_alpha = AlphaFit.fit_by_evidence(x, y, vector([0.8, 1.1]))
    return by_alpha, FeatureFit.fit_by_evidence(FeatureMap.from_largest_features(by_alpha.kernel, x, 512), x, y)


@pytest.mark.usefixtures("complete")
@pytest.mark.parametrize("name", KERNEL_BELIEFS)
def test_beliefs_of_many_rows_are_the_exact_ones(name: str) -> None:
    by_alpha, by_features = fits_of_the_same_rows()
    assert by_features.lam == pytest.approx(by_alpha.lam)
    exact = belief_kernel(name, by_alpha.kernel, by_alpha.anchors, by_alpha.alpha, lam=by_alpha.lam, by_features=False)
    z, batch = table(6, 2, seed=8, low=-1, high=1), table(3, 4, 2, seed=9, low=-1, high=1)
    kernel = get_belief(name).make_kernel(by_features)
    torch.testing.assert_close(kernel(z, batch).to_dense(), exact(z, batch).to_dense(), rtol=0, atol=1e-6)
    torch.testing.assert_close(kernel(z).to_dense(), exact(z).to_dense(), rtol=0, atol=1e-6)
    torch.testing.assert_close(kernel(z, diag=True), exact(z, diag=True), rtol=0, atol=1e-6)
    torch.testing.assert_close(by_features(z), by_alpha(z), rtol=0, atol=1e-6)
    torch.testing.assert_close(get_lengthscales(by_features, 2), get_lengthscales(by_alpha, 2))


@pytest.mark.parametrize("name", KERNEL_BELIEFS)
def test_beliefs_of_the_features_that_matter_are_close_and_covariances(name: str) -> None:
    by_alpha, by_features = fits_of_the_same_rows()
    z = table(12, 2, seed=8, low=-1, high=1)
    exact, gram = (get_belief(name).make_kernel(fit)(z).to_dense() for fit in (by_alpha, by_features))
    largest = exact.diagonal().max().item()
    torch.testing.assert_close(gram, exact, rtol=0, atol=1e-2 * largest)
    assert torch.linalg.eigvalsh(gram).min() > -1e-9 * largest


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aligned", AlignedKernel),
        ("matched", MatchedKernel),
        ("uncertain", UncertainKernel),
        ("reweighted", FixedReweightedKernel),
    ],
)
def test_a_fit_of_few_rows_has_every_belief(name: str, kind: type) -> None:
    kernel = SquaredExponential(vector([0.8]))
    fit, x = AlphaFit(kernel, table(6, 2), table(6, seed=1), 0.1), table(5, 2, seed=2)
    exact = belief_kernel(name, kernel, fit.anchors, fit.alpha, lam=0.1, by_features=False)
    found = get_belief(name).make_kernel(fit)
    assert isinstance(found, kind)
    torch.testing.assert_close(found(x).to_dense(), exact(x).to_dense(), rtol=1e-5, atol=1e-6)
    if name == "reweighted":  # by the Theorem as well
        by_theorem = ReweightedKernel(kernel, fit.anchors, fit.alpha)
        torch.testing.assert_close(found(x).to_dense(), by_theorem(x).to_dense(), rtol=1e-5, atol=1e-6)


def test_what_a_fit_says_of_length_scales() -> None:
    anchors, alpha = table(6, 2), table(6, seed=1)
    fit = AlphaFit(SquaredExponential(vector([0.8])), anchors, alpha, 0.1)
    torch.testing.assert_close(get_lengthscales(fit, 2), vector([0.8, 0.8]), rtol=1e-6, atol=0)
    assert get_lengthscales(AlphaFit(Polynomial(2), anchors, alpha, 0.1), 2) is None


def test_too_many_features_to_list_are_summed_over_pairs_of_old_settings() -> None:
    rough = AlphaFit(SquaredExponential(vector([0.1] * 3)), table(4, 3), table(4, seed=1), 0.1)
    assert get_belief("matched").make_kernel(rough).num_features is None


def test_directions_that_hardly_count_are_left_out() -> None:
    """The aligned belief of many features costs in proportion to its directions, of which a smooth g has few."""
    x, y = rows_of_ripple(300)
    fit = FeatureFit.fit_by_evidence(
        FeatureMap.from_largest_features(AlphaFit.fit_by_evidence(x, y, vector([0.8, 1.1])).kernel, x, 512), x, y
    )
    full = AlignedFeatureKernel(
        fit.kernel,
        fit.feature_map.features.indices,
        fit.weights,
        compute_symmetric_root(fit.compute_determined_matrix()),
        fit.signal,
    )
    kernel, z = AlignedBelief().make_kernel(fit), table(40, 2, seed=8, low=-1, high=1)
    assert kernel.mixing.shape[1] < 0.8 * full.mixing.shape[1]
    exact = full(z).to_dense()
    torch.testing.assert_close(kernel(z).to_dense(), exact, rtol=0, atol=1e-7 * exact.diagonal().mean().item())
