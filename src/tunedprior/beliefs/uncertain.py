"""The uncertain belief: the prior variance of each weight of the objective is its posterior second moment in g."""

from gpytorch.kernels import Kernel

from tunedprior.beliefs.feature_variances import TOLERANCE, WeightVarianceKernel
from tunedprior.beliefs.registry import KernelBelief, register
from tunedprior.checks import Numbers
from tunedprior.kernels.explicit_features import FeatureKernel
from tunedprior.machines import AlphaFit, FeatureFit
from tunedprior.machines.machine import AnchorPosterior


class UncertainKernel(WeightVarianceKernel):
    """K = Σ_i E[w_i²|A] φ_iφ_i' = s_f² K₂ + Σ_jk (α_jα_k - s_f² M_jk) L₄: the posterior second moment of each weight.

    Args:
        base: The free kernel; its parameters are copied and stay as they are.
        anchors: The old settings a_j, `a x d`.
        alpha: Their coefficients α_j, `a`; for least squares α = M y.
        lam: λ, the regularisation that α was learnt with.
        by_features: Whether to use explicit features, whose cost does not depend on |A|, or the exact sum over pairs
            of anchors, for SquaredExponential alone. None: features if not too many meet `tolerance`, else the sum.
        tolerance: The share of the trace ∫ K(x, x) dx over the box that features may miss; s_f² K₂ is always exact.
        posterior: M and s_f², where the anchors are only some of the old rows.
    """

    def __init__(
        self,
        base: Kernel,
        anchors: Numbers,
        alpha: Numbers,
        lam: float,
        by_features: bool | None = None,
        tolerance: float = TOLERANCE,
        posterior: AnchorPosterior | None = None,
    ) -> None:
        super().__init__(base, anchors, alpha, lam, by_features, tolerance, posterior)


@register
class UncertainBelief(KernelBelief):
    """Σ_i E[w_i²|A] φ_iφ_i': weights have the size they have in g; those that A does not determine keep their prior."""

    name = "uncertain"

    def make_kernel_from_alpha(self, fit: AlphaFit) -> Kernel:
        """The `UncertainKernel` kernel of a fit with a coefficient α_j for each old row."""
        return UncertainKernel(fit.kernel, fit.anchors, fit.alpha, fit.lam, posterior=fit.posterior)

    def make_kernel_from_features(self, fit: FeatureFit) -> Kernel:
        """Σ_i E[w_i²|A] φ_iφ_i' for a fit with a weight for each feature; all other features have variance s_f²."""
        squares = fit.weights.square() + fit.signal * (fit.compute_undetermined_shares() - 1)
        return FeatureKernel(
            fit.kernel, fit.feature_map.features.indices, squares * fit.feature_map.weights.square(), fit.signal
        )
