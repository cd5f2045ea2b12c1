"""Run all checks of old data one after another, and return the problems with the rows that are left to learn from."""

import warnings
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tunedprior.discovery import import_modules
from tunedprior.errors import OldDataWarning, SpaceWarning
from tunedprior.goals.goal import Goal
from tunedprior.source_data.findings import Fault, RejectedRow, Sheet, run_checks, sort_faults
from tunedprior.source_data.matching import OldTable, read_old_data
from tunedprior.source_data.relations import RegressionData, find_changing_response, find_slipped_rows
from tunedprior.source_data.rows import Finding
from tunedprior.source_data.table_checks import (
    find_contradictory_repeats,
    find_copied_rows,
    find_misplaced_cells,
    find_non_numbers,
    find_odd_ranges,
    find_swapped_columns,
)
from tunedprior.source_data.text_checks import open_table
from tunedprior.space.parameters import Numeric
from tunedprior.space.search_space import Space
from tunedprior.tables.content import convert_trials_table

import_modules("tunedprior.source_data")  # checks register themselves

# Findings that say how old data differs, which is nobody's fault.
_NOTED = ("absent", "extra columns", "unknown category", "constant", "blank")
# Faults of rows that would drown everything else, and are left aside when the settings are compared with the response.
_LEFT_ASIDE = ("far off", "copied rows", "sentinel")


@dataclass(frozen=True, eq=False)
class Inspection:
    """The result of all checks of one old data set.

    Attributes:
        origin: The name of the file, or "the table" and the like.
        rows: How many rows there are, with those that cannot be read.
        remarks: How it was read, in sentences.
        faults: What is most likely a mistake, in the order in which it is to be mended.
        notes: What is unusual.
        rejected: Rows that are not used.
        sheet: The table as far as it can be read; None if it makes no sense.
        old: What is learnt from; None if nothing can be.
        related: Its settings as points, without rows that are far off.
    """

    origin: str
    rows: int
    remarks: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
    rejected: tuple[RejectedRow, ...] = ()
    sheet: Sheet | None = None
    old: OldTable | None = None
    related: RegressionData | None = None


def inspect_old_data(
    data: Any,
    space: Space,
    target: str,
    direction: Goal,
    others: Collection[str],
    seed: int,
    advance: Callable[[str], object],
    most_rows: int | None = None,
) -> Inspection:
    """Run all checks on old data; if there are more than `most_rows` rows, on a random subset."""
    numeric = [one.name for one in space.parameters if isinstance(one, Numeric)]
    advance("reading")
    found = open_table(data, [*space.names, target], [*numeric, target])
    if found.table is None:
        return Inspection(found.origin, 0, faults=sort_faults(found.faults), rejected=found.rejected)
    read = convert_trials_table(found.table, [*space.names, target])
    faults, rejected = list(found.faults), list(found.rejected)
    rows = len(read) + len(rejected)
    named = set(map(str, read.table.columns))
    if target not in named or not named & set(space.names):
        read_old_data(read, space, target, direction)  # says what is missing
    if rows == 0:
        remedy = "Add rows, or see whether it is the right file and sheet, and was saved whole."
        nothing = Fault("no rows", (), (), f"{found.origin} has a header, and no rows below it.", remedy)
        return Inspection(found.origin, 0, read.remarks, sort_faults([*faults, nothing]))
    sheet = Sheet(read, space, target, direction)
    if most_rows is not None:
        sheet = sheet.drop_rows(np.random.default_rng(seed).permutation(len(sheet))[most_rows:])
    advance("looking for faults")
    sheet, more, lost = _drop_broken_rows(sheet)
    faults, rejected = faults + more, rejected + lost
    whole = Inspection(found.origin, rows, read.remarks, sort_faults(faults), (), tuple(rejected), sheet)
    if not sheet.is_numeric(target) and not sheet.labels and len(sheet):
        return whole
    claimed = frozenset(name for one in faults if one.kind == "swapped columns" for name in one.columns)
    more, notes = find_odd_ranges(sheet, claimed)
    copies, copy_notes = find_copied_rows(sheet)
    faults += [*more, *run_checks(sheet), *copies]
    old = _read_usable_data(sheet, direction, others)
    left_out, places = _collect_left_out(old.report.findings), sheet.format_places(range(len(sheet)))
    rejected += [RejectedRow(row, reason) for row, reason in left_out.items()]
    notes += [
        *copy_notes,
        *(one.text for one in old.report.findings if one.kind in _NOTED and not _is_known(one, faults)),
    ]
    related, where = _select_regression_rows(old, space, [row for row in places if row not in left_out], faults)
    advance("comparing rows with each other")
    if related is not None:
        of_rows = find_slipped_rows(sheet, related, seed)
        faults += of_rows or find_changing_response(sheet, related, where, seed)
    if related is not None and not any(one.kind == "shifted rows" for one in faults):  # which makes repeats differ
        compared = set(where)
        aside = [k for k, place in enumerate(places) if place not in compared]
        faults += find_contradictory_repeats(sheet.drop_rows(aside), related.compute_unexplained_share(seed))
    return replace(
        whole,
        faults=sort_faults(faults),
        notes=tuple(notes),
        rejected=tuple(rejected),
        sheet=sheet,
        old=old,
        related=related,
    )


def _drop_broken_rows(sheet: Sheet) -> tuple[Sheet, list[Fault], list[RejectedRow]]:
    """The table without rows whose cells are in the wrong places or no numbers."""
    faults = list(find_swapped_columns(sheet))
    rejected: list[RejectedRow] = []
    swapped = {name for one in faults for name in one.columns}
    if not faults:
        more, rows = find_misplaced_cells(sheet)
        faults += more
        reasons = {row: one.kind for one in more for row in one.rows}
        rejected += [RejectedRow(row, reasons[row]) for row in sheet.format_places(rows)]
        sheet = sheet.drop_rows(rows)
    columns = [one.name for one in sheet.numeric if one.name not in swapped]
    columns += [] if sheet.labels else [sheet.target]
    more, rows = find_non_numbers(sheet, columns)
    faults += more
    rejected += [RejectedRow(row, "not a number") for row in sheet.format_places(rows)]
    return sheet.drop_rows(rows), faults, rejected


def _read_usable_data(sheet: Sheet, direction: Goal, others: Collection[str]) -> OldTable:
    """Read old data as a campaign would, without numeric columns that hold text."""
    text = [one.name for one in sheet.numeric if not sheet.is_numeric(one.name)]
    blank = sheet.table.assign(**{name: pd.Series([None] * len(sheet), dtype=object) for name in text})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OldDataWarning)
        warnings.simplefilter("ignore", SpaceWarning)
        return read_old_data(replace(sheet.read, table=blank), sheet.space, sheet.target, direction, others=others)


def _collect_left_out(findings: Iterable[Finding]) -> dict[str, str]:
    """The rows that are left out, and why."""
    return {
        row: f"{one.column!r}: {one.kind}" if one.column else one.kind
        for one in findings
        if one.rows and "left out" in one.text
        for row in one.rows
    }


def _is_known(finding: Finding, faults: Iterable[Fault]) -> bool:
    """Return whether a fault already reports the same finding."""
    same = {"unknown category": ("spelling", "swapped columns"), "absent": ("not a number",)}
    return any(one.kind in same.get(finding.kind, ()) and finding.column in one.columns for one in faults)


def _select_regression_rows(
    old: OldTable, space: Space, places: list[str], faults: Iterable[Fault]
) -> tuple[RegressionData | None, tuple[str, ...]]:
    """The rows that settings and responses can be compared in, and where they stand."""
    if len(old) < 2 or len(places) != len(old):
        return None, ()
    aside = {row for one in faults if one.kind in _LEFT_ASIDE for row in one.rows}
    kept = np.array([place not in aside for place in places], dtype=bool)
    kept = kept if kept.sum() >= 2 else np.ones(len(kept), dtype=bool)
    where = tuple(place for place, is_kept in zip(places, kept, strict=True) if is_kept)
    return RegressionData.from_old_data(old.select_rows(kept), space), where
