"""Several kernels evaluated together, for mixtures of Gaussian processes."""

from dataclasses import dataclass, replace

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.numerics.matern import compute_matern_covariances
from tunedprior.numerics.squared_exponentials import compute_squared_differences


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

    def replace_lengthscales(self, rows: Int[Tensor, " k"], lengthscales: Float[Tensor, "k d"]) -> "KernelStack":
        """The stack with the length-scales of these Matérn kernels replaced."""
        return replace(self, lengthscales=self.lengthscales.index_put((rows,), lengthscales))

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
        plain = compute_matern_covariances(self.lengthscales**-2, compute_squared_differences(x1, x2))
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
