"""ρ of the hypotheses that say the objective is ρ·ĝ + …: its posterior given observations, and a known sign."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.average.old_sets import SourceData
from tunedprior.average.weighing import WeightedHypotheses

# The probability that a user who says which way an old response runs is right.
_RIGHT = 0.98
# Hypotheses with less than this share of the weight of all that have a ρ change no digit that is shown.
_LEAST_SHARE = 1e-4


@dataclass(frozen=True, eq=False)
class Slopes:
    """ρ | D ~ N(mean, deviation²) for some hypotheses about one old data set, in standardised units.

    Attributes:
        rows: The numbers of the hypotheses.
        mean: E[ρ | D] of each.
        deviation: Its standard deviation.
        factor: The Cholesky factor of the observations' covariance R over the amplitude, of each.
        solved: R⁻¹y of each.
    """

    rows: Int[Tensor, " k"]
    mean: Float[Tensor, " k"]
    deviation: Float[Tensor, " k"]
    factor: Float[Tensor, "k n n"]
    solved: Float[Tensor, "k n 1"]

    @property
    def positive(self) -> Float[Tensor, " k"]:
        """P(ρ > 0 | D) of each."""
        probability: Tensor = torch.special.ndtr(self.mean / self.deviation)
        return probability


def compute_slopes(
    old: SourceData, weighed: WeightedHypotheses, x: Float[Tensor, "n d"], y: Float[Tensor, "n 1"]
) -> Slopes:
    """With ρ ~ N(0, a·s) a priori, and covariance a·R of the observations: ρ | D ~ N(s ĝᵀR⁻¹y, a (s - s² ĝᵀR⁻¹ĝ))."""
    among = weighed.hypotheses
    of_it = torch.tensor([label.old == old.name for label in among.labels]) & (among.slopes > 0)
    rows = (of_it & (weighed.weights > _LEAST_SHARE * (weighed.weights * of_it).sum())).nonzero().flatten()
    every = torch.stack([reading(x) for reading in old.fits])
    expected = every[torch.tensor(among.fit_indices)[rows], :, None]
    factor = weighed.build_dense_factors(rows)
    solved = torch.cholesky_solve(torch.cat([expected, y.expand(len(rows), *y.shape)], dim=-1), factor)
    with_itself, with_y = (expected.mT @ solved)[:, 0].unbind(-1)
    share = among.slopes[rows]
    variance = weighed.amplitude[rows] * (share - share**2 * with_itself)
    return Slopes(rows, share * with_y, variance.clamp_min(1e-300).sqrt(), factor, solved[..., 1:])


def apply_known_signs(
    weighed: WeightedHypotheses, known: tuple[SourceData, ...], x: Float[Tensor, "n d"], y: Float[Tensor, "n 1"]
) -> WeightedHypotheses:
    """p(h | D) P(ρ has the sign that the user named | D, h), for old data sets of which a relation is known.

    The user may be wrong: a share of the probability is kept for the other sign.
    """
    factor = torch.ones_like(weighed.weights)
    for old in known:
        if old.sign:
            slopes = compute_slopes(old, weighed, x, y)
            right = slopes.positive if old.sign > 0 else 1 - slopes.positive
            factor[slopes.rows] = (1 - _RIGHT) + (2 * _RIGHT - 1) * right
    weights = weighed.weights * factor
    return replace(weighed, weights=weights / weights.sum())
