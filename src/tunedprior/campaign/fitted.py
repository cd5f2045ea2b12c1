"""Models of everything that was told: one for each response, and where there is reason, of failures and of cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, log
from typing import Any

import numpy as np
import torch
from botorch.models.model import Model

from tunedprior.average.surrogate import Average
from tunedprior.campaign.thinning import kept
from tunedprior.checks import shown
from tunedprior.errors import InputError
from tunedprior.models.surrogate import CachingSurrogate, Surrogate
from tunedprior.numerics.isolation import ENDED_EARLY, LARGE, OwnGenerator, child_seed, computing, quietly
from tunedprior.problem.aims import Aims
from tunedprior.problem.box import Box
from tunedprior.problem.goals import NO_LIMITS
from tunedprior.problem.objective import codes_of_run
from tunedprior.problem.observations import Observations
from tunedprior.problem.space import Setting
from tunedprior.problem.trials import History, Trial, settings_of

#: What a setting costs, where it is known beforehand.
Cost = Callable[[Setting], float]


@dataclass(frozen=True, eq=False)
class Part:
    """The model of one response.

    Attributes:
        observations: What it was fitted to.
        model: The model.
        cache: What makes the next model faster (see `CachingSurrogate`).
        limits: What the response cannot be below and above (`Objective.limits_by`).
    """

    observations: Observations
    model: Model
    cache: Any = None
    limits: tuple[float, float] = NO_LIMITS


@dataclass(frozen=True, eq=False)
class Fitted:
    """The models fitted to a history.

    Attributes:
        history: Which.
        parts: By response, as far as there are results.
        main: The name of the first response.
        box: What the models' codes are of.
        works: The model of whether a run gives a value, by +1 and -1; None if all did, or failures count otherwise.
        cost: The model of the logarithm of the cost; None if it is not known to vary.
    """

    history: History
    parts: Mapping[str, Part]
    main: str
    box: Box
    works: Part | None = None
    cost: Part | None = None

    @property
    def observations(self) -> Observations:
        """Of the first response."""
        return self.parts[self.main].observations

    @property
    def model(self) -> Model:
        """Of the first response."""
        return self.parts[self.main].model


@dataclass(frozen=True, eq=False)
class Fitting:
    """How a history becomes models.

    Attributes:
        aims: The responses.
        surrogates: How the observations of each become a model.
        plain: The process that knows no old data, for failures and cost.
        composes: Whether an acquisition function can be composed of several models.
        learns_failures: Whether a failed run is learnt as such, and not as a bad value.
        cost: What settings cost, where it is known.
    """

    aims: Aims
    surrogates: Mapping[str, Surrogate]
    plain: Average
    composes: bool
    learns_failures: bool
    cost: Cost | None = None

    def fit(self, history: History, seed: int, before: Fitted | None) -> Fitted:
        """The models, of so many results as `kept` says; faster with those of the same history less some results."""
        box, parts = self.plain.box, {}
        told, failures = kept(history.told, self.aims, box), not self.learns_failures
        for one in self.aims.responses:
            observations = self.aims.observations(one, told, box, failures and one.is_main)
            if len(observations):
                old = None if before is None else before.parts.get(one.target)
                part = self._part(self.surrogates[one.target], observations, seed, old)
                parts[one.target] = replace(part, limits=one.limits_by(history.told))
        works, cost = None, None
        if self.learns_failures and any(trial.failed for trial in told):
            old = None if before is None else before.works
            works = self._part(self.plain, labels_of(told, box), seed, old)
        costs = _told_costs(told) if self.composes and self.cost is None else []
        if len({value for _, value in costs}) > 1:
            old = None if before is None else before.cost
            cost = self._part(self.plain, cost_observations(costs, box), seed, old)
        return Fitted(history, parts, self.aims.main.target, box, works, cost)

    def _part(self, surrogate: Surrogate, observations: Observations, seed: int, before: Part | None) -> Part:
        count = len(observations)
        with computing(count >= LARGE):
            if isinstance(surrogate, CachingSurrogate):
                model, cache = surrogate.fit(observations, None if before is None else before.cache)
                return Part(observations, model, cache)
            with quietly(ENDED_EARLY), OwnGenerator(child_seed(seed, count, 0)):
                return Part(observations, surrogate(observations))


def labels_of(trials: Sequence[Trial], box: Box) -> Observations:
    """+1 for each run that gave a value, -1 for each that failed."""
    y = torch.tensor([[-1.0 if trial.failed else 1.0] for trial in trials], dtype=torch.float64)
    return Observations(codes_of_run(settings_of(trials), box), y)


def cost_observations(costs: Sequence[tuple[Setting, float]], box: Box) -> Observations:
    """The logarithms of costs, with mean 0 and variance 1."""
    y = np.array([log(value) for _, value in costs])
    shift, scale = float(y.mean()), float(y.std()) or 1.0
    codes = codes_of_run([setting for setting, _ in costs], box)
    return Observations(codes, torch.as_tensor((y - shift) / scale)[:, None], shift=shift, scale=scale)


def cost_of(cost: Cost, setting: Setting) -> float:
    """What the user's function says that a setting costs, or an `InputError`."""
    try:
        found = cost(dict(setting))
    except Exception as error:  # whatever a function of somebody else's may raise
        raise InputError(f"cost failed for {setting}: {type(error).__name__}: {error}.") from error
    try:
        value = float("nan" if isinstance(found, str) else found)
    except (TypeError, ValueError):
        value = float("nan")
    if not 0 < value < float("inf"):
        raise InputError(f"cost must give a number above 0 for every setting; for {setting} it gave {shown(found)}.")
    return value


def _told_costs(trials: Sequence[Trial]) -> list[tuple[Setting, float]]:
    return [(trial.setting, trial.cost) for trial in trials if not isnan(trial.cost)]
