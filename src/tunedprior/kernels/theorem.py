"""The paper's Theorem: auxiliary data re-weights the features of a free kernel."""

from collections.abc import Callable, Iterator
from functools import partial, reduce

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


class _StaysFloat64(torch.nn.Module):
    """Moves between devices but not between dtypes: rounding α would change which features matter."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "_StaysFloat64":
        device = fn(torch.empty(0, dtype=torch.float64, device=next(self.buffers()).device)).device
        super()._apply(lambda tensor: tensor.to(device), recurse)  # type: ignore[no-untyped-call]  # PyTorch has no types for it
        return self


class _Anchors(_StaysFloat64):
    """The auxiliary points, their α, and what else a kernel derives from them.

    A module of its own because GPyTorch slices and expands a kernel's own buffers as if their first axes
    were batch axes.
    """

    points: Tensor
    alpha: Tensor

    def __init__(self, points: Float[Tensor, "a d"], alpha: Float[Tensor, " a"], **derived: Tensor) -> None:
        super().__init__()
        for name, value in {"points": points, "alpha": alpha, **derived}.items():
            self.register_buffer(name, value.detach().to(torch.float64, copy=True))


class _OnAnchors:
    """What all kernels made from old data show of it."""

    _anchors: _Anchors

    @property
    def anchors(self) -> Float[Tensor, "a d"]:
        """The auxiliary points a_j."""
        return self._anchors.points

    @property
    def alpha(self) -> Float[Tensor, " a"]:
        """Their coefficients α_j."""
        return self._anchors.alpha


class Reweighted(_OnAnchors, FreeKernel):
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
        free, points, alpha = _checked(base, anchors, alpha)
        super().__init__(num_inputs=points.shape[1], active_dims=active_dims)
        self.base = free
        self._anchors = _Anchors(points, alpha)

    @property
    def batch_shape(self) -> torch.Size:
        """That of the base: anchors and α are shared by the whole batch."""
        shape: torch.Size = self.base.batch_shape
        return shape

    def named_sub_kernels(self) -> Iterator[tuple[str, Kernel]]:
        """The base alone: it answers for what it wraps, and GPyTorch cannot assign dotted names."""
        yield "base", self.base

    def features(self, x: Float[Tensor, "*batch n d"], max_degree: int) -> Float[Tensor, "*batch2 n p"]:
        """ϑ(x): the base's."""
        x = self._select(x)
        self._check(x)
        return self.base.features(x, max_degree)

    def multi_indices(self, max_degree: int, num_inputs: int | None = None) -> Int[Tensor, "p d"]:
        """The exponents of the base's features."""
        seen = self.base._select(self.anchors).shape[1]
        return self.base.multi_indices(max_degree, seen if num_inputs is None else num_inputs)

    def _product(self, x: Float[Tensor, "*batch n d"]) -> Product:
        self._check(x)
        return self.base._product(self.base._select(x))

    def _anchor_products(self) -> Product:
        return self.base._product(self.base._select(self.anchors))

    def _weights_at(self, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch p"]:
        weights = self.base._weights_at(indices)
        # In the anchors' float64: the terms of s cancel as those of the kernel do.
        s = self.alpha @ self.base._features_at(self._anchor_products(), indices)
        return (weights.to(s) * s).to(weights.dtype)

    def _cross(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        shares = torch.outer(self.alpha, self.alpha)
        return _sum_over_pairs(self.base._cross, self._anchor_products(), shares, left, right, self.batch_shape)


def _checked(
    base: Kernel, anchors: Numbers, alpha: Numbers
) -> tuple[FreeKernel, Float[Tensor, "a d"], Float[Tensor, " a"]]:
    """A free kernel, anchors in its domain, and one α for each."""
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
    base._check(base._select(points))
    return base, points, alpha


def _sum_over_pairs(
    kernel: Callable[[Product, Product], Tensor],
    anchors: Product,
    shares: Float[Tensor, "a a"],
    left: Product,
    right: Product,
    kept: torch.Size,
) -> Float[Tensor, "*batch n k"]:
    """Σ_jk S_jk kernel(a_j ⊙ a_k, left row ⊙ right row) for symmetric shares S, in float64.

    The terms may be a billion times larger than their sum, so float32 would not give a covariance. The sum runs over
    chunks of pairs and of arguments. `kept` is the batch shape of the kernel's parameters.
    """
    dtype, symmetric = left.points.dtype, left is right
    anchors, left, right = anchors.double(), left.double(), right.double()
    n, k = left.points.shape[-2], right.points.shape[-2]
    batch = torch.broadcast_shapes(
        left.log_envelope.shape[:-1], right.log_envelope.shape[:-1], anchors.log_envelope.shape[:-1]
    )
    # S_jk kernel(a_j ⊙ a_k, …) is symmetric in j and k: sum over j ≤ k and count the rest twice.
    pairs = torch.triu_indices(len(shares), len(shares), device=shares.device)
    share = shares[pairs[0], pairs[1]] * torch.where(pairs[0] == pairs[1], 1, 2)
    pairs, share = pairs[:, share != 0], share[share != 0]
    if share.numel() == 0 or n * k * batch.numel() == 0:
        return left.points.new_zeros(*batch, n, k, dtype=dtype)
    # A batch of inputs is only more arguments; a batch of parameters has to stay one.
    copies = 1 if kept else batch.numel()
    if not kept:
        left, right = left.expand(batch).flatten(), right.expand(batch).flatten()
    rows, columns = _arguments(copies, n, k, symmetric, share.device)
    members = batch.numel() if kept else 1
    pairs_at_once = min(pairs.shape[1], max(1, _PAIRS_AT_ONCE // members))
    arguments_at_once = max(1, _CHUNK // (pairs_at_once * members))

    def run(arguments: Product, some: slice) -> Float[Tensor, "*batch n"]:
        first, second = pairs[:, some]
        return share[some] @ kernel(anchors.take(first).rowwise(anchors.take(second)), arguments)

    if torch.is_grad_enabled() and (len(rows) > arguments_at_once or pairs.shape[1] > pairs_at_once):
        run = partial(_recomputed, run)  # keep no chunk's intermediates for the backward pass
    sums = []
    for some in _chunks(len(rows), arguments_at_once):
        arguments = left.take(rows[some]).rowwise(right.take(columns[some]))
        sums.append(reduce(torch.add, (run(arguments, c) for c in _chunks(pairs.shape[1], pairs_at_once))))
    total = torch.cat(sums, dim=-1).to(dtype)
    if symmetric:
        total = _mirrored(total, copies, n)
    return total.reshape(*(total.shape[:-1] if kept else batch), n, k)


def _arguments(
    copies: int, n: int, k: int, symmetric: bool, device: torch.device
) -> tuple[Int[Tensor, " a"], Int[Tensor, " a"]]:
    """Which left row and which right row make each argument, for `copies` blocks of n x k (or their upper halves)."""
    if symmetric:
        row, column = torch.triu_indices(n, n, device=device)
    else:
        row, column = torch.cartesian_prod(torch.arange(n, device=device), torch.arange(k, device=device)).T
    block = torch.arange(copies, device=device)[:, None]
    return (block * n + row).flatten(), (block * k + column).flatten()


def _mirrored(upper: Float[Tensor, "*batch a"], copies: int, n: int) -> Float[Tensor, "*batch b"]:
    """Full symmetric blocks, flattened, from their upper halves."""
    row, column = torch.triu_indices(n, n, device=upper.device)
    position = torch.empty(n, n, dtype=torch.long, device=upper.device)
    position[row, column] = position[column, row] = torch.arange(len(row), device=upper.device)
    block = torch.arange(copies, device=upper.device)[:, None]
    return upper[..., (block * len(row) + position.flatten()).flatten()]


def _chunks(length: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def _recomputed(function: Callable[..., Tensor], *arguments: object) -> Tensor:
    """function(*arguments), whose intermediates the backward pass computes again instead of finding them stored."""
    result: Tensor = checkpoint(function, *arguments, use_reentrant=False, preserve_rng_state=False)
    return result
