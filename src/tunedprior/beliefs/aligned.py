"""The aligned belief: the objective is ρ·g, with ρ of either sign, plus the posterior uncertainty of g.

The sections K(·, D) have analytic gradients where the base kernel is squared exponential; the anchors A are old
settings.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import sqrt

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.beliefs.feature_variances import (
    TOLERANCE,
    FittedAnchors,
    OptionalFeatures,
    describe_too_many_features,
    make_fitted_anchors,
)
from tunedprior.beliefs.registry import KernelBelief, register
from tunedprior.checks import Numbers, check_positive
from tunedprior.errors import InputError
from tunedprior.kernels.anchors import AnchorAccess, FixedKernel, check_anchors, draw_box_sample
from tunedprior.kernels.explicit_features import (
    MOST_FEATURES,
    OPEN_REACH,
    ROUNDING,
    Features,
    bound_missing_variance,
    compute_largest_variance,
    draw_product_sample,
    has_features,
    make_features,
    select_largest_features,
)
from tunedprior.kernels.free_kernel import Arguments, FreeKernel, Product
from tunedprior.kernels.sections import Section, SectionValues, compute_exponentials_gradient, is_squared_exponential
from tunedprior.machines import AlphaFit, FeatureFit, Fit
from tunedprior.numerics.linalg import compute_symmetric_root
from tunedprior.numerics.stationary import compute_squared_differences, compute_squared_exponentials


@dataclass(frozen=True, eq=False)
class AnchorSection(Section):
    """K = s² K₂(x, x') + f(x)ᵀ S f(x') with f = (ĝ, s R k) and S = diag(1, -1, …, -1), over its size.

    This is `AlignedKernel`, with k(x) = K₂(A, x), ĝ = αᵀk and RᵀR = M. Several kernels r with the same anchors share
    one section.
    """

    anchors: Float[Tensor, "a d"]
    precision: Float[Tensor, "r d"]
    variance: Float[Tensor, " r"]  # s²
    mixing: Float[Tensor, "r a a+1"]  # f = mixingᵀ k
    signs: Float[Tensor, " a+1"]
    signed: Float[Tensor, "r n a+1"]  # S f(D)

    def merge_with(self, other: Section) -> "AnchorSection | None":
        """One section of both if they have the same anchors, and so share a matrix product; None otherwise."""
        if not isinstance(other, AnchorSection) or not torch.equal(self.anchors, other.anchors):
            return None
        together = {
            name: torch.cat([getattr(self, name), getattr(other, name)])
            for name in ("precision", "variance", "mixing", "signed")
        }
        return replace(self, **together)

    def evaluate(self, x: Float[Tensor, "b d"]) -> SectionValues:
        """K_r(x, D) and K_r(x, x), with their vector-Jacobian product."""
        both = compute_squared_exponentials(self.precision, compute_squared_differences(x, self._places))
        near, base = both.split([len(self.anchors), len(self.points)], dim=-1)
        features = near @ self.mixing
        cross = self.variance[:, None, None] * base + features @ self.signed.mT
        variance = self.variance[:, None] + features.square() @ self.signs
        return SectionValues(cross, variance, partial(self._pull_back_gradient, x, both, features))

    def append_points(self, x: Float[Tensor, "m d"]) -> "AnchorSection":
        """The section with the points x appended to D."""
        signed = self.signs * (
            compute_squared_exponentials(self.precision, compute_squared_differences(x, self.anchors)) @ self.mixing
        )
        return replace(self, points=torch.cat([self.points, x]), signed=torch.cat([self.signed, signed], dim=1))

    def keep_first(self, end: int) -> "AnchorSection":
        """The section with the first `end` points of D alone."""
        return replace(self, points=self.points[:end], signed=self.signed[:, :end].contiguous())

    def _pull_back_gradient(
        self,
        x: Float[Tensor, "b d"],
        both: Float[Tensor, "r b _"],
        features: Float[Tensor, "r b p"],
        d_cross: Float[Tensor, "r b n"],
        d_variance: Float[Tensor, "r b"],
    ) -> Float[Tensor, "b d"]:
        d_features = d_cross @ self.signed + (2 * d_variance)[..., None] * (self.signs * features)
        d_exponentials = torch.cat([d_features @ self.mixing.mT, self.variance[:, None, None] * d_cross], dim=-1)
        return compute_exponentials_gradient(self.precision, x, self._places, d_exponentials * both)

    @cached_property
    def _places(self) -> Float[Tensor, "_ d"]:
        """The anchors A, then the points D; concatenated once for all x."""
        return torch.cat([self.anchors, self.points])


@dataclass(frozen=True, eq=False)
class FeatureSection(Section):
    """K = s² K₂(x, x') + f(x)ᵀ S f(x') with f = (ĝ, s r) = mixingᵀ ϑ(x) and S = diag(1, -1, …, -1), over its size.

    This is `AlignedFeatureKernel`.
    """

    features: Features
    precision: Float[Tensor, "1 d"]
    variance: Float[Tensor, ""]  # s²
    mixing: Float[Tensor, "p q"]
    signs: Float[Tensor, " q"]
    signed: Float[Tensor, "n q"]  # S f(D)

    def evaluate(self, x: Float[Tensor, "b d"]) -> SectionValues:
        """K_r(x, D) and K_r(x, x), with their vector-Jacobian product."""
        monomials, slopes = self.features.compute_monomials_and_slopes(x)
        envelope = self._evaluate_envelope(x)
        base = compute_squared_exponentials(self.precision, compute_squared_differences(x, self.points))
        f = envelope[:, None] * (monomials.mT @ self.mixing)
        cross = self.variance * base + f @ self.signed.mT
        variance = self.variance + f.square() @ self.signs
        pulled_back = partial(self._pull_back_gradient, x, f, envelope, slopes, base)
        return SectionValues(cross, variance[None], pulled_back)

    def append_points(self, x: Float[Tensor, "m d"]) -> "FeatureSection":
        """The section with the points x appended to D."""
        f = self._evaluate_envelope(x)[:, None] * (
            self.features.evaluate_all(Product(x, torch.zeros_like(x[:, 0]))).mT @ self.mixing
        )
        return replace(self, points=torch.cat([self.points, x]), signed=torch.cat([self.signed, self.signs * f]))

    def keep_first(self, end: int) -> "FeatureSection":
        """The section with the first `end` points of D alone."""
        return replace(self, points=self.points[:end], signed=self.signed[:end])

    def _evaluate_envelope(self, x: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return ((x.square() @ self.precision[0]) / -2).exp()

    def _pull_back_gradient(
        self,
        x: Float[Tensor, "b d"],
        f: Float[Tensor, "b q"],
        envelope: Float[Tensor, " b"],
        slopes: Float[Tensor, "p d b"],
        base: Float[Tensor, "1 b n"],
        d_cross: Float[Tensor, "1 b n"],
        d_variance: Float[Tensor, "1 b"],
    ) -> Float[Tensor, "b d"]:
        d_f = d_cross[0] @ self.signed + 2 * d_variance[0, :, None] * (self.signs * f)
        d_monomials = self.mixing @ (envelope * d_f.mT)
        through_monomials = (d_monomials[:, None] * slopes).sum(0).mT
        through_envelope = -(d_f * f).sum(-1, keepdim=True) * self.precision * x
        through_base = compute_exponentials_gradient(self.precision, x, self.points, self.variance * d_cross * base)
        return through_monomials + through_envelope + through_base


_SHARES = (1e-8, 1e-10, 1e-12)  # of the trace of K_A that features may miss, tried in turn
_NEGLIGIBLE = 1e-8  # the share of the mean variance that left out directions may make up
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
        self, product: Arguments
    ) -> tuple[Float[Tensor, "*batch n"], Float[Tensor, "*batch n r"]]:
        """The posterior mean ĝ(x), and r(x), where r(x)ᵀr(x') is the part of K₂(x, x') that A explains."""

    def evaluate_mean(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n"]:
        """ĝ(x), the posterior mean of g given A."""
        return self.evaluate_mean_and_known(self.make_product(x))[0].to(x.dtype)

    def evaluate_matrix(self, left: Arguments, right: Arguments) -> Float[Tensor, "*batch n k"]:
        """K(left row, right row) for all pairs of rows."""
        mean, known = self.evaluate_mean_and_known(left)
        mean2, known2 = (mean, known) if right is left else self.evaluate_mean_and_known(right)
        left_open = self.base.evaluate_matrix(left, right) - known @ known2.mT
        return mean[..., :, None] * mean2[..., None, :] + self.variance * left_open

    def evaluate_diagonal(self, left: Arguments, right: Arguments) -> Float[Tensor, "*batch n"]:
        """K(left row i, right row i) for every i: the diagonal."""
        mean, known = self.evaluate_mean_and_known(left)
        mean2, known2 = (mean, known) if right is left else self.evaluate_mean_and_known(right)
        both = left.multiply_rows(right)
        left_open = self.base.evaluate_matrix(both, both.make_empty_product()).squeeze(-1) - (known * known2).sum(-1)
        return mean * mean2 + self.variance * left_open


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
        self.features = make_features(self.base, indices, mixing=mixing)
        # Not the kernel's own buffer, which GPyTorch would slice.
        self.features.register_buffer("variance", torch.tensor(variance, dtype=torch.float64))

    @property
    def num_features(self) -> int:
        """The number of explicit features."""
        return len(self.features)

    def find_contributing_directions(self) -> Int[Tensor, " k"]:
        """The columns of W but those that together add less than a share of K's mean variance over the box.

        K's cost is proportional to their number, and most belong to features that the rows hardly determine.
        """
        reach = OPEN_REACH if self.base.open_domain else 1.0
        sample = self.make_product(draw_box_sample(self.features.indices.shape[1], reach))
        with torch.no_grad():
            known = self.evaluate_mean_and_known(sample)[1]
            allowed = _NEGLIGIBLE * float(self.evaluate_diagonal(sample, sample).mean())
            parts, order = (self.variance * known.square().mean(0)).sort()
        return order[parts.cumsum(0) > allowed].sort().values

    def make_section(self, size: float, points: Float[Tensor, "n d"]) -> Section | None:
        """K(·, D)/size for fixed points D, with its gradient by hand; None unless the base is squared exponential."""
        if not is_squared_exponential(self.base) or self.base.features_are_places:
            return None
        precision = self.base.inverse_square_lengthscale.expand(1, points.shape[1])
        signs = self.mixing.new_tensor([1.0] + [-1.0] * (self.mixing.shape[1] - 1))
        mixing = self.mixing / sqrt(size) * torch.where(signs > 0, 1.0, self.variance.sqrt())
        nowhere = FeatureSection(
            points[:0], self.features, precision, self.variance / size, mixing, signs, mixing.new_zeros(0, len(signs))
        )
        return nowhere.append_points(points)

    @property
    def mixing(self) -> Float[Tensor, "p q"]:
        """The matrix from ϑ(x) to ĝ(x) and r(x): the columns τ ⊙ ŵ and τ ⊙ W."""
        return self.features.get_buffer("mixing")

    @property
    def variance(self) -> Float[Tensor, ""]:
        """s_f², the prior variance of the weights of g."""
        return self.features.get_buffer("variance")

    def evaluate_mean_and_known(
        self, product: Arguments
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
        old, precision = self._anchors, self.base.inverse_square_lengthscale.expand(1, points.shape[1])
        variance = old.variance / size
        mixing = torch.cat([(old.alpha / sqrt(size))[:, None], old.inverse_root.mT * variance.sqrt()], dim=-1)
        signs = mixing.new_tensor([1.0] + [-1.0] * len(old.inverse_root))
        nowhere = AnchorSection(
            points[:0], old.points, precision, variance[None], mixing[None], signs, mixing.new_zeros(1, 0, len(signs))
        )
        return nowhere.append_points(points)

    def evaluate_mean_and_known(
        self, product: Arguments
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
        if most < 1 or not has_features(self.base) or self.base.features_are_places:
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
        """Whether ĝ² has a share in the kernel's mean variance `size`; without it the process uses no old data."""
        return float(fit(sample).square().mean()) > _LEAST_SAID * size

    def make_kernel_from_alpha(self, fit: AlphaFit) -> Kernel:
        """The `AlignedKernel` kernel of a fit with a coefficient α_j for each old row."""
        return AlignedKernel(fit.kernel, fit.anchors, fit.alpha, fit.lam)

    def make_kernel_from_features(self, fit: FeatureFit) -> Kernel:
        """The `AlignedFeatureKernel` kernel of a fit with a weight for each feature."""
        known = compute_symmetric_root(fit.compute_determined_matrix())
        indices = fit.feature_map.features.indices
        kept = AlignedFeatureKernel(fit.kernel, indices, fit.weights, known, fit.signal).find_contributing_directions()
        return AlignedFeatureKernel(fit.kernel, indices, fit.weights, known[:, kept], fit.signal)
