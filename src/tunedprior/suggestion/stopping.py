"""Whether to stop: the gain that is left, and whether repeating a setting is worth more than a new one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.goals.goal import NO_LIMITS, Target
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective, encode_run_settings
from tunedprior.history.trials import collect_settings, format_setting
from tunedprior.models.posterior import predict_moments
from tunedprior.numerics.isolation import LARGE, derive_seed, isolate_computation
from tunedprior.space.search_space import Setting
from tunedprior.suggestion.candidates import Pool
from tunedprior.suggestion.composing import compute_feasibility_probability
from tunedprior.suggestion.prediction import convert_to_utilities
from tunedprior.suggestion.recommendation import EVEN, recommend_setting, refuse_front
from tunedprior.suggestion.response_models import FittedModels
from tunedprior.suggestion.suggester import Suggester
from tunedprior.tables.names import split_name_and_unit

_EVERYWHERE = 384  # settings all over the space, among which the best may be
_QUANTILE = 0.95
_NODES = 32  # of a Gauss–Hermite rule
_PERCENT = 100.0
_WORD = re.compile(r"[^\W\d_]+")
_SUGGESTED = frozenset(
    _WORD.findall("yield conversion selectivity purity recovery accuracy ausbeute umsatz reinheit selektivität ee")
)


@dataclass(frozen=True)
class RemainingGain:
    """The gain that is left over the recommended setting (simple regret), in units of the response.

    Attributes:
        expected: The expected gain if the best setting of all were found.
        bound: The 95 % quantile of the gain: an upper bound on the simple regret.
        probability: The probability of a gain of more than `more_than`.
        more_than: The gain that the user asked about.
        caveat: The bound if the response has the limit that its name suggests; empty if there is none below it.
    """

    expected: float
    bound: float
    probability: float
    more_than: float
    caveat: str = ""

    def __str__(self) -> str:
        caveat = f"; {self.caveat}" if self.caveat else ""
        return (
            f"At most {self.bound:.3g} is left to gain (95 % sure; {self.expected:.3g} expected{caveat}); more than "
            f"{self.more_than:g} with probability {self.probability:.2g}."
        )


@dataclass(frozen=True)
class Replication:
    """Whether to repeat a setting or to try a new one, by the knowledge gradient.

    Attributes:
        setting: The setting whose repetition is worth most.
        gain: The expected gain of one repetition for the recommended setting, in units of the response.
        exploring: The expected gain of a run at the next new setting.
    """

    setting: Setting
    gain: float
    exploring: float

    @property
    def worthwhile(self) -> bool:
        """Whether repeating beats exploring."""
        return self.gain > self.exploring

    def __str__(self) -> str:
        verdict = "Repeat" if self.worthwhile else "Try something new rather than repeat"
        return f"{verdict} {format_setting(self.setting)} (gain {self.gain:.3g}, against {self.exploring:.3g})."


def estimate_remaining(
    suggester: Suggester, fitted: FittedModels, seed: int, more_than: float, pool: Pool | None = None
) -> RemainingGain:
    """max_x u(f(x)) - u(f(recommended)), from samples of f at settings all over the space (or of all candidates)."""
    goals = suggester.goals
    refuse_front(goals, "remaining")
    if goals.weights:
        raise InputError("remaining is for a single objective, and several are weighed here. Use recommend.")
    if goals.requirements and goals.find_best(suggester.keep_usable(fitted.history.told)) is None:
        raise InputError("Nothing that was tried meets what is required yet, so whatever does is a gain. Go on.")
    best = recommend_setting(suggester, fitted, seed, pool)
    tried = collect_settings(suggester.keep_usable(fitted.history.told))
    offered = suggester.space.sobol(_EVERYWHERE, derive_seed(seed, len(fitted.history), 7))
    if pool is not None:
        offered = list(pool.settings)
    settings = [best.setting, *_drop_duplicates([*tried[-_EVERYWHERE:], *offered], best.setting)]
    with isolate_computation(len(fitted.history) >= LARGE), torch.no_grad():
        X = encode_run_settings(settings, fitted.box)
        if pool is None and not suggester.space.constraints:
            X = torch.cat([X, _draw_around(X[0], suggester.encoded_space.bounds, seed)])
        met = compute_feasibility_probability(fitted, goals, X) >= EVEN
        met[0] = True
        X = X[met]
        samples = fitted.models[fitted.main].sample_posterior(_keep_promising(fitted, goals, X), seed)
    utilities = convert_to_utilities(goals.main, fitted.models[fitted.main], samples)
    limit, is_declared = _find_limit(goals.main, fitted)
    most = limit * goals.main.sign
    gains = utilities.max(-1) - utilities[:, 0]
    # Nor more than lies between what is expected of the recommended setting and the limit.
    within = (utilities.clip(max=most).max(-1) - utilities[:, 0]).clip(
        0.0, max(0.0, most - goals.main.sign * best.mean)
    )
    bound, bound_within = (float(np.quantile(one, _QUANTILE)) for one in (gains, within))
    caveat = ""
    if is_declared:
        gains, bound = within, bound_within
    elif bound_within < bound:
        way = "above" if goals.main.sign > 0 else "below"
        caveat = f"at most {bound_within:.3g} if {goals.main.name} cannot be {way} {limit:g}"
    return RemainingGain(float(gains.mean()), bound, float((gains > more_than).mean()), more_than, caveat)


def _find_limit(response: Objective, fitted: FittedModels) -> tuple[float, bool]:
    """The best possible value of a response, and whether the user declared it; infinite without a limit.

    A yield between 0 and 100 may be in grams, so a name without a unit suggests a limit and does not declare one.
    """
    none = response.sign * inf
    if isinstance(response.direction, Target):
        return none, False
    low, high = fitted.models[response.name].limits
    if (low, high) != NO_LIMITS:
        return (high if response.sign > 0 else low), True
    told = np.array([response.get_value(trial) for trial in response.select_measured(fitted.history.told)])
    words = set(_WORD.findall(split_name_and_unit(response.name)[0].casefold()))
    if not words & _SUGGESTED or not ((told >= 0) & (told <= _PERCENT)).all():
        return none, False
    most = _PERCENT if told.max(initial=0.0) > 1 else 1.0
    return (most if response.sign > 0 else 0.0), False


def evaluate_replication(suggester: Suggester, fitted: FittedModels, next_one: Setting) -> Replication:
    """The knowledge gradient of repeating each setting, and of trying the next new one.

    KG(x) = E[max_i E[f(x_i) | y at x]] - max_i E[f(x_i)], over the settings that were tried and the new one.
    """
    known = None if not suggester.goals.is_plain else fitted.models[fitted.main].components
    if known is None:
        raise InputError(
            "replicate is for one response to be maximised or minimised, by a model with a Gaussian posterior."
        )
    tried = _drop_duplicates(collect_settings(suggester.keep_usable(fitted.history.told)), None)
    if not tried:
        raise InputError("replicate needs a result to repeat, and there is none of use so far. Ask for a new setting.")
    with isolate_computation(len(fitted.history) >= LARGE), torch.no_grad():
        X = encode_run_settings([*tried, next_one], fitted.box)
        means, covariance = (torch.stack(each) for each in zip(*known.iterate_joint_moments(X), strict=True))
        variance = covariance.diagonal(dim1=-2, dim2=-1) + known.noise_variances[:, None]
        steps = covariance / variance.clamp_min(1e-12).sqrt()[:, None, :]  # s i x: what x teaches of i
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        gains = torch.zeros(len(X), dtype=torch.float64)
        for node, weight in zip(nodes, weights / weights.sum(), strict=True):
            best = (means[:, :, None] + steps * node).amax(1) - means.amax(1, keepdim=True)
            gains += weight * (known.weights @ best)
        gains = fitted.observations.scale * gains.clamp_min(0.0)
    chosen = int(gains[:-1].argmax())
    return Replication(dict(tried[chosen]), float(gains[chosen]), float(gains[-1]))


def _draw_around(code: Float[Tensor, " k"], bounds: Float[Tensor, "2 k"], seed: int) -> Float[Tensor, "n k"]:
    """Draw encoded settings near one, to find the maximum of a sample path that a Sobol sample misses."""
    steps = torch.randn(64, len(code), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    widths = torch.logspace(-2, -0.5, 64, dtype=torch.float64)[:, None]
    return (code + widths * (bounds[1] - bounds[0]) / 2 * steps).clamp(*bounds)


def _keep_promising(fitted: FittedModels, goals: Goals, X: Float[Tensor, "n k"]) -> Float[Tensor, "m k"]:
    """Keep the first setting and, of many, those with the largest mean plus three standard deviations."""
    most = 2 * _EVERYWHERE
    if len(X) <= most:
        return X
    mean, variance = predict_moments(fitted.model, X)
    low, high = goals.main.scale_target(fitted.observations)
    hope = mean if low == torch.inf else -(mean - (low + high) / 2).abs()
    best = (hope + 3 * variance.sqrt())[1:].topk(most).indices + 1
    return X[torch.cat([torch.zeros(1, dtype=torch.int64), best])]


def _drop_duplicates(settings: Sequence[Setting], but: Setting | None) -> list[Setting]:
    seen: dict[Any, Setting] = {repr(sorted(one.items())): one for one in settings}
    if but is not None:
        seen.pop(repr(sorted(but.items())), None)
    return list(seen.values())
