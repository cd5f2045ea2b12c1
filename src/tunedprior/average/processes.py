"""Many Gaussian processes that share their kernels, evaluated together."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tunedprior.kernels.stack import KernelStack


@dataclass(frozen=True, eq=False)
class Processes:
    """f_s ~ GP(0, a_s (c + Σ_r h_sr K_r)), observed with noise of variance a_s η_s, for every process s.

    Attributes:
        kernels: K_1, …, K_r.
        shares: h, the share of each kernel in each process.
        noise: η, the noise variance relative to the amplitude.
        constant: c, the prior variance of the constant mean, relative to the amplitude.
    """

    kernels: KernelStack
    shares: Float[Tensor, "s r"]
    noise: Float[Tensor, " s"]
    constant: float

    def __len__(self) -> int:
        return len(self.shares)

    def select(self, which: Int[Tensor, " k"] | Bool[Tensor, " s"]) -> "Processes":
        """The subset `which` of the processes, with all kernels."""
        return replace(self, shares=self.shares[which], noise=self.noise[which])

    def take(self, which: Int[Tensor, " k"]) -> "Processes":
        """The subset `which` of the processes, with only the kernels that they have a share in."""
        some = self.select(which)
        used = (some.shares != 0).any(0).nonzero().flatten()
        return replace(some, kernels=self.kernels.take(used), shares=some.shares[:, used])

    def compute_covariance(
        self, x1: Float[Tensor, "*b1 n d"], x2: Float[Tensor, "*b2 k d"]
    ) -> Float[Tensor, "*batch s n k"]:
        """cov(f_s(x1), f_s(x2))/a_s."""
        return self.mix_kernels(self.kernels.evaluate_matrices(x1, x2), dims=2)

    def compute_variance(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch s n"]:
        """var(f_s(x))/a_s."""
        return self.mix_kernels(self.kernels.evaluate_variances(x), dims=1)

    def add_noise(self, covariance: Float[Tensor, "*batch s n n"]) -> Float[Tensor, "*batch s n n"]:
        """cov(y)/a_s, the covariance of noisy observations, from cov(f_s)/a_s."""
        noisy = covariance.clone()
        noisy.diagonal(dim1=-2, dim2=-1).add_(self.noise[:, None])
        return noisy

    def compute_noisy_covariance(
        self, gram: Float[Tensor, "r n n"], relative_noise: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, "s n n"]:
        """cov(y)/a_s, the covariance of noisy observations, from the kernels' Gram matrices at the observed points.

        The noise of an observation may be some multiple of η.
        """
        covariance: Tensor = torch.tensordot(self.shares, gram, dims=1).add_(self.constant)
        noise = self.noise[:, None]
        covariance.diagonal(dim1=-2, dim2=-1).add_(noise if relative_noise is None else noise * relative_noise)
        return covariance

    def mix_kernels(self, parts: Float[Tensor, "..."], dims: int) -> Float[Tensor, "..."]:
        """c + Σ_r h_sr K_r, from the kernels' matrices (`dims` 2) or diagonals (1)."""
        mixed: Tensor = self.constant + torch.tensordot(self.shares, parts, dims=1)
        return mixed.movedim(0, -1 - dims)
