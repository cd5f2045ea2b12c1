"""Acquisition functions in closed form: a(x) = score(m_1(x), σ_1(x), …, m_s(x), σ_s(x)) over components of models.

Of one response: expected improvement and upper confidence bounds. Of several: log a(x) = log improvement(x) +
Σ log P(requirement | x) - E[log cost(x)], where the improvement is the expected improvement of the objective, of a
weighted sum of objectives, or of the dominated hypervolume. Responses are independent given their data, so each factor
is a sum over the components of one model. Each component is evaluated once, gradients are by hand, and no autograd
graph is kept.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import log, pi, sqrt
from typing import Any

import torch
from botorch.acquisition import AcquisitionFunction
from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning
from jaxtyping import Float
from torch import Tensor

from tunedprior.models.posterior import ComponentModel, Moments

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


#: The acquisition value from the moments of one or several models, and its derivatives by each of them.
Score = Callable[..., tuple[Float[Tensor, "..."], ...]]


class ClosedFormAcquisition(AcquisitionFunction):
    """a(x) = score(m_1(x), σ_1(x), …, m_s(x), σ_s(x)), over the components of one model, or of several.

    Args:
        models: The model of each response.
        score: The acquisition value from their means and standard deviations, with its derivatives.
    """

    def __init__(self, models: Sequence[ComponentModel], score: Score) -> None:
        first: Any = models[0]
        super().__init__(getattr(first, "model", first))  # BoTorch's searches begin at its training inputs
        self._score, self._each = score, [one.make_moment_function() for one in models]

    def forward(self, X: Float[Tensor, "*b 1 k"]) -> Float[Tensor, "*b"]:
        """a(x) at a batch of points; autograd takes the gradient by hand."""
        points = X.flatten(0, -2)
        if X.requires_grad and torch.is_grad_enabled():
            values: Tensor = _AnalyticGradient.apply(points, self)  # type: ignore[no-untyped-call]  # PyTorch has no types for it
        else:
            with torch.no_grad():
                moments = [one.evaluate(points)[0] for one in self._each]
                values = self._score(*chain.from_iterable(moments))[0]
        return values.reshape(X.shape[:-2])

    @torch.no_grad()
    def evaluate_with_gradients(self, points: Float[Tensor, "b k"]) -> tuple[Float[Tensor, " b"], Float[Tensor, "b k"]]:
        """a and ∂a/∂x at every row of points, by the chain rule."""
        found = [one.evaluate(points) for one in self._each]
        value, *slopes = self._score(*chain.from_iterable(moments for moments, _ in found))
        by_points = [back(*slopes[2 * k : 2 * k + 2]) for k, (_, back) in enumerate(found)]
        return value, by_points[0] if len(by_points) == 1 else torch.stack(by_points).sum(0)


class _AnalyticGradient(torch.autograd.Function):
    """a(x) for PyTorch's automatic differentiation, with ∂a/∂x by hand."""

    @staticmethod
    def forward(ctx: Any, points: Float[Tensor, "b k"], acquisition: ClosedFormAcquisition) -> Float[Tensor, " b"]:
        """a(x) at every row of points."""
        values, gradients = acquisition.evaluate_with_gradients(points.detach())
        ctx.save_for_backward(gradients)
        return values

    @staticmethod
    def backward(ctx: Any, slope: Float[Tensor, " b"]) -> tuple[Float[Tensor, "b k"], None]:
        """The gradient by x, from that by a(x)."""
        (gradients,) = ctx.saved_tensors
        return slope[:, None] * gradients, None


def compute_log_expected_improvement(
    weights: Float[Tensor, " s"], best: Float[Tensor, "*s1"], mean: Float[Tensor, "s b"], sigma: Float[Tensor, "s b"]
) -> tuple[Float[Tensor, " b"], Float[Tensor, "s b"], Float[Tensor, "s b"]]:
    """log Σ_s w_s σ_s h(u_s) with u_s = (m_s - best_s)/σ_s, and its derivatives by m and σ."""
    log_h, slope, rest = compute_log_improvement((mean - best) / sigma)
    each = weights.log()[:, None] + log_h + sigma.log()
    value = each.logsumexp(0)
    share = (each - value).exp() / sigma
    return value, share * slope, share * rest


def compute_upper_confidence_bound(
    weights: Float[Tensor, " s"], width: Float[Tensor, ""], mean: Float[Tensor, "s b"], sigma: Float[Tensor, "s b"]
) -> tuple[Float[Tensor, " b"], Float[Tensor, "s b"], Float[Tensor, "s b"]]:
    """Σ_s w_s (m_s + √β σ_s), and its derivatives by m and σ."""
    by_mean = weights[:, None].expand_as(mean)
    return weights @ (mean + width * sigma), by_mean, width * by_mean


#: Closer to a target than this, in standard deviations of the response, nothing is worth improving.
CLOSE_ENOUGH = 1e-3
_LEAST_SHARE = 1e-12


@dataclass(frozen=True, eq=False)
class ScaledGoal:
    """u(f) of one response, in units of its observations: f itself, or minus its distance to the target.

    Attributes:
        response: The name of the response.
        weights: The weights of the components of its model.
        low: The lower end of the target; ∞ where as much as possible is wanted.
        high: The upper end of the target.
    """

    response: str
    weights: Float[Tensor, " s"]
    low: float = torch.inf
    high: float = torch.inf

    def compute_utility(self, y: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """u(y) of given responses."""
        if self.low == torch.inf:
            return y
        return -torch.maximum(self.low - y, y - self.high).clamp_min(0.0)

    def compute_log_improvement(self, level: Float[Tensor, "..."], moments: Moments) -> Float[Tensor, "..."]:
        """log E[(u(f) - level)₊] = log Σ_s w_s E_s[…], for each level (the first axis) and setting (the last)."""
        mean, sigma = moments
        level = level[..., None, None]
        if self.low == torch.inf:
            each = compute_log_excess(level, mean, sigma)
        else:
            each = compute_log_closeness((-level).clamp_min(CLOSE_ENOUGH), mean, sigma, self.low, self.high)
        return (each + self.weights.log()[:, None]).logsumexp(-2)

    def compute_moments(self, moments: Moments) -> tuple[Float[Tensor, " b"], Float[Tensor, " b"]]:
        """Mean and variance of u(f) under the mixture; a distance to a range is the sum of two shortfalls."""
        mean, sigma = moments
        square = mean.square() + sigma.square()
        if self.low != torch.inf:
            below, above = (
                _compute_shortfall_moments((self.low - mean) / sigma),
                _compute_shortfall_moments((mean - self.high) / sigma),
            )
            mean, square = -sigma * (below[0] + above[0]), sigma.square() * (below[1] + above[1])
        middle = self.weights @ mean
        return middle, (self.weights @ square - middle.square()).clamp_min(1e-12)


def _compute_shortfall_moments(u: Float[Tensor, "..."]) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."]]:
    """E[(u - Z)₊] = u Φ + φ and E[(u - Z)₊²] = (1 + u²) Φ + u φ, for a standard normal Z."""
    density, below = (-u.square() / 2).exp() / (2 * torch.pi) ** 0.5, torch.special.ndtr(u)
    return u * below + density, (1 + u.square()) * below + u * density


Term = Callable[[Mapping[str, Moments]], Float[Tensor, " b"]]


def make_improvement_term(goal: ScaledGoal, best: Float[Tensor, ""]) -> Term:
    """log E[(u(f) - best)₊]."""
    return lambda at: goal.compute_log_improvement(best, at[goal.response])


def make_weighted_improvement_term(goals: Sequence[ScaledGoal], worths: Sequence[float], best: float) -> Term:
    """log E[(Σ_r ω_r u_r(f_r) - best)₊], with a normal approximation to the sum by its mean and variance."""

    def compute_term(at: Mapping[str, Moments]) -> Float[Tensor, " b"]:
        found = [one.compute_moments(at[one.response]) for one in goals]
        mean = torch.stack([worth * m for worth, (m, _) in zip(worths, found, strict=True)]).sum(0)
        variance = torch.stack([worth**2 * v for worth, (_, v) in zip(worths, found, strict=True)]).sum(0)
        return compute_log_excess(mean.new_tensor(best), mean, variance.sqrt())

    return compute_term


def make_hypervolume_term(
    goals: Sequence[ScaledGoal], front: Float[Tensor, "n m"], reference: Float[Tensor, " m"]
) -> Term:
    """log Σ_cells Π_r (E[(u_r - lower_r)₊] - E[(u_r - upper_r)₊]): expected hypervolume improvement, in closed form.

    The cells divide the region above the reference point that no point of the front dominates.
    """
    cells = FastNondominatedPartitioning(reference, front).hypercell_bounds
    lower, upper = cells[0].mT, cells[1].mT

    def compute_term(at: Mapping[str, Moments]) -> Float[Tensor, " b"]:
        total = lower.new_zeros(())
        for one, low, high in zip(goals, lower, upper, strict=True):
            # Cells share their sides, so every level is looked at once.
            levels, which = torch.cat([low, high]).unique(return_inverse=True)
            finite = levels.isfinite()
            above = torch.full((len(levels), at[one.response][0].shape[-1]), -torch.inf).to(levels)
            above = above.index_put(
                (finite.nonzero().flatten(),), one.compute_log_improvement(levels[finite], at[one.response])
            )
            bottom, top = above[which[: len(low)]], above[which[len(low) :]]
            within = torch.log1p(-(top - bottom).exp().clamp_max(1 - _LEAST_SHARE))
            total = total + bottom + within
        return total.logsumexp(0)

    return compute_term


def make_probability_term(
    response: str, weights: Float[Tensor, " s"], low: float, high: float, noise: Float[Tensor, " s"] | None = None
) -> Term:
    """log P(low ≤ f ≤ high); with `noise`, the probability that a noisy measurement is in the interval."""

    def compute_term(at: Mapping[str, Moments]) -> Float[Tensor, " b"]:
        mean, sigma = at[response]
        if noise is not None:
            sigma = (sigma.square() + noise[:, None]).sqrt()
        return (compute_log_probability_within(low, high, mean, sigma) + weights.log()[:, None]).logsumexp(0)

    return compute_term


def make_cost_term(response: str, weights: Float[Tensor, " s"], scale: float) -> Term:
    """-E[log cost], for a response that is the logarithm of the cost divided by `scale`."""
    return lambda at: -scale * (weights @ at[response][0])


class ComposedAcquisition(ClosedFormAcquisition):
    """log a(x) = Σ_t term_t(m(x), σ(x)).

    Args:
        models: The components of each response's model.
        terms: The logarithms of the factors.
    """

    def __init__(self, models: Mapping[str, ComponentModel], terms: Sequence[Term]) -> None:
        super().__init__(list(models.values()), self._compute_score)
        self._names, self._terms = list(models), list(terms)

    def _compute_score(self, *moments: Float[Tensor, "_ b"]) -> tuple[Float[Tensor, "..."], ...]:
        """The value and its derivatives by the moments, by automatic differentiation."""
        leaves = [one.detach().requires_grad_() for one in moments]
        at = dict(zip(self._names, zip(leaves[::2], leaves[1::2], strict=True), strict=True))
        with torch.enable_grad():
            value = torch.stack([term(at) for term in self._terms]).sum(0)
            slopes = torch.autograd.grad(value.sum(), leaves, allow_unused=True)
        each = (torch.zeros_like(one) if slope is None else slope for one, slope in zip(leaves, slopes, strict=True))
        return value.detach(), *(slope.nan_to_num() for slope in each)
