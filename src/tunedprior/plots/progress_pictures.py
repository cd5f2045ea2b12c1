"""Pictures over the course of a campaign: results and the best so far, trust in old data, the Pareto front.

The picture of progress may show the shadow: what would have been suggested without old data at each step.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from math import isnan, nan

from tunedprior.errors import InputError
from tunedprior.explain.suggestions import has_old_data
from tunedprior.explain.trust import Trust
from tunedprior.goals.objective import Objective
from tunedprior.history.trials import Trial, collect_settings
from tunedprior.numerics.isolation import silence_warnings
from tunedprior.plots.pictures import (
    BLACK,
    BLUE,
    CROSS,
    DIAMOND,
    GREEN,
    GREY,
    ORANGE,
    RED,
    SERIES,
    SQUARE,
    Curve,
    Dots,
    Layer,
    Level,
    Panel,
    Picture,
    Scale,
    Zone,
    compute_axis_range,
    format_rounded_setting,
    list_hover_notes,
)
from tunedprior.plots.snapshot import PredictedInterval, Snapshot, format_goal, make_goal_lines
from tunedprior.space.search_space import Setting
from tunedprior.suggestion.response_models import FittedModels

_TITLE = "what plain optimisation would have suggested"


def replay_baselines(snapshot: Snapshot, most: int, progress: bool = False) -> dict[int, Setting]:
    """For the latest suggestions, by position among the results: what would have been suggested without old data.

    Each one uses the results before it, as the real suggestion did; none of these suggestions was ever run.

    Args:
        snapshot: The campaign.
        most: For how many suggestions, the latest ones.
        progress: Whether to show a progress bar.
    """
    from tqdm import tqdm  # only the picture of progress needs it

    told, known = snapshot.history.told, snapshot.baseline_suggestions
    asked = [position for position, trial in enumerate(told) if trial.is_suggestion][-most:] if most else []
    missing = [one for one in asked if one not in known or known[one][0] != told[:one]]
    plain = snapshot.suggester.drop_old_data()
    fitted: FittedModels | None = None
    for position in tqdm(missing, desc=_TITLE, disable=not progress, leave=False):
        history = snapshot.history.keep_first(position)
        with silence_warnings(""):  # that nothing is left to suggest was said when the real one was made
            if not plain.is_designing(history, []):
                fitted = plain.fit(history, snapshot.seed, fitted)
            setting = plain.suggest(history, [], snapshot.seed, None, fitted)
        known[position] = told[:position], setting
    return {position: known[position][1] for position in asked}


_WORDS = ("fail", "pass")
# What dots of results are called, by whether the setting was suggested.
_CHOSEN_BY = (("suggested", True, BLUE), ("your own", False, ORANGE))


def build_progress_picture(snapshot: Snapshot, baseline_count: int, progress: bool = False) -> Picture:
    """Build the picture of results in the order of recording, a panel for each response.

    Args:
        snapshot: The campaign.
        baseline_count: For how many of the latest suggestions the shadow is computed.
        progress: Whether to show a progress bar meanwhile.
    """
    if not len(snapshot.history):
        raise InputError("A picture of progress needs a result, and nothing was told yet. Tell at least one.")
    instead: dict[int, Setting] = {}
    said = []
    if snapshot.modelled and baseline_count and has_old_data(snapshot.suggester):
        try:
            instead = replay_baselines(snapshot, baseline_count, progress)
        except InputError as error:  # of an acquisition function that plain optimisation cannot do
            said.append(f"There is no shadow: {error}")
    panels = [_build_response_panel(snapshot, one, instead) for one in snapshot.goals.responses]
    if instead:
        said.append(
            "The shadow: what would have been suggested from the same results without old data. It was never run: "
            "shown is the present model's prediction, with its 95 % interval."
        )
        left = sum(trial.is_suggestion for trial in snapshot.history.told) - len(instead)
        if left > 0:
            said.append(f"It is shown for the latest {len(instead)} suggestions.")
    return Picture("Progress", tuple(panels), columns=2 if len(panels) > 1 else 1, sentences=tuple(said))


def _build_response_panel(snapshot: Snapshot, response: Objective, instead: Mapping[int, Setting]) -> Panel:
    told, pending = snapshot.history.told, snapshot.history.pending
    if response.labels:
        x = Scale("result", ends=(0.4, len(told) + 0.6), whole=True)
        y = Scale(response.name, choices=_WORDS, ends=(-0.5, 1.5))
        return Panel(x, y, tuple(_make_result_dots(response, snapshot)), f"{response.name} (required)")
    layers: list[Layer] = make_goal_lines(snapshot.goals, response)
    if instead and response in snapshot.modelled:
        expected = snapshot.predict_interval(response, list(instead.values()))
        notes = tuple(format_rounded_setting(one, snapshot.space) for one in instead.values())
        numbers = [position + 1 for position in instead]
        layers.append(_make_prediction_dots("shadow (without old data): predicted", numbers, expected, notes, GREY))
    if pending and response in snapshot.modelled:
        expected = snapshot.predict_interval(response, collect_settings(pending))
        notes = list_hover_notes(pending, snapshot.space)
        numbers = [len(told) + number for number in range(1, len(pending) + 1)]
        layers.append(_make_prediction_dots("open: predicted", numbers, expected, notes, BLUE, SQUARE))
    best = _compute_best_so_far(snapshot, response)
    if not all(map(isnan, best)):
        layers.append(Curve("best so far", tuple(range(1, len(told) + 1)), best, BLACK, stepped=True))
    layers += _make_result_dots(response, snapshot)
    ends = compute_axis_range(_collect_heights(layers), response.log) or (0.0, 1.0)
    failed = {number: one for number, one in enumerate(told, start=1) if isnan(response.get_value(one))}
    if failed:
        why = list_hover_notes(list(failed.values()), snapshot.space)
        layers.append(Dots("failed, or not measured", tuple(failed), (ends[0],) * len(failed), RED, CROSS, notes=why))
        ends = compute_axis_range([*ends], response.log) or ends
    title = f"{response.name} ({format_goal(snapshot.goals, response)})"
    return Panel(
        Scale("result", ends=(0.4, len(told) + len(pending) + 0.6), whole=True),
        Scale(response.name, response.log, ends=ends),
        tuple(layers),
        title,
    )


def _make_result_dots(response: Objective, snapshot: Snapshot) -> list[Layer]:
    """Dots of results by who chose the setting; those that do not meet the requirements are hollow."""
    measured = {
        number: one for number, one in enumerate(snapshot.history.told, start=1) if not isnan(response.get_value(one))
    }
    found: list[Layer] = []
    for (name, asked, colour), met in product(_CHOSEN_BY, (True, False)):
        some = {
            number: one
            for number, one in measured.items()
            if one.is_suggestion == asked and snapshot.goals.is_met(one) == met
        }
        if some:
            values = [response.get_value(one) for one in some.values()]
            heights = tuple((value + 1) / 2 if response.labels else value for value in values)
            notes = list_hover_notes(list(some.values()), snapshot.space)
            title = name if met else f"{name}, not as required"
            found.append(Dots(title, tuple(some), heights, colour, hollow=not met, notes=notes))
    return found


def _make_prediction_dots(
    name: str,
    numbers: Sequence[int],
    expected: PredictedInterval,
    notes: tuple[str, ...],
    colour: str,
    shape: str = DIAMOND,
) -> Dots:
    ends = expected.low, expected.high
    return Dots(name, tuple(numbers), expected.mean, colour, shape, True, False, *ends, notes)


def _compute_best_so_far(snapshot: Snapshot, response: Objective) -> tuple[float, ...]:
    """The value of the best trial after each result; with several objectives, the best of this response alone."""
    goals = snapshot.goals
    if response not in goals.objectives:
        return (nan,) * len(snapshot.history)
    best: Trial | None = None
    found = []
    for trial in snapshot.history.told:
        some = [trial] if best is None else [best, trial]
        best = response.find_best(goals.select_feasible(some)) if goals.has_front else goals.find_best(some)
        found.append(nan if best is None else response.get_value(best))
    return tuple(found)


def _collect_heights(layers: Sequence[Layer]) -> list[float]:
    found: list[float] = []
    for layer in layers:
        match layer:
            case Dots():
                found += [*layer.y, *layer.low, *layer.high]
            case Level():
                found.append(layer.at)
            case Zone():
                found += [layer.low, layer.high]
    return found


def build_trust_picture(found: Trust | dict[str, Trust]) -> Picture:
    """For each response a panel with a line for each old data set, and the trust in words."""
    by_response = found if isinstance(found, dict) else {"": found}
    if not by_response:
        raise InputError("A picture of trust needs old data; this campaign has none that is used.")
    if all(len(one.history) < 2 for one in by_response.values()):
        raise InputError("A picture of trust needs a result, and nothing was told yet that worked. Tell at least one.")
    names = list(dict.fromkeys(name for one in by_response.values() for name in one.relations["old data"]))
    colours = {name: SERIES[number % len(SERIES)] for number, name in enumerate(names)}
    panels = tuple(_build_trust_panel(one, response, colours) for response, one in by_response.items())
    said = tuple(
        f"{response}: {sentence}" if response else sentence
        for response, one in by_response.items()
        for sentence in one.sentences
    )
    return Picture("Trust in old data", panels, columns=2 if len(panels) > 1 else 1, sentences=said)


def _build_trust_panel(trust: Trust, response: str, colours: dict[str, str]) -> Panel:
    names, counts = list(trust.relations["old data"]), trust.history.index.tolist()
    columns = {name: f"{name}: trust" if len(names) > 1 else "trust" for name in names}
    layers = tuple(
        Curve(name, tuple(counts), tuple(trust.history[column].tolist()), colours[name])
        for name, column in columns.items()
    )
    x = Scale("results", ends=(-0.3, max(counts) + 0.3), whole=True)
    return Panel(x, Scale("trust (share explained)", ends=(-0.03, 1.03)), layers, response)


def build_front_picture(snapshot: Snapshot) -> Picture:
    """For every pair of objectives: the Pareto front, dominated results, and those not meeting the requirements."""
    objectives = snapshot.goals.objectives
    if len(objectives) == 1:
        raise InputError(
            f"A front is one of several objectives, and this campaign has one, {objectives[0].name!r}. Draw its "
            "progress instead."
        )
    snapshot.refuse_if_nothing_told("A picture of the front")
    measured = [one for one in snapshot.history.told if not any(map(isnan, snapshot.goals.compute_utilities(one)))]
    if not measured:
        raise InputError("A picture of the front needs a trial in which every objective was measured; there is none.")
    front = snapshot.goals.find_front(measured)
    best = {one.id for one in front}
    rest = [one for one in measured if one.id not in best]
    groups = {
        "Pareto front": front,
        "dominated (another is better in all)": [one for one in rest if snapshot.goals.is_met(one)],
        "not as required": [one for one in rest if not snapshot.goals.is_met(one)],
    }
    panels = tuple(_build_front_panel(snapshot, pair, groups) for pair in combinations(objectives, 2))
    said = f"{len(front)} of {len(measured)} trials are on the Pareto front."
    if not front:
        said = "No trial meets the requirements yet."
    return Picture("Pareto front", panels, columns=min(3, len(panels)), sentences=(said,))


def _build_front_panel(snapshot: Snapshot, pair: tuple[Objective, Objective], groups: dict[str, list[Trial]]) -> Panel:
    layers: list[Layer] = []
    if len(snapshot.goals.objectives) == 2 and groups["Pareto front"]:
        first, second = pair
        line = sorted((first.get_value(trial), second.get_value(trial)) for trial in groups["Pareto front"])
        layers.append(Curve("", tuple(x for x, _ in line), tuple(y for _, y in line), GREEN, dashed=True))
    for (name, trials), colour, hollow in zip(
        reversed(groups.items()), (GREY, GREY, GREEN), (True, False, False), strict=True
    ):
        if trials:
            x, y = (tuple(one.get_value(trial) for trial in trials) for one in pair)
            layers.append(Dots(name, x, y, colour, hollow=hollow, notes=list_hover_notes(trials, snapshot.space)))
    shown = [trial for trials in groups.values() for trial in trials]
    across, up = (_make_objective_scale(snapshot, one, shown) for one in pair)
    return Panel(across, up, tuple(layers))


def _make_objective_scale(snapshot: Snapshot, response: Objective, trials: Sequence[Trial]) -> Scale:
    values = [response.get_value(one) for one in trials]
    title = f"{response.name} ({format_goal(snapshot.goals, response)})"
    return Scale(title, response.log, ends=compute_axis_range(values, response.log))
