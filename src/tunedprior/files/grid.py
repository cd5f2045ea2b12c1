"""Rows of cells with a header, from a text file or a sheet, made into a table."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from tunedprior.files.content import ReadTable
from tunedprior.files.names import collect_units, describe_renamings, match_columns, refuse_duplicates
from tunedprior.files.units import is_line_of_units


def build_table(
    header: Sequence[Any],
    rows: list[list[Any]],
    labels: list[int],
    *,
    unit: str,
    names: Sequence[str],
    what: str,
    origin: str,
    said: Sequence[str],
) -> ReadTable:
    """The table of these rows, all as long as the header; a line of units and columns without a name are left out."""
    said = list(said)
    titles = ["" if cell is None else str(cell).strip() for cell in header]
    found = match_columns(titles, names)
    said += describe_renamings(titles, found)
    if len(rows) > 1 and is_line_of_units(rows[0], rows[1]):
        said.append(f"The units in {unit} {labels[0]} are skipped.")
        rows, labels = rows[1:], labels[1:]
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in titles]
    kept: dict[str, pd.Series[Any]] = {}
    refuse_duplicates([title for title in titles if title in names], what, origin)
    count: Counter[str] = Counter()
    for k, (title, cells) in enumerate(zip(titles, columns, strict=True)):
        if not title:
            said += _describe_unnamed_column(k, k == len(titles) - 1, cells)
            continue
        name = found.get(k, title)
        count[name] += 1
        if count[name] > 1:
            said.append(f"Column {k + 1} has the name of another, {name!r}; it is taken for '{name} ({count[name]})'.")
            name = f"{name} ({count[name]})"
        kept[name] = pd.Series(cells, dtype=object)
    table = pd.DataFrame(kept, dtype=object)
    return ReadTable(table, origin, tuple(said), labels, unit, units=collect_units(titles, found))


def _describe_unnamed_column(position: int, last: bool, cells: Sequence[Any]) -> list[str]:
    if all(cell is None or str(cell).strip() == "" for cell in cells):
        return ["Separators at the ends of lines are dropped."] if last else []
    if position == 0:
        return ["The first column has no name; it is taken for the rows' numbers and left out."]
    return [f"Column {position + 1} has no name and is left out."]
