"""Find outliers, sentinels and rows in other units in one column of numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, log, log10

import numpy as np
from jaxtyping import Bool, Float64, Int64
from numpy import ndarray

from tunedprior.checks import format_list
from tunedprior.space.parameters import Numeric

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
#: What is said of them.
FRACTIONS = ", perhaps a fraction among percentages"
_MOST_PERCENT, _FEWEST_PERCENTAGES = 120.0, 5  # a yield may be measured as 105 %; of fewer, nothing can be told
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
    """The range of old values that can be learnt from, on the parameter's scale.

    Attributes:
        low: The least value that is of use.
        high: The largest.
        is_near: Whether the bulk of the old values comes anywhere near the search space.
        is_disjoint: Whether all of the bulk lies outside of it.
    """

    low: float
    high: float
    is_near: bool
    is_disjoint: bool

    def contains(self, values: Float64[ndarray, " n"]) -> Bool[ndarray, " n"]:
        """Return which values (on the parameter's scale) lie in the range."""
        return (self.low <= values) & (values <= self.high)


def compute_accepted_range(values: Float64[ndarray, " n"], parameter: Numeric) -> AcceptedRange:
    """Return the hull of the search space and the bulk of the old values, widened by its width.

    A row far outside of that is a mistake, or of no use. If the bulk itself is far from the space, the hull is the
    space's own.
    """
    low, high = parameter.scale(parameter.low), parameter.scale(parameter.high)
    bulk = _select_bulk(values)
    least, most = float(bulk.min()), float(bulk.max())
    width = high - low
    gap = max(0.0, least - high, low - most)
    is_near = gap <= width + min(most - least, _WIDEST * width) if width > 0 else gap <= most - least
    if is_near:
        low, high = min(low, least), max(high, most)
    width = max(high - low, log(10) if parameter.log else 0.0)
    return AcceptedRange(low - width, high + width, is_near, gap > 0)


@dataclass(frozen=True, order=True)
class UnitConversion:
    """A conversion of units that would map a column's range onto the search space.

    Attributes:
        mismatch: How far the converted range is from the space's, as a part of its width.
        text: Words for them.
        offset: A value in the space's units is (x - offset)·factor.
        factor: The factor in the formula of `offset`.
    """

    mismatch: float
    text: str
    offset: float
    factor: float


def find_other_units(values: Float64[ndarray, " n"], parameter: Numeric) -> UnitConversion | None:
    """Find the conversion of units that maps the old range best onto the search space's; None if none does.

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
    as_they_are = {*ends, (float(values.min()), float(values.max()))}
    if min(_compute_mismatch(*pair, parameter) for pair in as_they_are) < _DIFFERENT:
        return None
    reach = compute_accepted_range(np.log(values) if parameter.log else values, parameter)
    enough = _SHARED_IF_NEAR if reach.is_near else _SHARED_IF_FAR
    candidates = [
        (offset, factor, f"they would fit if one were in {units.replace(' and ', ' and the other in ', 1)}", _MATCHING)
        for offset, factor, units in _MIXED_UP
    ]
    sizes, wanted = {max(map(abs, pair)) for pair in ends} - {0.0}, max(abs(low), abs(high))
    powers = {round(log10(wanted / size)) for size in sizes if wanted > 0} - {0}
    for power in powers:
        said = f"they are about {10.0 ** abs(power):,.0f} times too {'large' if power < 0 else 'small'}"
        candidates.append((0.0, 10.0**power, said, _DIFFERENT))
    fitting, meeting = [], []
    for offset, factor, said, most in candidates:
        converted = [((first - offset) * factor, (last - offset) * factor) for first, last in ends]
        found = UnitConversion(min(_compute_mismatch(*pair, parameter) for pair in converted), said, offset, factor)
        fitting += [found] if found.mismatch < most else []
        meeting += [found] if max(_compute_overlap(*pair, parameter) for pair in converted) > enough else []
    if not fitting and reach.is_disjoint:
        fitting = meeting
    return min(fitting) if fitting else None


def compute_range_mismatch(values: Float64[ndarray, " n"], parameter: Numeric) -> float:
    """Return how far old values lie from the parameter's range, in widths of that range."""
    if parameter.high <= parameter.low or (parameter.log and values.min() <= 0):
        return inf
    bulk = _select_bulk(np.log(values) if parameter.log else values)
    first, last = parameter.unscale(float(bulk.min())), parameter.unscale(float(bulk.max()))
    return min(
        _compute_mismatch(first, last, parameter),
        _compute_mismatch(float(values.min()), float(values.max()), parameter),
    )


def find_sentinels(values: Float64[ndarray, " n"]) -> Bool[ndarray, " n"]:
    """Find values that stand for "not measured", such as -999, and lie apart from all others."""
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
    """Find values of a setting that are most likely typing errors, such as a shifted decimal point.

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
    """Find values that are farther from all others than `times` the others' range.

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


def find_fractions(values: Float64[ndarray, " n"]) -> Bool[ndarray, " n"]:
    """Find fractions among percentages: up to 1, and like the others if times 100.

    All others but 0 are 10 times larger, and further away than from each other: a low yield is the end of a tail.

    >>> find_fractions(np.array([83.0, 41.0, 0.0, 0.62, 55.0, 71.0, 90.0])).tolist()
    [False, False, False, True, False, False, False]
    """
    none = np.zeros(len(values), dtype=bool)
    if (values < 0).any() or (values > _MOST_PERCENT).any():
        return none
    odd, others = (values > 0) & (values <= 1), values[values > 1]
    if not odd.any() or len(others) < max(_FEWEST_PERCENTAGES, odd.sum()):
        return none
    least, most = others.min(), values[odd].max()
    if least < 10 * most or least - most < _WIDER * np.diff(np.sort(others)).max():
        return none
    converted = 100 * values[odd]
    fit = (converted >= others.min()) & (converted <= others.max())
    return odd if fit.all() else none


def _select_bulk(values: Float64[ndarray, " n"]) -> Float64[ndarray, " k"]:
    """The values without those that Tukey's fences shut out: up to a quarter of them may be anything."""
    first, third = np.quantile(values, [0.25, 0.75])
    spread = _TUKEY * (third - first)
    bulk: Float64[ndarray, " k"] = values[(first - spread <= values) & (values <= third + spread)]
    return bulk


def _compute_overlap(first: float, last: float, parameter: Numeric) -> float:
    """The length that a range shares with the parameter's, as a part of the longer of the two, on its scale."""
    if parameter.log and first <= 0:
        return 0.0
    low, high = parameter.scale(parameter.low), parameter.scale(parameter.high)
    first, last = parameter.scale(first), parameter.scale(last)
    return max(0.0, min(high, last) - max(low, first)) / max(high - low, last - first)


def _compute_mismatch(first: float, last: float, parameter: Numeric) -> float:
    """Return how far the ends of a range lie from the parameter's, in widths of its scaled range."""
    if parameter.log and first <= 0:
        return inf
    low, high = parameter.scale(parameter.low), parameter.scale(parameter.high)
    return (abs(parameter.scale(first) - low) + abs(parameter.scale(last) - high)) / (high - low)


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
_LEAST_OF_EACH = 3
_LEAST_PART = 0.02
# How far beyond the space a value is in other units: a part of the width, or a ratio.
_BEYOND, _RATIO = 0.25, 3.0
# How far the distributions of the two kinds may differ, when units are put right: Kolmogorov and Smirnov's distance.
_ALIKE = 0.45
_ALIKE_IF_DOUBTFUL = 0.2  # for small factors, and where the space has a place for both parts
_CRITICAL = 1.36  # times √(1/n + 1/m): what chance does in one case of twenty
_NEVER_ALIKE = 0.6
_WIDER = 1.5  # times any other gap is what lies between two units
_POWERS_OF_TEN = 100.0  # the largest over the least value of a column that is spread over powers of ten
_MOST_GAPS = 12
# Parts of the rows in other units, and of all rows when they are converted, that fit into the space.
_MOST_FITTING, _ALL_FITTING = 0.1, 0.95
# Values that are too small may lie in the space all the same. Then the factor must be large, and levels several.
_CLEAR, _LEAST_DISTINCT = 59.0, 4


@dataclass(frozen=True, eq=False)
class MixedUnits:
    """The values of a column that are in other units than the rest, and the conversion.

    Attributes:
        rows: For each value whether it is in other units.
        words: A description, such as "1,000 times too large".
        offset: The right value is (x - offset)·factor.
        factor: The factor in the formula of `offset`.
    """

    rows: Bool[ndarray, " n"]
    words: str
    offset: float
    factor: float

    def convert_units(self, values: Float64[ndarray, " n"]) -> Float64[ndarray, " n"]:
        """Convert the values to the units of the rest of the column."""
        return np.where(self.rows, (values - self.offset) * self.factor, values)


def find_mixed_units(values: Float64[ndarray, " n"], parameter: Numeric | None = None) -> MixedUnits | None:
    """Find the values of a column that a conversion of units would make like all others; None if there are none.

    Sorted, the values fall into two parts at a gap. The part that the space has no place for is in other units if some
    conversion gives it the other part's distribution.

    Args:
        values: The column, without NaN.
        parameter: What the space says of it; None if it says nothing, as of a response, or if there is no space yet.
            Then the smaller part is the one in other units.
    """
    nonzero = values != 0  # 0 is 0 in all units that differ by a factor
    sign = -1.0 if (values[nonzero] < 0).all() else 1.0
    if sign < 0 and parameter is not None:
        parameter = replace(parameter, low=-parameter.high, high=-parameter.low, log=False)
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
    """Describe values in other units and their places; `values` and `found.rows` have all rows.

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
    """Return a sentence about isolated values and their likely cause.

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
        if min(len(lower), len(upper)) < max(_LEAST_OF_EACH, _LEAST_PART * len(rows)):
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
    """Return the distance of both parts after converting one (0: the same); None if they cannot match."""
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
    """Return whether the gap at the cut is wider than all gaps in the usual part.

    Of values that span powers of ten, as a ratio: from 1,000 to 10,000 it is as far as from 10 to 100. And one value
    beside several is one more level of the column, not another unit.
    """
    usual, odd = (ordered[cut:], ordered[:cut]) if odd_is_lower else (ordered[:cut], ordered[cut:])
    if _count_distinct(odd) == 1 and _count_distinct(usual) > 2:
        return False
    positive = ordered[cut - 1] > 0 and usual[0] > 0
    spans = positive and usual[-1] > _POWERS_OF_TEN * usual[0]
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


def _count_distinct(values: Float64[ndarray, " n"]) -> int:
    return len(np.unique(values))


def _find_gaps(ordered: Float64[ndarray, " n"]) -> list[int]:
    """Return the positions of the widest gaps among sorted values, as differences and as ratios."""
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
    """Return whether nearly all converted values lie in or near the range of the usual ones."""
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
