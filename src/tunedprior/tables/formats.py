"""The kinds of files that hold a table: known by their first bytes, and decompressed up to a maximal size.

A new kind is a file that registers it.
"""

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePath
from typing import Any

from tunedprior.errors import FileFormatError, InputError
from tunedprior.tables.content import ReadTable


@dataclass(frozen=True)
class TableFormat:
    """A kind of file that holds a table.

    Attributes:
        name: Its name in messages, such as "Excel".
        endings: The endings of such files' names, the usual one first.
        beginnings: The first bytes of such files, any of them.
        read: Makes the table from the bytes, the columns that are hoped for (the response last), what the table is
            ("Old data") and the file's name.
    """

    name: str
    endings: tuple[str, ...]
    beginnings: tuple[bytes, ...]
    read: Callable[[bytes, Sequence[str], str, str], ReadTable]


_FORMATS: dict[str, TableFormat] = {}


def register_format(one: TableFormat) -> None:
    """Let files of this kind be read wherever a table is."""
    for other in _FORMATS.values():
        if other.name == one.name or set(other.endings) & set(one.endings):
            raise InputError(f"There is a format {other.name!r} already, with the endings {', '.join(other.endings)}.")
    _FORMATS[one.name] = one


def forget_format(name: str) -> None:
    """Remove a format from the registry."""
    _FORMATS.pop(name, None)


def list_formats() -> tuple[TableFormat, ...]:
    """All registered formats, in the order of registration."""
    return tuple(_FORMATS.values())


def get_format(name: str) -> TableFormat | None:
    """The registered format of this name; None for text and compressed text."""
    return _FORMATS.get(name)


#: No text file is larger than this.
MOST_BYTES_OF_TEXT = 2**30
#: Nothing that is packed unpacks to more: a few kilobytes could otherwise fill the memory.
MOST_BYTES = 2**28
#: Nor do the texts of all cells of a workbook or a Parquet file, each counted as often as it is used.
MOST_TEXT = 2**28
#: No table has more cells, and none more columns, which is what spreadsheets hold.
MOST_CELLS, MOST_COLUMNS = 2**24, 2**14

# How the names of text files and compressed ones end.
_ENDINGS = {
    "gzip": (".gz",),
    "bzip2": (".bz2",),
    "xz": (".xz",),
    "zip": (".zip",),
    "text": (".csv", ".tsv", ".tab", ".txt", ".dat", ".asc"),
}
_BEGINNINGS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
#: What people take for tables; by how it begins, in small letters.
_OTHERS = {
    b"%pdf": "a PDF document",
    b"<!doctype html": "a web page",
    b"<html": "a web page",
    b"<?xml": "XML",
    b'{"': "JSON",
    b"{\n": "JSON",
    b"[{": "JSON",
}
#: What reading a damaged archive raises.
DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, ValueError, RuntimeError, MemoryError)
_OPENERS: dict[str, Callable[[BytesIO], Any]] = {
    "gzip": gzip.open,
    "bzip2": bz2.open,
    "xz": lzma.open,
}


def infer_file_kind(data: bytes, origin: str) -> str:
    """Return gzip, bzip2, xz, zip, a registered format or text, by content; an error if the ending differs."""
    kinds = {start: one.name for one in list_formats() for start in one.beginnings} | _BEGINNINGS
    kind = next((kind for beginning, kind in kinds.items() if data.startswith(beginning)), "text")
    if data.startswith(b"PK"):
        kind = _infer_zip_kind(data, origin)
    other = next((what for beginning, what in _OTHERS.items() if data.lstrip()[:99].lower().startswith(beginning)), "")
    if other and kind == "text":
        raise FileFormatError(
            f"{origin!r} is {other}, not a table. Save it as CSV, or read it yourself and pass a pandas.DataFrame."
        )
    ending = PurePath(origin).suffix.lower()
    endings = _ENDINGS | {one.name: one.endings for one in list_formats()}
    promised = next((one for one, some in endings.items() if ending in some), kind)
    if promised != kind:
        raise FileFormatError(
            f"{origin!r} is damaged or misnamed: it ends in {ending} ({promised}), but its content is "
            f"{'not that' if kind == 'text' else f'{kind}, which ends in {endings[kind][0]}'}. "
            "Rename it, or save it again."
        )
    return kind


def decompress(data: bytes, kind: str, origin: str) -> bytes:
    """Return the content of a compressed file; data of another kind is returned unchanged."""
    try:
        if kind == "zip":
            with zipfile.ZipFile(BytesIO(data)) as archive, archive.open(_get_only_member(archive, origin)) as file:
                return _read_bounded(file.read, origin)
        if kind in _OPENERS:
            with _OPENERS[kind](BytesIO(data)) as file:
                return _read_bounded(file.read, origin)
    except InputError:
        raise
    except DAMAGE as error:
        raise FileFormatError(
            f"{origin!r} is a damaged or protected {kind} file ({error}). Copy it again, or unpack it yourself."
        ) from error
    return data


def refuse_large(size: int, origin: str, most: int | None = None) -> None:
    """Raise an `InputError` if `size` exceeds `most` bytes (`MOST_BYTES` by default)."""
    most = MOST_BYTES if most is None else most
    if size > most:
        raise InputError(
            f"{origin!r} holds more than {most / 2**20:,.3g} MiB. Read it yourself, and pass the rows that matter "
            "as a pandas.DataFrame."
        )


def refuse_many_cells(cells: int, columns: int, origin: str) -> None:
    """Raise an `InputError` for more than `MOST_CELLS` cells (blank ones included) or `MOST_COLUMNS`."""
    if columns > MOST_COLUMNS:
        raise InputError(
            f"{origin!r} has more than {MOST_COLUMNS:,} columns. Is there something far to the right? Clear it, or "
            "pass the columns that matter as a pandas.DataFrame."
        )
    if cells > MOST_CELLS:
        raise InputError(
            f"{origin!r} has more than {MOST_CELLS:,} cells, blank ones among them. Is there something far below or to "
            "the right? Clear it, or pass the rows that matter as a pandas.DataFrame."
        )


def _read_bounded(read: Callable[[int], bytes], origin: str) -> bytes:
    data = read(MOST_BYTES + 1)
    refuse_large(len(data), origin)
    return data


def _infer_zip_kind(data: bytes, origin: str) -> str:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = archive.namelist()
            size = sum(one.file_size for one in archive.infolist())
    except DAMAGE as error:
        raise FileFormatError(f"{origin!r} is a damaged zip archive or Excel file ({error}). Copy it again.") from error
    if any(name.endswith(".npy") for name in names):
        raise FileFormatError(f"{origin!r} is an archive of NumPy arrays, not a table.")
    kind = "Excel" if "[Content_Types].xml" in names or "content.xml" in names else "zip"
    if kind == "Excel" or size > MOST_BYTES:
        refuse_large(size, origin)
    return kind


def _get_only_member(archive: zipfile.ZipFile, origin: str) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    if len(names) != 1:
        raise InputError(f"{origin!r} must hold one file, to be read as a table; it holds {len(names)}. Unpack it.")
    return names[0]
