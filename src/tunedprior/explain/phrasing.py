"""Explain in sentences why a setting is suggested and what is expected of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

import pandas as pd

from tunedprior.acquisition.functions import get_acquisition_name
from tunedprior.explain.source_explanation import (
    Explanation,
    format_percent,
    format_source_name,
    format_value,
    to_json_value,
)
from tunedprior.goals.goal import Target
from tunedprior.goals.goals import Goals
from tunedprior.history.trials import Trial, format_setting
from tunedprior.space.search_space import Setting

if TYPE_CHECKING:
    from tunedprior.explain.suggestions import SettingExplainer

#: Who chose a setting: old data (the first ones), the design that ignores it, the model, or nobody here.
OLD_DATA, DESIGN, MODEL, NOBODY = ("old data", "design", "model", "")


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


# Shares of settings from which one is among the first of them, or among the last.
_MUCH, _LITTLE = 0.8, 0.2
_HIGHEST, _LOWEST = 0.95, 0.05
# Beliefs of less probability are not named, and nothing is said of results further away than this.
_LEAST_NAMED = 0.05
# What beliefs say, for those who have not read of them.
_MEANINGS = {
    "aligned": "the response is some multiple of the old one, large or small, and a remainder",
    "shape": "it changes as fast along each input as the old one, and no more",
    "uninformed": "old data says nothing of it",
}
# What chose settings of results, and whose the best is.
_CHOSE = {
    OLD_DATA: "Old data alone, before there was a model, chose",
    DESIGN: "the design, which ignores old data, chose",
    MODEL: "the model, which weighs old data and results, chose",
    NOBODY: "people chose",
}
_OWNERS = {
    OLD_DATA: "one that old data chose alone: that it helped there does not show in what it explains",
    DESIGN: "one of the design",
    MODEL: "one of the model",
    NOBODY: "one that people chose",
}
_CRITERIA = {"ei": "expected improvement", "ucb": "upper confidence bound"}


def describe_reasons(
    explainer: "SettingExplainer",
    expected: pd.DataFrame,
    beliefs: pd.DataFrame,
    old: pd.DataFrame,
    nearest: pd.DataFrame,
) -> list[str]:
    """All sentences of the explanation, most important first."""
    return [
        *summarise_reasons(explainer, expected),
        *_describe_beliefs(explainer, beliefs),
        *_describe_old_data(old),
        *_describe_baseline(explainer),
        *_describe_nearest(explainer, nearest),
    ]


def summarise_reasons(explainer: "SettingExplainer", expected: pd.DataFrame) -> list[str]:
    """The main sentences: what proposed the setting, what is expected, the possible gain and its probability."""
    return [
        *_describe_origin(explainer),
        *_describe_expectation(explainer, expected),
        *_describe_gain(explainer),
        *_describe_rank(explainer),
        *_describe_requirements(explainer),
    ]


def _describe_origin(explainer: "SettingExplainer") -> list[str]:
    trial, at, space = explainer.trial, format_setting(explainer.setting), explainer.suggester.space
    if trial is None:
        off = space.find_violated(explainer.setting) if space.is_in_domain(explainer.setting) else ()
        broken = f" It does not satisfy {', '.join(map(str, off))}." if off else ""
        return [f"{at} was not suggested.{broken}"]
    said = f"Trial {trial.id} ({at})"
    if not trial.is_pending:
        results = [
            f"{one.name} = {format_value(one.get_value(trial))}"
            for one in explainer.suggester.goals.responses
            if not isnan(one.get_value(trial))
        ]
        said += f", of which came {', '.join(results)}," if results else ", which failed,"
    if explainer.origin == OLD_DATA:
        return [
            f"{said} is one of the first settings: where old data expects the best, if the response runs the same way."
        ]
    if explainer.origin == DESIGN and explainer.has_old_data:
        return [
            f"{said} is one of a design that ignores old data: it is spread over the space, so that old data which "
            "misleads is found out."
        ]
    if explainer.origin == DESIGN:
        return [f"{said} is one of a design that is spread over the space, before the model decides alone."]
    if explainer.origin == MODEL:
        criterion = explainer.suggester.search.acquisition
        name = _CRITERIA.get(criterion, criterion) if isinstance(criterion, str) else get_acquisition_name(criterion)
        return [f"{said} was chosen by the model: of all settings it promised most when it was asked for ({name})."]
    return [f"{said} was not suggested."]


def _describe_expectation(explainer: "SettingExplainer", expected: pd.DataFrame) -> list[str]:
    if not len(expected):
        if not len(explainer.history):
            return ["Nothing was told yet, so there is no model of the new response to expect anything by."]
        return ["No response was measured yet, so nothing can be expected of it."]
    return [
        f"Expected is {row['response']} = {format_value(row['mean'])} (95 % between {format_value(row['low'])} and "
        f"{format_value(row['high'])}; a measurement between {format_value(row['measured_low'])} and "
        f"{format_value(row['measured_high'])})."
        for row in expected.to_dict("records")
    ]


def _describe_gain(explainer: "SettingExplainer") -> list[str]:
    improvement, goals = explainer.improvement, explainer.suggester.goals
    if not isnan(improvement.probability_better) and improvement.best is None:
        return [
            f"With probability {format_percent(improvement.probability_better)} it is a new trade-off: no result so "
            "far is at least as good "
            "in every objective."
        ]
    if improvement.best is None:
        waiting = goals.requirements and any(not one.failed for one in explainer.history.told)
        return ["Nothing so far meets what is required, so whatever does is a gain."] if waiting else []
    if explainer.trial is not None and explainer.trial.id == improvement.best.id:
        return ["It is the best so far."]
    best = f"trial {improvement.best.id}"
    if goals.weights:
        return [
            f"By the preference it is better than the best so far ({best}) with probability "
            f"{format_percent(improvement.probability_better)}; "
            f"the expected gain is {format_value(improvement.gain)}."
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
        f"The best so far is {format_value(value)} ({best}). It is better than that with probability "
        f"{format_percent(improvement.probability_better)}; the expected gain is {format_value(improvement.gain)}."
    ]


def _describe_rank(explainer: "SettingExplainer") -> list[str]:
    if explainer.ranks is None:
        return []
    hope, doubt = explainer.ranks
    promising = _format_rank(hope, "among the most promising", "among the least promising", "promising")
    certain = _format_rank(1 - doubt, "among the most certain", "among the least certain", "certain")
    return [f"Of all settings it is {promising}, and its outcome is {certain}."]


def _format_rank(share: float, most: str, least: str, kind: str) -> str:
    """Describe the rank of a setting by the share of settings that it exceeds."""
    if share >= _MUCH:
        return most
    return least if share <= _LITTLE else f"{'more' if share >= 0.5 else 'less'} {kind} than most"


def _describe_requirements(explainer: "SettingExplainer") -> list[str]:
    required = ", ".join(map(str, explainer.suggester.goals.requirements))
    if explainer.fitted is None or not (required or explainer.fitted.success_model is not None):
        return []
    works = "works" if explainer.fitted.success_model is not None else ""
    meets = f"meets what is required ({required})" if required else ""
    succeeds = " and ".join(filter(None, (works, meets)))
    return [f"A run there {succeeds} with probability {format_percent(explainer.probability)}."]


def _describe_beliefs(explainer: "SettingExplainer", beliefs: pd.DataFrame) -> list[str]:
    said = []
    several = len(explainer.suggester.goals.responses) > 1
    for response, trust in explainer.trust.items():
        rows = beliefs[beliefs["response"] == response].sort_values("probability", ascending=False, kind="stable")
        named = [_format_belief(row) for row in rows.to_dict("records") if row["probability"] >= _LEAST_NAMED]
        of = f" of {response}" if several else ""
        told = "rests on" if len(explainer.history) else "will begin with"
        said.append(
            f"The prediction{of} {told} these beliefs about the form of the relation to old data, each with its "
            f"probability: {'; '.join(named)}."
        )
        said += trust.sentences if not several else [f"{response}: {sentence}" for sentence in trust.sentences]
    if not explainer.trust and not explainer.has_old_data:
        said.append("There is no old data, so the prediction rests on the results alone.")
    return said


def _format_belief(row: Mapping[Any, Any]) -> str:
    of = f" of {row['old data']}" if row["old data"] else ""
    meaning = _MEANINGS.get(row["belief"], "")
    return f"{format_percent(row['probability'])} {row['belief']!r}{of}{f' ({meaning})' if meaning else ''}"


def describe_origins(results: Mapping[str, Sequence[Trial]], goals: Goals) -> str:
    """Compare the results at settings from old data alone, from the design and from the model: counts and bests.

    Empty if no setting came from old data alone: then old data acts through the model, and trust says how much.
    """
    if not results.get(OLD_DATA):
        return ""
    every = [trial for trials in results.values() for trial in trials]
    counts = {name: f"{len(trials)}" for name, trials in results.items()}
    counts[OLD_DATA] += f" of {len(every)}"
    if goals.has_front:
        said = "; ".join(f"{chose} {counts[name]}" for name, chose in _CHOSE.items() if name in results)
        front = {one.id for one in goals.find_front(every)}
        own = sum(one.id in front for one in results[OLD_DATA])
        return f"{said}. Old data alone chose {own} of the {len(front)} best trade-offs."
    best = {name: goals.find_best(trials) for name, trials in results.items()}
    each = [
        f"{chose} {counts[name]} ({_format_best(best[name], goals)})"
        for name, chose in _CHOSE.items()
        if name in results
    ]
    return f"{'; '.join(each)}. {_compare_origins(best, goals)}".strip()


def _format_best(best: Trial | None, goals: Goals) -> str:
    return "none that counts" if best is None else f"best {format_value(goals.main.get_value(best))}, trial {best.id}"


def _compare_origins(best: Mapping[str, Trial | None], goals: Goals) -> str:
    """What proposed the best setting so far, and how the settings from old data compare with the design's."""
    found = {name: goals.compute_worth(one) for name, one in best.items() if one is not None}
    if not found:
        return ""
    first = max(found, key=lambda name: found[name])
    said = f"The best so far is {_OWNERS[first]}."
    if OLD_DATA in found and DESIGN in found:
        by = found[OLD_DATA] - found[DESIGN]
        how = "as good as" if by == 0 else f"{format_value(abs(by))} {'better' if by > 0 else 'worse'} than"
        said += f" What old data chose alone is {how} the best of the design."
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


def _describe_baseline(explainer: "SettingExplainer") -> list[str]:
    baseline = explainer.baseline
    if baseline is None:
        return []
    if baseline.distance < 1e-9:
        return ["Plain optimisation, without old data, would have suggested the same."]
    return [
        f"Plain optimisation, without old data, would have suggested {format_setting(baseline.setting)} instead, "
        f"{format_percent(baseline.distance)} of the way across the space."
    ]


def _describe_nearest(explainer: "SettingExplainer", nearest: pd.DataFrame) -> list[str]:
    if not len(nearest):
        return []
    row = nearest.iloc[0]
    names = [one.name for one in explainer.suggester.goals.responses if not isnan(row[one.name])]
    came = ", ".join(f"{name} = {format_value(float(row[name]))}" for name in names) or "failed"
    return [
        f"The nearest result is trial {row['trial']} ({row['setting']}: {came}), "
        f"{format_percent(row['distance'])} of the way "
        "across the space."
    ]
