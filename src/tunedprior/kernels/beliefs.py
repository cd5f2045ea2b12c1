"""What auxiliary data lets one believe of the objective, beside the paper's Theorem: three more kernels.

Throughout, w are the weights of the features φ = τ ⊙ ϑ, M = (K_A + λI)⁻¹, ŵ = Σ_j α_j φ(a_j) their posterior mean
given A, s_f² = αᵀ(K_A + λI)α/|A| their prior variance, and L₄(a, a', x, x') = Σ_i τ_i⁴ ϑ_i(a)ϑ_i(a')ϑ_i(x)ϑ_i(x').
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.kernels.bessel import squared_exponential_l4
from tunedprior.kernels.best_first import ROUNDING
from tunedprior.kernels.features import AlignedFeatures, Explicit, Features, RhoTimesG
from tunedprior.kernels.fixed import FixedKernel
from tunedprior.kernels.free_kernel import FreeKernel, Product
from tunedprior.kernels.search import (
    MOST_FEATURES,
    features_that_matter,
    has_features,
    largest_features,
    largest_variance,
    missing_in_box,
    sample_of_reach,
)
from tunedprior.kernels.table1 import SquaredExponential
from tunedprior.kernels.theorem import _Anchors, _checked, _OnAnchors, _sum_over_pairs
from tunedprior.linalg import cholesky, symmetric_root
from tunedprior.validation import Numbers, positive

#: Of the mean variance over the box: how much the features that are left out may make up on average over it.
TOLERANCE = 1e-6
_SHARES = (1e-8, 1e-10, 1e-12)  # of the trace of K_A, that features may miss


class _Learnt(_Anchors):
    """Also s_f², and R with RᵀR = M."""

    variance: Tensor
    inverse_root: Tensor


def _learnt(kernel: FixedKernel, points: Tensor, alpha: Tensor, lam: float | None) -> _Learnt:
    """What all beliefs need to know of A."""
    points, alpha = points.double(), alpha.double()
    variance, inverse_root = points.new_zeros(()), points.new_zeros(0, len(points))
    if lam is not None:
        at_anchors = kernel._product(points)
        identity = torch.eye(len(points)).to(points)
        ridge = kernel.base._cross(at_anchors, at_anchors) + positive(lam, "λ") * identity
        variance = alpha @ ridge @ alpha / len(points)
        inverse_root = torch.linalg.solve_triangular(cholesky(ridge), identity, upper=False)  # M = RᵀR
    return _Learnt(points, alpha, variance=variance, inverse_root=inverse_root)


def _too_many(base: FreeKernel, num_inputs: int, tolerance: float) -> str:
    return (
        f"The explicit features should number {MOST_FEATURES:,} at most; {type(base).__name__} on {num_inputs} inputs "
        f"cannot be shown to meet a tolerance of {tolerance:g} with them. Raise it, use a longer length-scale or fewer "
        "inputs, or leave by_features out."
    )


class _MaybeByFeatures:
    """What a belief shows of the choice between explicit features and a computation with all anchors."""

    #: The same by explicit features, where they are in use.
    explicit: AlignedFeatures | Explicit | None

    @property
    def by_features(self) -> bool:
        """Whether explicit features are in use, or all anchors."""
        return self.explicit is not None

    @property
    def num_features(self) -> int | None:
        """How many explicit features are in use; None when there are none."""
        return None if self.explicit is None else self.explicit.num_features


class Aligned(_MaybeByFeatures, _OnAnchors, RhoTimesG):
    """K = ĝ(x)ĝ(x') + s_f² (K₂(x, x') - k(x)ᵀ M k(x')), where k(x) = K₂(A, x) and ĝ = αᵀk: ρ·g plus what A left open.

    The objective is ρ·g, with ρ ~ N(0, 1) of either sign, plus a draw from what remains uncertain of g given A.

    Args:
        base: The free kernel; its parameters are copied and stay as they are.
        anchors: The auxiliary points a_j, `a x d`.
        alpha: Their coefficients α_j, `a`; for least squares α = M y.
        lam: λ, the regularisation that α was learnt with.
        by_features: Whether k(x) is computed from explicit features, or from all anchors. None: from features if far
            fewer of them than there are anchors meet the tolerance.
        tolerance: As for `ReweightedBelief`.
    """

    _anchors: _Learnt

    def __init__(
        self,
        base: Kernel,
        anchors: Numbers,
        alpha: Numbers,
        lam: float,
        by_features: bool | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        free, points, alpha = _checked(base, anchors, alpha)
        super().__init__(free, points.shape[1])
        self._anchors = _learnt(self, points, alpha, lam)
        self.explicit: AlignedFeatures | None = None
        if by_features is not False:
            most = MOST_FEATURES if by_features else len(points) // 2
            self.explicit = self._by_features(most, positive(lam, "λ"), positive(tolerance, "tolerance"))
        if by_features and self.explicit is None:
            raise InputError(_too_many(free, points.shape[1], tolerance))

    @property
    def variance(self) -> Float[Tensor, ""]:
        """s_f²."""
        return self._anchors.variance

    def _mean_and_known(self, product: Product) -> tuple[Float[Tensor, "*batch n"], Float[Tensor, "*batch n r"]]:
        if self.explicit is not None:
            return self.explicit._mean_and_known(product)
        cross = self.base._cross(product, self._product(self.anchors))
        return cross @ self.alpha, cross @ self._anchors.inverse_root.mT

    def _by_features(self, most: int, lam: float, tolerance: float) -> AlignedFeatures | None:
        """k(x) ≈ Φφ(x), where with δ the trace of K₂ that is missing |Δk(x)|² ≤ δ(x) δ(A) and |Δĝ(x)|² ≤ δ(x) |Δŵ|²."""
        if most < 1 or not has_features(self.base):
            return None
        at_anchors, root = self._product(self.anchors), self._anchors.inverse_root
        gram = self.base._cross(at_anchors, at_anchors)
        norm = float(self.alpha @ gram @ self.alpha)
        rounding = ROUNDING * float(self.alpha.abs() @ gram.abs() @ self.alpha.abs())
        in_all = sample_of_reach(self.base, at_anchors)
        allowed = tolerance * float(self._diagonal(in_all, in_all).mean())
        # A function is at most its norm times this, anywhere in the box.
        height = largest_variance(self.base, at_anchors) ** 0.5
        for share in _SHARES:
            indices, missing = largest_features(self.base, at_anchors, most, share)
            if missing > share:
                return None
            features = Features(indices)
            phi = self.base._weights_at(features.indices).to(root)[:, None] * features.all(at_anchors)
            # Features that vanish at all anchors play no part, so with all the others nothing is missing.
            complete = missing <= ROUNDING
            weights = phi @ self.alpha
            in_box = ROUNDING * height**2 if complete else missing_in_box(self.base, indices, at_anchors)
            off_mean = (in_box * (max(norm - float(weights @ weights), 0.0) + rounding)) ** 0.5
            off_known = (in_box * missing * float(gram.trace()) / lam) ** 0.5
            error = off_mean * (2 * height * norm**0.5 + off_mean)
            error += float(self.variance) * off_known * (2 * height + off_known)
            if error <= allowed:
                known = phi @ root.mT
                if known.shape[0] < known.shape[1]:
                    known = symmetric_root(known @ known.mT)
                return AlignedFeatures(self.base, features.indices, weights, known, float(self.variance))
        return None


class _Sizes(_MaybeByFeatures, _OnAnchors, FixedKernel):
    """K = s K₂ + Σ_i c_i ϑ_iϑ_i': how large each coefficient is, not its sign.

    By explicit features, whose cost does not depend on |A|, wherever they meet the tolerance; else by the sum over all
    pairs of anchors, exact, at O(a²) per entry.
    """

    #: Whether c_i = e_i τ_i², as for a kernel over φ, or e_i.
    _weighted = True
    _anchors: _Learnt
    explicit: Explicit | None

    def __init__(
        self,
        base: Kernel,
        anchors: Numbers,
        alpha: Numbers,
        lam: float | None,
        by_features: bool | None,
        tolerance: float,
    ) -> None:
        free, points, alpha = _checked(base, anchors, alpha)
        super().__init__(free, points.shape[1])
        self._anchors = _learnt(self, points, alpha, lam)
        tolerance = positive(tolerance, "tolerance")
        self.explicit = None if by_features is False else self._by_features(tolerance)
        if self.explicit is None and by_features:
            raise InputError(_too_many(free, points.shape[1], tolerance))
        if self.explicit is None and self._four_arguments() is None:
            raise InputError(
                f"Without explicit features only SquaredExponential will do; got {type(base).__name__}, whose L₄ has "
                "no closed form. Leave by_features out, raise the tolerance, or use Aligned."
            )

    @property
    def missing(self) -> float:
        """A bound on the variance, anywhere in the box, of the features that were left out."""
        return 0.0 if self.explicit is None else self.explicit.missing

    @abstractmethod
    def _four_arguments(self) -> Callable[[Product, Product], Tensor] | None:
        """The kernel of two anchors and two settings that the exact sum is over, if it has a closed form."""

    def _by_features(self, tolerance: float) -> Explicit | None:
        if not has_features(self.base):
            if self._four_arguments() is not None:
                return None
            raise InputError(
                f"Explicit features need a kernel of Table 1, DotProduct or DirectProduct; got "
                f"{type(self.base).__name__}. Use the kernel that it was made from, or Aligned."
            )
        variance = self._anchors.variance
        # One row for each square in e_i: ŵ_i² first, then those to subtract.
        learnt = torch.cat([self.alpha[None], variance.sqrt() * self._anchors.inverse_root])
        anchors = self._product(self.anchors)
        found = features_that_matter(self.base, anchors, learnt, self._weighted, float(variance), tolerance)
        return None if found is None else Explicit(self.base, *found[:2], float(variance), found.missing)

    def _matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        if self.explicit is not None:
            return self.explicit._matrix(left, right)
        root, four = self._anchors.inverse_root, self._four_arguments()
        assert four is not None  # __init__ saw to it
        shares = torch.outer(self.alpha, self.alpha) - self._anchors.variance * (root.mT @ root)
        sums = _sum_over_pairs(four, self._product(self.anchors), shares, left, right, self.batch_shape)
        return sums + self._anchors.variance * self.base._cross(left, right) if len(root) else sums

    def _diagonal(self, left: Product, right: Product) -> Float[Tensor, "*batch n"]:
        if self.explicit is not None:
            return self.explicit._diagonal(left, right)
        both = left.rowwise(right)
        return self._matrix(both, both.empty_product()).squeeze(-1)


class ReweightedBelief(_Sizes):
    """K = Σ_i ŵ_i² ϑ_i(x)ϑ_i(x') = Σ_jk α_jα_k K₄(a_j, a_k, x, x'): the Theorem's kernel, its parameters fixed.

    Args:
        base: The free kernel; its parameters are copied and stay as they are.
        anchors: The auxiliary points a_j, `a x d`.
        alpha: Their coefficients α_j, `a`.
        by_features: Whether to use explicit features, whose cost does not depend on |A|, or the exact sum over pairs
            of anchors. None: features if `tolerance` does not take too many of them, else the sum.
        tolerance: The share of the trace ∫ K(x, x) dx over the box that may be missing (see `search`).
    """

    _weighted = False

    def __init__(
        self,
        base: Kernel,
        anchors: Numbers,
        alpha: Numbers,
        by_features: bool | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        super().__init__(base, anchors, alpha, None, by_features, tolerance)

    def _four_arguments(self) -> Callable[[Product, Product], Tensor]:
        return self.base._cross


class _OfWeights(_Sizes):
    """Beliefs about w, the coefficients of φ: their sums over pairs are of L₄."""

    def _four_arguments(self) -> Callable[[Product, Product], Tensor] | None:
        base = self.base
        return partial(squared_exponential_l4, base) if isinstance(base, SquaredExponential) else None


class Matched(_OfWeights):
    """K = Σ_i ŵ_i² φ_i(x)φ_i(x') = Σ_jk α_jα_k L₄(a_j, a_k, x, x'): coefficient i has the size it has in g.

    Args:
        base: The free kernel; its parameters are copied and stay as they are.
        anchors: The auxiliary points a_j, `a x d`.
        alpha: Their coefficients α_j, `a`.
        by_features: As for `ReweightedBelief`; the exact sum is there for SquaredExponential alone.
        tolerance: As for `ReweightedBelief`.
    """

    def __init__(
        self,
        base: Kernel,
        anchors: Numbers,
        alpha: Numbers,
        by_features: bool | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        super().__init__(base, anchors, alpha, None, by_features, tolerance)


class Uncertain(_OfWeights):
    """K = Σ_i E[w_i²|A] φ_iφ_i' = s_f² K₂ + Σ_jk (α_jα_k - s_f² M_jk) L₄: as `Matched`, plus what A did not determine.

    Args:
        base: The free kernel; its parameters are copied and stay as they are.
        anchors: The auxiliary points a_j, `a x d`.
        alpha: Their coefficients α_j, `a`; for least squares α = M y.
        lam: λ, the regularisation that α was learnt with.
        by_features: As for `Matched`; s_f² K₂ is exact either way.
        tolerance: As for `ReweightedBelief`.
    """

    def __init__(
        self,
        base: Kernel,
        anchors: Numbers,
        alpha: Numbers,
        lam: float,
        by_features: bool | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        super().__init__(base, anchors, alpha, lam, by_features, tolerance)
