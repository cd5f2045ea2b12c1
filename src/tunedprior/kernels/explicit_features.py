"""Explicit features ϑ_i(x) = Π_d ϑ_{i_d}(x_d) for a chosen set of multi-indices i, and kernels that are sums over them.

Features are selected the largest first, with an upper bound on the contribution of those left out.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import count
from math import comb, exp, log, pi
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from tunedprior.errors import DomainError
from tunedprior.kernels.anchors import FixedKernel, Float64Module, draw_box_sample
from tunedprior.kernels.free_kernel import DOMAIN_SLACK, Arguments, FreeKernel, Product, list_multi_indices
from tunedprior.kernels.sections import Section, SectionValues
from tunedprior.kernels.stationary import SPACING, StationarySquaredExponential
from tunedprior.kernels.table1 import SeriesKernel, SquaredExponential
from tunedprior.numerics.chunking import broadcast_shape, call_checkpointed, iterate_chunks

# Features of all rows held at once: what fits into a core's cache, and on a GPU what keeps it busy.
_ENTRIES = {"cpu": 2**18, "cuda": 2**27}


class Powers(NamedTuple):
    """e(x), and ϑ₀(x_d), ϑ₁(x_d), … of each input (such as 1, x, x², …) at n rows: the factors of all features."""

    envelope: Float[Tensor, "1 n"]
    inputs: tuple[Float[Tensor, "k n"], ...]


class Features(Float64Module):
    """ϑ_i(x) for p multi-indices, by recurrence: x^k = x^{k-1}·x in each input, then input after input.

    Indices are sorted, so those with a common prefix are adjacent and share the product over it: the features of
    level d (products over the first d inputs) are those of the level before, times one power each.

    Args:
        indices: The multi-indices i, `p x d`, all different.
        numbers: Further values for each multi-index; kept in sorted order, as buffers.
    """

    indices: Tensor

    def __init__(self, indices: Int[Tensor, "p d"], **numbers: Float[Tensor, "p ..."]) -> None:
        super().__init__()
        order = np.lexsort(indices.cpu().numpy().T[::-1])
        beginnings = indices.cpu().numpy()[order]
        self.register_buffer("indices", torch.as_tensor(beginnings).to(indices.device))
        for name, values in numbers.items():
            self.register_buffer(name, values.double()[torch.as_tensor(order).to(values.device)])
        self._highest = beginnings.max(0, initial=0).tolist()
        self._parents: list[Any] = []  # a copy on the host: slicing it does not synchronise with a GPU
        for level in range(indices.shape[1] - 1, -1, -1):
            new = np.ones(len(beginnings), dtype=bool)
            new[1:] = (beginnings[1:, :level] != beginnings[:-1, :level]).any(1)
            parent = new.cumsum() - 1
            self._parents.insert(0, parent)
            self.register_buffer(f"parent{level}", torch.as_tensor(parent).to(indices.device))
            self.register_buffer(f"power{level}", torch.as_tensor(beginnings[:, level].copy()).to(indices.device))
            beginnings = beginnings[new]

    def __len__(self) -> int:
        return len(self.indices)

    def compute_powers(self, product: Any) -> Powers:
        """The powers and envelopes of these rows, for `at` to multiply."""
        inputs = []
        for x, highest in zip(product.points.unbind(-1), self._highest, strict=True):
            powers = [torch.ones_like(x)]
            for _ in range(highest):
                powers.append(powers[-1] * x)
            inputs.append(torch.stack(powers))
        return Powers(product.log_envelope.exp()[None], tuple(inputs))

    def compute_monomials_and_slopes(
        self, x: Float[Tensor, "n d"]
    ) -> tuple[Float[Tensor, "p n"], Float[Tensor, "p d n"]]:
        """xⁱ and ∂xⁱ/∂x_d at every row of x.

        Both by one call of `at`, on d + 1 copies of the rows: copy d has derivatives for the powers of input d.
        """
        n, d = x.shape
        powers = self.compute_powers(Product(x, torch.zeros_like(x[:, 0])))
        tables = []
        for level, table in enumerate(powers.inputs):
            every = table.repeat(1, d + 1)
            own = every[:, (level + 1) * n : (level + 2) * n]
            own[1:] = table[:-1] * torch.arange(1, len(table)).to(x)[:, None]
            own[0] = 0
            tables.append(every)
        found = self.evaluate_slice(Powers(x.new_ones(1, n * (d + 1)), tuple(tables)), slice(0, len(self)))
        found = found.reshape(len(self), d + 1, n)
        return found[:, 0], found[:, 1:]

    def evaluate_all(self, product: Arguments) -> Float[Tensor, "p n"]:
        """ϑ_i of every row, for all multi-indices in sorted order."""
        return self.evaluate_slice(self.compute_powers(product), slice(0, len(self)))

    def evaluate_slice(self, powers: Powers, some: slice) -> Float[Tensor, "p n"]:
        """ϑ_i of every row, for the subset `some` of the multi-indices in sorted order."""
        rows = [some]
        for parents in reversed(self._parents):  # adjacent features have adjacent parents
            parents = parents[rows[0]]
            rows.insert(0, slice(int(parents[0]), int(parents[-1]) + 1) if len(parents) else slice(0, 0))
        values = powers.envelope
        for level, table in enumerate(powers.inputs):
            wanted = rows[level + 1]
            parent = getattr(self, f"parent{level}")[wanted] - rows[level].start
            values = values.index_select(0, parent) * table.index_select(0, getattr(self, f"power{level}")[wanted])
        return values


class PlaceFeatures(Features):
    """exp(-Σ_k ‖(x_k - ω_i)/ℓ‖²) for p places ω_i on a grid: the features of `StationarySquaredExponential`.

    Args:
        kernel: The kernel, its parameters fixed.
        indices: The multi-indices i, `p x d`, all different.
        numbers: Further values for each multi-index; kept in sorted order, as buffers.
    """

    def __init__(
        self, kernel: StationarySquaredExponential, indices: Int[Tensor, "p d"], **numbers: Float[Tensor, "p ..."]
    ) -> None:
        super().__init__(indices, **numbers)
        self._kernel = deepcopy(kernel).double().requires_grad_(False)

    def compute_powers(self, product: Any) -> Powers:
        """The factors of these rows, for `evaluate_slice` to multiply."""
        highest = max(self._highest, default=0)
        logs = product.count * self._kernel.evaluate_input_log_features(product.points, highest)
        inputs = [table[:, : end + 1].exp().mT for table, end in zip(logs.unbind(1), self._highest, strict=True)]
        return Powers(product.log_envelope.exp()[None], tuple(inputs))

    def make_product(self, x: Float[Tensor, "n d"]) -> Arguments:
        """The rows of x as clusters of one argument."""
        clusters: Arguments = self._kernel.make_product(x)
        return clusters

    @property
    def places(self) -> Float[Tensor, "p d"]:
        """ω_i."""
        places: Tensor = self._kernel.locate(self.indices)
        return places

    @property
    def precision(self) -> Float[Tensor, "1 _"]:
        """1/ℓ²; a single number holds for all inputs."""
        precision: Tensor = self._kernel.inverse_square_lengthscale
        return precision


def make_features(base: FreeKernel, indices: Int[Tensor, "p d"], **numbers: Float[Tensor, "p ..."]) -> Features:
    """ϑ_i of this kernel for the given multi-indices: monomials, or places."""
    if isinstance(base, StationarySquaredExponential):
        return PlaceFeatures(base, indices, **numbers)
    return Features(indices, **numbers)


@dataclass(frozen=True, eq=False)
class PlaceSection(Section):
    """K(·, D) = Σ_i c_i ϑ_i(·)ϑ_i(D), where ϑ_i(x) = exp(-‖(x - ω_i)/ℓ‖²)."""

    features: "PlaceFeatures"
    coefficients: Float[Tensor, " p"]
    weighted: Float[Tensor, "p n"]  # c ϑ(D)

    def evaluate(self, x: Float[Tensor, "b d"]) -> SectionValues:
        """K(x, D) and K(x, x), with their vector-Jacobian product."""
        theta = self.features.evaluate_all(self.features.make_product(x))
        weighted = self.coefficients[:, None] * theta
        cross, variance = theta.mT @ self.weighted, (weighted * theta).sum(0)
        return SectionValues(cross[None], variance[None], partial(self._pull_back_gradient, x, theta, weighted))

    def append_points(self, x: Float[Tensor, "m d"]) -> "PlaceSection":
        """The section with the points x appended to D."""
        more = self.coefficients[:, None] * self.features.evaluate_all(self.features.make_product(x))
        return replace(self, points=torch.cat([self.points, x]), weighted=torch.cat([self.weighted, more], dim=1))

    def keep_first(self, end: int) -> "PlaceSection":
        """The section with the first `end` points of D alone."""
        return replace(self, points=self.points[:end], weighted=self.weighted[:, :end])

    def _pull_back_gradient(
        self,
        x: Float[Tensor, "b d"],
        theta: Float[Tensor, "p b"],
        weighted: Float[Tensor, "p b"],
        d_cross: Float[Tensor, "1 b n"],
        d_variance: Float[Tensor, "1 b"],
    ) -> Float[Tensor, "b d"]:
        # ∂ϑ_i/∂x_d = 2 (ω_id - x_d)/ℓ_d² ϑ_i
        by_log = (self.weighted @ d_cross[0].mT + 2 * d_variance * weighted) * theta
        return 2 * self.features.precision * (by_log.mT @ self.features.places - by_log.sum(0)[:, None] * x)


class FeatureKernel(FixedKernel):
    """K(x, x') = s K₂(x, x') + Σ_i c_i ϑ_i(x)ϑ_i(x') by explicit features, at a cost that does not depend on |A|.

    Args:
        base: The free kernel that defines ϑ and K₂.
        indices: The multi-indices i.
        coefficients: c, one for each multi-index.
        remainder: s.
        missing: Upper bound on the variance, anywhere in the box, of the features left out.
        reach: Half-width of the box in which the features are all that matter.
    """

    def __init__(
        self,
        base: FreeKernel,
        indices: Int[Tensor, "p d"],
        coefficients: Float[Tensor, " p"],
        remainder: float = 0.0,
        missing: float = 0.0,
        reach: float = 1.0,
    ) -> None:
        super().__init__(base, indices.shape[1])
        self.features = make_features(self.base, indices, coefficients=coefficients)
        self.remainder, self.missing, self.reach = remainder, missing, reach

    def make_product(self, x: Float[Tensor, "*batch n d"]) -> Arguments:
        """The rows of x as groups of one argument; a `DomainError` where places around them are not among these."""
        if self.base.features_are_places and (x.detach().abs() > self.reach + DOMAIN_SLACK).any():
            largest = float(x.detach().abs().max())
            raise DomainError(
                f"These features serve points within ±{self.reach:g}; got one {largest:.3g} in size. "
                "Scale the box that holds all your data onto [-1, 1], or use the sum over pairs (by_features=False)."
            )
        return super().make_product(x)

    @property
    def num_features(self) -> int:
        """The number of explicit features."""
        return len(self.features)

    @property
    def coefficients(self) -> Float[Tensor, " p"]:
        """c, in the order of `features.indices`."""
        return self.features.get_buffer("coefficients")

    def make_section(self, size: float, points: Float[Tensor, "n d"]) -> Section | None:
        """K(·, D)/size for fixed points D, with its gradient by hand; None unless features are places."""
        if not isinstance(self.features, PlaceFeatures) or self.remainder:
            return None
        weighted = points.new_zeros(len(self.features), 0)
        nowhere = PlaceSection(points[:0], self.features, self.coefficients / size, weighted)
        return nowhere.append_points(points)

    def evaluate_matrix(self, left: Arguments, right: Arguments) -> Float[Tensor, "*batch n k"]:
        """K(left row, right row) for all pairs of rows."""
        shape = left.log_envelope.shape, right.log_envelope.shape
        batch = broadcast_shape(shape[0][:-1], shape[1][:-1])
        both_batched = len(shape[0]) > 1 and len(shape[1]) > 1
        if both_batched:
            left, right = left.expand(batch), right.expand(batch)
        powers = self.features.compute_powers(left.flatten())
        others = powers if right is left else self.features.compute_powers(right.flatten())
        if both_batched:
            sums = self._sum_slices(partial(self._evaluate_batched, powers, others, batch), powers, others)
        else:  # one side has no batch, so that the other's is only more rows
            sums = self._sum_slices(partial(self._evaluate_unbatched, powers, others), powers, others)
            sums = sums.reshape(shape[0][-1], batch.numel(), shape[1][-1]).movedim(1, 0) if len(shape[0]) == 1 else sums
            sums = sums.reshape(*batch, shape[0][-1], shape[1][-1])
        return sums + self.remainder * self.base.evaluate_matrix(left, right) if self.remainder else sums

    def evaluate_diagonal(self, left: Arguments, right: Arguments) -> Float[Tensor, "*batch n"]:
        """K(left row i, right row i) for every i: the diagonal."""
        both = left.multiply_rows(right)
        powers = self.features.compute_powers(both.flatten())
        sums = self._sum_slices(
            lambda some: self.coefficients[some] @ self.features.evaluate_slice(powers, some), powers, powers
        ).reshape(both.log_envelope.shape)
        if self.remainder:
            sums = sums + self.remainder * self.base.evaluate_matrix(both, both.make_empty_product()).squeeze(-1)
        return sums

    def _evaluate_unbatched(self, left: Powers, right: Powers, some: slice) -> Float[Tensor, "n k"]:
        features = self.features.evaluate_slice(left, some)
        others = features if right is left else self.features.evaluate_slice(right, some)
        return (self.coefficients[some, None] * features).mT @ others

    def _evaluate_batched(
        self, left: Powers, right: Powers, batch: torch.Size, some: slice
    ) -> Float[Tensor, "*batch n k"]:
        features: Tensor = self.features.evaluate_slice(left, some).unflatten(1, (*batch, -1))
        others: Tensor = self.features.evaluate_slice(right, some).unflatten(1, (*batch, -1))
        return (features.movedim(0, -1) * self.coefficients[some]) @ others.movedim(0, -2)

    def _sum_slices(self, run: Callable[[slice], Tensor], left: Powers, right: Powers) -> Float[Tensor, "..."]:
        """The sum of run(slice) over slices of all features, each small enough for the cache."""
        rows = max(1, left.envelope.numel(), right.envelope.numel())
        at_once = max(64, _ENTRIES.get(left.envelope.device.type, _ENTRIES["cpu"]) // rows)
        pieces = list(iterate_chunks(max(1, len(self.features)), at_once))
        if torch.is_grad_enabled() and len(pieces) > 1:  # keep no chunk's features for the backward pass
            run = partial(call_checkpointed, run)
        return reduce(torch.add, (run(some) for some in pieces))


#: Upper bound on the number of multi-indices enumerated; more would take too long.
MOST_LOOKED_AT = 2**19
#: The highest power of one input.
MOST_POWERS = 1024
_POWERS = 32  # the highest power at first, doubled as needed
#: Rounding error of a sum, relative to the sum of its absolute terms.
ROUNDING = 1e-14
_SLACK = 1e-9
_STEP = np.log(10)  # between the features of one batch and the next, as a log-ratio
_LEAST_LOG_SIZE = -300.0  # relative to the largest, for each input


def enumerate_best_first(
    base: FreeKernel, anchors: Arguments, means: Float[Tensor, "d q"] | None = None, negligible: float = ROUNDING
) -> Iterator[Int[Tensor, "p d"]]:
    """All multi-indices in batches, by decreasing Π_d E_A[φ_{i_d}²], the mean over anchors A; failing that by degree.

    If `means` are given (log of the mean squares over the box, per input and power), by the product with these. Powers
    of one input whose mean square is far below a negligible share of the largest are left out.
    """
    num_inputs, device = anchors.points.shape[-1], anchors.points.device
    least, before, step = np.inf, np.inf, _STEP
    if base.compute_log_factors(0) is not None:
        sizes = _compute_log_sizes(base, anchors, negligible)
        if means is not None:
            sizes = sizes + means[:, : sizes.shape[1]].cpu().numpy()
        least = sizes.max(1).sum()
    end = least + _LEAST_LOG_SIZE * num_inputs
    while end < least < np.inf and step > _STEP / 10:
        found = _find_large_sums(sizes, least - step - _SLACK)  # slack: sums round differently
        if found is None:  # too many: with many inputs, many features are of equal size
            step /= 2
            continue
        (indices, logs), least = found, least - step
        yield torch.as_tensor(indices[(logs >= least) & (logs < before)]).to(device)
        before = least
    if before == np.inf:
        yield from (shell.to(device) for shell in _enumerate_by_degree(num_inputs))


def _enumerate_by_degree(num_inputs: int) -> Iterator[Int[Tensor, "p d"]]:
    """Batches of all multi-indices of degree 0, 1, 2, …, up to `MOST_LOOKED_AT` in total."""
    for degree in count():
        if comb(num_inputs + degree, degree) > MOST_LOOKED_AT or degree > MOST_POWERS:
            return
        yield list_multi_indices(num_inputs, degree)[comb(num_inputs + degree - 1, num_inputs) if degree else 0 :]


def _compute_log_sizes(
    base: FreeKernel, anchors: Arguments, negligible: float = ROUNDING
) -> Float64[np.ndarray, "d k"]:
    """log of the mean of φ_k² over the anchors, per input and power k, up to a power where it is negligible."""
    highest, x = _POWERS, anchors.points
    while True:
        logs = base.evaluate_input_log_features(x, highest)  # a d k
        factors: Any = base.compute_log_factors(highest)
        sizes = (2 * logs).logsumexp(0) - np.log(len(x)) + factors.to(x)
        if (sizes[:, -2:].amax(1) - sizes.amax(1) < np.log(negligible) - 10).all() or highest >= MOST_POWERS:
            found: Float64[np.ndarray, "d k"] = sizes.cpu().numpy()
            return found
        highest *= 2


def _find_large_sums(
    sizes: Float64[np.ndarray, "d k"], least: float
) -> tuple[Int[np.ndarray, "p d"], Float64[np.ndarray, " p"]] | None:
    """All i with Σ_d sizes[d, i_d] ≥ least, and these sums; None if there are too many.

    Branch and bound, input by input: a partial sum is dropped if even the largest rest would not reach `least`.
    """
    order = np.argsort(-sizes, axis=1)
    falling = np.take_along_axis(sizes, order, axis=1)
    rest = falling[:, 0].sum() - falling[:, 0].cumsum()
    sums, steps = np.zeros(1), []
    most = MOST_LOOKED_AT * 8 // max(8, len(sizes))  # the cost of an index grows with the number of inputs
    for column, (powers, values) in enumerate(zip(order, falling, strict=True)):
        fitting = np.searchsorted(-values, sums + rest[column] - least, side="right")
        if fitting.sum() > most:
            return None
        parent = np.repeat(np.arange(len(sums)), fitting)
        place = np.arange(len(parent)) - np.repeat(fitting.cumsum() - fitting, fitting)
        sums = sums[parent] + values[place]
        steps.append((parent, powers[place]))
    indices, row = np.empty((len(sums), len(sizes)), dtype=np.int64), np.arange(len(sums))
    for column, (parent, power) in reversed(list(enumerate(steps))):
        indices[:, column], row = power[row], parent[row]
    return indices, sums


#: Upper bound on explicit features in use: 2¹⁶ of them at 1024 settings are half a gigabyte, in chunks less.
MOST_FEATURES = 2**16
_MARGIN = 0.5  # share of the tolerance used on average, so that single points seldom exceed it
_FEW = 2**11  # features whose cost is negligible
_TABLE_ENTRIES = 2**22  # of a table of features held at once
#: Half-width of the box for kernels with a pole at 1, far enough from it for moderate values.
OPEN_REACH = 0.95
_IN_BOX = 64  # sample points of the box


#: The number of places on a grid is a power of the number of inputs: with more inputs they are too many.
MOST_INPUTS_OF_PLACES = 3


def has_features(kernel: FreeKernel, num_inputs: int | None = None) -> bool:
    """Whether explicit features exist: for kernels without bias, `active_dims` and batch; places up to three inputs."""
    if kernel.features_are_places and (num_inputs or 0) > MOST_INPUTS_OF_PLACES:
        return False
    known = isinstance(kernel, SeriesKernel | SquaredExponential | StationarySquaredExponential)
    return known and kernel.active_dims is None and not kernel.batch_shape


def is_worth_enumerating(kernel: FreeKernel, num_inputs: int) -> bool:
    """Whether it is worth looking for features: places in the box, if that is what they are, are not far too many."""
    if not kernel.features_are_places:
        return True
    if num_inputs > MOST_INPUTS_OF_PLACES:
        return False
    spacing = SPACING * kernel.lengthscale.detach().double().reshape(-1).expand(num_inputs)
    return float((2 / spacing + 1).prod()) <= 2 * _FEW


class SelectedFeatures(NamedTuple):
    """K ≈ Σ_i c_i ϑ_iϑ_i' over the selected i; `missing` is an upper bound on the error of any variance in the box."""

    indices: Int[Tensor, "p d"]
    coefficients: Float[Tensor, " p"]
    missing: float


def select_relevant_features(
    base: FreeKernel,
    anchors: Arguments,
    learnt: Float[Tensor, "r a"],
    weighted: bool,
    remainder: float,
    tolerance: float,
) -> SelectedFeatures | None:
    """c_i = e_i τ_i² (weighted) or e_i, with e_i = (l₁ᵀφ_i(A))² - Σ_{r>1} (l_rᵀφ_i(A))², for all i that matter.

    Certificate: an upper bound on the missing share of the trace ∫ K(x, x) dx over the box. Let m_i be the mean of the
    i-th feature's square over the box. Features not yet enumerated contribute at most the smaller of two sums over all
    i, less the part already enumerated: Σ_r l_rᵀ K_A l_r times the largest m_i, since over all i the squares in e_i
    sum to the former; and Σ_j g_j Σ_i m_i φ_i(a_j)², a product over the inputs, since the squares in e_i are at most
    Σ_j g_j φ_i(a_j)² with g_j = Σ_r |l_r|₁ |l_rj|. Of the enumerated features the smallest are dropped, as far as the
    tolerance allows. With peaks for means the first sum bounds the missing variance at any x; where few features meet
    the tolerance in that stronger sense, these are selected.

    Args:
        base: The free kernel, its parameters fixed.
        anchors: The anchors A (old settings), as the kernel's products.
        learnt: l, one row for each square in e_i; the first is added, the others are subtracted.
        weighted: Whether the kernel is a sum over φ = τ ⊙ ϑ, or over ϑ.
        remainder: The multiple of K₂ that the kernel has besides the sum over features.
        tolerance: The share of the trace that may be missing.

    Returns:
        The selected features; None if more are needed than can be enumerated or held.
    """
    far = _compute_reach(base, anchors)
    if not weighted and base.compute_log_peaks(MOST_POWERS, far).max() > 0:
        return None  # beyond |x| = 1 monomials have no common bound
    aliasing = _bound_aliasing(base, anchors, learnt)
    allowed, trace, found, looked_at = _MARGIN * tolerance, 0.0, [], 0
    left = _MissingBounds(base, anchors, learnt, far, weighted)
    for batch in enumerate_best_first(base, anchors, _compute_log_means(base, far, weighted)):
        looked_at += len(batch)
        if looked_at > MOST_LOOKED_AT:
            return None
        for some in iterate_chunks(len(batch), max(1, _TABLE_ENTRIES // anchors.points.shape[0])):
            features, phi = _evaluate_weighted_features(base, batch[some], anchors)
            squares = (phi @ learnt.mT).square()
            excess = 2 * squares[:, 0] - squares.sum(1)
            weights = base.compute_weights_at(features.indices).square().to(excess)
            coefficients = excess * weights if weighted else excess
            means = _sum_along_indices(
                base.compute_log_mean_squares(int(features.indices.max()), far), features.indices
            ).exp()
            trace += float((coefficients + remainder * weights) @ means)
            left.subtract(phi, squares, means * weights if weighted else means)
            found.append((features.indices, coefficients, means))
        if left.trace <= allowed * trace / 2 or left.is_exhausted:
            break
    else:
        return None
    indices, coefficients, means = (torch.cat(column) for column in zip(*found, strict=True))
    peaks = _sum_along_indices(base.compute_log_peaks(int(indices.max()), far), indices).mul(2).exp()
    dropped = _mask_smallest(coefficients.abs() * means, allowed * trace - left.trace)
    if left.variance <= allowed * trace:
        everywhere = _mask_smallest(coefficients.abs() * peaks, allowed * trace - left.variance)
        dropped = everywhere if int((~everywhere).sum()) <= _FEW else dropped
    if int((~dropped).sum()) > MOST_FEATURES:
        return None
    if aliasing > allowed * trace:
        return None
    missing = aliasing + left.variance + float((coefficients.abs() * peaks)[dropped].sum())
    return SelectedFeatures(indices[~dropped], coefficients[~dropped], missing)


class _MissingBounds:
    """Upper bounds on the contribution of features not yet enumerated (see `select_relevant_features`)."""

    def __init__(
        self,
        base: FreeKernel,
        anchors: Arguments,
        learnt: Float[Tensor, "r a"],
        far: Float[Tensor, " d"],
        weighted: bool,
    ) -> None:
        gram, size = base.evaluate_matrix(anchors, anchors), learnt.abs()
        # On the square of any feature: its peak, and its mean over the box.
        self._highest_peak = _evaluate_at_corner(base, far) if weighted else 1.0
        means, self._highest_mean = _compute_log_means(base, far, weighted), self._highest_peak
        if means is not None:
            self._highest_mean = min(self._highest_peak, float(means.amax(1).sum().exp()))
        self._squares = float(((learnt @ gram) * learnt).sum())
        self._rounding = ROUNDING * float(((size @ gram.abs()) * size).sum())
        self._diagonal, self._whole_diagonal = gram.diagonal(), gram.diagonal()
        self._shares, self._products = size.sum(1) @ size, _sum_over_all_features(base, anchors, far, weighted)
        self._whole_products = self._products

    def subtract(self, phi: Float[Tensor, "p a"], squares: Float[Tensor, "p r"], means: Float[Tensor, " p"]) -> None:
        """Subtract enumerated features, given φ at the anchors, the squares in e_i, and the means m_i."""
        self._squares -= float(squares.sum())
        self._diagonal = self._diagonal - phi.square().sum(0)
        if self._products is not None:
            self._products = self._products - means @ phi.square()

    @property
    def trace(self) -> float:
        """Upper bound on the missing variance, averaged over the box."""
        by_squares = self._most_squares * self._highest_mean
        if self._products is None or self._whole_products is None:
            return by_squares
        return min(by_squares, float(self._shares @ (self._products.clamp(min=0) + ROUNDING * self._whole_products)))

    @property
    def variance(self) -> float:
        """Upper bound on the missing variance at any point of the box."""
        return self._most_squares * self._highest_peak

    @property
    def is_exhausted(self) -> bool:
        """Whether every feature that is non-zero at some anchor was enumerated."""
        return bool((self._diagonal <= ROUNDING * self._whole_diagonal).all())

    @property
    def _most_squares(self) -> float:
        return max(self._squares, 0.0) + self._rounding


def _bound_aliasing(base: FreeKernel, anchors: Arguments, learnt: Float[Tensor, "r a"]) -> float:
    """Upper bound on Σ_jk |α_jα_k| |K₄ - Σ_i τ_i² ϑ_i⋯ϑ_i|, as sums over places are not quite the integral.

    By Poisson's summation formula the sum is the integral times a factor within 1 ± 2e^{-π²/(4·SPACING²)} (and less)
    for each input; and K₄ ≤ 2^{-n/2} K₂(a_j, a_k).
    """
    if not base.features_are_places:
        return 0.0
    n, sizes = anchors.points.shape[-1], learnt.abs()
    factor = (1 + 2.1 * exp(-((pi / SPACING) ** 2) / 4)) ** n - 1
    return factor * 2 ** (-n / 2) * float(((sizes @ base.evaluate_matrix(anchors, anchors)) * sizes).sum())


def _mask_smallest(sizes: Float[Tensor, " p"], together: float) -> Bool[Tensor, " p"]:
    """Mask of the smallest entries, as many as sum to no more than `together`."""
    order = sizes.argsort()
    return torch.zeros_like(sizes, dtype=torch.bool).index_put((order,), sizes[order].cumsum(0) <= together)


def _compute_reach(base: FreeKernel, anchors: Arguments) -> Float[Tensor, " d"]:
    """Half-width of the box in each input: 1, `OPEN_REACH` for open domains, or more where anchors lie further out."""
    return anchors.points.abs().amax(0).clamp(min=OPEN_REACH if base.open_domain else 1)


def _compute_log_means(base: FreeKernel, far: Float[Tensor, " d"], weighted: bool) -> Float[Tensor, "d q"] | None:
    """log of the mean over the box of the squared feature, per input and power; None if τ is no product over inputs."""
    factors = base.compute_log_factors(MOST_POWERS)
    if factors is None:
        return None
    return base.compute_log_mean_squares(MOST_POWERS, far) + (factors.to(far) if weighted else 0)


def _sum_over_all_features(
    base: FreeKernel, anchors: Arguments, far: Float[Tensor, " d"], weighted: bool
) -> Float[Tensor, " a"] | None:
    """Σ_i m_i φ_i(a_j)² = Π_d Σ_k m_k φ_k(a_jd)² over all i, for every anchor a_j.

    None if τ is no product over inputs, or if the sum over powers k has not converged at `MOST_POWERS`.
    """
    means, factors = _compute_log_means(base, far, weighted), base.compute_log_factors(MOST_POWERS)
    if means is None or factors is None:
        return None
    factors = factors.to(far).expand_as(means)
    sums = []
    for row, logs in enumerate(base.evaluate_input_log_features(anchors.points, MOST_POWERS).unbind(1)):
        terms = 2 * logs + factors[row] + means[row]
        sums.append(terms.logsumexp(1))
        if (terms[:, -2:].amax(1) > sums[-1] + log(ROUNDING)).any():
            return None  # not converged: higher powers would contribute
    return torch.stack(sums).sum(0).exp()


def _evaluate_weighted_features(
    base: FreeKernel, indices: Int[Tensor, "p d"], at: Arguments
) -> tuple[Features, Float[Tensor, "p n"]]:
    """The features in sorted order, and φ_i = τ_i ϑ_i of every row."""
    features = make_features(base, indices)
    return features, base.compute_weights_at(features.indices).to(at.points)[:, None] * features.evaluate_all(at)


def select_largest_features(
    base: FreeKernel, sample: Arguments, most: int, tolerance: float
) -> tuple[Int[Tensor, "p d"], float]:
    """The multi-indices with the largest Σ_j φ_i(a_j)² over a sample, and the share of Σ_j K₂(a_j, a_j) they miss.

    As many as leave less than `tolerance` of that trace missing, and at most `most`. Features whose τ_i overflows, as
    with very short length-scales, are among those missed; if all do, the feature of degree 0 stands for them.
    """
    trace = float(base.evaluate_matrix(sample.multiply_rows(sample), sample.make_empty_product()).sum())
    constant = list_multi_indices(sample.points.shape[1], 0).to(sample.points.device)
    if trace <= 0:  # the kernel vanishes on the sample
        return constant, 0.0
    found, looked_at = [], 0
    for batch in enumerate_best_first(base, sample):
        for some in iterate_chunks(len(batch), max(1, _TABLE_ENTRIES // sample.points.shape[0])):
            features, phi = _evaluate_weighted_features(base, batch[some], sample)
            squares = phi.square().sum(1)
            held = squares.isfinite()  # where τ_i overflows ϑ_i may underflow, and their product is not a number
            found.append((features.indices[held], squares[held]))
        looked_at += len(batch)
        sizes = torch.cat([size for _, size in found])
        # The order of enumeration only approximates that of these sizes, so twice as many are enumerated.
        if float(sizes.sum()) >= (1 - tolerance / 2) * trace or looked_at > 2 * most + 1024:
            break
    if len(sizes) == 0:
        return constant, 1.0
    indices, order = torch.cat([index for index, _ in found]), sizes.argsort(descending=True)
    kept = sizes[order].cumsum(0)
    enough = int((kept < (1 - tolerance) * trace).sum()) + 1
    chosen = order[: min(most, enough, len(order))]
    return indices[chosen], max(0.0, 1 - float(sizes[chosen].sum()) / trace)


def select_complete_features(
    base: FreeKernel, sample: Arguments, most: int, negligible: float
) -> tuple[Int[Tensor, "p d"], float]:
    """As `select_largest_features`, where less may be missing than rounding of a sum of the others can show.

    What is missing is therefore added up itself: the features that were enumerated and are not among the result, and,
    for all that were not, the last two batches. Sizes fall by a factor of ten or more from batch to batch, and far
    fewer than ten times as many features have the next one.

    Returns:
        The multi-indices, and the missing share of Σ_j K₂(a_j, a_j); 1 where more features would have been enumerated
        than are of use, or some overflow.
    """
    trace = float(base.evaluate_matrix(sample.multiply_rows(sample), sample.make_empty_product()).sum())
    constant = list_multi_indices(sample.points.shape[1], 0).to(sample.points.device)
    if trace <= 0:
        return constant, 0.0
    found: list[tuple[Tensor, Tensor]] = []
    before, looked_at, rest = float("inf"), 0, 1.0
    for batch in enumerate_best_first(base, sample, negligible=negligible):
        if len(batch) == 0:
            continue
        total = 0.0
        for some in iterate_chunks(len(batch), max(1, _TABLE_ENTRIES // sample.points.shape[0])):
            features, phi = _evaluate_weighted_features(base, batch[some], sample)
            squares = phi.square().sum(1)
            if not squares.isfinite().all():
                return constant, 1.0
            found.append((features.indices, squares))
            total += float(squares.sum())
        looked_at += len(batch)
        # Two in a row: the batches of some kernels are degrees, every other one of which may be empty.
        if before + total <= negligible * trace / 2:
            rest = (before + total) / trace
            break
        before = total
        if looked_at > 4 * most + 1024:
            return constant, 1.0
    indices, sizes = torch.cat([index for index, _ in found]), torch.cat([size for _, size in found])
    order = sizes.argsort()
    gone = sizes[order].cumsum(0)
    dropped = max(int((gone <= negligible * trace / 2).sum()), len(order) - most)
    left_out = float(gone[dropped - 1]) / trace if dropped else 0.0
    return indices[order[dropped:]], min(1.0, left_out + rest)


def bound_missing_variance(base: FreeKernel, indices: Int[Tensor, "p d"], anchors: Arguments) -> float:
    """Upper bound on the mean of K₂(x, x) - Σ_i φ_i(x)² over the box: the variance that these features miss."""
    far = _compute_reach(base, anchors)
    means = _compute_log_means(base, far, weighted=True)
    whole = _evaluate_at_corner(base, far)  # its mean is not more than its largest value
    if means is not None and (means[:, -2:].amax(1) < means.logsumexp(1) + log(ROUNDING)).all():
        whole = float(means.logsumexp(1).sum().exp())
    # Roots of means, and then squares: τ_i² overflows long before τ_i does.
    roots = (_sum_along_indices(base.compute_log_mean_squares(int(indices.max()), far), indices) / 2).exp()
    kept = float((base.compute_weights_at(indices).to(roots) * roots).square().sum())
    return max(0.0, whole - kept) + ROUNDING * whole


def compute_largest_variance(base: FreeKernel, anchors: Arguments) -> float:
    """max K₂(x, x) over the box, which is at its corner."""
    return _evaluate_at_corner(base, _compute_reach(base, anchors))


def _evaluate_at_corner(base: FreeKernel, far: Float[Tensor, " d"]) -> float:
    corner = base.make_unchecked_product(far[None])
    return float(base.evaluate_matrix(corner, corner))


def draw_product_sample(base: FreeKernel, anchors: Arguments) -> Arguments:
    """A Sobol sample of the box with a fixed seed, as the kernel's products."""
    far = _compute_reach(base, anchors)
    return base.make_unchecked_product(far * draw_box_sample(len(far), count=_IN_BOX).to(far))


def _sum_along_indices(table: Float[Tensor, "d k"], indices: Int[Tensor, "p d"]) -> Float[Tensor, " p"]:
    """Σ_d table[d, i_d] for every multi-index i."""
    return table[torch.arange(len(table), device=table.device), indices].sum(-1)
