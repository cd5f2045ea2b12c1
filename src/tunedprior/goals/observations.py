"""Training data of a surrogate model, and output warping of results that are far worse than all others.

A diverged loss of 1e30 beside results from 0.2 to 0.4 leaves a standardised response with two values. So only the rank
of such a result counts, and not its size, as in the half-rank warping of Vizier's Gaussian process bandit (Song et al.,
2024, arXiv:2408.11527). Unlike there, nothing changes while a model can resolve the results as they are.
"""

from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64
from numpy import ndarray
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Observations:
    """A model's training data: encoded settings X, and responses y to be maximised with mean 0 and variance 1.

    Attributes:
        X: Settings, as `Box.encode` gives them.
        y: Responses; `shift + scale * y` has the user's units (with the opposite sign if the user minimises).
        noise_std: The noise's standard deviation in units of `y`, where the user knows it.
        shift: The mean that was subtracted.
        scale: The standard deviation by which the responses were then divided.
        relative_noise: The noise variance of each observation, over that of `noise_std`; None if they are the same.
    """

    X: Float[Tensor, "n k"]
    y: Float[Tensor, "n 1"]
    noise_std: float | None = None
    shift: float = 0.0
    scale: float = 1.0
    relative_noise: Float[Tensor, " n"] | None = None

    def __len__(self) -> int:
        return len(self.y)

    def append_observations(self, X: Float[Tensor, "p k"], y: Float[Tensor, "p 1"]) -> "Observations":
        """The observations with more of them appended, `y` in the same units."""
        noise = self.relative_noise
        return replace(
            self,
            X=torch.cat([self.X, X]),
            y=torch.cat([self.y, y]),
            relative_noise=None if noise is None else torch.cat([noise, torch.ones(len(y)).to(noise)]),
        )

    def compute_noise_variances(self, least: float) -> Float[Tensor, "n 1"] | None:
        """The noise variance of each observation, at least `least`; None where it is not known."""
        if self.noise_std is None:
            return None
        variance = torch.full_like(self.y, self.noise_std**2)
        if self.relative_noise is not None:
            variance = variance * self.relative_noise[:, None]
        return variance.clamp_min(least)


# A result is far worse if it is so many times as far from the best as the better half of them: the noise that a model
# must assume to be stable is then as large as the differences between these. Or, where fewer are good, as the best
# quarter or eighth; these are small shares also of responses over many decades, and of such that are nearly flat.
_FAR = {2: 1e3, 4: 1e6, 8: 1e9}
# Or as the best few, wherever they are: no search converges as far as that.
_FAR_FROM_FEW = 1e15
# Settings nearer than this share of the box's diagonal count once: a search that has converged has many results that
# are nearly the same, and says nothing by it of how much the response varies.
_APART = 0.05
# Results at settings apart, and the number of them that makes up a half, quarter or eighth at least.
_LEAST, _FEW = 4, 3
# Good results that differ by less, relative to their size, differ by rounding alone.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class WorseDirection:
    """The direction in which a response gets worse, on the scale of the model.

    Attributes:
        centre: The value away from which it gets worse on both sides; None if less of it is worse.
        ends: Values at which a goal or requirement ends: warping moves no result across one.
    """

    centre: float | None = None
    ends: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class WarpedResponses:
    """Responses in which those that are far worse than the others are merely worse.

    Attributes:
        y: The responses; order is kept, and so is equality.
        far: Which of them were changed.
    """

    y: Float64[ndarray, " n"]
    far: Bool[ndarray, " n"]


def warp_far_worse(
    y: Float64[ndarray, " n"], inputs: Float[Tensor, "n k"], num_axes: int, worse: WorseDirection
) -> WarpedResponses:
    """y' = worst - s·rank/ranks for y < best - 1000 s, with s the range of the better half, worst that of all others.

    Where a response gets worse on both sides of a centre, distances to it take the place of those to the best. A
    response that is far better than the others is left as it is.

    Args:
        y: Responses on the scale of the model, more being better unless there is a centre; NaN for a failed run.
        inputs: The settings, as `Box.to_kernel_inputs` gives them.
        num_axes: The number of parameters.
        worse: The direction in which the response gets worse.
    """
    unchanged = WarpedResponses(y, np.zeros(len(y), dtype=bool))
    told = np.flatnonzero(~np.isnan(y))
    if len(told) < _LEAST:
        return unchanged
    half = y[told] / 2  # so that no difference overflows
    centre = half.max() if worse.centre is None else worse.centre / 2
    distance = np.abs(half - centre)
    third = float(np.partition(distance, _FEW - 1)[_FEW - 1])
    if not distance.max() > min(_FAR.values()) * third:
        return unchanged  # no part of them reaches less far than the third
    apart = np.sort(distance[_select_apart(inputs.numpy()[told], _APART * 2 * np.sqrt(num_axes))])
    parts = [(times, max(_FEW, ceil(len(apart) / part))) for part, times in _FAR.items() if len(apart) >= _LEAST]
    reaches = [(times, float(apart[count - 1])) for times, count in parts] + [(_FAR_FROM_FEW, third)]
    ends = [abs(end / 2 - centre) for end in worse.ends if worse.centre is not None or end / 2 < centre]
    found_at = {
        times * max([reach, *ends]): max([reach, *ends]) for times, reach in reaches if reach > _ROUNDING * abs(centre)
    }
    bound = min(found_at, default=np.inf)
    far = distance > bound
    if not far.any():
        return unchanged
    reach = found_at[bound]
    levels, ranks = np.unique(distance[far], return_inverse=True)
    moved = max(reach, distance[~far].max()) + reach * (1 + ranks) / len(levels)
    found, changed = y.copy(), unchanged.far.copy()
    found[told[far]] = 2 * (centre + np.sign(half[far] - centre) * moved)
    changed[told[far]] = True
    return WarpedResponses(found, changed)


def _select_apart(inputs: Float64[ndarray, "n k"], least: float) -> list[int]:
    """Select settings that are further apart than this: in order, each one that is not near a selected one."""
    found: list[int] = []
    for number, point in enumerate(inputs):
        if not found or np.linalg.norm(inputs[found] - point, axis=1).min() > least:
            found.append(number)
    return found
