"""Find rows of old data whose cells are in the wrong columns, and rows that occur more than once."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from math import isfinite, nan
from typing import Any

import numpy as np
import pandas as pd

from tunedprior.source_data.findings import Fault, Sheet, is_choice, join_places
from tunedprior.space.parameters import Categorical, Numeric
from tunedprior.tables.cells import is_unmeasured

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
    low, high = _compute_range(sheet, name, parameter)
    words = set() if parameter is not None else {str(cell) for cell in sheet.table[name][sheet.verdict_rows]}

    def does_fit(cell: Any) -> bool:
        value = _parse_number(cell)
        return (value is not None and low <= value <= high) or (bool(words) and str(cell) in words)

    return does_fit


def _compute_range(sheet: Sheet, name: str, parameter: Numeric | None) -> tuple[float, float]:
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


def _parse_number(cell: Any) -> float | None:
    try:
        value = float(cell) if not isinstance(cell, bool) else nan
    except (TypeError, ValueError, OverflowError):
        return None
    return value if isfinite(value) else None


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


def find_copied_rows(sheet: Sheet) -> tuple[list[Fault], list[str], list[int]]:
    """Find rows that equal an earlier one in every cell; return faults, notes, and the rows.

    Repeated measurements give equal results only where the response is coarse; such repeats are nobody's fault.
    """
    names = [one.name for one in sheet.parameters]
    if sheet.labels or not names:
        return [], [], []
    table = sheet.table.astype(str)
    again = table.duplicated().to_numpy()
    repeats = table.duplicated(names).to_numpy()
    values = sheet.get_measured_values(sheet.target)
    again = again & np.isfinite(values)
    if not again.any():
        return [], [], []
    chance = float((pd.Series(values[~again & np.isfinite(values)]).value_counts(normalize=True) ** 2).sum())
    rows = np.flatnonzero(again)
    where = sheet.format_places(rows)
    alike = f"{len(rows)} of {len(sheet)} rows equal an earlier one in every cell, the response included: "
    coarse = chance > _MOST_BY_CHANCE or (again.sum() < 0.5 * repeats.sum() and chance > 0.1 * _MOST_BY_CHANCE)
    if coarse or len(rows) < _LEAST_COPIES:
        return [], [f"{alike}{join_places(where)}."], []
    remedy = "Delete the copies, unless they were measured again with the same result."
    return [Fault("copied rows", (), where, f"{alike}{join_places(where)}.", remedy)], [], rows.tolist()


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
