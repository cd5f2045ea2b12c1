"""What auxiliary data lets one believe of the objective, beside the paper's Theorem: three more kernels.

Throughout, w are the weights of the features φ = τ ⊙ ϑ, M = (K_A + λI)⁻¹, ŵ = Σ_j α_j φ(a_j) their posterior mean
given A, s_f² = αᵀ(K_A + λI)α/|A| their prior variance, and L₄(a, a', x, x') = Σ_i τ_i⁴ ϑ_i(a)ϑ_i(a')ϑ_i(x)ϑ_i(x').
"""

from abc import abstractmethod
from collections.abc import Iterator
from copy import deepcopy
from functools import partial, reduce
from itertools import count
from math import comb
from typing import Any

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.kernels.bessel import squared_exponential_l4
from tunedprior.kernels.constructions import SeriesKernel
from tunedprior.kernels.free_kernel import FreeKernel, Product
from tunedprior.kernels.multi_index import multi_indices
from tunedprior.kernels.table1 import SquaredExponential
from tunedprior.kernels.theorem import (
    _Anchors,
    _checked,
    _chunks,
    _OnAnchors,
    _recomputed,
    _StaysFloat64,
    _sum_over_pairs,
)
from tunedprior.linalg import cholesky
from tunedprior.validation import Numbers, positive

_MOST_FEATURES = 2**17  # looked at before the ones that do not matter are left out
_ENTRIES = 2**22  # of a table of features held at once
_ROUNDING = 1e-14  # a sum is not known to better than this part of its terms


class _Learnt(_Anchors):
    """Also s_f², R with RᵀR = M, and where features are explicit their multi-indices and c."""

    variance: Tensor
    inverse_root: Tensor
    indices: Tensor
    coefficients: Tensor


class _Belief(_OnAnchors, _StaysFloat64, Kernel):
    """A kernel on the objective, made once from a free kernel and what was learnt from A; nothing in it is learnable.

    It computes in float64 and answers in the dtype of its inputs.
    """

    _anchors: _Learnt

    def __init__(self, base: Kernel, anchors: Numbers, alpha: Numbers, lam: float | None = None) -> None:
        free, points, alpha = _checked(base, anchors, alpha)
        if free.batch_shape:
            raise InputError(
                f"A belief is held about one kernel; got a batch of them, of shape {tuple(free.batch_shape)}. "
                "Make one belief for each."
            )
        super().__init__()
        self.base: FreeKernel = deepcopy(free).double().requires_grad_(False)
        if self.base.num_inputs is None:
            self.base.num_inputs = points.shape[1]
        points, alpha = points.double(), alpha.double()
        variance, inverse_root = points.new_zeros(()), points.new_zeros(0, len(points))
        if lam is not None:
            at_anchors = self._product(points)
            identity = torch.eye(len(points)).to(points)
            ridge = self.base._cross(at_anchors, at_anchors) + positive(lam, "λ") * identity
            variance = alpha @ ridge @ alpha / len(points)
            inverse_root = torch.linalg.solve_triangular(cholesky(ridge), identity, upper=False)  # M = RᵀR
        self._anchors = _Learnt(points, alpha, variance=variance, inverse_root=inverse_root)

    @property
    def batch_shape(self) -> torch.Size:
        """Always empty: there is nothing to have one of per batch."""
        return torch.Size([])

    def named_sub_kernels(self) -> Iterator[tuple[str, Kernel]]:
        """None: GPyTorch would make a batch of the base, and what was derived from it would no longer fit."""
        return iter(())

    def forward(
        self,
        x1: Float[Tensor, "*batch1 n d"],
        x2: Float[Tensor, "*batch2 k d"],
        diag: bool = False,
        **params: Any,  # noqa: ARG002  # part of GPyTorch's signature
    ) -> Float[Tensor, "*batch n k"] | Float[Tensor, "*batch n"]:
        """The full matrix, or with `diag=True` its diagonal K(x1_i, x2_i)."""
        batch = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        left = self._product(_once(x1))
        right = left if x2 is x1 else self._product(_once(x2))
        values = self._diagonal(left, right) if diag else self._matrix(left, right)
        values = values.to(torch.promote_types(x1.dtype, x2.dtype))
        return values.expand(*batch, *values.shape[-1 if diag else -2 :])

    def _product(self, x: Float[Tensor, "*batch n d"]) -> Product:
        return self.base._product(self.base._select(x.double()))

    @abstractmethod
    def _matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        """K at all pairs of rows."""

    @abstractmethod
    def _diagonal(self, left: Product, right: Product) -> Float[Tensor, "*batch n"]:
        """K at pairs of equal rows."""


class Aligned(_Belief):
    """K = ĝ(x)ĝ(x') + s_f² (K₂(x, x') - k(x)ᵀ M k(x')), where k(x) = K₂(A, x) and ĝ = αᵀk: ρ·g plus what A left open.

    The objective is ρ·g, with ρ ~ N(0, 1) of either sign, plus a draw from what remains uncertain of g given A.

    Args:
        base: The free kernel; its parameters are copied and stay as they are.
        anchors: The auxiliary points a_j, `a x d`.
        alpha: Their coefficients α_j, `a`; for least squares α = M y.
        lam: λ, the regularisation that α was learnt with.
    """

    def __init__(self, base: Kernel, anchors: Numbers, alpha: Numbers, lam: float) -> None:
        super().__init__(base, anchors, alpha, lam)

    def mean(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n"]:
        """ĝ(x) = Σ_j α_j K₂(a_j, x): what was learnt from A."""
        return self._mean_and_known(self._product(x))[0].to(x.dtype)

    def _mean_and_known(self, product: Product) -> tuple[Float[Tensor, "*batch n"], Float[Tensor, "*batch n a"]]:
        """ĝ(x), and R k(x) with RᵀR = M."""
        cross = self.base._cross(product, self._product(self.anchors))
        return cross @ self.alpha, cross @ self._anchors.inverse_root.mT

    def _matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        mean, known = self._mean_and_known(left)
        mean2, known2 = (mean, known) if right is left else self._mean_and_known(right)
        left_open = self.base._cross(left, right) - known @ known2.mT
        return mean[..., :, None] * mean2[..., None, :] + self._anchors.variance * left_open

    def _diagonal(self, left: Product, right: Product) -> Float[Tensor, "*batch n"]:
        mean, known = self._mean_and_known(left)
        mean2, known2 = (mean, known) if right is left else self._mean_and_known(right)
        both = left.rowwise(right)
        left_open = self.base._cross(both, both.empty_product()).squeeze(-1) - (known * known2).sum(-1)
        return mean * mean2 + self._anchors.variance * left_open


class _Sizes(_Belief):
    """K = s_f² K₂ + Σ_jk (α_jα_k - s_f² M_jk) L₄(a_j, a_k, x, x'): how large each coefficient is, not its sign.

    Either as it stands, at O(a²) per entry, or as s_f² K₂ + Σ_i c_i ϑ_i(x)ϑ_i(x') with the features that matter.
    """

    def __init__(
        self,
        base: Kernel,
        anchors: Numbers,
        alpha: Numbers,
        lam: float | None,
        by_features: bool | None,
        tolerance: float,
    ) -> None:
        super().__init__(base, anchors, alpha, lam)
        exact = isinstance(self.base, SquaredExponential)
        self.by_features = not exact if by_features is None else by_features
        if not (self.by_features or exact):
            raise InputError(
                f"Without explicit features only SquaredExponential will do; got {type(base).__name__}, whose L₄ "
                "has no closed form. Leave by_features out."
            )
        if not self.by_features:
            return
        if not isinstance(self.base, SeriesKernel | SquaredExponential):
            raise InputError(
                f"Explicit features need a kernel of Table 1, DotProduct or DirectProduct; got {type(base).__name__}. "
                "Use the kernel that it was made from, or Aligned."
            )
        indices, coefficients = self._features_that_matter(positive(tolerance, "tolerance"))
        self._anchors.register_buffer("indices", indices)
        self._anchors.register_buffer("coefficients", coefficients)

    @property
    def num_features(self) -> int | None:
        """How many explicit features are in use; None when there are none."""
        return len(self._anchors.indices) if self.by_features else None

    def _matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        if self.by_features:
            return self._sum_over_features(left, right)
        root = self._anchors.inverse_root
        shares = torch.outer(self.alpha, self.alpha) - self._anchors.variance * (root.mT @ root)
        l4 = partial(squared_exponential_l4, self.base)
        return _sum_over_pairs(l4, self._product(self.anchors), shares, left, right, self.batch_shape)

    def _diagonal(self, left: Product, right: Product) -> Float[Tensor, "*batch n"]:
        both = left.rowwise(right)
        return self._matrix(both, both.empty_product()).squeeze(-1)

    def _sum_over_features(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        indices, coefficients = self._anchors.indices, self._anchors.coefficients

        def run(left: Product, right: Product, some: slice) -> Float[Tensor, "*batch n k"]:
            features = self.base._features_at(left, indices[some])
            others = features if right is left else self.base._features_at(right, indices[some])
            return (coefficients[some] * features) @ others.mT

        at_once = max(1, _ENTRIES // max(1, left.log_envelope.numel(), right.log_envelope.numel()))
        if torch.is_grad_enabled() and len(indices) > at_once:
            run = partial(_recomputed, run)
        return reduce(torch.add, (run(left, right, some) for some in _chunks(max(1, len(indices)), at_once)))

    def _features_that_matter(self, tolerance: float) -> tuple[Int[Tensor, "p d"], Float[Tensor, " p"]]:
        """Multi-indices i and c_i = τ_i² e_i with e_i = ŵ_i² - s_f² τ_i² ϑ_i(A)ᵀ M ϑ_i(A).

        What is left out changes no variance in the box by more than `tolerance` times the largest one at the anchors:
        above a total degree because Σ|e_i| φ_i(x)² ≤ Σ|e_i| · Σφ_i(x)², where both sums over what is left are known
        (from K_A, and from K₂ at the corner of the box, where it is largest); below it because φ_i² has a known peak.
        """
        anchors = self._product(self.anchors)
        num_inputs = anchors.points.shape[-1]
        far = anchors.points.abs().amax(0)
        far = far if self.base.open_domain else far.clamp(min=1)
        corner = Product(far[None], self.base._log_envelope(far[None]))
        # One row for each square in e_i: ŵ_i² first, then those to subtract.
        learnt = torch.cat([self.alpha[None], self._anchors.variance.sqrt() * self._anchors.inverse_root])
        gram, most = self.base._cross(anchors, anchors), self.base._cross(corner, corner).squeeze()
        squares_left, corner_left = ((learnt @ gram) * learnt).sum(), most
        rounding = _ROUNDING * ((learnt.abs() @ gram.abs()) * learnt.abs()).sum()
        variances = self._anchors.variance * gram.diagonal()
        found = []
        for degree in count():
            if comb(num_inputs + degree, num_inputs) > _MOST_FEATURES:
                raise InputError(
                    f"The explicit features should number {_MOST_FEATURES:,} at most; {type(self.base).__name__} on "
                    f"{num_inputs} inputs has that many below degree {degree}, and a tolerance of {tolerance:g} needs "
                    "more. Raise it, use a longer length-scale or fewer inputs, or SquaredExponential, or Aligned."
                )
            indices = multi_indices(num_inputs, degree)[comb(num_inputs + degree - 1, num_inputs) if degree else 0 :]
            indices, weights = indices.to(far.device), self.base._weights_at(indices).to(far)
            phi = weights * self.base._features_at(anchors, indices)
            squares = (learnt @ phi) ** 2
            excess = 2 * squares[0] - squares.sum(0)
            found.append((indices, weights**2, excess))
            variances = variances + phi**2 @ excess
            squares_left = squares_left - squares.sum()
            corner_left = corner_left - ((weights * self.base._features_at(corner, indices)) ** 2).sum()
            allowed = tolerance * variances.max()
            left_out = (squares_left.clamp(min=0) + rounding) * corner_left.clamp(min=0)
            if left_out <= allowed or corner_left <= _ROUNDING * most:
                break
        indices, squared_weights, excess = (torch.cat(column) for column in zip(*found, strict=True))
        coefficients = squared_weights * excess
        peak = far.expand(indices.shape)
        if isinstance(self.base, SquaredExponential):
            peak = torch.minimum(peak, (indices / self.base.inverse_square_lengthscale).sqrt())
        largest = coefficients.abs() * ((peak**indices).prod(-1) * self.base._log_envelope(peak).exp()) ** 2
        order = largest.argsort()
        matter = order[largest[order].cumsum(0) > allowed].sort().values
        return indices[matter], coefficients[matter]


class Matched(_Sizes):
    """K = Σ_i ŵ_i² φ_i(x)φ_i(x') = Σ_jk α_jα_k L₄(a_j, a_k, x, x'): coefficient i has the size it has in g.

    Args:
        base: The free kernel; its parameters are copied and stay as they are.
        anchors: The auxiliary points a_j, `a x d`.
        alpha: Their coefficients α_j, `a`.
        by_features: Whether to use explicit features, whose cost does not depend on |A|, or the sum over pairs of
            anchors, exact but for SquaredExponential alone. None: the sum where there is one.
        tolerance: How much of the largest variance at the anchors the features left out may make up.
    """

    def __init__(
        self,
        base: Kernel,
        anchors: Numbers,
        alpha: Numbers,
        by_features: bool | None = None,
        tolerance: float = 1e-8,
    ) -> None:
        super().__init__(base, anchors, alpha, None, by_features, tolerance)


class Uncertain(_Sizes):
    """K = Σ_i E[w_i²|A] φ_iφ_i' = s_f² K₂ + Σ_jk (α_jα_k - s_f² M_jk) L₄: as `Matched`, plus what A did not determine.

    Args:
        base: The free kernel; its parameters are copied and stay as they are.
        anchors: The auxiliary points a_j, `a x d`.
        alpha: Their coefficients α_j, `a`; for least squares α = M y.
        lam: λ, the regularisation that α was learnt with.
        by_features: As for `Matched`; s_f² K₂ is exact either way.
        tolerance: As for `Matched`.
    """

    def __init__(
        self,
        base: Kernel,
        anchors: Numbers,
        alpha: Numbers,
        lam: float,
        by_features: bool | None = None,
        tolerance: float = 1e-8,
    ) -> None:
        super().__init__(base, anchors, alpha, lam, by_features, tolerance)

    def _matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        return self._anchors.variance * self.base._cross(left, right) + super()._matrix(left, right)


def _once(x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch2 n d"]:
    """One table where all of a batch are the same: a batch of candidates repeats the training points for each."""
    if x.ndim == 2 or x.numel() == 0 or x.requires_grad:  # each copy has a gradient of its own
        return x
    first = x[(0,) * (x.ndim - 2)]
    return first if (x == first).all() else x
