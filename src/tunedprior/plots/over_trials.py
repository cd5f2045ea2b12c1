"""What came of each trial, the best so far, and the shadow of plain optimisation."""

from collections.abc import Mapping, Sequence
from math import isnan, nan

from tunedprior.errors import InputError
from tunedprior.plots.along_inputs import compute_axis_range, format_rounded_setting, list_hover_notes
from tunedprior.plots.pictures import (
    BLACK,
    BLUE,
    CROSS,
    DIAMOND,
    GREY,
    ORANGE,
    RED,
    SQUARE,
    Curve,
    Dots,
    Layer,
    Level,
    Panel,
    Picture,
    Scale,
    Zone,
)
from tunedprior.plots.plain_course import has_baseline, replay_baselines
from tunedprior.plots.standing import PredictedInterval, Snapshot
from tunedprior.plots.wanted import format_goal, make_goal_lines
from tunedprior.problem.objective import Objective
from tunedprior.problem.space import Setting
from tunedprior.problem.trials import Trial

_WORDS = ("fail", "pass")


def build_progress_picture(standing: Snapshot, shadow: int, progress: bool = False) -> Picture:
    """Results in the order they were told, for each response a panel.

    Args:
        standing: The campaign.
        shadow: For how many of the latest suggestions the shadow is worked out.
        progress: Whether to show a progress bar meanwhile.
    """
    if not len(standing.history):
        raise InputError("A picture of progress needs a result, and nothing was told yet. Tell at least one.")
    instead: dict[int, Setting] = {}
    said = []
    modelled = [one.name for one in standing.modelled] if _has_any_value(standing) else []
    if modelled and shadow and has_baseline(standing):
        try:
            instead = replay_baselines(standing, shadow, progress)
        except InputError as error:  # of an acquisition function that plain optimisation cannot do
            said.append(f"There is no shadow: {error}")
    panels = [
        _build_response_panel(standing, one, instead if one.name in modelled else {})
        for one in standing.goals.responses
    ]
    if instead:
        said.append(
            "The shadow: what plain optimisation, with the same results before it but without old data, would have "
            "suggested instead. It was never run: shown is what the present model expects there, with its 95 % "
            "interval."
        )
        left = sum(trial.is_suggestion for trial in standing.history.told) - len(instead)
        if left > 0:
            said.append(f"It is shown for the latest {len(instead)} suggestions.")
    return Picture("Progress", tuple(panels), columns=2 if len(panels) > 1 else 1, sentences=tuple(said))


def _has_any_value(standing: Snapshot) -> bool:
    return any(one.select_measured(standing.history.told) for one in standing.goals.responses)


def _build_response_panel(standing: Snapshot, response: Objective, instead: Mapping[int, Setting]) -> Panel:
    told, pending = standing.history.told, standing.history.pending
    if response.labels:
        return _build_labels_panel(standing, response)
    layers: list[Layer] = make_goal_lines(standing.goals, response)
    if instead:
        expected = standing.predict_interval(response, list(instead.values()))
        notes: Sequence[str] = [format_rounded_setting(one, standing.space) for one in instead.values()]
        numbers = [one + 1 for one in instead]
        layers.append(_make_prediction_dots("shadow: expected of the plain suggestion", numbers, expected, notes, GREY))
    if pending and _has_any_value(standing) and response.name in standing.fitted.parts:
        settings = [one.setting for one in pending]
        coming = [len(told) + 1 + number for number in range(len(pending))]
        notes = list_hover_notes(pending, standing.space)
        expected = standing.predict_interval(response, settings)
        layers.append(_make_prediction_dots("under way: expected", coming, expected, notes, BLUE, SQUARE))
    best = _compute_best_so_far(standing, response)
    if not all(map(isnan, best)):
        layers.append(Curve("best so far", tuple(range(1, len(told) + 1)), best, BLACK, stepped=True))
    for name, asked, colour in (("suggested", True, BLUE), ("your own", False, ORANGE)):
        rows = [(number, one) for number, one in enumerate(told, start=1) if one.is_suggestion == asked]
        layers += _make_result_dots(name, rows, response, standing, colour)
    heights = _collect_heights(layers)
    ends = compute_axis_range(heights, response.log) or (0.0, 1.0)
    failed = [(number, one) for number, one in enumerate(told, start=1) if isnan(response.get_value(one))]
    if failed:
        where = tuple(float(number) for number, _ in failed)
        why = list_hover_notes([one for _, one in failed], standing.space)
        layers.append(Dots("failed, or not measured", where, (ends[0],) * len(failed), RED, CROSS, notes=why))
        ends = compute_axis_range([*ends], response.log) or ends
    title = f"{response.name} ({format_goal(standing.goals, response)})"
    return Panel(
        Scale("result", ends=(0.4, len(told) + len(pending) + 0.6), whole=True),
        Scale(response.name, response.log, ends=ends),
        tuple(layers),
        title,
    )


def _build_labels_panel(standing: Snapshot, response: Objective) -> Panel:
    told = standing.history.told
    rows = [(number, one) for number, one in enumerate(told, start=1)]
    layers = [
        layer
        for name, asked, colour in (("suggested", True, BLUE), ("your own", False, ORANGE))
        for layer in _make_result_dots(
            name, [row for row in rows if row[1].is_suggestion == asked], response, standing, colour
        )
    ]
    x = Scale("result", ends=(0.4, len(told) + 0.6), whole=True)
    y = Scale(response.name, choices=_WORDS, ends=(-0.5, 1.5))
    return Panel(x, y, tuple(layers), f"{response.name} (required)")


def _make_result_dots(
    name: str, rows: Sequence[tuple[int, Trial]], response: Objective, standing: Snapshot, colour: str
) -> list[Layer]:
    """Results, those that do not meet what is required hollow."""
    found: list[Layer] = []
    for met in (True, False):
        some = [
            (number, one, response.get_value(one))
            for number, one in rows
            if not isnan(response.get_value(one)) and standing.goals.is_met(one) == met
        ]
        if not some:
            continue
        numbers, trials, values = zip(*some, strict=True)
        heights = tuple((one + 1) / 2 if response.labels else float(one) for one in values)
        found.append(
            Dots(
                name if met else f"{name}, not as required",
                tuple(float(one) for one in numbers),
                heights,
                colour,
                hollow=not met,
                notes=list_hover_notes(trials, standing.space),
            )
        )
    return found


def _make_prediction_dots(
    name: str,
    numbers: Sequence[int],
    expected: PredictedInterval,
    notes: Sequence[str],
    colour: str,
    shape: str = DIAMOND,
) -> Dots:
    where, ends = tuple(float(one) for one in numbers), (expected.low, expected.high)
    return Dots(name, where, expected.mean, colour, shape, True, False, *ends, tuple(notes))


def _compute_best_so_far(standing: Snapshot, response: Objective) -> tuple[float, ...]:
    """The value of the best trial after each result; where there is a front, the best of this response alone."""
    aims = standing.goals
    if response not in aims.objectives:
        return (nan,) * len(standing.history)
    best: Trial | None = None
    found = []
    for trial in standing.history.told:
        some = [trial] if best is None else [best, trial]
        best = response.find_best(aims.select_feasible(some)) if aims.has_front else aims.find_best(some)
        found.append(nan if best is None else response.get_value(best))
    return tuple(found)


def _collect_heights(layers: Sequence[Layer]) -> list[float]:
    found: list[float] = []
    for one in layers:
        if isinstance(one, Dots):
            found += [*one.y, *one.low, *one.high]
        elif isinstance(one, Level):
            found.append(one.at)
        elif isinstance(one, Zone):
            found += [one.low, one.high]
    return found
