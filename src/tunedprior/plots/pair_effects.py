"""Which pairs of inputs act together, and what the model expects over the strongest of them."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tunedprior.errors import InputError
from tunedprior.plots.along_inputs import (
    abbreviate_setting,
    list_axis_values,
    locate_on_axis,
    make_axis_scale,
    vary_input,
)
from tunedprior.plots.pictures import BLACK, STAR, Dots, Panel, Picture, Shades
from tunedprior.plots.standing import Snapshot
from tunedprior.problem.objective import Objective
from tunedprior.problem.parameters import Categorical, Parameter
from tunedprior.problem.space import Setting

_STRONGEST = 2  # pairs that are shown of each objective
_COARSE, _FINE = 7, 25  # values along an input: to compare pairs, and to show them
_COMPARED = 8  # inputs of which all pairs are compared: of more, those along which most changes
_LEAST_ALLOWED = 0.05  # share of a map that must satisfy the constraints for the rest to be left blank


@dataclass(frozen=True)
class Pair:
    """Two inputs and how strongly they act together.

    Attributes:
        one: The first.
        other: The second.
        strength: The standard deviation, over the two at the present centre, of what is not a sum of one term for each.
        share: Its share of all variance over the two.
    """

    one: Parameter
    other: Parameter
    strength: float
    share: float


def rank_interacting_pairs(standing: Snapshot, response: Objective, most: int = _STRONGEST) -> list[Pair]:
    """Pairs of inputs by how strongly they act together on a response, the strongest first."""
    inputs = _select_active_inputs(standing, response)
    found = [_compute_interaction(standing, response, *pair) for pair in combinations(inputs, 2)]
    return sorted(found, key=lambda pair: -pair.strength)[:most]


def build_interactions_picture(standing: Snapshot) -> Picture:
    """For each objective the strongest pairs of inputs, as maps of what the model expects."""
    if len(standing.varying) < 2:
        raise InputError("An interaction is one of two inputs, and only one can change here. Draw its effects instead.")
    standing.refuse_if_nothing_told("A picture of interactions")
    panels, said = [], []
    for response in standing.modelled:
        if response not in standing.goals.objectives:
            continue
        pairs = rank_interacting_pairs(standing, response)
        maps = [_predict_map(standing, response, pair) for pair in pairs]
        seen = np.concatenate([z[np.isfinite(z)] for _, _, z in maps])
        ends = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
        for pair, (x, y, z) in zip(pairs, maps, strict=True):
            panels.append(
                _build_pair_panel(standing, response, pair, Shades(response.name, x, y, _convert_to_rows(z), ends))
            )
            said.append(_describe_interaction(response, pair))
    if not panels:
        raise InputError("A picture of interactions needs a result of an objective; none was measured yet.")
    blank = " Blank settings are not allowed by the constraints." if standing.space.constraints else ""
    held = abbreviate_setting(standing.centre, standing.space)
    said.append(f"All other inputs are held at {standing.centre_description} ({held}; the star).{blank}")
    return Picture("The strongest interactions", tuple(panels), _STRONGEST, tuple(said))


def _describe_interaction(response: Objective, pair: Pair) -> str:
    pairs = f"{pair.one.name} and {pair.other.name}"
    if pair.strength == 0:
        return f"{response.name}: {pairs} do not act together."
    share = f"{100 * pair.share:.0f} %" if pair.share >= 0.005 else "less than 1 %"
    return (
        f"{response.name}: of what changes with {pairs}, {share} is their acting together, and not the sum of what "
        "each does alone."
    )


def _build_pair_panel(standing: Snapshot, response: Objective, pair: Pair, shades: Shades) -> Panel:
    trials = response.select_measured(standing.history.told)
    at = [locate_on_axis(one, [trial.setting[one.name] for trial in trials]) for one in (pair.one, pair.other)]
    here = [locate_on_axis(one, [standing.centre[one.name]]) for one in (pair.one, pair.other)]
    notes = tuple(f"trial {one.id}: {response.name} {response.get_value(one):.6g}" for one in trials)
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


def _predict_map(standing: Snapshot, response: Objective, pair: Pair) -> tuple[Any, Any, Any]:
    """The places of columns and rows, and what is expected there; NaN where constraints forbid it."""
    across, up = (list_axis_values(one, _FINE) for one in (pair.one, pair.other))
    settings = _make_grid(standing.centre, pair.one, across, pair.other, up)
    z = np.array(standing.predict_interval(response, settings).mean)
    allowed = standing.are_feasible(settings)
    if allowed.mean() >= _LEAST_ALLOWED:
        z = np.where(allowed, z, np.nan)
    return locate_on_axis(pair.one, across), locate_on_axis(pair.other, up), z.reshape(len(up), len(across))


def _convert_to_rows(z: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(cell) for cell in row) for row in z)


def _make_grid(centre: Setting, one: Parameter, across: list[Any], other: Parameter, up: list[Any]) -> list[Setting]:
    """A row for each value of the other, in it each value of the first."""
    return [setting for row in vary_input(centre, other.name, up) for setting in vary_input(row, one.name, across)]


def _compute_interaction(standing: Snapshot, response: Objective, one: Parameter, other: Parameter) -> Pair:
    """F_ij - F_i. - F_.j + F_.. over a coarse grid, on the scale of the model."""
    across, up = list_axis_values(one, _COARSE), list_axis_values(other, _COARSE)
    mean = np.array(standing.predict_interval(response, _make_grid(standing.centre, one, across, other, up)).mean)
    z = (np.log(mean) if response.log else mean).reshape(len(up), len(across))
    together = z - z.mean(0) - z.mean(1, keepdims=True) + z.mean()
    strength, total = float(together.std()), float(z.std())
    negligible = strength <= 1e-9 * max(total, float(np.abs(z).max()))
    # A map with numbers across and categories up is the easier one to read.
    first, second = (
        (other, one) if isinstance(one, Categorical) and not isinstance(other, Categorical) else (one, other)
    )
    return Pair(first, second, 0.0 if negligible else strength, 0.0 if negligible else (strength / total) ** 2)


def _select_active_inputs(standing: Snapshot, response: Objective) -> list[Parameter]:
    """The inputs along which most changes, in their order."""
    inputs = standing.varying
    if len(inputs) <= _COMPARED:
        return inputs
    moved = []
    for one in inputs:
        settings = vary_input(standing.centre, one.name, list_axis_values(one, _COARSE))
        moved.append(float(np.std(standing.predict_interval(response, settings).mean)))
    most = sorted(np.argsort(moved)[-_COMPARED:].tolist())
    return [inputs[number] for number in most]
