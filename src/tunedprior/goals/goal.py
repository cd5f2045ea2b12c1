"""What one response is to be: maximised, minimised or brought to a target; its requirements and its limits."""

import re
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Real
from typing import Any

from tunedprior.checks import format_value
from tunedprior.errors import InputError

MAXIMIZE, MINIMIZE = DIRECTIONS = ("maximize", "minimize")
#: The requirement that a run passes.
PASS = "pass"
_BOUND = re.compile(r"\s*(>=|<=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")


@dataclass(frozen=True)
class Target:
    """u(y) = -max(low - y, y - high, 0): the response is to be `low`, or anything from `low` to `high`.

    >>> Target(500.0).compute_utility(480.0), Target(480.0, 520.0).compute_utility(490.0)
    (-20.0, -0.0)
    """

    low: float
    high: float | None = None

    def __post_init__(self) -> None:
        if not all(map(_is_finite, (self.low, self.upper))) or self.low > self.upper:
            raise InputError(
                "Target takes a number, or the least and the largest of a range, such as Target(500.0) or "
                f"Target(480.0, 520.0); got {format_value(self.low)}, {format_value(self.high)}."
            )

    @property
    def upper(self) -> float:
        """The upper end of the target range; `low` for a single value."""
        return self.low if self.high is None else self.high

    def compute_utility(self, y: float) -> float:
        """Minus the distance of y to the target range."""
        return -max(self.low - y, y - self.upper, 0.0)

    def __str__(self) -> str:
        return f"{self.low:g}" if self.low == self.upper else f"{self.low:g} to {self.upper:g}"


#: What may be wanted of a response.
Goal = str | Target


def check_goal(goal: Any, what: str = "direction") -> None:
    """Raise an `InputError` unless it is "maximize", "minimize" or a `Target`."""
    if not isinstance(goal, Target) and goal not in DIRECTIONS:
        raise InputError(
            f"{what} must be 'maximize' or 'minimize'; got {format_value(goal)}. For a value to come close to, write "
            "Target(500.0)."
        )


def format_goal(goal: Goal, response: str) -> str:
    """Format a goal in words, such as "maximize yield" or "bring length to 500"."""
    return f"bring {response} to {goal}" if isinstance(goal, Target) else f"{goal} {response}"


@dataclass(frozen=True)
class Requirement:
    """low ≤ response ≤ high; for pass or fail, that the run passes.

    Attributes:
        response: The name of the response.
        low: The least allowed value.
        high: The largest allowed value.
        labels: Whether the response is pass or fail.
    """

    response: str
    low: float = -inf
    high: float = inf
    labels: bool = False

    @classmethod
    def parse(cls, response: Any, given: Any) -> "Requirement":
        """Parse `">= 0.95"`, `"<= 3"`, `(low, high)` or `"pass"`."""
        if not isinstance(response, str) or not response.strip():
            raise InputError(f"requirements are by the name of the response; got {format_value(response)}.")
        if isinstance(given, Requirement):
            return given
        if isinstance(given, str) and given.strip().casefold() == PASS:
            return cls(response, 0.0, labels=True)
        found = _BOUND.fullmatch(given) if isinstance(given, str) else None
        if found is not None and isfinite(float(found[2])):
            bound = float(found[2])
            return cls(response, bound) if found[1].startswith(">") else cls(response, high=bound)
        pair = isinstance(given, tuple | list) and len(given) == 2 and all(map(_is_finite, given))
        if pair and given[0] < given[1]:
            return cls(response, float(given[0]), float(given[1]))
        raise InputError(
            f"What is required of {response!r} must be like '>= 0.95', '<= 3', (0.2, 0.8) or 'pass'; got "
            f"{format_value(given)}."
        )

    def is_met(self, value: float) -> bool:
        """Whether a response meets it; NaN (not measured) does not."""
        return self.low <= value <= self.high

    def __str__(self) -> str:
        if self.labels:
            return f"{self.response} passes"
        low = "" if self.low == -inf else f"{self.low:g} <= "
        high = "" if self.high == inf else f" <= {self.high:g}"
        return f"{self.response} >= {self.low:g}" if not high else f"{low}{self.response}{high}"


#: The limits of a response that may be any number.
NO_LIMITS = (-inf, inf)


def parse_limits(response: str, given: Any) -> tuple[float, float]:
    """Parse the least and the largest possible response from `(low, high)`, `">= 0"` or `"<= 100"`.

    >>> parse_limits("yield", (0, 100)), parse_limits("time", ">= 0")
    ((0.0, 100.0), (0.0, inf))
    """
    try:
        found = Requirement.parse(response, given)
    except InputError:
        found = Requirement(response, labels=True)
    if found.labels or isinstance(given, Requirement):
        raise InputError(
            f"The limits of {response!r}, which it cannot be beyond, must be like (0, 100), '>= 0' or '<= 100'; got "
            f"{format_value(given)}."
        )
    return found.low, found.high


def _is_finite(number: Any) -> bool:
    return isinstance(number, Real) and not isinstance(number, bool) and isfinite(number)
