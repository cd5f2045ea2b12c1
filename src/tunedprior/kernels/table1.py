"""Table 1 of the paper: the named free kernels, made from Taylor series k(χ) = Σ_q ξ_q χ^q with every ξ_q ≥ 0.

Also L₄ = Σ_i τ_i⁴ ϑ_iϑ_iϑ_iϑ_i of the squared exponential kernel, by Bessel functions or their series.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import count
from math import comb, exp, factorial, log
from numbers import Real
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from scipy import special
from torch import Tensor

from tunedprior.checks import format_list, format_value, to_float_tensor
from tunedprior.errors import InputError
from tunedprior.kernels.free_kernel import FreeKernel, LengthscaleKernel, Product
from tunedprior.kernels.registry import (
    OneNumber,
    SeriesCoefficients,
    WholeNumber,
    register_kernel,
)


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

    saved_arguments: ClassVar[Mapping[str, Any]] = {"coefficients": SeriesCoefficients}

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


@register_kernel
class DotProduct(_TaylorKernel, DotProductKernel):
    """K_m = Σ_q ξ_q (Σ_d x₁_d⋯x_m_d)^q from the Taylor coefficients ξ_0, ξ_1, … ≥ 0.

    >>> from tunedprior.kernels import Polynomial
    >>> x = torch.tensor([[0.5, -1.0], [0.2, 0.3]])
    >>> quadratic = DotProduct([1.0, 2.0, 1.0])  # (χ + 1)²
    >>> bool(torch.allclose(quadratic.evaluate_m_kernel(x, x), Polynomial(2, 1.0).evaluate_m_kernel(x, x)))
    True
    """


@register_kernel
class DirectProduct(_TaylorKernel, DirectProductKernel):
    """K_m = Π_d Σ_q ξ_q (x₁_d⋯x_m_d)^q from the Taylor coefficients ξ_0, ξ_1, … ≥ 0."""


class _Placement(torch.nn.Module):
    """The dtype and device that a kernel without parameters was moved to.

    A module of its own because GPyTorch would slice a kernel's own buffer along batch axes.
    """

    here: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("here", torch.empty(0), persistent=False)


class _ParameterFreeKernel(SeriesKernel):
    """A free kernel without parameters: it has no batch shape of its own, only its inputs may have one."""

    saved_arguments: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, **kernel_options: Any) -> None:
        super().__init__(**kernel_options)
        self._placement = _Placement()

    @property
    def dtype(self) -> torch.dtype:
        """The dtype that the kernel was moved to."""
        if {parameter.dtype for parameter in self.parameters()} - {self._placement.here.dtype}:
            raise RuntimeError("The kernel's parameters have multiple dtypes.")
        return self._placement.here.dtype

    @property
    def device(self) -> torch.device:
        """The device that the kernel was moved to."""
        return self._placement.here.device

    def compute_weights(self, max_degree: int, num_inputs: int | None = None) -> Float[Tensor, " p"]:
        """τ, in the dtype and on the device the kernel was moved to."""
        return super().compute_weights(max_degree, num_inputs).to(self._placement.here)

    @property
    def batch_shape(self) -> torch.Size:
        """Always empty: there are no parameters, and so no batch of them."""
        return torch.Size([])


@register_kernel
class Linear(_ParameterFreeKernel, DotProductKernel):
    """K_m = Σ_d x₁_d⋯x_m_d. Table 1."""

    def _evaluate_series(self, chi: Float[Tensor, "*batch n k"]) -> Float[Tensor, "*batch n k"]:
        return chi

    def _compute_log_coefficients(self, max_degree: int) -> Float[Tensor, " q"]:
        return torch.tensor([0.0 if q == 1 else -torch.inf for q in range(max_degree + 1)], dtype=torch.float64)


def _compute_log_power(power: float | Tensor, base: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """log(base^power), 0 for 0⁰."""
    result: Tensor = torch.special.xlogy(power, base)
    return result


@register_kernel
class Polynomial(DotProductKernel):
    """K_m = (Σ_d x₁_d⋯x_m_d + ν)^p, with ξ_q = C(p, q) ν^{p-q}. Table 1.

    Args:
        degree: p, 0 or more.
        offset: ν ≥ 0; learnable, and tuned by `select`, unless it is 0 (the homogeneous polynomial), which stays 0.
        **kernel_options: As for `FreeKernel`.
    """

    tuned_parameter = "offset"
    saved_arguments: ClassVar[Mapping[str, Any]] = {"degree": WholeNumber, "offset": OneNumber}

    def __init__(self, degree: int, offset: float | Tensor = 1.0, **kernel_options: Any) -> None:
        super().__init__(**kernel_options)
        if not isinstance(degree, Real) or isinstance(degree, bool) or degree % 1 != 0 or degree < 0:
            raise InputError(f"A polynomial's degree must be a whole number, 0 or more; got {format_value(degree)}.")
        self.degree: int = int(degree)
        self._register_positive("offset", offset)

    @property
    def offset(self) -> Float[Tensor, "*batch 1"]:
        """ν."""
        return self._get_positive("offset")

    @offset.setter
    def offset(self, value: float | Tensor) -> None:
        self._set_positive("offset", value)

    def _evaluate_series(self, chi: Float[Tensor, "*batch n k"]) -> Float[Tensor, "*batch n k"]:
        return (chi + self.offset[..., None]) ** self.degree

    def _compute_log_coefficients(self, max_degree: int) -> Float[Tensor, "*batch q"]:
        offset = self.offset
        return torch.cat(
            [
                log(comb(self.degree, q)) + _compute_log_power(self.degree - q, offset)
                if q <= self.degree
                else torch.full_like(offset, -torch.inf)
                for q in range(max_degree + 1)
            ],
            dim=-1,
        )


class _ScaledSeriesKernel(DotProductKernel):
    """A dot-product kernel k(νχ), so that log ξ_q = q log ν + a constant of the series.

    Args:
        scale: ν ≥ 0; learnable, and tuned by `select`, unless it is 0, which stays 0: then K_m is constant.
        **kernel_options: As for `FreeKernel`.
    """

    tuned_parameter = "scale"
    saved_arguments: ClassVar[Mapping[str, Any]] = {"scale": OneNumber}

    def __init__(self, scale: float | Tensor = 1.0, **kernel_options: Any) -> None:
        super().__init__(**kernel_options)
        self._register_positive("scale", scale)

    @property
    def scale(self) -> Float[Tensor, "*batch 1"]:
        """ν."""
        return self._get_positive("scale")

    @scale.setter
    def scale(self, value: float | Tensor) -> None:
        self._set_positive("scale", value)

    def _compute_exponential_log_coefficients(self, max_degree: int) -> Float[Tensor, "*batch q"]:
        """log(ν^q/q!) for q = 0 … max_degree."""
        q = torch.arange(max_degree + 1).to(self.scale)
        return _compute_log_power(q, self.scale) - torch.lgamma(q + 1)


@register_kernel
class Sinh(_ScaledSeriesKernel):
    """K_m = sinh(ν Σ_d x₁_d⋯x_m_d), with ξ_q = ν^q/q! for odd q. Table 1; ν is `scale`."""

    def _evaluate_series(self, chi: Float[Tensor, "*batch n k"]) -> Float[Tensor, "*batch n k"]:
        return torch.sinh(self.scale[..., None] * chi)

    def _compute_log_coefficients(self, max_degree: int) -> Float[Tensor, "*batch q"]:
        logs = self._compute_exponential_log_coefficients(max_degree)
        even = torch.arange(max_degree + 1, device=logs.device) % 2 == 0
        return logs.masked_fill(even, -torch.inf)


@register_kernel
class Exponential(_ScaledSeriesKernel):
    """K_m = exp(ν Σ_d x₁_d⋯x_m_d), with ξ_q = ν^q/q!. Table 1; ν is `scale`."""

    def _evaluate_series(self, chi: Float[Tensor, "*batch n k"]) -> Float[Tensor, "*batch n k"]:
        return torch.exp(self.scale[..., None] * chi)

    def _compute_log_coefficients(self, max_degree: int) -> Float[Tensor, "*batch q"]:
        return self._compute_exponential_log_coefficients(max_degree)

    def compute_log_factors(self, highest: int) -> Float[Tensor, "d q"]:
        """F with log τ_i² = Σ_d F[d, i_d], for powers up to `highest`; a single row holds for all inputs."""
        return self._compute_exponential_log_coefficients(highest)[
            ..., None, :
        ]  # the exponential of a sum is a product


@register_kernel
class LogRatio(_ParameterFreeKernel, DirectProductKernel):
    """K_m = Π_d ln((1 + x₁_d⋯x_m_d)/(1 - x₁_d⋯x_m_d)), with ξ_q = 2/q for odd q. Table 1; |x| < 1."""

    bounded_domain = True
    open_domain = True

    def _evaluate_series(self, chi: Float[Tensor, "*batch n k"]) -> Float[Tensor, "*batch n k"]:
        return 2 * torch.atanh(chi)  # the same function, without the cancellation of 1 ± χ near 0

    def _compute_log_coefficients(self, max_degree: int) -> Float[Tensor, " q"]:
        logs = [log(2 / q) if q % 2 else -torch.inf for q in range(max_degree + 1)]
        return torch.tensor(logs, dtype=torch.float64)


@register_kernel
class SquaredExponential(LengthscaleKernel):
    """K_m = exp(Σ_d ν_d x₁_d⋯x_m_d - ½ Σ_k Σ_d ν_d x_{k,d}²) with ν_d = 1/ℓ_d². Table 1; x in [-1, 1].

    ϑ_i(x) = xⁱ exp(-½ Σ_d ν_d x_d²) and τ_i² = Π_d ν_d^{i_d}/i_d!. K₂ is the usual exp(-½ Σ_d (x_d - x'_d)²/ℓ_d²),
    but for m > 2 the kernel is not translation-invariant: it depends on the origin, and explodes outside [-1, 1].

    Args:
        lengthscale: ℓ, one number for all inputs or one for each (ARD); learnable.
        **kernel_options: As for `FreeKernel`, and GPyTorch's `lengthscale_prior` and `lengthscale_constraint`.
    """

    bounded_domain = True

    def evaluate_input_log_envelopes(self, points: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch2 n d"]:
        """log e_d(x_d) = -½ ν_d x_d², input by input."""
        return -(self.inverse_square_lengthscale * points**2) / 2

    def evaluate_matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        """Σ_i τ_i² ϑ_i(left row) ϑ_i(right row), for all pairs of rows."""
        exponent = (self.inverse_square_lengthscale * left.points) @ right.points.mT
        exponent = exponent + left.log_envelope[..., :, None] + right.log_envelope[..., None, :]
        # Inside [-1, 1] it is never positive; with ℓ below 1e-6 rounding could make it so, and overflow.
        return torch.exp(exponent.clamp(max=0))

    def compute_weights_at(self, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch p"]:
        """τ at the given multi-indices."""
        log_nu = self.inverse_square_lengthscale.log()
        powers = indices.to(log_nu)
        return torch.exp((powers * log_nu - torch.lgamma(powers + 1)).sum(-1) / 2)

    def compute_log_factors(self, highest: int) -> Float[Tensor, "d q"]:
        """F with log τ_i² = Σ_d F[d, i_d], for powers up to `highest`; a single row holds for all inputs."""
        powers = torch.arange(highest + 1).to(self.lengthscale)
        return powers * self.inverse_square_lengthscale[0].log()[:, None] - torch.lgamma(powers + 1)

    def compute_log_mean_squares(self, highest: int, far: Float[Tensor, " d"]) -> Float[Tensor, "d q"]:
        """log of the mean of ϑ_k(x_d)² over |x_d| ≤ far_d, for each input d and power k ≤ highest."""
        # ∫₀^far t^{2k} e^{-νt²} dt is half an incomplete gamma function.
        halves, nu = torch.arange(highest + 1).to(far) + 0.5, self.inverse_square_lengthscale[0, :, None]
        gamma: Tensor = torch.lgamma(halves) + torch.special.gammainc(halves, nu * far[:, None] ** 2).log()
        return gamma - halves * nu.log() - (2 * far[:, None]).log()

    def compute_log_peaks(self, highest: int, far: Float[Tensor, " d"]) -> Float[Tensor, "d q"]:
        """max log |ϑ_k(x_d)| over |x_d| ≤ far_d, for each input d and power k ≤ highest."""
        powers, nu = torch.arange(highest + 1).to(far), self.inverse_square_lengthscale[0, :, None]
        peak: Tensor = torch.minimum(far[:, None], (powers / nu).sqrt())
        logs: Tensor = torch.special.xlogy(powers, peak)
        return logs - nu * peak.square() / 2


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
        return _evaluate_scaled_bessel(t, order) if terms is None else _evaluate_bessel_series(t, order, terms)

    @staticmethod
    def backward(ctx: Any, gradient: Float[Tensor, "n k"]) -> tuple[Tensor, None, None]:
        (t,) = ctx.saved_tensors
        return gradient * evaluate_bessel_clifford(t, ctx.order + 1, ctx.terms), None, None


def _evaluate_bessel_series(t: Float[Tensor, "..."], order: int, terms: int) -> Float[Tensor, "..."]:
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
        result[near] = _evaluate_bessel_series(t[near], order, 12) * torch.where(up, -z, 0)[near].exp()
        return result
    growing = [torch.special.i0e, torch.special.i1e][order]
    # SciPy's, because those of PyTorch 2.13 are wrong in the seventh digit.
    oscillating = [special.j0, special.j1][order]
    result = torch.empty_like(z)
    result[up] = growing(z[up])
    result[~up] = torch.as_tensor(oscillating(z[~up].cpu().numpy())).to(z)
    return result if order == 0 else torch.where(z > 0, 2 * result / z, 1)
