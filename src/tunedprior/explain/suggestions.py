"""Explain what was learnt from old data, why a setting is suggested, and what is expected of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import exp, isnan, nan, sqrt
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.functions import get_acquisition_name
from tunedprior.explain.influential_rows import are_withheld, rank_influential_rows, rank_monomials
from tunedprior.explain.sensitivity import Domain, Function, compute_sensitivity
from tunedprior.explain.source_explanation import (
    LEFT_OUT,
    TOO_MANY_ROWS,
    Explanation,
    FunctionSummary,
    PriorExplanation,
    format_percent,
    format_source_name,
    format_value,
    summarise_weight_prior,
    to_json_value,
)
from tunedprior.explain.trust import Trust
from tunedprior.goals.goal import Target
from tunedprior.goals.goals import Goals
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
    each = [get_lengthscales(fit, box.num_inputs) for fit in old.fits]
    lengths = [one for one in each if one is not None]
    if len(lengths) < len(each):
        return []
    columns = torch.stack(lengths).split([axis.width for axis in box.axes], dim=1)
    return [
        axis.name
        for axis, own in zip(box.axes, columns, strict=True)
        if axis.width and bool((own > _WITHOUT_END).all())
    ]


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


def has_old_data(suggester: Suggester) -> bool:
    """Return whether any response's surrogate has old data, so that suggestions without it differ."""
    each = [get_surrogate(suggester, one) for one in suggester.goals.responses]
    return any(not isinstance(one, SourceSurrogate) or one.sources for one in each)


#: Who chose a setting: old data (the first ones), the design that ignores it, the model, or nobody here.
OLD_DATA, DESIGN, MODEL, NOBODY = ("old data", "design", "model", "")


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


@dataclass(frozen=True, eq=False, repr=False)
class Reasons(Explanation):
    """The explanation of a setting.

    Attributes:
        setting: The setting.
        trial: The number of its trial; None if it belongs to none.
        origin: What proposed it: "old data" (one of the first settings), "design", "model"; "" if it was not suggested.
        expected: For each response `mean`, and `low` and `high`, a 95 % interval of it; `measured_low` and
            `measured_high`, the same for a noisy measurement; `best`, the best of it so far.
        gain: The expected gain on the best so far, in units of the (first) response, or of the preference; nan where
            there is none: no result yet, or several objectives without weights.
        probability_better: The probability that it is better than the best so far; for several objectives, that no
            result so far dominates it. nan where there is no gain.
        probability: The probability that a run works and meets all requirements; 1 without requirements and failures.
        beliefs: For each response, old data set and belief: the posterior `probability` of the belief, and the
            `expected` response at the setting if it holds.
        old_data: For each response and old data set: the response that it expects at the setting, and the share of
            settings at which it expects less.
        alternatives: This setting and the suggestion without old data, with what is expected of each.
        nearest: The nearest results, with their distance: 0 for the same, 1 from corner to opposite corner.
        sentences: The explanation in sentences.
        summary: The most important of them: what proposed it, what is expected, the possible gain.
    """

    setting: Setting
    trial: int | None
    origin: str
    expected: pd.DataFrame
    gain: float
    probability_better: float
    probability: float
    beliefs: pd.DataFrame
    old_data: pd.DataFrame
    alternatives: pd.DataFrame
    nearest: pd.DataFrame
    sentences: list[str]
    summary: list[str]

    @property
    def printed_sentences(self) -> list[str]:
        """The sentences that are printed above the tables."""
        return self.summary

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """The tables, by topic."""
        return {
            "expected": self.expected,
            "beliefs": self.beliefs,
            "old data": self.old_data,
            "alternatives": self.alternatives,
            "nearest": self.nearest,
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values: tables as lists of records, None for what is not known."""
        numbers = {
            "setting": self.setting,
            "trial": self.trial,
            "origin": self.origin,
            "gain": self.gain,
            "probability better": self.probability_better,
            "probability": self.probability,
            "summary": self.summary,
        }
        return {**to_json_value(numbers), **super().to_dict()}


_NEAREST = 3  # results


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
            alternatives, nearest = self._build_alternatives_table(), self._build_nearest_table()
            beliefs, old = self._build_belief_table(), self._build_old_data_table()
            expected = self._build_expectation_table(self.setting)
            summary = [
                *_describe_origin(self),
                *_describe_expectation(self, expected),
                *_describe_gain(self),
                *_describe_rank(self),
                *_describe_requirements(self),
            ]
            details = [
                *_describe_beliefs(self, beliefs),
                *_describe_old_data(old),
                *_describe_baseline(self),
                *_describe_nearest(self, nearest),
            ]
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
            [*summary, *details],
            summary,
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
        if self.trial is None or not self.trial.is_pending or not has_old_data(self.suggester):
            return None
        return suggest_baseline(self.suggester, self.history, self.trial, self.seed, self.candidates)

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


# Shares of settings from which one is among the first of them, or among the last.
_MUCH, _LITTLE = 0.8, 0.2
_HIGHEST, _LOWEST = 0.95, 0.05
# Beliefs of less probability are not named, and nothing is said of results further away than this.
_LEAST_NAMED = 0.05
# What beliefs say, for those who have not read of them.
_MEANINGS = {
    "aligned": "the response is a multiple of the old one, large or small, plus a remainder",
    "shape": "it varies along each input as fast as the old one, with no other relation",
    "uninformed": "old data is irrelevant",
}
# What chose settings of results, and whose the best is.
_CHOSE = {
    OLD_DATA: "old data alone",
    DESIGN: "the space-filling design, which ignores old data",
    MODEL: "the model",
    NOBODY: "people",
}
_OWNERS = {
    OLD_DATA: "old data alone (warm start): a gain that does not show in the share that it explains",
    DESIGN: "the space-filling design",
    MODEL: "the model",
    NOBODY: "people",
}
_CRITERIA = {"ei": "expected improvement", "ucb": "upper confidence bound"}


def _describe_origin(explainer: SettingExplainer) -> list[str]:
    trial, at, space = explainer.trial, format_setting(explainer.setting), explainer.suggester.space
    if trial is None:
        off = space.find_violated(explainer.setting) if space.is_in_domain(explainer.setting) else ()
        broken = f" It does not satisfy {', '.join(map(str, off))}." if off else ""
        return [f"{at} was not suggested.{broken}"]
    said = f"Trial {trial.label} ({at})"
    if not trial.is_pending:
        results = [
            f"{one.name} = {format_value(one.get_value(trial))}"
            for one in explainer.suggester.goals.responses
            if not isnan(one.get_value(trial))
        ]
        said += f", of which came {', '.join(results)}," if results else ", which failed,"
    if explainer.origin == OLD_DATA:
        return [
            f"{said} is part of the warm start: where old data expects the best, if the response runs the same way."
        ]
    if explainer.origin == DESIGN and has_old_data(explainer.suggester):
        return [
            f"{said} is one of the early space-filling settings, which ignore old data, to detect negative transfer "
            "(old data that misleads)."
        ]
    if explainer.origin == DESIGN:
        return [f"{said} is one of the space-filling initial design, before the model decides alone."]
    if explainer.origin == MODEL:
        criterion = explainer.suggester.search.acquisition
        name = _CRITERIA.get(criterion, criterion) if isinstance(criterion, str) else get_acquisition_name(criterion)
        return [f"{said} was chosen by the model: the acquisition function ({name}) was highest there."]
    return [f"{said} was not suggested."]


def _describe_expectation(explainer: SettingExplainer, expected: pd.DataFrame) -> list[str]:
    if not len(expected):
        if not len(explainer.history):
            return ["There is no result yet, so there is no prediction of the new response."]
        return ["No response was measured yet, so there is no prediction."]
    return [
        f"Predicted: {row['response']} = {format_value(row['mean'])} (95 % interval {format_value(row['low'])} to "
        f"{format_value(row['high'])}; of a measurement {format_value(row['measured_low'])} to "
        f"{format_value(row['measured_high'])})."
        for row in expected.to_dict("records")
    ]


def _describe_gain(explainer: SettingExplainer) -> list[str]:
    improvement, goals = explainer.improvement, explainer.suggester.goals
    if not isnan(improvement.probability_better) and improvement.best is None:
        return [
            f"It joins the Pareto front with probability {format_percent(improvement.probability_better)}: no result "
            "so far is at least as good in every objective then."
        ]
    if improvement.best is None:
        waiting = goals.requirements and any(not one.failed for one in explainer.history.told)
        return ["No result meets the requirements yet, so any that does is an improvement."] if waiting else []
    if explainer.trial is not None and explainer.trial.id == improvement.best.id:
        return ["It is the best so far."]
    best = f"trial {improvement.best.label}"
    if goals.weights:
        return [
            f"By the preference it is better than the best so far ({best}) with probability "
            f"{format_percent(improvement.probability_better)}; "
            f"the expected improvement is {format_value(improvement.gain)}."
        ]
    value, wanted = goals.main.get_value(improvement.best), goals.main.direction
    if isinstance(wanted, Target):
        return [
            f"The closest so far is {format_value(value)} ({best}), "
            f"{format_value(-wanted.compute_utility(value))} from what is wanted "
            f"({wanted}). It comes closer with probability {format_percent(improvement.probability_better)}; expected "
            f"is {format_value(improvement.gain)} closer."
        ]
    return [
        f"It beats the best so far, {format_value(value)} ({best}), with probability "
        f"{format_percent(improvement.probability_better)}; the expected improvement is "
        f"{format_value(improvement.gain)}."
    ]


def _describe_rank(explainer: SettingExplainer) -> list[str]:
    if explainer.ranks is None:
        return []
    hope, doubt = explainer.ranks
    promising = _format_rank(hope, "among the most promising", "among the least promising", "promising")
    certain = _format_rank(1 - doubt, "among the most certain", "among the least certain", "certain")
    return [f"Of all settings it is {promising}, and its prediction is {certain}."]


def _format_rank(share: float, most: str, least: str, kind: str) -> str:
    """Describe the rank of a setting by the share of settings that it exceeds."""
    if share >= _MUCH:
        return most
    return least if share <= _LITTLE else f"{'more' if share >= 0.5 else 'less'} {kind} than most"


def _describe_requirements(explainer: SettingExplainer) -> list[str]:
    required = ", ".join(map(str, explainer.suggester.goals.requirements))
    if explainer.fitted is None or not (required or explainer.fitted.success_model is not None):
        return []
    works = "works" if explainer.fitted.success_model is not None else ""
    meets = f"meets the requirements ({required})" if required else ""
    succeeds = " and ".join(filter(None, (works, meets)))
    return [f"A run there {succeeds} with probability {format_percent(explainer.probability)}."]


def _describe_beliefs(explainer: SettingExplainer, beliefs: pd.DataFrame) -> list[str]:
    said = []
    several = len(explainer.suggester.goals.responses) > 1
    for response, trust in explainer.trust.items():
        rows = beliefs[beliefs["response"] == response].sort_values("probability", ascending=False, kind="stable")
        named = [_format_belief(row) for row in rows.to_dict("records") if row["probability"] >= _LEAST_NAMED]
        of = f" of {response}" if several else ""
        told, kind = ("averages", "posterior") if len(explainer.history) else ("will begin with", "prior")
        said.append(
            f"The prediction{of} {told} these beliefs about the relation to old data, each with its {kind} "
            f"probability: {'; '.join(named)}."
        )
        said += trust.sentences if not several else [f"{response}: {sentence}" for sentence in trust.sentences]
    if not explainer.trust and not has_old_data(explainer.suggester):
        said.append("There is no old data, so the prediction rests on the results alone.")
    return said


def _format_belief(row: Mapping[Any, Any]) -> str:
    of = f" of {row['old data']}" if row["old data"] else ""
    meaning = _MEANINGS.get(row["belief"], "")
    return f"{format_percent(row['probability'])} {row['belief']!r}{of}{f' ({meaning})' if meaning else ''}"


def describe_origins(results: Mapping[str, Sequence[Trial]], goals: Goals) -> str:
    """Compare the results at settings from old data alone, from the design and from the model: counts and bests.

    Empty if no setting came from old data alone: then old data acts through the model, and trust says how much. Trials
    that were stopped early have no results.
    """
    ended = {name: [one for one in trials if not one.stopped_early] for name, trials in results.items()}
    results = {name: trials for name, trials in ended.items() if trials}
    if not results.get(OLD_DATA):
        return ""
    every = [trial for trials in results.values() for trial in trials]
    best = {} if goals.has_front else {name: goals.find_best(trials) for name, trials in results.items()}
    each = [
        f"{chose} ({len(results[name])}{f'; {_format_best(best[name], goals)}' if name in best else ''})"
        for name, chose in _CHOSE.items()
        if name in results
    ]
    listed = " and ".join(filter(None, (", ".join(each[:-1]), each[-1])))
    said = f"Of {len(every)} result{'s' if len(every) > 1 else ''}, settings were chosen by {listed}."
    if not goals.has_front:
        return f"{said} {_compare_origins(best, goals)}".strip()
    front = {one.id for one in goals.find_front(every)}
    own = sum(one.id in front for one in results[OLD_DATA])
    return f"{said} Old data alone chose {own} of {len(front)} on the Pareto front."


def _format_best(best: Trial | None, goals: Goals) -> str:
    return (
        "none that counts" if best is None else f"best {format_value(goals.main.get_value(best))}, trial {best.label}"
    )


def _compare_origins(best: Mapping[str, Trial | None], goals: Goals) -> str:
    """What proposed the best setting so far, and how the settings from old data compare with the design's."""
    found = {name: goals.compute_worth(one) for name, one in best.items() if one is not None}
    if not found:
        return ""
    first = max(found, key=lambda name: found[name])
    said = f"The best so far was chosen by {_OWNERS[first]}."
    if OLD_DATA in found and DESIGN in found:
        by = found[OLD_DATA] - found[DESIGN]
        how = "as good as" if by == 0 else f"{format_value(abs(by))} {'better' if by > 0 else 'worse'} than"
        said += f" The best that old data chose alone is {how} the best of the space-filling design."
    return said


def _describe_old_data(old: pd.DataFrame) -> list[str]:
    several = old["response"].nunique() > 1
    return [_describe_source(row, f" of {row['response']}" if several else "") for row in old.to_dict("records")]


def _describe_source(row: Mapping[Any, Any], of: str) -> str:
    """Say what one old data set expects there; `of` names the response, if there are several."""
    about = format_source_name(str(row["old data"]))
    compared = f"{_format_share(row['share below'])} of all settings"
    if isnan(row["expected"]):  # pass and fail: no number
        return f"What {about[0].lower()}{about[1:]} expects{of} there is {compared}."
    return f"{about} expects {format_value(row['expected'])}{of} there, in its own units; that is {compared}."


def _format_share(below: float) -> str:
    if below >= _HIGHEST or below <= _LOWEST:
        return f"among the {'highest' if below >= _HIGHEST else 'lowest'}"
    return f"more than at {format_percent(below)}" if below >= 0.5 else f"less than at {format_percent(1 - below)}"


def _describe_baseline(explainer: SettingExplainer) -> list[str]:
    baseline = explainer.baseline
    if baseline is None:
        return []
    if baseline.distance < 1e-9:
        return ["Plain optimisation, without old data, would have suggested the same."]
    return [
        f"Plain optimisation, without old data, would have suggested {format_setting(baseline.setting)} instead, "
        f"{format_percent(baseline.distance)} of the way across the space."
    ]


def _describe_nearest(explainer: SettingExplainer, nearest: pd.DataFrame) -> list[str]:
    if not len(nearest):
        return []
    row = nearest.iloc[0]
    names = [one.name for one in explainer.suggester.goals.responses if not isnan(row[one.name])]
    came = ", ".join(f"{name} = {format_value(float(row[name]))}" for name in names) or "failed"
    label = next(one.label for one in explainer.history.trials if one.id == row["trial"])
    return [
        f"The nearest result is trial {label} ({row['setting']}: {came}), "
        f"{format_percent(row['distance'])} of the way "
        "across the space."
    ]
