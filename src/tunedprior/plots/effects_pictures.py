"""Pictures of the model: the response along each input, interactions, and what was learnt from old data."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import torch

from tunedprior.errors import InputError
from tunedprior.explain.sensitivity import Domain, Function, compute_sensitivity
from tunedprior.explain.suggestions import get_surrogate, make_source_functions
from tunedprior.goals.objective import Objective, encode_run_settings
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.plots.pictures import (
    BLACK,
    BLUE,
    GREY,
    PURPLE,
    SKY,
    STAR,
    Band,
    Bars,
    Curve,
    Dots,
    Layer,
    Level,
    Panel,
    Picture,
    Scale,
    Shades,
    abbreviate_setting,
    compute_axis_range,
    has_few_values,
    list_axis_values,
    list_hover_notes,
    locate_on_axis,
    make_axis_scale,
    vary_input,
)
from tunedprior.plots.snapshot import PredictedInterval, Snapshot, make_goal_lines
from tunedprior.space.encoding import Box
from tunedprior.space.parameters import Categorical, Parameter
from tunedprior.space.search_space import Setting, Space
from tunedprior.suggestion.suggester import Suggester

_FINE = 61  # values along a continuous input
_WIDE = 4  # panels side by side
_NOTED = 600  # points of all panels that say more than their trial's number
_DRAWN = 500  # results that are drawn: the latest


def build_effects_picture(snapshot: Snapshot) -> Picture:
    """For each response a row: the prediction along each input, with all others at the recommended setting."""
    snapshot.refuse_if_nothing_told("A picture of effects")
    panels: list[Panel] = []
    broken = False
    for response in snapshot.modelled:
        drawn = [_build_layers(snapshot, response, one) for one in snapshot.varying]
        broken = broken or any(interrupted for _, interrupted, _ in drawn)
        seen = [one for _, _, values in drawn for one in values]
        y = Scale(response.name, response.log, ends=compute_axis_range(seen, response.log))
        for parameter, (layers, _, _) in zip(snapshot.varying, drawn, strict=True):
            panels.append(Panel(make_axis_scale(parameter), y, tuple(layers)))
    held = f"{snapshot.centre_description} ({abbreviate_setting(snapshot.centre, snapshot.space)})"
    said = [f"The star is {held}."]
    if len(snapshot.varying) > 1:
        said = [
            f"All other inputs are held at {held}, the star. Results (grey) were measured with the others elsewhere: "
            "they need not lie on the curves."
        ]
    left = max(len(one.select_measured(snapshot.history.told)) for one in snapshot.modelled) - _DRAWN
    if left > 0:
        said.append(f"Of the results, the latest {_DRAWN} are drawn; {left} earlier ones are left out.")
    said.append("Intervals are those of the response itself, without the noise of a measurement.")
    if broken:
        said.append("Where a curve is dashed or a point hollow, the constraints do not allow the setting.")
    columns = len(snapshot.varying) if len(snapshot.varying) <= _WIDE else 3
    return Picture("What the model expects along each input", tuple(panels), columns, tuple(said))


def _build_layers(
    snapshot: Snapshot, response: Objective, parameter: Parameter
) -> tuple[list[Layer], bool, list[float]]:
    """The layers of one panel, whether a curve of it is interrupted, and all heights in it."""
    name, centre = parameter.name, snapshot.centre
    values = list_axis_values(parameter, _FINE)
    settings = vary_input(centre, name, values)
    expected, at = snapshot.predict_interval(response, settings), locate_on_axis(parameter, values)
    trials = response.select_measured(snapshot.history.told)[-_DRAWN:]
    told = tuple(response.get_value(one) for one in trials)
    layers: list[Layer] = [
        *make_goal_lines(snapshot.goals, response),
        Dots(
            "results",
            locate_on_axis(parameter, [one.setting[name] for one in trials]),
            told,
            GREY,
            small=True,
            notes=list_hover_notes(trials, snapshot.space, _NOTED // len(snapshot.varying)),
        ),
    ]
    allowed = snapshot.are_feasible(settings)
    if has_few_values(parameter):
        layers += _make_points(at, expected, allowed, make_axis_scale(parameter))
    else:
        layers += _make_curves(at, expected, allowed)
    here = snapshot.predict_interval(response, [centre])
    layers.append(Dots("held here", locate_on_axis(parameter, [centre[name]]), here.mean, BLACK, STAR))
    heights = [*expected.low, *expected.high, *told, *(one.at for one in layers if isinstance(one, Level))]
    return layers, not allowed.all(), heights


def _make_points(at: tuple[float, ...], expected: PredictedInterval, allowed: np.ndarray, scale: Scale) -> list[Layer]:
    found: list[Layer] = []
    for name, which, hollow in (
        ("expected, with 95 % interval", allowed, False),
        ("not allowed by the constraints", ~allowed, True),
    ):
        if which.any():
            x, y, low, high = (tuple(np.array(one)[which].tolist()) for one in (at, *astuple(expected)))
            notes = tuple(f"{scale.title} {scale.choices[int(one)]}" for one in x) if scale.choices else ()
            found.append(Dots(name, x, y, BLUE, hollow=hollow, low=low, high=high, notes=notes))
    return found


def _make_curves(at: tuple[float, ...], expected: PredictedInterval, allowed: np.ndarray) -> list[Layer]:
    found: list[Layer] = [Band("95 % interval", at, expected.low, expected.high)]
    if not allowed.all():
        found.append(Curve("not allowed by the constraints", at, expected.mean, BLUE, dashed=True))
    inside = tuple(y if ok else float("nan") for y, ok in zip(expected.mean, allowed.tolist(), strict=True))
    return [*found, Curve("expected", at, inside, BLUE)]


_STRONGEST = 2  # pairs that are shown of each objective
_COARSE, _PAIR_POINTS = 7, 25  # values along an input: to compare pairs, and to show them
_COMPARED = 8  # inputs of which all pairs are compared: of more, those along which most changes
_LEAST_ALLOWED = 0.05  # share of a map that must satisfy the constraints for the rest to be left blank


@dataclass(frozen=True)
class Pair:
    """Two inputs and the strength of their interaction.

    Attributes:
        one: The first input.
        other: The second input.
        strength: The standard deviation of the part that is no sum of one function of each, at the present centre.
        share: Its share of all variance over the two.
    """

    one: Parameter
    other: Parameter
    strength: float
    share: float


def rank_interacting_pairs(snapshot: Snapshot, response: Objective, most: int = _STRONGEST) -> list[Pair]:
    """Rank pairs of inputs by the strength of their interaction, the strongest first."""
    inputs = _select_active_inputs(snapshot, response)
    found = [_compute_interaction(snapshot, response, *pair) for pair in combinations(inputs, 2)]
    return sorted(found, key=lambda pair: -pair.strength)[:most]


def build_interactions_picture(snapshot: Snapshot) -> Picture:
    """For each objective the strongest pairs of inputs, as maps of the predicted response."""
    if len(snapshot.varying) < 2:
        raise InputError("An interaction is one of two inputs, and only one can change here. Draw its effects instead.")
    snapshot.refuse_if_nothing_told("A picture of interactions")
    panels, said = [], []
    for response in snapshot.modelled:
        if response not in snapshot.goals.objectives:
            continue
        pairs = rank_interacting_pairs(snapshot, response)
        maps = [_predict_map(snapshot, response, pair) for pair in pairs]
        seen = np.concatenate([z[np.isfinite(z)] for _, _, z in maps])
        ends = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
        for pair, (x, y, z) in zip(pairs, maps, strict=True):
            shades = Shades(response.name, x, y, tuple(map(tuple, z.tolist())), ends)
            panels.append(_build_pair_panel(snapshot, response, pair, shades))
            said.append(_describe_interaction(response, pair))
    if not panels:
        raise InputError("A picture of interactions needs a result of an objective; none was measured yet.")
    blank = " Blank settings are not allowed by the constraints." if snapshot.space.constraints else ""
    held = abbreviate_setting(snapshot.centre, snapshot.space)
    said.append(f"All other inputs are held at {snapshot.centre_description} ({held}; the star).{blank}")
    return Picture("The strongest interactions", tuple(panels), _STRONGEST, tuple(said))


def _describe_interaction(response: Objective, pair: Pair) -> str:
    """Say in a sentence which share of the variance along two inputs is due to their interaction."""
    names = f"{pair.one.name} and {pair.other.name}"
    if pair.strength == 0:
        return f"{response.name}: {names} do not act together."
    share = f"{100 * pair.share:.0f} %" if pair.share >= 0.005 else "less than 1 %"
    return (
        f"{response.name}: of what changes with {names}, {share} is their acting together, and not the sum of what "
        "each does alone."
    )


def _build_pair_panel(snapshot: Snapshot, response: Objective, pair: Pair, shades: Shades) -> Panel:
    trials = response.select_measured(snapshot.history.told)
    at = [locate_on_axis(one, [trial.setting[one.name] for trial in trials]) for one in (pair.one, pair.other)]
    here = [locate_on_axis(one, [snapshot.centre[one.name]]) for one in (pair.one, pair.other)]
    notes = tuple(f"trial {one.label}: {response.name} {response.get_value(one):.6g}" for one in trials)
    return Panel(
        make_axis_scale(pair.one),
        make_axis_scale(pair.other),
        (
            shades,
            Dots("results", at[0], at[1], BLACK, hollow=True, small=True, notes=notes),
            Dots("held here", here[0], here[1], BLACK, STAR),
        ),
        response.name,
    )


def _predict_map(snapshot: Snapshot, response: Objective, pair: Pair) -> tuple[Any, Any, Any]:
    """The places of columns and rows, and the prediction there; NaN where constraints forbid the setting."""
    across, up = (list_axis_values(one, _PAIR_POINTS) for one in (pair.one, pair.other))
    settings = _make_grid(snapshot.centre, pair.one, across, pair.other, up)
    z = np.array(snapshot.predict_interval(response, settings).mean)
    allowed = snapshot.are_feasible(settings)
    if allowed.mean() >= _LEAST_ALLOWED:
        z = np.where(allowed, z, np.nan)
    return locate_on_axis(pair.one, across), locate_on_axis(pair.other, up), z.reshape(len(up), len(across))


def _make_grid(centre: Setting, one: Parameter, across: list[Any], other: Parameter, up: list[Any]) -> list[Setting]:
    """Settings row by row: for each value of the second input, all values of the first."""
    return [setting for row in vary_input(centre, other.name, up) for setting in vary_input(row, one.name, across)]


def _compute_interaction(snapshot: Snapshot, response: Objective, one: Parameter, other: Parameter) -> Pair:
    """F_ij - F_i. - F_.j + F_.. over a coarse grid, on the scale of the model."""
    across, up = list_axis_values(one, _COARSE), list_axis_values(other, _COARSE)
    mean = np.array(snapshot.predict_interval(response, _make_grid(snapshot.centre, one, across, other, up)).mean)
    z = (np.log(mean) if response.log else mean).reshape(len(up), len(across))
    together = z - z.mean(0) - z.mean(1, keepdims=True) + z.mean()
    strength, total = float(together.std()), float(z.std())
    negligible = strength <= 1e-9 * max(total, float(np.abs(z).max()))
    # A map with numbers across and categories up is the easier one to read.
    first, second = (
        (other, one) if isinstance(one, Categorical) and not isinstance(other, Categorical) else (one, other)
    )
    return Pair(first, second, 0.0 if negligible else strength, 0.0 if negligible else (strength / total) ** 2)


def _select_active_inputs(snapshot: Snapshot, response: Objective) -> list[Parameter]:
    """The inputs along which the prediction changes most, in their order."""
    inputs = snapshot.varying
    if len(inputs) <= _COMPARED:
        return inputs
    moved = []
    for one in inputs:
        settings = vary_input(snapshot.centre, one.name, list_axis_values(one, _COARSE))
        moved.append(float(np.std(snapshot.predict_interval(response, settings).mean)))
    most = sorted(np.argsort(moved)[-_COMPARED:].tolist())
    return [inputs[number] for number in most]


_AVERAGED = 48  # settings all over the space, for curves
_OLD_POINTS = 31  # values along a continuous input
_MOST = (0.1, 0.9)  # quantiles between which most settings lie
_SEED = 0
_NAME = 24  # letters of an input's name
_READING = (
    "Shares are those of the old response's variance that is lost if an input is not known; with interactions they may "
    "add up to more than 1.",
    "Curves are averages over all other inputs; the stripe holds the old response of 80 % of settings.",
)
#: How many of the picture's sentences, the last ones, say how to read it.
HOW_TO_READ = len(_READING)


@dataclass(frozen=True, eq=False)
class SourceResponse:
    """The function that one old data set gives for a response.

    Attributes:
        name: The old data set's.
        response: The response's.
        log: Whether the response is modelled by its logarithm.
        box: How settings are encoded.
        response_function: g at encoded settings, in units of the old response (or of its logarithm).
    """

    name: str
    response: str
    log: bool
    box: Box
    response_function: Function

    def evaluate(self, settings: Sequence[Setting]) -> Any:
        """g at settings."""
        with isolate_computation(), torch.no_grad():
            return self.response_function(encode_run_settings(settings, self.box)).numpy()


def list_source_responses(suggester: Suggester) -> list[SourceResponse]:
    """The functions that were learnt from old data, by response and old data set."""
    return [
        SourceResponse(name, response.name, response.log, surrogate.box, function)
        for response in suggester.goals.responses
        for surrogate in [get_surrogate(suggester, response)]
        for name, function in make_source_functions(surrogate).items()
    ]


def compute_importance(source_response: SourceResponse, space: Space) -> dict[str, float]:
    """For each input, the share of g's variance over the space that is lost if the input is not known.

    These are total Sobol indices, as in `opt.explain()`; they include interactions, so they may add up to more than 1.
    They are those of the box, as an input that constraints link to others could not be left out by itself.
    """
    free = Space(space.parameters)
    with isolate_computation():
        found = compute_sensitivity(source_response.response_function, Domain.from_space(free, source_response.box))
    shares = dict(zip((side.name for side in found.domain.sides), found.total.tolist(), strict=True))
    return {one.name: shares.get(one.name, 0.0) for one in space.parameters}


def build_old_data_picture(snapshot: Snapshot) -> Picture:
    """For each old data set: the importance of each input, then the old response along each of them."""
    source_responses = list_source_responses(snapshot.suggester)
    if not source_responses:
        raise InputError("This campaign has no old data that is used, so there is nothing that it taught.")
    panels, said = [], []
    for source_response in source_responses:
        importance = compute_importance(source_response, snapshot.space)
        shares = {one.name: importance[one.name] for one in snapshot.varying}
        panels.append(_build_importance_panel(source_response, shares))
        drawn = [_build_input_layers(source_response, snapshot.space, one) for one in snapshot.varying]
        seen = [height for _, heights in drawn for height in heights]
        y = Scale(
            f"old {source_response.response}", source_response.log, ends=compute_axis_range(seen, source_response.log)
        )
        for parameter, (layers, _) in zip(snapshot.varying, drawn, strict=True):
            panels.append(Panel(make_axis_scale(parameter), y, tuple(layers), source_response.name))
        said.append(_describe_importance(source_response, shares))
    said += _READING
    columns = 1 + len(snapshot.varying) if len(snapshot.varying) <= 3 else 3
    return Picture("What the old data taught", tuple(panels), columns, tuple(said))


def _describe_importance(source_response: SourceResponse, shares: dict[str, float]) -> str:
    about = f"{source_response.name}, {source_response.response}"
    if not any(shares.values()):
        return f"{about}: the old response is the same everywhere."
    most = sorted(shares, key=lambda name: -shares[name])[:3]
    first = ", ".join(f"{name} ({100 * shares[name]:.0f} %)" for name in most if shares[name] >= 0.005)
    return f"{about}: the old response depends most on {first}."


def _build_importance_panel(source_response: SourceResponse, shares: dict[str, float]) -> Panel:
    names = tuple(reversed(shares))  # the first on top
    x = Scale("share of variance", ends=(0.0, 1.05 * max(1.0, *shares.values())))
    y = Scale("", choices=names, ends=(-0.6, len(names) - 0.4), room=_NAME)
    return Panel(x, y, (Bars("importance", tuple(shares[name] for name in names), PURPLE),), source_response.name)


def _build_input_layers(
    source_response: SourceResponse, space: Space, parameter: Parameter
) -> tuple[list[Layer], list[float]]:
    """The layers of the panel of one input, and all heights in it."""
    values = list_axis_values(parameter, _OLD_POINTS)
    others = space.sobol(_AVERAGED, _SEED)
    g = source_response.evaluate([{**one, parameter.name: value} for value in values for one in others])
    g = (np.exp(g) if source_response.log else g).reshape(len(values), len(others))
    at, mean = locate_on_axis(parameter, values), tuple(g.mean(1).tolist())
    low, high = (tuple(np.quantile(g, one, axis=1).tolist()) for one in _MOST)
    if has_few_values(parameter):
        layers: list[Layer] = [Dots("average, with 80 % of settings", at, mean, BLUE, low=low, high=high)]
    else:
        layers = [Band("80 % of settings", at, low, high, SKY), Curve("average", at, mean, BLUE)]
    return layers, [*mean, *low, *high]
