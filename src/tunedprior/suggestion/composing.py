"""Build the acquisition function for several responses, requirements, failed runs and costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

import torch
from botorch.acquisition import AcquisitionFunction
from botorch.models.model import Model
from jaxtyping import Bool, Float
from torch import Tensor

from tunedprior.acquisition.closed_form import (
    ComposedAcquisition,
    ScaledGoal,
    Term,
    make_cost_term,
    make_hypervolume_term,
    make_improvement_term,
    make_probability_term,
    make_weighted_improvement_term,
)
from tunedprior.acquisition.monte_carlo import SampledResponses, ScaledRequirement, SumOfLogarithms
from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.goals.goals import Goals, is_non_dominated
from tunedprior.goals.objective import encode_run_settings
from tunedprior.history.trials import Trial, collect_settings
from tunedprior.models.posterior import ComponentModel, predict_moments
from tunedprior.suggestion.response_models import FittedModels, ResponseModel

# What is not the name of any response: whether a run works at all, and what it costs.
_WORKS, _COST = "\0works", "\0cost"
# A model as its components; where its posterior is no mixture of Gaussian processes, the BoTorch model itself.
_Conditioned = ComponentModel | Model
# How far behind the worst of the front the reference point lies, as a share of the range of what was told.
_BEHIND = 0.1


@dataclass(frozen=True, eq=False)
class AcquisitionBuilder:
    """Combine the models of all responses into one acquisition function.

    Attributes:
        goals: Objectives and requirements of the campaign.
        fitted: The fitted models of all responses.
        pending: The encoded pending settings; each component is conditioned on its own mean there, and a model without
            components is sampled there.
        seed: The seed of samples, where models have no closed form.
    """

    goals: Goals
    fitted: FittedModels
    pending: Float[Tensor, "p k"]
    seed: int = 0

    def build_acquisition(self) -> AcquisitionFunction | None:
        """log a(x) = log improvement(x) + Σ log P(requirement | x) - E[log cost(x)], of the factors that have a model.

        In closed form where all models are mixtures of Gaussian processes, else from samples. None if an objective was
        never measured and there is no model of a requirement or of failures.
        """
        response_models = self._collect_models()
        if all(one.components is not None for one in response_models.values()):
            closed = self._condition_all(response_models)
            terms = [*self._build_improvement_terms(closed), *self._build_requirement_terms(closed)]
            return ComposedAcquisition(closed, [*terms, *self._build_cost_terms(closed)]) if terms else None
        closed = self._condition_all(
            {name: response_models[name] for name in (_WORKS, _COST) if name in response_models}
        )
        factors, terms = self._build_sampled_factors(), self._build_requirement_terms(closed)
        if not factors and not terms:
            return None
        terms += self._build_cost_terms(closed)
        return SumOfLogarithms([*factors, ComposedAcquisition(closed, terms)] if terms else factors)

    def compute_feasibility_probability(self, X: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        """Compute the probability that a run at each setting works and meets all requirements."""
        asked = {_WORKS, *(one.response for one in self.goals.requirements)}
        parts = {name: response_model for name, response_model in self._collect_models().items() if name in asked}
        closed = self._condition_all({name: one for name, one in parts.items() if one.components is not None})
        terms, found = self._build_requirement_terms(closed), torch.ones(len(X), dtype=torch.float64)
        if terms:
            logarithm: Tensor = ComposedAcquisition(closed, terms)(X[:, None])
            found = logarithm.exp()
        sampled = {name: one.model for name, one in parts.items() if one.components is None}
        for one in self._list_scaled_requirements(sampled):
            samples = parts[one.response].sample_posterior(X, self.seed)
            found = found * ((one.low <= samples) & (samples <= one.high)).to(found).mean(0)
        return found

    def _collect_models(self) -> dict[str, ResponseModel]:
        found = dict(self.fitted.models)
        if self.fitted.success_model is not None:
            found[_WORKS] = self.fitted.success_model
        if self.fitted.cost is not None:
            found[_COST] = self.fitted.cost
        return found

    def _condition_all(self, response_models: Mapping[str, ResponseModel]) -> dict[str, ComponentModel]:
        """The components of each model, conditioned on their own means at pending settings."""
        found = {}
        for name, one in response_models.items():
            assert one.components is not None
            with torch.no_grad():
                found[name] = one.components.condition_on_means(self.pending) if len(self.pending) else one.components
        return found

    def _build_improvement_terms(self, models: Mapping[str, ComponentModel]) -> list[Term]:
        """Build the term for the gain on the best trial so far; none while no trial meets the requirements."""
        scaled_goals, utilities = self.list_scaled_goals(models)
        if len(utilities) == 0:
            return []
        if len(scaled_goals) == 1:
            return [make_improvement_term(scaled_goals[0], utilities.max())]
        if self.goals.weights:
            worths = self._list_worths(scaled_goals)
            best = float((utilities @ utilities.new_tensor(worths)).max())
            return [make_weighted_improvement_term(scaled_goals, worths, best)]
        return [make_hypervolume_term(scaled_goals, utilities, self._compute_reference_point(utilities))]

    def _build_sampled_factors(self) -> list[AcquisitionFunction]:
        """The improvement where everything required is met, by samples; or the probability of that alone.

        It is the improvement of a setting and the pending ones together: they are sampled jointly.
        """
        models = {name: one.model for name, one in self.fitted.models.items()}
        mixtures = [name for name, one in models.items() if isinstance(one, ComponentModel)]
        if mixtures:
            others = [name for name in models if name not in mixtures]
            raise InputError(
                f"The model of {format_list(mixtures)} is a mixture, and that of {format_list(others)} can only be "
                "sampled: they cannot be sampled together. Give models of one kind for all responses."
            )
        example = next(iter(self.fitted.models.values())).observations.X[:1]
        sampled = SampledResponses(models, example, self.seed, self.pending)
        required = self._list_scaled_requirements(models)
        scaled_goals, utilities = replace(self, pending=self.pending[:0]).list_scaled_goals(models)
        if len(utilities) == 0:
            return [sampled.make_probability(required)] if required else []
        if len(scaled_goals) > 1 and not self.goals.weights:
            reference = self._compute_reference_point(utilities)
            return [sampled.make_hypervolume_improvement(scaled_goals, utilities, reference, required)]
        worths = self._list_worths(scaled_goals) if self.goals.weights else [1.0]
        best = float((utilities @ utilities.new_tensor(worths)).max())
        return [sampled.make_improvement(scaled_goals, worths, best, required)]

    def list_scaled_goals(self, models: Mapping[str, _Conditioned]) -> tuple[list[ScaledGoal], Float[Tensor, "n m"]]:
        """The scaled goal of each objective, and the utilities so far; none while an objective was never measured."""
        names = [one.name for one in self.goals.objectives]
        if any(name not in models for name in names):
            return [], torch.empty(0, len(names), dtype=torch.float64)
        scaled_goals = [self.make_scaled_goal(name, models[name]) for name in names]
        return scaled_goals, self._compute_utilities(models, scaled_goals)

    def _list_worths(self, scaled_goals: Sequence[ScaledGoal]) -> list[float]:
        """The worth of one unit of each objective's observations."""
        return [
            self.goals.weights.get(one.response, 0.0) * self.fitted.models[one.response].observations.scale
            for one in scaled_goals
        ]

    def make_scaled_goal(self, response: str, model: _Conditioned) -> ScaledGoal:
        """Convert the goal of a response into the units of its observations."""
        ends = self.goals.get_response(response).scale_target(self.fitted.models[response].observations)
        weights = model.weights if isinstance(model, ComponentModel) else torch.ones(1, dtype=torch.float64)
        return ScaledGoal(response, weights, *ends)

    def _compute_utilities(
        self, models: Mapping[str, _Conditioned], scaled_goals: Sequence[ScaledGoal]
    ) -> Float[Tensor, "n m"]:
        """Compute the utilities of told trials and pending settings that meet the requirements: a column per objective.

        Of told trials the measured value counts for a single objective, and the posterior means for several, so that
        noise and missing measurements do not distort the front. Of pending settings the posterior means always count.
        """
        trials = self._select_feasible_trials(models)
        if len(scaled_goals) == 1:
            response_model = self.fitted.models[scaled_goals[0].response]
            trials = self.goals.main.select_measured(trials)
            told = [
                self._scale_value(scaled_goals[0].response, self.goals.main.get_value(trial), response_model)
                for trial in trials
            ]
            found = scaled_goals[0].compute_utility(torch.tensor(told, dtype=torch.float64))[:, None]
        else:
            found = self._compute_expected_utilities(
                models, scaled_goals, encode_run_settings(collect_settings(trials), self.fitted.box)
            )
        if len(self.pending):
            here = self._compute_expected_utilities(models, scaled_goals, self.pending)
            found = torch.cat([found, here[self._predict_feasibility(models, self.pending)]])
        return found

    def _select_feasible_trials(self, models: Mapping[str, _Conditioned]) -> list[Trial]:
        """Select the told trials that meet all requirements of which anything was ever measured.

        Where a trial lacks a response that other trials have, the posterior mean decides.
        """
        told = [trial for trial in self.fitted.history.told if not trial.failed]
        if not self.goals.requirements or not told:
            return told
        expected = self._predict_feasibility(
            models, encode_run_settings(collect_settings(told), self.fitted.box)
        ).tolist()
        found = []
        for trial, is_expected in zip(told, expected, strict=True):
            values = [
                (one, self.goals.get_response(one.response).get_value(trial))
                for one in self.goals.requirements
                if one.response in models
            ]
            measured = [one.is_met(value) for one, value in values if not isnan(value)]
            if all(measured) and (is_expected or len(measured) == len(values)):
                found.append(trial)
        return found

    def _scale_value(self, response: str, value: float, response_model: ResponseModel) -> float:
        objective = self.goals.get_response(response)
        return (objective.scale_value(value) - response_model.observations.shift) / response_model.observations.scale

    @staticmethod
    def _compute_expected_utilities(
        models: Mapping[str, _Conditioned], scaled_goals: Sequence[ScaledGoal], X: Float[Tensor, "n k"]
    ) -> Float[Tensor, "n m"]:
        if len(X) == 0:
            return X.new_zeros(0, len(scaled_goals))
        with torch.no_grad():
            return torch.stack(
                [one.compute_utility(predict_moments(models[one.response], X)[0]) for one in scaled_goals], dim=-1
            )

    def _predict_feasibility(self, models: Mapping[str, _Conditioned], X: Float[Tensor, "n k"]) -> Bool[Tensor, " n"]:
        """Whether each setting meets all requirements by the posterior means."""
        met = torch.ones(len(X), dtype=torch.bool)
        with torch.no_grad():
            for requirement in self.goals.requirements:
                if requirement.response in models:
                    low, high = self._scale_bounds(requirement.response, requirement.low, requirement.high)
                    mean = predict_moments(models[requirement.response], X)[0]
                    met &= (low <= mean) & (mean <= high)
            if _WORKS in models:
                met &= predict_moments(models[_WORKS], X)[0] >= 0
        return met

    def _scale_bounds(self, response: str, low: float, high: float) -> tuple[float, float]:
        """Convert both bounds of a requirement into the units of the observations."""
        response_model = self.fitted.models[response]
        ends = [
            self._scale_bound(response, low, -torch.inf, response_model),
            self._scale_bound(response, high, torch.inf, response_model),
        ]
        return min(ends), max(ends)

    def _scale_bound(self, response: str, end: float, open_end: float, response_model: ResponseModel) -> float:
        objective = self.goals.get_response(response)
        if end == open_end or (objective.log and end <= 0):
            return objective.sign * open_end
        return self._scale_value(response, end, response_model)

    def _compute_reference_point(self, utilities: Float[Tensor, "n m"]) -> Float[Tensor, " m"]:
        """The reference point of the hypervolume: the user's bounds, or a little below the front's worst utilities."""
        front = utilities[is_non_dominated(utilities)]
        reach = (utilities.amax(0) - utilities.amin(0)).clamp_min(_BEHIND)
        reference = front.amin(0) - _BEHIND * reach
        for column, one in enumerate(self.goals.objectives):
            if one.name in self.goals.bounds:
                response_model = self.fitted.models[one.name]
                reference[column] = self._scale_value(one.name, one.sign * self.goals.bounds[one.name], response_model)
        return reference

    def _list_scaled_requirements(self, models: Mapping[str, _Conditioned]) -> list[ScaledRequirement]:
        """The requirements on responses that have a model, in the units of their observations."""
        return [
            ScaledRequirement(one.response, *self._scale_bounds(one.response, one.low, one.high), one.labels)
            for one in self.goals.requirements
            if one.response in models
        ]

    def _build_requirement_terms(self, models: Mapping[str, ComponentModel]) -> list[Term]:
        terms = []
        for one in self._list_scaled_requirements(models):
            model = models[one.response]
            noise = model.noise_variances if one.labels else None
            terms.append(make_probability_term(one.response, model.weights, one.low, one.high, noise))
        if _WORKS in models:
            model = models[_WORKS]
            terms.append(make_probability_term(_WORKS, model.weights, 0.0, torch.inf, model.noise_variances))
        return terms

    def _build_cost_terms(self, models: Mapping[str, ComponentModel]) -> list[Term]:
        if _COST not in models:
            return []
        assert self.fitted.cost is not None
        return [make_cost_term(_COST, models[_COST].weights, self.fitted.cost.observations.scale)]


def compute_feasibility_probability(fitted: FittedModels, goals: Goals, X: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    """Compute the probability that a run at each setting works and meets all requirements."""
    return AcquisitionBuilder(goals, fitted, X[:0]).compute_feasibility_probability(X)
