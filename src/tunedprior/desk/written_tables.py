"""Tables written for people, as CSV or Excel files."""

import os
from io import BytesIO
from os import PathLike
from pathlib import Path

import pandas as pd

from tunedprior.errors import InputError
from tunedprior.files import write_atomically
from tunedprior.integrations.extras import needed

_SHEETS = (".xlsx", ".xlsm")


def write_table(table: pd.DataFrame, path: str | PathLike[str], overwrite: bool = False) -> None:
    """Write a table into a file, Excel or CSV by its ending; a file that is there is not replaced unless told so."""
    path = Path(path)
    refuse_to_overwrite(path, overwrite)
    content = _workbook(table) if path.suffix.lower() in _SHEETS else table.to_csv(index=False).encode("utf-8-sig")
    write_atomically(path, content)


def refuse_to_overwrite(path: Path, overwrite: bool = False) -> None:
    """An `InputError` for a file that cannot be a table, or that is there and must not be replaced.

    A `MissingExtraError` where a package that writes such files is missing: known before a suggestion is spent on it.
    """
    if path.suffix.lower() not in (*_SHEETS, ".csv"):
        raise InputError(f"A table is written as .csv or .xlsx; got {path.name!r}.")
    if path.suffix.lower() in _SHEETS:
        needed("openpyxl", "lab")
    if not path.absolute().parent.is_dir():
        raise InputError(f"There is no folder {str(path.parent)!r} to write to. Make it first, or name another.")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise InputError(f"{str(path)!r} cannot be written: the file or its folder is read-only. Name another place.")
    if path.exists() and not overwrite:
        raise InputError(f"{path.name} is there already, and may hold results. Name another file, or use --force.")


def _workbook(table: pd.DataFrame) -> bytes:
    stream = BytesIO()
    with pd.ExcelWriter(stream, engine="openpyxl") as writer:
        table.to_excel(writer, index=False, freeze_panes=(1, 0))
        sheet = writer.sheets["Sheet1"]
        for column, name in zip(sheet.columns, table.columns, strict=True):
            longest = max([len(str(name)), *(len(str(cell.value or "")) for cell in column)])
            for cell in column[1:]:
                if isinstance(cell.value, str):
                    cell.data_type = "s"  # a note that begins with = is no formula
            sheet.column_dimensions[column[0].column_letter].width = min(40, longest + 3)
    return stream.getvalue()
