"""Fits of old data: a function g with a coefficient for each row (`AlphaFit`) or for each feature (`FeatureFit`)."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import Numbers, check_table
from tunedprior.kernels import ReweightedKernel, SquaredExponential
from tunedprior.numerics.evidence import compute_profile_log_evidence
from tunedprior.numerics.linalg import solve_posdef

#: The grid on which λ maximises the marginal likelihood, for responses of variance 1.
LAMBDAS = np.geomspace(1e-4, 3.0, 20)


@runtime_checkable
class Fit(Protocol):
    """g, a fit of old data with one kernel and one λ: an `AlphaFit` of few rows, or a `FeatureFit` of any number."""

    @property
    def kernel(self) -> Kernel:
        """The kernel K₂ that g was learnt with."""
        ...

    @property
    def lam(self) -> float:
        """The regularisation λ that g was learnt with."""
        ...

    def __call__(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """g at each row of x."""
        ...


@dataclass(frozen=True, eq=False)
class AlphaFit:
    """g(x) = Σ_j α_j K₂(a_j, x) + b: the dual form, with a coefficient α_j for each old row.

    Attributes:
        kernel: K₂.
        anchors: The old settings a_j, `a x d`.
        alpha: The coefficients α_j, `a`.
        lam: λ, the regularisation that α was learnt with.
        bias: b; 0 for machines without one.
    """

    kernel: Kernel
    anchors: Float[Tensor, "a d"]
    alpha: Float[Tensor, " a"]
    lam: float
    bias: float = 0.0

    @classmethod
    def fit_by_evidence(
        cls, anchors: Float[Tensor, "a d"], y: Float[Tensor, " a"], lengthscale: Float[Tensor, " d"]
    ) -> "AlphaFit":
        """Ridge regression with these length-scales; λ maximises the marginal likelihood (profiled amplitude)."""
        kernel = SquaredExponential(lengthscale.double()).requires_grad_(False)
        gram = kernel(anchors).to_dense()
        values, vectors = torch.linalg.eigh(gram)
        projected = (vectors.mT @ y).square()

        def compute_evidence(lam: float) -> float:
            spectrum = values.clamp_min(0) + lam
            return compute_profile_log_evidence(
                float(spectrum.log().sum()), float((projected / spectrum).sum()), len(y)
            )

        lam = float(max(LAMBDAS, key=compute_evidence))
        alpha = solve_posdef(gram + lam * torch.eye(len(y)).to(y), y[:, None])[:, 0]
        return cls(kernel, anchors, alpha, lam)

    def __call__(self, x: Numbers) -> Float[Tensor, " n"]:
        """g at each row of x."""
        x = check_table(x, "Points", num_inputs=self.anchors.shape[1]).to(self.anchors)
        with torch.no_grad():
            cross: Tensor = self.kernel(x, self.anchors).to_dense()
        return cross.to(self.alpha) @ self.alpha + self.bias

    def make_reweighted_kernel(self) -> ReweightedKernel:
        """K^A_m, the kernel re-weighted with α (the Theorem); the bias plays no part."""
        return ReweightedKernel(deepcopy(self.kernel), self.anchors, self.alpha)


def get_lengthscales(fit: Fit, num_inputs: int) -> Float[Tensor, " d"] | None:
    """The length-scales of the fit's kernel, one for each of `num_inputs` inputs; None if it has none."""
    if not isinstance(fit.kernel, SquaredExponential):
        return None
    lengthscale: Tensor = fit.kernel.lengthscale.detach().flatten().double()
    return lengthscale.expand(num_inputs)
