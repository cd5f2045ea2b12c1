"""Which pairs of inputs act together, and what the model expects over the strongest of them."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tunedprior.errors import InputError
from tunedprior.plots.along_inputs import changed, in_brief, places, scale_of, values_along
from tunedprior.plots.pictures import BLACK, STAR, Dots, Panel, Picture, Shades
from tunedprior.plots.standing import Standing
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


def strongest_pairs(standing: Standing, response: Objective, most: int = _STRONGEST) -> list[Pair]:
    """Pairs of inputs by how strongly they act together on a response, the strongest first."""
    inputs = _most_moving(standing, response)
    found = [_compared(standing, response, *pair) for pair in combinations(inputs, 2)]
    return sorted(found, key=lambda pair: -pair.strength)[:most]


def interactions_picture(standing: Standing) -> Picture:
    """For each objective the strongest pairs of inputs, as maps of what the model expects."""
    if len(standing.varying) < 2:
        raise InputError("An interaction is one of two inputs, and only one can change here. Draw its effects instead.")
    standing.refuse_if_nothing_told("A picture of interactions")
    panels, said = [], []
    for response in standing.modelled:
        if response not in standing.aims.objectives:
            continue
        pairs = strongest_pairs(standing, response)
        maps = [_map(standing, response, pair) for pair in pairs]
        seen = np.concatenate([z[np.isfinite(z)] for _, _, z in maps])
        ends = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 1.0)
        for pair, (x, y, z) in zip(pairs, maps, strict=True):
            panels.append(_panel(standing, response, pair, Shades(response.target, x, y, _rows(z), ends)))
            said.append(_in_words(response, pair))
    if not panels:
        raise InputError("A picture of interactions needs a result of an objective; none was measured yet.")
    blank = " Blank settings are not allowed by the constraints." if standing.space.constraints else ""
    held = in_brief(standing.centre, standing.space)
    said.append(f"All other inputs are held at {standing.centre_is} ({held}; the star).{blank}")
    return Picture("The strongest interactions", tuple(panels), _STRONGEST, tuple(said))


def _in_words(response: Objective, pair: Pair) -> str:
    pairs = f"{pair.one.name} and {pair.other.name}"
    if pair.strength == 0:
        return f"{response.target}: {pairs} do not act together."
    share = f"{100 * pair.share:.0f} %" if pair.share >= 0.005 else "less than 1 %"
    return (
        f"{response.target}: of what changes with {pairs}, {share} is their acting together, and not the sum of what "
        "each does alone."
    )


def _panel(standing: Standing, response: Objective, pair: Pair, shades: Shades) -> Panel:
    trials = response.told(standing.history.told)
    at = [places(one, [trial.setting[one.name] for trial in trials]) for one in (pair.one, pair.other)]
    here = [places(one, [standing.centre[one.name]]) for one in (pair.one, pair.other)]
    notes = tuple(f"trial {one.id}: {response.target} {response.value_of(one):.6g}" for one in trials)
    return Panel(
        scale_of(pair.one),
        scale_of(pair.other),
        (
            shades,
            Dots("results", at[0], at[1], BLACK, hollow=True, small=True, notes=notes),
            Dots("held here", here[0], here[1], BLACK, STAR),
        ),
        response.target,
    )


def _map(standing: Standing, response: Objective, pair: Pair) -> tuple[Any, Any, Any]:
    """The places of columns and rows, and what is expected there; NaN where constraints forbid it."""
    across, up = (values_along(one, _FINE) for one in (pair.one, pair.other))
    settings = _grid(standing.centre, pair.one, across, pair.other, up)
    z = np.array(standing.expected(response, settings).mean)
    allowed = standing.allowed(settings)
    if allowed.mean() >= _LEAST_ALLOWED:
        z = np.where(allowed, z, np.nan)
    return places(pair.one, across), places(pair.other, up), z.reshape(len(up), len(across))


def _rows(z: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(cell) for cell in row) for row in z)


def _grid(centre: Setting, one: Parameter, across: list[Any], other: Parameter, up: list[Any]) -> list[Setting]:
    """A row for each value of the other, in it each value of the first."""
    return [setting for row in changed(centre, other.name, up) for setting in changed(row, one.name, across)]


def _compared(standing: Standing, response: Objective, one: Parameter, other: Parameter) -> Pair:
    """F_ij - F_i. - F_.j + F_.. over a coarse grid, on the scale of the model."""
    across, up = values_along(one, _COARSE), values_along(other, _COARSE)
    mean = np.array(standing.expected(response, _grid(standing.centre, one, across, other, up)).mean)
    z = (np.log(mean) if response.log else mean).reshape(len(up), len(across))
    together = z - z.mean(0) - z.mean(1, keepdims=True) + z.mean()
    strength, total = float(together.std()), float(z.std())
    negligible = strength <= 1e-9 * max(total, float(np.abs(z).max()))
    # A map with numbers across and categories up is the easier one to read.
    first, second = (
        (other, one) if isinstance(one, Categorical) and not isinstance(other, Categorical) else (one, other)
    )
    return Pair(first, second, 0.0 if negligible else strength, 0.0 if negligible else (strength / total) ** 2)


def _most_moving(standing: Standing, response: Objective) -> list[Parameter]:
    """The inputs along which most changes, in their order."""
    inputs = standing.varying
    if len(inputs) <= _COMPARED:
        return inputs
    moved = []
    for one in inputs:
        settings = changed(standing.centre, one.name, values_along(one, _COARSE))
        moved.append(float(np.std(standing.expected(response, settings).mean)))
    most = sorted(np.argsort(moved)[-_COMPARED:].tolist())
    return [inputs[number] for number in most]
