"""What kernels made from old data A share: anchors (old settings), tensors derived from them, explicit features.

Throughout, w are the weights of the features φ = τ ⊙ ϑ, ŵ = Σ_j α_j φ(a_j) is their posterior mean given A,
s_f² = αᵀ(K_A + λI)α/|A| their prior variance, M = (K_A + λI)⁻¹, and
L₄(a, a', x, x') = Σ_i τ_i⁴ ϑ_i(a)ϑ_i(a')ϑ_i(x)ϑ_i(x').
"""

from typing import Any

import torch
from torch import Tensor

from tunedprior.checks import check_positive
from tunedprior.kernels.anchors import Anchors
from tunedprior.kernels.features.certificate import MOST_FEATURES
from tunedprior.kernels.fixed import FixedKernel
from tunedprior.kernels.free_kernel import FreeKernel
from tunedprior.numerics.linalg import cholesky

#: The share of the mean variance over the box that the features left out may make up.
TOLERANCE = 1e-6


class FittedAnchors(Anchors):
    """Anchors and α, with s_f² (`variance`) and R (`inverse_root`), where RᵀR = M."""

    variance: Tensor
    inverse_root: Tensor


def make_fitted_anchors(kernel: FixedKernel, points: Tensor, alpha: Tensor, lam: float | None) -> FittedAnchors:
    """The anchors and α, with s_f² and R derived from λ; without λ s_f² = 0 and R has no rows."""
    points, alpha = points.double(), alpha.double()
    variance, inverse_root = points.new_zeros(()), points.new_zeros(0, len(points))
    if lam is not None:
        at_anchors = kernel.make_product(points)
        identity = torch.eye(len(points)).to(points)
        ridge = kernel.base.evaluate_matrix(at_anchors, at_anchors) + check_positive(lam, "λ") * identity
        variance = alpha @ ridge @ alpha / len(points)
        inverse_root = torch.linalg.solve_triangular(cholesky(ridge), identity, upper=False)  # M = RᵀR
    return FittedAnchors(points, alpha, variance=variance, inverse_root=inverse_root)


def describe_too_many_features(base: FreeKernel, num_inputs: int, tolerance: float) -> str:
    """The error message where explicit features were requested and do not meet the tolerance."""
    return (
        f"The explicit features should number {MOST_FEATURES:,} at most; {type(base).__name__} on {num_inputs} inputs "
        f"cannot be shown to meet a tolerance of {tolerance:g} with them. Raise it, use a longer length-scale or fewer "
        "inputs, or leave by_features out."
    )


class OptionalFeatures:
    """Mixin: whether a kernel is computed from explicit features, or from all anchors."""

    #: The kernel by explicit features; None where it is computed from all anchors.
    explicit: Any

    @property
    def by_features(self) -> bool:
        """Whether the kernel is computed from explicit features, or from all anchors."""
        return self.explicit is not None

    @property
    def num_features(self) -> int | None:
        """The number of explicit features; None where the kernel is computed from all anchors."""
        return None if self.explicit is None else int(self.explicit.num_features)
