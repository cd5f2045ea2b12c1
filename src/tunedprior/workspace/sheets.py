"""Write and parse what people fill in: `name=value` arguments, tables as CSV or Excel files, sheets of suggestions."""

import csv
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.checks import format_list, import_optional, suggest_name
from tunedprior.errors import InputError
from tunedprior.history.cells import parse_value
from tunedprior.history.parsing import Suggestion
from tunedprior.history.table import HistoryColumns
from tunedprior.space.parameters import Parameter
from tunedprior.tables import write_atomically
from tunedprior.tables.cells import guard_formula, is_formula, parse_ambiguous_number
from tunedprior.tables.names import is_same_name

_COMMA = re.compile(r"[-+]?\d*,\d+")


def parse_typed_pairs(pairs: Iterable[str], names: Collection[str]) -> dict[str, str]:
    """Parse `name=value` arguments; an `InputError` for unknown or repeated names.

    >>> parse_typed_pairs(["flow=0,5", "gas=argon"], ["flow", "gas"])
    {'flow': '0.5', 'gas': 'argon'}
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        alike = [one for one in names if is_same_name(name, one)]
        name = alike[0] if name not in names and len(alike) == 1 else name
        if not equals or name not in names:
            known = ", ".join(names)  # all of them: the one that is meant is among them
            meant = suggest_name([name], names) if equals else ""
            raise InputError(f"Values are written as name=value, with the names {known}; got {pair!r}.{meant}")
        if name in found:
            raise InputError(f"{name!r} is there twice. Write it once.")
        found[name] = _convert_decimal_comma(value, name)
    return found


def parse_typed_setting(values: Mapping[str, str], parameters: Iterable[Parameter]) -> dict[str, Any]:
    """Convert typed values to those of the parameters; an `InputError` names each missing one."""
    parameters = list(parameters)
    missing = [one.name for one in parameters if one.name not in values]
    if missing:
        raise InputError(f"Say what {format_list(missing)} {'is' if len(missing) == 1 else 'are'} too, as name=value.")
    found: dict[str, Any] = {}
    for one in parameters:
        try:
            found[one.name] = parse_value(one, values[one.name])
        except InputError as error:
            raise InputError(f"{one.name} {str(error).rstrip('.')}.") from error
    return found


def _convert_decimal_comma(value: str, name: str) -> str:
    either = parse_ambiguous_number(value)
    if either is not None:
        point, whole = either
        raise InputError(
            f"{name}={value} may be {whole} or {point}. Write it with a decimal point and without thousands separators."
        )
    return value.replace(",", ".") if _COMMA.fullmatch(value) else value


_SHEETS = (".xlsx", ".xlsm")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")
_LIKE_ESCAPED = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")


def write_table(table: pd.DataFrame, path: str | PathLike[str], overwrite: bool = False) -> None:
    """Write a table as Excel or CSV, by the file's ending; replace a file only if `overwrite`."""
    path = Path(path)
    check_output_path(path, overwrite)
    write_atomically(path, _encode_workbook(table) if path.suffix.lower() in _SHEETS else _encode_csv(table))


def check_output_path(path: Path, overwrite: bool = False) -> None:
    """Raise an `InputError` for a path that cannot be a table, or an existing file without `overwrite`.

    A `MissingExtraError` where a package that writes such files is missing: known before a suggestion is spent on it.
    """
    if path.suffix.lower() not in (*_SHEETS, ".csv"):
        raise InputError(f"A table is written as .csv or .xlsx; got {path.name!r}.")
    if path.suffix.lower() in _SHEETS:
        import_optional("openpyxl", "lab")
    if not path.absolute().parent.is_dir():
        raise InputError(f"There is no folder {str(path.parent)!r} to write to. Make it first, or name another.")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise InputError(f"{str(path)!r} cannot be written: the file or its folder is read-only. Name another place.")
    if path.exists() and not overwrite:
        raise InputError(f"{path.name} is there already, and may hold results. Name another file, or use --force.")


def _encode_csv(table: pd.DataFrame) -> bytes:
    """CSV in which no text is a formula to whatever opens it: `read_table` gives every cell back as it was."""
    guarded = table.rename(columns=lambda name: guard_formula(str(name)))
    guarded = guarded.map(lambda cell: guard_formula(cell) if isinstance(cell, str) else cell)
    written = [*guarded.columns, *(cell for row in guarded.itertuples(index=False) for cell in row)]
    # Python quotes a cell with the end of a line in it, and not one with half of that.
    has_half = any(isinstance(cell, str) and "\r" in cell for cell in written)
    text = guarded.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC if has_half else csv.QUOTE_MINIMAL)
    return text.encode("utf-8-sig", "backslashreplace")


def _encode_workbook(table: pd.DataFrame) -> bytes:
    """An Excel file in which text is text, and no formula."""
    stream = BytesIO()
    escaped = table.rename(columns=lambda name: _escape_control_characters(str(name)))
    escaped = escaped.map(lambda cell: _escape_control_characters(cell) if isinstance(cell, str) else cell)
    with pd.ExcelWriter(stream, engine="openpyxl") as writer:
        escaped.to_excel(writer, index=False, freeze_panes=(1, 0))
        sheet = writer.sheets["Sheet1"]
        for column, name in zip(sheet.columns, table.columns, strict=True):
            longest = max([len(str(name)), *(len(str(cell.value or "")) for cell in column)])
            for cell in column:
                if isinstance(cell.value, str):
                    cell.data_type = "s"
                    cell.quotePrefix = is_formula(cell.value)  # so that it stays text when somebody edits it
            sheet.column_dimensions[column[0].column_letter].width = min(40, longest + 3)
    return stream.getvalue()


def _escape_control_characters(text: str) -> str:
    """Text as Excel's files hold it, which have no control characters and write their numbers instead."""
    text = _LIKE_ESCAPED.sub("_x005F_", text).encode("utf-8", "backslashreplace").decode()
    return _CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def make_suggestion_sheet(suggestions: Sequence[Suggestion], opt: Optimizer) -> pd.DataFrame:
    """Make a table with a row for each suggestion: number, setting, blank results, campaign's id."""
    columns = HistoryColumns.from_space(opt.space, opt.suggester.goals)
    rows = [{columns.trial: one.trial, **one} for one in suggestions]
    table = pd.DataFrame(rows, columns=[columns.trial, *columns.parameters])
    for name in (columns.response, *columns.others.values(), columns.note):
        table[name] = pd.Series([None] * len(table), dtype=object)
    table[columns.campaign] = opt.id
    return table
