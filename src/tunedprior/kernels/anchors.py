"""Kernels made from a free kernel and old data: anchors a_j, coefficients α_j, and means over the box."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import Numbers, check_table, refuse_nonfinite_rows, to_float_tensor
from tunedprior.errors import InputError
from tunedprior.kernels.free_kernel import FreeKernel, Product
from tunedprior.numerics.chunking import broadcast_shape

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

    def make_product(self, x: Float[Tensor, "*batch n d"]) -> Product:
        """The rows of x as products of one factor: the columns that the base acts on, in float64."""
        return self.base.make_product(self.base.select_columns(x.double()))

    @abstractmethod
    def evaluate_matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        """K(left row, right row) for all pairs of rows."""

    @abstractmethod
    def evaluate_diagonal(self, left: Product, right: Product) -> Float[Tensor, "*batch n"]:
        """K(left row i, right row i) for every i: the diagonal."""


def _drop_repeated_batch(x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch2 n d"]:
    """x without its batch where all members are equal: a batch of candidates repeats the training points for each."""
    if x.ndim == 2 or x.numel() == 0 or x.requires_grad:  # each copy has a gradient of its own
        return x
    first = x[(0,) * (x.ndim - 2)]
    return first if (x == first).all() else x
