"""Sections K(·, D), kernels against fixed points D, of the aligned belief, with gradients by hand.

The base is a squared exponential kernel; the anchors A are old settings.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.kernels.features.explicit import Features
from tunedprior.kernels.free_kernel import Product
from tunedprior.kernels.sections import Section, SectionValues, compute_exponentials_gradient
from tunedprior.numerics.squared_exponentials import compute_squared_differences, compute_squared_exponentials


@dataclass(frozen=True, eq=False)
class AnchorSection(Section):
    """K = s² K₂(x, x') + f(x)ᵀ S f(x') with f = (ĝ, s R k) and S = diag(1, -1, …, -1), over its size.

    This is `AlignedKernel`, with k(x) = K₂(A, x), ĝ = αᵀk and RᵀR = M. Several kernels r with the same anchors share
    one
    section.
    """

    anchors: Float[Tensor, "a d"]
    precision: Float[Tensor, "r d"]
    variance: Float[Tensor, " r"]  # s²
    mixing: Float[Tensor, "r a a+1"]  # f = mixingᵀ k
    signs: Float[Tensor, " a+1"]
    points: Float[Tensor, "n d"]
    signed: Float[Tensor, "r n a+1"]  # S f(D)

    @classmethod
    def from_anchors(
        cls,
        anchors: Float[Tensor, "a d"],
        precision: Float[Tensor, " d"],
        variance: Float[Tensor, ""],
        alpha: Float[Tensor, " a"],
        inverse_root: Float[Tensor, "a a"],
        size: float,
    ) -> "AnchorSection":
        """The section of one kernel with D empty; s_f² is `variance`, R with RᵀR = M is `inverse_root`."""
        variance = variance / size
        mixing = torch.cat([(alpha / sqrt(size))[:, None], inverse_root.mT * variance.sqrt()], dim=-1)
        signs = -torch.ones_like(mixing[0])
        signs[0] = 1.0
        signed = mixing.new_zeros(1, 0, len(signs))
        return cls(anchors, precision[None], variance[None], mixing[None], signs, anchors[:0], signed)

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
    points: Float[Tensor, "n d"]
    signed: Float[Tensor, "n q"]  # S f(D)

    @classmethod
    def from_features(
        cls,
        features: Features,
        precision: Float[Tensor, " d"],
        variance: Float[Tensor, ""],
        mixing: Float[Tensor, "p q"],
        size: float,
    ) -> "FeatureSection":
        """The section of one kernel with D empty; `mixing` maps ϑ(x) to ĝ(x) and r(x), s_f² is `variance`."""
        signs = -torch.ones_like(mixing[0])
        signs[0] = 1.0
        mixing = mixing / sqrt(size) * torch.where(signs > 0, 1.0, variance.sqrt())
        none = mixing.new_zeros(0, len(precision))
        return cls(features, precision[None], variance / size, mixing, signs, none, mixing.new_zeros(0, len(signs)))

    def evaluate(self, x: Float[Tensor, "b d"]) -> SectionValues:
        """K_r(x, D) and K_r(x, x), with their vector-Jacobian product."""
        monomials, slopes = self.features.compute_monomials_and_slopes(x)
        envelope, base = (
            self._evaluate_envelope(x),
            compute_squared_exponentials(self.precision, compute_squared_differences(x, self.points)),
        )
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
