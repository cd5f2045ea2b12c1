"""Expected improvement of normal variables on a logarithmic scale, accurate far into the tails, with derivatives."""

from math import log, pi, sqrt
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

# Beyond so many standard deviations, the first terms of an asymptotic series are exact up to rounding.
_FAR_DOWN, _FAR_UP = -100.0, 30.0
# Below this many standard deviations, an interval is narrow enough for the density to be the same all over it.
_NARROW = 1e-3
_TINY = 1e-300


def compute_log_improvement(u: Float[Tensor, "*shape"]) -> tuple[Float[Tensor, "*shape"], ...]:
    """log h, h'/h = Φ/h and 1 - u h'/h = φ/h, where h(u) = φ(u) + u Φ(u) = φ (1 + u M) with Mills's ratio M = Φ/φ.

    For u ≪ 0 by the asymptotic series 1 + u M = u⁻² - 3u⁻⁴ + 15u⁻⁶ - …, for u ≫ 0 by h = u.
    """
    near = u.clamp(_FAR_DOWN, _FAR_UP)
    mills = sqrt(pi / 2) * torch.special.erfcx(near / -sqrt(2))
    gap = 1 + near * mills
    log_h, slope, rest = gap.log() - near.square() / 2 - log(2 * pi) / 2, mills / gap, 1 / gap
    if (near == u).all():
        return log_h, slope, rest
    t = u.clamp_max(_FAR_DOWN) ** -2
    below, above = u < _FAR_DOWN, u > _FAR_UP
    gap = t * (1 - t * (3 - t * (15 - 105 * t)))
    for found, far_down, far_up in (
        (log_h, gap.log() - u.square() / 2 - log(2 * pi) / 2, u.log()),
        (slope, (gap - 1) / u / gap, 1 / u),
        (rest, 1 / gap, torch.zeros_like(u)),
    ):
        found.copy_(torch.where(below, far_down, torch.where(above, far_up, found)))
    return log_h, slope, rest


class _LogImprovement(torch.autograd.Function):
    """log h(u), with its derivative by hand."""

    @staticmethod
    def forward(ctx: Any, u: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        log_h, slope, _ = compute_log_improvement(u)
        ctx.save_for_backward(slope)
        return log_h

    @staticmethod
    def backward(ctx: Any, by_value: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        (slope,) = ctx.saved_tensors
        by_u: Tensor = by_value * slope
        return by_u


def _evaluate_log_h(u: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    found: Tensor = _LogImprovement.apply(u)  # type: ignore[no-untyped-call]  # PyTorch has no types for it
    return found


def compute_log_excess(
    level: Float[Tensor, "..."], mean: Float[Tensor, "..."], sigma: Float[Tensor, "..."]
) -> Float[Tensor, "..."]:
    """log E[(f - level)₊] = log σ h((m - level)/σ) for f ~ N(m, σ²); differentiable."""
    return _evaluate_log_h((mean - level) / sigma) + sigma.log()


def compute_log_closeness(
    distance: Float[Tensor, "..."],
    mean: Float[Tensor, "..."],
    sigma: Float[Tensor, "..."],
    low: float,
    high: float,
) -> Float[Tensor, "..."]:
    """log E[(distance - dist(f, [low, high]))₊] for f ~ N(m, σ²): a trapezoid, of four expected improvements.

    = log σ (h(u₁) - h(u₂) - h(u₃) + h(u₄)), with u = (m - edge)/σ at the edges low - distance, low, high and
    high + distance. The mean is mirrored to lie below the middle, where the first is the largest; for a single value
    and a distance far below σ, where they cancel, it is the area of the triangle times the density.
    """
    middle, half = (low + high) / 2, (high - low) / 2
    below = middle - (mean - middle).abs()
    edges = (middle - half - distance, middle - half, middle + half, middle + half + distance)
    first, *rest = (_evaluate_log_h((below - edge) / sigma) for edge in edges)
    second, third, fourth = ((one - first).exp() for one in rest)
    share = (1 - second - third + fourth).clamp_min(_TINY)
    trapezoid = first + share.log() + sigma.log()
    if half > 0:
        return trapezoid
    u = (below - middle) / sigma
    triangle = 2 * distance.log() - sigma.log() - u.square() / 2 - log(2 * pi) / 2
    narrow = distance < _NARROW * sigma
    return torch.where(narrow, triangle, torch.where(narrow, torch.zeros_like(trapezoid), trapezoid))


def compute_log_probability_within(
    low: float, high: float, mean: Float[Tensor, "..."], sigma: Float[Tensor, "..."]
) -> Float[Tensor, "..."]:
    """log P(low ≤ f ≤ high) for f ~ N(m, σ²)."""
    if low == -torch.inf:
        return _compute_log_cdf((high - mean) / sigma)
    if high == torch.inf:
        return _compute_log_cdf((mean - low) / sigma)
    middle = (low + high) / 2
    below = middle - (mean - middle).abs()  # mirrored: from there both edges lie above, and differences do not cancel
    far, near = (_compute_log_cdf((below - edge) / sigma) for edge in (high, low))
    return near + torch.log1p(-(far - near).exp().clamp_max(1 - 1e-15))


def _compute_log_cdf(u: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    found: Tensor = torch.special.log_ndtr(u)
    return found
