"""The two ways to make a free kernel from a Taylor series k(χ) = Σ_q ξ_q χ^q with every ξ_q ≥ 0."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.checks import format_list, to_float_tensor
from tunedprior.errors import InputError
from tunedprior.kernels.free_kernel import FreeKernel, Product


class SeriesKernel(FreeKernel):
    """A free kernel made from a scalar function k and the logarithms of its Taylor coefficients."""

    @abstractmethod
    def _evaluate_series(self, chi: Float[Tensor, "*batch n k"]) -> Float[Tensor, "*batch n k"]:
        """k(χ), elementwise."""

    @abstractmethod
    def _compute_log_coefficients(self, max_degree: int) -> Float[Tensor, "*batch q"]:
        """log ξ_q for q = 0 … max_degree, -∞ where the series has no such term."""


class DotProductKernel(SeriesKernel):
    """K_m = k(Σ_d x₁_d⋯x_m_d), with τ_i² = |i|!/(i₁!⋯i_n!) ξ_|i| and ϑ_i(x) = xⁱ."""

    def evaluate_matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        """Σ_i τ_i² ϑ_i(left row) ϑ_i(right row), for all pairs of rows."""
        return self._evaluate_series(left.points @ right.points.mT)

    def compute_weights_at(self, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch p"]:
        """τ at the given multi-indices."""
        degree = indices.sum(-1)
        log_xi = self._compute_log_coefficients(int(degree.max()))
        degree, indices = degree.to(log_xi.device), indices.to(log_xi)
        log_multinomial = torch.lgamma(degree.to(log_xi) + 1) - torch.lgamma(indices + 1).sum(-1)
        return torch.exp((log_multinomial + log_xi[..., degree]) / 2)


class DirectProductKernel(SeriesKernel):
    """K_m = Π_d k(x₁_d⋯x_m_d), with τ_i² = Π_d ξ_{i_d} and ϑ_i(x) = xⁱ."""

    def evaluate_matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        """Σ_i τ_i² ϑ_i(left row) ϑ_i(right row), for all pairs of rows."""
        # One input at a time: an n x k x d array would be d times the result.
        columns = (
            self._evaluate_series(left.points[..., :, None, column] * right.points[..., None, :, column])
            for column in range(left.points.shape[-1])
        )
        result = next(columns)
        for column in columns:
            result = result * column
        return result

    def compute_weights_at(self, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch p"]:
        """τ at the given multi-indices."""
        log_xi = self._compute_log_coefficients(int(indices.max()))
        return torch.exp(log_xi[..., indices.to(log_xi.device)].sum(-1) / 2)

    def compute_log_factors(self, highest: int) -> Float[Tensor, "d q"]:
        """F with log τ_i² = Σ_d F[d, i_d], for powers up to `highest`; a single row holds for all inputs."""
        return self._compute_log_coefficients(highest)[..., None, :]


class _TaylorKernel(SeriesKernel):
    """k(χ) = Σ_{q ≤ Q} ξ_q χ^q with given ξ; those above zero are learnable, zeros stay zero."""

    def __init__(self, coefficients: Sequence[float] | Tensor, **kernel_options: Any) -> None:
        super().__init__(**kernel_options)
        given = to_float_tensor(coefficients, "Taylor coefficients")
        if not isinstance(coefficients, Tensor):
            given = given.to(torch.get_default_dtype())
        values = given.tolist() if given.ndim == 1 else []
        if not values or not all(0 <= value < float("inf") for value in values) or not any(values):
            raise InputError(
                "Taylor coefficients ξ_0, ξ_1, … must be finite, none below 0 and one above; "
                f"got {format_list(values) if values else f'shape {tuple(given.shape)}'}. "
                "A negative coefficient does not give a positive semi-definite kernel."
            )
        self._degree = len(values) - 1
        self._powers = [q for q, value in enumerate(values) if value > 0]
        self._register_positive("coefficients", given[given > 0])

    @property
    def coefficients(self) -> Float[Tensor, "*batch q"]:
        """ξ_0, …, ξ_Q."""
        learnt = self._get_positive("coefficients")
        dense = learnt.new_zeros(*learnt.shape[:-1], self._degree + 1)
        return dense.index_copy(-1, torch.tensor(self._powers, device=learnt.device), learnt)

    @coefficients.setter
    def coefficients(self, value: Tensor) -> None:
        zeros = [q for q in range(self._degree + 1) if q not in self._powers]
        if value.shape[-1] != self._degree + 1 or value[..., zeros].any():
            raise InputError(f"Coefficients can change only where they are not zero, at the powers {self._powers}.")
        self._set_positive("coefficients", value[..., self._powers])

    def _evaluate_series(self, chi: Float[Tensor, "*batch n k"]) -> Float[Tensor, "*batch n k"]:
        xi = self.coefficients[..., None, None, :]
        result = xi[..., self._degree] + torch.zeros_like(chi)
        for q in range(self._degree - 1, -1, -1):  # Horner
            result = result * chi + xi[..., q]
        return result

    def _compute_log_coefficients(self, max_degree: int) -> Float[Tensor, "*batch q"]:
        learnt = self._get_positive("coefficients")
        kept = [(row, q) for row, q in enumerate(self._powers) if q <= max_degree]
        logs = torch.full((*learnt.shape[:-1], max_degree + 1), -torch.inf).to(learnt)
        rows, powers = zip(*kept, strict=True) if kept else ((), ())
        return logs.index_copy(
            -1, torch.tensor(powers, dtype=torch.long, device=learnt.device), learnt[..., list(rows)].log()
        )


class DotProduct(_TaylorKernel, DotProductKernel):
    """K_m = Σ_q ξ_q (Σ_d x₁_d⋯x_m_d)^q from the Taylor coefficients ξ_0, ξ_1, … ≥ 0.

    >>> from tunedprior.kernels import Polynomial
    >>> x = torch.tensor([[0.5, -1.0], [0.2, 0.3]])
    >>> quadratic = DotProduct([1.0, 2.0, 1.0])  # (χ + 1)²
    >>> bool(torch.allclose(quadratic.evaluate_m_kernel(x, x), Polynomial(2, 1.0).evaluate_m_kernel(x, x)))
    True
    """


class DirectProduct(_TaylorKernel, DirectProductKernel):
    """K_m = Π_d Σ_q ξ_q (x₁_d⋯x_m_d)^q from the Taylor coefficients ξ_0, ξ_1, … ≥ 0."""
