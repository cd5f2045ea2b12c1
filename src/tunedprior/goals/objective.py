"""One response: its name, goal, noise and limits, and the conversion of its results into training data."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan, log, nan
from numbers import Real

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Float64
from numpy import ndarray
from torch import Tensor

from tunedprior.checks import check_flag
from tunedprior.errors import InputError
from tunedprior.goals.goal import MINIMIZE, NO_LIMITS, Goal, Target, check_goal
from tunedprior.goals.observations import Observations, WorseDirection, warp_far_worse
from tunedprior.history.trials import Trial, collect_settings
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Setting
from tunedprior.tables.names import split_name_and_unit

#: What was run may differ from what was suggested by this share of a parameter's range, and still be that.
MEANT = 0.05
# How far below the worst response a failed run counts, as a share of the range of responses, where it is to count so.
_FAILURE = 0.2
# A result without noise beside one with much: no less than this share of its variance.
_LEAST_RELATIVE = 1e-6
#: Responses that are larger, or all smaller, cannot be computed with: they count as this large, or as equal.
MOST, LEAST = 1e300, float(np.finfo(np.float64).tiny)
# Noise of more standard deviations of the response counts as this.
_MOST_NOISE = 1e100
# Words of names that declare a percentage, or a fraction.
_WORD = re.compile(r"[^\W\d_]+")
_PERCENTAGES = frozenset({"percent", "percentage", "pct", "prozent"})
_FRACTIONS = frozenset({"fraction", "bruchteil"})


@dataclass(frozen=True)
class Objective:
    """A response's name, its goal, and its noise where that is known.

    Attributes:
        name: The name of the response.
        direction: `"maximize"`, `"minimize"` or a `Target`.
        noise_std: The measurement noise's standard deviation, where it is known.
        log: Whether its logarithm is modelled: for positive responses over several orders of magnitude.
        labels: Whether it is pass or fail, told as +1 or -1.
        is_main: Whether it is the `Trial.value`; all others are in `Trial.more`.
        limits: The least and the largest possible value, such as 0 and 100 of a yield in %.
    """

    name: str = "y"
    direction: Goal = "maximize"
    noise_std: float | None = None
    log: bool = False
    labels: bool = False
    is_main: bool = True
    limits: tuple[float, float] = NO_LIMITS

    def __post_init__(self) -> None:
        check_goal(self.direction)
        if not isinstance(self.name, str):
            raise InputError(f"target must be the name of the response, as text; got {self.name!r}.")
        known = isinstance(self.noise_std, Real) and isfinite(self.noise_std) and self.noise_std >= 0
        if self.noise_std is not None and not known:
            raise InputError(f"noise_std must be a finite number, 0 or more; got {self.noise_std!r}.")
        if check_flag(self.log, "log") and isinstance(self.direction, Target) and self.direction.low <= 0:
            raise InputError(
                f"A response on a logarithmic scale is above 0, so its target must be; got {self.direction}."
            )
        if self.log and self.limits[1] <= 0:
            raise InputError(
                f"A response on a logarithmic scale is above 0, so its upper limit must be; got {self.limits[1]:g}."
            )

    @property
    def sign(self) -> float:
        """+1 or -1: the factor that turns the response into one to be maximised; +1 for a target."""
        return -1.0 if self.direction == MINIMIZE else 1.0

    def get_value(self, trial: Trial) -> float:
        """The response in a trial; NaN if it was not measured."""
        return trial.value if self.is_main else trial.more.get(self.name, nan)

    def scale_value(self, value: float) -> float:
        """The response on the scale of the model: itself or its logarithm, with the sign by which more is better.

        Values beyond `MOST` are clipped, so that neither a difference nor an interval overflows.
        """
        if self.log:
            return self.sign * log(value) if value > 0 else nan
        return self.sign * (value if isnan(value) else max(-MOST, min(value, MOST)))

    def compute_utility(self, value: float) -> float:
        """The utility of a response (more is better): itself, its negative, or minus its distance to the target."""
        return self.direction.compute_utility(value) if isinstance(self.direction, Target) else self.sign * value

    def scale_target(self, observations: Observations) -> tuple[float, float]:
        """The ends of the target in the units of observations; (∞, ∞) for a response to be maximised or minimised."""
        if not isinstance(self.direction, Target):
            return inf, inf
        low, high = (self.scale_value(end) - observations.shift for end in (self.direction.low, self.direction.upper))
        return low / observations.scale, high / observations.scale

    def infer_limits(self, trials: Sequence[Trial]) -> tuple[float, float]:
        """The given limits, widened to results beyond; or the limits that the name implies, unless a result is beyond.

        A response called %, percent or the like is from 0 to 100; one called fraction or the like is from 0 to 1.
        """
        values = [self.get_value(trial) for trial in self.select_measured(trials)]
        if self.limits != NO_LIMITS:
            low, high = self.limits
            return min([low, *values]), max([high, *values])
        name, unit = split_name_and_unit(self.name)
        words = set(_WORD.findall(name.casefold()))
        most = 100.0 if unit == "%" or words & _PERCENTAGES else 1.0 if words & _FRACTIONS else inf
        declared = most < inf and not self.labels and all(0 <= value <= most for value in values)
        return (0.0, most) if declared else NO_LIMITS

    def select_measured(self, trials: Sequence[Trial]) -> list[Trial]:
        """Select the trials in which it was measured."""
        return [trial for trial in trials if not isnan(self.get_value(trial))]

    def find_best(self, trials: Sequence[Trial]) -> Trial | None:
        """The trial with the best response; None if it was never measured."""
        ended = [trial for trial in self.select_measured(trials) if not trial.stopped_early]
        return max(ended, key=lambda trial: self.compute_utility(self.get_value(trial)), default=None)

    def describe_limit_violation(self, value: float) -> str:
        """Say that a value is beyond the declared limits; empty if it is not."""
        low, high = self.limits
        if low <= value <= high:
            return ""
        ends = (
            f"{low:g} to {high:g}"
            if isfinite(low) and isfinite(high)
            else f">= {low:g}"
            if isfinite(low)
            else f"<= {high:g}"
        )
        return f"{self.name} = {value:g} is beyond its limits ({ends})"

    def refuse_impossible_value(self, value: float) -> None:
        """Raise an `InputError` for a value that the response cannot have."""
        if self.log and value <= 0:
            wrong = f"{self.name!r} is on a logarithmic scale, so it must be above 0; got {value:g}."
            raise InputError(
                f"{wrong} Tell a run that gave nothing as failed, or leave it out of log=.",
                typed=f"{wrong} Record a run that gave nothing as failed.",
            )

    def make_observations(
        self, trials: Sequence[Trial], box: Box, failures: bool = False, worse: WorseDirection | None = None
    ) -> Observations:
        """Make training data from trials: encoded settings, and responses to be maximised with mean 0 and variance 1.

        Labels stay +1 and -1. Trials without the response are left out; with `failures` they count as a little worse
        than the worst response so far, which keeps the model away from them. Responses that are far worse than all
        others count as merely worse (`warp_far_worse`).

        Args:
            trials: The told trials.
            box: How settings are encoded.
            failures: Whether trials without the response count.
            worse: The direction in which the response gets worse; by its goal alone, when left out.
        """
        trials = list(trials) if failures else self.select_measured(trials)
        y, X, noise = (
            self._scale_values(trials),
            encode_run_settings(collect_settings(trials), box),
            self._compute_noise(trials),
        )
        if self.labels:
            return Observations(X, torch.as_tensor(y)[:, None])  # 0, between the two, stays 0
        y = warp_far_worse(y, box.to_kernel_inputs(X), len(box.axes), worse or self.get_worse_direction()).y
        # First divided by their size, so that neither 1e-300 nor 1e300 is squared; what is below the least normal
        # number has too few digits to be told apart.
        size = max(float(np.nanmax(np.abs(y), initial=0.0)), LEAST) if np.any(y) else 1.0
        y = y / size
        told = y[~np.isnan(y)]
        worst, reach = (told.min(), np.ptp(told)) if len(told) else (0.0, 0.0)
        y[np.isnan(y)] = worst - (_FAILURE * reach if reach > 0 else 1.0)
        shift, scale = (float(y.mean()), float(y.std())) if len(y) else (0.0, 1.0)
        scale = scale if scale > 1e-12 else 1.0
        typical, relative = None, None
        if noise is not None:
            typical = float(noise.max(initial=0.0))
            if typical and (noise < typical).any():
                relative = torch.as_tensor((noise / typical) ** 2).clamp_min(_LEAST_RELATIVE)
        return Observations(
            X=X,
            y=torch.as_tensor((y - shift) / scale)[:, None],
            noise_std=None if typical is None else min(typical / size / scale, _MOST_NOISE),
            shift=size * shift,
            scale=size * scale,
            relative_noise=relative,
        )

    def find_far_worse(self, trials: Sequence[Trial], box: Box, worse: WorseDirection | None = None) -> list[Trial]:
        """The trials whose response is so far worse than all others that models count it as merely worse."""
        if self.labels:
            return []
        told = self.select_measured(trials)
        inputs = box.to_kernel_inputs(encode_run_settings(collect_settings(told), box))
        warped = warp_far_worse(self._scale_values(told), inputs, len(box.axes), worse or self.get_worse_direction())
        return [trial for trial, is_far in zip(told, warped.far.tolist(), strict=True) if is_far]

    def get_worse_direction(self, ends: Sequence[float] = (), only_required: bool = False) -> WorseDirection:
        """The direction in which the response gets worse, on the scale of the model: away from its goal.

        Args:
            ends: Values of the response at which a requirement, or the interest in it, ends.
            only_required: Whether it has a requirement and no goal.
        """
        wanted = (self.direction.low, self.direction.upper) if isinstance(self.direction, Target) else ()
        scaled = [end for end in map(self.scale_value, (*wanted, *ends)) if isfinite(end)]
        middle = scaled[: len(wanted)] if wanted else scaled if only_required else []
        return WorseDirection(min(middle) / 2 + max(middle) / 2 if middle else None, tuple(scaled))

    def _scale_values(self, trials: Sequence[Trial]) -> Float64[ndarray, " n"]:
        """The responses on the scale of the model."""
        return np.array([self.scale_value(self.get_value(trial)) for trial in trials], dtype=np.float64)

    def _compute_noise(self, trials: Sequence[Trial]) -> Float64[ndarray, " n"] | None:
        """The noise of each result, on the scale of the model; None if none is known.

        A result without a noise of its own gets `noise_std`, or else the median of the others.
        """
        given = np.array([trial.noise.get(self.name, nan) for trial in trials], dtype=np.float64)
        usual = self.noise_std
        if usual is None and np.isnan(given).all():
            return None
        noise = np.where(np.isnan(given), np.nanmedian(given) if usual is None else usual, given)
        if self.log:  # the same noise, as a share of the response
            noise = noise / np.array([max(self.get_value(trial), 1e-300) for trial in trials])
        return noise


def encode_run_settings(settings: pd.DataFrame | Sequence[Setting], box: Box) -> Float[Tensor, "n k"]:
    """Encode settings that were run; values up to 5 % of a parameter's range outside the box count as its edge."""
    return box.encode(settings, slack=2 * MEANT)
