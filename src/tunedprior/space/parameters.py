"""The parameters of a search space: numbers on a range, on a grid or on levels, and categories."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import floor, isfinite, log, log10
from typing import Any

import numpy as np
import pandas as pd
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from tunedprior.checks import format_list, format_value, warn
from tunedprior.errors import InputError, SpaceWarning

#: How a parameter may be described.
Description = BaseDistribution | tuple[Any, ...] | Sequence[Any] | np.ndarray | pd.Series


#: Text that stands for an empty cell in tables, in small letters.
BLANKS = frozenset({"", "na", "n/a", "#n/a", "nan", "<na>", "none", "null"})

#: The word that makes a range logarithmic.
LOG = "log"
# Words of names of what is counted, so that it is hardly a continuum.
_WORD = re.compile(r"[^\W\d_]+")
_COUNTED = frozenset(
    _WORD.findall(
        "layer layers count counts number neurons units trees estimators epochs iterations depth neighbors neighbours "
        "workers threads heads channels filters cycles stages plates passes repeats replicates wells turns anzahl "
        "schichten zyklen stufen"
    )
)
# A grid of more values than this is a continuum that somebody wrote down in a roundabout way.
_MOST_STEPS = 1_000_000_000
# A number of a continuum is written with so many digits of its range: more are errors of arithmetic.
_WRITTEN_DIGITS = 12
_MOST_DIGITS = 15  # that a float holds


@dataclass(frozen=True)
class Numeric:
    """A number from `low` to `high`: continuous, on a grid of `step`, or one of the given `levels`.

    With `digits`, numbers anywhere on a logarithmic scale are suggested with so many significant digits; any may be
    told.
    """

    name: str
    low: float
    high: float
    log: bool = False
    step: float | None = None
    levels: tuple[float, ...] | None = None
    integer: bool = False
    digits: int | None = None

    @property
    def count(self) -> int | None:
        """The number of values; None for a continuous parameter."""
        if self.levels is not None:
            return len(self.levels)
        if self.step is not None:
            return 1 + int((Decimal(str(self.high)) - Decimal(str(self.low))) // Decimal(str(self.step)))
        return 1 if self.low == self.high else None

    def list_values(self) -> list[float]:
        """List every allowed value in ascending order (not for a continuous parameter)."""
        if self.levels is not None:
            return list(self.levels)
        return [self._compute_grid_value(k) for k in range(self.count or 0)] if self.step is not None else [self.low]

    def get_last_grid_value(self) -> float:
        """Return the last value of a grid, which may be below `high`."""
        return self._compute_grid_value((self.count or 1) - 1)

    def find_nearest_value(self, value: float) -> float:
        """Return the allowed value closest to `value`."""
        if self.levels is not None:
            return min(self.levels, key=lambda level: abs(level - value))
        value = min(max(value, self.low), self.high)
        if self.step is None:
            return float(value)
        return self._compute_grid_value(min(round((value - self.low) / self.step), (self.count or 1) - 1))

    def round_for_people(self, value: float) -> float:
        """Round a value to `digits`, or drop the digits that are errors of floating-point arithmetic.

        >>> Numeric("dose", 100.0, 120.0).round_for_people(109.99999999999999)
        110.0
        >>> Numeric("dose", 0.01, 10.0, log=True, digits=3).round_for_people(0.0996713)
        0.0997
        """
        if self.count is not None or not self.low < value < self.high:
            return value
        if self.log:
            rounded = float(f"{value:.{self.digits or _WRITTEN_DIGITS}g}")
        else:
            rounded = round(value, _WRITTEN_DIGITS - 1 - floor(log10(self.high - self.low)))
        return min(max(rounded, self.low), self.high)

    def recognise(self, value: float) -> float:
        """Return the allowed value that equals `value` up to rounding; otherwise `value`."""
        if self.count is None:
            return float(value)
        nearest = self.find_nearest_value(value)
        return nearest if abs(nearest - value) <= 1e-9 * max(1.0, abs(value)) else float(value)

    def allows(self, value: float) -> bool:
        """Return whether the value is allowed, up to rounding."""
        on_grid = self.count is None or self.recognise(value) == self.find_nearest_value(value)
        return self.low <= self.recognise(value) <= self.high and on_grid

    def scale(self, value: float) -> float:
        """Return the value, or its logarithm for a logarithmic parameter."""
        return log(value) if self.log else value

    def unscale(self, value: float) -> float:
        """The inverse of `scale`."""
        return float(np.exp(value)) if self.log else value

    def compute_quantile(self, u: float) -> float:
        """Return the value at a share u ∈ [0, 1) of the scaled range."""
        if self.levels is not None or (self.step is not None and not self.log):
            count = self.count or 1
            index = min(int(u * count), count - 1)
            return self.levels[index] if self.levels is not None else self._compute_grid_value(index)
        value = self.find_nearest_value(
            self.unscale(self.scale(self.low) + u * (self.scale(self.high) - self.scale(self.low)))
        )
        return self.round_for_people(value)

    def format_domain(self) -> str:
        """Describe the allowed values, such as "20 to 90 step 5"."""
        if self.levels is not None:
            return format_list(f"{level:g}" for level in self.levels)
        ends = f"{self.low:.10g} to {self.high:.10g}"
        if self.step is not None:
            return f"{ends} step {self.step:.10g}" + (" log" if self.log else "")
        if self.digits is not None:
            return f"{ends} log digits {self.digits}"
        return f"{ends}, any number" + (", log" if self.log else "")

    def _compute_grid_value(self, k: int) -> float:
        # In decimals, so that 0.1 + 2·0.1 is 0.3, the number a person would write.
        value = Decimal(str(self.low)) + k * Decimal(str(self.step))
        return int(value) if self.integer else float(value)


@dataclass(frozen=True)
class Categorical:
    """One of several choices without an order."""

    name: str
    choices: tuple[Any, ...]

    @property
    def count(self) -> int:
        """The number of choices."""
        return len(self.choices)

    def list_values(self) -> list[Any]:
        """List every choice."""
        return list(self.choices)

    def recognise(self, value: Any) -> Any:
        """Return the choice that `value` means if a table changed its type; otherwise `value`."""
        position = find_choice_index(value, self.choices)
        return value if position is None else self.choices[position]

    def allows(self, value: Any) -> bool:
        """Return whether the value is one of the choices."""
        return find_choice_index(value, self.choices) is not None

    def format_domain(self) -> str:
        """List the first choices in words."""
        return format_list(map(str, self.choices))

    def compute_quantile(self, u: float) -> Any:
        """Return the choice at a share u ∈ [0, 1) of the list."""
        return self.choices[min(int(u * self.count), self.count - 1)]


Parameter = Numeric | Categorical


def find_choice_index(value: Any, choices: Sequence[Any]) -> int | None:
    """Return the position of a value among the choices; None if it is none of them.

    Tables change types (2 becomes 2.0 or "2", None and "NA" become NaN), and people change capitals. So a value is
    compared by equality, then text as text, then as a number, then as text but for case and spaces. A value that is
    still several choices at once, such as a 1 that was "1" or "01", is an `InputError`.
    """
    if is_missing(value):
        missing = [k for k, choice in enumerate(choices) if is_missing(choice)]
        blank = missing[:1] or [k for k, choice in enumerate(choices) if _looks_missing(choice)]
        return blank[0] if len(blank) == 1 else None
    for alike in _WAYS:
        found = [k for k, choice in enumerate(choices) if not is_missing(choice) and alike(value, choice)]
        if found:
            return _select_unambiguous(value, choices, found)
    return find_choice_index(None, choices) if isinstance(value, str) and _looks_missing(value) else None


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or another sign of a missing value."""
    return value is None or bool(pd.api.types.is_scalar(value) and pd.isna(value))


def _looks_missing(choice: Any) -> bool:
    """Return whether programs that read tables take this text for an empty cell."""
    return isinstance(choice, str) and choice.strip().casefold() in BLANKS


def _select_unambiguous(value: Any, choices: Sequence[Any], found: list[int]) -> int | None:
    if len(found) > 1:
        raise InputError(
            f"{format_value(value)} may be any of the choices {format_list(repr(choices[k]) for k in found)}. "
            "Read the file as "
            "text, with pandas.read_csv(path, dtype=str, keep_default_na=False), or name choices that no program "
            "confuses."
        )
    return found[0] if found else None


def _is_equal(value: Any, choice: Any) -> bool:
    try:
        return bool(value == choice)
    except (TypeError, ValueError):  # arrays have no single answer
        return False


def _is_equal_text(value: Any, choice: Any) -> bool:
    return isinstance(value, str) and value == str(choice)


def _is_equal_number(value: Any, choice: Any) -> bool:
    try:
        return float(value) == float(choice)
    except (TypeError, ValueError, OverflowError):
        return False


def _is_equal_ignoring_spaces(value: Any, choice: Any) -> bool:
    return str(value).strip() == str(choice).strip()


def _is_equal_ignoring_case(value: Any, choice: Any) -> bool:
    return str(value).strip().casefold() == str(choice).strip().casefold()


_WAYS = (_is_equal, _is_equal_text, _is_equal_number, _is_equal_ignoring_spaces, _is_equal_ignoring_case)


def parse_parameter(name: str, given: Description) -> Parameter:
    """Make a parameter from a tuple, a list or a distribution.

    Tuples are ranges: `(low, high)`, `(low, high, step)`, `(low, high, "log")` or `(low, high, "log", digits)`.
    """
    if isinstance(given, FloatDistribution | IntDistribution):
        step = given.step
        integer = isinstance(given, IntDistribution)
        return Numeric(name, given.low, given.high, given.log, step, integer=integer)
    if isinstance(given, CategoricalDistribution):
        return Categorical(name, tuple(given.choices))
    if isinstance(given, tuple):
        return _parse_range(name, tuple(map(_unwrap_scalar, given)))
    if isinstance(given, Sequence | np.ndarray | pd.Series) and not isinstance(given, str | bytes | bytearray):
        return _parse_choices(name, [_unwrap_scalar(value) for value in given])
    raise InputError(
        f"Parameter {name!r} must be an Optuna distribution, (low, high), or a list of values; "
        f"got {type(given).__name__} {format_value(given)}."
    )


def _unwrap_scalar(value: Any) -> Any:
    """A scalar of NumPy or of another package, such as a tensor without dimensions, as Python's own."""
    return value.item() if getattr(value, "ndim", None) == 0 and callable(getattr(value, "item", None)) else value


def is_number(value: object) -> bool:
    """Return whether a value is a number, and not a flag or a duration."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool | np.timedelta64)


def _is_finite(value: Any) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # a whole number with hundreds of digits
        return False


def _parse_range(name: str, given: tuple[Any, ...]) -> Numeric:
    edges, more = given[:2], given[2:]
    if (
        len(edges) != 2
        or len(more) > 1 + isinstance(given[-2], str)
        or not all(is_number(edge) and _is_finite(edge) for edge in edges)
    ):
        raise InputError(
            f"Parameter {name!r}: a tuple must be (low, high), two finite numbers; got {format_value(given)}. "
            "Write a list for discrete levels, (low, high, step) for a grid, or (low, high, 'log')."
        )
    low, high = map(float, edges)
    if low > high:
        raise InputError(f"Parameter {name!r}: low must not be above high; got {given!r}.")
    if not isfinite(2 * (high - low)):
        raise InputError(f"Parameter {name!r}: high - low must be a number too; {given!r} is too wide. Narrow it.")
    if not more:
        _warn_of_counts(name, edges)
        return Numeric(name, low, high)
    if isinstance(more[0], str):
        return _parse_log_range(name, given, low, high)
    return _parse_grid(name, given, low, high)


def _warn_of_counts(name: str, edges: tuple[Any, ...]) -> None:
    """A `SpaceWarning` if a range of any numbers has whole ends and the name of something that is counted."""
    words = _WORD.findall(name.casefold())
    if edges[0] == edges[1] or not all(isinstance(edge, int | np.integer) for edge in edges):
        return
    if words and (_COUNTED & set(words) or words[0] in ("n", "num", "nr", "anzahl")):
        low, high = map(int, edges)
        warn(
            f"Parameter {name!r} may be any number from {low} to {high}, such as {low + 0.47 * (high - low):.3g}. "
            f"Write ({low}, {high}, 1) for whole numbers, or ({low}.0, {high}.0) if any number will do.",
            SpaceWarning,
        )


def _parse_log_range(name: str, given: tuple[Any, ...], low: float, high: float) -> Numeric:
    if given[2] != LOG:
        raise InputError(
            f"Parameter {name!r}: after low and high there is a step, a number, or the word 'log'; got "
            f"{format_value(given)}."
        )
    if low <= 0:
        raise InputError(
            f"Parameter {name!r}: a logarithmic range must begin above 0; got {format_value(given)}. Raise low, "
            "or leave "
            "'log' out."
        )
    digits = given[3] if len(given) > 3 else None
    if digits is not None and not (isinstance(digits, int) and 1 <= digits <= _MOST_DIGITS and digits is not True):
        raise InputError(
            f"Parameter {name!r}: after 'log' there is the number of significant digits, 1 to {_MOST_DIGITS}; got "
            f"{format_value(given)}."
        )
    if digits is not None and low < high and float(f"{low:.{digits}g}") == float(f"{high:.{digits}g}"):
        raise InputError(
            f"Parameter {name!r}: with {digits} significant digits low and high are the same; got "
            f"{format_value(given)}. "
            "Give more digits, or leave them out."
        )
    return Numeric(name, low, high, log=True, digits=digits)


def _parse_grid(name: str, given: tuple[Any, ...], low: float, high: float) -> Numeric:
    step = given[2]
    if not is_number(step) or not _is_finite(step) or step <= 0:
        raise InputError(
            f"Parameter {name!r}: after low and high there is a step, a number above 0, or the word 'log'; got "
            f"{format_value(given)}."
        )
    if step > high - low and Decimal(str(step)) > Decimal(str(high)) - Decimal(str(low)):
        raise InputError(
            f"Parameter {name!r}: the step must not be larger than high - low; got {format_value(given)}. Write "
            f"[{low:g}] for "
            "a single value."
        )
    if (high - low) / float(step) > _MOST_STEPS:
        raise InputError(
            f"Parameter {name!r}: a grid has {_MOST_STEPS:,} steps at most; got {format_value(given)}. Leave "
            "the step out for "
            "all that lies between."
        )
    if all(isinstance(number, int | np.integer) for number in given):
        whole = Numeric(name, int(given[0]), int(given[1]), step=int(step), integer=True)
    else:
        whole = Numeric(name, low, high, step=float(step))
    return replace(whole, high=whole.get_last_grid_value())


def _parse_choices(name: str, given: Sequence[Any]) -> Parameter:
    if not given:
        raise InputError(f"Parameter {name!r}: a list of values must not be empty.")
    try:
        distinct = set(given)
    except TypeError as error:  # lists, dicts, arrays
        raise InputError(
            f"Parameter {name!r}: a list must hold single values, text or numbers; got "
            f"{format_list(map(format_value, given))}."
        ) from error
    if len(distinct) < len(given):
        raise InputError(f"Parameter {name!r}: values must differ; got {format_list(given)}.")
    if all(is_number(value) for value in given):
        if not all(map(_is_finite, given)):
            raise InputError(
                f"Parameter {name!r}: levels must be finite numbers; got {format_list(map(format_value, given))}."
            )
        if len(given) == 2 and all(isinstance(value, float) for value in given):
            low, high = sorted(given)
            warn(
                f"Parameter {name!r} may be {low!r} or {high!r} and nothing between, as a list says. Write "
                f"({low!r}, {high!r}) for all that lies between.",
                SpaceWarning,
            )
        levels = tuple(sorted(given))
        return Numeric(name, levels[0], levels[-1], levels=levels)
    return Categorical(name, tuple(given))
