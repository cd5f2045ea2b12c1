"""The re-weighted stationary kernel at any number of inputs: K₂ times a variance at the midpoint of its arguments."""

from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.kernels.anchors import Float64Module, evaluate_row_pairs
from tunedprior.kernels.free_kernel import Arguments
from tunedprior.kernels.sections import Section, SectionValues, compute_exponentials_gradient
from tunedprior.kernels.stationary import StationarySquaredExponential
from tunedprior.numerics.chunking import broadcast_shape, call_checkpointed
from tunedprior.numerics.stationary import compute_squared_differences, compute_squared_exponentials

# Entries of K₂(midpoints, A) held at once.
_CHUNK = 2**19
# Eigenvalues below this share of the largest are rounding.
_NEGLIGIBLE = 1e-16


class MidpointRoot(Float64Module):
    """K^A₂(x, x') = K₂(x, x') V((x + x')/2), with V(y) = ‖Wᵀk(y)‖² and k(y) = K₂(A, y).

    As ‖a_j - y‖² + ‖a_k - y‖² = 2 ‖(a_j + a_k)/2 - y‖² + ‖a_j - a_k‖²/2, the sum over pairs of anchors is a square,

        V(y) = Σ_jk α_jα_k K₄(a_j, a_k, y, y) = 2^{-n/2} Σ_jk α_j k_j(y) √K₂(a_j, a_k) k_k(y) α_k,

    and WWᵀ = 2^{-n/2} diag(α) √K₂(A, A) diag(α). An entry takes |A| exponentials instead of |A|²/2, and nothing cancels
    between the terms that are added.
    """

    points: Tensor
    root: Tensor
    precision: Tensor

    def __init__(
        self, base: StationarySquaredExponential, points: Float[Tensor, "a d"], alpha: Float[Tensor, " a"]
    ) -> None:
        super().__init__()
        points, alpha = points.detach().double(), alpha.detach().double()
        precision = base.inverse_square_lengthscale.detach().double().reshape(1, -1).expand(1, points.shape[1])
        apart = compute_squared_exponentials(precision / 2, compute_squared_differences(points, points))[0]
        values, vectors = torch.linalg.eigh(2 ** (-points.shape[1] / 2) * alpha[:, None] * apart * alpha)
        kept = values > _NEGLIGIBLE * values.abs().max()
        self.register_buffer("points", points.clone())
        self.register_buffer("root", vectors[:, kept] * values[kept].sqrt())
        self.register_buffer("precision", precision.clone())

    def evaluate_variance(self, y: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        """V(y)."""
        near = compute_squared_exponentials(self.precision, compute_squared_differences(y, self.points))[0]
        return (near @ self.root).square().sum(-1)

    def evaluate_matrix(self, left: Arguments, right: Arguments) -> Float[Tensor, "*batch n k"]:
        """K^A₂(left row, right row) for all pairs of rows."""

        def evaluate(both: Arguments) -> Float[Tensor, " m"]:
            return both.log_envelope.exp() * self.evaluate_variance(both.points)

        function = partial(call_checkpointed, evaluate) if torch.is_grad_enabled() else evaluate
        batch = broadcast_shape(left.points.shape[:-2], right.points.shape[:-2])
        return evaluate_row_pairs(function, left, right, batch, False, _CHUNK // max(1, len(self.points)))

    def make_section(self, size: float, points: Float[Tensor, "n d"]) -> "MidpointSection":
        """K^A₂(·, D)/size for fixed points D, with its gradient by hand."""
        return MidpointSection(points, self, size)


@dataclass(frozen=True, eq=False)
class MidpointSection(Section):
    """K(·, D)/size, where K(x, x') = K₂(x, x') V((x + x')/2)."""

    variance: MidpointRoot
    size: float

    def evaluate(self, x: Float[Tensor, "b d"]) -> SectionValues:
        """K(x, D) and K(x, x), with their vector-Jacobian product."""
        old = self.variance
        middles = torch.cat([((x[:, None] + self.points) / 2).flatten(0, 1), x])
        near = compute_squared_exponentials(old.precision, compute_squared_differences(middles, old.points))[0]
        learnt = near @ old.root
        variance = learnt.square().sum(-1) / self.size
        base = compute_squared_exponentials(old.precision, compute_squared_differences(x, self.points))
        count = len(x) * len(self.points)
        cross = base * variance[:count].unflatten(0, (len(x), -1))
        pulled_back = partial(self._pull_back_gradient, x, middles, near, learnt, base, cross)
        return SectionValues(cross, variance[None, count:], pulled_back)

    def append_points(self, x: Float[Tensor, "m d"]) -> "MidpointSection":
        """The section with the points x appended to D."""
        return replace(self, points=torch.cat([self.points, x]))

    def _pull_back_gradient(
        self,
        x: Float[Tensor, "b d"],
        middles: Float[Tensor, "m d"],
        near: Float[Tensor, "m a"],
        learnt: Float[Tensor, "m r"],
        base: Float[Tensor, "1 b n"],
        cross: Float[Tensor, "1 b n"],
        d_cross: Float[Tensor, "1 b n"],
        d_variance: Float[Tensor, "1 b"],
    ) -> Float[Tensor, "b d"]:
        old, count = self.variance, cross.numel()
        # ∂V/∂y = 2 Σ_j h_j (a_j - y)/ℓ² with h = k ⊙ Wᵀ…W k; ∂y/∂x is ½ at a midpoint, and 1 where y is x.
        d_middles = torch.cat([(d_cross * base).flatten() / 2, d_variance.flatten()]) * (2 / self.size)
        by_log = d_middles[:, None] * near * (learnt @ old.root.mT)
        pulled = old.precision * (by_log @ old.points - by_log.sum(-1, keepdim=True) * middles)
        through_variance: Tensor = pulled[:count].unflatten(0, (len(x), -1)).sum(1) + pulled[count:]
        return through_variance + compute_exponentials_gradient(old.precision, x, self.points, d_cross * cross)
