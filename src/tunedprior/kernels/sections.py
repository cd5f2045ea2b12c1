"""Several kernels against fixed points, K_r(·, D), evaluated together with their gradients.

Gradients are analytic for Matérn kernels and for kernels that define their own (`HasSection`), by autograd for all
others.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Protocol, runtime_checkable

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.kernels.stationary import StationarySquaredExponential
from tunedprior.kernels.table1 import SquaredExponential
from tunedprior.numerics.stationary import compute_matern_and_slope, compute_squared_differences


@dataclass(frozen=True, eq=False)
class KernelStack:
    """K_r = (1 + r + r²/3) e⁻ʳ, r² = 5 Σ_d (x_d - x'_d)²/ℓ_rd², for each row of ℓ, then each other kernel's K/size.

    Attributes:
        lengthscales: ℓ, a row for each Matérn-5/2 kernel.
        others: Kernels of any kind.
        sizes: The divisor of each of `others`, its mean variance: all kernels have variance 1 on average.
    """

    lengthscales: Float[Tensor, "r d"]
    others: tuple[Kernel, ...] = ()
    sizes: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.lengthscales) + len(self.others)

    def take(self, which: Int[Tensor, " k"]) -> "KernelStack":
        """The subset `which` (ascending) of the kernels."""
        first = len(self.lengthscales)
        later = [int(row) - first for row in which if row >= first]
        return KernelStack(
            self.lengthscales[which[which < first]],
            tuple(self.others[row] for row in later),
            tuple(self.sizes[row] for row in later),
        )

    def evaluate_matrices(
        self, x1: Float[Tensor, "*b1 n d"], x2: Float[Tensor, "*b2 k d"]
    ) -> Float[Tensor, "r *batch n k"]:
        """K_r(x1, x2) for every kernel r."""
        plain, _ = compute_matern_and_slope(self.lengthscales**-2, compute_squared_differences(x1, x2))
        learnt = [
            kernel.forward(x1, x2, diag=False)[None] / size
            for kernel, size in zip(self.others, self.sizes, strict=True)
        ]
        return torch.cat([plain, *learnt])

    def evaluate_variances(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "r *batch n"]:
        """K_r(x, x) for every kernel r: the diagonals."""
        ones = x.new_ones(len(self.lengthscales), *x.shape[:-1])
        learnt = [
            kernel.forward(x, x, diag=True)[None] / size for kernel, size in zip(self.others, self.sizes, strict=True)
        ]
        return torch.cat([ones, *learnt])


Pullback = Callable[[Float[Tensor, "r b n"], Float[Tensor, "r b"]], Float[Tensor, "b d"]]


@dataclass(frozen=True, eq=False)
class SectionValues:
    """K_r(x, D) and K_r(x, x) of the kernels r at a batch of points x.

    Attributes:
        cross: K_r(x_b, D_n).
        variance: K_r(x_b, x_b).
        pull_back_gradient: The vector-Jacobian product: from gradients by `cross` and by `variance` to that by x.
    """

    cross: Float[Tensor, "r b n"]
    variance: Float[Tensor, "r b"]
    pull_back_gradient: Pullback


@dataclass(frozen=True, eq=False)
class Section(ABC):
    """K_r(·, D) of one or more kernels r against fixed points D; whatever depends on D alone is computed once."""

    points: Float[Tensor, "n d"]

    @abstractmethod
    def evaluate(self, x: Float[Tensor, "b d"]) -> SectionValues:
        """K_r(x, D) and K_r(x, x), with their vector-Jacobian product."""

    def append_points(self, x: Float[Tensor, "m d"]) -> "Section":
        """The section with the points x appended to D."""
        return replace(self, points=torch.cat([self.points, x]))

    def keep_first(self, end: int) -> "Section":
        """The section with the first `end` points of D alone."""
        return replace(self, points=self.points[:end])

    def merge_with(self, other: "Section") -> "Section | None":  # noqa: ARG002  # for overrides
        """One section of both, with the kernels of `other` last, where that is faster; None otherwise."""
        return None


@runtime_checkable
class HasSection(Protocol):
    """A kernel that defines the gradient of its section by hand."""

    def make_section(self, size: float, points: Float[Tensor, "n d"]) -> Section | None:
        """K(·, D)/size for these points D; None where the gradient has to be by autograd after all."""
        ...


@dataclass(frozen=True, eq=False)
class StackSection:
    """K_r(·, D) of all kernels of a `KernelStack`, in its order."""

    parts: tuple[tuple[int, Section], ...]  # the number of kernels in each part, and the part

    @classmethod
    def from_stack(cls, stack: KernelStack, points: Float[Tensor, "n d"]) -> "StackSection":
        """K_r(·, D) for the kernels of the stack and these points D."""
        none = points[:0]
        parts: list[tuple[int, Section]] = [(len(stack.lengthscales), MaternSection(none, stack.lengthscales**-2))]
        for kernel, size in zip(stack.others, stack.sizes, strict=True):
            by_hand = kernel.make_section(size, none) if isinstance(kernel, HasSection) else None
            part = AutogradSection(none, kernel, size) if by_hand is None else by_hand
            count, last = parts[-1]
            joined = last.merge_with(part)
            if joined is None:
                parts.append((1, part))
            else:
                parts[-1] = count + 1, joined
        return cls(tuple(parts)).append_points(points)

    def evaluate(self, x: Float[Tensor, "b d"]) -> SectionValues:
        """K_r(x, D) and K_r(x, x), with their vector-Jacobian product."""
        found = [part.evaluate(x) for _, part in self.parts]
        cross, variance = torch.cat([one.cross for one in found]), torch.cat([one.variance for one in found])
        return SectionValues(cross, variance, partial(self._pull_back_gradient, found))

    def append_points(self, x: Float[Tensor, "m d"]) -> "StackSection":
        """The section with the points x appended to D."""
        return StackSection(tuple((count, part.append_points(x)) for count, part in self.parts))

    def keep_first(self, end: int) -> "StackSection":
        """The section with the first `end` points of D alone."""
        return StackSection(tuple((count, part.keep_first(end)) for count, part in self.parts))

    def _pull_back_gradient(
        self, found: Sequence[SectionValues], d_cross: Float[Tensor, "r b n"], d_variance: Float[Tensor, "r b"]
    ) -> Float[Tensor, "b d"]:
        counts = [count for count, _ in self.parts]
        shares = zip(found, d_cross.split(counts), d_variance.split(counts), strict=True)
        return reduce(torch.add, (one.pull_back_gradient(cross, variance) for one, cross, variance in shares))


@dataclass(frozen=True, eq=False)
class MaternSection(Section):
    """K_r = (1 + r + r²/3) e⁻ʳ, r² = 5 Σ_d ν_rd (x_d - x'_d)², against fixed points D; ν is `precision`."""

    precision: Float[Tensor, "r d"]

    def evaluate(self, x: Float[Tensor, "b d"]) -> SectionValues:
        """K_r(x, D) and K_r(x, x), with their vector-Jacobian product; K_r(x, x) is 1 everywhere."""
        cross, slope = compute_matern_and_slope(self.precision, compute_squared_differences(x, self.points))
        return SectionValues(
            cross,
            x.new_ones(cross.shape[:2]),
            lambda d_cross, _: compute_exponentials_gradient(self.precision, x, self.points, d_cross * slope),
        )


@dataclass(frozen=True, eq=False)
class AutogradSection(Section):
    """K(·, D)/size of any kernel, with gradients by autograd."""

    kernel: Kernel
    size: float

    def evaluate(self, x: Float[Tensor, "b d"]) -> SectionValues:
        """K_r(x, D) and K_r(x, x), with their vector-Jacobian product."""
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            values = [self.kernel.forward(x, self.points, diag=False), self.kernel.forward(x, x, diag=True)]
            values = [value[None] / self.size for value in values]
        cross, variance = (value.detach() for value in values)
        return SectionValues(cross, variance, partial(self._pull_back_gradient, x, values))

    @staticmethod
    def _pull_back_gradient(x: Float[Tensor, "b d"], values: Sequence[Tensor], *slopes: Tensor) -> Float[Tensor, "b d"]:
        # A variance that is the same everywhere, as that of a stationary kernel, has no graph.
        graphs = [(value, slope) for value, slope in zip(values, slopes, strict=True) if value.requires_grad]
        if not graphs:
            return torch.zeros_like(x)
        outputs, by_outputs = zip(*graphs, strict=True)
        return torch.autograd.grad(outputs, x, by_outputs)[0]


def compute_exponentials_gradient(
    precision: Float[Tensor, "r d"],
    x: Float[Tensor, "b d"],
    points: Float[Tensor, "n d"],
    by_log: Float[Tensor, "r b n"],
) -> Float[Tensor, "b d"]:
    """Σ_rn G_rbn ν_rd (p_nd - x_bd): the gradient by x, from the gradient G by -½ Σ_d ν_d (p_d - x_d)²."""
    differences = by_log @ points - by_log.sum(-1, keepdim=True) * x
    return (precision[:, None] * differences).sum(0)


def is_squared_exponential(kernel: Kernel) -> bool:
    """Whether K₂ is squared exponential in all inputs, so that `compute_squared_exponentials` computes it."""
    return isinstance(kernel, SquaredExponential | StationarySquaredExponential) and kernel.active_dims is None
