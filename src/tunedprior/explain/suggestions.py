"""Explain a suggestion and what was learnt from old data, from a campaign's models."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import exp, isnan, nan, sqrt
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.explain.influential_rows import are_withheld, rank_influential_rows, rank_monomials
from tunedprior.explain.phrasing import DESIGN, MODEL, NOBODY, OLD_DATA, Reasons, describe_reasons, summarise_reasons
from tunedprior.explain.sensitivity import Domain, Function, compute_sensitivity
from tunedprior.explain.source_explanation import (
    LEFT_OUT,
    TOO_MANY_ROWS,
    FunctionSummary,
    PriorExplanation,
    summarise_weight_prior,
)
from tunedprior.explain.trust import Trust
from tunedprior.goals.objective import Objective, encode_run_settings
from tunedprior.history.trials import History, Trial, collect_settings, format_setting
from tunedprior.machines.machine import get_lengthscales
from tunedprior.models.posterior import predict_moments
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.source_data.matching import UNNAMED
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Setting
from tunedprior.suggestion.composing import compute_feasibility_probability
from tunedprior.suggestion.first_settings import compute_design_position, is_designed
from tunedprior.suggestion.prediction import (
    DEVIATIONS,
    Improvement,
    compute_improvement,
    predict_interval,
    predict_response,
)
from tunedprior.suggestion.recommendation import BaselineSuggestion, suggest_baseline
from tunedprior.suggestion.response_models import FittedModels, ResponseModel
from tunedprior.suggestion.suggester import Suggester
from tunedprior.weight_prior.sources import BeliefWeighingSurrogate, SourceData, SourceSurrogate
from tunedprior.weight_prior.tuned_prior import TunedPrior

# A length-scale, in half-widths of the box, along which nothing changes: old data lacks that column.
_WITHOUT_END = 300.0


def make_source_functions(surrogate: Surrogate) -> dict[str, Function]:
    """For each old data set its g at encoded settings, in units of the old response (or of its logarithm)."""
    if isinstance(surrogate, TunedPrior):
        return {UNNAMED: surrogate.prior.predict_response}
    if not isinstance(surrogate, SourceSurrogate):
        return {}
    return {old.name: partial(old.predict_response, surrogate.box) for old in surrogate.sources}


def summarise_sources(surrogate: Surrogate, domain: Domain, target: str) -> list[FunctionSummary]:
    """Summarise the function of each old data set of a surrogate; none for one without old data."""
    if isinstance(surrogate, TunedPrior):
        return [summarise_weight_prior(surrogate.prior, domain, target=target)]
    if not isinstance(surrogate, SourceSurrogate):
        return []
    return [_summarise_source(one, surrogate.box, domain, target) for one in surrogate.sources]


def _summarise_source(old: SourceData, box: Box, domain: Domain, target: str) -> FunctionSummary:
    first = 0 if len(old.fits) == 1 else len(old.fits) // 2 * (old.units[0] != old.units[-1])
    unit, inputs = old.units[0], box.to_kernel_inputs(domain.sample)
    with isolate_computation():
        found = compute_sensitivity(partial(old.predict_response, box), domain)
        fits = [(fit, old.get_fit_weight(number)) for number, fit in enumerate(old.fits)]
        rows = rank_influential_rows(fits, inputs, box, shift=old.shift, unit=old.units[-1])
        return FunctionSummary(
            old.name,
            f"the old {target}",
            target,
            found,
            unit,
            rank_monomials(old.fits[first], box),
            [] if are_withheld(old.places) else rows,
            old.places if len(old.places) == len(rows) else (),
            LEFT_OUT if are_withheld(old.places) else TOO_MANY_ROWS,
            _list_absent_inputs(old, box),
        )


def _list_absent_inputs(old: SourceData, box: Box) -> list[str]:
    """The parameters along which no fit changes."""
    lengths = [get_lengthscales(fit, box.num_inputs) for fit in old.fits]
    found, start = [], 0
    for axis in box.axes:
        own = slice(start, start + axis.width)
        start += axis.width
        if axis.width and all(one is not None and bool((one[own] > _WITHOUT_END).all()) for one in lengths):
            found.append(axis.name)
    return found


_NEAREST = 3  # results


def explain_old_data(suggester: Suggester, fitted: FittedModels | None) -> PriorExplanation:
    """Explain what was learnt from old data and, once there are results, the present model."""
    domain, summaries = Domain.from_space(suggester.space, suggester.surrogate.box), []
    for response in suggester.goals.responses:
        summaries += summarise_sources(get_surrogate(suggester, response), domain, _format_response_name(response))
    notes = [] if summaries else ["There is no old data that is used, so it taught nothing."]
    for response in suggester.goals.responses:
        response_model = None if fitted is None else fitted.models.get(response.name)
        if response_model is not None and len(response_model.observations) > 1:
            told, name = response_model.observations, _format_response_name(response)
            with isolate_computation():
                sensitivity = compute_sensitivity(_make_mean_function(response_model, response), domain)
            unit = told.scale * float(told.y.std(correction=0))
            summaries.append(FunctionSummary("", name, name, sensitivity, unit, results=len(told)))
    return PriorExplanation.from_summaries(summaries, notes)


def _format_response_name(response: Objective) -> str:
    return f"log {response.name}" if response.log else response.name


def _make_mean_function(response_model: ResponseModel, response: Objective) -> Function:
    """The model's mean at encoded settings, in units of the response or of its logarithm."""
    told, model, known = response_model.observations, response_model.model, response_model.components
    mean = (lambda X: predict_moments(model, X)[0]) if known is None else known.make_mean_function()

    def predict_mean(X: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        found: Tensor = response.sign * (told.shift + told.scale * mean(X))
        return found

    return predict_mean


def get_surrogate(suggester: Suggester, response: Objective) -> Surrogate:
    """The surrogate of a response."""
    return suggester.other_surrogates.get(response.name, suggester.surrogate)


def infer_origin(trial: Trial, history: History, suggester: Suggester) -> str:
    """What proposed the setting of a trial, inferred from the number of trials before it."""
    if not trial.is_suggestion or trial.substitute:
        return NOBODY
    before = [one for one in (*history.told, *history.pending) if one.id < trial.id]
    lengths = suggester.num_opening, suggester.initial
    position = compute_design_position(len(before), sum(one.substitute for one in before), *lengths)
    early = all(one.is_suggestion for one in before if not one.is_pending)
    nothing = not any(not one.is_pending for one in before)
    if position < suggester.num_opening and early:
        return OLD_DATA
    designed = is_designed(position, *lengths) and early
    return DESIGN if designed or nothing else MODEL


def group_by_origin(history: History, suggester: Suggester) -> dict[str, list[Trial]]:
    """Group the results by what proposed their settings, in order of first occurrence."""
    found: dict[str, list[Trial]] = {}
    for trial in history.told:
        found.setdefault(infer_origin(trial, history, suggester), []).append(trial)
    return found


@dataclass(frozen=True, eq=False)
class SettingExplainer:
    """Computes the explanation of one setting.

    Attributes:
        suggester: The campaign's suggester.
        history: The campaign's history.
        fitted: The models fitted to it; None before the first result.
        setting: The setting.
        trial: Its trial, if it belongs to one.
        trust: The trust in old data, by response that has some.
        seed: The campaign's seed.
        candidates: The settings to choose from, if not all of the space.
    """

    suggester: Suggester
    history: History
    fitted: FittedModels | None
    setting: Setting
    trial: Trial | None
    trust: Mapping[str, Trust]
    seed: int
    candidates: Any = None

    def build_reasons(self) -> Reasons:
        """Build the explanation of this setting."""
        with isolate_computation():
            alternatives, beliefs, old = (
                self._build_alternatives_table(),
                self._build_belief_table(),
                self._build_old_data_table(),
            )
            expected, nearest = self._build_expectation_table(self.setting), self._build_nearest_table()
            said, brief = describe_reasons(self, expected, beliefs, old, nearest), summarise_reasons(self, expected)
        return Reasons(
            dict(self.setting),
            None if self.trial is None else self.trial.id,
            self.origin,
            expected,
            self.improvement.gain,
            self.improvement.probability_better,
            self.probability,
            beliefs,
            old,
            alternatives,
            nearest,
            said,
            brief,
        )

    @property
    def origin(self) -> str:
        """What proposed it, inferred from the number of trials before it."""
        return NOBODY if self.trial is None else infer_origin(self.trial, self.history, self.suggester)

    @cached_property
    def encoded_setting(self) -> Float[Tensor, "1 k"]:
        """The encoded setting."""
        return encode_run_settings([self.setting], self.suggester.surrogate.box)

    @cached_property
    def improvement(self) -> Improvement:
        """The expected gain on the best so far."""
        if self.fitted is None:
            return Improvement()
        useful = self.suggester.keep_usable(self.fitted.history.told)
        return compute_improvement(self.fitted, self.suggester.goals, useful, self.encoded_setting)

    @cached_property
    def probability(self) -> float:
        """The probability that a run works and meets all requirements."""
        if self.fitted is None or not (self.suggester.goals.requirements or self.fitted.success_model is not None):
            return 1.0
        return float(compute_feasibility_probability(self.fitted, self.suggester.goals, self.encoded_setting)[0])

    @cached_property
    def baseline(self) -> BaselineSuggestion | None:
        """The suggestion without old data; None if the setting is not pending, or there is no old data."""
        if self.trial is None or not self.trial.is_pending or not self.has_old_data:
            return None
        return suggest_baseline(self.suggester, self.history, self.trial, self.seed, self.candidates)

    @property
    def has_old_data(self) -> bool:
        """Whether any of the surrogates has old data."""
        each = [get_surrogate(self.suggester, one) for one in self.suggester.goals.responses]
        return any(not isinstance(one, SourceSurrogate) or one.sources for one in each)

    @cached_property
    def sample(self) -> Float[Tensor, "n k"]:
        """A sample of settings over the whole space, for comparison."""
        return Domain.from_space(self.suggester.space, self.suggester.surrogate.box).sample

    @cached_property
    def ranks(self) -> tuple[float, float] | None:
        """The shares of settings with lower expected utility and with less uncertainty; None for several objectives."""
        goals, fitted = self.suggester.goals, self.fitted
        if fitted is None or fitted.main not in fitted.models or len(goals.objectives) > 1:
            return None
        response_model = fitted.models[fitted.main]
        with torch.no_grad():
            mean, variance = predict_moments(response_model.model, torch.cat([self.encoded_setting, self.sample]))
        low, high = goals.main.scale_target(response_model.observations)
        hope = mean if low == torch.inf else -torch.maximum(low - mean, mean - high).clamp_min(0.0)
        return float((hope[1:] < hope[0]).double().mean()), float((variance[1:] < variance[0]).double().mean())

    def _build_expectation_table(self, setting: Setting) -> pd.DataFrame:
        """For each measured response, its prediction at a setting and the best so far."""
        rows = []
        told = self.suggester.keep_usable(self.history.told)
        for one in self.suggester.goals.responses:
            response_model = None if self.fitted is None else self.fitted.models.get(one.name)
            if response_model is None or one.labels:
                continue
            X = encode_run_settings([setting], self.suggester.surrogate.box)
            measured = predict_response(response_model, one, X).iloc[0]
            spread = DEVIATIONS * measured["measured_std"]
            best = one.find_best(told)
            value = float("nan") if best is None else one.get_value(best)
            ends = (measured["mean"] + spread * np.array([-1.0, 1.0])).clip(*response_model.limits).tolist()
            rows.append([one.name, *predict_interval(response_model, one, X)[:, 0].tolist(), *ends, value])
        columns = ["response", "mean", "low", "high", "measured_low", "measured_high", "best"]
        return pd.DataFrame(rows, columns=columns)

    def _build_belief_table(self) -> pd.DataFrame:
        rows: list[list[Any]] = []
        for one in self.suggester.goals.responses:
            trust, surrogate = self.trust.get(one.name), get_surrogate(self.suggester, one)
            response_model = None if self.fitted is None else self.fitted.models.get(one.name)
            if trust is None or not isinstance(surrogate, BeliefWeighingSurrogate):
                continue
            by_belief = (
                {}
                if response_model is None or one.labels
                else _predict_by_belief(surrogate, response_model, one, self.encoded_setting)
            )
            for row in trust.beliefs.to_dict("records"):
                key = row["old data"], row["belief"]
                rows.append([one.name, *key, row["probability"], by_belief.get(key, float("nan"))])
        return pd.DataFrame(rows, columns=["response", "old data", "belief", "probability", "expected"])

    def _build_old_data_table(self) -> pd.DataFrame:
        rows = []
        for one in self.suggester.goals.responses:
            surrogate = get_surrogate(self.suggester, one)
            if not isinstance(surrogate, SourceSurrogate):
                continue
            for old in surrogate.sources:
                values = old.predict_response(surrogate.box, torch.cat([self.encoded_setting, self.sample]))
                values = values.exp() if one.log else values
                expected = nan if old.span is None else float(values[0])  # labels have no units
                rows.append([one.name, old.name, expected, float((values[1:] < values[0]).double().mean())])
        return pd.DataFrame(rows, columns=["response", "old data", "expected", "share below"])

    def _build_alternatives_table(self) -> pd.DataFrame:
        if self.baseline is None:
            return pd.DataFrame([], columns=["suggestion", "setting", "distance"])
        rows: list[dict[str, Any]] = []
        both = [("this one", self.setting, 0.0), ("plain optimisation", self.baseline.setting, self.baseline.distance)]
        for name, setting, distance in both:
            row: dict[str, Any] = {"suggestion": name, "setting": format_setting(setting), "distance": distance}
            for one in self._build_expectation_table(setting).to_dict("records"):
                row |= {f"{one['response']} {end}": one[end] for end in ("mean", "low", "high")}
            rows.append(row)
        return pd.DataFrame(rows)

    def _build_nearest_table(self) -> pd.DataFrame:
        """The nearest other results, failed runs among them."""
        told = [one for one in self.history.told if one is not self.trial]
        names = [one.name for one in self.suggester.goals.responses]
        columns = ["trial", "distance", "setting", *names]
        if not told:
            return pd.DataFrame([], columns=columns)
        box = self.suggester.own_box
        inputs = box.to_kernel_inputs(encode_run_settings([self.setting, *collect_settings(told)], box))
        distances = (inputs[1:] - inputs[0]).norm(dim=-1) / (2 * sqrt(inputs.shape[-1]))
        rows = []
        for number in distances.argsort(stable=True)[:_NEAREST].tolist():
            values = [one.get_value(told[number]) for one in self.suggester.goals.responses]
            rows.append([told[number].id, float(distances[number]), format_setting(told[number].setting), *values])
        return pd.DataFrame(rows, columns=columns)


def _predict_by_belief(
    surrogate: BeliefWeighingSurrogate, response_model: ResponseModel, response: Objective, X: Float[Tensor, "1 k"]
) -> dict[tuple[str, str], float]:
    """The prediction of each belief at a setting, by old data set and name, in units of the response."""
    told = response_model.observations
    found = surrogate.predict_by_belief(response_model.model, told, X, response_model.cache)
    values = {key: response.sign * (told.shift + told.scale * mean) for key, mean in found.items()}
    return {key: exp(value) if response.log else value for key, value in values.items() if not isnan(value)}
