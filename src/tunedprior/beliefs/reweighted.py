"""The paper's belief: the Theorem gives the prior variance of each feature's coefficient."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log, log1p

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.beliefs.feature_variances import TOLERANCE, CoefficientVarianceKernel
from tunedprior.beliefs.registry import KernelBelief, PriorCovariance, register
from tunedprior.checks import Numbers
from tunedprior.kernels import SquaredExponential, StationarySquaredExponential
from tunedprior.kernels.explicit_features import FeatureKernel
from tunedprior.kernels.free_kernel import Arguments
from tunedprior.machines import AlphaFit, FeatureFit, Fit
from tunedprior.numerics.stationary import Axes
from tunedprior.source_data.training_set import MOST_ROWS_WITH_ALPHA

# The tolerance where a fit has more coefficients α than that: it is one as printed, which is promised to 1e-6 in all.
_TOLERANCE_OF_MANY = TOLERANCE / 10


class FixedReweightedKernel(CoefficientVarianceKernel):
    """K = Σ_i ŵ_i² ϑ_i(x)ϑ_i(x') = Σ_jk α_jα_k K₄(a_j, a_k, x, x'): the Theorem's kernel, its parameters fixed.

    Args:
        base: The free kernel; its parameters are copied and stay as they are.
        anchors: The old settings a_j, `a x d`.
        alpha: Their coefficients α_j, `a`.
        by_features: Whether to use explicit features, whose cost does not depend on |A|, or the exact sum over pairs
            of anchors. None: features if not too many meet `tolerance`, else the sum.
        tolerance: The share of the trace ∫ K(x, x) dx over the box that features may miss.
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

    def _get_summand(self) -> Callable[[Arguments, Arguments], Tensor]:
        return self.base.evaluate_matrix

    def bound_rounding_error(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n"]:
        """ε (Σ_j |α_j| √K₄(a_j, a_j, x, x))²: upper bound on the rounding error of K(x, x) as the sum over pairs.

        As |K₄(a_j, a_k, x, x)|² is at most K₄(a_j, a_j, x, x) K₄(a_k, a_k, x, x).
        """
        at, anchors = self.make_product(x), self.make_product(self.anchors)
        fourth = self.base.evaluate_matrix(at.multiply_rows(at), anchors.multiply_rows(anchors)).clamp_min(0.0)
        return torch.finfo(fourth.dtype).eps * (fourth.sqrt() @ self.alpha.abs()).square()


# The prior probability of monomials where there are places too; chosen on flipped functions (docs/experiments.md).
_ON_MONOMIALS = 0.2


def _convert_to_places(fit: Fit) -> Fit | None:
    """Convert a fit to the stationary kernel, if it has a coefficient α_j for each row; otherwise return None."""
    if not isinstance(fit, AlphaFit) or not isinstance(fit.kernel, SquaredExponential):
        return None
    return replace(fit, kernel=StationarySquaredExponential(fit.kernel.lengthscale.detach()).requires_grad_(False))


@register
class ReweightedBelief(KernelBelief):
    """Σ_i ŵ_i² ϑ_iϑ_i': the kernel of the Theorem.

    In an average it has two versions of each fit, with monomials and with places for features: the K₂ that g was learnt
    with, and so α, is that of `SquaredExponential` and of `StationarySquaredExponential`, which has no origin.
    """

    name = "reweighted"

    def make_prior_covariances(
        self, fits: Sequence[Fit], axes: Axes, whatever_the_cost: bool = False
    ) -> list[PriorCovariance]:
        """Of each fit a version on monomials, if that is cheap, and one on places, if the fit has an α for each row."""
        on_places = {number: moved for number, fit in enumerate(fits) if (moved := _convert_to_places(fit)) is not None}
        numbers = list(on_places)
        found = [
            replace(version, fit_index=numbers[version.fit_index], log_prior=version.log_prior + log1p(-_ON_MONOMIALS))
            for version in super().make_prior_covariances(list(on_places.values()), axes, whatever_the_cost)
        ]
        others = super().make_prior_covariances(fits, axes, whatever_the_cost and not found)
        share = log(_ON_MONOMIALS) if found else 0.0
        return found + [replace(version, log_prior=version.log_prior + share) for version in others]

    def make_kernel_from_alpha(self, fit: AlphaFit) -> Kernel:
        """The `FixedReweightedKernel` kernel of a fit with a coefficient α_j for each old row."""
        many = len(fit.anchors) > MOST_ROWS_WITH_ALPHA
        return FixedReweightedKernel(
            fit.kernel, fit.anchors, fit.alpha, tolerance=_TOLERANCE_OF_MANY if many else TOLERANCE
        )

    def make_kernel_from_features(self, fit: FeatureFit) -> Kernel:
        """Σ_i ŵ_i² ϑ_iϑ_i' in explicit features, for a fit with a weight ŵ_i for each."""
        return FeatureKernel(fit.kernel, fit.feature_map.features.indices, fit.weights.square())
