"""Check the columns and the rows of old data.

Of columns: wrong units, sentinels, outliers, row numbers, swapped columns, spellings. Of rows: cells in the wrong
columns, rows that occur more than once, and repeats that contradict each other.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.checks import format_list, format_value
from tunedprior.goals.goal import MINIMIZE
from tunedprior.source_data.findings import Fault, Sheet, is_choice, join_places, register_check
from tunedprior.source_data.number_checks import (
    FRACTIONS,
    MixedUnits,
    UnitConversion,
    compute_accepted_range,
    compute_range_mismatch,
    describe_isolated_values,
    describe_mixed_units,
    find_fractions,
    find_isolated,
    find_mixed_units,
    find_other_units,
    find_sentinels,
    find_slips,
)
from tunedprior.space.parameters import Categorical, Numeric, Parameter
from tunedprior.tables.cells import DATE, is_unmeasured, parse_finite_number

# Two columns are swapped if one at least is this far from its own range, as a part of its width, and both are this
# near to the other's.
_FAR, _NEAR = 0.5, 0.25
_MOST, _FEW = 0.9, 0.5  # parts of a column's cells that fit
_LEAST_ROWS = 6


def find_swapped_columns(sheet: Sheet) -> Iterator[Fault]:
    """Find pairs of columns of which each fits the range of the other and not its own."""
    taken: set[str] = set()
    if len(sheet) < _LEAST_ROWS:
        return
    for one, other in combinations(sheet.parameters, 2):
        if {one.name, other.name} & taken or not _are_swapped(sheet, one, other):
            continue
        taken |= {one.name, other.name}
        said = (
            f"{one.name!r} and {other.name!r} seem to be swapped: {_format_content(sheet, one.name)} stands under "
            f"{one.name!r} and {_format_content(sheet, other.name)} under {other.name!r}, and each fits the other's "
            f"place in the space ({_format_parameter(one)}; {_format_parameter(other)})."
        )
        yield Fault("swapped columns", (one.name, other.name), (), said, "Swap the two names in the header, if so.")
    for one in sheet.numeric:
        if one.name not in taken and not sheet.labels and _is_swapped_with_response(sheet, one):
            said = (
                f"{one.name!r} and the response {sheet.target!r} seem to be swapped: what stands under "
                f"{sheet.target!r} ({_format_content(sheet, sheet.target)}) fits the space's "
                f"{_format_parameter(one)}, and what stands "
                f"under {one.name!r} ({_format_content(sheet, one.name)}) does not."
            )
            remedy = "Swap the two names in the header, or name the response with --target."
            yield Fault("swapped columns", (one.name, sheet.target), (), said, remedy)
            break


def find_non_numbers(sheet: Sheet, left: Sequence[str]) -> tuple[list[Fault], list[int]]:
    """Find cells that are no numbers in numeric columns, and the rows of columns with only a few of them."""
    faults, rows = [], set()
    for name in left:
        wrong = [row for row in sheet.list_unreadable_rows(name) if name != sheet.target or not sheet.verdict_rows[row]]
        if not wrong:
            continue
        cells = [sheet.table[name].iloc[row] for row in wrong]
        where = sheet.format_places(wrong)
        if not sheet.is_numeric(name):
            dates = all(map(_is_date, cells))
            what = (
                "dates"
                if dates
                else f"text ({format_list(format_value(cell) for cell in dict.fromkeys(map(str, cells)))})"
            )
            said = f"{name!r} must be numbers, and is {what} in {len(wrong)} of {len(sheet)} rows."
            remedy = "Turn it into numbers, or describe it in the space as a list of choices."
            faults.append(Fault("not a number", (name,), where, said, remedy))
            continue
        rows |= set(wrong)
        said = f"{name!r} is no number in {join_places(where)} ({format_list(format_value(cell) for cell in cells)})."
        faults.append(
            Fault("not a number", (name,), where, said, "Correct or blank these cells; until then the rows are unused.")
        )
    return faults, sorted(rows)


@register_check
def find_row_numbers(sheet: Sheet) -> Iterator[Fault]:
    """Find inputs that only count the rows."""
    for one in sheet.numeric:
        values = sheet.get_values(one.name)
        steps = np.diff(values)
        if len(values) >= _LEAST_ROWS and np.isfinite(values).all() and (steps == 1).all() and values[0] in (0.0, 1.0):
            yield Fault(
                "row numbers",
                (one.name,),
                (),
                f"{one.name!r} counts the rows ({values[0]:g}, {values[1]:g}, …, {values[-1]:g}).",
                "Take it out of the space if it is no setting; if it is time that passes, say so in its name.",
            )


@register_check
def find_variant_spellings(sheet: Sheet) -> Iterator[Fault]:
    """Find categories that occur in several spellings."""
    for one in sheet.categorical:
        cells = [cell for cell in sheet.table[one.name] if not is_unmeasured(cell)]
        groups: dict[str, list[Any]] = {}
        for cell in dict.fromkeys(map(str, cells)):
            groups.setdefault(_normalise_spelling(cell), []).append(cell)
        choices = {_normalise_spelling(str(choice)): str(choice) for choice in one.choices}
        distinct = len(choices) == len(one.choices)
        for bare, ways in groups.items():
            unknown = [way for way in ways if not is_choice(way, one)]
            if not distinct or not bare or (len(ways) < 2 and not (unknown and bare in choices)):
                continue
            usual = choices.get(bare) or max(ways, key=lambda way: sum(str(cell) == way for cell in cells))
            odd = [way for way in ways if way != usual]
            rows = [k for k, cell in enumerate(sheet.table[one.name]) if str(cell) in odd]
            where = sheet.format_places(rows)
            lost = f" Nothing but {usual!r} is known to the space." if unknown and bare in choices else ""
            yield Fault(
                "spelling",
                (one.name,),
                where,
                f"{one.name!r} is written as {format_list(map(repr, odd))} for {usual!r} in "
                f"{join_places(where)}.{lost}",
                f"Write {usual!r} everywhere.",
            )


def _normalise_spelling(text: str) -> str:
    """Letters and digits alone, in small letters and without accents; signs between digits stay."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return re.sub(r"(?<!\d)[\s.,_'\"()–·/-]+|[\s.,_'\"()–·/-]+(?!\d)", "", plain)


def _is_date(cell: Any) -> bool:
    return DATE.fullmatch(cell) is not None if isinstance(cell, str) else hasattr(cell, "year")


def _are_swapped(sheet: Sheet, one: Parameter, other: Parameter) -> bool:
    if isinstance(one, Numeric) and isinstance(other, Numeric):
        own = [_compute_mismatch(sheet, name.name, name) for name in (one, other)]
        crossed = [_compute_mismatch(sheet, one.name, other), _compute_mismatch(sheet, other.name, one)]
        return max(own) > _FAR and max(crossed) < _NEAR and min(own) > max(crossed)
    own_share = [_compute_allowed_share(sheet, name.name, name) for name in (one, other)]
    crossed_share = [_compute_allowed_share(sheet, one.name, other), _compute_allowed_share(sheet, other.name, one)]
    return max(own_share) < _FEW and min(crossed_share) > _MOST


def _is_swapped_with_response(sheet: Sheet, one: Numeric) -> bool:
    if not sheet.is_numeric(one.name) or not sheet.is_numeric(sheet.target):
        return False
    return (
        _compute_mismatch(sheet, one.name, one) > 2 * _FAR and _compute_mismatch(sheet, sheet.target, one) < _NEAR / 2
    )


def _compute_mismatch(sheet: Sheet, name: str, parameter: Numeric) -> float:
    values = sheet.get_measured_values(name)
    values = values[np.isfinite(values)]
    return compute_range_mismatch(values, parameter) if len(values) > 1 and sheet.is_numeric(name) else np.inf


def _compute_allowed_share(sheet: Sheet, name: str, parameter: Parameter) -> float:
    """The part of a column's cells that a parameter allows."""
    if isinstance(parameter, Categorical):
        cells = [((type(cell), str(cell)), cell) for cell in sheet.table[name] if not is_unmeasured(cell)]
        fits = {written: is_choice(cell, parameter) for written, cell in dict(cells).items()}  # each is looked up once
        return sum(fits[written] for written, _ in cells) / max(1, len(cells))
    values = sheet.get_measured_values(name)
    filled = np.isfinite(values).sum() + len(sheet.list_unreadable_rows(name))
    return float(((values >= parameter.low) & (values <= parameter.high)).sum() / max(1, filled))


def _format_content(sheet: Sheet, name: str) -> str:
    if sheet.is_numeric(name):
        values = sheet.get_measured_values(name)
        return f"{np.nanmin(values):g} to {np.nanmax(values):g}"
    return format_list(pd.unique(sheet.table[name].map(str)))


def _format_parameter(parameter: Parameter) -> str:
    if isinstance(parameter, Categorical):
        return f"{parameter.name!r}: {format_list(parameter.choices)}"
    return f"{parameter.name!r}: {parameter.low:g} to {parameter.high:g}"


_FEW_SLIPS = 0.02  # the part of the rows that may be slips; more of them are how old data was
# A column that overlaps the space as it is must be off by more than this factor to be blamed.
_CLEAR = 50.0
# A response above 0 is far off if it is beyond all others by so many times their range, as it is and in logarithms.
_FAR_OFF, _FAR_OFF_IN_LOGARITHMS = 1.0, 0.5
_FEW_ROWS, _FAR_OFF_IN_FEW = 50, 1.5


def find_odd_ranges(sheet: Sheet, claimed: frozenset[str]) -> tuple[list[Fault], list[str]]:
    """Find numeric columns with implausible values; return faults, and notes on unusual ranges.

    Args:
        sheet: The table.
        claimed: Columns that another fault explains.
    """
    faults: list[Fault] = []
    notes: list[str] = []
    for one in sheet.numeric:
        faults += _find_sentinel_faults(sheet, one.name)
        if one.name in claimed:
            continue
        values = sheet.get_measured_values(one.name)
        known = np.isfinite(values)
        if one.log:
            known &= values > 0
        if not known.any():
            continue
        found = find_mixed_units(values[known], one)
        if found is not None:
            rows = np.zeros(len(values), dtype=bool)
            rows[known] = found.rows
            faults.append(_make_units_fault(sheet, one, replace(found, rows=rows)))
            continue
        column_faults, column_notes = _check_range(sheet, one, known)
        faults += column_faults
        notes += column_notes
    return faults, notes


@register_check
def find_odd_responses(sheet: Sheet) -> Iterator[Fault]:
    """Find sentinels and outliers among the responses."""
    if sheet.labels:
        return
    yield from _find_sentinel_faults(sheet, sheet.target)
    values = sheet.get_measured_values(sheet.target)
    known = np.isfinite(values)
    if known.sum() < 3:
        return
    rows, fractions = np.zeros((2, len(values)), dtype=bool)
    if sheet.direction != MINIMIZE:  # what is minimised may well come near 0
        fractions[known] = find_fractions(values[known])
    rows[known] = _find_far_off(values[known]) | fractions[known]
    if rows.any():
        rest = values[known & ~rows]
        where, shown = sheet.format_places(rows), format_list(f"{value:g}" for value in values[rows])
        yield Fault(
            "far off",
            (sheet.target,),
            where,
            f"The response {sheet.target!r} is {shown} in {join_places(where)}, far from all others "
            f"({rest.min():g} to {rest.max():g}){FRACTIONS if fractions.any() else ''}.",
            "Look these results up, and correct them.",
        )


def _find_far_off(values: Float64[ndarray, " n"]) -> Bool[ndarray, " n"]:
    """Which values lie so far from all others that they are slips; a third of that will do if logarithms say so too."""
    found = find_isolated(values)
    if len(values) < _FEW_ROWS and (values > 0).all():  # of a few rows one is often the only one in the tail
        found &= find_isolated(np.log(values), _FAR_OFF_IN_FEW)
    elif (values > 0).all():
        found |= find_isolated(values, _FAR_OFF) & find_isolated(np.log(values), _FAR_OFF_IN_LOGARITHMS)
    return found


def _find_sentinel_faults(sheet: Sheet, name: str) -> Iterator[Fault]:
    values = sheet.get_values(name)
    marked = find_sentinels(values)
    if marked.any():
        where, marks = sheet.format_places(marked), format_list(f"{value:g}" for value in dict.fromkeys(values[marked]))
        said = f"{name!r} is {marks} in {join_places(where)}, which most likely stands for 'not measured'."
        yield Fault("sentinel", (name,), where, said, "Leave these cells blank.")


def _make_units_fault(sheet: Sheet, one: Numeric, found: MixedUnits) -> Fault:
    where = sheet.format_places(found.rows)
    said = describe_mixed_units(one.name, sheet.get_measured_values(one.name), found, join_places(where))
    said += f", as in the space ({one.low:g} to {one.high:g})."
    return Fault("part in other units", (one.name,), where, said, "Convert these rows; until then they are left out.")


def _check_range(sheet: Sheet, one: Numeric, known: Bool[ndarray, " n"]) -> tuple[list[Fault], list[str]]:
    values = sheet.get_measured_values(one.name)
    seen = values[known]
    reach = compute_accepted_range(np.log(seen) if one.log else seen, one)
    ranges = (
        f"{one.name!r} goes from {seen.min():g} to {seen.max():g} in old data and from {one.low:g} to {one.high:g} in "
        "the space"
    )
    units = find_other_units(seen, one)
    if units is not None and (reach.is_disjoint or _is_clear(units)):
        remedy = f"Convert the column {one.name!r}, or correct the space."
        return [Fault("other units", (one.name,), (), f"{ranges}: {units.text}.", remedy)], []
    if not reach.is_near:
        remedy = f"Check the units of {one.name!r}, and whether it is the same setting as in the space."
        return [Fault("no overlap", (one.name,), (), f"{ranges}, far apart.", remedy)], []
    notes = []
    if reach.is_disjoint:
        notes.append(f"{ranges}, which do not meet: what was learnt there helps less.")
    elif units is not None:
        notes.append(f"{ranges}: {units.text}, unless the old range was another.")
    outside = np.zeros(len(values), dtype=bool)
    outside[known] = ~reach.contains(np.log(seen) if one.log else seen)
    if outside.sum() > max(1.0, _FEW_SLIPS * len(values)):
        notes.append(
            f"{one.name!r} is far outside the space in {join_places(sheet.format_places(outside))}; these rows "
            "are left out."
        )
        return [], notes
    if not outside.any():  # a space that was made from old data may have its slips for its ends
        outside[known] = find_slips(seen)
    if not outside.any():
        return [], notes
    rows = sheet.format_places(outside)
    said = describe_isolated_values(one.name, values, outside, rows)
    return [Fault("far off", (one.name,), rows, said, "Look these rows up, and correct them.")], notes


def _is_clear(units: UnitConversion) -> bool:
    """Return whether a conversion of units is large enough to explain that a range differs."""
    return units.offset != 0 or not 1 / _CLEAR < units.factor < _CLEAR


_Fits = Callable[[Any], bool]
# The middle part of a column that shows what its values are like, and how far beyond it (and the space) a value fits.
_MIDDLE, _BEYOND = (0.1, 0.9), 0.25
_COMMON = 0.05  # a category in so many of the rows is no slip, whether or not the space offers it
_LEAST_MENDED = 2  # cells that must find their place when a row is put right


def find_misplaced_cells(sheet: Sheet) -> tuple[list[Fault], list[int]]:
    """Find rows whose cells fit when they are moved by one column, or when two are swapped."""
    columns = [str(name) for name in sheet.table.columns]
    fits = {name: _make_fit_check(sheet, name) for name in [*(one.name for one in sheet.parameters), sheet.target]}
    cells = {name: sheet.table[name].tolist() for name in columns}
    unfit = {name: np.array([not fit(cell) for cell in cells[name]], dtype=bool) for name, fit in fits.items()}
    count = sum(unfit.values(), np.zeros(len(sheet), dtype=int))
    moved: dict[str, list[int]] = {}
    swapped: dict[tuple[str, str], list[int]] = {}
    for row in np.flatnonzero(count >= _LEAST_MENDED):
        found = {name: cells[name][row] for name in columns}
        bad = [name for name in fits if unfit[name][row]]
        pair = _find_swap(found, bad, fits)
        start = None if pair is not None else _find_shift(found, bad, columns, fits)
        if pair is not None:
            swapped.setdefault(pair, []).append(int(row))
        elif start is not None:
            moved.setdefault(start, []).append(int(row))
    faults = [_make_swapped_fault(sheet, pair, rows) for pair, rows in swapped.items()]
    rows = sorted(row for some in moved.values() for row in some)
    if rows:
        faults.append(_make_moved_fault(sheet, moved, rows, columns))
    return faults, sorted({*rows, *(row for some in swapped.values() for row in some)})


def _make_fit_check(sheet: Sheet, name: str) -> _Fits:
    parameter = next((one for one in sheet.parameters if one.name == name), None)
    if isinstance(parameter, Categorical):
        common = Counter(map(str, sheet.table[name]))
        usual = {cell for cell, count in common.items() if count >= max(3, _COMMON * len(sheet))}
        return lambda cell: not is_unmeasured(cell) and (is_choice(cell, parameter) or str(cell) in usual)
    if parameter is None and sheet.labels:
        usual = {str(cell) for cell, count in Counter(map(str, sheet.table[name])).items() if count >= 2}
        return lambda cell: str(cell) in usual
    low, high = _compute_fitting_range(sheet, name, parameter)
    words = set() if parameter is not None else {str(cell) for cell in sheet.table[name][sheet.verdict_rows]}

    def does_fit(cell: Any) -> bool:
        value = parse_finite_number(cell)
        return (value is not None and low <= value <= high) or (bool(words) and str(cell) in words)

    return does_fit


def _compute_fitting_range(sheet: Sheet, name: str, parameter: Numeric | None) -> tuple[float, float]:
    values = sheet.get_measured_values(name)
    values = values[np.isfinite(values)]
    if parameter is not None:
        ends = [parameter.low, parameter.high]
        if len(values):
            ends += list(np.quantile(values, _MIDDLE))
        log = parameter.log and min(ends) > 0
    else:
        ends = list(np.quantile(values, (0.02, 0.98))) if len(values) else [-np.inf, np.inf]
        log = min(ends) > 0 and max(ends) > 100 * min(ends)
    low, high = float(min(ends)), float(max(ends))
    if not np.isfinite([low, high]).all():
        return low, high
    if log:
        beyond = (high / low) ** _BEYOND
        return low / beyond, high * beyond
    beyond = (_BEYOND if parameter is not None else 1.0) * (high - low)
    return low - beyond, high + beyond


def _find_swap(found: dict[str, Any], bad: Sequence[str], fits: dict[str, _Fits]) -> tuple[str, str] | None:
    """The two columns whose cells fit when they change places; None unless they are all that is wrong."""
    if len(bad) != _LEAST_MENDED:
        return None
    for one, other in combinations(bad, 2):
        if fits[one](found[other]) and fits[other](found[one]):
            return one, other
    return None


def _find_shift(
    found: dict[str, Any], bad: Sequence[str], columns: Sequence[str], fits: dict[str, _Fits]
) -> str | None:
    """The column from which on cells stand one column too far to the right or to the left; None if none explains it."""
    first = min(columns.index(name) for name in bad)
    for step in (1, -1):  # cells came from the column before (1), or from the one after (-1)
        starts = range(max(0, first - 1), first + 1)
        for start in starts:
            if step == 1:  # columns[start] got a cell too many; what belongs to column k stands in k + 1
                source = {columns[k]: columns[k + 1] for k in range(start, len(columns) - 1)}
            else:  # columns[start] lost its cell
                source = {columns[k]: columns[k - 1] for k in range(start + 1, len(columns))}
            right = [name for name in source if name in fits and fits[name](found[source[name]])]
            wrong = [name for name in source if name in fits and name not in right]
            mended = [name for name in right if name in bad]
            if not wrong and len(mended) >= min(_LEAST_MENDED, len(bad)) and len(right) >= _LEAST_MENDED:
                return columns[start]
    return None


def _make_swapped_fault(sheet: Sheet, pair: tuple[str, str], rows: Sequence[int]) -> Fault:
    where = sheet.format_places(rows)
    said = (
        f"{pair[0]!r} and {pair[1]!r} seem to have changed places in {join_places(where)}: each fits the other's range."
    )
    return Fault("swapped cells", pair, where, said, "Put these cells right.")


def _make_moved_fault(sheet: Sheet, moved: dict[str, list[int]], rows: Sequence[int], columns: Sequence[str]) -> Fault:
    where = sheet.format_places(rows)
    from_column = min(moved, key=columns.index)
    said = (
        f"Cells stand one column too far to the side from {from_column!r} on in {join_places(where)}: moved by "
        "one, all of "
        "them fit."
    )
    named = tuple(columns[columns.index(from_column) :])
    return Fault("shifted cells", named, where, said, "Move these cells back; until then the rows are left out.")


_MOST_BY_CHANCE = 0.05  # expected number of equal results among repeats, per repeat, above which they say nothing
_LEAST_COPIES = 2
# Repeats contradict each other if they differ by this part of the range of most responses, and by so many times what
# repeats (or, where there are few, predictions) usually differ by.
_PART_OF_THE_RANGE, _TIMES_THE_SPREAD, _TIMES_THE_ERROR = 0.65, 6.0, 4.0
_FEW_GROUPS = 5
_MOST_GROUPS = 0.2  # of the repeated settings may contradict themselves; more are a noisy response


def find_copied_rows(sheet: Sheet) -> tuple[list[Fault], list[str]]:
    """Find rows that equal an earlier one in every cell; return faults, and notes.

    Repeated measurements give equal results only where the response is coarse; such repeats are nobody's fault.
    """
    names = [one.name for one in sheet.parameters]
    if sheet.labels or not names:
        return [], []
    table = sheet.table.astype(str)
    values = sheet.get_measured_values(sheet.target)
    again = table.duplicated().to_numpy() & np.isfinite(values)
    if not again.any():
        return [], []
    chance = float((pd.Series(values[~again & np.isfinite(values)]).value_counts(normalize=True) ** 2).sum())
    rows = np.flatnonzero(again)
    where = sheet.format_places(rows)
    alike = f"{len(rows)} of {len(sheet)} rows equal an earlier one in every cell, the response included: "
    repeats = table.duplicated(names)
    coarse = chance > _MOST_BY_CHANCE or (again.sum() < 0.5 * repeats.sum() and chance > 0.1 * _MOST_BY_CHANCE)
    if coarse or len(rows) < _LEAST_COPIES:
        return [], [f"{alike}{join_places(where)}."]
    remedy = "Delete the copies, unless they were measured again with the same result."
    return [Fault("copied rows", (), where, f"{alike}{join_places(where)}.", remedy)], []


def find_contradictory_repeats(sheet: Sheet, unexplained: float | None) -> list[Fault]:
    """Find repeated settings whose results differ far more than those of other repeats.

    Args:
        sheet: The table.
        unexplained: The part of the response's variance that settings do not predict; None if that is not known.
    """
    names = [one.name for one in sheet.parameters]
    values = sheet.get_measured_values(sheet.target)
    known = np.isfinite(values)
    if sheet.labels or not names or known.sum() < 2 * _FEW_GROUPS:
        return []
    setting = sheet.setting_numbers
    again = known & pd.Series(np.where(known, setting, -1)).duplicated(keep=False).to_numpy()
    groups = pd.Series(np.flatnonzero(again)).groupby(setting[again]).agg(list)
    if groups.empty:
        return []
    spreads = groups.map(lambda rows: float(np.ptp(values[rows])))
    width = float(np.subtract(*np.quantile(values[known], [0.95, 0.05])))
    wide = spreads > _PART_OF_THE_RANGE * width
    others = spreads[~wide]
    if len(others) >= _FEW_GROUPS:
        least = _TIMES_THE_SPREAD * float(others.median())
        if wide.sum() > max(1.0, _MOST_GROUPS * len(groups)):
            return []
    elif unexplained is not None:
        least = _TIMES_THE_ERROR * float(np.sqrt(max(0.0, unexplained)) * values[known].std())
    else:
        return []
    odd = groups[wide & (spreads > least)]
    if odd.empty:
        return []
    rows = sorted(row for some in odd for row in some)
    first = odd.iloc[0]
    where = sheet.format_places(rows)
    said = (
        f"The same settings gave results that contradict each other in {join_places(where)}: {sheet.target!r} is "
        f"{' and '.join(f'{values[row]:g}' for row in first[:3])} in {join_places(sheet.format_places(first[:3]))}."
    )
    return [Fault("contradictory repeats", (sheet.target,), where, said, "Find out which of these results is right.")]
