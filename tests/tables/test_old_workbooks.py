"""Workbooks of old versions of Excel, for which nobody writes files any more: made here byte by byte."""

import struct
from pathlib import Path

from tunedprior.tables import read_table

NONE, END = 2**32 - 1, 2**32 - 2  # no entry, and the end of a chain of sectors


def record(kind: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def text(value: str, length: str) -> bytes:
    return struct.pack(length, len(value)) + b"\0" + value.encode("latin-1")


def opening(kind: int) -> bytes:
    return record(0x809, struct.pack("<HHHHII", 0x600, kind, 0, 0, 0, 0))


def cell(row: int, column: int, value: str | float) -> bytes:
    place = struct.pack("<HHH", row, column, 0)
    number = isinstance(value, float)
    return record(0x203, place + struct.pack("<d", value)) if number else record(0x204, place + text(value, "<H"))


def entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    raw = name.encode("utf-16-le")
    links = struct.pack("<HBBIII", len(raw) + 2, kind, 1, NONE, NONE, child)
    return raw.ljust(64, b"\0") + links + bytes(36) + struct.pack("<IQ", start, size)


def old_workbook(rows: list[list[str | float]]) -> bytes:
    """One sheet, as records in an OLE container with one sector for its table, one for its entries, and eight."""
    title = text("data", "<B")
    start = len(opening(5)) + len(record(0x85, bytes(6) + title)) + len(record(0x0A))
    stream = opening(5) + record(0x85, struct.pack("<IH", start, 0) + title) + record(0x0A) + opening(0x10)
    stream += b"".join(cell(j, k, value) for j, row in enumerate(rows) for k, value in enumerate(row)) + record(0x0A)
    sectors = [2**32 - 3, END, *range(3, 10), END]
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<9I", 0, 1, 1, 0, 4096, END, 0, END, 0) + struct.pack("<109I", 0, *[NONE] * 108)
    entries = entry("Root Entry", 5, 1, END, 0) + entry("Workbook", 2, NONE, 2, 4096)
    table = struct.pack("<128I", *sectors, *[NONE] * (128 - len(sectors)))
    return header + table + entries.ljust(512, b"\0") + stream.ljust(4096, b"\0")


def test_an_old_workbook_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.xls").write_bytes(old_workbook([["temp", "gas", "y"], [20.0, "01", 0.5], [30.0, "NA", 0.7]]))
    found = read_table(tmp_path / "x.xls", ["temp", "gas", "y"], "Old data")
    assert found.table.to_dict("list") == {"temp": [20, 30], "gas": ["01", "NA"], "y": [0.5, 0.7]}
    assert found.format_place(1) == "row 3"
    assert found.remarks == ()
