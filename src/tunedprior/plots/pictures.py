"""Pictures as values: panels of curves, bands, dots, bars and maps, with axes. Renderers draw them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

import numpy as np

from tunedprior.history.trials import Trial, format_setting
from tunedprior.space.parameters import Categorical, Numeric, Parameter, find_choice_index
from tunedprior.space.search_space import Setting, Space

Numbers = tuple[float, ...]

# Colours that people with any kind of colour vision can tell apart (Okabe and Ito's), by what they stand for.
BLUE, SKY, ORANGE, RED, GREEN, PURPLE = "#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73", "#CC79A7"
BLACK, GREY = "#111111", "#767676"
#: For things of one kind, such as old data sets, one after the other.
SERIES = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY, BLACK)
CIRCLE, DIAMOND, CROSS, STAR, SQUARE = ("circle", "diamond", "cross", "star", "square")
#: Letters of a category that have room beside an axis, and of an axis' own name; categories that have room for letters.
LONGEST, LONGEST_TITLE, MANY = 14, 44, 20
_SHORT = 100.0  # times the lower end: up to here a logarithmic axis has more marks than powers of ten


def shorten(text: str, most: int) -> str:
    """Shorten a text to its beginning and its end, if it has more letters than this.

    >>> shorten("CC(C)C1=CC(=CC(=C1C2=CC=CC=C2P)C(C)C)C(C)C", 14)
    'CC(C)C1…)C(C)C'
    """
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


@dataclass(frozen=True)
class Scale:
    """An axis.

    Attributes:
        title: The quantity along it, as people call it.
        log: Whether it is logarithmic.
        choices: For an axis without numbers, the labels at 0, 1, 2, …
        ends: The part of it that is shown; all of it, when left out.
        whole: Whether only whole numbers are marked.
        room: The number of letters of a choice that fit.
    """

    title: str
    log: bool = False
    choices: tuple[str, ...] = ()
    ends: tuple[float, float] | None = None
    whole: bool = False
    room: int = LONGEST

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the choices: their names; a number and a part of a long name; numbers alone, if there are many.

        A number is the place among all choices, so it means the same in every picture.
        """
        if len(self.choices) > MANY:
            return tuple(str(number) for number in range(1, len(self.choices) + 1))
        return tuple(
            f"{number}: {short}" if (short := shorten(one, self.room)) != one else one
            for number, one in enumerate(self.choices, start=1)
        )

    @property
    def ticks(self) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The places and texts of the shown labels: all, or every second, third and so on of many."""
        every = range(0, len(self.choices), -(-len(self.choices) // MANY) or 1)
        return tuple(every), tuple(self.labels[place] for place in every)

    @property
    def full_names(self) -> dict[str, str]:
        """The full names of choices that are not shown in full, by what is shown."""
        return {label: name for label, name in zip(self.labels, self.choices, strict=True) if label != name}

    @property
    def marks(self) -> Numbers:
        """1, 2 and 5 times powers of ten, on a logarithmic axis too short for the powers alone; else none."""
        if not self.log or self.ends is None or self.ends[1] / self.ends[0] > _SHORT:
            return ()
        powers = range(floor(log10(self.ends[0])), floor(log10(self.ends[1])) + 1)
        every = (factor * 10.0**power for power in powers for factor in (1, 2, 5))
        return tuple(one for one in every if self.ends[0] <= one <= self.ends[1])


@dataclass(frozen=True)
class Curve:
    """A line through points; NaN interrupts it."""

    name: str
    x: Numbers
    y: Numbers
    colour: str = BLUE
    dashed: bool = False
    stepped: bool = False


@dataclass(frozen=True)
class Band:
    """The area between two lines."""

    name: str
    x: Numbers
    low: Numbers
    high: Numbers
    colour: str = SKY


@dataclass(frozen=True)
class Dots:
    """Single points, which may have intervals and texts."""

    name: str
    x: Numbers
    y: Numbers
    colour: str = BLUE
    shape: str = CIRCLE
    hollow: bool = False
    small: bool = False
    low: Numbers = ()
    high: Numbers = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bars:
    """Lengths from 0, one for each of the choices of the panel's vertical axis."""

    name: str
    lengths: Numbers
    colour: str = BLUE


@dataclass(frozen=True)
class Shades:
    """z over a grid of x and y, by row; NaN is left blank.

    Attributes:
        name: The quantity z.
        x: The columns' places.
        y: The rows' places.
        z: A row for each y.
        ends: The least and the largest z of all maps of the same quantity.
    """

    name: str
    x: Numbers
    y: Numbers
    z: tuple[Numbers, ...]
    ends: tuple[float, float]


@dataclass(frozen=True)
class Level:
    """A horizontal line: a target, or a limit."""

    name: str
    at: float
    colour: str = GREEN


@dataclass(frozen=True)
class Zone:
    """A horizontal stripe from one value to another: a wanted range."""

    name: str
    low: float
    high: float
    colour: str = GREEN


Layer = Curve | Band | Dots | Bars | Shades | Level | Zone


@dataclass(frozen=True)
class Panel:
    """One pair of axes and its layers, from back to front."""

    x: Scale
    y: Scale
    layers: tuple[Layer, ...]
    title: str = ""


@dataclass(frozen=True)
class Picture:
    """Panels in rows, with sentences about them.

    Attributes:
        title: The title.
        panels: From left to right, row by row.
        columns: The number of panels in a row.
        sentences: Explanations of the picture.
    """

    title: str
    panels: tuple[Panel, ...]
    columns: int = 3
    sentences: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows of panels."""
        return -(-len(self.panels) // self.across)

    @property
    def across(self) -> int:
        """The number of panels side by side."""
        return max(1, min(self.columns, len(self.panels)))

    def place_panels(self) -> Iterator[tuple[int, int, Panel]]:
        """The panels with their rows and columns, from 1."""
        for number, panel in enumerate(self.panels):
            yield 1 + number // self.across, 1 + number % self.across, panel

    def collect_full_names(self) -> dict[str, dict[str, str]]:
        """For each axis whose choices have long names, or are many: the full names by what is shown."""
        scales = [scale for panel in self.panels for scale in (panel.x, panel.y)]
        return {scale.title or "input": scale.full_names for scale in scales if scale.full_names}

    def list_captions(self) -> list[str]:
        """The sentences below the panels, then one for each axis of numbered names; of many names the first."""
        found = list(self.sentences)
        for title, names in self.collect_full_names().items():
            some = [f"{label.split(':')[0]} is {name}" for label, name in list(names.items())[:MANY]]
            more = f"; and {len(names) - MANY} more" if len(names) > MANY else ""
            found.append(f"{title}: {'; '.join(some)}{more}.")
        return found

    def list_legend_layers(self) -> list[Layer]:
        """One layer for each name, in order, for the legend."""
        found: dict[str, Layer] = {}
        for panel in self.panels:
            for layer in panel.layers:
                if layer.name and not isinstance(layer, Shades | Bars):
                    found.setdefault(layer.name, layer)
        return list(found.values())


#: Up to so many values, an input is drawn as points, each with an interval.
FEW = 12
_ROUNDING = 1e-9  # of an input's range
_LONGEST_NOTE = 240  # letters of what is said of a point
_NOTED = 300  # points that say more than their trial's number


def list_axis_values(parameter: Parameter, most: int) -> list[Any]:
    """The values of a parameter from one end to the other; `most` of them, if there are more."""
    if isinstance(parameter, Categorical) or (parameter.count is not None and parameter.count <= most):
        return list(parameter.list_values())
    ends = parameter.scale(parameter.low), parameter.scale(parameter.high)
    along = [parameter.find_nearest_value(parameter.unscale(float(one))) for one in np.linspace(*ends, most)]
    return list(dict.fromkeys(along))


def has_few_values(parameter: Parameter) -> bool:
    """Whether an input has so few values that each is drawn by itself."""
    return parameter.count is not None and (isinstance(parameter, Categorical) or parameter.count <= FEW)


def locate_on_axis(parameter: Parameter, values: Sequence[Any]) -> Numbers:
    """The places of values on the input's axis; NaN for an unknown category."""
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
    """Round values that differ from 0 by rounding alone to 0."""
    numeric = [one for one in space.parameters if isinstance(one, Numeric)]
    zeros = {one.name: 0.0 for one in numeric if abs(setting[one.name]) < _ROUNDING * (one.high - one.low)}
    return {**setting, **zeros}


def format_rounded_setting(setting: Setting, space: Space) -> str:
    """Format the setting in words, with such values as 0."""
    return format_setting(round_near_zeros(setting, space))


def abbreviate_setting(setting: Setting, space: Space) -> str:
    """Format the setting in words, with long categories as on axes."""
    found = dict(round_near_zeros(setting, space))
    for one in space.parameters:
        scale = make_axis_scale(one)
        if scale.full_names:
            (place,) = locate_on_axis(one, [setting[one.name]])
            name = str(setting[one.name])
            found[one.name] = shorten(name, LONGEST) if place != place else scale.labels[int(place)]
    return format_setting(found)


def list_hover_notes(trials: Sequence[Trial], space: Space, most: int = _NOTED) -> tuple[str, ...]:
    """Texts of trials for points under the mouse: with settings for the latest trials, numbers alone for others."""
    first = len(trials) - most
    return tuple(
        _format_hover_note(one, space) if place >= first else f"trial {one.label}" for place, one in enumerate(trials)
    )


def _format_hover_note(trial: Trial, space: Space) -> str:
    said = f" ({shorten(trial.note, _LONGEST_NOTE)})" if trial.note else ""
    return f"trial {trial.label}: {shorten(format_rounded_setting(trial.setting, space), _LONGEST_NOTE)}{said}"


def vary_input(setting: Setting, name: str, values: Sequence[Any]) -> list[Setting]:
    """Copies of the setting with one input at each of these values."""
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
