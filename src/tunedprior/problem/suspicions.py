"""What is suspicious in a column of old data: values far off, other units, sentinels."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, log, log10

import numpy as np
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.problem.parameters import Numeric

# Numbers that people and instruments write for "not measured".
_BELOW = (-99.0, -999.0, -999.25, -9998.0, -9999.0, -99999.0, -1e20, -1e30, -1e38)
_SENTINELS = (*_BELOW, 999.0, 9999.0, 99999.0, 999999.0, 1e20, 1e30, 1e38)
_TUKEY = 1.5  # quartiles and so many interquartile ranges beyond them hold the bulk of a column
# Old values may lie beyond the search space by its width and theirs, but theirs counts up to so many times its own.
_WIDEST = 10.0
# An isolated response is farther from all others than so many times their range.
_ISOLATED = 3.0
_FEW = 0.02  # the part of the rows that may be isolated; more of them are a feature of the response
# A setting is a slip if it is farther from all others than so many times their range; where their quartiles are a power
# of ten apart, its logarithm too, by so many times theirs.
_SLIPPED, _POWERS, _SLIPPED_IN_POWERS = 2.0, 10.0, 0.5
_MANY_ROWS = 50  # in which a logarithm that is isolated is one too, as of 0.05 among 20 to 90
_LEAST_ROWS = 10  # where fewer are seen, one that is far off may be all that there was of a half
_FEW_LEVELS = 5  # of fewer levels, a slip must be one of them by a power of ten: 32 beside 512 and 1024 is none
_TENS = tuple(10.0**power for power in range(-6, 7) if power)
# Two ranges match if their ends differ by less than this part of the width, and differ if by more than that.
_MATCHING, _DIFFERENT = 0.2, 0.3
# What two ranges share when units are converted, if units are the reason why they did not meet, or were far apart.
_SHARED_IF_NEAR, _SHARED_IF_FAR = 0.7, 0.5
#: Units that people mix up, besides those that are powers of ten apart: x is (x - offset)·factor in the space's.
_MIXED_UP = (
    (273.15, 1.0, "K and °C"),
    (-273.15, 1.0, "°C and K"),
    (32.0, 1 / 1.8, "°F and °C"),
    (-17.78, 1.8, "°C and °F"),
    (0.0, 60.0, "minutes and seconds, or hours and minutes"),
    (0.0, 1 / 60, "seconds and minutes, or minutes and hours"),
    (0.0, 3600.0, "hours and seconds"),
    (0.0, 1 / 3600, "seconds and hours"),
)


@dataclass(frozen=True)
class AcceptedRange:
    """How far old values of a parameter may lie from the search space, on the parameter's scale.

    Attributes:
        low: The least value that is of use.
        high: The largest.
        meets: Whether the bulk of the old values comes anywhere near the search space.
        apart: Whether all of the bulk lies outside of it.
    """

    low: float
    high: float
    meets: bool
    apart: bool

    def contains(self, values: Float64[ndarray, " n"]) -> Bool[ndarray, " n"]:
        """Which values (on the parameter's scale) are of use."""
        return (self.low <= values) & (values <= self.high)


def compute_accepted_range(values: Float64[ndarray, " n"], parameter: Numeric) -> AcceptedRange:
    """The hull of the search space and of the bulk of the old values, and once its width to either side.

    A row far outside of that is a mistake, or of no use. If the bulk itself is far from the space, the hull is the
    space's own.
    """
    low, high = parameter.scale(parameter.low), parameter.scale(parameter.high)
    bulk = _select_bulk(values)
    least, most = float(bulk.min()), float(bulk.max())
    width = high - low
    gap = max(0.0, least - high, low - most)
    meets = gap <= width + min(most - least, _WIDEST * width) if width > 0 else gap <= most - least
    if meets:
        low, high = min(low, least), max(high, most)
    width = max(high - low, log(10) if parameter.log else 0.0)
    return AcceptedRange(low - width, high + width, meets, gap > 0)


@dataclass(frozen=True, order=True)
class UnitConversion:
    """Other units that a column may be in.

    Attributes:
        mismatch: How far the converted range is from the space's, as a part of its width.
        text: Words for them.
        offset: A value in the space's units is (x - offset)·factor.
        factor: See there.
    """

    mismatch: float
    text: str
    offset: float
    factor: float


def find_other_units(values: Float64[ndarray, " n"], parameter: Numeric) -> UnitConversion | None:
    """The units that would turn the old range into the search space's, if there are any; or None.

    Where the two ranges do not meet, units that would make them overlap will do.
    """
    low, high = parameter.low, parameter.high
    bulk = _select_bulk(np.log(values) if parameter.log else values)
    first, last = parameter.unscale(float(bulk.min())), parameter.unscale(float(bulk.max()))
    # A slip is no range; but a skewed column has its tail shut out of the bulk.
    usual = values[~find_isolated(values)]
    ends = {(first, last), (float(usual.min()), float(usual.max()))}
    if high <= low or values.max() <= values.min():
        return None
    if _compute_best_mismatch({*ends, (float(values.min()), float(values.max()))}, 0.0, 1.0, parameter) < _DIFFERENT:
        return None
    reach = compute_accepted_range(np.log(values) if parameter.log else values, parameter)
    enough = _SHARED_IF_NEAR if reach.meets else _SHARED_IF_FAR
    fitting, meeting = [], []
    for offset, factor, units in _MIXED_UP:
        said = f"they would fit if one were in {units.replace(' and ', ' and the other in ', 1)}"
        found = UnitConversion(_compute_best_mismatch(ends, offset, factor, parameter), said, offset, factor)
        fitting += [found] if found.mismatch < _MATCHING else []
        meeting += [found] if _compute_largest_overlap(ends, offset, factor, parameter) > enough else []
    sizes, wanted = {max(map(abs, pair)) for pair in ends} - {0.0}, max(abs(low), abs(high))
    if wanted > 0:
        for power in {round(log10(wanted / size)) for size in sizes}:
            said = f"they are about {10.0 ** abs(power):,.0f} times too {'large' if power < 0 else 'small'}"
            found = UnitConversion(_compute_best_mismatch(ends, 0.0, 10.0**power, parameter), said, 0.0, 10.0**power)
            fitting += [found] if power and found.mismatch < _DIFFERENT else []
            meeting += [found] if power and _compute_largest_overlap(ends, 0.0, 10.0**power, parameter) > enough else []
    if not fitting and reach.apart:
        fitting = meeting
    return min(fitting) if fitting else None


def compute_range_mismatch(values: Float64[ndarray, " n"], parameter: Numeric) -> float:
    """How far the range of old values is from the parameter's, as a part of its width: that of all, or of the bulk."""
    if parameter.high <= parameter.low or (parameter.log and values.min() <= 0):
        return inf
    bulk = _select_bulk(np.log(values) if parameter.log else values)
    first, last = parameter.unscale(float(bulk.min())), parameter.unscale(float(bulk.max()))
    return min(
        _compute_mismatch(first, last, parameter),
        _compute_mismatch(float(values.min()), float(values.max()), parameter),
    )


def find_sentinels(values: Float64[ndarray, " n"]) -> Bool[ndarray, " n"]:
    """Which values are a number that stands for "not measured" and lies apart from all others."""
    marked = np.isin(values, _SENTINELS)
    others = values[~marked & np.isfinite(values)]
    if not marked.any() or len(others) == 0:
        return np.zeros(len(values), dtype=bool)
    with np.errstate(over="ignore"):  # beyond an infinite range there is nothing
        reach = max(float(np.ptp(others)), 1.0)
        apart = (values < others.min() - reach) | (values > others.max() + reach)
    if others.min() >= 0:  # nothing else is below 0
        apart |= values < 0
    found: Bool[ndarray, " n"] = marked & apart
    return found


def find_slips(values: Float64[ndarray, " n"]) -> Bool[ndarray, " n"]:
    """Which values of a setting are most likely slips, such as of the decimal point, by the other values alone.

    A slip is isolated, and no value that was set more than once.

    >>> [bool(one) for one in find_slips(np.array([20.0, 35, 50, 30, 45, 90, 60, 7136, 25, 80]))]
    [False, False, False, False, False, False, False, True, False, False]
    """
    none = np.zeros(len(values), dtype=bool)
    if len(values) < _LEAST_ROWS:
        return none
    distinct, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    found = find_isolated(values, _SLIPPED, least=2)
    if (values > 0).all():
        first, third = np.quantile(values[~found], [0.25, 0.75])
        logarithms = np.log(values)
        if third > _POWERS * first:
            found &= find_isolated(logarithms, _SLIPPED_IN_POWERS, least=2)
        if len(values) >= _MANY_ROWS:
            found |= find_isolated(logarithms)
    found &= counts[which] == 1
    levels = np.setdiff1d(distinct, values[found])
    if len(levels) < _FEW_LEVELS:
        for row in np.flatnonzero(found):
            moved = values[row] * np.array(_TENS)
            found[row] = np.isclose(moved[:, None], levels, rtol=1e-9, atol=0.0).any()
    return found


def find_isolated(values: Float64[ndarray, " n"], times: float = _ISOLATED, least: int = 1) -> Bool[ndarray, " n"]:
    """Which of the values are farther from all others than so many times the others' range.

    They are one in fifty at most, or so many as `least`.
    """
    most = max(least, int(_FEW * len(values)))
    values = values / (np.abs(values).max(initial=0.0) or 1.0)  # first, so that no difference is infinite
    order = np.argsort(values, kind="stable")
    found = np.zeros(len(values), dtype=bool)
    for ends in (order, order[::-1]):  # a few at the lower end, or at the upper one
        for count in range(1, most + 1):
            far, rest = ends[:count], values[ends[count:]]
            reach = float(np.ptp(rest)) if len(rest) > 2 else 0.0
            gap = float(np.abs(rest[0] - values[far]).min()) if len(rest) else 0.0
            if reach > 0 and gap > times * reach:
                found[far] = True
    return found


def _select_bulk(values: Float64[ndarray, " n"]) -> Float64[ndarray, " k"]:
    """The values without those that Tukey's fences shut out: up to a quarter of them may be anything."""
    first, third = np.quantile(values, [0.25, 0.75])
    spread = _TUKEY * (third - first)
    bulk: Float64[ndarray, " k"] = values[(first - spread <= values) & (values <= third + spread)]
    return bulk


def _compute_best_mismatch(
    ends: Iterable[tuple[float, float]], offset: float, factor: float, parameter: Numeric
) -> float:
    return min(_compute_mismatch((one - offset) * factor, (other - offset) * factor, parameter) for one, other in ends)


def _compute_largest_overlap(
    ends: Iterable[tuple[float, float]], offset: float, factor: float, parameter: Numeric
) -> float:
    return max(_compute_overlap((one - offset) * factor, (other - offset) * factor, parameter) for one, other in ends)


def _compute_overlap(first: float, last: float, parameter: Numeric) -> float:
    """The length that a range shares with the parameter's, as a part of the longer of the two, on its scale."""
    if parameter.log and first <= 0:
        return 0.0
    low, high = parameter.scale(parameter.low), parameter.scale(parameter.high)
    first, last = parameter.scale(first), parameter.scale(last)
    return max(0.0, min(high, last) - max(low, first)) / max(high - low, last - first)


def _compute_mismatch(first: float, last: float, parameter: Numeric) -> float:
    """How far the ends of a range are from the parameter's, as a part of its width, on its scale."""
    if parameter.log and first <= 0:
        return inf
    low, high = parameter.scale(parameter.low), parameter.scale(parameter.high)
    return (abs(parameter.scale(first) - low) + abs(parameter.scale(last) - high)) / (high - low)
