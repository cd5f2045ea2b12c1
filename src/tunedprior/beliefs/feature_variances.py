"""Kernels with a prior variance for each feature's coefficient: the base of reweighted, matched and uncertain.

Throughout, w are the weights of the features φ = τ ⊙ ϑ, ŵ = Σ_j α_j φ(a_j) is their posterior mean given old data A,
s_f² = αᵀ(K_A + λI)α/|A| their prior variance, M = (K_A + λI)⁻¹, and L₄(a, a', x, x') = Σ_i τ_i⁴
ϑ_i(a)ϑ_i(a')ϑ_i(x)ϑ_i(x'). The anchors a_j are old settings; where they are only some of these, M
and s_f² are those of an `AnchorPosterior`.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import Numbers, check_positive
from tunedprior.errors import InputError
from tunedprior.kernels.anchors import (
    AnchorAccess,
    Anchors,
    FixedKernel,
    check_anchors,
    draw_box_sample,
    sum_over_pairs,
)
from tunedprior.kernels.explicit_features import (
    MOST_FEATURES,
    MOST_INPUTS_OF_PLACES,
    OPEN_REACH,
    FeatureKernel,
    has_features,
    is_worth_enumerating,
    select_relevant_features,
)
from tunedprior.kernels.free_kernel import Arguments, FreeKernel
from tunedprior.kernels.midpoints import MidpointRoot
from tunedprior.kernels.sections import Section
from tunedprior.kernels.stationary import StationarySquaredExponential
from tunedprior.kernels.table1 import SquaredExponential, evaluate_squared_exponential_l4
from tunedprior.machines.machine import AnchorPosterior
from tunedprior.numerics.linalg import cholesky

#: The share of the mean variance over the box that the features left out may make up.
TOLERANCE = 1e-6


class FittedAnchors(Anchors):
    """Anchors and α, with s_f² (`variance`) and R (`inverse_root`), where RᵀR = M."""

    variance: Tensor
    inverse_root: Tensor


def make_fitted_anchors(
    kernel: FixedKernel, points: Tensor, alpha: Tensor, lam: float | None, posterior: AnchorPosterior | None = None
) -> FittedAnchors:
    """The anchors and α, with s_f² and R of the posterior, or derived from λ; with neither s_f² = 0, R has no rows."""
    points, alpha = points.double(), alpha.double()
    if posterior is not None:
        signal = points.new_tensor(posterior.signal)
        return FittedAnchors(points, alpha, variance=signal, inverse_root=posterior.inverse_root.to(points))
    variance, inverse_root = points.new_zeros(()), points.new_zeros(0, len(points))
    if lam is not None:
        at_anchors = kernel.make_product(points)
        identity = torch.eye(len(points)).to(points)
        ridge = kernel.base.evaluate_matrix(at_anchors, at_anchors) + check_positive(lam, "λ") * identity
        variance = alpha @ ridge @ alpha / len(points)
        inverse_root = torch.linalg.solve_triangular(cholesky(ridge), identity, upper=False)  # M = RᵀR
    return FittedAnchors(points, alpha, variance=variance, inverse_root=inverse_root)


def describe_too_many_features(base: FreeKernel, num_inputs: int, tolerance: float) -> str:
    """The error message where explicit features were requested and do not meet the tolerance."""
    return (
        f"The explicit features should number {MOST_FEATURES:,} at most; {type(base).__name__} on {num_inputs} inputs "
        f"cannot be shown to meet a tolerance of {tolerance:g} with them. Raise it, use a longer length-scale or fewer "
        "inputs, or leave by_features out."
    )


class OptionalFeatures:
    """Mixin: whether a kernel is computed from explicit features, or from all anchors."""

    #: The kernel by explicit features; None where it is computed from all anchors.
    explicit: Any

    @property
    def by_features(self) -> bool:
        """Whether the kernel is computed from explicit features, or from all anchors."""
        return self.explicit is not None

    @property
    def num_features(self) -> int | None:
        """The number of explicit features; None where the kernel is computed from all anchors."""
        return None if self.explicit is None else int(self.explicit.num_features)


# With more features a kernel takes longer than all other hypotheses of an average together.
_FEW_FEATURES = 2048
# Of the sum over pairs: the rounding error, as a share of the mean variance, from which it is refused; points checked.
_LEAST_DIGITS, _CHECKED = 1e-3, 7


class CoefficientVarianceKernel(OptionalFeatures, AnchorAccess, FixedKernel):
    """K = s K₂ + Σ_i c_i ϑ_iϑ_i': independent coefficients, whose sizes are known from old data and signs are not.

    Computed by explicit features, at a cost that does not depend on |A|, if they meet the tolerance; otherwise by the
    exact sum over all pairs of anchors (old settings), at O(a²) per entry.
    """

    #: Whether c_i = e_i τ_i² (a sum over φ = τ ⊙ ϑ), or e_i; e_i is as in `select_relevant_features`.
    _weighted = True
    _anchors: FittedAnchors
    explicit: FeatureKernel | None

    def __init__(
        self,
        base: Kernel,
        anchors: Numbers,
        alpha: Numbers,
        lam: float | None,
        by_features: bool | None,
        tolerance: float,
        posterior: AnchorPosterior | None = None,
    ) -> None:
        free, points, alpha = check_anchors(base, anchors, alpha)
        if lam is not None and free.features_are_places:
            raise InputError(
                "The uncertain belief has no meaning for places: there are as many as one likes, so old rows determine "
                "the weight of none. Use SquaredExponential, or the reweighted belief."
            )
        super().__init__(free, points.shape[1])
        self._anchors = make_fitted_anchors(self, points, alpha, lam, posterior)
        tolerance = check_positive(tolerance, "tolerance")
        self._root: MidpointRoot | None = None
        if by_features and free.features_are_places and points.shape[1] > MOST_INPUTS_OF_PLACES:
            raise InputError(
                "Places on a grid serve up to three inputs, as their number is a power of the number of inputs; got "
                f"{points.shape[1]}. Leave by_features out: the sum over pairs of old rows has no such limit."
            )
        explicit = by_features if by_features is not None else is_worth_enumerating(self.base, points.shape[1])
        self.explicit = self._make_feature_kernel(tolerance) if explicit else None
        if self.base.features_are_places and by_features is None and not self._has_few_features:
            self.explicit = None  # midpoints are faster
        if self.explicit is not None:
            return
        if by_features:
            raise InputError(describe_too_many_features(free, points.shape[1], tolerance))
        if isinstance(self.base, StationarySquaredExponential):
            # τ is the same at all places, so that L₄ = τ² K₄.
            weight = self.base.compute_weights_at(torch.zeros_like(points[:1], dtype=torch.long))
            self._root = MidpointRoot(self.base, points, alpha * float(weight if self._weighted else 1.0))
        elif self._get_summand() is None:
            raise InputError(
                f"Without explicit features only squared exponential kernels will do; got {type(base).__name__}, whose "
                "L₄ has no closed form. Leave by_features out, raise the tolerance, or use Aligned."
            )
        else:
            self._check_digits()

    @property
    def is_cheap(self) -> bool:
        """Whether the kernel is computed from explicit features, and few enough of them for an average."""
        return self._root is not None or self._has_few_features

    @property
    def _has_few_features(self) -> bool:
        return self.explicit is not None and self.explicit.num_features <= _FEW_FEATURES

    @property
    def missing(self) -> float:
        """Upper bound on the variance, anywhere in the box, of the features left out."""
        return 0.0 if self.explicit is None else self.explicit.missing

    def _check_digits(self) -> None:
        """Raise an error if so much cancels in the sum over pairs that rounding alone would spoil the variances.

        The rounding error is estimated as ε Σ_jk |S_jk| L, with L the summand at the absolute values of its arguments,
        where no term of its series is negative. It is largest where x is, so a corner and a few points will do.
        """
        reach = OPEN_REACH if self.base.open_domain else 1.0
        sample = draw_box_sample(self.anchors.shape[1], reach, _CHECKED)
        points = torch.cat([sample, torch.full_like(sample[:1], reach)]).to(self.anchors)
        with torch.no_grad():
            at, anchors, four = self.make_product(points), self.make_product(self.anchors.abs()), self._get_summand()
            assert four is not None  # __init__ saw to it
            squares = at.multiply_rows(at)
            sums = sum_over_pairs(
                four,
                anchors,
                self._compute_pair_shares().abs(),
                squares,
                squares.make_empty_product(),
                self.batch_shape,
            )
            error = torch.finfo(torch.float64).eps * float(sums.max())
            size = float(self.evaluate_diagonal(at, at).abs().mean())
        if error > _LEAST_DIGITS * size > 0:
            raise InputError(
                f"The sum over pairs of old settings cancels: its terms add up to {error:.1g} of rounding error, where "
                f"variances are about {size:.1g} in size. Use explicit features (by_features=True, with a larger "
                "tolerance if need be), or a larger λ."
            )

    @abstractmethod
    def _get_summand(self) -> Callable[[Arguments, Arguments], Tensor] | None:
        """The summand of the exact sum, as a function of a_j ⊙ a_k and x ⊙ x'; None if it has no closed form."""

    def _make_feature_kernel(self, tolerance: float) -> FeatureKernel | None:
        if not has_features(self.base, self.anchors.shape[1]):
            if self._get_summand() is not None or self.base.features_are_places:
                return None
            raise InputError(
                f"Explicit features need a kernel of tunedprior.kernels without a bias; got {type(self.base).__name__}."
                " Use the kernel that it was made from, or Aligned."
            )
        variance = self._anchors.variance
        # One row for each square in e_i: ŵ_i² first, then those to subtract.
        squares = torch.cat([self.alpha[None], variance.sqrt() * self._anchors.inverse_root])
        anchors = self.make_product(self.anchors)
        found = select_relevant_features(self.base, anchors, squares, self._weighted, float(variance), tolerance)
        if found is None:
            return None
        reach = max(1.0, float(self.anchors.abs().max()))
        return FeatureKernel(self.base, *found[:2], float(variance), found.missing, reach)

    def make_product(self, x: Float[Tensor, "*batch n d"]) -> Arguments:
        """The rows of x as groups of one argument: the columns that the base acts on, in float64."""
        explicit = getattr(self, "explicit", None)  # the anchors are needed before it is made
        return super().make_product(x) if explicit is None else explicit.make_product(x)

    def evaluate_matrix(self, left: Arguments, right: Arguments) -> Float[Tensor, "*batch n k"]:
        """K(left row, right row) for all pairs of rows."""
        if self.explicit is not None:
            return self.explicit.evaluate_matrix(left, right)
        if self._root is not None:
            return self._root.evaluate_matrix(left, right)
        four = self._get_summand()
        assert four is not None  # __init__ saw to it
        sums = sum_over_pairs(
            four, self.make_product(self.anchors), self._compute_pair_shares(), left, right, self.batch_shape
        )
        if len(self._anchors.inverse_root) == 0:
            return sums
        return sums + self._anchors.variance * self.base.evaluate_matrix(left, right)

    def make_section(self, size: float, points: Float[Tensor, "n d"]) -> Section | None:
        """K(·, D)/size for fixed points D, with its gradient by hand, where features are places; None otherwise."""
        if self.explicit is not None:
            return self.explicit.make_section(size, points)
        return None if self._root is None else self._root.make_section(size, points)

    def _compute_pair_shares(self) -> Float[Tensor, "a a"]:
        """S_jk of the exact sum over pairs: α_jα_k, less s_f² M_jk where there is a λ."""
        root = self._anchors.inverse_root
        return torch.outer(self.alpha, self.alpha) - self._anchors.variance * (root.mT @ root)

    def evaluate_diagonal(self, left: Arguments, right: Arguments) -> Float[Tensor, "*batch n"]:
        """K(left row i, right row i) for every i: the diagonal."""
        if self.explicit is not None:
            return self.explicit.evaluate_diagonal(left, right)
        both = left.multiply_rows(right)
        return self.evaluate_matrix(both, both.make_empty_product()).squeeze(-1)


class WeightVarianceKernel(CoefficientVarianceKernel):
    """K = s K₂ + Σ_i e_i φ_iφ_i', for beliefs about the weights w of φ: the exact sum over pairs is of L₄."""

    def _get_summand(self) -> Callable[[Arguments, Arguments], Tensor] | None:
        base = self.base
        return partial(evaluate_squared_exponential_l4, base) if isinstance(base, SquaredExponential) else None
