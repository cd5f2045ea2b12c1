"""What the model expects along each input."""

import numpy as np

from tunedprior.plots.along_inputs import (
    abbreviate_setting,
    compute_axis_range,
    has_few_values,
    list_axis_values,
    list_hover_notes,
    locate_on_axis,
    make_axis_scale,
    vary_input,
)
from tunedprior.plots.pictures import BLACK, BLUE, GREY, STAR, Band, Curve, Dots, Layer, Level, Panel, Picture, Scale
from tunedprior.plots.standing import PredictedInterval, Snapshot
from tunedprior.plots.wanted import make_goal_lines
from tunedprior.problem.objective import Objective
from tunedprior.problem.parameters import Parameter

_FINE = 61  # values along a continuous input
_WIDE = 4  # panels side by side
_NOTED = 600  # points of all panels that say more than their trial's number
_DRAWN = 500  # results that are drawn: the latest


def build_effects_picture(standing: Snapshot) -> Picture:
    """For each response a row: what is expected along each input, all others held at the recommended setting."""
    standing.refuse_if_nothing_told("A picture of effects")
    panels: list[Panel] = []
    broken = False
    for response in standing.modelled:
        drawn = [_build_layers(standing, response, one) for one in standing.varying]
        broken = broken or any(interrupted for _, interrupted, _ in drawn)
        seen = [one for _, _, values in drawn for one in values]
        y = Scale(response.name, response.log, ends=compute_axis_range(seen, response.log))
        for parameter, (layers, _, _) in zip(standing.varying, drawn, strict=True):
            panels.append(Panel(make_axis_scale(parameter), y, tuple(layers)))
    held = f"{standing.centre_description} ({abbreviate_setting(standing.centre, standing.space)})"
    said = [f"The star is {held}."]
    if len(standing.varying) > 1:
        said = [
            f"All other inputs are held at {held}, the star. Results (grey) were measured with the others elsewhere: "
            "they need not lie on the curves."
        ]
    left = max(len(one.select_measured(standing.history.told)) for one in standing.modelled) - _DRAWN
    if left > 0:
        said.append(f"Of the results, the latest {_DRAWN} are drawn; {left} earlier ones are left out.")
    said.append("Intervals are those of the response itself, without the noise of a measurement.")
    if broken:
        said.append("Where a curve is dashed or a point hollow, the constraints do not allow the setting.")
    columns = len(standing.varying) if len(standing.varying) <= _WIDE else 3
    return Picture("What the model expects along each input", tuple(panels), columns, tuple(said))


def _build_layers(
    standing: Snapshot, response: Objective, parameter: Parameter
) -> tuple[list[Layer], bool, list[float]]:
    """What is in one panel, whether a curve of it is interrupted, and all heights in it."""
    name, centre = parameter.name, standing.centre
    values = list_axis_values(parameter, _FINE)
    settings = vary_input(centre, name, values)
    expected, at = standing.predict_interval(response, settings), locate_on_axis(parameter, values)
    trials = response.select_measured(standing.history.told)[-_DRAWN:]
    told = tuple(response.get_value(one) for one in trials)
    layers: list[Layer] = [
        *make_goal_lines(standing.goals, response),
        Dots(
            "results",
            locate_on_axis(parameter, [one.setting[name] for one in trials]),
            told,
            GREY,
            small=True,
            notes=list_hover_notes(trials, standing.space, _NOTED // len(standing.varying)),
        ),
    ]
    allowed = standing.are_feasible(settings)
    if has_few_values(parameter):
        layers += _make_points(at, expected, allowed, make_axis_scale(parameter))
    else:
        layers += _make_curves(at, expected, allowed)
    here = standing.predict_interval(response, [centre])
    layers.append(Dots("held here", locate_on_axis(parameter, [centre[name]]), here.mean, BLACK, STAR))
    heights = [*expected.low, *expected.high, *told, *(one.at for one in layers if isinstance(one, Level))]
    return layers, not allowed.all(), heights


def _make_points(at: tuple[float, ...], expected: PredictedInterval, allowed: np.ndarray, scale: Scale) -> list[Layer]:
    found: list[Layer] = []
    for name, which, hollow in (
        ("expected, with 95 % interval", allowed, False),
        ("not allowed by the constraints", ~allowed, True),
    ):
        rows = np.flatnonzero(which).tolist()
        if rows:
            x, y, low, high = (tuple(one[k] for k in rows) for one in (at, expected.mean, expected.low, expected.high))
            notes = tuple(f"{scale.title} {scale.choices[int(one)]}" for one in x) if scale.choices else ()
            found.append(Dots(name, x, y, BLUE, hollow=hollow, low=low, high=high, notes=notes))
    return found


def _make_curves(at: tuple[float, ...], expected: PredictedInterval, allowed: np.ndarray) -> list[Layer]:
    found: list[Layer] = [Band("95 % interval", at, expected.low, expected.high)]
    if not allowed.all():
        found.append(Curve("not allowed by the constraints", at, expected.mean, BLUE, dashed=True))
    inside = tuple(y if ok else float("nan") for y, ok in zip(expected.mean, allowed.tolist(), strict=True))
    return [*found, Curve("expected", at, inside, BLUE)]
