"""The recommended setting, the noise of the responses, and the suggestion that optimisation without old data makes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.closed_form import (
    ClosedFormAcquisition,
    ComposedAcquisition,
    ScaledGoal,
    compute_upper_confidence_bound,
)
from tunedprior.acquisition.optimisation import maximize
from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import encode_run_settings
from tunedprior.history.trials import History, Trial, collect_settings, format_setting
from tunedprior.models.posterior import ComponentModel, Moments, predict_moments
from tunedprior.numerics.isolation import LARGE, derive_seed, isolate_computation
from tunedprior.space.search_space import Setting
from tunedprior.suggestion.candidates import Pool
from tunedprior.suggestion.composing import AcquisitionBuilder, compute_feasibility_probability
from tunedprior.suggestion.prediction import convert_to_utilities, predict_interval
from tunedprior.suggestion.response_models import NUM_SAMPLES, FittedModels
from tunedprior.suggestion.suggester import Suggester


@dataclass(frozen=True)
class BaselineSuggestion:
    """The suggestion that optimisation without old data would have made instead.

    Attributes:
        setting: The suggested setting.
        distance: Its distance to the real suggestion: 0 for the same, 1 from corner to opposite corner of the space.
    """

    setting: Setting
    distance: float


def suggest_baseline(
    suggester: Suggester,
    history: History,
    trial: Trial,
    seed: int,
    candidates: Any = None,
) -> BaselineSuggestion:
    """Suggest, without old data, what to run in place of a pending trial.

    All results so far count, and of the pending trials those that were pending when the trial was suggested.
    """
    before = history.pending[: history.pending.index(trial)]
    instead = suggester.drop_old_data().suggest(history, collect_settings(before), seed, candidates)
    box = suggester.own_box
    here, there = box.to_kernel_inputs(box.encode([trial.setting, instead]))
    return BaselineSuggestion(instead, float((here - there).norm() / (2 * sqrt(len(here)))))


# How sure it is to be that a setting is no worse than the one measured best, and what difference does not count.
_SURE, _SLIGHT = 0.9, 1e-9
_SEED = 0  # of samples for expectations: the same for all settings that are compared
_COMPARED = 64  # settings, with the one measured best
#: The probability of meeting what is required, from which on a setting can be recommended.
EVEN = 0.5


@dataclass(frozen=True)
class Recommendation:
    """The recommended setting by the model of all results, rather than the best single measurement.

    Attributes:
        setting: The recommended setting.
        mean: The posterior mean of the (first) response there.
        low: The lower end of a 95 % interval of the response, without measurement noise.
        high: The upper end of that interval.
        probability: The probability that it meets all requirements; 1 without requirements.
        responses: `mean`, `low` and `high` of every response.
    """

    setting: Setting
    mean: float
    low: float
    high: float
    probability: float
    responses: pd.DataFrame

    def __str__(self) -> str:
        met = "" if self.probability == 1 else f", what is required is met with probability {self.probability:.2g}"
        return f"{format_setting(self.setting)}: {self.mean:.6g} ({self.low:.6g} to {self.high:.6g}){met}"


def estimate_noise(fitted: FittedModels, goals: Goals) -> dict[str, float]:
    """Estimate the standard deviation of each response's noise; of a response modelled by its logarithm, as a share."""
    found = {}
    for one in goals.responses:
        response_model = fitted.models.get(one.name)
        if response_model is not None and not one.labels:
            with isolate_computation(), torch.no_grad():
                X = response_model.observations.X
                extra = (
                    predict_moments(response_model.model, X, measured=True)[1]
                    - predict_moments(response_model.model, X)[1]
                )
            variance = extra.clamp_min(0.0).mean()
            if response_model.observations.relative_noise is not None:
                variance = variance * response_model.observations.relative_noise.mean()
            found[one.name] = float(response_model.observations.scale * variance.sqrt())
    return found


def recommend_setting(
    suggester: Suggester, fitted: FittedModels, seed: int, pool: Pool | None = None
) -> Recommendation:
    """Recommend the setting of the largest expected utility that is no worse than the best measured one.

    "No worse" must hold with probability 0.9. By expected utility alone, a setting that was measured well is given up
    too easily where the model is too simple for the response. Candidates are the tried settings and, without a pool,
    the maximum of the posterior mean. They must meet the requirements with probability 0.5 or more, or else as probably
    as any.
    """
    goals = suggester.goals
    refuse_front(goals, "recommend")
    usable = suggester.keep_usable(fitted.history.told)
    best = goals.find_best(usable)
    tried = collect_settings(usable)
    settings = [dict(one) for one in (tried if pool is None else pool.settings)]
    with isolate_computation(len(fitted.history) >= LARGE), torch.no_grad():
        if pool is None:
            settings += _find_most_promising(suggester, fitted, seed)
        X = encode_run_settings(settings, fitted.box)
        met = compute_feasibility_probability(fitted, goals, X)
        eligible = met >= min(EVEN, float(met.max()))
        worth = compute_expected_utility(goals, fitted, X)
        if best is not None and (pool is None or best.setting in settings):
            settings = [dict(best.setting), *settings]
            X = encode_run_settings(settings, fitted.box)
            sure = _compute_no_worse_probability(goals, fitted, X, worth, seed) >= _SURE
            eligible = torch.cat([eligible.new_ones(1), eligible & sure])
            worth = torch.cat([worth.new_tensor([-torch.inf]), worth])
        chosen = int(worth.masked_fill(~eligible, -torch.inf).argmax())
        probability = float(compute_feasibility_probability(fitted, goals, X[chosen : chosen + 1]))
        rows = {
            one.name: predict_interval(fitted.models[one.name], one, X[chosen : chosen + 1])[:, 0].tolist()
            for one in goals.responses
            if one.name in fitted.models and not one.labels
        }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "low", "high"])
    mean, low, high = rows[fitted.main]
    return Recommendation(settings[chosen], mean, low, high, probability, table)


def _compute_no_worse_probability(
    goals: Goals, fitted: FittedModels, X: Float[Tensor, "n k"], worth: Float[Tensor, " m"], seed: int
) -> Float[Tensor, " m"]:
    """The probability that each setting has at least the utility of the first one.

    If there are many settings, it is computed for those of the largest `worth`, their expected utility; 0 for all
    others.
    """
    found = torch.zeros_like(worth)
    some = worth.topk(min(len(found), _COMPARED)).indices
    total = np.zeros((NUM_SAMPLES, len(some) + 1))
    for one in goals.objectives:
        response_model = fitted.models[one.name]
        drawn = response_model.sample_posterior(
            X[torch.cat([some.new_zeros(1), some + 1])], derive_seed(seed, len(found))
        )
        weight = goals.weights.get(one.name, 0.0) if goals.weights else 1.0
        total += weight * convert_to_utilities(one, response_model, drawn)
    found[some] = torch.as_tensor((total[:, 1:] >= total[:, :1] - _SLIGHT * np.ptp(total)).mean(0))
    return found


def compute_expected_utility(goals: Goals, fitted: FittedModels, X: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    """E[u(f)] at settings; of several weighted objectives, the weighted sum."""
    composing = AcquisitionBuilder(goals, fitted, X[:0])
    total = torch.zeros(len(X), dtype=torch.float64)
    for one in goals.objectives:
        response_model = fitted.models[one.name]
        weight = goals.weights.get(one.name, 0.0) * response_model.observations.scale if goals.weights else 1.0
        if response_model.components is None:
            goal = composing.make_scaled_goal(one.name, response_model.model)
            total += weight * goal.compute_utility(response_model.sample_posterior(X, _SEED)).mean(0)
            continue
        goal = composing.make_scaled_goal(one.name, response_model.components)
        total += weight * _evaluate_expected_utility(goal, response_model.components, X)
    return total


def _evaluate_expected_utility(goal: ScaledGoal, model: ComponentModel, X: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    def compute_term(at: Mapping[str, Moments]) -> Float[Tensor, " b"]:
        return goal.compute_moments(at[goal.response])[0]

    found: Tensor = ComposedAcquisition({goal.response: model}, [compute_term])(X[:, None])
    return found


def _find_most_promising(suggester: Suggester, fitted: FittedModels, seed: int) -> list[Setting]:
    """Find the setting with the largest posterior mean, for a single objective without a target; else none."""
    known = None if not suggester.goals.is_plain else fitted.models[fitted.main].components
    if known is None or fitted.success_model is not None:
        return []
    nothing = fitted.observations.X[:0]
    score = partial(compute_upper_confidence_bound, known.weights, torch.zeros((), dtype=torch.float64))
    seed = derive_seed(seed, len(fitted.history), 5)
    with torch.enable_grad():  # BoTorch's search of spaces with categories takes them
        found = maximize(ClosedFormAcquisition([known], score), suggester.encoded_space, nothing, seed)
    return [suggester.decode_setting(found)]


def refuse_front(goals: Goals, what: str) -> None:
    """Raise an `InputError` for several objectives without weights, where no single setting is best."""
    if goals.has_front:
        raise InputError(
            f"{what} is for one objective, and there are {format_list(one.name for one in goals.objectives)}. Take a "
            "setting of opt.front, or give a preference by weights."
        )
