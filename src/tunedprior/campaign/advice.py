"""What to use: the setting that all results together speak for, and how noisy they are."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.composed import ComposedAcquisition, Wanted
from tunedprior.acquisition.posterior import moments
from tunedprior.acquisition.search import maximize
from tunedprior.average.acquisition import MixtureAcquisition, Moments, upper_confidence_bound
from tunedprior.average.mixture import MixtureOfProcesses
from tunedprior.campaign.composing import Composing, probability_met
from tunedprior.campaign.fitted import Fitted
from tunedprior.campaign.pool import Pool
from tunedprior.campaign.prediction import interval
from tunedprior.campaign.samples import NUM_SAMPLES, in_units, sampled
from tunedprior.campaign.suggester import Suggester
from tunedprior.checks import listed
from tunedprior.errors import InputError
from tunedprior.numerics.isolation import LARGE, child_seed, computing
from tunedprior.problem.aims import Aims
from tunedprior.problem.objective import codes_of_run
from tunedprior.problem.space import Setting
from tunedprior.problem.trials import in_words, settings_of

# How sure it is to be that a setting is no worse than the one measured best, and what difference does not count.
_SURE, _SLIGHT = 0.9, 1e-9
_COMPARED = 64  # settings, with the one measured best
#: The probability of meeting what is required, from which on a setting can be recommended.
EVEN = 0.5


@dataclass(frozen=True)
class Recommendation:
    """The setting to use, by all results together and not by the luckiest one.

    Attributes:
        setting: It.
        mean: What is expected of the (first) response there.
        low: The lower end of a 95 % interval for the response itself, without the noise of a measurement.
        high: The upper end of it.
        probability: That of meeting what is required; 1 if nothing is.
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
        return f"{in_words(self.setting)}: {self.mean:.6g} ({self.low:.6g} to {self.high:.6g}){met}"


def noise_in(fitted: Fitted, aims: Aims) -> dict[str, float]:
    """The standard deviation of each response's noise, as the models have it; of a logarithm, as a share."""
    found = {}
    for one in aims.responses:
        part = fitted.parts.get(one.target)
        if part is not None and not one.labels:
            with computing(), torch.no_grad():
                codes = part.observations.codes
                extra = moments(part.model, codes, measured=True)[1] - moments(part.model, codes)[1]
            variance = extra.clamp_min(0.0).mean()
            if part.observations.relative_noise is not None:
                variance = variance * part.observations.relative_noise.mean()
            found[one.target] = float(part.observations.scale * variance.sqrt())
    return found


def recommended(suggester: Suggester, fitted: Fitted, seed: int, pool: Pool | None = None) -> Recommendation:
    """The setting of the largest expected utility, among those that are surely no worse than the one measured best.

    Surely is with probability 0.9: by the models alone, a setting that was measured well is given up too easily where
    they are too simple for the response. Candidates are the settings that were tried, and unless there is a pool,
    whatever the models expect to be best; they are to meet what is required, as probably as any and at best evenly.
    """
    aims = suggester.aims
    refuse_front(aims, "recommend")
    usable = suggester.usable(fitted.history.told)
    best = aims.best(usable)
    tried = settings_of(usable)
    settings = [dict(one) for one in (tried if pool is None else pool.settings)]
    with computing(len(fitted.history) >= LARGE), torch.no_grad():
        if pool is None:
            settings += _most_promising(suggester, fitted, seed)
        codes = codes_of_run(settings, fitted.box)
        met = probability_met(fitted, aims, codes)
        eligible = met >= min(EVEN, float(met.max()))
        worth = expected_worth(aims, fitted, codes)
        if best is not None and (pool is None or best.setting in settings):
            settings = [dict(best.setting), *settings]
            codes = codes_of_run(settings, fitted.box)
            sure = _no_worse(aims, fitted, codes, worth, seed) >= _SURE
            eligible = torch.cat([eligible.new_ones(1), eligible & sure])
            worth = torch.cat([worth.new_tensor([-torch.inf]), worth])
        chosen = int(worth.masked_fill(~eligible, -torch.inf).argmax())
        probability = float(probability_met(fitted, aims, codes[chosen : chosen + 1]))
        rows = {
            one.target: interval(fitted.parts[one.target], one, codes[chosen : chosen + 1])[:, 0].tolist()
            for one in aims.responses
            if one.target in fitted.parts and not one.labels
        }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "low", "high"])
    mean, low, high = rows[fitted.main]
    return Recommendation(settings[chosen], mean, low, high, probability, table)


def _no_worse(
    aims: Aims, fitted: Fitted, codes: Float[Tensor, "n k"], worth: Float[Tensor, " m"], seed: int
) -> Float[Tensor, " m"]:
    """The probability that each setting but the first has at least the utility of the first; `worth` is theirs.

    Of many settings it is worked out for those that are expected to be best; 0 for all others.
    """
    found = torch.zeros_like(worth)
    if not all(isinstance(fitted.parts[one.target].model, MixtureOfProcesses) for one in aims.objectives):
        return found + 1.0
    some = worth.topk(min(len(found), _COMPARED)).indices
    total = np.zeros((NUM_SAMPLES, len(some) + 1))
    for one in aims.objectives:
        part = fitted.parts[one.target]
        assert isinstance(part.model, MixtureOfProcesses)
        drawn = sampled(part.model, codes[torch.cat([some.new_zeros(1), some + 1])], child_seed(seed, len(found)))
        weight = aims.weights.get(one.target, 0.0) if aims.weights else 1.0
        total += weight * in_units(one, part, drawn)
    found[some] = torch.as_tensor((total[:, 1:] >= total[:, :1] - _SLIGHT * np.ptp(total)).mean(0))
    return found


def expected_worth(aims: Aims, fitted: Fitted, codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    """E[u(f)] at settings; of several objectives that are weighed, the weighted sum."""
    composing = Composing(aims, fitted, codes[:0])
    total = torch.zeros(len(codes), dtype=torch.float64)
    for one in aims.objectives:
        part = fitted.parts[one.target]
        weight = aims.weights.get(one.target, 0.0) * part.observations.scale if aims.weights else 1.0
        if not isinstance(part.model, MixtureOfProcesses):
            total += weight * moments(part.model, codes)[0]
            continue
        total += weight * _expected(composing.wanted(one.target, part.model), part.model, codes)
    return total


def _expected(wanted: Wanted, model: MixtureOfProcesses, codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    def term(at: Mapping[str, Moments]) -> Float[Tensor, " b"]:
        return wanted.mean_and_variance(at[wanted.response])[0]

    found: Tensor = ComposedAcquisition({wanted.response: model}, [term])(codes[:, None])
    return found


def _most_promising(suggester: Suggester, fitted: Fitted, seed: int) -> list[Setting]:
    """The setting that the model expects most of, for one response to be made large; else none."""
    if not suggester.aims.is_plain or not isinstance(fitted.model, MixtureOfProcesses) or fitted.works is not None:
        return []
    model, nothing = fitted.model, fitted.observations.codes[:0]
    score = partial(upper_confidence_bound, model.weights, torch.zeros((), dtype=torch.float64))
    seed = child_seed(seed, len(fitted.history), 5)
    with torch.enable_grad():  # BoTorch's search of spaces with categories takes them
        found = maximize(MixtureAcquisition(model, score), suggester.lattice, nothing, seed)
    return [suggester.setting_at(found)]


def refuse_front(aims: Aims, what: str) -> None:
    """An `InputError` where no single setting is best."""
    if aims.has_front:
        raise InputError(
            f"{what} is for one objective, and there are {listed(one.target for one in aims.objectives)}. Take a "
            "setting of opt.front, or give a preference by weights."
        )
