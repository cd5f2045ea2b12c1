"""Predictions in the user's units: posterior samples, means, intervals and expected improvement of responses."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Float64
from numpy import ndarray
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.goals.goal import Target
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective
from tunedprior.history.trials import Trial
from tunedprior.models.posterior import MEMBERS, assign_members, compute_miscalibration, predict_moments
from tunedprior.models.surrogate import PriorPredictingSurrogate, Surrogate
from tunedprior.numerics.isolation import LARGE, isolate_computation
from tunedprior.suggestion.composing import compute_feasibility_probability
from tunedprior.suggestion.response_models import FittedModels, ResponseModel


def convert_to_utilities(
    response: Objective, response_model: ResponseModel, samples: Float[Tensor, "s n"]
) -> Float64[ndarray, "s n"]:
    """Convert posterior samples into utilities, in units of the response."""
    y = response.sign * (response_model.observations.shift + response_model.observations.scale * samples.numpy())
    return _evaluate_utility(response, (np.exp(y) if response.log else y).clip(*response_model.limits))


def _evaluate_utility(response: Objective, y: Float64[ndarray, "s n"]) -> Float64[ndarray, "s n"]:
    goal = response.direction
    if isinstance(goal, Target):
        return -np.maximum(np.maximum(goal.low - y, y - goal.upper), 0.0)
    return response.sign * y


#: The standard deviations within which 95 of 100 lie.
DEVIATIONS = 1.959963984540054


def predict_responses(fitted: FittedModels, X: Float[Tensor, "n k"], goals: Goals) -> pd.DataFrame:
    """Predict `mean`, `std` and `measured_std` of the response; of several responses, of each under its name.

    With requirements or failed runs there is a column `probability`: that a run works and meets all requirements.
    """
    if len(goals.responses) == 1 and fitted.main in fitted.models:
        table = predict_response(fitted.models[fitted.main], goals.main, X)
        if goals.requirements or fitted.success_model is not None:
            table["probability"] = compute_feasibility_probability(fitted, goals, X).numpy()
        return table
    told = [one for one in goals.responses if one.name in fitted.models]
    found = {one.name: predict_response(fitted.models[one.name], one, X) for one in told}
    if not found:
        raise InputError("There is nothing to predict from yet: every run failed. Tell at least one result first.")
    table = pd.concat(found, axis=1)
    if goals.requirements or fitted.success_model is not None:
        table["probability", ""] = compute_feasibility_probability(fitted, goals, X).numpy()
    return table


def predict_interval(
    response_model: ResponseModel, response: Objective, X: Float[Tensor, "n k"]
) -> Float64[ndarray, "3 n"]:
    """The posterior mean and a 95 % interval of the response at settings, in its units and within its limits."""
    told = response_model.observations
    with isolate_computation(len(told) >= LARGE), torch.no_grad():
        mean, variance = predict_moments(response_model.model, X)
        spread = DEVIATIONS * compute_miscalibration(response_model.components) * variance.clamp_min(0.0).sqrt()
    turned = torch.stack([mean, mean - response.sign * spread, mean + response.sign * spread]).numpy()
    found = response.sign * (told.shift + told.scale * turned)
    with np.errstate(over="ignore"):  # what is beyond all numbers is infinite
        return (np.exp(found) if response.log else found).clip(*response_model.limits)


def predict_response(response_model: ResponseModel, response: Objective, X: Float[Tensor, "n k"]) -> pd.DataFrame:
    """Predict `mean`, `std` and `measured_std` of one response, in its units.

    `measured_std` includes the noise. It is enlarged where the model's leave-one-out errors are larger than it
    predicts. For a response that is modelled by its logarithm, they are the moments of a log-normal distribution.
    """
    told = response_model.observations
    with isolate_computation(len(told) >= LARGE), torch.no_grad():
        mean, variance = predict_moments(response_model.model, X)
        _, measured = predict_moments(response_model.model, X, measured=True)
        factor = compute_miscalibration(response_model.components)
    middle = response.sign * (told.shift + told.scale * mean.numpy())
    spread = told.scale * variance.sqrt().numpy()
    measured_spread = factor * told.scale * measured.sqrt().numpy()
    if response.log:
        with np.errstate(over="ignore"):  # what is beyond all numbers is infinite
            wide = np.exp(middle + measured_spread**2 / 2) * np.sqrt(np.expm1(measured_spread**2))
            narrow = np.exp(middle + spread**2 / 2) * np.sqrt(np.expm1(spread**2))
            middle, spread, measured_spread = np.exp(middle + spread**2 / 2), narrow, wide
    return pd.DataFrame({"mean": middle.clip(*response_model.limits), "std": spread, "measured_std": measured_spread})


def predict_from_old_data(surrogate: Surrogate, X: Float[Tensor, "n k"]) -> pd.DataFrame:
    """Predict the response before the first result, from old data alone.

    The sign of the relation to old data is not known yet, so the mean is the same everywhere. The units are those of
    the (first) old response.
    """
    found = surrogate.predict_prior(X) if isinstance(surrogate, PriorPredictingSurrogate) else None
    if found is None:
        raise InputError("There is nothing to predict from yet. Tell at least one result first.")
    mean, std = found[0], found[1].numpy()
    return pd.DataFrame({"mean": mean, "std": std, "measured_std": std})


# Equally likely values of each member of a mixture.
_QUANTILES = 511
_NOTHING = float("nan")


@dataclass(frozen=True)
class Improvement:
    """The expected gain of a setting on the best trial so far.

    Attributes:
        best: The best trial so far; None if there is none, or if there are several best trade-offs.
        gain: The expected gain on it, in units of the response or of the preference.
        probability_better: The probability of a gain; for several objectives, that of a new trade-off.
    """

    best: Trial | None = None
    gain: float = _NOTHING
    probability_better: float = _NOTHING


def compute_improvement(
    fitted: FittedModels, goals: Goals, useful: list[Trial], X: Float[Tensor, "1 k"]
) -> Improvement:
    """Compute the expected gain of a setting; NaN where an objective was never measured or no trial is feasible yet."""
    if any(one.name not in fitted.models for one in goals.objectives):
        return Improvement()
    utilities = np.stack(
        [
            convert_to_utilities(one, fitted.models[one.name], _compute_quantiles(fitted.models[one.name], X, number))[
                :, 0
            ]
            for number, one in enumerate(goals.objectives)
        ],
        axis=1,
    )
    if goals.has_front:
        return Improvement(probability_better=_compute_nondominated_probability(utilities, goals, useful))
    best = goals.find_best(useful)
    if best is None:
        return Improvement()
    weights = [goals.weights.get(one.name, 0.0) if goals.weights else 1.0 for one in goals.objectives]
    gains = utilities @ np.array(weights) - goals.compute_worth(best)
    return Improvement(best, float(gains.clip(min=0.0).mean()), float((gains > 0).mean()))


def _compute_nondominated_probability(utilities: Float64[ndarray, "s m"], goals: Goals, useful: list[Trial]) -> float:
    front = goals.find_front(useful)
    if not front:
        return _NOTHING
    reached = np.array([goals.compute_utilities(one) for one in front])
    return float((~(reached[:, None] >= utilities[None]).all(-1).any(0)).mean())


def _compute_quantiles(response_model: ResponseModel, X: Float[Tensor, "1 k"], number: int) -> Float[Tensor, "s 1"]:
    """Equally likely values of a response in random order, so that the responses are independent of each other."""
    with torch.no_grad():
        if response_model.components is not None:
            members = assign_members(response_model.components.weights)
            mean, variance = (one[0, members] for one in response_model.components.predict_components(X))
        else:
            mean, variance = predict_moments(response_model.model, X)
    count = MEMBERS * _QUANTILES // len(mean)
    normal = NormalDist()
    steps = torch.tensor([normal.inv_cdf((k + 0.5) / count) for k in range(count)], dtype=torch.float64)
    values = (mean[:, None] + variance.clamp_min(0.0).sqrt()[:, None] * steps).flatten()
    order = torch.randperm(len(values), generator=torch.Generator().manual_seed(number)) if number else slice(None)
    return values[order][:, None]
