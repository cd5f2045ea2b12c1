"""Kernels made from a free kernel and old data: anchors a_j, their coefficients α_j, and the paper's Theorem.

The sums Σ_jk S_jk K(a_j, a_k, x, x') run in chunks, forward and backward.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial, reduce
from typing import Any

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.checks import Numbers, check_table, refuse_nonfinite_rows, to_float_tensor
from tunedprior.errors import InputError
from tunedprior.kernels.free_kernel import Arguments, FreeKernel
from tunedprior.numerics.chunking import broadcast_shape, call_checkpointed, iterate_chunks

_SAMPLE = 256


def draw_box_sample(num_inputs: int, reach: float = 1.0, count: int = _SAMPLE) -> Float[Tensor, "n d"]:
    """A scrambled Sobol sample of [-reach, reach]^d, with a fixed seed."""
    sobol = torch.quasirandom.SobolEngine(num_inputs, scramble=True, seed=0)
    return reach * (2 * sobol.draw(count, dtype=torch.float64) - 1)


def compute_mean_variance(kernel: Kernel, num_inputs: int, reach: float = 1.0) -> float:
    """The mean of K(x, x) over [-reach, reach]^d, estimated on `draw_box_sample`."""
    with torch.no_grad():
        return float(kernel(draw_box_sample(num_inputs, reach), diag=True).mean())


class Float64Module(torch.nn.Module):
    """A module that moves between devices but not between dtypes: rounding α would change which features matter."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Float64Module":
        device = fn(torch.empty(0, dtype=torch.float64, device=next(self.buffers()).device)).device
        super()._apply(lambda tensor: tensor.to(device), recurse)  # type: ignore[no-untyped-call]  # PyTorch has no types for it
        return self


class Anchors(Float64Module):
    """The anchors a_j (`points`), their coefficients α_j, and further tensors that a kernel derives from them.

    A module of its own because GPyTorch slices and expands a kernel's own buffers as if their first axes
    were batch axes.
    """

    points: Tensor
    alpha: Tensor

    def __init__(self, points: Float[Tensor, "a d"], alpha: Float[Tensor, " a"], **derived: Tensor) -> None:
        super().__init__()
        for name, value in {"points": points, "alpha": alpha, **derived}.items():
            self.register_buffer(name, value.detach().to(torch.float64, copy=True))


class AnchorAccess:
    """Mixin: read access to the anchors and the coefficients of a kernel that was made from old data."""

    _anchors: Anchors

    @property
    def anchors(self) -> Float[Tensor, "a d"]:
        """The anchors a_j: old settings as kernel inputs."""
        return self._anchors.points

    @property
    def alpha(self) -> Float[Tensor, " a"]:
        """The coefficients α_j, one for each anchor."""
        return self._anchors.alpha


def check_anchors(
    base: Kernel, anchors: Numbers, alpha: Numbers
) -> tuple[FreeKernel, Float[Tensor, "a d"], Float[Tensor, " a"]]:
    """Check a free kernel, anchors in its domain, and one finite coefficient α_j for each."""
    if not isinstance(base, FreeKernel):
        raise InputError(
            f"Only a free kernel can be re-weighted; got {type(base).__name__}. "
            "Use one of tunedprior.kernels (SquaredExponential for most problems)."
        )
    points = check_table(anchors, "Anchors")
    alpha = to_float_tensor(alpha, "α").to(points)
    if alpha.shape != points.shape[:1]:
        raise InputError(
            f"α must hold one coefficient for each of the {len(points)} anchors; got shape {tuple(alpha.shape)}."
        )
    refuse_nonfinite_rows(alpha, "α")
    base.check_points(base.select_columns(points))
    return base, points, alpha


class FixedKernel(Float64Module, Kernel):
    """A kernel derived from a free kernel, `base`, whose parameters are copied and fixed.

    It computes in float64 and returns the dtype of its inputs.
    """

    def __init__(self, base: FreeKernel, num_inputs: int) -> None:
        if base.batch_shape:
            raise InputError(
                f"A belief is held about one kernel; got a batch of them, of shape {tuple(base.batch_shape)}. "
                "Make one belief for each."
            )
        super().__init__()
        self.base: FreeKernel = deepcopy(base).double().requires_grad_(False)
        if self.base.num_inputs is None:
            self.base.num_inputs = num_inputs

    @property
    def batch_shape(self) -> torch.Size:
        """Always empty: the fixed parameters are those of a single kernel."""
        return torch.Size([])

    def named_sub_kernels(self) -> Iterator[tuple[str, Kernel]]:
        """No sub-kernels: GPyTorch would make a batch of the base, and tensors derived from it would no longer fit."""
        return iter(())

    def forward(
        self,
        x1: Float[Tensor, "*batch1 n d"],
        x2: Float[Tensor, "*batch2 k d"],
        diag: bool = False,
        **params: Any,  # noqa: ARG002  # part of GPyTorch's signature
    ) -> Float[Tensor, "*batch n k"] | Float[Tensor, "*batch n"]:
        """K(x1, x2), or with `diag=True` its diagonal K(x1_i, x2_i)."""
        batch = broadcast_shape(x1.shape[:-2], x2.shape[:-2])
        left = self.make_product(_drop_repeated_batch(x1))
        right = left if x2 is x1 else self.make_product(_drop_repeated_batch(x2))
        values = self.evaluate_diagonal(left, right) if diag else self.evaluate_matrix(left, right)
        values = values.to(torch.promote_types(x1.dtype, x2.dtype))
        return values.expand(*batch, *values.shape[-1 if diag else -2 :])

    def make_product(self, x: Float[Tensor, "*batch n d"]) -> Arguments:
        """The rows of x as products of one factor: the columns that the base acts on, in float64."""
        return self.base.make_product(self.base.select_columns(x.double()))

    @abstractmethod
    def evaluate_matrix(self, left: Arguments, right: Arguments) -> Float[Tensor, "*batch n k"]:
        """K(left row, right row) for all pairs of rows."""

    @abstractmethod
    def evaluate_diagonal(self, left: Arguments, right: Arguments) -> Float[Tensor, "*batch n"]:
        """K(left row i, right row i) for every i: the diagonal."""


def _drop_repeated_batch(x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch2 n d"]:
    """x without its batch where all members are equal: a batch of candidates repeats the training points for each."""
    if x.ndim == 2 or x.numel() == 0 or x.requires_grad:  # each copy has a gradient of its own
        return x
    first = x[(0,) * (x.ndim - 2)]
    return first if (x == first).all() else x


# Entries of K_{m+2} held at once: small enough for a core's cache, large enough to hide the loop.
_CHUNK = 2**18
_PAIRS_AT_ONCE = 2**11


def sum_over_pairs(
    kernel: Callable[[Arguments, Arguments], Tensor],
    anchors: Arguments,
    shares: Float[Tensor, "a a"],
    left: Arguments,
    right: Arguments,
    kept: torch.Size,
) -> Float[Tensor, "*batch n k"]:
    """Σ_jk S_jk kernel(a_j ⊙ a_k, left row ⊙ right row) for all pairs of rows, with symmetric S (`shares`).

    Summed in float64: terms may be a billion times larger than their sum, and float32 would not give a covariance. The
    sum runs over chunks of pairs (j, k) and of row pairs. `kept` is the batch shape of the kernel's parameters.
    """
    anchors = anchors.double()
    # S_jk kernel(a_j ⊙ a_k, …) is symmetric in j and k: sum over j ≤ k and count the rest twice.
    pairs = torch.triu_indices(len(shares), len(shares), device=shares.device)
    share = shares[pairs[0], pairs[1]] * torch.where(pairs[0] == pairs[1], 1, 2)
    pairs, share = pairs[:, share != 0], share[share != 0]
    members = broadcast_shape(
        left.log_envelope.shape[:-1], right.log_envelope.shape[:-1], anchors.log_envelope.shape[:-1]
    )
    count = members.numel() if kept else 1
    pairs_at_once = max(1, min(pairs.shape[1], _PAIRS_AT_ONCE // max(1, count)))
    arguments_at_once = max(1, _CHUNK // (pairs_at_once * max(1, count)))

    def run(some: slice, arguments: Arguments) -> Float[Tensor, "*batch n"]:
        first, second = pairs[:, some]
        return share[some] @ kernel(anchors.take(first).multiply_rows(anchors.take(second)), arguments)

    if torch.is_grad_enabled() and (pairs.shape[1] > pairs_at_once or arguments_at_once < _CHUNK):
        run = partial(call_checkpointed, run)  # keep no chunk's intermediates for the backward pass

    def add_up(arguments: Arguments) -> Float[Tensor, "*batch n"]:
        return reduce(torch.add, (run(some, arguments) for some in iterate_chunks(pairs.shape[1], pairs_at_once)))

    return evaluate_row_pairs(add_up if share.numel() else None, left, right, members, bool(kept), arguments_at_once)


def evaluate_row_pairs(
    function: Callable[[Any], Tensor] | None,
    left: Arguments,
    right: Arguments,
    batch: torch.Size,
    kept: bool,
    at_once: int,
) -> Float[Tensor, "*batch n k"]:
    """function(left row ⊙ right row) for all pairs of rows, in chunks of `at_once` pairs; 0 without a function.

    It is computed in float64, and once for each pair of rows where `right` is `left`. `batch` is the batch shape of the
    result; `kept`, whether it belongs to the function's parameters, or the inputs' alone.
    """
    dtype, symmetric = left.points.dtype, left is right
    left, right = left.double(), right.double()
    n, k = left.points.shape[-2], right.points.shape[-2]
    if function is None or n * k * batch.numel() == 0:
        return left.points.new_zeros(*batch, n, k, dtype=dtype)
    # A batch of inputs is only more arguments; a batch of parameters has to stay one.
    copies = 1 if kept else batch.numel()
    if not kept:
        left, right = left.expand(batch).flatten(), right.expand(batch).flatten()
    rows, columns = _list_row_pairs(copies, n, k, symmetric, left.points.device)
    values = [
        function(left.take(rows[some]).multiply_rows(right.take(columns[some])))
        for some in iterate_chunks(len(rows), max(1, at_once))
    ]
    total = torch.cat(values, dim=-1).to(dtype)
    if symmetric:
        total = _mirror_triangles(total, copies, n)
    return total.reshape(*(total.shape[:-1] if kept else batch), n, k)


def _list_row_pairs(
    copies: int, n: int, k: int, symmetric: bool, device: torch.device
) -> tuple[Int[Tensor, " a"], Int[Tensor, " a"]]:
    """The left row and the right row of each argument, for `copies` blocks of n x k (or their upper triangles)."""
    if symmetric:
        row, column = torch.triu_indices(n, n, device=device)
    else:
        row, column = torch.cartesian_prod(torch.arange(n, device=device), torch.arange(k, device=device)).T
    block = torch.arange(copies, device=device)[:, None]
    return (block * n + row).flatten(), (block * k + column).flatten()


def _mirror_triangles(upper: Float[Tensor, "*batch a"], copies: int, n: int) -> Float[Tensor, "*batch b"]:
    """Full symmetric blocks, flattened, from their upper triangles."""
    row, column = torch.triu_indices(n, n, device=upper.device)
    position = torch.empty(n, n, dtype=torch.long, device=upper.device)
    position[row, column] = position[column, row] = torch.arange(len(row), device=upper.device)
    block = torch.arange(copies, device=upper.device)[:, None]
    return upper[..., (block * len(row) + position.flatten()).flatten()]


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
        return torch.Size(self.base.batch_shape)

    def named_sub_kernels(self) -> Iterator[tuple[str, Kernel]]:
        """The base alone, not the kernels inside it: GPyTorch cannot assign to dotted names."""
        yield "base", self.base

    def evaluate_features_at(self, product: Arguments, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch n p"]:
        """ϑ_i of every row, of the base, for the given multi-indices."""
        return self.base.evaluate_features_at(product, indices)

    def list_multi_indices(self, max_degree: int, num_inputs: int | None = None) -> Int[Tensor, "p d"]:
        """The multi-indices i (exponents) of the base's features."""
        seen = self.base.select_columns(self.anchors).shape[1]
        return self.base.list_multi_indices(max_degree, seen if num_inputs is None else num_inputs)

    def make_product(self, x: Float[Tensor, "*batch n d"]) -> Arguments:
        """The rows of x as products of one factor, as the base has them, after a check."""
        self.check_points(x)
        return self.base.make_product(self.base.select_columns(x))

    def _make_anchor_products(self) -> Arguments:
        return self.base.make_product(self.base.select_columns(self.anchors))

    def compute_weights_at(self, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch p"]:
        """τ_A = τ ⊙ Σ_j α_j ϑ(a_j) at the given multi-indices."""
        weights = self.base.compute_weights_at(indices)
        # In the anchors' float64: the terms of s cancel as those of the kernel do.
        s = self.alpha @ self.base.evaluate_features_at(self._make_anchor_products(), indices)
        return (weights.to(s) * s).to(weights.dtype)

    def evaluate_matrix(self, left: Arguments, right: Arguments) -> Float[Tensor, "*batch n k"]:
        """Σ_i τ_Ai² ϑ_i(left row) ϑ_i(right row), for all pairs of rows, as a sum over pairs of anchors."""
        shares = torch.outer(self.alpha, self.alpha)
        return sum_over_pairs(
            self.base.evaluate_matrix, self._make_anchor_products(), shares, left, right, self.batch_shape
        )
