"""What the pages show, as plain values in people's words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import floor, log10

from tunedprior.campaign.odd_results import Spans, slips_among
from tunedprior.checks import listed
from tunedprior.problem.aims import Aims
from tunedprior.problem.objective import Objective
from tunedprior.problem.space import Setting
from tunedprior.problem.trials import COMPLETE, FAILED, History, Trial, same_setting
from tunedprior.web.background import Expected, Insight
from tunedprior.web.entries import response_text
from tunedprior.web.shared import SharedCampaign
from tunedprior.web.typed_numbers import short

#: A name and what it is.
Line = tuple[str, str]
_MOST_TRADE_OFFS = 12


@dataclass(frozen=True)
class Suggested:
    """An open suggestion.

    Attributes:
        trial: It.
        setting: What to set.
        expected: What is expected of it, in words.
        before: Earlier runs of the same setting, in words.
    """

    trial: Trial
    setting: list[Line]
    expected: list[str]
    before: str


@dataclass(frozen=True)
class Row:
    """A line of the table of all trials."""

    number: int
    cells: list[str]
    responses: list[str]
    state: str
    who: str
    note: str
    when: str
    is_best: bool


@dataclass(frozen=True)
class Change:
    """What a result changed, in sentences; the first is the one that matters."""

    headline: str
    is_good: bool
    sentences: list[str]


def setting_lines(setting: Setting) -> list[Line]:
    """A setting, a line for each parameter."""
    return [(name, short(value)) for name, value in setting.items()]


def result_lines(trial: Trial, aims: Aims) -> list[Line]:
    """What was measured."""
    told = [(one.target, result_text(one, one.value_of(trial))) for one in aims.responses]
    return [(name, text) for name, text in told if text]


def result_text(response: Objective, value: float) -> str:
    """A response as people read it; nothing if it was not measured."""
    exact = response_text(response, value)
    return short(value) if exact and not response.labels else exact


def expected_text(one: Expected, aims: Aims) -> str:
    """Such as "71.2 (55.1 to 87.3)", with the response's name where there are several."""
    name = f"{one.response} " if len(aims.responses) > 1 else ""
    return name + _with_interval(one)


def suggested(trial: Trial, history: History, expected: Sequence[Expected], aims: Aims) -> Suggested:
    """An open suggestion as it is shown."""
    same = [one for one in history.told if same_setting(one.setting, trial.setting)]
    before = f"It was run before, as trial {listed(one.id for one in same)}: this repeats it." if same else ""
    return Suggested(trial, setting_lines(trial.setting), [expected_text(one, aims) for one in expected], before)


def rows(campaign: SharedCampaign, history: History) -> list[Row]:
    """All trials, the latest first."""
    times, aims = campaign.times(), campaign.aims
    best = {one.id for one in best_of(history.told, aims)}
    return [
        Row(
            one.id,
            [text for _, text in setting_lines(one.setting)],
            [result_text(response, response.value_of(one)) for response in aims.responses],
            "open" if one.is_pending else one.state,
            str(one.extra.get(campaign.who, "")),
            one.note,
            "" if one.is_pending else time_text(times.get(one.id)),
            one.id in best,
        )
        for one in sorted(history.trials, key=lambda one: -one.id)
    ]


def time_text(when: datetime | None) -> str:
    """A time as people write it."""
    return "" if when is None else f"{when:%Y-%m-%d %H:%M}"


def best_of(told: Sequence[Trial], aims: Aims) -> list[Trial]:
    """The best trial, or the best trade-offs; none yet, while nothing meets what is required."""
    if aims.has_front:
        return aims.front(told)
    best = aims.best(told)
    return [] if best is None else [best]


def trade_offs(told: Sequence[Trial], aims: Aims) -> list[Trial]:
    """The front, the best of the first objective at the top; not more than can be taken in."""
    found = aims.front(told) if aims.has_front else []
    return sorted(found, key=lambda one: -aims.utilities(one)[0])[:_MOST_TRADE_OFFS]


def recommended_text(insight: Insight | None, aims: Aims) -> Mapping[str, object] | None:
    """The setting to use and what is expected of it."""
    found = None if insight is None else insight.recommended
    if found is None:
        return None
    middle = Expected(aims.main.target, found.mean, found.low, found.high)
    return {
        "setting": setting_lines(found.setting),
        "expected": f"{aims.main.target} {_with_interval(middle)}",
        "probability": "" if found.probability == 1 else f"{100 * found.probability:.0f} %",
    }


def change(
    trial: Trial, history: History, expected: Sequence[Expected], aims: Aims, old: Spans | None = None
) -> Change:
    """What a result changed when it was told."""
    position = next((k for k, one in enumerate(history.told) if one.id == trial.id), None)
    if position is None or trial.state not in (COMPLETE, FAILED):
        return Change("", False, [])
    before = history.told[:position]
    headline, is_good = _headline(trial, before, aims)
    sentences = [_compared(one, aims.named(one.response).value_of(trial)) for one in expected]
    sentences += [f"{said} If it is a slip, correct it." for said in slips_among(before, [trial], aims, old)]
    return Change(headline, is_good, [said for said in sentences if said])


def _headline(trial: Trial, before: Sequence[Trial], aims: Aims) -> tuple[str, bool]:
    if trial.failed:
        return "The run failed. It is learnt that such settings may fail.", False
    missed = [str(one) for one in aims.requirements if not one.is_met(aims.named(one.response).value_of(trial))]
    if missed:
        return f"It does not meet what is required: {listed(missed)}.", False
    if not aims.of_use([trial]):
        return "Not everything was measured, so it cannot be the best; it is learnt from all the same.", False
    if aims.has_front:
        return _place_in_front(trial, before, aims)
    best = aims.best(before)
    if best is None:
        return "It is the first result that counts.", True
    was = f"{result_text(aims.main, best.value)} (trial {best.id})"
    if aims.worth(trial) > aims.worth(best):
        return f"It is the best so far: {result_text(aims.main, trial.value)}. The best was {was}.", True
    return f"The best stays as it was: {was}.", False


def _place_in_front(trial: Trial, before: Sequence[Trial], aims: Aims) -> tuple[str, bool]:
    was = aims.front(before)
    now = aims.front([*before, trial])
    if trial not in now:
        return "It is not among the best trade-offs: another run is at least as good in everything.", False
    gone = [one.id for one in was if one not in now]
    instead = f", in the place of trial {listed(gone)}" if gone else ""
    return f"It is one of the best trade-offs{instead}. There are {len(now)} now.", True


def _compared(expected: Expected, value: float) -> str:
    if value != value:
        return ""
    where = "above" if value > expected.high else "below" if value < expected.low else "within"
    what = f"{_round(expected.low, expected)} to {_round(expected.high, expected)}"
    said = "and it lies within" if where == "within" else f"and it lies {where} that: a surprise"
    return f"Of {expected.response}, {what} was expected, {said}."


def _with_interval(one: Expected) -> str:
    return f"{_round(one.mean, one)} ({_round(one.low, one)} to {_round(one.high, one)})"


def _round(value: float, of: Expected) -> str:
    """A number with the digits that its uncertainty leaves a meaning."""
    spread = max(of.high - of.low, abs(of.mean) * 1e-5, 1e-300)
    digits = 1 - floor(log10(spread))
    return f"{round(value, digits):.{max(digits, 0)}f}" if -6 < digits < 10 else f"{value:.3g}"
