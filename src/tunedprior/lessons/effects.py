"""What an input does, in words: rises, falls, rises then falls, which category is highest."""

from dataclasses import dataclass
from typing import Any

import torch

from tunedprior.lessons.sensitivity import Sensitivity
from tunedprior.lessons.shown import format_value

#: The share of the variance below which an input has little effect.
LITTLE = 0.02
# What goes the other way counts from this share of the curve's range on.
_WIGGLE = 0.1


@dataclass(frozen=True)
class Effect:
    """What one input does to the response, all others averaged over.

    Attributes:
        way: Such as "rises", "falls then rises", "little effect", "depends on others".
        low: The least that is expected along it.
        high: The most.
        lowest: Where the least is expected.
        highest: Where the most is.
    """

    way: str
    low: float
    high: float
    lowest: Any
    highest: Any

    def describe(self, name: str, response: str) -> str:
        """A clause about the response along this input."""
        at, within = (
            f"from {format_value(self.low)} to {format_value(self.high)}",
            f"{format_value(self.low)} and {format_value(self.high)}",
        )
        if self.way == "rises":
            return f"{response} rises with {name} ({at})"
        if self.way == "falls":
            return f"{response} falls with {name} (from {format_value(self.high)} to {format_value(self.low)})"
        if self.way == "rises then falls":
            return (
                f"{response} rises with {name} up to about {format_value(self.highest)}, then falls (between {within})"
            )
        if self.way == "falls then rises":
            return (
                f"{response} falls with {name} down to about {format_value(self.lowest)}, then rises (between {within})"
            )
        if self.way == "differs":
            return (
                f"{response} is highest with {name} = {format_value(self.highest)} ({format_value(self.high)}) "
                "and lowest with "
                f"{format_value(self.lowest)} ({format_value(self.low)})"
            )
        if self.way == "depends on others":
            return f"which way {response} goes with {name} depends on other inputs"
        if self.way == "little effect":
            return f"{name} has little effect"
        return f"{response} goes up and down with {name} (between {within})"


def classify_effect(found: Sensitivity, number: int) -> Effect:
    """The effect of one side of the domain."""
    side, curve = found.domain.sides[number], found.curves[number]
    lowest, highest = int(curve.argmin()), int(curve.argmax())
    low, high = float(curve[lowest]), float(curve[highest])
    ends = low, high, side.values[lowest], side.values[highest]
    first, total = float(found.first[number]), float(found.total[number])
    if max(first, total if total == total else 0.0) < LITTLE:
        return Effect("little effect", *ends)
    if first < LITTLE:
        return Effect("depends on others", *ends)
    if side.is_category:
        return Effect("differs", *ends)
    order = torch.argsort(side.codes, stable=True)
    return Effect(_classify_curve(curve[order].tolist(), _WIGGLE * (high - low)), *ends)


def _classify_curve(curve: list[float], slight: float) -> str:
    """The turns of a curve, those of less than `slight` left out."""
    turns: list[int] = []
    low = high = curve[0]
    for value in curve[1:]:
        now = turns[-1] if turns else 0
        high = max(high, value) if now >= 0 else high
        low = min(low, value) if now <= 0 else low
        if now != 1 and value - low > slight:
            turns.append(1)
            high = value
        elif now != -1 and high - value > slight:
            turns.append(-1)
            low = value
    words = {1: "rises", -1: "falls"}
    if len(turns) in (1, 2):
        return " then ".join(words[turn] for turn in turns)
    return "goes up and down"
