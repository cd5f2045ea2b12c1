"""Which features matter: a search through the multi-indices that ends with a bound on all that it leaves out."""

from math import log
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tunedprior.kernels.best_first import MOST_LOOKED_AT, MOST_POWERS, ROUNDING, best_first
from tunedprior.kernels.constructions import SeriesKernel
from tunedprior.kernels.features import Features
from tunedprior.kernels.free_kernel import FreeKernel, Product
from tunedprior.kernels.multi_index import multi_indices
from tunedprior.kernels.table1 import SquaredExponential
from tunedprior.kernels.theorem import _chunks

#: Explicit features in use at most: 2¹⁶ of them at 1024 settings take half a gigabyte, a chunk of them at a time less.
MOST_FEATURES = 2**16
_MARGIN = 0.5  # of the tolerance is used on average, so that single points seldom go beyond it
_FEW = 2**11  # features that cost next to nothing
_ENTRIES = 2**22  # of a table of features held at once
#: How far the box goes for kernels that have a pole at 1; this much of the way there they are still tame.
OPEN_REACH = 0.95
_IN_BOX = 64  # points that stand for the box


def has_features(kernel: FreeKernel) -> bool:
    """Whether the kernel's features can be had one by one."""
    known = isinstance(kernel, SeriesKernel | SquaredExponential)
    return known and kernel.active_dims is None and not kernel.batch_shape


class Found(NamedTuple):
    """K ≈ Σ_i c_i ϑ_iϑ_i' over the indices i that matter; no variance in the box is off by more than `missing`."""

    indices: Int[Tensor, "p d"]
    coefficients: Float[Tensor, " p"]
    missing: float


def features_that_matter(
    base: FreeKernel,
    anchors: Product,
    learnt: Float[Tensor, "r a"],
    weighted: bool,
    remainder: float,
    tolerance: float,
) -> Found | None:
    """c_i = e_i τ_i² (weighted) or e_i, with e_i = (l₁ᵀφ_i(A))² - Σ_{r>1} (l_rᵀφ_i(A))², until the rest is negligible.

    Certificate: the trace that is missing, ∫ K(x, x) dx over the box, as a share of the whole. With m_i the mean of
    the i-th feature's square over the box, those not looked at make up no more than either of two sums less the part
    that was looked at: Σ_r l_rᵀ K_A l_r times the largest m_i, since over all i the squares in e_i sum to that; and
    Σ_j g_j Σ_i m_i φ_i(a_j)², a product over the inputs, since the squares in e_i are at most Σ_j g_j φ_i(a_j)² with
    g_j = Σ_r |l_r|₁ |l_rj|. Of those looked at the smallest are left out, as far as the tolerance goes. With peaks
    instead of means the first sum bounds the variance missing at any x; where that meets the tolerance with few
    features, it does.

    Args:
        base: The free kernel, its parameters fixed.
        anchors: A, as the kernel's products.
        learnt: l, one row for each square in e_i; the first is added, the others are subtracted.
        weighted: Whether the kernel is over φ = τ ⊙ ϑ, or over ϑ.
        remainder: The multiple of K₂ that the kernel has besides.
        tolerance: The share of the trace that may be missing.

    Returns:
        None if that takes more features than can be looked at or held.
    """
    far = _reach(base, anchors)
    if not weighted and (far > 1).any():
        return None  # ϑ has no bound out there
    allowed, trace, found, looked_at = _MARGIN * tolerance, 0.0, [], 0
    left = _Left(base, anchors, learnt, far, weighted)
    for batch in best_first(base, anchors, _log_means(base, far, weighted)):
        looked_at += len(batch)
        if looked_at > MOST_LOOKED_AT:
            return None
        for some in _chunks(len(batch), max(1, _ENTRIES // anchors.points.shape[0])):
            features, phi = _weighted_features(base, batch[some], anchors)
            squares = (phi @ learnt.mT).square()
            excess = 2 * squares[:, 0] - squares.sum(1)
            weights = base._weights_at(features.indices).square().to(excess)
            coefficients = excess * weights if weighted else excess
            means = _along(base._log_mean_squares(int(features.indices.max()), far), features.indices).exp()
            trace += float((coefficients + remainder * weights) @ means)
            left.subtract(phi, squares, means * weights if weighted else means)
            found.append((features.indices, coefficients, means))
        if left.trace <= allowed * trace / 2 or left.nothing:
            break
    else:
        return None
    indices, coefficients, means = (torch.cat(column) for column in zip(*found, strict=True))
    peaks = _along(base._log_peaks(int(indices.max()), far), indices).mul(2).exp()
    dropped = _smallest(coefficients.abs() * means, allowed * trace - left.trace)
    if left.variance <= allowed * trace:
        everywhere = _smallest(coefficients.abs() * peaks, allowed * trace - left.variance)
        dropped = everywhere if int((~everywhere).sum()) <= _FEW else dropped
    if int((~dropped).sum()) > MOST_FEATURES:
        return None
    missing = left.variance + float((coefficients.abs() * peaks)[dropped].sum())
    return Found(indices[~dropped], coefficients[~dropped], missing)


class _Left:
    """Bounds on what the features that were not looked at add (see `features_that_matter`)."""

    def __init__(
        self, base: FreeKernel, anchors: Product, learnt: Float[Tensor, "r a"], far: Float[Tensor, " d"], weighted: bool
    ) -> None:
        gram, size = base._cross(anchors, anchors), learnt.abs()
        self._highest_mean, self._highest_peak = _most(base, far, weighted)
        self._squares = float(((learnt @ gram) * learnt).sum())
        self._rounding = ROUNDING * float(((size @ gram.abs()) * size).sum())
        self._diagonal, self._whole_diagonal = gram.diagonal(), gram.diagonal()
        self._shares, self._products = size.sum(1) @ size, _sums_over_all(base, anchors, far, weighted)
        self._whole_products = self._products

    def subtract(self, phi: Float[Tensor, "p a"], squares: Float[Tensor, "p r"], means: Float[Tensor, " p"]) -> None:
        """These features were looked at; `means` are those of their squares over the box."""
        self._squares -= float(squares.sum())
        self._diagonal = self._diagonal - phi.square().sum(0)
        if self._products is not None:
            self._products = self._products - means @ phi.square()

    @property
    def trace(self) -> float:
        """On average over the box."""
        by_squares = self._most_squares * self._highest_mean
        if self._products is None or self._whole_products is None:
            return by_squares
        return min(by_squares, float(self._shares @ (self._products.clamp(min=0) + ROUNDING * self._whole_products)))

    @property
    def variance(self) -> float:
        """At any point of the box."""
        return self._most_squares * self._highest_peak

    @property
    def nothing(self) -> bool:
        """Whether all features that are not zero at all anchors were looked at."""
        return bool((self._diagonal <= ROUNDING * self._whole_diagonal).all())

    @property
    def _most_squares(self) -> float:
        return max(self._squares, 0.0) + self._rounding


def _smallest(sizes: Float[Tensor, " p"], together: float) -> Bool[Tensor, " p"]:
    """Which are so small that they make up no more than this together."""
    order = sizes.argsort()
    return torch.zeros_like(sizes, dtype=torch.bool).index_put((order,), sizes[order].cumsum(0) <= together)


def _reach(base: FreeKernel, anchors: Product) -> Float[Tensor, " d"]:
    """How far the box goes in each input: to 1, nearly to 1 where a kernel is not defined there, or to the anchors."""
    return anchors.points.abs().amax(0).clamp(min=OPEN_REACH if base.open_domain else 1)


def _most(base: FreeKernel, far: Float[Tensor, " d"], weighted: bool) -> tuple[float, float]:
    """The largest mean over the box, and the largest peak, that the square of any feature can have."""
    peak = _at_corner(base, far) if weighted else 1.0
    means = _log_means(base, far, weighted)
    return peak if means is None else min(peak, float(means.amax(1).sum().exp())), peak


def _log_means(base: FreeKernel, far: Float[Tensor, " d"], weighted: bool) -> Float[Tensor, "d q"] | None:
    """log of the mean over the box of the square of each input's feature; None if τ is no product."""
    factors = base._log_factors(MOST_POWERS)
    if factors is None:
        return None
    return base._log_mean_squares(MOST_POWERS, far) + (factors.to(far) if weighted else 0)


def _sums_over_all(
    base: FreeKernel, anchors: Product, far: Float[Tensor, " d"], weighted: bool
) -> Float[Tensor, " a"] | None:
    """Σ_i m_i φ_i(a_j)² = Π_d Σ_k m_k φ_k(a_jd)² over all i, for every anchor; None where that cannot be had."""
    means, factors = _log_means(base, far, weighted), base._log_factors(MOST_POWERS)
    if means is None or factors is None:
        return None
    powers, factors = torch.arange(MOST_POWERS + 1).to(far), factors.to(far).expand_as(means)
    sums = []
    for row, (x, envelope) in enumerate(zip(anchors.points.T, base._log_envelopes(anchors.points).T, strict=True)):
        logs = torch.special.xlogy(powers, x.abs()[:, None]) + envelope[:, None]
        terms = 2 * logs + factors[row] + means[row]
        sums.append(terms.logsumexp(1))
        if (terms[:, -2:].amax(1) > sums[-1] + log(ROUNDING)).any():
            return None  # powers beyond the last would count
    return torch.stack(sums).sum(0).exp()


def _weighted_features(
    base: FreeKernel, indices: Int[Tensor, "p d"], at: Product
) -> tuple[Features, Float[Tensor, "p n"]]:
    """The features, in their own order, and φ of every row."""
    features = Features(indices)
    return features, base._weights_at(features.indices).to(at.points)[:, None] * features.all(at)


def largest_features(
    base: FreeKernel, sample: Product, most: int, tolerance: float
) -> tuple[Int[Tensor, "p d"], float]:
    """The multi-indices with the largest Σ_j φ_i(a_j)² over a sample, and the share of Σ_j K₂(a_j, a_j) they miss.

    As many as leave less than `tolerance` of that trace missing, and at most `most`.
    """
    trace = float(base._cross(sample.rowwise(sample), sample.empty_product()).sum())
    if trace <= 0:  # the kernel vanishes on the sample
        return multi_indices(sample.points.shape[1], 0).to(sample.points.device), 0.0
    found, looked_at = [], 0
    for batch in best_first(base, sample):
        for some in _chunks(len(batch), max(1, _ENTRIES // sample.points.shape[0])):
            features, phi = _weighted_features(base, batch[some], sample)
            found.append((features.indices, phi.square().sum(1)))
        looked_at += len(batch)
        sizes = torch.cat([size for _, size in found])
        # The order of the search is that of a guess; twice as many leave room for it to be wrong.
        if float(sizes.sum()) >= (1 - tolerance / 2) * trace or looked_at > 2 * most + 1024:
            break
    indices, order = torch.cat([index for index, _ in found]), sizes.argsort(descending=True)
    kept = sizes[order].cumsum(0)
    enough = int((kept < (1 - tolerance) * trace).sum()) + 1
    chosen = order[: min(most, enough, len(order))]
    return indices[chosen], max(0.0, 1 - float(sizes[chosen].sum()) / trace)


def missing_in_box(base: FreeKernel, indices: Int[Tensor, "p d"], anchors: Product) -> float:
    """The mean of K₂(x, x) - Σ_i φ_i(x)² over the box, or more."""
    far = _reach(base, anchors)
    means = _log_means(base, far, weighted=True)
    whole = _at_corner(base, far)  # its mean is not more than its largest value
    if means is not None and (means[:, -2:].amax(1) < means.logsumexp(1) + log(ROUNDING)).all():
        whole = float(means.logsumexp(1).sum().exp())
    kept = _along(base._log_mean_squares(int(indices.max()), far), indices).exp()
    return max(0.0, whole - float(base._weights_at(indices).to(kept).square() @ kept)) + ROUNDING * whole


def largest_variance(base: FreeKernel, anchors: Product) -> float:
    """K₂(x, x) at the corner of the box."""
    return _at_corner(base, _reach(base, anchors))


def _at_corner(base: FreeKernel, far: Float[Tensor, " d"]) -> float:
    corner = Product(far[None], base._log_envelope(far[None]))
    return float(base._cross(corner, corner))


def sample_of_reach(base: FreeKernel, anchors: Product) -> Product:
    """Points all over the box, always the same."""
    far = _reach(base, anchors)
    sobol = torch.quasirandom.SobolEngine(len(far), scramble=True, seed=0)
    points = far * (2 * sobol.draw(_IN_BOX, dtype=torch.float64).to(far) - 1)
    return Product(points, base._log_envelope(points))


def _along(table: Float[Tensor, "d k"], indices: Int[Tensor, "p d"]) -> Float[Tensor, " p"]:
    """Σ_d table[d, i_d]."""
    return table[torch.arange(len(table), device=table.device), indices].sum(-1)
