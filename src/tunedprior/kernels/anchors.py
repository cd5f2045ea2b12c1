"""Anchors: the old settings a_j inside a kernel, with their coefficients α_j and tensors derived from both."""

from collections.abc import Callable

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import Numbers, check_table, refuse_nonfinite_rows, to_float_tensor
from tunedprior.errors import InputError
from tunedprior.kernels.free_kernel import FreeKernel


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
    """Its arguments, checked: a free kernel, anchors in its domain, one finite coefficient α_j for each."""
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
