"""Build the acquisition function for several responses, requirements, failed runs and costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tunedprior.acquisition.composed import (
    ComposedAcquisition,
    ScaledGoal,
    Term,
    make_cost_term,
    make_hypervolume_term,
    make_improvement_term,
    make_probability_term,
    make_weighted_improvement_term,
)
from tunedprior.acquisition.posterior import predict_moments
from tunedprior.goals.goals import Goals, is_non_dominated
from tunedprior.goals.objective import encode_run_settings
from tunedprior.history.trials import Trial, collect_settings
from tunedprior.model_averaging.mixture import MixtureOfProcesses
from tunedprior.suggestion.response_models import FittedModels, ResponseModel

# What is not the name of any response: whether a run works at all, and what it costs.
_WORKS, _COST = "\0works", "\0cost"
# How far behind the worst of the front the reference point lies, as a share of the range of what was told.
_BEHIND = 0.1


@dataclass(frozen=True, eq=False)
class AcquisitionBuilder:
    """Combine the models of all responses into one acquisition function.

    Attributes:
        goals: Objectives and requirements of the campaign.
        fitted: The fitted models of all responses.
        pending: The encoded pending settings; each process is conditioned on its own mean there.
    """

    goals: Goals
    fitted: FittedModels
    pending: Float[Tensor, "p k"]

    def build_acquisition(self) -> ComposedAcquisition | None:
        """log a(x) = log improvement(x) + Σ log P(requirement | x) - E[log cost(x)], of the factors that have a model.

        None if an objective was never measured and there is no model of a requirement or of failures.
        """
        models = {
            name: self._condition_on_pending(response_model) for name, response_model in self._collect_models().items()
        }
        terms = [*self._build_improvement_terms(models), *self._build_requirement_terms(models)]
        if not terms:
            return None
        if _COST in models:
            cost = models[_COST]
            assert self.fitted.cost is not None
            terms.append(make_cost_term(_COST, cost.weights, self.fitted.cost.observations.scale))
        return ComposedAcquisition(models, terms)

    def compute_feasibility_probability(self, X: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        """Compute the probability that a run at each setting works and meets all requirements."""
        asked = {_WORKS, *(one.response for one in self.goals.requirements)}
        models = {
            name: self._condition_on_pending(response_model)
            for name, response_model in self._collect_models().items()
            if name in asked
        }
        terms = self._build_requirement_terms(models)
        if not terms:
            return torch.ones(len(X), dtype=torch.float64)
        logarithm: Tensor = ComposedAcquisition(models, terms)(X[:, None])
        return logarithm.exp()

    def _collect_models(self) -> dict[str, ResponseModel]:
        found = dict(self.fitted.models)
        if self.fitted.success_model is not None:
            found[_WORKS] = self.fitted.success_model
        if self.fitted.cost is not None:
            found[_COST] = self.fitted.cost
        return found

    def _condition_on_pending(self, response_model: ResponseModel) -> MixtureOfProcesses:
        model = response_model.model
        assert isinstance(model, MixtureOfProcesses)  # the suggester refuses other models for such goals
        with torch.no_grad():
            return model.condition_on_means(self.pending) if len(self.pending) else model

    def _build_improvement_terms(self, models: Mapping[str, MixtureOfProcesses]) -> list[Term]:
        """Build the term for the gain on the best trial so far; none while no trial meets the requirements."""
        each = [
            self.make_scaled_goal(one.name, models[one.name]) for one in self.goals.objectives if one.name in models
        ]
        if len(each) < len(self.goals.objectives):
            return []
        utilities = self._compute_utilities(models, each)
        if len(utilities) == 0:
            return []
        if len(each) == 1:
            return [make_improvement_term(each[0], utilities.max())]
        if self.goals.weights:
            worths = [
                self.goals.weights.get(one.response, 0.0) * self.fitted.models[one.response].observations.scale
                for one in each
            ]
            best = float((utilities @ utilities.new_tensor(worths)).max())
            return [make_weighted_improvement_term(each, worths, best)]
        return [make_hypervolume_term(each, utilities, self._compute_reference_point(utilities))]

    def make_scaled_goal(self, response: str, model: MixtureOfProcesses) -> ScaledGoal:
        """Convert the goal of a response into the units of its observations."""
        ends = self.goals.get_response(response).scale_target(self.fitted.models[response].observations)
        return ScaledGoal(response, model.weights, *ends)

    def _compute_utilities(
        self, models: Mapping[str, MixtureOfProcesses], each: Sequence[ScaledGoal]
    ) -> Float[Tensor, "n m"]:
        """Compute the utilities of told trials and pending settings that meet the requirements.

        A single objective counts as it was measured. Of several objectives the posterior means count, so that noise and
        missing measurements do not distort the front.
        """
        useful = self._select_useful(models)
        if len(each) == 1:
            response_model = self.fitted.models[each[0].response]
            useful = self.goals.main.select_measured(useful)
            told = [
                self._scale_value(each[0].response, self.goals.main.get_value(trial), response_model)
                for trial in useful
            ]
            found = each[0].compute_utility(torch.tensor(told, dtype=torch.float64))[:, None]
        else:
            found = self._compute_expected_utilities(
                models, each, encode_run_settings(collect_settings(useful), self.fitted.box)
            )
        if len(self.pending):
            here = self._compute_expected_utilities(models, each, self.pending)
            found = torch.cat([found, here[self._predict_feasibility(models, self.pending)]])
        return found

    def _select_useful(self, models: Mapping[str, MixtureOfProcesses]) -> list[Trial]:
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
        models: Mapping[str, MixtureOfProcesses], each: Sequence[ScaledGoal], X: Float[Tensor, "n k"]
    ) -> Float[Tensor, "n m"]:
        if len(X) == 0:
            return X.new_zeros(0, len(each))
        with torch.no_grad():
            return torch.stack(
                [one.compute_utility(predict_moments(models[one.response], X)[0]) for one in each], dim=-1
            )

    def _predict_feasibility(
        self, models: Mapping[str, MixtureOfProcesses], X: Float[Tensor, "n k"]
    ) -> Bool[Tensor, " n"]:
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

    def _build_requirement_terms(self, models: Mapping[str, MixtureOfProcesses]) -> list[Term]:
        terms = []
        for one in self.goals.requirements:
            if one.response in models:
                model = models[one.response]
                noise = model.amplitude * model.noise if one.labels else None
                low, high = self._scale_bounds(one.response, one.low, one.high)
                terms.append(make_probability_term(one.response, model.weights, low, high, noise))
        if _WORKS in models:
            model = models[_WORKS]
            noise = model.amplitude * model.noise
            terms.append(make_probability_term(_WORKS, model.weights, 0.0, torch.inf, noise))
        return terms


def compute_feasibility_probability(fitted: FittedModels, goals: Goals, X: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    """Compute the probability that a run at each setting works and meets all requirements."""
    return AcquisitionBuilder(goals, fitted, X[:0]).compute_feasibility_probability(X)
