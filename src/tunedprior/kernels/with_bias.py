"""The paper's footnote on the bias: φ → [φ; 1] and K → K + 1, so that a bias is one more weight."""

from collections.abc import Iterator
from typing import Any

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.kernels.free_kernel import FreeKernel, Product

_NO_POWER = -1  # in every input: the "multi-index" of the feature that is 1 everywhere


class WithBias(FreeKernel):
    """K_m + 1 for every even m, with features [ϑ; 1] and weights [τ; 1]. Footnote to the paper's equation 6.

    A machine without a bias learns one with it: g = Σ_j α_j (K₂(a_j, x) + 1), so that b = Σ_j α_j. Re-weighted, the
    constant has the weight b: K^A_m + b². For kernels of a series, whose constant feature is 1 already, it adds 1 to
    τ₀² under a second index; `SquaredExponential` has no constant feature of its own.

    Args:
        base: The free kernel K_m; its tuned parameter stays the one that `select` tunes.

    >>> from tunedprior.kernels import SquaredExponential
    >>> x = torch.tensor([[0.3, -0.2]])
    >>> WithBias(SquaredExponential(0.5)).evaluate_m_kernel(x, x).item()
    2.0
    """

    base: FreeKernel

    def __init__(self, base: Kernel) -> None:
        if not isinstance(base, FreeKernel):
            raise InputError(f"WithBias takes a free kernel, one of tunedprior.kernels; got {type(base).__name__}.")
        super().__init__(num_inputs=None if base.active_dims is not None else base.num_inputs)
        self.base = base
        self.bounded_domain, self.open_domain = base.bounded_domain, base.open_domain
        self.tuned_parameter = base.tuned_parameter

    def __getattr__(self, name: str) -> Any:
        """The base's parameters, raw ones and constraints, so that whatever tunes the base can tune this one."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            own = self.__dict__.get("tuned_parameter")
            if own is None or name not in (own, f"raw_{own}", f"raw_{own}_constraint"):
                raise
            return getattr(self.base, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """The tuned parameter is the base's."""
        if name == self.__dict__.get("tuned_parameter"):
            setattr(self.base, name, value)
        else:
            super().__setattr__(name, value)

    @property
    def lengthscale(self) -> Tensor:
        """The base's length-scale."""
        lengthscale: Tensor = self.base.lengthscale
        return lengthscale

    @property
    def batch_shape(self) -> torch.Size:
        """The batch shape of the base."""
        shape: torch.Size = self.base.batch_shape
        return shape

    def named_sub_kernels(self) -> Iterator[tuple[str, Kernel]]:
        """The base alone, not the kernels inside it: GPyTorch cannot assign to dotted names."""
        yield "base", self.base

    def make_product(self, x: Float[Tensor, "*batch n d"]) -> Product:
        """The rows of x as products of one factor, as the base has them."""
        return self.base.make_product(self.base.select_columns(x))

    def evaluate_matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        """1 + Σ_i τ_i² ϑ_i(left row) ϑ_i(right row), for all pairs of rows."""
        return self.base.evaluate_matrix(left, right) + 1

    def list_multi_indices(self, max_degree: int, num_inputs: int | None = None) -> Int[Tensor, "p d"]:
        """Those of the base, and a last row of -1 for the constant."""
        indices = self.base.list_multi_indices(max_degree, num_inputs)
        return torch.cat([indices, torch.full_like(indices[:1], _NO_POWER)])

    def evaluate_features(self, x: Float[Tensor, "*batch n d"], max_degree: int) -> Float[Tensor, "*batch2 n p"]:
        """[ϑ(x); 1], unweighted."""
        product = self.make_product(x)
        return self.evaluate_features_at(product, self.list_multi_indices(max_degree, product.points.shape[-1]))

    def evaluate_features_at(self, product: Product, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch n p"]:
        """ϑ_i of every row, for the given multi-indices; 1 for the constant's."""
        features = self.base.evaluate_features_at(product, indices.clamp(min=0))
        return torch.where(_is_constant(indices).to(features.device), 1.0, features)

    def compute_weights_at(self, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch p"]:
        """τ at the given multi-indices; 1 for the constant's."""
        weights = self.base.compute_weights_at(indices.clamp(min=0))
        return torch.where(_is_constant(indices).to(weights.device), 1.0, weights)


def _is_constant(indices: Int[Tensor, "p d"]) -> Tensor:
    return (indices == _NO_POWER).all(-1)
