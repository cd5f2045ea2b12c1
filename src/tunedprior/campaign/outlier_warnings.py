"""Warnings about new results that look like mistakes: sentinels, outliers, and values beyond limits."""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

import numpy as np
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.checks import format_list, warn
from tunedprior.errors import OddResultWarning
from tunedprior.goals.goal import MINIMIZE, Requirement
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import LEAST, MOST, Objective
from tunedprior.history.trials import Trial
from tunedprior.source_data.number_checks import find_fractions, find_isolated, find_sentinels
from tunedprior.space.encoding import Box
from tunedprior.suggestion.suggester import Suggester
from tunedprior.weight_prior.sources import SourceSurrogate

#: From the least to the largest response of each old data set, on the model's scale, by the name of the response.
Spans = Mapping[str, Sequence[tuple[float, float]]]

_ENOUGH = 5  # results, to tell what is far from them
_FAR = 30.0  # times their range: few results are no measure of what is possible
_FEWEST_FRACTIONS = 2  # among percentages, that are noted without old data to compare with
# Old data is a measure if it is the same quantity: so many results, and this part of them, lie within its span.
_FIRST, _WITHIN = 3, 0.75
_BEYOND = 1.0  # widths of the span of old and new results: 0 to 100 leaves room for 190, and not for 230
# Widths below 0, where nothing else is: blank-corrected results scatter about 0. What is minimised may well go there.
_BELOW_ZERO = 0.01


def collect_old_spans(suggester: Suggester) -> dict[str, list[tuple[float, float]]]:
    """The range of each response in old data, without sets that are known to run the other way."""
    goals = suggester.goals
    models = {
        one.name: suggester.surrogate if one.is_main else suggester.other_surrogates[one.name]
        for one in goals.responses
    }
    return {
        name: [one.span for one in model.sources if one.span is not None and one.sign != -one.presumed_sign]
        for name, model in models.items()
        if isinstance(model, SourceSurrogate)
    }


def warn_of_odd_results(before: Sequence[Trial], new: Sequence[Trial], suggester: Suggester) -> None:
    """Warn of new results that look like mistakes; they are recorded all the same.

    Results that are far worse than all others are mentioned when the first of them occurs; later ones are no mistakes.
    """
    goals, box = suggester.goals, suggester.surrogate.box
    found = goals.find_far_worse((*before, *new), box)
    known = {name: trials for name, trials in found.items() if _has_far_worse(name, before, goals, box)}
    expected = {name: {trial.id for trial in trials} for name, trials in known.items()}
    slips = describe_outliers(before, new, goals, collect_old_spans(suggester), expected)
    said = [f"{slip} If it is a slip, or was not measured, amend the trial or take it back." for slip in slips]
    said += [
        describe_far_worse(goals.get_response(name), trials) for name, trials in found.items() if name not in known
    ]
    said += _describe_extreme_values(before, new, goals) + _describe_limit_violations(new, goals)
    if said:
        warn(" ".join(said), OddResultWarning)


def warn_of_flags(told: Sequence[Trial], flags: Sequence[Objective], suggester: Suggester) -> None:
    """Warn of responses told as True or False whose other results or old data are numbers other than 0 and 1.

    A campaign may consist of passed and failed runs alone and be told in flags.
    """
    spans = collect_old_spans(suggester)
    for one in flags:
        known = [one.get_value(trial) for trial in one.select_measured(told)]
        known += [end for span in spans.get(one.name, ()) for end in span]
        if not set(known) <= {0.0, 1.0}:
            warn(
                f"{one.name} is a number, and True or False was told: it is kept as 1 or 0. If it is a slip, amend "
                "the trial or take it back; a run that gave nothing is told with failed=True.",
                OddResultWarning,
            )


def _has_far_worse(response: str, trials: Sequence[Trial], goals: Goals, box: Box) -> bool:
    """Whether results of a response were far worse than all others after any of these trials."""
    return any(response in goals.find_far_worse(trials[:count], box) for count in range(len(trials), 0, -1))


def describe_far_worse(response: Objective, trials: Sequence[Trial], remedy: str = "amend it as failed") -> str:
    """A sentence that models count these results as merely worse, and what to do if a run gave no result."""
    values = format_list(f"{response.get_value(one):g} (trial {one.id})" for one in trials)
    return (
        f"{response.name} is so much worse than in all other trials that models could tell nothing else apart: "
        f"{values}. They take such results as merely worse than the others, now and later; the history keeps the "
        f"values. If a run gave no result, {remedy}."
    )


def _describe_extreme_values(before: Sequence[Trial], new: Sequence[Trial], goals: Goals) -> list[str]:
    """A sentence for each response that is too large or too small to compute with for the first time."""
    said = []
    for one in goals.responses:
        earlier, later = (
            {one.get_value(trial) for trial in one.select_measured(some)} for some in (before, (*before, *new))
        )
        sizes, known = ([abs(value) for value in some] for some in (later, earlier))
        if one.log or not sizes:
            continue
        if max(sizes) > MOST and not max(known, default=0.0) > MOST:
            said.append(
                f"{one.name} is beyond ±{MOST:g} in some results, which is too large to compute with: models take "
                f"them as ±{MOST:g}. Tell them in another unit, or their logarithms."
            )
        if max(sizes) < LEAST and len(later) > 1 and len(earlier) < 2:
            said.append(
                f"{one.name} is within ±{LEAST:.2g} in every result, which is too small to compute with: models take "
                "them as equal, or nearly so. Tell them in another unit, or their logarithms."
            )
    return said


def _describe_limit_violations(new: Sequence[Trial], goals: Goals) -> list[str]:
    """A sentence for each response that is beyond its given limits."""
    said = []
    for one in goals.objectives:
        within = Requirement(one.name, *one.limits)
        beyond = [trial for trial in one.select_measured(new) if not within.is_met(one.get_value(trial))]
        if beyond:
            values = format_list(f"{one.get_value(trial):g} (trial {trial.id})" for trial in beyond)
            said.append(
                f"{one.name} is beyond its limits ({within}): {values}. It is taken as measured. If it is "
                "a slip, amend the trial or take it back."
            )
    return said


def describe_outliers(
    before: Sequence[Trial],
    new: Sequence[Trial],
    goals: Goals,
    old: Spans | None = None,
    expected: Mapping[str, Collection[int]] | None = None,
) -> list[str]:
    """A sentence for each response in which some of the new results look like mistakes.

    Args:
        before: The trials before.
        new: The new trials.
        goals: The goals of the campaign.
        old: The ranges of the responses in old data.
        expected: By response, the numbers of trials that may be far from all others.
    """
    said = []
    for one in goals.responses:
        if not one.labels:
            others = [trial for trial in new if trial.id not in (expected or {}).get(one.name, ())]
            said.append(_describe_response_outliers(one, before, others, (old or {}).get(one.name, ())))
    return list(filter(None, said))


def _describe_response_outliers(
    response: Objective, before: Sequence[Trial], new: Sequence[Trial], old: Sequence[tuple[float, float]]
) -> str:
    complete, fresh = response.select_measured((*before, *new)), {trial.id for trial in new}
    if not complete or not response.select_measured(new):
        return ""
    values = np.array([response.get_value(trial) for trial in complete], dtype=np.float64)
    is_new = np.array([trial.id in fresh for trial in complete])
    scaled = np.log(values) if response.log else values
    # Rows of one sheet may all have the same slip, so they are judged by what was there before, if that is enough.
    others = scaled[~is_new] if (~is_new).sum() >= _FIRST else None
    judged = scaled if others is None else others
    comparable = [] if len(values) <= _FIRST else [span for span in old if _is_comparable(span, judged)]
    apart, hint, below = "all others", "", np.zeros(len(values), dtype=bool)
    if not comparable:
        far = _is_isolated(values)
    else:
        low, high = min(span[0] for span in comparable), max(span[1] for span in comparable)
        far, below = _find_beyond_span(scaled, low, high, others)
        if response.log or response.direction == MINIMIZE:
            below[:] = False
        ends = (np.exp(low), np.exp(high)) if response.log else (low, high)
        apart = f"all others and from old data ({ends[0]:.4g} to {ends[1]:.4g})"
        hint = " Did a decimal point slip, or is it another unit?"
    far |= find_sentinels(np.append(values, [np.exp(end) if response.log else end for end in chain(*old)]))[
        : len(values)
    ]
    spanned = [np.exp(end) if response.log else end for end in chain(*comparable)]
    fractions = find_fractions(np.append(values, spanned))[: len(values)]
    # What is minimised may well come near 0; and one low yield is common where no old data says where yields lie.
    if response.log or response.direction == MINIMIZE or (not comparable and fractions.sum() < _FEWEST_FRACTIONS):
        fractions[:] = False
    said = {
        f"A result is far from {apart}: {{}}.{hint}": far,
        "A result may be a fraction where all others are percentages: {}.": fractions & ~far,
        "A result is below 0, where neither old data nor another result is: {}.": below & ~far,
    }
    return " ".join(
        text.format(format_list(f"{values[k]:g} (trial {complete[k].id})" for k in np.flatnonzero(is_new & odd)))
        for text, odd in said.items()
        if (is_new & odd).any()
    )


def _is_isolated(values: Float64[ndarray, " n"]) -> Bool[ndarray, " n"]:
    size = float(np.abs(values).max()) or 1.0  # divided by for a start: neither 1e-300 nor 1e300 is squared or summed
    return find_isolated(values / size, _FAR) if len(values) > _ENOUGH else np.zeros(len(values), dtype=bool)


def _is_comparable(span: tuple[float, float], values: Float64[ndarray, " n"]) -> bool:
    """Whether the range of old data holds most of the results; else it may be of another quantity."""
    inside = int(((span[0] <= values) & (values <= span[1])).sum())
    return inside >= max(_FIRST, _WITHIN * (len(values) - 1))  # one of them may be the slip


def _find_beyond_span(
    values: Float64[ndarray, " n"], low: float, high: float, others: Float64[ndarray, " m"] | None
) -> tuple[Bool[ndarray, " n"], Bool[ndarray, " n"]]:
    """Which results are far beyond the range of old data and the other results, and which alone are below 0.

    If there are no others, each result is compared with all the rest.
    """
    if others is None:
        place, ordered = np.arange(len(values)), np.sort(values)
        least = np.where(place == values.argmin(), ordered[1], ordered[0])
        most = np.where(place == values.argmax(), ordered[-2], ordered[-1])
    else:
        least, most = others.min(), others.max()
    lows, highs = np.minimum(low, least), np.maximum(high, most)
    widths = highs - lows
    beyond = (values > highs + _BEYOND * widths) | (values < lows - _BEYOND * widths)
    return beyond, (lows >= 0) & (values < -_BELOW_ZERO * widths)
