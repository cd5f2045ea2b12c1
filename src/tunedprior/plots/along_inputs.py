"""Values along an input, where they stand on an axis, and the settings that differ in them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tunedprior.plots.pictures import LONGEST, Numbers, Scale, shorten
from tunedprior.problem.parameters import Categorical, Numeric, Parameter, find_choice_index
from tunedprior.problem.space import Setting, Space
from tunedprior.problem.trials import Trial, format_setting

#: Up to so many values, an input is drawn as points, each with an interval.
FEW = 12
_ROUNDING = 1e-9  # of an input's range
_LONGEST_NOTE = 240  # letters of what is said of a point
_NOTED = 300  # points that say more than their trial's number


def list_axis_values(parameter: Parameter, most: int) -> list[Any]:
    """Values from one end to the other: all there are, or of more than `most` numbers so many of them."""
    if isinstance(parameter, Categorical):
        return parameter.list_values()
    if parameter.count is not None and parameter.count <= most:
        return list(parameter.list_values())
    ends = parameter.scale(parameter.low), parameter.scale(parameter.high)
    along = [parameter.find_nearest_value(parameter.unscale(float(one))) for one in np.linspace(*ends, most)]
    return list(dict.fromkeys(along))


def has_few_values(parameter: Parameter) -> bool:
    """Whether an input has so few values that each is drawn by itself."""
    return parameter.count is not None and (isinstance(parameter, Categorical) or parameter.count <= FEW)


def locate_on_axis(parameter: Parameter, values: Sequence[Any]) -> Numbers:
    """Where values stand on the input's axis; NaN for what is none of its categories."""
    if not isinstance(parameter, Categorical):
        return tuple(float(one) for one in values)
    found = (find_choice_index(one, parameter.choices) for one in values)
    return tuple(float("nan") if one is None else float(one) for one in found)


def make_axis_scale(parameter: Parameter) -> Scale:
    """The input's axis: under its name, logarithmic if the input is."""
    if isinstance(parameter, Categorical):
        count = parameter.count
        return Scale(parameter.name, choices=tuple(map(str, parameter.choices)), ends=(-0.5, count - 0.5))
    low, high = parameter.scale(parameter.low), parameter.scale(parameter.high)
    room = 0.03 * (high - low)
    return Scale(parameter.name, parameter.log, ends=(parameter.unscale(low - room), parameter.unscale(high + room)))


def round_near_zeros(setting: Setting, space: Space) -> Setting:
    """The setting as people write it: what differs from 0 by rounding alone is 0."""
    found = dict(setting)
    for one in space.parameters:
        value = setting[one.name]
        if isinstance(one, Numeric) and abs(value) < _ROUNDING * (one.high - one.low):
            found[one.name] = 0.0
    return found


def format_rounded_setting(setting: Setting, space: Space) -> str:
    """The setting in words."""
    return format_setting(round_near_zeros(setting, space))


def abbreviate_setting(setting: Setting, space: Space) -> str:
    """The setting in words, long categories as axes show them."""
    found = dict(round_near_zeros(setting, space))
    for one in space.parameters:
        scale = make_axis_scale(one)
        if scale.full_names:
            (place,) = locate_on_axis(one, [setting[one.name]])
            name = str(setting[one.name])
            found[one.name] = shorten(name, LONGEST) if place != place else scale.labels[int(place)]
    return format_setting(found)


def list_hover_notes(trials: Sequence[Trial], space: Space, most: int = _NOTED) -> tuple[str, ...]:
    """Trials in words, for points under the mouse: with settings the latest ones, and of earlier ones the number."""
    first = len(trials) - most
    return tuple(
        _format_hover_note(one, space) if place >= first else f"trial {one.id}" for place, one in enumerate(trials)
    )


def _format_hover_note(trial: Trial, space: Space) -> str:
    said = f" ({shorten(trial.note, _LONGEST_NOTE)})" if trial.note else ""
    return f"trial {trial.id}: {shorten(format_rounded_setting(trial.setting, space), _LONGEST_NOTE)}{said}"


def vary_input(setting: Setting, name: str, values: Sequence[Any]) -> list[Setting]:
    """The setting with one input at each of these values."""
    return [{**setting, name: value} for value in values]


def compute_axis_range(values: Sequence[float], log: bool) -> tuple[float, float] | None:
    """The part of an axis that holds all these values with a little room; None if there are none."""
    finite = np.array([one for one in values if np.isfinite(one) and (one > 0 or not log)], dtype=np.float64)
    if len(finite) == 0:
        return None
    low, high = (np.log(finite.min()), np.log(finite.max())) if log else (finite.min(), finite.max())
    room = 0.06 * (high - low) or (0.5 if log else 0.05 * abs(high) or 0.5)
    ends = (np.exp(low - room), np.exp(high + room)) if log else (low - room, high + room)
    return float(ends[0]), float(ends[1])
