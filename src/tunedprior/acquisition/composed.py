"""Acquisition functions of several responses, as a product of closed-form factors on a logarithmic scale.

log a(x) = log improvement(x) + Σ log P(requirement | x) - E[log cost(x)]. The improvement is the expected improvement
of the objective, of a weighted sum of objectives, or of the dominated hypervolume. Responses are independent given
their data, so each factor is a sum over the components of one model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.closed_form import ClosedFormAcquisition
from tunedprior.models.posterior import ComponentModel, Moments
from tunedprior.numerics.log_improvements import (
    compute_log_closeness,
    compute_log_excess,
    compute_log_probability_within,
)

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
