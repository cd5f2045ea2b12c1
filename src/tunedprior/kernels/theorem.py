"""The paper's Theorem: old data re-weights the features of a free kernel."""

from collections.abc import Iterator

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.checks import Numbers
from tunedprior.kernels.anchors import AnchorAccess, Anchors, check_anchors
from tunedprior.kernels.free_kernel import FreeKernel, Product
from tunedprior.kernels.pair_sums import sum_over_pairs


class ReweightedKernel(AnchorAccess, FreeKernel):
    """K^A_m(x, …) = Σ_jk α_j α_k K_{m+2}(a_j, a_k, x, …), with τ_A = τ ⊙ Σ_j α_j ϑ(a_j) and the same ϑ.

    The Theorem of the paper. It is a free kernel again: any even m, and it can be re-weighted in turn.
    An entry costs O(a²); the sum runs over chunks of pairs, also in the backward pass, so memory stays at
    a few times the size of the result.

    Args:
        base: The free kernel K_m.
        anchors: The old settings a_j, `a x d`.
        alpha: Their coefficients α_j, `a`.
        active_dims: The columns of x that the anchors' columns correspond to, as for any GPyTorch kernel.
    """

    def __init__(
        self,
        base: Kernel,
        anchors: Numbers,
        alpha: Numbers,
        active_dims: tuple[int, ...] | list[int] | None = None,
    ) -> None:
        free, points, alpha = check_anchors(base, anchors, alpha)
        super().__init__(num_inputs=points.shape[1], active_dims=active_dims)
        self.base = free
        self._anchors = Anchors(points, alpha)

    @property
    def batch_shape(self) -> torch.Size:
        """The batch shape of the base: anchors and α are shared by the whole batch."""
        shape: torch.Size = self.base.batch_shape
        return shape

    def named_sub_kernels(self) -> Iterator[tuple[str, Kernel]]:
        """The base alone, not the kernels inside it: GPyTorch cannot assign to dotted names."""
        yield "base", self.base

    def evaluate_features(self, x: Float[Tensor, "*batch n d"], max_degree: int) -> Float[Tensor, "*batch2 n p"]:
        """ϑ(x), unweighted, of the base, for the p multi-indices of total degree ≤ max_degree."""
        x = self.select_columns(x)
        self.check_points(x)
        return self.base.evaluate_features(x, max_degree)

    def list_multi_indices(self, max_degree: int, num_inputs: int | None = None) -> Int[Tensor, "p d"]:
        """The multi-indices i (exponents) of the base's features."""
        seen = self.base.select_columns(self.anchors).shape[1]
        return self.base.list_multi_indices(max_degree, seen if num_inputs is None else num_inputs)

    def make_product(self, x: Float[Tensor, "*batch n d"]) -> Product:
        """The rows of x as products of one factor, as the base has them, after a check."""
        self.check_points(x)
        return self.base.make_product(self.base.select_columns(x))

    def _make_anchor_products(self) -> Product:
        return self.base.make_product(self.base.select_columns(self.anchors))

    def compute_weights_at(self, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch p"]:
        """τ_A = τ ⊙ Σ_j α_j ϑ(a_j) at the given multi-indices."""
        weights = self.base.compute_weights_at(indices)
        # In the anchors' float64: the terms of s cancel as those of the kernel do.
        s = self.alpha @ self.base.evaluate_features_at(self._make_anchor_products(), indices)
        return (weights.to(s) * s).to(weights.dtype)

    def evaluate_matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        """Σ_i τ_Ai² ϑ_i(left row) ϑ_i(right row), for all pairs of rows, as a sum over pairs of anchors."""
        shares = torch.outer(self.alpha, self.alpha)
        return sum_over_pairs(
            self.base.evaluate_matrix, self._make_anchor_products(), shares, left, right, self.batch_shape
        )
