"""Check single columns of old data: wrong units, sentinels, outliers, row numbers, swapped columns, spellings."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.checks import format_list, format_value
from tunedprior.source_data.findings import Fault, Sheet, is_choice, join_places, register_check
from tunedprior.source_data.number_checks import (
    MixedUnits,
    UnitConversion,
    compute_accepted_range,
    compute_range_mismatch,
    describe_isolated_values,
    describe_mixed_units,
    find_isolated,
    find_mixed_units,
    find_other_units,
    find_sentinels,
    find_slips,
)
from tunedprior.space.parameters import Categorical, Numeric, Parameter
from tunedprior.tables.cells import DATE, is_unmeasured

# Two columns are swapped if one at least is this far from its own range, as a part of its width, and both are this
# near to the other's.
_FAR, _NEAR = 0.5, 0.25
_MOST, _FEW = 0.9, 0.5  # parts of a column's cells that fit
_LEAST_ROWS = 6


def find_swapped_columns(sheet: Sheet) -> list[Fault]:
    """Find pairs of columns of which each fits the range of the other and not its own."""
    faults: list[Fault] = []
    taken: set[str] = set()
    if len(sheet) < _LEAST_ROWS:
        return faults
    for one, other in combinations(sheet.parameters, 2):
        if {one.name, other.name} & taken or not _are_swapped(sheet, one, other):
            continue
        taken |= {one.name, other.name}
        said = (
            f"{one.name!r} and {other.name!r} seem to be swapped: {_format_content(sheet, one.name)} stands under "
            f"{one.name!r} and {_format_content(sheet, other.name)} under {other.name!r}, and each fits the other's "
            f"place in the space ({_format_parameter(one)}; {_format_parameter(other)})."
        )
        faults.append(
            Fault("swapped columns", (one.name, other.name), (), said, "Swap the two names in the header, if so.")
        )
    for one in sheet.numeric:
        if one.name not in taken and not sheet.labels and _is_swapped_with_response(sheet, one):
            said = (
                f"{one.name!r} and the response {sheet.target!r} seem to be swapped: what stands under "
                f"{sheet.target!r} ({_format_content(sheet, sheet.target)}) fits the space's "
                f"{_format_parameter(one)}, and what stands "
                f"under {one.name!r} ({_format_content(sheet, one.name)}) does not."
            )
            remedy = "Swap the two names in the header, or name the response with --target."
            faults.append(Fault("swapped columns", (one.name, sheet.target), (), said, remedy))
            break
    return faults


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
def find_row_numbers(sheet: Sheet) -> list[Fault]:
    """Find inputs that only count the rows."""
    faults = []
    for one in sheet.numeric:
        values = sheet.get_values(one.name)
        steps = np.diff(values)
        if len(values) >= _LEAST_ROWS and np.isfinite(values).all() and (steps == 1).all() and values[0] in (0.0, 1.0):
            said = f"{one.name!r} counts the rows ({values[0]:g}, {values[1]:g}, …, {values[-1]:g})."
            remedy = "Take it out of the space if it is no setting; if it is time that passes, say so in its name."
            faults.append(Fault("row numbers", (one.name,), (), said, remedy))
    return faults


@register_check
def find_variant_spellings(sheet: Sheet) -> list[Fault]:
    """Find categories that occur in several spellings."""
    faults = []
    for one in sheet.categorical:
        cells = [cell for cell in sheet.table[one.name] if not is_unmeasured(cell)]
        groups: dict[str, list[Any]] = {}
        for cell in dict.fromkeys(map(str, cells)):
            groups.setdefault(_normalise_spelling(cell), []).append(cell)
        choices = {_normalise_spelling(str(choice)): str(choice) for choice in one.choices}
        distinct = len({_normalise_spelling(str(choice)) for choice in one.choices}) == len(one.choices)
        for bare, ways in groups.items():
            unknown = [way for way in ways if not is_choice(way, one)]
            if not distinct or not bare or (len(ways) < 2 and not (unknown and bare in choices)):
                continue
            usual = choices.get(bare) or max(ways, key=lambda way: sum(str(cell) == way for cell in cells))
            odd = [way for way in ways if way != usual]
            rows = [k for k, cell in enumerate(sheet.table[one.name]) if str(cell) in odd]
            where = sheet.format_places(rows)
            lost = f" Nothing but {usual!r} is known to the space." if unknown and bare in choices else ""
            said = (
                f"{one.name!r} is written as {format_list(map(repr, odd))} for {usual!r} in {join_places(where)}.{lost}"
            )
            faults.append(Fault("spelling", (one.name,), where, said, f"Write {usual!r} everywhere."))
    return faults


def _normalise_spelling(text: str) -> str:
    """Letters and digits alone, in small letters and without accents; signs between digits stay."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return re.sub(r"(?<!\d)[\s.,_'\"()–·/-]+|[\s.,_'\"()–·/-]+(?!\d)", "", plain)


def _is_date(cell: Any) -> bool:
    if not isinstance(cell, str):
        return hasattr(cell, "year")
    return DATE.fullmatch(cell) is not None


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
def find_odd_responses(sheet: Sheet) -> list[Fault]:
    """Find sentinels and outliers among the responses."""
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
