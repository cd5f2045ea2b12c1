"""Results that look like slips: a number that stands for "not measured", or one far from old data and all others."""

from collections.abc import Mapping, Sequence

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
    comparable = [] if len(values) <= _FIRST else [span for span in old if _holds(span, scaled)]
    if comparable:
        low, high = min(span[0] for span in comparable), max(span[1] for span in comparable)
        above_zero = not response.log and response.direction != MINIMIZE
        odd = np.array([new and _is_beyond(scaled, k, low, high, above_zero) for k, new in enumerate(is_new)])
        ends = (np.exp(low), np.exp(high)) if response.log else (low, high)
        apart = f"all others and from old data ({ends[0]:.4g} to {ends[1]:.4g})"
    else:
        odd, apart = _is_isolated(values), "all others"
    found = [trial for trial, is_odd in zip(complete, is_new & (odd | sentinels(values)), strict=True) if is_odd]
    said = listed(f"{response.value_of(trial):g} (trial {trial.id})" for trial in found)
    hint = " Did a decimal point slip, or is it another unit?" if comparable else ""
    return f"A result is far from {apart}: {said}.{hint}" if found else ""


def _is_isolated(values: Float64[ndarray, " n"]) -> Bool[ndarray, " n"]:
    size = float(np.abs(values).max()) or 1.0  # divided by for a start: neither 1e-300 nor 1e300 is squared or summed
    return isolated(values / size, _FAR) if len(values) > _ENOUGH else np.zeros(len(values), dtype=bool)


def _holds(span: tuple[float, float], values: Float64[ndarray, " n"]) -> bool:
    """Whether the span holds most of the results: of another quantity it would tell nothing."""
    inside = int(((span[0] <= values) & (values <= span[1])).sum())
    return inside >= max(_FIRST, _WITHIN * (len(values) - 1))  # one of them may be the slip


def _is_beyond(values: Float64[ndarray, " n"], number: int, low: float, high: float, above_zero: bool) -> bool:
    """Whether this result is far beyond the span of old data and of the other results, or the only one below 0."""
    one, others = float(values[number]), np.delete(values, number)
    low, high = min(low, float(others.min())), max(high, float(others.max()))
    width = high - low
    if one > high + _BEYOND * width or one < low - _BEYOND * width:
        return True
    return above_zero and low >= 0 and one < -_BELOW_ZERO * width
