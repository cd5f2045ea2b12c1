"""The aligned belief: the objective is ρ·g, with ρ of either sign, plus the posterior uncertainty of g."""

from abc import abstractmethod

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.beliefs.aligned_sections import AnchorSection, FeatureSection
from tunedprior.beliefs.learnt import TOLERANCE, Learnt, MaybeByFeatures, learnt_from, too_many_features
from tunedprior.beliefs.registry import KernelBelief, register
from tunedprior.checks import Numbers, positive
from tunedprior.errors import InputError
from tunedprior.kernels.anchors import OnAnchors, StaysFloat64, checked_anchors
from tunedprior.kernels.features.certificate import (
    MOST_FEATURES,
    has_features,
    largest_features,
    largest_variance,
    missing_in_box,
    sample_of_reach,
)
from tunedprior.kernels.features.enumeration import ROUNDING
from tunedprior.kernels.features.explicit import Features
from tunedprior.kernels.fixed import FixedKernel
from tunedprior.kernels.free_kernel import FreeKernel, Product
from tunedprior.kernels.sections import Section, is_plain
from tunedprior.machines.fit import AlphaFit, Fit
from tunedprior.machines.streamed import FeatureFit
from tunedprior.numerics.linalg import symmetric_root

_SHARES = (1e-8, 1e-10, 1e-12)  # of the trace of K_A that features may miss, tried in turn
_LEAST_SAID = 0.05  # the least share of the kernel's mean variance that ĝ² makes up


class RhoTimesG(FixedKernel):
    """K = ĝ(x)ĝ(x') + s_f² (K₂(x, x') - r(x)ᵀr(x')): ρ·ĝ with ρ ~ N(0, 1), plus the posterior covariance of g.

    r(x)ᵀr(x') is the part of K₂(x, x') that old data A explains.
    """

    @property
    @abstractmethod
    def variance(self) -> Float[Tensor, ""]:
        """s_f², the prior variance of the weights of g."""

    @abstractmethod
    def mean_and_known(self, product: Product) -> tuple[Float[Tensor, "*batch n"], Float[Tensor, "*batch n r"]]:
        """The posterior mean ĝ(x), and r(x), where r(x)ᵀr(x') is the part of K₂(x, x') that A explains."""

    def mean(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n"]:
        """ĝ(x), the posterior mean of g given A."""
        return self.mean_and_known(self.product(x))[0].to(x.dtype)

    def matrix_of(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        """K(left row, right row) for all pairs of rows."""
        mean, known = self.mean_and_known(left)
        mean2, known2 = (mean, known) if right is left else self.mean_and_known(right)
        left_open = self.base.cross(left, right) - known @ known2.mT
        return mean[..., :, None] * mean2[..., None, :] + self.variance * left_open

    def diagonal_of(self, left: Product, right: Product) -> Float[Tensor, "*batch n"]:
        """K(left row i, right row i) for every i: the diagonal."""
        mean, known = self.mean_and_known(left)
        mean2, known2 = (mean, known) if right is left else self.mean_and_known(right)
        both = left.rowwise(right)
        left_open = self.base.cross(both, both.empty_product()).squeeze(-1) - (known * known2).sum(-1)
        return mean * mean2 + self.variance * left_open


class _Number(StaysFloat64):
    """A float64 number that moves between devices; a module, because GPyTorch would slice a kernel's own buffer."""

    value: Tensor

    def __init__(self, value: float) -> None:
        super().__init__()
        self.register_buffer("value", torch.tensor(value, dtype=torch.float64))


class AlignedFeatures(RhoTimesG):
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
        tau = self.base.weights_at(indices).to(weights)
        mixing = torch.cat([weights[:, None], known], dim=1) * tau[:, None]
        self.features = Features(indices, mixing=mixing)
        self._variance = _Number(variance)

    @property
    def num_features(self) -> int:
        """The number of explicit features."""
        return len(self.features)

    def section(self, size: float, points: Float[Tensor, "n d"]) -> Section | None:
        """K(·, D)/size for fixed points D, with its gradient by hand; None unless the base is squared exponential."""
        if not is_plain(self.base):
            return None
        precision = self.base.inverse_square_lengthscale.flatten().expand(self.features.indices.shape[1])
        return FeatureSection.of(self.features, precision, self.variance, self.mixing, size).with_more(points)

    @property
    def mixing(self) -> Float[Tensor, "p q"]:
        """The matrix from ϑ(x) to ĝ(x) and r(x): the columns τ ⊙ ŵ and τ ⊙ W."""
        return self.features.get_buffer("mixing")

    @property
    def variance(self) -> Float[Tensor, ""]:
        """s_f², the prior variance of the weights of g."""
        return self._variance.value

    def mean_and_known(self, product: Product) -> tuple[Float[Tensor, "*batch n"], Float[Tensor, "*batch n r"]]:
        """The posterior mean ĝ(x), and r(x), where r(x)ᵀr(x') is the part of K₂(x, x') that A explains."""
        both = (self.features.all(product.flatten()).mT @ self.mixing).unflatten(0, product.log_envelope.shape)
        return both[..., 0], both[..., 1:]


class Aligned(MaybeByFeatures, OnAnchors, RhoTimesG):
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

    _anchors: Learnt

    def __init__(
        self,
        base: Kernel,
        anchors: Numbers,
        alpha: Numbers,
        lam: float,
        by_features: bool | None = None,
        tolerance: float = TOLERANCE,
    ) -> None:
        free, points, alpha = checked_anchors(base, anchors, alpha)
        super().__init__(free, points.shape[1])
        self._anchors = learnt_from(self, points, alpha, lam)
        self.explicit: AlignedFeatures | None = None
        if by_features is not False:
            most = MOST_FEATURES if by_features else len(points) // 2
            self.explicit = self._by_features(most, positive(lam, "λ"), positive(tolerance, "tolerance"))
        if by_features and self.explicit is None:
            raise InputError(too_many_features(free, points.shape[1], tolerance))

    @property
    def variance(self) -> Float[Tensor, ""]:
        """s_f², the prior variance of the weights of g."""
        return self._anchors.variance

    @property
    def inverse_root(self) -> Float[Tensor, "a a"]:
        """R with RᵀR = M = (K_A + λI)⁻¹."""
        return self._anchors.inverse_root

    def section(self, size: float, points: Float[Tensor, "n d"]) -> Section | None:
        """K(·, D)/size for fixed points D, with its gradient by hand; None unless the base is squared exponential."""
        if self.explicit is not None:
            return self.explicit.section(size, points)
        if not is_plain(self.base):
            return None
        precision = self.base.inverse_square_lengthscale.flatten().expand(self.anchors.shape[1])
        found = AnchorSection.of(self.anchors, precision, self.variance, self.alpha, self.inverse_root, size)
        return found.with_more(points)

    def mean_and_known(self, product: Product) -> tuple[Float[Tensor, "*batch n"], Float[Tensor, "*batch n r"]]:
        """The posterior mean ĝ(x), and r(x), where r(x)ᵀr(x') is the part of K₂(x, x') that A explains."""
        if self.explicit is not None:
            return self.explicit.mean_and_known(product)
        cross = self.base.cross(product, self.product(self.anchors))
        return cross @ self.alpha, cross @ self.inverse_root.mT

    def _by_features(self, most: int, lam: float, tolerance: float) -> AlignedFeatures | None:
        """The kernel with k(x) ≈ Φφ(x); None if that takes more than `most` features.

        With δ the missing part of the trace of K₂, |Δk(x)|² ≤ δ(x) δ(A) and |Δĝ(x)|² ≤ δ(x) |Δŵ|².
        """
        if most < 1 or not has_features(self.base):
            return None
        at_anchors, root = self.product(self.anchors), self.inverse_root
        gram = self.base.cross(at_anchors, at_anchors)
        norm = float(self.alpha @ gram @ self.alpha)
        rounding = ROUNDING * float(self.alpha.abs() @ gram.abs() @ self.alpha.abs())
        in_all = sample_of_reach(self.base, at_anchors)
        allowed = tolerance * float(self.diagonal_of(in_all, in_all).mean())
        # |f(x)| ≤ ‖f‖ √K₂(x, x) ≤ ‖f‖ · height for every f of the RKHS, anywhere in the box.
        height = largest_variance(self.base, at_anchors) ** 0.5
        for share in _SHARES:
            indices, missing = largest_features(self.base, at_anchors, most, share)
            if missing > share:
                return None
            features = Features(indices)
            phi = self.base.weights_at(features.indices).to(root)[:, None] * features.all(at_anchors)
            # Features that vanish at all anchors do not contribute: with all others, nothing is missing.
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


@register
class AlignedBelief(KernelBelief):
    """ρ·g plus its posterior uncertainty: the values of g carry over, up to a factor of either sign."""

    name = "aligned"
    averaged = True

    def slope(self, size: float) -> float:
        """The prior variance of ρ: 1, and so 1/size once the kernel is divided by `size`."""
        return 1 / size

    def counts(self, fit: Fit, sample: Float[Tensor, "n d"], size: float) -> bool:
        """Whether ĝ² has a share in the kernel's mean variance `size`; without it the process is a plain one."""
        return float(fit(sample).square().mean()) > _LEAST_SAID * size

    def by_alpha(self, fit: AlphaFit) -> Kernel:
        """The `Aligned` kernel of a fit with a coefficient α_j for each old row."""
        return Aligned(fit.kernel, fit.anchors, fit.alpha, fit.lam)

    def by_features(self, fit: FeatureFit) -> Kernel:
        """The `AlignedFeatures` kernel of a fit with a weight for each feature."""
        known = symmetric_root(fit.determined())
        return AlignedFeatures(fit.kernel, fit.map.features.indices, fit.weights, known, fit.signal)
