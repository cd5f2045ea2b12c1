"""A column of which some rows are in other units than the rest."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
from jaxtyping import Bool, Float64, Int64
from numpy import ndarray

from tunedprior.checks import format_list
from tunedprior.problem.parameters import Numeric

#: How a number in other units becomes one in the right units: (x - offset)·factor, and words for it. Not °F, which
#: would explain too much: the ranges of °F and °C overlap.
CONVERSIONS = (
    *((0.0, 1 / factor, f"{factor:,} times too large") for factor in (1_000_000, 1000, 100, 10)),
    *((0.0, float(factor), f"{factor:,} times too small") for factor in (1_000_000, 1000, 100, 10)),
    (273.15, 1.0, "K instead of °C"),
    (-273.15, 1.0, "°C instead of K"),
    (0.0, 1 / 60, "60 times too large (seconds and minutes, or minutes and hours)"),
    (0.0, 60.0, "60 times too small (minutes and seconds, or hours and minutes)"),
    (0.0, 1 / 3600, "3,600 times too large (seconds and hours)"),
    (0.0, 3600.0, "3,600 times too small (hours and seconds)"),
)
# Rows that there must be of each kind; a single one is an outlier.
_LEAST_ROWS = 3
_LEAST_PART = 0.02
# How far beyond the space a value is in other units: a part of the width, or a ratio.
_BEYOND, _RATIO = 0.25, 3.0
# How far the distributions of the two kinds may differ, when units are put right: Kolmogorov and Smirnov's distance.
_ALIKE = 0.45
_ALIKE_IF_DOUBTFUL = 0.2  # for small factors, and where the space has a place for both parts
_CRITICAL = 1.36  # times √(1/n + 1/m): what chance does in one case of twenty
_NEVER_ALIKE = 0.6
_WIDER = 1.5  # times any other gap is what lies between two units
_POWERS = 100.0  # the largest over the least value of a column that is spread over powers of ten
_MOST_GAPS = 12
# Parts of the rows in other units, and of all rows when they are converted, that fit into the space.
_MOST_FITTING, _ALL_FITTING = 0.1, 0.95
# Values that are too small may lie in the space all the same. Then the factor must be large, and levels several.
_CLEAR, _LEAST_DISTINCT = 59.0, 4


@dataclass(frozen=True, eq=False)
class MixedUnits:
    """Which values are in other units, and in words in which.

    Attributes:
        rows: Where the values are in other units.
        words: Such as "1,000 times too large".
        offset: The right value is (x - offset)·factor.
        factor: See there.
    """

    rows: Bool[ndarray, " n"]
    words: str
    offset: float
    factor: float

    def convert_units(self, values: Float64[ndarray, " n"]) -> Float64[ndarray, " n"]:
        """The values in the right units."""
        return np.where(self.rows, (values - self.offset) * self.factor, values)


def find_mixed_units(values: Float64[ndarray, " n"], parameter: Numeric | None = None) -> MixedUnits | None:
    """The rows of a column that would be like all others if they were in other units; None if there are none.

    Sorted, the values fall into two parts at a gap. The part that the space has no place for is in other units if some
    conversion gives it the other part's distribution.

    Args:
        values: The column, without NaN.
        parameter: What the space says of it; None if it says nothing, as of a response, or if there is no space yet.
            Then the smaller part is the one in other units.
    """
    nonzero = values != 0  # 0 is 0 in all units that differ by a factor
    sign = -1.0 if (values[nonzero] < 0).all() else 1.0
    parameter = parameter if sign > 0 else _negate_parameter(parameter)
    best: tuple[float, MixedUnits] | None = None
    for offset, factor, words in CONVERSIONS:
        if (offset and sign < 0) or (parameter is None and not offset and 1 / _CLEAR < factor < _CLEAR):
            continue  # no temperature; a tenth is what they may well be
        counted = np.arange(len(values)) if offset else np.flatnonzero(nonzero)
        for found in _list_splits(counted, sign * values, parameter):
            distance = _compare_converted(found, sign * values, offset, factor, parameter)
            if distance is None or (best is not None and distance >= best[0]):
                continue
            rows = np.zeros(len(values), dtype=bool)
            rows[found.odd] = True
            best = distance, MixedUnits(rows, words, offset, factor)
    return None if best is None else best[1]


def describe_mixed_units(name: str, values: Float64[ndarray, " n"], found: MixedUnits, where: str) -> str:
    """Words for values in other units, with the place of each; `values` may have NaN, and `found.rows` has all rows.

    >>> mixed = MixedUnits(np.array([False, False, True]), "K instead of °C", 273.15, 1.0)
    >>> describe_mixed_units("heat", np.array([20.0, 90.0, 300.0]), mixed, "line 4")
    "'heat' is in other units in 1 of 3 rows (line 4): 300 to 300, K instead of °C; the others go from 20 to 90"
    """
    odd, rest = values[found.rows], values[np.isfinite(values) & ~found.rows]
    return (
        f"{name!r} is in other units in {int(found.rows.sum())} of {len(values)} rows ({where}): {odd.min():g} to "
        f"{odd.max():g}, {found.words}; the others go from {rest.min():g} to {rest.max():g}"
    )


def describe_isolated_values(
    name: str, values: Float64[ndarray, " n"], rows: Bool[ndarray, " n"], where: Sequence[str]
) -> str:
    """A sentence on values that are far from all others, with what may have happened to them.

    >>> describe_isolated_values("heat", np.array([20.0, 90.0, 7136.0]), np.array([False, False, True]), ["line 4"])
    "'heat' is 7136 in line 4, far from all others (20 to 90), perhaps 100 times too large."
    """
    odd, usual = values[rows], values[np.isfinite(values) & ~rows]
    low, high = float(usual.min()), float(usual.max())
    fitting = [
        (abs(log(factor)), f", perhaps {words}")
        for offset, factor, words in CONVERSIONS
        if (((odd - offset) * factor >= low) & ((odd - offset) * factor <= high)).all()
    ]
    explained = min(fitting)[1] if fitting else ""
    shown = format_list(f"{value:g}" for value in odd)
    return f"{name!r} is {shown} in {format_list(where)}, far from all others ({low:g} to {high:g}){explained}."


@dataclass(frozen=True, eq=False)
class _ColumnSplit:
    """Two parts of a column, and whether the space has a place for both."""

    odd: Int64[ndarray, " k"]
    usual: Int64[ndarray, " m"]
    inside: bool


def _list_splits(
    rows: Int64[ndarray, " r"], values: Float64[ndarray, " a"], parameter: Numeric | None
) -> list[_ColumnSplit]:
    """The ways to cut a column in two where one part may be in other units."""
    order = rows[np.argsort(values[rows], kind="stable")]
    ordered = values[order]
    found = []
    for cut in _find_gaps(ordered):
        lower, upper = order[:cut], order[cut:]
        if min(len(lower), len(upper)) < max(_LEAST_ROWS, _LEAST_PART * len(rows)):
            continue
        if parameter is None:
            odd, usual = (lower, upper) if len(lower) < len(upper) else (upper, lower)
            if _is_gap_widest(ordered, cut, odd is lower):
                found.append(_ColumnSplit(odd, usual, inside=False))
            continue
        fits = _compute_fitting_share(values[lower], parameter), _compute_fitting_share(values[upper], parameter)
        odd, usual = (lower, upper) if fits[1] >= fits[0] else (upper, lower)
        if min(fits) <= _MOST_FITTING and _is_gap_widest(ordered, cut, odd is lower):
            found.append(_ColumnSplit(odd, usual, inside=False))
        elif odd is lower and _is_the_only_gap(ordered, cut):
            found.append(_ColumnSplit(odd, usual, inside=True))
    return found


def _compare_converted(
    found: _ColumnSplit, values: Float64[ndarray, " n"], offset: float, factor: float, parameter: Numeric | None
) -> float | None:
    """How alike the two parts are when one is converted (0: the same); None if they are not, or the space says no."""
    mended, usual = (values[found.odd] - offset) * factor, values[found.usual]
    if found.inside and not (factor >= _CLEAR and min(map(_count_distinct, (mended, usual))) >= _LEAST_DISTINCT):
        return None
    if parameter is not None and _compute_fitting_share(np.concatenate([mended, usual]), parameter) < _ALL_FITTING:
        return None
    if parameter is None and offset and not _is_within_reach(usual, mended):
        return None
    distance = _compute_distance(mended, usual)
    chance = _CRITICAL * np.sqrt(1 / len(mended) + 1 / len(usual))
    doubtful = found.inside or (factor != 1.0 and 1 / _CLEAR < factor < _CLEAR)
    bound = _ALIKE_IF_DOUBTFUL if doubtful else min(max(_ALIKE, chance), _NEVER_ALIKE)
    return None if distance > bound else distance


def _is_gap_widest(ordered: Float64[ndarray, " n"], cut: int, odd_is_lower: bool) -> bool:
    """Whether the gap at the cut is wider than all in the usual part, as a difference or as a ratio.

    Of values that span powers of ten, as a ratio: from 1,000 to 10,000 it is as far as from 10 to 100. And one value
    beside several is one more level of the column, not another unit.
    """
    usual, odd = (ordered[cut:], ordered[:cut]) if odd_is_lower else (ordered[:cut], ordered[cut:])
    if _count_distinct(odd) == 1 and _count_distinct(usual) > 2:
        return False
    positive = ordered[cut - 1] > 0 and usual[0] > 0
    spans = positive and usual[-1] > _POWERS * usual[0]
    if not spans and ordered[cut] - ordered[cut - 1] > _WIDER * np.diff(usual).max(initial=0.0):
        return True
    if not positive:
        return False
    return bool(np.log(ordered[cut] / ordered[cut - 1]) > _WIDER * np.diff(np.log(usual)).max(initial=0.0))


def _is_the_only_gap(ordered: Float64[ndarray, " n"], cut: int) -> bool:
    """Whether the values above and below are further apart than any others, as ratios."""
    if ordered[0] <= 0:
        return False
    ratios = np.diff(np.log(ordered))
    return bool(
        ratios[cut - 1] > log(_RATIO) and ratios[cut - 1] > _WIDER * np.delete(ratios, cut - 1).max(initial=0.0)
    )


def _negate_parameter(parameter: Numeric | None) -> Numeric | None:
    return None if parameter is None else replace(parameter, low=-parameter.high, high=-parameter.low, log=False)


def _count_distinct(values: Float64[ndarray, " n"]) -> int:
    return len(np.unique(values))


def _find_gaps(ordered: Float64[ndarray, " n"]) -> list[int]:
    """Where the sorted values may be cut in two: at the widest gaps, as differences and as ratios."""
    differences = np.diff(ordered)
    cuts = list(np.argsort(-differences, kind="stable")[:_MOST_GAPS])
    positive = ordered > 0
    if positive.sum() > 1:
        ratios = np.where(positive[:-1], np.diff(np.log(np.where(positive, ordered, 1.0))), -np.inf)
        cuts += list(np.argsort(-ratios, kind="stable")[:_MOST_GAPS])
    return sorted({int(cut) + 1 for cut in cuts if differences[cut] > 0})


def _compute_fitting_share(values: Float64[ndarray, " n"], parameter: Numeric) -> float:
    """The part of the values that the space has a place for, or nearly."""
    low, high = parameter.low, parameter.high
    if parameter.log:
        return float(((values >= low / _RATIO) & (values <= high * _RATIO)).mean())
    beyond = _BEYOND * (high - low)
    inside = (values >= low - beyond) & (values <= high + beyond)
    if low > 0 and high > _RATIO * low:  # far below the least on a logarithmic scale
        inside &= values >= low / _RATIO
    return float(inside.mean())


def _is_within_reach(usual: Float64[ndarray, " n"], mended: Float64[ndarray, " m"]) -> bool:
    """Whether the usual values have a place for nearly all of the converted ones."""
    beyond = _BEYOND * np.ptp(usual)
    inside = (mended >= usual.min() - beyond) & (mended <= usual.max() + beyond)
    return bool(inside.mean() >= _ALL_FITTING)


def _compute_distance(one: Float64[ndarray, " n"], other: Float64[ndarray, " m"]) -> float:
    """Kolmogorov and Smirnov's: how far apart two distributions are, from 0 to 1; rounding does not count."""
    one, other = (np.round(values, 12 - _count_digits(values)) for values in (one, other))
    every = np.concatenate([one, other])
    below = [
        np.searchsorted(np.sort(values), every + 1e-9 * np.abs(every) + 1e-300, side="right") for values in (one, other)
    ]
    return float(np.abs(below[0] / len(one) - below[1] / len(other)).max())


def _count_digits(values: Float64[ndarray, " n"]) -> int:
    size = float(np.abs(values).max(initial=0.0))
    return int(np.floor(np.log10(size))) if size > 0 else 0
