"""Why a setting is suggested, and what old data taught: from a campaign's models to tables and sentences."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan, sqrt
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.posterior import moments
from tunedprior.average.mixture import MixtureOfProcesses, slots
from tunedprior.average.surrogate import Average
from tunedprior.campaign.chances import Chances, chances_at
from tunedprior.campaign.composing import probability_met
from tunedprior.campaign.design import is_designed, place
from tunedprior.campaign.fitted import Fitted, Part
from tunedprior.campaign.prediction import DEVIATIONS, interval, response_at
from tunedprior.campaign.reason_words import in_brief, in_sentences
from tunedprior.campaign.shadow import Shadow, shadow_of
from tunedprior.campaign.suggester import Suggester
from tunedprior.insight.learnt import lesson_of_model, lessons_of, mean_of
from tunedprior.insight.reasons import DESIGN, MODEL, NOBODY, OLD_DATA, Reasons
from tunedprior.insight.trust import Trust
from tunedprior.lessons.domains import Domain
from tunedprior.lessons.sensitivity import Function
from tunedprior.lessons.taught import Taught
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import computing
from tunedprior.problem.objective import Objective, codes_of_run
from tunedprior.problem.space import Setting
from tunedprior.problem.trials import History, Trial, in_words, settings_of

_NEAREST = 3  # results


def taught_by(suggester: Suggester, fitted: Fitted | None) -> Taught:
    """What old data taught, and once there are results, what the models expect by now."""
    domain, lessons = Domain.of_space(suggester.space, suggester.surrogate.box), []
    for response in suggester.aims.responses:
        lessons += lessons_of(surrogate_of(suggester, response), domain, _called(response))
    notes = [] if lessons else ["There is no old data that is used, so it taught nothing."]
    for response in suggester.aims.responses:
        part = None if fitted is None else fitted.parts.get(response.target)
        if part is not None and len(part.observations) > 1:
            told = part.observations
            unit = told.scale * float(told.y.std(correction=0))
            lessons.append(lesson_of_model(_expecting(part, response), domain, _called(response), unit, len(told)))
    return Taught.of(lessons, notes)


def _called(response: Objective) -> str:
    return f"log {response.target}" if response.log else response.target


def _expecting(part: Part, response: Objective) -> Function:
    """The model's mean at codes, in units of the response or of its logarithm."""
    told, model = part.observations, part.model
    mean = mean_of(model) if isinstance(model, MixtureOfProcesses) else lambda codes: moments(model, codes)[0]

    def expected(codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        found: Tensor = response.sign * (told.shift + told.scale * mean(codes))
        return found

    return expected


def surrogate_of(suggester: Suggester, response: Objective) -> Surrogate:
    """How observations of a response become a model."""
    return suggester.others.get(response.target, suggester.surrogate)


def origin_of(trial: Trial, history: History, suggester: Suggester) -> str:
    """What chose the setting of a trial, by how many trials there were when it was asked for."""
    if not trial.asked or trial.substitute:
        return NOBODY
    before = [one for one in (*history.told, *history.pending) if one.id < trial.id]
    lengths = suggester.num_opening, suggester.initial or 1
    position = place(len(before), sum(one.substitute for one in before), *lengths)
    early = all(one.asked for one in before if not one.is_pending)
    nothing = not any(not one.is_pending for one in before)
    if position < suggester.num_opening and early:
        return OLD_DATA
    designed = is_designed(position, *lengths) and early
    return DESIGN if designed or nothing else MODEL


def results_by_origin(history: History, suggester: Suggester) -> dict[str, list[Trial]]:
    """The results, by what chose their settings, in the order in which it first did."""
    found: dict[str, list[Trial]] = {}
    for trial in history.told:
        found.setdefault(origin_of(trial, history, suggester), []).append(trial)
    return found


@dataclass(frozen=True, eq=False)
class Asked:
    """One setting, and all that is needed to say why.

    Attributes:
        suggester: What makes suggestions.
        history: What was told.
        fitted: The models of it; None before the first result.
        setting: The setting.
        trial: Its trial, if it is one.
        trust: By response, where there is trust to speak of.
        seed: The optimiser's.
        candidates: The settings to choose from, if not all of the space.
    """

    suggester: Suggester
    history: History
    fitted: Fitted | None
    setting: Setting
    trial: Trial | None
    trust: Mapping[str, Trust]
    seed: int
    candidates: Any = None

    def reasons(self) -> Reasons:
        """Why this setting."""
        with computing():
            alternatives, beliefs, old = self._alternatives(), self._beliefs(), self._old_data()
            expected, nearest = self._expected(self.setting), self._nearest()
            said, brief = in_sentences(self, expected, beliefs, old, nearest), in_brief(self, expected)
        return Reasons(
            dict(self.setting),
            None if self.trial is None else self.trial.id,
            self.origin,
            expected,
            self.chances.gain,
            self.chances.better,
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
        """What chose it, by how many trials there were when it was asked for."""
        return NOBODY if self.trial is None else origin_of(self.trial, self.history, self.suggester)

    @cached_property
    def codes(self) -> Float[Tensor, "1 k"]:
        """The setting as codes."""
        return codes_of_run([self.setting], self.suggester.surrogate.box)

    @cached_property
    def chances(self) -> Chances:
        """What it may gain."""
        if self.fitted is None:
            return Chances()
        useful = self.suggester.usable(self.fitted.history.told)
        return chances_at(self.fitted, self.suggester.aims, useful, self.codes)

    @cached_property
    def probability(self) -> float:
        """That a run works and meets all that is required."""
        if self.fitted is None or not (self.suggester.aims.requirements or self.fitted.works is not None):
            return 1.0
        return float(probability_met(self.fitted, self.suggester.aims, self.codes)[0])

    @cached_property
    def shadow(self) -> Shadow | None:
        """What plain optimisation would have suggested; None if it is not pending, or is plain already."""
        if self.trial is None or not self.trial.is_pending or not self.has_old_data:
            return None
        return shadow_of(self.suggester, self.history, self.trial, self.seed, self.candidates)

    @property
    def has_old_data(self) -> bool:
        """Whether any model knows something of old data."""
        each = [surrogate_of(self.suggester, one) for one in self.suggester.aims.responses]
        return any(not isinstance(one, Average) or one.known for one in each)

    @cached_property
    def sample(self) -> Float[Tensor, "n k"]:
        """Settings all over the space, to compare with."""
        return Domain.of_space(self.suggester.space, self.suggester.surrogate.box).sample

    @cached_property
    def ranks(self) -> tuple[float, float] | None:
        """The shares of settings of lower expected utility, and of smaller uncertainty; None of several objectives."""
        aims, fitted = self.suggester.aims, self.fitted
        if fitted is None or fitted.main not in fitted.parts or len(aims.objectives) > 1:
            return None
        part = fitted.parts[fitted.main]
        with torch.no_grad():
            mean, variance = moments(part.model, torch.cat([self.codes, self.sample]))
        low, high = aims.main.target_in(part.observations)
        hope = mean if low == torch.inf else -torch.maximum(low - mean, mean - high).clamp_min(0.0)
        return float((hope[1:] < hope[0]).double().mean()), float((variance[1:] < variance[0]).double().mean())

    def _expected(self, setting: Setting) -> pd.DataFrame:
        """For each response that was told, what is expected at a setting, and the best of it so far."""
        rows = []
        told = self.suggester.usable(self.history.told)
        for one in self.suggester.aims.responses:
            part = None if self.fitted is None else self.fitted.parts.get(one.target)
            if part is None or one.labels:
                continue
            codes = codes_of_run([setting], self.suggester.surrogate.box)
            measured = response_at(part, one, codes).iloc[0]
            spread = DEVIATIONS * measured["measured_std"]
            best = one.best(told)
            value = float("nan") if best is None else one.value_of(best)
            ends = (measured["mean"] + spread * np.array([-1.0, 1.0])).clip(*part.limits).tolist()
            rows.append([one.target, *interval(part, one, codes)[:, 0].tolist(), *ends, value])
        columns = ["response", "mean", "low", "high", "measured_low", "measured_high", "best"]
        return pd.DataFrame(rows, columns=columns)

    def _beliefs(self) -> pd.DataFrame:
        rows: list[list[Any]] = []
        for one in self.suggester.aims.responses:
            trust, part = self.trust.get(one.target), None
            if self.fitted is not None:
                part = self.fitted.parts.get(one.target)
            surrogate = surrogate_of(self.suggester, one)
            if trust is None or not isinstance(surrogate, Average):
                continue
            by_belief = {} if part is None or one.labels else _expected_by_belief(surrogate, part, one, self.codes)
            for row in trust.beliefs.to_dict("records"):
                key = row["old data"], row["belief"]
                rows.append([one.target, *key, row["probability"], by_belief.get(key, float("nan"))])
        return pd.DataFrame(rows, columns=["response", "old data", "belief", "probability", "expected"])

    def _old_data(self) -> pd.DataFrame:
        rows = []
        for one in self.suggester.aims.responses:
            surrogate = surrogate_of(self.suggester, one)
            if not isinstance(surrogate, Average):
                continue
            for old in surrogate.known:
                at = surrogate.box.inputs(torch.cat([self.codes, self.sample]))
                values = old.middle + old.units[0] * old.expected(at)
                values = values.exp() if one.log else values
                expected = nan if old.span is None else float(values[0])  # labels have no units
                rows.append([one.target, old.name, expected, float((values[1:] < values[0]).double().mean())])
        return pd.DataFrame(rows, columns=["response", "old data", "expected", "share below"])

    def _alternatives(self) -> pd.DataFrame:
        if self.shadow is None:
            return pd.DataFrame([], columns=["suggestion", "setting", "distance"])
        rows: list[dict[str, Any]] = []
        both = [("this one", self.setting, 0.0), ("plain optimisation", self.shadow.setting, self.shadow.distance)]
        for name, setting, distance in both:
            row: dict[str, Any] = {"suggestion": name, "setting": in_words(setting), "distance": distance}
            for one in self._expected(setting).to_dict("records"):
                row |= {f"{one['response']} {end}": one[end] for end in ("mean", "low", "high")}
            rows.append(row)
        return pd.DataFrame(rows)

    def _nearest(self) -> pd.DataFrame:
        """The nearest results, whatever came of them; the setting's own not among them."""
        told = [one for one in self.history.told if one is not self.trial]
        names = [one.target for one in self.suggester.aims.responses]
        columns = ["trial", "distance", "setting", *names]
        if not told:
            return pd.DataFrame([], columns=columns)
        box = self.suggester.own_box
        inputs = box.inputs(codes_of_run([self.setting, *settings_of(told)], box))
        distances = (inputs[1:] - inputs[0]).norm(dim=-1) / (2 * sqrt(inputs.shape[-1]))
        rows = []
        for number in distances.argsort(stable=True)[:_NEAREST].tolist():
            values = [one.value_of(told[number]) for one in self.suggester.aims.responses]
            rows.append([told[number].id, float(distances[number]), in_words(told[number].setting), *values])
        return pd.DataFrame(rows, columns=columns)


def _expected_by_belief(
    average: Average, part: Part, response: Objective, codes: Float[Tensor, "1 k"]
) -> dict[tuple[str, str], float]:
    """What each belief, by old data set and name, expects at a setting; too improbable ones are absent."""
    if not isinstance(part.model, MixtureOfProcesses):
        return {}
    weighed, _ = average.weigh(part.observations, part.cache)
    used = slots(weighed.weights)
    with torch.no_grad():
        means = part.model.means(codes)[:, 0].flatten()
    found: dict[tuple[str, str], list[float]] = {}
    for row, mean in zip(used.tolist(), means.tolist(), strict=True):
        label = weighed.hypotheses.labels[row]
        value = response.sign * (part.observations.shift + part.observations.scale * mean)
        found.setdefault((label.old, label.belief), []).append(value)
    means_of = {key: sum(values) / len(values) for key, values in found.items()}
    return {
        key: float(torch.tensor(value).exp()) if response.log else value
        for key, value in means_of.items()
        if not isnan(value)
    }
