"""The aligned belief: the objective is ρ·g, with ρ of either sign, plus the posterior uncertainty of g."""

from abc import abstractmethod

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.beliefs.aligned_sections import AnchorSection, FeatureSection
from tunedprior.beliefs.learnt import (
    TOLERANCE,
    FittedAnchors,
    OptionalFeatures,
    describe_too_many_features,
    make_fitted_anchors,
)
from tunedprior.beliefs.registry import KernelBelief, register
from tunedprior.checks import Numbers, check_positive
from tunedprior.errors import InputError
from tunedprior.kernels.anchors import AnchorAccess, Float64Module, check_anchors
from tunedprior.kernels.features.certificate import (
    MOST_FEATURES,
    bound_missing_variance,
    compute_largest_variance,
    draw_product_sample,
    has_features,
    select_largest_features,
)
from tunedprior.kernels.features.enumeration import ROUNDING
from tunedprior.kernels.features.explicit import Features
from tunedprior.kernels.fixed import FixedKernel
from tunedprior.kernels.free_kernel import FreeKernel, Product
from tunedprior.kernels.sections import Section, is_squared_exponential
from tunedprior.machines.fit import AlphaFit, Fit
from tunedprior.machines.streamed import FeatureFit
from tunedprior.numerics.linalg import compute_symmetric_root

_SHARES = (1e-8, 1e-10, 1e-12)  # of the trace of K_A that features may miss, tried in turn
_LEAST_SAID = 0.05  # the least share of the kernel's mean variance that ĝ² makes up


class AlignedKernelBase(FixedKernel):
    """K = ĝ(x)ĝ(x') + s_f² (K₂(x, x') - r(x)ᵀr(x')): ρ·ĝ with ρ ~ N(0, 1), plus the posterior covariance of g.

    r(x)ᵀr(x') is the part of K₂(x, x') that old data A explains.
    """

    @property
    @abstractmethod
    def variance(self) -> Float[Tensor, ""]:
        """s_f², the prior variance of the weights of g."""

    @abstractmethod
    def evaluate_mean_and_known(
        self, product: Product
    ) -> tuple[Float[Tensor, "*batch n"], Float[Tensor, "*batch n r"]]:
        """The posterior mean ĝ(x), and r(x), where r(x)ᵀr(x') is the part of K₂(x, x') that A explains."""

    def evaluate_mean(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n"]:
        """ĝ(x), the posterior mean of g given A."""
        return self.evaluate_mean_and_known(self.make_product(x))[0].to(x.dtype)

    def evaluate_matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        """K(left row, right row) for all pairs of rows."""
        mean, known = self.evaluate_mean_and_known(left)
        mean2, known2 = (mean, known) if right is left else self.evaluate_mean_and_known(right)
        left_open = self.base.evaluate_matrix(left, right) - known @ known2.mT
        return mean[..., :, None] * mean2[..., None, :] + self.variance * left_open

    def evaluate_diagonal(self, left: Product, right: Product) -> Float[Tensor, "*batch n"]:
        """K(left row i, right row i) for every i: the diagonal."""
        mean, known = self.evaluate_mean_and_known(left)
        mean2, known2 = (mean, known) if right is left else self.evaluate_mean_and_known(right)
        both = left.multiply_rows(right)
        left_open = self.base.evaluate_matrix(both, both.make_empty_product()).squeeze(-1) - (known * known2).sum(-1)
        return mean * mean2 + self.variance * left_open


class _Number(Float64Module):
    """A float64 number that moves between devices; a module, because GPyTorch would slice a kernel's own buffer."""

    value: Tensor

    def __init__(self, value: float) -> None:
        super().__init__()
        self.register_buffer("value", torch.tensor(value, dtype=torch.float64))


class AlignedFeatureKernel(AlignedKernelBase):
    """K = ŵᵀφ(x) ŵᵀφ(x') + s_f² (K₂(x, x') - φ(x)ᵀQφ(x')): the aligned belief by features, from any number of rows.

    Q = (ΦᵀΦ + λI)⁻¹ΦᵀΦ. Unlike in the other beliefs, the prior covariance of the weights is not diagonal.

    Args:
        base: The free kernel; its parameters are copied and stay as they are.
        indices: The multi-indices i, `p x d`.
        weights: ŵ, the posterior mean of the weights of φ.
        known: W with WWᵀ = Q, `p x r`, so that r(x) = Wᵀφ(x).
        variance: s_f².
    """

    def __init__(
        self,
        base: FreeKernel,
        indices: Int[Tensor, "p d"],
        weights: Float[Tensor, " p"],
        known: Float[Tensor, "p r"],
        variance: float,
    ) -> None:
        super().__init__(base, indices.shape[1])
        tau = self.base.compute_weights_at(indices).to(weights)
        mixing = torch.cat([weights[:, None], known], dim=1) * tau[:, None]
        self.features = Features(indices, mixing=mixing)
        self._variance = _Number(variance)

    @property
    def num_features(self) -> int:
        """The number of explicit features."""
        return len(self.features)

    def make_section(self, size: float, points: Float[Tensor, "n d"]) -> Section | None:
        """K(·, D)/size for fixed points D, with its gradient by hand; None unless the base is squared exponential."""
        if not is_squared_exponential(self.base):
            return None
        precision = self.base.inverse_square_lengthscale.flatten().expand(self.features.indices.shape[1])
        return FeatureSection.from_features(self.features, precision, self.variance, self.mixing, size).append_points(
            points
        )

    @property
    def mixing(self) -> Float[Tensor, "p q"]:
        """The matrix from ϑ(x) to ĝ(x) and r(x): the columns τ ⊙ ŵ and τ ⊙ W."""
        return self.features.get_buffer("mixing")

    @property
    def variance(self) -> Float[Tensor, ""]:
        """s_f², the prior variance of the weights of g."""
        return self._variance.value

    def evaluate_mean_and_known(
        self, product: Product
    ) -> tuple[Float[Tensor, "*batch n"], Float[Tensor, "*batch n r"]]:
        """The posterior mean ĝ(x), and r(x), where r(x)ᵀr(x') is the part of K₂(x, x') that A explains."""
        both = (self.features.evaluate_all(product.flatten()).mT @ self.mixing).unflatten(0, product.log_envelope.shape)
        return both[..., 0], both[..., 1:]


class AlignedKernel(OptionalFeatures, AnchorAccess, AlignedKernelBase):
    """K = ĝ(x)ĝ(x') + s_f² (K₂(x, x') - k(x)ᵀ M k(x')), with k(x) = K₂(A, x), ĝ = αᵀk and M = (K_A + λI)⁻¹.

    The objective is ρ·ĝ, with ρ ~ N(0, 1) of either sign, plus a draw from the posterior of g around its mean ĝ.

    Args:
        base: The free kernel; its parameters are copied and stay as they are.
        anchors: The old settings a_j, `a x d`.
        alpha: Their coefficients α_j, `a`; for least squares α = M y.
        lam: λ, the regularisation that α was learnt with.
        by_features: Whether k(x) is computed from explicit features, or from all anchors (old settings). None: from
            features, if half as many of them as there are anchors meet the tolerance.
        tolerance: The error of K on average over the box, relative to its mean variance, that features may cause.
    """

    _anchors: FittedAnchors

    def __init__(
        self,
        base: Kernel,
        anchors: Numbers,
        alpha: Numbers,
        lam: float,
        by_features: bool | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        free, points, alpha = check_anchors(base, anchors, alpha)
        super().__init__(free, points.shape[1])
        self._anchors = make_fitted_anchors(self, points, alpha, lam)
        self.explicit: AlignedFeatureKernel | None = None
        if by_features is not False:
            most = MOST_FEATURES if by_features else len(points) // 2
            self.explicit = self._make_feature_kernel(
                most, check_positive(lam, "λ"), check_positive(tolerance, "tolerance")
            )
        if by_features and self.explicit is None:
            raise InputError(describe_too_many_features(free, points.shape[1], tolerance))

    @property
    def variance(self) -> Float[Tensor, ""]:
        """s_f², the prior variance of the weights of g."""
        return self._anchors.variance

    @property
    def inverse_root(self) -> Float[Tensor, "a a"]:
        """R with RᵀR = M = (K_A + λI)⁻¹."""
        return self._anchors.inverse_root

    def make_section(self, size: float, points: Float[Tensor, "n d"]) -> Section | None:
        """K(·, D)/size for fixed points D, with its gradient by hand; None unless the base is squared exponential."""
        if self.explicit is not None:
            return self.explicit.make_section(size, points)
        if not is_squared_exponential(self.base):
            return None
        precision = self.base.inverse_square_lengthscale.flatten().expand(self.anchors.shape[1])
        found = AnchorSection.from_anchors(self.anchors, precision, self.variance, self.alpha, self.inverse_root, size)
        return found.append_points(points)

    def evaluate_mean_and_known(
        self, product: Product
    ) -> tuple[Float[Tensor, "*batch n"], Float[Tensor, "*batch n r"]]:
        """The posterior mean ĝ(x), and r(x), where r(x)ᵀr(x') is the part of K₂(x, x') that A explains."""
        if self.explicit is not None:
            return self.explicit.evaluate_mean_and_known(product)
        cross = self.base.evaluate_matrix(product, self.make_product(self.anchors))
        return cross @ self.alpha, cross @ self.inverse_root.mT

    def _make_feature_kernel(self, most: int, lam: float, tolerance: float) -> AlignedFeatureKernel | None:
        """The kernel with k(x) ≈ Φφ(x); None if that takes more than `most` features.

        With δ the missing part of the trace of K₂, |Δk(x)|² ≤ δ(x) δ(A) and |Δĝ(x)|² ≤ δ(x) |Δŵ|².
        """
        if most < 1 or not has_features(self.base):
            return None
        at_anchors, root = self.make_product(self.anchors), self.inverse_root
        gram = self.base.evaluate_matrix(at_anchors, at_anchors)
        norm = float(self.alpha @ gram @ self.alpha)
        rounding = ROUNDING * float(self.alpha.abs() @ gram.abs() @ self.alpha.abs())
        in_all = draw_product_sample(self.base, at_anchors)
        allowed = tolerance * float(self.evaluate_diagonal(in_all, in_all).mean())
        # |f(x)| ≤ ‖f‖ √K₂(x, x) ≤ ‖f‖ · height for every f of the RKHS, anywhere in the box.
        height = compute_largest_variance(self.base, at_anchors) ** 0.5
        for share in _SHARES:
            indices, missing = select_largest_features(self.base, at_anchors, most, share)
            if missing > share:
                return None
            features = Features(indices)
            phi = self.base.compute_weights_at(features.indices).to(root)[:, None] * features.evaluate_all(at_anchors)
            # Features that vanish at all anchors do not contribute: with all others, nothing is missing.
            complete = missing <= ROUNDING
            weights = phi @ self.alpha
            in_box = ROUNDING * height**2 if complete else bound_missing_variance(self.base, indices, at_anchors)
            off_mean = (in_box * (max(norm - float(weights @ weights), 0.0) + rounding)) ** 0.5
            off_known = (in_box * missing * float(gram.trace()) / lam) ** 0.5
            error = off_mean * (2 * height * norm**0.5 + off_mean)
            error += float(self.variance) * off_known * (2 * height + off_known)
            if error <= allowed:
                known = phi @ root.mT
                if known.shape[0] < known.shape[1]:
                    known = compute_symmetric_root(known @ known.mT)
                return AlignedFeatureKernel(self.base, features.indices, weights, known, float(self.variance))
        return None


@register
class AlignedBelief(KernelBelief):
    """ρ·g plus its posterior uncertainty: the values of g carry over, up to a factor of either sign."""

    name = "aligned"
    in_default_average = True

    def compute_slope_variance(self, size: float) -> float:
        """The prior variance of ρ: 1, and so 1/size once the kernel is divided by `size`."""
        return 1 / size

    def is_informative(self, fit: Fit, sample: Float[Tensor, "n d"], size: float) -> bool:
        """Whether ĝ² has a share in the kernel's mean variance `size`; without it the process is a plain one."""
        return float(fit(sample).square().mean()) > _LEAST_SAID * size

    def make_kernel_from_alpha(self, fit: AlphaFit) -> Kernel:
        """The `AlignedKernel` kernel of a fit with a coefficient α_j for each old row."""
        return AlignedKernel(fit.kernel, fit.anchors, fit.alpha, fit.lam)

    def make_kernel_from_features(self, fit: FeatureFit) -> Kernel:
        """The `AlignedFeatureKernel` kernel of a fit with a weight for each feature."""
        known = compute_symmetric_root(fit.compute_determined_matrix())
        return AlignedFeatureKernel(fit.kernel, fit.feature_map.features.indices, fit.weights, known, fit.signal)
