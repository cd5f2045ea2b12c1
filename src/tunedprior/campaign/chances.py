"""What one setting may bring: its distribution under the models, against the best so far."""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy import ndarray
from torch import Tensor

from tunedprior.acquisition.posterior import predict_moments, predict_process_moments
from tunedprior.average.mixture import MEMBERS, MixtureOfProcesses
from tunedprior.campaign.fitted import FittedModels, ResponseModel
from tunedprior.campaign.samples import convert_to_utilities
from tunedprior.problem.aims import Goals
from tunedprior.problem.trials import Trial

# Equally likely values of each member of a mixture.
_OF_EACH = 511
_NOTHING = float("nan")


@dataclass(frozen=True)
class Improvement:
    """Against the best so far.

    Attributes:
        best: The best trial so far; None if there is none, or if there are several best trade-offs.
        gain: The expected gain on it, in units of the response or of the preference.
        better: The probability of a gain; of several objectives, that of a new trade-off.
    """

    best: Trial | None = None
    gain: float = _NOTHING
    probability_better: float = _NOTHING


def compute_improvement(
    fitted: FittedModels, aims: Goals, useful: list[Trial], codes: Float[Tensor, "1 k"]
) -> Improvement:
    """The chances of a setting; of nothing, where an objective was never measured or nothing is of use yet."""
    if any(one.name not in fitted.parts for one in aims.objectives):
        return Improvement()
    utilities = np.stack(
        [
            convert_to_utilities(
                one, fitted.parts[one.name], _compute_quantiles(fitted.parts[one.name], codes, number)
            )[:, 0]
            for number, one in enumerate(aims.objectives)
        ],
        axis=1,
    )
    if aims.has_front:
        return Improvement(probability_better=_compute_nondominated_probability(utilities, aims, useful))
    best = aims.find_best(useful)
    if best is None:
        return Improvement()
    weights = [aims.weights.get(one.name, 0.0) if aims.weights else 1.0 for one in aims.objectives]
    gains = utilities @ np.array(weights) - aims.compute_worth(best)
    return Improvement(best, float(gains.clip(min=0.0).mean()), float((gains > 0).mean()))


def _compute_nondominated_probability(utilities: Float64[ndarray, "s m"], aims: Goals, useful: list[Trial]) -> float:
    front = aims.find_front(useful)
    if not front:
        return _NOTHING
    reached = np.array([aims.compute_utilities(one) for one in front])
    return float((~(reached[:, None] >= utilities[None]).all(-1).any(0)).mean())


def _compute_quantiles(part: ResponseModel, codes: Float[Tensor, "1 k"], number: int) -> Float[Tensor, "s 1"]:
    """Equally likely values of a response, in an order of its own: responses are independent of each other."""
    with torch.no_grad():
        if isinstance(part.model, MixtureOfProcesses):
            members = part.model.members
            mean, variance = (one[0, members] for one in predict_process_moments(part.model, codes))
        else:
            mean, variance = predict_moments(part.model, codes)
    count = MEMBERS * _OF_EACH // len(mean)
    normal = NormalDist()
    steps = torch.tensor([normal.inv_cdf((k + 0.5) / count) for k in range(count)], dtype=torch.float64)
    values = (mean[:, None] + variance.clamp_min(0.0).sqrt()[:, None] * steps).flatten()
    order = torch.randperm(len(values), generator=torch.Generator().manual_seed(number)) if number else slice(None)
    return values[order][:, None]
