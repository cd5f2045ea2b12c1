"""Results that look like slips: a number that stands for "not measured", or one far from old data and all others."""

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.average.surrogate import Average
from tunedprior.campaign.suggester import Suggester
from tunedprior.checks import listed, warn
from tunedprior.errors import OddResultWarning
from tunedprior.problem.aims import Aims
from tunedprior.problem.goals import MINIMIZE
from tunedprior.problem.objective import Objective
from tunedprior.problem.suspicions import isolated, sentinels
from tunedprior.problem.trials import Trial

#: From the least to the largest response of each old data set, on the model's scale, by the name of the response.
Spans = Mapping[str, Sequence[tuple[float, float]]]

_ENOUGH = 5  # results, to tell what is far from them
_FAR = 30.0  # times their range: few results are no measure of what is possible
# Old data is a measure if it is the same quantity: so many results, and this part of them, lie within its span.
_FIRST, _WITHIN = 3, 0.75
_BEYOND = 1.0  # widths of the span of old and new results: 0 to 100 leaves room for 190, and not for 230
# Widths below 0, where nothing else is: blank-corrected results scatter about 0. What is minimised may well go there.
_BELOW_ZERO = 0.01


def spans_of_old(suggester: Suggester) -> dict[str, list[tuple[float, float]]]:
    """What old data spans, without sets that are known to run the other way."""
    aims = suggester.aims
    models = {
        one.target: suggester.surrogate if one.is_main else suggester.others[one.target] for one in aims.responses
    }
    return {
        name: [one.span for one in model.known if one.span is not None and one.sign != -one.hoped]
        for name, model in models.items()
        if isinstance(model, Average)
    }


def warn_of_odd_results(before: Sequence[Trial], new: Sequence[Trial], suggester: Suggester) -> None:
    """Name those of the new results that look like slips; they are taken all the same."""
    for said in slips_among(before, new, suggester.aims, spans_of_old(suggester)):
        warn(
            f"{said} If it is a slip, or was not measured, amend the trial or take it back.",
            OddResultWarning,
        )


def slips_among(before: Sequence[Trial], new: Sequence[Trial], aims: Aims, old: Spans | None = None) -> list[str]:
    """A sentence for each response in which some of the new results look like slips."""
    return [
        said
        for one in aims.responses
        if not one.labels and (said := _odd_in(one, before, new, (old or {}).get(one.target, ())))
    ]


def _odd_in(
    response: Objective, before: Sequence[Trial], new: Sequence[Trial], old: Sequence[tuple[float, float]]
) -> str:
    complete, fresh = response.told((*before, *new)), {trial.id for trial in new}
    if not complete or not response.told(new):
        return ""
    values = np.array([response.value_of(trial) for trial in complete], dtype=np.float64)
    is_new = np.array([trial.id in fresh for trial in complete])
    scaled = np.log(values) if response.log else values
    # Rows of one sheet may all have the same slip, so they are judged by what was there before, if that is enough.
    others = scaled[~is_new] if (~is_new).sum() >= _FIRST else None
    judged = scaled if others is None else others
    comparable = [] if len(values) <= _FIRST else [span for span in old if _holds(span, judged)]
    apart, hint, below = "all others", "", np.zeros(len(values), dtype=bool)
    if not comparable:
        far = _is_isolated(values)
    else:
        low, high = min(span[0] for span in comparable), max(span[1] for span in comparable)
        far, below = _beyond_and_below_zero(scaled, low, high, others)
        if response.log or response.direction == MINIMIZE:
            below[:] = False
        ends = (np.exp(low), np.exp(high)) if response.log else (low, high)
        apart = f"all others and from old data ({ends[0]:.4g} to {ends[1]:.4g})"
        hint = " Did a decimal point slip, or is it another unit?"
    far |= sentinels(np.append(values, [np.exp(end) if response.log else end for end in chain(*old)]))[: len(values)]
    said = {
        f"A result is far from {apart}: {{}}.{hint}": far,
        "A result is below 0, where neither old data nor another result is: {}.": below & ~far,
    }
    return " ".join(
        text.format(listed(f"{values[k]:g} (trial {complete[k].id})" for k in np.flatnonzero(is_new & odd)))
        for text, odd in said.items()
        if (is_new & odd).any()
    )


def _is_isolated(values: Float64[ndarray, " n"]) -> Bool[ndarray, " n"]:
    size = float(np.abs(values).max()) or 1.0  # divided by for a start: neither 1e-300 nor 1e300 is squared or summed
    return isolated(values / size, _FAR) if len(values) > _ENOUGH else np.zeros(len(values), dtype=bool)


def _holds(span: tuple[float, float], values: Float64[ndarray, " n"]) -> bool:
    """Whether the span holds most of the results: of another quantity it would tell nothing."""
    inside = int(((span[0] <= values) & (values <= span[1])).sum())
    return inside >= max(_FIRST, _WITHIN * (len(values) - 1))  # one of them may be the slip


def _beyond_and_below_zero(
    values: Float64[ndarray, " n"], low: float, high: float, others: Float64[ndarray, " m"] | None
) -> tuple[Bool[ndarray, " n"], Bool[ndarray, " n"]]:
    """Which results are far beyond the span of old data and of these others, and which alone are below 0.

    If there are no others, they are all results but the one that is judged.
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
