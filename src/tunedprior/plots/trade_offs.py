"""The front of trade-offs between objectives."""

from collections.abc import Sequence
from itertools import combinations
from math import isnan

from tunedprior.errors import InputError
from tunedprior.plots.along_inputs import compute_axis_range, list_hover_notes
from tunedprior.plots.pictures import GREEN, GREY, Curve, Dots, Layer, Panel, Picture, Scale
from tunedprior.plots.standing import Snapshot
from tunedprior.plots.wanted import format_goal
from tunedprior.problem.objective import Objective
from tunedprior.problem.trials import Trial


def build_front_picture(standing: Snapshot) -> Picture:
    """Every pair of objectives: the best trade-offs, all that is worse, and what does not meet the requirements."""
    objectives = standing.goals.objectives
    if len(objectives) == 1:
        raise InputError(
            f"A front is one of several objectives, and this campaign has one, {objectives[0].name!r}. Draw its "
            "progress instead."
        )
    standing.refuse_if_nothing_told("A picture of the front")
    measured = [one for one in standing.history.told if not any(map(isnan, standing.goals.compute_utilities(one)))]
    if not measured:
        raise InputError("A picture of the front needs a trial in which every objective was measured; there is none.")
    front = standing.goals.find_front(measured)
    best = {one.id for one in front}
    rest = [one for one in measured if one.id not in best]
    groups = {
        "best trade-offs": front,
        "another is better in all": [one for one in rest if standing.goals.is_met(one)],
        "not as required": [one for one in rest if not standing.goals.is_met(one)],
    }
    panels = tuple(_build_front_panel(standing, pair, groups) for pair in combinations(objectives, 2))
    said = f"{len(front)} of {len(measured)} trials are among the best trade-offs."
    if not front:
        said = "No trial meets what is required yet."
    return Picture("The front of trade-offs", panels, columns=min(3, len(panels)), sentences=(said,))


def _build_front_panel(standing: Snapshot, pair: tuple[Objective, Objective], groups: dict[str, list[Trial]]) -> Panel:
    layers: list[Layer] = []
    if len(standing.goals.objectives) == 2 and groups["best trade-offs"]:
        first, second = pair
        line = sorted((first.get_value(trial), second.get_value(trial)) for trial in groups["best trade-offs"])
        layers.append(Curve("", tuple(x for x, _ in line), tuple(y for _, y in line), GREEN, dashed=True))
    for (name, trials), colour, hollow in zip(
        reversed(groups.items()), (GREY, GREY, GREEN), (True, False, False), strict=True
    ):
        if trials:
            layers.append(_make_dots(name, trials, pair, standing, colour, hollow))
    x, y = (_make_objective_scale(standing, one, [trial for some in groups.values() for trial in some]) for one in pair)
    return Panel(x, y, tuple(layers))


def _make_dots(
    name: str,
    trials: Sequence[Trial],
    pair: tuple[Objective, Objective],
    standing: Snapshot,
    colour: str,
    hollow: bool,
) -> Dots:
    x, y = (tuple(one.get_value(trial) for trial in trials) for one in pair)
    notes = list_hover_notes(trials, standing.space)
    return Dots(name, x, y, colour, hollow=hollow, notes=notes)


def _make_objective_scale(standing: Snapshot, response: Objective, trials: Sequence[Trial]) -> Scale:
    values = [response.get_value(one) for one in trials]
    title = f"{response.name} ({format_goal(standing.goals, response)})"
    return Scale(title, response.log, ends=compute_axis_range(values, response.log))
