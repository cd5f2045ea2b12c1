"""Models of everything that was told: one for each response, and where there is reason, of failures and of cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, log
from typing import Any

import numpy as np
import torch
from botorch.models.model import Model

from tunedprior.average.surrogate import Average
from tunedprior.campaign.thinning import thin_trials
from tunedprior.checks import format_value
from tunedprior.errors import InputError
from tunedprior.models.surrogate import CachingSurrogate, Surrogate
from tunedprior.numerics.isolation import (
    ENDED_EARLY,
    LARGE,
    OwnGenerator,
    derive_seed,
    isolate_computation,
    silence_warnings,
)
from tunedprior.problem.aims import Goals
from tunedprior.problem.box import Box
from tunedprior.problem.goals import NO_LIMITS
from tunedprior.problem.objective import encode_run_settings
from tunedprior.problem.observations import Observations
from tunedprior.problem.space import Setting
from tunedprior.problem.trials import History, Trial, collect_settings

#: What a setting costs, where it is known beforehand.
Cost = Callable[[Setting], float]


@dataclass(frozen=True, eq=False)
class ResponseModel:
    """The model of one response.

    Attributes:
        observations: What it was fitted to.
        model: The model.
        cache: What makes the next model faster (see `CachingSurrogate`).
        limits: What the response cannot be below and above (`Objective.infer_limits`).
    """

    observations: Observations
    model: Model
    cache: Any = None
    limits: tuple[float, float] = NO_LIMITS


@dataclass(frozen=True, eq=False)
class FittedModels:
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
    parts: Mapping[str, ResponseModel]
    main: str
    box: Box
    success_model: ResponseModel | None = None
    cost: ResponseModel | None = None

    @property
    def observations(self) -> Observations:
        """Of the first response."""
        return self.parts[self.main].observations

    @property
    def model(self) -> Model:
        """Of the first response."""
        return self.parts[self.main].model


@dataclass(frozen=True, eq=False)
class ModelFitter:
    """How a history becomes models.

    Attributes:
        aims: The responses.
        surrogates: How the observations of each become a model.
        plain: The process that knows no old data, for failures and cost.
        composes: Whether an acquisition function can be composed of several models.
        learns_failures: Whether a failed run is learnt as such, and not as a bad value.
        cost: What settings cost, where it is known.
    """

    aims: Goals
    surrogates: Mapping[str, Surrogate]
    plain: Average
    composes: bool
    learns_failures: bool
    cost: Cost | None = None

    def fit(self, history: History, seed: int, before: FittedModels | None) -> FittedModels:
        """The models, of so many results as `kept` says; faster with those of the same history less some results."""
        box, parts = self.plain.box, {}
        told, failures = thin_trials(history.told, self.aims, box), not self.learns_failures
        for one in self.aims.responses:
            observations = self.aims.make_observations(one, told, box, failures and one.is_main)
            if len(observations):
                old = None if before is None else before.parts.get(one.name)
                part = self._fit_model(self.surrogates[one.name], observations, seed, old)
                parts[one.name] = replace(part, limits=one.infer_limits(history.told))
        works, cost = None, None
        if self.learns_failures and any(trial.failed for trial in told):
            old = None if before is None else before.success_model
            works = self._fit_model(self.plain, encode_failures(told, box), seed, old)
        costs = _collect_costs(told) if self.composes and self.cost is None else []
        if len({value for _, value in costs}) > 1:
            old = None if before is None else before.cost
            cost = self._fit_model(self.plain, standardise_costs(costs, box), seed, old)
        return FittedModels(history, parts, self.aims.main.name, box, works, cost)

    def _fit_model(
        self, surrogate: Surrogate, observations: Observations, seed: int, before: ResponseModel | None
    ) -> ResponseModel:
        count = len(observations)
        with isolate_computation(count >= LARGE):
            if isinstance(surrogate, CachingSurrogate):
                model, cache = surrogate.fit(observations, None if before is None else before.cache)
                return ResponseModel(observations, model, cache)
            with silence_warnings(ENDED_EARLY), OwnGenerator(derive_seed(seed, count, 0)):
                return ResponseModel(observations, surrogate(observations))


def encode_failures(trials: Sequence[Trial], box: Box) -> Observations:
    """+1 for each run that gave a value, -1 for each that failed."""
    y = torch.tensor([[-1.0 if trial.failed else 1.0] for trial in trials], dtype=torch.float64)
    return Observations(encode_run_settings(collect_settings(trials), box), y)


def standardise_costs(costs: Sequence[tuple[Setting, float]], box: Box) -> Observations:
    """The logarithms of costs, with mean 0 and variance 1."""
    y = np.array([log(value) for _, value in costs])
    shift, scale = float(y.mean()), float(y.std()) or 1.0
    codes = encode_run_settings([setting for setting, _ in costs], box)
    return Observations(codes, torch.as_tensor((y - shift) / scale)[:, None], shift=shift, scale=scale)


def evaluate_cost(cost: Cost, setting: Setting) -> float:
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
        raise InputError(
            f"cost must give a number above 0 for every setting; for {setting} it gave {format_value(found)}."
        )
    return value


def _collect_costs(trials: Sequence[Trial]) -> list[tuple[Setting, float]]:
    return [(trial.setting, trial.cost) for trial in trials if not isnan(trial.cost)]
