"""Tables of a few kilobytes that would fill the memory, and what reading one of them takes."""

import bz2
import gzip
import io
import json
import lzma
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

#: What a bomb may take before it is refused.
MOST_SECONDS, MOST_GIB = 10.0, 2.0
_MIB = 2**20
_TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MANIFEST = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def _zipped(parts: dict[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, part in parts.items():
            packed.writestr(name, part)
    return stream.getvalue()


def xlsx(*sheets: str, shared: str = "", prefix: str = "") -> bytes:
    """A workbook of sheets with these rows."""
    numbers = range(1, len(sheets) + 1)
    names = "".join(f'<sheet name="S{k}" sheetId="{k}" r:id="rId{k}"/>' for k in numbers)
    kind = f"{_RELATIONS}/worksheet"
    links = "".join(f'<Relationship Id="rId{k}" Type="{kind}" Target="worksheets/sheet{k}.xml"/>' for k in numbers)
    if shared:
        links += f'<Relationship Id="rIdS" Type="{_RELATIONS}/sharedStrings" Target="sharedStrings.xml"/>'
    space = f'xmlns="{_SHEET}"' + (f' xmlns:{prefix[:-1]}="{_SHEET}"' if prefix else "")
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="rId1" Type="{_RELATIONS}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_RELATIONS}"><sheets>{names}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}">{links}</Relationships>',
    }
    for k, rows in zip(numbers, sheets, strict=True):
        data = f"<{prefix}sheetData>{rows}</{prefix}sheetData>"
        parts[f"xl/worksheets/sheet{k}.xml"] = f"<{prefix}worksheet {space}>{data}</{prefix}worksheet>"
    if shared:
        parts["xl/sharedStrings.xml"] = f'<sst xmlns="{_SHEET}">{shared}</sst>'
    return _zipped(parts)


def _cell(place: str) -> str:
    row = "".join(filter(str.isdecimal, place))
    return f'<row r="{row}"><c r="{place}"><v>1</v></c></row>'


def _with_size_that_lies() -> bytes:
    """A sheet of 280 MiB that is said to have a hundred bytes."""
    data = bytearray(xlsx(_cell("A1") + " " * 280 * _MIB))
    at = data.index(b"xl/worksheets/sheet1.xml")
    for header, sizes in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        begun = data.rindex(header, 0, at if header == b"PK\x03\x04" else len(data))
        while bytes(data[begun:]).find(b"sheet1.xml") > 100:
            begun = data.rindex(header, 0, begun)
        struct.pack_into("<I", data, begun + sizes, 100)
    return bytes(data)


def ods(rows: str, definitions: str = "") -> bytes:
    """An OpenDocument sheet of these rows."""
    named = " ".join(
        f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"' for one in ("office", "table", "text")
    )
    table = f'<table:table table:name="S">{rows}</table:table>'
    body = f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body>"
    return _zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "META-INF/manifest.xml": f"<m:manifest xmlns:m={_MANIFEST!r}/>",
            "content.xml": f"<?xml version='1.0'?>{definitions}<office:document-content {named}>{body}"
            "</office:document-content>",
        }
    )


def _ods_row(cells: str, times: int = 1) -> str:
    return f'<table:table-row table:number-rows-repeated="{times}">{cells}</table:table-row>'


def _ods_cell(times: int = 1, text: str = "", blank: bool = False) -> str:
    value = "" if blank else ' office:value-type="string"' if text else ' office:value-type="float" office:value="1"'
    inside = f"<text:p>{text}</text:p>" if text else ""
    return f'<table:table-cell table:number-columns-repeated="{times}"{value}>{inside}</table:table-cell>'


def _xlsb(row: int, column: int) -> bytes:
    def record(kind: int, content: bytes) -> bytes:
        number = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
        return number + bytes([len(content)]) + content

    name, link = "S".encode("utf-16-le"), "rId1".encode("utf-16-le")
    about = struct.pack("<III", 0, 1, 4) + link + struct.pack("<I", 1) + name
    book = record(131, b"") + record(143, b"") + record(156, about) + record(144, b"") + record(132, b"")
    head = struct.pack("<III", row, 0, 0) + bytes(13)
    cells = record(0, head) + record(5, struct.pack("<IId", column, 0, 1.0))
    sheet = record(129, b"") + record(148, struct.pack("<IIII", 0, row, 0, column)) + record(145, b"") + cells
    kind = f"{_RELATIONS}/worksheet"
    links = f'<Relationship Id="rId1" Type="{kind}" Target="worksheets/sheet1.bin"/>'
    return _zipped(
        {
            "[Content_Types].xml": _TYPES,
            "xl/workbook.bin": book,
            "xl/_rels/workbook.bin.rels": f'<Relationships xmlns="{_PACKAGE}">{links}</Relationships>',
            "xl/worksheets/sheet1.bin": sheet + record(146, b"") + record(130, b""),
        }
    )


def xls(cells: list[tuple[int, int]], dimensions: tuple[int, int] = (1, 1)) -> bytes:
    """An old Excel file with a sheet for each of these places, in a compound file of sectors of 512 bytes."""

    def record(kind: int, content: bytes) -> bytes:
        return struct.pack("<HH", kind, len(content)) + content

    end = record(0x000A, b"")
    begin = record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 0))
    sheets = []
    for row, column in cells:
        size = record(0x0200, struct.pack("<IIHHH", 0, dimensions[0], 0, dimensions[1], 0))
        sheets.append(begin + size + record(0x0203, struct.pack("<HHHd", row, column, 0, 1.0)) + end)
    first = record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 0))
    length = len(first) + len(end) + sum(12 + len(f"S{k}") for k in range(len(sheets)))
    names, at = b"", length
    for k, sheet in enumerate(sheets):
        name = f"S{k}".encode()
        names += record(0x0085, struct.pack("<IBBBB", at, 0, 0, len(name), 0) + name)
        at += len(sheet)
    stream = (first + names + end + b"".join(sheets)).ljust(4096, b"\0")
    count = -(-len(stream) // 512)
    tables = -(-(count + 2) // 127) + 1
    chain = [*([0xFFFFFFFD] * tables), 0xFFFFFFFE, *range(tables + 2, tables + 1 + count), 0xFFFFFFFE]
    table = struct.pack(f"<{len(chain)}I", *chain).ljust(tables * 512, b"\xff")

    def entry(name: str, kind: int, start: int, size: int, child: int = 0xFFFFFFFF) -> bytes:
        encoded = name.encode("utf-16-le") + b"\0\0"
        links = struct.pack("<III", 0xFFFFFFFF, 0xFFFFFFFF, child)
        head = encoded.ljust(64, b"\0") + struct.pack("<HBB", len(encoded), kind, 1) + links
        return head + bytes(36) + struct.pack("<IQ", start, size)

    folder = entry("Root Entry", 5, 0xFFFFFFFE, 0, 1) + entry("Workbook", 2, tables + 1, len(stream))
    head = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<9I", 0, tables, tables, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0)
    head += struct.pack(f"<{tables}I", *range(tables)).ljust(436, b"\xff")
    return head + table + folder.ljust(512, b"\0") + stream.ljust(count * 512, b"\0")


def _parquet(columns: dict[str, object], **options: object) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(pa.table(columns), stream, compression="zstd", **options)
    return stream.getvalue()


def _many_rows(rows: int) -> bytes:
    """As many rows of one number, written piece by piece."""
    import pyarrow as pa
    from pyarrow import parquet

    stream, piece = io.BytesIO(), pa.table({"x": np.zeros(10**7), "y": np.zeros(10**7)})
    with parquet.ParquetWriter(stream, piece.schema, compression="zstd") as writer:
        for _ in range(rows // 10**7):
            writer.write_table(piece, row_group_size=10**7)
    return stream.getvalue()


def _long_texts(rows: int, length: int) -> bytes:
    import pyarrow as pa

    texts = pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), pa.array(["x" * length]))
    return _parquet({"x": texts, "y": np.zeros(rows)}, store_schema=False)


def _shared_beginnings(rows: int, length: int) -> bytes:
    texts = ["x" * length + str(k) for k in range(rows)]
    return _parquet({"x": texts}, use_dictionary=False, column_encoding={"x": "DELTA_BYTE_ARRAY"}, data_page_size=2**30)


def _lines(line: bytes, size: int) -> bytes:
    return b"x,y\n" + line * (size // len(line))


def _in_zip(data: bytes, name: str) -> bytes:
    return _zipped({name: data})


_FAR = "ZZ1048576"
_NO_PLACES = f'<row r="1">{"<c><v>1</v></c>" * 5000}</row><row r="1000000"><c><v>1</v></c></row>'
_LAUGHS = "<!DOCTYPE a [<!ENTITY a 'lol'>" + "".join(
    f"<!ENTITY {chr(98 + k)} '{f'&{chr(97 + k)};' * 10}'>" for k in range(9)
)
#: The name of each file, and what makes it.
BOMBS: dict[str, Callable[[], bytes]] = {
    "far.xlsx": lambda: xlsx(_cell("A1") + _cell(_FAR)),
    "farthest.xlsx": lambda: xlsx(_cell("XFD1048576")),
    "beyond.xlsx": lambda: xlsx(_cell("ZZZZZZZ999999999")),
    "two-sheets.xlsx": lambda: xlsx(*[_cell("DZZ3500")] * 2),
    "many-sheets.xlsx": lambda: xlsx(*[_cell("CV100000")] * 200),
    "no-places.xlsx": lambda: xlsx(_NO_PLACES),
    "small-letters.xlsx": lambda: xlsx(_cell("zz1048576").replace('"', "'")),
    "prefix.xlsx": lambda: xlsx(_cell(_FAR).replace("<", "<x:").replace("<x:/", "</x:"), prefix="x:"),
    "spaces.xlsx": lambda: xlsx(_cell("A1") + " " * 280 * _MIB),
    "shared-texts.xlsx": lambda: xlsx(_cell("A1"), shared="<si><t>" + "x" * 280 * _MIB + "</t></si>"),
    "one-text.xlsx": lambda: xlsx(
        '<row r="1">' + "".join(f'<c r="A{k}" t="s"><v>0</v></c>' for k in range(1, 200_001)) + "</row>",
        shared=f"<si><t>{'x' * 30_000}</t></si>",
    ),
    "long-text.xlsx": lambda: xlsx(
        '<row r="1">' + "".join(f'<c r="A{k}" t="s"><v>0</v></c>' for k in range(1, 5001)) + "</row>",
        shared=f"<si><t>{'x' * _MIB}</t></si>",
    ),
    "false-size.xlsx": _with_size_that_lies,
    "repeated.ods": lambda: ods(_ods_row(_ods_cell(16384), 1048576)),
    "repeated-once.ods": lambda: ods(_ods_row(_ods_cell(2_000_000_000))),
    "blanks.ods": lambda: ods(_ods_row(_ods_cell(2_000_000_000, blank=True) + _ods_cell())),
    "rows.ods": lambda: ods(_ods_row(_ods_cell(), 2_000_000_000)),
    "blank-rows.ods": lambda: ods(_ods_row(_ods_cell(blank=True), 2_000_000_000) + _ods_row(_ods_cell())),
    "text.ods": lambda: ods(_ods_row(_ods_cell(1000, text="x" * 100_000), 1000)),
    "entities.ods": lambda: ods(_ods_row(_ods_cell(text="&j;")), definitions=_LAUGHS + "]>"),
    "spaces.ods": lambda: ods(_ods_row(_ods_cell()) + " " * 280 * _MIB),
    "far.xlsb": lambda: _xlsb(1_048_575, 16_383),
    "far.xls": lambda: xls([(65535, 65535)]),
    "dimensions.xls": lambda: xls([(0, 0)], dimensions=(2**32 - 2, 65535)),
    "many-sheets.xls": lambda: xls([(65535, 255)] * 100),
    "columns.csv": lambda: (",".join(f"c{k}" for k in range(500_000)) + "\n" + "1," * 499_999 + "1\n").encode(),
    "rows.csv.gz": lambda: gzip.compress(_lines(b"1,2\n", 200 * _MIB), 1),
    "commas.csv.gz": lambda: gzip.compress(_lines(b"," * 1000 + b"\n", 250 * _MIB), 1),
    "large.csv.gz": lambda: gzip.compress(_lines(b"1,2\n", 600 * _MIB), 1),
    "large.csv.bz2": lambda: bz2.compress(_lines(b"1,2\n", 280 * _MIB), 1),
    "large.csv.xz": lambda: lzma.compress(_lines(b"1,2\n", 280 * _MIB), preset=0),
    "large.zip": lambda: _in_zip(_lines(b"1,2\n", 600 * _MIB), "large.csv"),
    "zip-in-zip.zip": lambda: _in_zip(_in_zip(_lines(b"1,2\n", 280 * _MIB), "large.csv"), "inner.zip"),
    "rows.parquet": lambda: _many_rows(2 * 10**8),
    "columns.parquet": lambda: _parquet({f"c{k}": [1.0] for k in range(50_000)}),
    "texts.parquet": lambda: _long_texts(10**6, _MIB),
    "beginnings.parquet": lambda: _shared_beginnings(400, 2 * _MIB),
}

_CHILD = """
import json, resource, sys, time
from tunedprior.errors import TunedPriorError
from tunedprior.tables import read_table
resource.setrlimit(resource.RLIMIT_AS, (24 * 2**30, 24 * 2**30))
begun, outcome = time.perf_counter(), "read"
try:
    read_table(sys.argv[1], ["x", "y"], "Old data")
except TunedPriorError as error:
    outcome = "refused" if sys.argv[2] in str(error) else f"without its name: {error}"
except BaseException as error:
    outcome = f"{type(error).__name__}: {error}"
seconds = time.perf_counter() - begun
line = next(one for one in open("/proc/self/status") if one.startswith("VmHWM"))  # since this program began
print(json.dumps([outcome, seconds, int(line.split()[1]) / 2**20]))
"""


def read_bomb(name: str) -> tuple[str, float, float, int]:
    """What comes of reading it in a process of its own: the outcome, seconds, GiB at most, and the file's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(BOMBS[name]())
        try:
            done = subprocess.run(
                [sys.executable, "-c", _CHILD, str(path), name],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            outcome, seconds, peak = json.loads(done.stdout) if done.stdout else (f"ended with {done.returncode}", 0, 0)
        except subprocess.TimeoutExpired:
            outcome, seconds, peak = "took too long", 120.0, 0.0
        return outcome, seconds, peak, path.stat().st_size
