"""L₄ = Σ_i τ_i⁴ ϑ_iϑ_iϑ_iϑ_i of the squared exponential kernel, by Bessel functions or their series."""

from functools import reduce
from itertools import count
from math import exp, factorial
from typing import Any

import torch
from jaxtyping import Float
from scipy import special
from torch import Tensor

from tunedprior.kernels.free_kernel import Product
from tunedprior.kernels.table1 import SquaredExponential

_SERIES_UP_TO = 30.0  # ν where summing L₄'s series term by term stops being faster than Bessel functions


def evaluate_squared_exponential_l4(base: SquaredExponential, left: Product, right: Product) -> Float[Tensor, "n k"]:
    """L₄ = e(left) e(right) Π_d h₀(ν_d² left_d right_d) for all pairs of rows.

    h₀ is that of `evaluate_bessel_clifford`.

    `left` and `right` each hold products of two of the four arguments, and e is their envelope.
    """
    exponent = left.log_envelope[:, None] + right.log_envelope
    factors = []
    nus = base.inverse_square_lengthscale.expand(1, left.points.shape[-1])[0].tolist()
    fits = sum(nus) < 300  # h₀ is up to e^{2ν_d} for each input; their product must not overflow
    for column, nu in enumerate(nus):
        t = nu**2 * left.points[:, None, column] * right.points[:, column]
        terms = None
        if fits and nu <= _SERIES_UP_TO:
            # So many that the truncation error, times the envelope of at most e^{-2√|t|}, is below 1e-18.
            terms = next(q for q in count(int(nu) + 1) if nu**q < 1e-9 * exp(nu) * factorial(q))
        else:
            # Undoes the scaling of the Bessel function; L₄ does not depend on it, so autograd may take it for constant.
            exponent = exponent + 2 * t.detach().clamp(min=0).sqrt()
        factors.append(evaluate_bessel_clifford(t, 0, terms))
    product: Tensor = reduce(torch.mul, factors)
    return product * exponent.exp()


def evaluate_bessel_clifford(t: Float[Tensor, "n k"], order: int, terms: int | None) -> Float[Tensor, "n k"]:
    """h_q(t) = Σ_k t^k/(k!(k+q)!), so that h_q' = h_{q+1}; h₀(t) = I₀(2√t), or J₀(2√-t) for t < 0.

    The series up to k = `terms`, or with None Bessel functions, then divided by e^{2√t} where t > 0: a factor
    that the derivatives treat as a constant.
    """
    result: Tensor = _BesselClifford.apply(t, order, terms)  # type: ignore[no-untyped-call]  # PyTorch has no types for it
    return result


class _BesselClifford(torch.autograd.Function):
    """h_q with the derivative h_{q+1}: autograd would differentiate √t, which has no derivative at 0."""

    @staticmethod
    def forward(ctx: Any, t: Float[Tensor, "n k"], order: int, terms: int | None) -> Float[Tensor, "n k"]:
        ctx.save_for_backward(t)
        ctx.order, ctx.terms = order, terms
        return _evaluate_scaled_bessel(t, order) if terms is None else _evaluate_series(t, order, terms)

    @staticmethod
    def backward(ctx: Any, gradient: Float[Tensor, "n k"]) -> tuple[Tensor, None, None]:
        (t,) = ctx.saved_tensors
        return gradient * evaluate_bessel_clifford(t, ctx.order + 1, ctx.terms), None, None


def _evaluate_series(t: Float[Tensor, "..."], order: int, terms: int) -> Float[Tensor, "..."]:
    result = torch.zeros_like(t)
    for k in range(terms, -1, -1):  # Horner
        result.mul_(t).add_(1 / (factorial(k) * factorial(k + order)))
    return result


def _evaluate_scaled_bessel(t: Float[Tensor, "n k"], order: int) -> Float[Tensor, "n k"]:
    z = 2 * t.abs().sqrt()
    up = t > 0
    if order > 1:  # t h_q = h_{q-2} - (q-1) h_{q-1}, which cancels near 0
        result = (_evaluate_scaled_bessel(t, order - 2) - (order - 1) * _evaluate_scaled_bessel(t, order - 1)) / t
        near = t.abs() < 1
        result[near] = _evaluate_series(t[near], order, 12) * torch.where(up, -z, 0)[near].exp()
        return result
    growing = [torch.special.i0e, torch.special.i1e][order]
    # SciPy's, because those of PyTorch 2.13 are wrong in the seventh digit.
    oscillating = [special.j0, special.j1][order]
    result = torch.empty_like(z)
    result[up] = growing(z[up])
    result[~up] = torch.as_tensor(oscillating(z[~up].cpu().numpy())).to(z)
    return result if order == 0 else torch.where(z > 0, 2 * result / z, 1)
