"""What to use, whether to repeat, and when to stop: what the models say beyond the next setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Float64
from numpy import ndarray
from torch import Tensor

from tunedprior.acquisition.composed import ComposedAcquisition, Wanted, weights_of
from tunedprior.acquisition.posterior import misjudged, moments
from tunedprior.acquisition.search import maximize
from tunedprior.average.acquisition import MixtureAcquisition, Moments, upper_confidence_bound
from tunedprior.average.mixture import MixtureOfProcesses
from tunedprior.campaign.composing import Composing, probability_met
from tunedprior.campaign.fitted import Fitted, Part
from tunedprior.campaign.pool import Pool
from tunedprior.campaign.suggester import Suggester
from tunedprior.checks import listed
from tunedprior.errors import InputError
from tunedprior.numerics.isolation import LARGE, child_seed, computing
from tunedprior.numerics.linalg import cholesky
from tunedprior.problem.aims import Aims
from tunedprior.problem.objective import Objective, codes_of_run
from tunedprior.problem.space import Setting
from tunedprior.problem.trials import in_words, settings_of

_INTERVAL = 1.959963984540054  # standard deviations: 95 of 100 lie within
_EVEN = 0.5  # the probability of meeting what is required, from which on a setting can be recommended
# Settings all over the space, among which the best may be; and samples of what the response may be at all of them.
_EVERYWHERE, _SAMPLES = 384, 512
_QUANTILE = 0.95
_LEAST_VARIANCE = 1e-9  # relative to the amplitude: settings may be the same but for rounding
_NODES = 32  # of a Gauss–Hermite rule


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


@dataclass(frozen=True)
class Remaining:
    """What may still be gained on the recommended setting, in units of the response.

    Attributes:
        expected: The expected gain, if the best setting of all were found.
        bound: What the gain is below with probability 0.95: an upper bound on the remaining regret.
        probability: That of a gain of more than was asked about.
        more_than: What was asked about.
    """

    expected: float
    bound: float
    probability: float
    more_than: float

    def __str__(self) -> str:
        return (
            f"At most {self.bound:.3g} is left to gain (95 % sure; {self.expected:.3g} expected); more than "
            f"{self.more_than:g} with probability {self.probability:.2g}."
        )


@dataclass(frozen=True)
class Replication:
    """Whether to repeat a setting, or to try a new one: which makes the recommended setting better.

    Attributes:
        setting: The one that is best worth repeating.
        gain: By how much one repetition is expected to make what is recommended better, in units of the response.
        exploring: The same for the next new setting.
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
        return f"{verdict} {in_words(self.setting)} (gain {self.gain:.3g}, against {self.exploring:.3g})."


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
    """Where the expected utility is largest, among settings that probably meet what is required.

    Candidates are all settings that were tried, and unless there is a pool, whatever the models expect to be best.
    """
    aims = suggester.aims
    _refuse_front(aims, "recommend")
    tried = settings_of([trial for trial in fitted.history.told if not trial.failed])
    settings = [*(dict(one) for one in (tried if pool is None else pool.settings))]
    with computing(len(fitted.history) >= LARGE), torch.no_grad():
        if pool is None:
            settings += _most_promising(suggester, fitted, seed)
        codes = codes_of_run(settings, fitted.box)
        worth = expected_worth(aims, fitted, codes)
        met = probability_met(fitted, aims, codes) if _can_fail(aims, fitted) else torch.ones(len(codes)).double()
        likely = met >= min(_EVEN, float(met.max()))
        chosen = int(worth.masked_fill(~likely, -torch.inf).argmax())
        rows = {
            one.target: interval(fitted.parts[one.target], one, codes[chosen : chosen + 1])
            for one in aims.responses
            if one.target in fitted.parts and not one.labels
        }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "low", "high"])
    return Recommendation(settings[chosen], *rows[fitted.main], float(met[chosen]), table)


def interval(part: Part, response: Objective, codes: Float[Tensor, "1 k"]) -> tuple[float, float, float]:
    """Mean, and the ends of a 95 % interval of the response at a setting, in its units."""
    mean, variance = moments(part.model, codes)
    spread = _INTERVAL * misjudged(part.model) * variance.sqrt()
    told = part.observations
    middle, low, high = (
        float(response.sign * (told.shift + told.scale * one)) for one in (mean, mean - spread, mean + spread)
    )
    low, high = min(low, high), max(low, high)
    return (float(np.exp(middle)), float(np.exp(low)), float(np.exp(high))) if response.log else (middle, low, high)


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
    score = partial(upper_confidence_bound, weights_of(model), torch.zeros((), dtype=torch.float64))
    seed = child_seed(seed, len(fitted.history), 5)
    found = maximize(MixtureAcquisition(model, score), suggester.lattice, nothing, seed)
    return [suggester.setting_at(found)]


def remaining(suggester: Suggester, fitted: Fitted, seed: int, more_than: float, pool: Pool | None = None) -> Remaining:
    """max_x u(f(x)) - u(f(recommended)), from samples of f at settings all over the space (or of all candidates)."""
    aims = suggester.aims
    _refuse_front(aims, "remaining")
    if aims.weights or not isinstance(fitted.model, MixtureOfProcesses):
        raise InputError("remaining is for one objective and prior='average'; this is neither. Use recommend.")
    best = recommended(suggester, fitted, seed, pool).setting
    tried = settings_of([trial for trial in fitted.history.told if not trial.failed])
    offered = suggester.space.sobol(_EVERYWHERE, child_seed(seed, len(fitted.history), 7))
    if pool is not None:
        offered = list(pool.settings)
    settings = [best, *_different([*tried[-_EVERYWHERE:], *offered], best)]
    with computing(len(fitted.history) >= LARGE), torch.no_grad():
        codes = codes_of_run(settings, fitted.box)
        if pool is None and not suggester.space.constraints:
            codes = torch.cat([codes, _around(codes[0], suggester.lattice.bounds, seed)])
        if _can_fail(aims, fitted):
            met = probability_met(fitted, aims, codes) >= _EVEN
            met[0] = True
            codes = codes[met]
        samples = sampled(fitted.model, _thinned(fitted, aims, codes), seed)
    told, response = fitted.observations, aims.main
    y = response.sign * (told.shift + told.scale * samples.numpy())
    utilities = _utilities(response, np.exp(y) if response.log else y)
    gains = utilities.max(-1) - utilities[:, 0]
    return Remaining(
        float(gains.mean()), float(np.quantile(gains, _QUANTILE)), float((gains > more_than).mean()), more_than
    )


def sampled(model: MixtureOfProcesses, codes: Float[Tensor, "n k"], seed: int) -> Float[Tensor, "s n"]:
    """Samples of f at settings, jointly, each process as often as its weight says."""
    x, processes = model.box.inputs(codes), model.processes
    explained = model.explained_by(x)
    means = (explained.mT @ model.whitened).squeeze(-1)
    generator = torch.Generator().manual_seed(seed)
    found = []
    for number, count in enumerate(torch.bincount(model.members, minlength=len(processes)).tolist()):
        one = processes.take(torch.tensor([number]))  # one at a time: all of them together would fill the memory
        covariance = one.covariance(x, x)[0] - explained[number].mT @ explained[number]
        covariance.diagonal().add_(_LEAST_VARIANCE)
        factor = cholesky(covariance[None])[0] * model.amplitude[number].sqrt()
        draws = torch.randn(len(x), count * _SAMPLES // len(model.members), generator=generator, dtype=x.dtype)
        found.append(means[number] + (factor @ draws).mT)
    return torch.cat(found)


def replication(suggester: Suggester, fitted: Fitted, next_one: Setting) -> Replication:
    """The knowledge gradient of repeating each setting, and of trying the next new one.

    KG(x) = E[max_i E[f(x_i) | y at x]] - max_i E[f(x_i)], over the settings that were tried and the new one.
    """
    model = fitted.model
    if not suggester.aims.is_plain or not isinstance(model, MixtureOfProcesses):
        raise InputError("replicate is for one response to be maximised or minimised, with prior='average'.")
    tried = _different(settings_of([trial for trial in fitted.history.told if not trial.failed]), None)
    if not tried:
        raise InputError("replicate needs a result to repeat; every run so far failed. Ask for a new setting.")
    with computing(len(fitted.history) >= LARGE), torch.no_grad():
        codes = codes_of_run([*tried, next_one], fitted.box)
        x, processes = model.box.inputs(codes), model.processes
        explained = model.explained_by(x)
        means = (explained.mT @ model.whitened).squeeze(-1)
        covariance = (processes.covariance(x, x) - explained.mT @ explained) * model.amplitude[:, None, None]
        noise = model.amplitude * processes.noise
        variance = covariance.diagonal(dim1=-2, dim2=-1) + noise[:, None]
        steps = covariance / variance.clamp_min(1e-12).sqrt()[:, None, :]  # s i x: what x teaches of i
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        gains = torch.zeros(len(codes), dtype=torch.float64)
        for node, weight in zip(nodes, weights / weights.sum(), strict=True):
            best = (means[:, :, None] + steps * node).amax(1) - means.amax(1, keepdim=True)
            gains += weight * (weights_of(model) @ best)
        gains = fitted.observations.scale * gains.clamp_min(0.0)
    chosen = int(gains[:-1].argmax())
    return Replication(dict(tried[chosen]), float(gains[chosen]), float(gains[-1]))


def _refuse_front(aims: Aims, what: str) -> None:
    if aims.has_front:
        raise InputError(
            f"{what} is for one objective, or for several with weights; there are "
            f"{listed(one.target for one in aims.objectives)}. Take a setting of opt.front, or give a preference."
        )


def _can_fail(aims: Aims, fitted: Fitted) -> bool:
    return bool(aims.requirements) or fitted.works is not None


def _different(settings: Sequence[Setting], but: Setting | None) -> list[Setting]:
    seen: dict[Any, Setting] = {repr(sorted(one.items())): one for one in settings}
    if but is not None:
        seen.pop(repr(sorted(but.items())), None)
    return list(seen.values())


def _around(code: Float[Tensor, " k"], bounds: Float[Tensor, "2 k"], seed: int) -> Float[Tensor, "n k"]:
    """Codes near one, where the maximum of a sample is most likely missed by settings all over the space."""
    steps = torch.randn(64, len(code), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    widths = torch.logspace(-2, -0.5, 64, dtype=torch.float64)[:, None]
    return (code + widths * (bounds[1] - bounds[0]) / 2 * steps).clamp(*bounds)


def _thinned(fitted: Fitted, aims: Aims, codes: Float[Tensor, "n k"]) -> Float[Tensor, "m k"]:
    """The first of the settings and, of many, those that may be best: with the largest mean and three deviations."""
    most = 2 * _EVERYWHERE
    if len(codes) <= most:
        return codes
    mean, variance = moments(fitted.model, codes)
    low, high = aims.main.target_in(fitted.observations)
    hope = mean if low == torch.inf else -(mean - (low + high) / 2).abs()
    best = (hope + 3 * variance.sqrt())[1:].topk(most).indices + 1
    return codes[torch.cat([torch.zeros(1, dtype=torch.int64), best])]


def _utilities(response: Objective, y: Float64[ndarray, "s n"]) -> Float64[ndarray, "s n"]:
    utilities: Float64[ndarray, "s n"] = np.vectorize(response.utility)(y)
    return utilities
