"""Fit the models of a history: one for each response, and where needed one for failures and one for the cost.

Where there are too many results for all of them, models are fitted to a selection.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, log
from typing import Any

import numpy as np
import torch
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import format_value
from tunedprior.errors import InputError
from tunedprior.goals.goal import NO_LIMITS
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import encode_run_settings
from tunedprior.goals.observations import Observations
from tunedprior.history.trials import History, Trial, collect_settings
from tunedprior.models.posterior import MEMBERS, ComponentModel, assign_members, find_components
from tunedprior.models.surrogate import CachingSurrogate, Surrogate
from tunedprior.numerics.isolation import (
    ADDED_JITTER,
    ENDED_EARLY,
    LARGE,
    NEGATIVE_VARIANCE,
    OwnGenerator,
    derive_seed,
    isolate_computation,
    silence_warnings,
)
from tunedprior.numerics.linalg import cholesky
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Setting, Space
from tunedprior.suggestion.config import Cost, SearchConfig
from tunedprior.suggestion.priors import make_plain_surrogate

_OF_EACH = 8  # samples of each of `MEMBERS` equal members
#: How many samples `ResponseModel.sample_posterior` draws.
NUM_SAMPLES = _OF_EACH * MEMBERS
_LEAST_VARIANCE = 1e-9  # points may be the same but for rounding
#: Models are fitted to fewer than three times this many results: the latest, and this many in place of all before them.
BLOCK = 300
# The part of these that are the best of all before them.
_BEST = 0.25


def thin_trials(trials: Sequence[Trial], goals: Goals, box: Box) -> Sequence[Trial]:
    """Select the results that models are fitted to: all of them, if there are fewer than 3·`BLOCK`.

    If there are more: the latest, and `BLOCK` earlier ones, namely the best and others spread over the space. The
    selection changes once in `BLOCK` results, so that earlier computations can be reused.
    """
    if len(trials) < 3 * BLOCK:
        return trials
    early = BLOCK * ((len(trials) - BLOCK) // BLOCK)
    return [*_choose_representatives(trials[:early], goals, box), *trials[early:]]


def _choose_representatives(trials: Sequence[Trial], goals: Goals, box: Box) -> list[Trial]:
    """Choose `BLOCK` trials: the best, then each time the one furthest from all chosen ones; in their order."""
    order = np.argsort([-_compute_worth(trial, goals) for trial in trials], kind="stable")
    chosen = [int(position) for position in order[: int(_BEST * BLOCK)]]
    X = box.to_kernel_inputs(encode_run_settings(collect_settings(trials), box))
    distances = torch.cdist(X, X[chosen]).amin(-1)
    while len(chosen) < BLOCK:
        chosen.append(_find_furthest(distances, chosen))
        distances = torch.minimum(distances, (X - X[chosen[-1]]).norm(dim=-1))
    return [trials[position] for position in sorted(chosen)]


def _find_furthest(distances: Float[Tensor, " n"], chosen: Sequence[int]) -> int:
    """The position of the largest distance, among trials that were not chosen yet (settings may repeat)."""
    left = distances.clone()
    left[list(chosen)] = -1.0
    return int(left.argmax())


def _compute_worth(trial: Trial, goals: Goals) -> float:
    """The utility of a trial (summed over a front's objectives); -∞ if a value is missing or a requirement not met."""
    worth = sum(goals.compute_utilities(trial)) if goals.has_front else goals.compute_worth(trial)
    return -np.inf if isnan(worth) or not goals.is_met(trial) else worth


@dataclass(frozen=True, eq=False)
class ResponseModel:
    """The fitted model of one response.

    Attributes:
        observations: The training data.
        model: The BoTorch model.
        surrogate: The surrogate that made the model of the observations.
        cache: Work that the next fit can reuse (see `CachingSurrogate`).
        limits: The least and the largest possible response (`Objective.infer_limits`).
    """

    observations: Observations
    model: Model
    surrogate: Surrogate
    cache: Any = None
    limits: tuple[float, float] = NO_LIMITS

    @cached_property
    def components(self) -> ComponentModel | None:
        """The model as a mixture of Gaussian processes; None if its posterior is something else."""
        return find_components(self.model, self.observations, self.surrogate)

    def sample_posterior(self, X: Float[Tensor, "n k"], seed: int) -> Float[Tensor, "s n"]:
        """`NUM_SAMPLES` samples of f at n points, jointly, each component as often as its weight says."""
        known = self.components
        if known is None:
            with torch.no_grad(), silence_warnings(NEGATIVE_VARIANCE, ADDED_JITTER), OwnGenerator(seed):
                posterior: Any = self.model.posterior(X)
                drawn: Tensor = posterior.rsample(torch.Size([NUM_SAMPLES]))
            return drawn.reshape(-1, len(X))
        generator, found = torch.Generator().manual_seed(seed), []
        counts = torch.bincount(assign_members(known.weights), minlength=len(known.weights))
        for count, (mean, covariance) in zip(counts.tolist(), known.iterate_joint_moments(X), strict=True):
            least = _LEAST_VARIANCE * max(1.0, float(covariance.diagonal().max()))
            factor = cholesky((covariance + least * torch.eye(len(X)).to(covariance))[None])[0]
            draws = torch.randn(len(X), count * _OF_EACH, generator=generator, dtype=X.dtype)
            found.append(mean + (factor @ draws).mT)
        return torch.cat(found)


@dataclass(frozen=True, eq=False)
class FittedModels:
    """The models fitted to a history.

    Attributes:
        history: The history that they were fitted to.
        models: The model of each response that has results, by the response's name.
        main: The name of the first response.
        box: How settings are encoded for the models.
        success_model: The model of whether a run gives a value, by +1 and -1; None if all did, or if failures count
            as bad values.
        cost: The model of the logarithm of the cost; None if it is not known to vary.
    """

    history: History
    models: Mapping[str, ResponseModel]
    main: str
    box: Box
    success_model: ResponseModel | None = None
    cost: ResponseModel | None = None

    @property
    def observations(self) -> Observations:
        """The observations of the first response."""
        return self.models[self.main].observations

    @property
    def model(self) -> Model:
        """The model of the first response."""
        return self.models[self.main].model


@dataclass(frozen=True, eq=False)
class ModelFitter:
    """Fits models to histories.

    Attributes:
        goals: Objectives and requirements of the campaign.
        surrogates: By response, the function from observations to a model.
        space: The search space.
        search: How suggestions are searched for: whether failures and costs have models of their own.
    """

    goals: Goals
    surrogates: Mapping[str, Surrogate]
    space: Space
    search: SearchConfig

    @property
    def box(self) -> Box:
        """The box that all models share."""
        return self.surrogates[self.goals.main.name].box

    @cached_property
    def plain(self) -> CachingSurrogate:
        """The process without old data, which models failures and cost."""
        return make_plain_surrogate(self.space, self.box)

    def fit(self, history: History, seed: int, previous: FittedModels | None) -> FittedModels:
        """Fit the models to a history; `previous`, the models of a shorter one, saves time and changes nothing."""
        box, models = self.box, {}
        told, failures = thin_trials(history.told, self.goals, box), not self.search.learns_failures
        for one in self.goals.responses:
            observations = self.goals.make_observations(one, told, box, failures and one.is_main)
            if len(observations):
                old = None if previous is None else previous.models.get(one.name)
                response_model = self._fit_model(self.surrogates[one.name], observations, seed, old)
                models[one.name] = replace(response_model, limits=one.infer_limits(history.told))
        success_model, cost = None, None
        if self.search.learns_failures and any(trial.failed for trial in told):
            old = None if previous is None else previous.success_model
            success_model = self._fit_model(self.plain, encode_failures(told, box), seed, old)
        costs = _collect_costs(told) if self.search.composes and self.search.cost is None else []
        if len({value for _, value in costs}) > 1:
            old = None if previous is None else previous.cost
            cost = self._fit_model(self.plain, standardise_costs(costs, box), seed, old)
        return FittedModels(history, models, self.goals.main.name, box, success_model, cost)

    def _fit_model(
        self, surrogate: Surrogate, observations: Observations, seed: int, previous: ResponseModel | None
    ) -> ResponseModel:
        count = len(observations)
        with isolate_computation(count >= LARGE):
            if isinstance(surrogate, CachingSurrogate):
                model, cache = surrogate.fit(observations, None if previous is None else previous.cache)
                return ResponseModel(observations, model, surrogate, cache)
            with silence_warnings(ENDED_EARLY), OwnGenerator(derive_seed(seed, count, 0)):
                return ResponseModel(observations, surrogate(observations), surrogate)


def encode_failures(trials: Sequence[Trial], box: Box) -> Observations:
    """+1 for each run that gave a value, -1 for each failed run."""
    y = torch.tensor([[-1.0 if trial.failed else 1.0] for trial in trials], dtype=torch.float64)
    return Observations(encode_run_settings(collect_settings(trials), box), y)


def standardise_costs(costs: Sequence[tuple[Setting, float]], box: Box) -> Observations:
    """The logarithms of costs, scaled to mean 0 and variance 1."""
    y = np.array([log(value) for _, value in costs])
    shift, scale = float(y.mean()), float(y.std()) or 1.0
    X = encode_run_settings([setting for setting, _ in costs], box)
    return Observations(X, torch.as_tensor((y - shift) / scale)[:, None], shift=shift, scale=scale)


def evaluate_cost(cost: Cost, setting: Setting) -> float:
    """Call the user's cost function for a setting; an `InputError` if the result is no cost."""
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
