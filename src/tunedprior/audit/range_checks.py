"""Numbers that cannot be what they ought to be: other units, in all rows or in some, sentinels, single ones far off."""

from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.audit.faults import Fault, join_places
from tunedprior.audit.sheet import Sheet
from tunedprior.checks import format_list
from tunedprior.problem.parameters import Numeric
from tunedprior.problem.suspicions import (
    UnitConversion,
    compute_accepted_range,
    find_isolated,
    find_other_units,
    find_sentinels,
    find_slips,
)
from tunedprior.problem.unit_mixtures import (
    MixedUnits,
    describe_isolated_values,
    describe_mixed_units,
    find_mixed_units,
)

_FEW = 0.02  # the part of the rows that may be slips; more of them are how old data was
# A column that overlaps the space as it is must be off by more than this factor to be blamed.
_CLEAR = 50.0
# A response above 0 is far off if it is beyond all others by so many times their range, as it is and in logarithms.
_FAR_OFF, _FAR_OFF_IN_LOGARITHMS = 1.0, 0.5
_FEW_ROWS, _FAR_OFF_IN_FEW = 50, 1.5


def find_odd_ranges(sheet: Sheet, claimed: frozenset[str]) -> tuple[list[Fault], list[str]]:
    """Faults of the columns of numbers, and notes on ranges that are merely unusual.

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


def find_odd_responses(sheet: Sheet) -> list[Fault]:
    """Sentinels and single values far off among the responses."""
    if sheet.labels:
        return []
    faults = _find_sentinel_faults(sheet, sheet.target)
    values = sheet.get_measured_values(sheet.target)
    known = np.isfinite(values)
    if known.sum() < 3:
        return faults
    rows = np.zeros(len(values), dtype=bool)
    rows[known] = _find_far_off(values[known])
    if rows.any():
        rest = values[known & ~rows]
        where, shown = sheet.format_places(rows), format_list(f"{value:g}" for value in values[rows])
        said = (
            f"The response {sheet.target!r} is {shown} in {join_places(where)}, far from all others "
            f"({rest.min():g} to {rest.max():g})."
        )
        faults.append(Fault("far off", (sheet.target,), where, said, "Look these results up, and correct them."))
    return faults


def _find_far_off(values: Float64[ndarray, " n"]) -> Bool[ndarray, " n"]:
    """Which values lie so far from all others that they are slips; a third of that will do if logarithms say so too."""
    found = find_isolated(values)
    if len(values) < _FEW_ROWS and (values > 0).all():  # of a few rows one is often the only one in the tail
        few: Bool[ndarray, " n"] = found & find_isolated(np.log(values), _FAR_OFF_IN_FEW)
        return few
    if (values > 0).all():
        found |= find_isolated(values, _FAR_OFF) & find_isolated(np.log(values), _FAR_OFF_IN_LOGARITHMS)
    return found


def _find_sentinel_faults(sheet: Sheet, name: str) -> list[Fault]:
    values = sheet.get_values(name)
    marked = find_sentinels(values)
    if not marked.any():
        return []
    where, marks = sheet.format_places(marked), format_list(f"{value:g}" for value in dict.fromkeys(values[marked]))
    said = f"{name!r} is {marks} in {join_places(where)}, which most likely stands for 'not measured'."
    return [Fault("sentinel", (name,), where, said, "Leave these cells blank.")]


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
    if units is not None and (reach.apart or _is_clear(units)):
        remedy = f"Convert the column {one.name!r}, or correct the space."
        return [Fault("other units", (one.name,), (), f"{ranges}: {units.text}.", remedy)], []
    if not reach.meets:
        remedy = f"Check the units of {one.name!r}, and whether it is the same setting as in the space."
        return [Fault("no overlap", (one.name,), (), f"{ranges}, far apart.", remedy)], []
    notes = []
    if reach.apart:
        notes.append(f"{ranges}, which do not meet: what was learnt there helps less.")
    elif units is not None:
        notes.append(f"{ranges}: {units.text}, unless the old range was another.")
    outside = np.zeros(len(values), dtype=bool)
    outside[known] = ~reach.contains(np.log(seen) if one.log else seen)
    if outside.sum() > max(1.0, _FEW * len(values)):
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
    """Whether units that differ explain the range better than an old range that was another."""
    return units.offset != 0 or not 1 / _CLEAR < units.factor < _CLEAR
