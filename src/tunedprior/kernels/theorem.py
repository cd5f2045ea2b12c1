"""The paper's Theorem: auxiliary data re-weights the features of a free kernel."""

from collections.abc import Callable, Iterator
from functools import reduce

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from tunedprior.errors import InputError
from tunedprior.kernels.free_kernel import FreeKernel, Product
from tunedprior.validation import Numbers, as_float_tensor, finite_rows, table

# Entries of K_{m+2} held at once: small enough for a core's cache, large enough to hide the loop.
_CHUNK = 2**18
_PAIRS_AT_ONCE = 2**11


class _Anchors(torch.nn.Module):
    """The auxiliary points and their α.

    A module of its own because GPyTorch slices and expands a kernel's own buffers as if their first axes
    were batch axes.
    """

    points: Tensor
    alpha: Tensor

    def __init__(self, points: Float[Tensor, "a d"], alpha: Float[Tensor, " a"]) -> None:
        super().__init__()
        self.register_buffer("points", points)
        self.register_buffer("alpha", alpha)


class Reweighted(FreeKernel):
    """K^A_m(x, …) = Σ_jk α_j α_k K_{m+2}(a_j, a_k, x, …), with τ_A = τ ⊙ Σ_j α_j ϑ(a_j) and the same ϑ.

    The Theorem of the paper. It is a free kernel again: any even m, and it can be re-weighted in turn.
    An entry costs O(a²); the sum runs over chunks of pairs, also in the backward pass, so memory stays at
    a few times the size of the result.

    Args:
        base: The free kernel K_m.
        anchors: The auxiliary points a_j, `a x d`.
        alpha: Their coefficients α_j, `a`.
        active_dims: The columns that both x and the anchors' columns refer to, as for any GPyTorch kernel.
    """

    def __init__(
        self,
        base: Kernel,
        anchors: Numbers,
        alpha: Numbers,
        active_dims: tuple[int, ...] | list[int] | None = None,
    ) -> None:
        if not isinstance(base, FreeKernel):
            raise InputError(
                f"Only a free kernel can be re-weighted; got {type(base).__name__}. "
                "Use one of tunedprior.kernels (SquaredExponential for most problems)."
            )
        points = table(anchors, "Anchors")
        alpha = as_float_tensor(alpha, "α").to(points)
        if alpha.shape != points.shape[:1]:
            raise InputError(
                f"α must hold one coefficient for each of the {len(points)} anchors; got shape {tuple(alpha.shape)}."
            )
        finite_rows(alpha, "α")
        super().__init__(num_inputs=points.shape[1], active_dims=active_dims)
        self.base = base
        self._anchors = _Anchors(points.detach(), alpha.detach())
        base._check(base._select(points))

    @property
    def anchors(self) -> Float[Tensor, "a d"]:
        """The auxiliary points a_j."""
        return self._anchors.points

    @property
    def alpha(self) -> Float[Tensor, " a"]:
        """Their coefficients α_j."""
        return self._anchors.alpha

    @property
    def batch_shape(self) -> torch.Size:
        """That of the base: anchors and α are shared by the whole batch."""
        shape: torch.Size = self.base.batch_shape
        return shape

    def named_sub_kernels(self) -> Iterator[tuple[str, Kernel]]:
        """The base alone: it answers for what it wraps, and GPyTorch cannot assign dotted names."""
        yield "base", self.base

    def _product(self, x: Float[Tensor, "*batch n d"]) -> Product:
        self._check(x)
        return self.base._product(self.base._select(x))

    def _weights_at(self, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch p"]:
        features = self.base._features_at(self.base._product(self.base._select(self.anchors)), indices)
        return self.base._weights_at(indices).to(features) * (self.alpha @ features)

    def _cross(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        anchors = self.base._product(self.base._select(self.anchors)).take(self.alpha.nonzero().flatten())
        alpha = self.alpha[self.alpha != 0]
        n, k = left.points.shape[-2], right.points.shape[-2]
        batch = torch.broadcast_shapes(
            *(part.log_envelope.shape[:-1] for part in (left, right, anchors)), self.batch_shape
        )
        if alpha.numel() == 0:
            return left.points.new_zeros(*batch, n, k)
        # K_{m+2} is symmetric in a_j and a_k: sum over j ≤ k and count the rest twice.
        pairs = torch.triu_indices(len(alpha), len(alpha), device=alpha.device)
        share = alpha[pairs[0]] * alpha[pairs[1]] * torch.where(pairs[0] == pairs[1], 1, 2)
        pairs_at_once = min(pairs.shape[1], _PAIRS_AT_ONCE)
        arguments_at_once = max(1, _CHUNK // (pairs_at_once * max(1, batch.numel())))
        columns_at_once = min(k, arguments_at_once)
        rows_at_once = max(1, arguments_at_once // columns_at_once)

        def block(left_rows: slice, right_rows: slice) -> Float[Tensor, "*batch r c"]:
            rows, columns = left.take(left_rows), right.take(right_rows)
            arguments = rows.times(columns)
            sums = (
                _checkpointed(self._sum_over_pairs, anchors, arguments, pairs[:, chunk], share[chunk])
                for chunk in _chunks(pairs.shape[1], pairs_at_once)
            )
            total = reduce(torch.add, sums)
            return total.reshape(*total.shape[:-1], rows.points.shape[-2], columns.points.shape[-2])

        blocks = [
            torch.cat([block(rows, columns) for columns in _chunks(k, columns_at_once)], dim=-1)
            for rows in _chunks(n, rows_at_once)
        ]
        return torch.cat(blocks, dim=-2)

    def _sum_over_pairs(
        self, anchors: Product, arguments: Product, pairs: Int[Tensor, "2 p"], share: Float[Tensor, " p"]
    ) -> Float[Tensor, "*batch n"]:
        """Σ over some pairs (j, k) of share · K_{m+2}(a_j, a_k, arguments)."""
        return share @ self.base._cross(anchors.take(pairs[0]).rowwise(anchors.take(pairs[1])), arguments)


def _chunks(length: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def _checkpointed(function: Callable[..., Tensor], *arguments: object) -> Tensor:
    """function(*arguments); when gradients are wanted, its intermediates are recomputed, not stored."""
    if not torch.is_grad_enabled():
        return function(*arguments)
    result: Tensor = checkpoint(function, *arguments, use_reentrant=False, preserve_rng_state=False)
    return result
