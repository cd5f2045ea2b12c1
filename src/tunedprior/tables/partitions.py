"""Read tables that are spread over many Parquet files, one row group at a time, in bounded memory."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import pandas as pd

from tunedprior.checks import format_list, format_value
from tunedprior.errors import FileFormatError, InputError
from tunedprior.tables.reading import PARQUET
from tunedprior.tables.sheets import import_parquet_reader

# Rows in memory at once: enough for matrix products to be fast, and in a hundred columns some 50 MB.
_AT_ONCE = 2**16
_DAMAGE = (OSError, ValueError, NotImplementedError)  # what Arrow's errors are, too


@dataclass(frozen=True)
class RowGroup:
    """One row group of a Parquet file, the smallest part that can be read on its own.

    Attributes:
        path: The file.
        group: The number of the row group in it.
        first: The number of its first row among all rows of all files.
        first_in_file: The number of its first row among those of the file.
        rows: How many rows it has.
    """

    path: str
    group: int
    first: int
    first_in_file: int
    rows: int

    def read_batches(self, columns: Sequence[str]) -> Iterator[tuple[int, pd.DataFrame]]:
        """Yield the rows of these columns in batches, each with the number of its first row in the group."""
        reader, name, begun = import_parquet_reader(self.path), Path(self.path).name, 0
        try:
            with reader.ParquetFile(self.path) as file:
                batches = file.iter_batches(_AT_ONCE, row_groups=[self.group], columns=list(columns))
                for batch in batches:
                    yield begun, batch.to_pandas()
                    begun += batch.num_rows
        except _DAMAGE as error:
            raise FileFormatError(f"{name!r} cannot be read, or is damaged ({error}).") from error


def list_row_groups(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], columns: Sequence[str]
) -> list[RowGroup]:
    """List the row groups of all files in the order of their names, reading only the files' metadata.

    Args:
        source: A folder, a pattern such as "old/*.parquet", or a list of files, which are read in its order.
        columns: What every file must have.
    """
    pieces: list[RowGroup] = []
    first = 0
    for path in _find_files(source):
        about = _read_file_metadata(path, columns)
        in_file = 0
        for group in range(about.num_row_groups):
            rows = about.row_group(group).num_rows
            if rows:
                pieces.append(RowGroup(path, group, first + in_file, in_file, rows))
            in_file += rows
        first += in_file
    return pieces


def group_into_tasks(pieces: Sequence[RowGroup], rows: int) -> list[tuple[RowGroup, ...]]:
    """Group neighbouring row groups into tasks of about `rows` rows; a larger group is a task of its own."""
    tasks: list[list[RowGroup]] = []
    held = 0
    for piece in pieces:
        if not tasks or held + piece.rows > rows:
            tasks.append([])
            held = 0
        tasks[-1].append(piece)
        held += piece.rows
    return [tuple(task) for task in tasks]


def _find_files(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    if isinstance(source, str | os.PathLike):
        given = os.fsdecode(source)
        if Path(given).is_dir():
            found = [str(path) for path in Path(given).rglob("*") if path.suffix in PARQUET.endings]
        else:
            every = glob(given, recursive=True)  # noqa: PTH207 (Path.glob takes no pattern that begins at the root)
            found = [path for path in every if Path(path).is_file()]
        found.sort()
    else:
        given, found = format_value(source), [os.fsdecode(path) for path in source]
    if not found:
        raise InputError(
            f"Old data must be a folder of Parquet files, a pattern such as 'old/*.parquet' or a list of files; "
            f"there are none in {given!r}."
        )
    return found


def _read_file_metadata(path: str, columns: Sequence[str]) -> Any:
    """Read the metadata of a Parquet file; an error if the file is another or lacks a column."""
    name, reader = Path(path).name, import_parquet_reader(path)
    try:
        about = reader.read_metadata(path)
    except _DAMAGE as error:
        raise FileFormatError(f"{name!r} is not a Parquet file that can be read, or is damaged ({error}).") from error
    there = list(about.schema.to_arrow_schema().names)
    lacking = [column for column in columns if column not in there]
    if lacking:
        raise InputError(
            f"Every file must have the columns {format_list(columns)}, by these names; {name!r} has no "
            f"{format_list(lacking)} "
            f"(there are {format_list(map(format_value, there))}). Rename its columns, or name the response "
            "with target=."
        )
    return about
