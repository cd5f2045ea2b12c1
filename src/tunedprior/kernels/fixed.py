"""Kernels with nothing left to learn: made once from a free kernel and old data, then only evaluated."""

from abc import abstractmethod
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.kernels.free_kernel import FreeKernel, Product
from tunedprior.kernels.theorem import _StaysFloat64


class FixedKernel(_StaysFloat64, Kernel):
    """A kernel derived from a free kernel whose parameters are copied and stay as they are.

    It computes in float64 and answers in the dtype of its inputs.
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
        """Always empty: there is nothing to have one of per batch."""
        return torch.Size([])

    def named_sub_kernels(self) -> Iterator[tuple[str, Kernel]]:
        """None: GPyTorch would make a batch of the base, and what was derived from it would no longer fit."""
        return iter(())

    def forward(
        self,
        x1: Float[Tensor, "*batch1 n d"],
        x2: Float[Tensor, "*batch2 k d"],
        diag: bool = False,
        **params: Any,  # noqa: ARG002  # part of GPyTorch's signature
    ) -> Float[Tensor, "*batch n k"] | Float[Tensor, "*batch n"]:
        """The full matrix, or with `diag=True` its diagonal K(x1_i, x2_i)."""
        batch = torch.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        left = self._product(_once(x1))
        right = left if x2 is x1 else self._product(_once(x2))
        values = self._diagonal(left, right) if diag else self._matrix(left, right)
        values = values.to(torch.promote_types(x1.dtype, x2.dtype))
        return values.expand(*batch, *values.shape[-1 if diag else -2 :])

    def _product(self, x: Float[Tensor, "*batch n d"]) -> Product:
        return self.base._product(self.base._select(x.double()))

    @abstractmethod
    def _matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        """K at all pairs of rows."""

    @abstractmethod
    def _diagonal(self, left: Product, right: Product) -> Float[Tensor, "*batch n"]:
        """K at pairs of equal rows."""


def _once(x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch2 n d"]:
    """One table where all of a batch are the same: a batch of candidates repeats the training points for each."""
    if x.ndim == 2 or x.numel() == 0 or x.requires_grad:  # each copy has a gradient of its own
        return x
    first = x[(0,) * (x.ndim - 2)]
    return first if (x == first).all() else x
