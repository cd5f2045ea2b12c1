"""Kernels without learnable parameters: made once from a free kernel and old data, then only evaluated."""

from abc import abstractmethod
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.kernels.anchors import Float64Module
from tunedprior.kernels.free_kernel import FreeKernel, Product
from tunedprior.numerics.shapes import broadcast_shape


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
