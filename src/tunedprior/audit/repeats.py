"""Rows that are there more than once: copied, or the same settings with results that contradict each other."""

import numpy as np
import pandas as pd

from tunedprior.audit.faults import Fault, join_places
from tunedprior.audit.sheet import Sheet

_MOST_BY_CHANCE = 0.05  # expected number of equal results among repeats, per repeat, above which they say nothing
_LEAST_COPIES = 2
# Repeats contradict each other if they differ by this part of the range of most responses, and by so many times what
# repeats (or, where there are few, predictions) usually differ by.
_PART_OF_THE_RANGE, _TIMES_THE_SPREAD, _TIMES_THE_ERROR = 0.65, 6.0, 4.0
_FEW_GROUPS = 5
_MOST_GROUPS = 0.2  # of the repeated settings may contradict themselves; more are a noisy response


def find_copied_rows(sheet: Sheet) -> tuple[list[Fault], list[str], list[int]]:
    """Rows that equal an earlier one in every cell: faults, notes, and the rows.

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
    """Repeated settings whose results differ far more than those of other repeats.

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
