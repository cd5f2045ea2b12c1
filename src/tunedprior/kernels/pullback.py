"""K(·, D), kernels against fixed points, and how derivatives by their values become derivatives by the other points.

Rules by hand for squared exponential kernels and for `Aligned` on top of them, PyTorch's own for all others.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from math import sqrt

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.kernels.beliefs import Aligned
from tunedprior.kernels.features import AlignedFeatures, Features
from tunedprior.kernels.free_kernel import Product
from tunedprior.kernels.stack import KernelStack
from tunedprior.kernels.table1 import SquaredExponential

Pullback = Callable[[Float[Tensor, "r b n"], Float[Tensor, "r b"]], Float[Tensor, "b d"]]


@dataclass(frozen=True, eq=False)
class Values:
    """K_r(x, D) and K_r(x, x) at points x.

    Attributes:
        cross: K_r(x_b, D_n).
        variance: K_r(x_b, x_b).
        pulled_back: From derivatives by `cross` and by `variance` to the derivatives by x.
    """

    cross: Float[Tensor, "r b n"]
    variance: Float[Tensor, "r b"]
    pulled_back: Pullback


class Section(ABC):
    """K_r(·, D), of some kernels and fixed points D; what concerns D alone is computed once."""

    @abstractmethod
    def at(self, x: Float[Tensor, "b d"]) -> Values:
        """All that involves x."""

    @abstractmethod
    def with_more(self, x: Float[Tensor, "m d"]) -> "Section":
        """With more points in D, at its end."""

    @abstractmethod
    def up_to(self, end: int) -> "Section":
        """With the first points of D alone."""


@dataclass(frozen=True, eq=False)
class StackSection(Section):
    """All kernels of a stack, in its order."""

    parts: tuple[tuple[int, Section], ...]  # how many kernels each part has

    @classmethod
    def of(cls, stack: KernelStack, points: Float[Tensor, "n d"]) -> "StackSection":
        """K_r(·, D) for these points D."""
        sized = list(zip(stack.others, stack.sizes, strict=True))
        parts: list[tuple[int, Section]] = [
            (len(stack.lengthscales), _SquaredExponentialSection(stack.lengthscales**-2, points))
        ]
        while sized:
            alike = _leading_alike(sized)
            if alike:
                parts.append((len(alike), _AlignedSection.of(alike, points)))
            elif (features := _features_of(sized[0][0])) is not None:
                parts.append((1, _FeatureSection.of(features, sized[0][1], points)))
            else:
                parts.append((1, _SectionByAutograd(*sized[0], points)))
            sized = sized[max(1, len(alike)) :]
        return cls(tuple(parts))

    def at(self, x: Float[Tensor, "b d"]) -> Values:
        """All that involves x."""
        found = [part.at(x) for _, part in self.parts]
        cross, variance = torch.cat([one.cross for one in found]), torch.cat([one.variance for one in found])
        return Values(cross, variance, partial(self._pulled_back, found))

    def with_more(self, x: Float[Tensor, "m d"]) -> "StackSection":
        """With more points in D, at its end."""
        return StackSection(tuple((count, part.with_more(x)) for count, part in self.parts))

    def up_to(self, end: int) -> "StackSection":
        """With the first points of D alone."""
        return StackSection(tuple((count, part.up_to(end)) for count, part in self.parts))

    def _pulled_back(
        self, found: Sequence[Values], d_cross: Float[Tensor, "r b n"], d_variance: Float[Tensor, "r b"]
    ) -> Float[Tensor, "b d"]:
        counts = [count for count, _ in self.parts]
        shares = zip(found, d_cross.split(counts), d_variance.split(counts), strict=True)
        return reduce(torch.add, (one.pulled_back(cross, variance) for one, cross, variance in shares))


@dataclass(frozen=True, eq=False)
class _SquaredExponentialSection(Section):
    """K_r(x, x') = exp(-½ Σ_d ν_rd (x_d - x'_d)²)."""

    precision: Float[Tensor, "r d"]
    points: Float[Tensor, "n d"]

    def at(self, x: Float[Tensor, "b d"]) -> Values:
        cross = _exponentials(self.precision, x, self.points)
        return Values(cross, x.new_ones(cross.shape[:2]), partial(self._pulled_back, x, cross))

    def with_more(self, x: Float[Tensor, "m d"]) -> "_SquaredExponentialSection":
        return replace(self, points=torch.cat([self.points, x]))

    def up_to(self, end: int) -> "_SquaredExponentialSection":
        return replace(self, points=self.points[:end])

    def _pulled_back(
        self, x: Float[Tensor, "b d"], cross: Float[Tensor, "r b n"], d_cross: Float[Tensor, "r b n"], _: Tensor
    ) -> Float[Tensor, "b d"]:
        return _slope(self.precision, x, self.points, d_cross * cross)


@dataclass(frozen=True, eq=False)
class _AlignedSection(Section):
    """K = s² K₂(x, x') + f(x)ᵀ S f(x') with f = (ĝ, s R k) and S = diag(1, -1, …, -1), over its size.

    Several at once that share anchors; see `Aligned`, of which this is the definition with ĝ = αᵀk.
    """

    anchors: Float[Tensor, "a d"]
    precision: Float[Tensor, "r d"]
    variance: Float[Tensor, " r"]  # s²
    mixing: Float[Tensor, "r a a+1"]  # f = mixingᵀ k
    signs: Float[Tensor, " a+1"]
    points: Float[Tensor, "n d"]
    signed: Float[Tensor, "r n a+1"]  # S f(D)

    @classmethod
    def of(cls, sized: Sequence[tuple[Aligned, float]], points: Float[Tensor, "n d"]) -> "_AlignedSection":
        anchors = sized[0][0].anchors
        precision = torch.stack(
            [kernel.base.inverse_square_lengthscale.flatten().expand(anchors.shape[1]) for kernel, _ in sized]
        )
        size = torch.tensor([size for _, size in sized], dtype=anchors.dtype)
        variance = torch.stack([kernel._anchors.variance for kernel, _ in sized]) / size
        alpha = torch.stack([kernel.alpha for kernel, _ in sized]) / size.sqrt()[:, None]
        root = torch.stack([kernel._anchors.inverse_root for kernel, _ in sized]) * variance.sqrt()[:, None, None]
        mixing = torch.cat([alpha[:, :, None], root.mT], dim=-1)
        signs = -torch.ones_like(mixing[0, 0])
        signs[0] = 1.0
        signed = mixing.new_zeros(len(sized), 0, len(signs))
        return cls(anchors, precision, variance, mixing, signs, points[:0], signed).with_more(points)

    def at(self, x: Float[Tensor, "b d"]) -> Values:
        exponentials = _exponentials(self.precision, x, self._places)
        near, base = exponentials.split([len(self.anchors), len(self.points)], dim=-1)
        features = near @ self.mixing
        cross = self.variance[:, None, None] * base + features @ self.signed.mT
        variance = self.variance[:, None] + features.square() @ self.signs
        return Values(cross, variance, partial(self._pulled_back, x, exponentials, features))

    def with_more(self, x: Float[Tensor, "m d"]) -> "_AlignedSection":
        signed = self.signs * (_exponentials(self.precision, x, self.anchors) @ self.mixing)
        return replace(self, points=torch.cat([self.points, x]), signed=torch.cat([self.signed, signed], dim=1))

    def up_to(self, end: int) -> "_AlignedSection":
        return replace(self, points=self.points[:end], signed=self.signed[:, :end].contiguous())

    def _pulled_back(
        self,
        x: Float[Tensor, "b d"],
        exponentials: Float[Tensor, "r b _"],
        features: Float[Tensor, "r b p"],
        d_cross: Float[Tensor, "r b n"],
        d_variance: Float[Tensor, "r b"],
    ) -> Float[Tensor, "b d"]:
        d_features = d_cross @ self.signed + (2 * d_variance)[..., None] * (self.signs * features)
        d_exponentials = torch.cat([d_features @ self.mixing.mT, self.variance[:, None, None] * d_cross], dim=-1)
        return _slope(self.precision, x, self._places, d_exponentials * exponentials)

    @cached_property
    def _places(self) -> Float[Tensor, "_ d"]:
        """A and D, once for all x."""
        return torch.cat([self.anchors, self.points])


@dataclass(frozen=True, eq=False)
class _FeatureSection(Section):
    """K = s² K₂(x, x') + f(x)ᵀ S f(x') over its size, as above, with f = mixingᵀ ϑ(x) by explicit features."""

    features: Features
    precision: Float[Tensor, "1 d"]
    variance: Float[Tensor, ""]  # s²
    mixing: Float[Tensor, "p q"]
    signs: Float[Tensor, " q"]
    points: Float[Tensor, "n d"]
    signed: Float[Tensor, "n q"]  # S f(D)

    @classmethod
    def of(cls, kernel: AlignedFeatures, size: float, points: Float[Tensor, "n d"]) -> "_FeatureSection":
        variance, signs = kernel.variance / size, -torch.ones_like(kernel.mixing[0])
        signs[0] = 1.0
        mixing = kernel.mixing / sqrt(size) * torch.where(signs > 0, 1.0, kernel.variance.sqrt())
        precision = kernel.base.inverse_square_lengthscale.expand(1, points.shape[1])
        nothing = cls(kernel.features, precision, variance, mixing, signs, points[:0], mixing.new_zeros(0, len(signs)))
        return nothing.with_more(points)

    def at(self, x: Float[Tensor, "b d"]) -> Values:
        monomials, slopes = self.features.monomials_and_slopes(x)
        envelope, base = self._envelope(x), _exponentials(self.precision, x, self.points)
        f = envelope[:, None] * (monomials.mT @ self.mixing)
        cross = self.variance * base + f @ self.signed.mT
        variance = self.variance + f.square() @ self.signs
        pulled_back = partial(self._pulled_back, x, f, envelope, slopes, base)
        return Values(cross, variance[None], pulled_back)

    def with_more(self, x: Float[Tensor, "m d"]) -> "_FeatureSection":
        f = self._envelope(x)[:, None] * (self.features.all(Product(x, torch.zeros_like(x[:, 0]))).mT @ self.mixing)
        return replace(self, points=torch.cat([self.points, x]), signed=torch.cat([self.signed, self.signs * f]))

    def up_to(self, end: int) -> "_FeatureSection":
        return replace(self, points=self.points[:end], signed=self.signed[:end])

    def _envelope(self, x: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return ((x.square() @ self.precision[0]) / -2).exp()

    def _pulled_back(
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
        through_base = _slope(self.precision, x, self.points, self.variance * d_cross * base)
        return through_monomials + through_envelope + through_base


@dataclass(frozen=True, eq=False)
class _SectionByAutograd(Section):
    """Any kernel over its size."""

    kernel: Kernel
    size: float
    points: Float[Tensor, "n d"]

    def at(self, x: Float[Tensor, "b d"]) -> Values:
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            values = [self.kernel.forward(x, self.points, diag=False), self.kernel.forward(x, x, diag=True)]
            values = [value[None] / self.size for value in values]
        cross, variance = (value.detach() for value in values)
        return Values(cross, variance, lambda *slopes: torch.autograd.grad(values, x, slopes)[0])

    def with_more(self, x: Float[Tensor, "m d"]) -> "_SectionByAutograd":
        return replace(self, points=torch.cat([self.points, x]))

    def up_to(self, end: int) -> "_SectionByAutograd":
        return replace(self, points=self.points[:end])


def _exponentials(
    precision: Float[Tensor, "r d"], x: Float[Tensor, "b d"], points: Float[Tensor, "n d"]
) -> Float[Tensor, "r b n"]:
    """exp(-½ Σ_d ν_rd (x_bd - p_nd)²)."""
    squares = (x.T[:, :, None] - points.T[:, None, :]).square_().flatten(1)
    return ((-precision / 2) @ squares).exp_().view(len(precision), len(x), len(points))


def _slope(
    precision: Float[Tensor, "r d"],
    x: Float[Tensor, "b d"],
    points: Float[Tensor, "n d"],
    by_log: Float[Tensor, "r b n"],
) -> Float[Tensor, "b d"]:
    """Σ_rn by_log_rbn ν_rd (p_nd - x_bd): from derivatives by the logarithms of `_exponentials` to those by x."""
    differences = by_log @ points - by_log.sum(-1, keepdim=True) * x
    return (precision[:, None] * differences).sum(0)


def _is_plain(kernel: Kernel) -> bool:
    """Whether `_exponentials` are this kernel."""
    return type(kernel) is SquaredExponential and kernel.active_dims is None


def _features_of(kernel: Kernel) -> AlignedFeatures | None:
    """The kernel by its features, if it has that form and a rule by hand."""
    if isinstance(kernel, Aligned):
        kernel = kernel.explicit
    return kernel if isinstance(kernel, AlignedFeatures) and _is_plain(kernel.base) else None


def _leading_alike(sized: Sequence[tuple[Kernel, float]]) -> list[tuple[Aligned, float]]:
    """As many kernels from the first on as `_AlignedSection` has a rule for and share anchors."""
    alike: list[tuple[Aligned, float]] = []
    for kernel, size in sized:
        if not isinstance(kernel, Aligned) or kernel.by_features or not _is_plain(kernel.base):
            break
        if alike and not torch.equal(kernel.anchors, alike[0][0].anchors):
            break
        alike.append((kernel, size))
    return alike
