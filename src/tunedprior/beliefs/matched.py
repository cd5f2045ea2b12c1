"""The matched belief: each weight of the objective has the size that it has in g, and an unknown sign."""

from gpytorch.kernels import Kernel

from tunedprior.beliefs.feature_variances import TOLERANCE, WeightVarianceKernel
from tunedprior.beliefs.registry import KernelBelief, register
from tunedprior.checks import Numbers
from tunedprior.kernels.explicit_features import FeatureKernel
from tunedprior.machines import AlphaFit, FeatureFit


class MatchedKernel(WeightVarianceKernel):
    """K = Σ_i ŵ_i² φ_i(x)φ_i(x') = Σ_jk α_jα_k L₄(a_j, a_k, x, x'): prior variance ŵ_i² for weight i.

    Args:
        base: The free kernel; its parameters are copied and stay as they are.
        anchors: The old settings a_j, `a x d`.
        alpha: Their coefficients α_j, `a`.
        by_features: Whether to use explicit features, whose cost does not depend on |A|, or the exact sum over pairs
            of anchors, for SquaredExponential alone. None: features if not too many meet `tolerance`, else the sum.
        tolerance: The share of the trace ∫ K(x, x) dx over the box that features may miss.
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


@register
class MatchedBelief(KernelBelief):
    """Σ_i ŵ_i² φ_iφ_i': each weight has the size that it has in g; signs are unknown."""

    name = "matched"

    def make_kernel_from_alpha(self, fit: AlphaFit) -> Kernel:
        """The `MatchedKernel` kernel of a fit with a coefficient α_j for each old row."""
        return MatchedKernel(fit.kernel, fit.anchors, fit.alpha)

    def make_kernel_from_features(self, fit: FeatureFit) -> Kernel:
        """Σ_i ŵ_i² φ_iφ_i' in explicit features, for a fit with a weight ŵ_i for each."""
        return FeatureKernel(
            fit.kernel, fit.feature_map.features.indices, fit.weights.square() * fit.feature_map.weights.square()
        )
