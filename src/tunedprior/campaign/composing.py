"""The acquisition function for what a campaign is after, where that is more than one response to be made large."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tunedprior.acquisition.composed import (
    ComposedAcquisition,
    Term,
    Wanted,
    log_hypervolume_improvement,
    log_improvement,
    log_probability,
    log_weighted_improvement,
    minus_log_cost,
)
from tunedprior.acquisition.posterior import moments
from tunedprior.average.mixture import MixtureOfProcesses
from tunedprior.campaign.fitted import Fitted, Part
from tunedprior.problem.aims import Aims, non_dominated
from tunedprior.problem.objective import codes_of_run
from tunedprior.problem.trials import Trial, settings_of

# What is not the name of any response: whether a run works at all, and what it costs.
_WORKS, _COST = "\0works", "\0cost"
# How far behind the worst of the front the reference point lies, as a share of the range of what was told.
_BEHIND = 0.1


@dataclass(frozen=True, eq=False)
class Composing:
    """The models of a fitted history, with pending settings accounted for, and the terms that are made of them.

    Attributes:
        aims: What is wanted.
        fitted: The models.
        under_way: Codes of the pending settings, which count as what each process expects of them.
    """

    aims: Aims
    fitted: Fitted
    under_way: Float[Tensor, "p k"]

    def acquisition(self) -> ComposedAcquisition | None:
        """Improvement times probability over cost, as a logarithm; what nothing was told of is left out.

        None while there is nothing to go by: an objective was never measured, and nothing else is known to matter.
        """
        models = {name: self._believed(part) for name, part in self._parts().items()}
        terms = [*self._improvement(models), *self._requirements(models)]
        if not terms:
            return None
        if _COST in models:
            cost = models[_COST]
            assert self.fitted.cost is not None
            terms.append(minus_log_cost(_COST, cost.weights, self.fitted.cost.observations.scale))
        return ComposedAcquisition(models, terms)

    def probability(self, codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        """That a run at each setting works and meets everything that is required."""
        asked = {_WORKS, *(one.response for one in self.aims.requirements)}
        models = {name: self._believed(part) for name, part in self._parts().items() if name in asked}
        terms = self._requirements(models)
        if not terms:
            return torch.ones(len(codes), dtype=torch.float64)
        logarithm: Tensor = ComposedAcquisition(models, terms)(codes[:, None])
        return logarithm.exp()

    def _parts(self) -> dict[str, Part]:
        found = dict(self.fitted.parts)
        if self.fitted.works is not None:
            found[_WORKS] = self.fitted.works
        if self.fitted.cost is not None:
            found[_COST] = self.fitted.cost
        return found

    def _believed(self, part: Part) -> MixtureOfProcesses:
        model = part.model
        assert isinstance(model, MixtureOfProcesses)  # the suggester takes no other for such aims
        with torch.no_grad():
            return model.expecting(self.under_way) if len(self.under_way) else model

    def _improvement(self, models: Mapping[str, MixtureOfProcesses]) -> list[Term]:
        """What a setting adds to the best so far; nothing, while there is none that meets what is required."""
        each = [self.wanted(one.target, models[one.target]) for one in self.aims.objectives if one.target in models]
        if len(each) < len(self.aims.objectives):
            return []
        utilities = self._utilities(models, each)
        if len(utilities) == 0:
            return []
        if len(each) == 1:
            return [log_improvement(each[0], utilities.max())]
        if self.aims.weights:
            worths = [
                self.aims.weights.get(one.response, 0.0) * self.fitted.parts[one.response].observations.scale
                for one in each
            ]
            best = float((utilities @ utilities.new_tensor(worths)).max())
            return [log_weighted_improvement(each, worths, best)]
        return [log_hypervolume_improvement(each, utilities, self._reference(utilities))]

    def wanted(self, response: str, model: MixtureOfProcesses) -> Wanted:
        """What is wanted of a response, in the units of its observations."""
        ends = self.aims.named(response).target_in(self.fitted.parts[response].observations)
        return Wanted(response, model.weights, *ends)

    def _utilities(self, models: Mapping[str, MixtureOfProcesses], each: Sequence[Wanted]) -> Float[Tensor, "n m"]:
        """How good what was told and what is under way is, of those that meet what is required.

        A single objective counts as it was measured. Of several, what the models expect counts, so that noise and a
        response that was not measured do not distort the front.
        """
        useful = self._useful(models)
        if len(each) == 1:
            part = self.fitted.parts[each[0].response]
            useful = self.aims.main.told(useful)
            told = [self._scaled(each[0].response, self.aims.main.value_of(trial), part) for trial in useful]
            found = each[0].utility(torch.tensor(told, dtype=torch.float64))[:, None]
        else:
            found = self._expected(models, each, codes_of_run(settings_of(useful), self.fitted.box))
        if len(self.under_way):
            here = self._expected(models, each, self.under_way)
            found = torch.cat([found, here[self._likely_met(models, self.under_way)]])
        return found

    def _useful(self, models: Mapping[str, MixtureOfProcesses]) -> list[Trial]:
        """Trials that meet what is required, as far as anything was ever measured of it.

        Where a trial lacks a response that others have, what is expected of it counts.
        """
        told = [trial for trial in self.fitted.history.told if not trial.failed]
        if not self.aims.requirements or not told:
            return told
        expected = self._likely_met(models, codes_of_run(settings_of(told), self.fitted.box)).tolist()
        found = []
        for trial, is_expected in zip(told, expected, strict=True):
            values = [
                (one, self.aims.named(one.response).value_of(trial))
                for one in self.aims.requirements
                if one.response in models
            ]
            measured = [one.is_met(value) for one, value in values if not isnan(value)]
            if all(measured) and (is_expected or len(measured) == len(values)):
                found.append(trial)
        return found

    def _scaled(self, response: str, value: float, part: Part) -> float:
        objective = self.aims.named(response)
        return (objective.scaled(value) - part.observations.shift) / part.observations.scale

    @staticmethod
    def _expected(
        models: Mapping[str, MixtureOfProcesses], each: Sequence[Wanted], codes: Float[Tensor, "n k"]
    ) -> Float[Tensor, "n m"]:
        if len(codes) == 0:
            return codes.new_zeros(0, len(each))
        with torch.no_grad():
            return torch.stack([one.utility(moments(models[one.response], codes)[0]) for one in each], dim=-1)

    def _likely_met(self, models: Mapping[str, MixtureOfProcesses], codes: Float[Tensor, "n k"]) -> Bool[Tensor, " n"]:
        """Which settings are expected to meet everything that is required."""
        met = torch.ones(len(codes), dtype=torch.bool)
        with torch.no_grad():
            for requirement in self.aims.requirements:
                if requirement.response in models:
                    low, high = self._bounds(requirement.response, requirement.low, requirement.high)
                    mean = moments(models[requirement.response], codes)[0]
                    met &= (low <= mean) & (mean <= high)
            if _WORKS in models:
                met &= moments(models[_WORKS], codes)[0] >= 0
        return met

    def _bounds(self, response: str, low: float, high: float) -> tuple[float, float]:
        """The ends of a requirement in the units of the observations."""
        part = self.fitted.parts[response]
        ends = [self._end(response, low, -torch.inf, part), self._end(response, high, torch.inf, part)]
        return min(ends), max(ends)

    def _end(self, response: str, end: float, open_end: float, part: Part) -> float:
        objective = self.aims.named(response)
        if end == open_end or (objective.log and end <= 0):
            return objective.sign * open_end
        return self._scaled(response, end, part)

    def _reference(self, utilities: Float[Tensor, "n m"]) -> Float[Tensor, " m"]:
        """The point that counts as no gain: the user's bounds, or a little behind the worst of the front."""
        front = utilities[non_dominated(utilities)]
        reach = (utilities.amax(0) - utilities.amin(0)).clamp_min(_BEHIND)
        reference = front.amin(0) - _BEHIND * reach
        for column, one in enumerate(self.aims.objectives):
            if one.target in self.aims.bounds:
                part = self.fitted.parts[one.target]
                reference[column] = self._scaled(one.target, one.sign * self.aims.bounds[one.target], part)
        return reference

    def _requirements(self, models: Mapping[str, MixtureOfProcesses]) -> list[Term]:
        terms = []
        for one in self.aims.requirements:
            if one.response in models:
                model = models[one.response]
                noise = model.amplitude * model.noise if one.labels else None
                low, high = self._bounds(one.response, one.low, one.high)
                terms.append(log_probability(one.response, model.weights, low, high, noise))
        if _WORKS in models:
            model = models[_WORKS]
            noise = model.amplitude * model.noise
            terms.append(log_probability(_WORKS, model.weights, 0.0, torch.inf, noise))
        return terms


def probability_met(fitted: Fitted, aims: Aims, codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    """The probability that a run at each setting works and meets everything that is required."""
    return Composing(aims, fitted, codes[:0]).probability(codes)
