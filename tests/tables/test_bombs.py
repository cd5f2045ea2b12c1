"""Small files that would be huge tables: refused by counting, before anything is expanded.

All of them, with their seconds and their memory, are in `python -m benchmarks hostile`.
"""

from pathlib import Path

import pytest

from benchmarks.studies.hostile.bombs import BOMBS, ods, xls, xlsx
from support.errors import raises
from tunedprior.errors import InputError, TunedPriorError
from tunedprior.tables import formats, read_table

# What takes no time to make; the others are hundreds of megabytes before they are packed.
QUICK = [
    "far.xlsx",
    "farthest.xlsx",
    "beyond.xlsx",
    "two-sheets.xlsx",
    "many-sheets.xlsx",
    "no-places.xlsx",
    "small-letters.xlsx",
    "prefix.xlsx",
    "long-text.xlsx",
    "repeated.ods",
    "repeated-once.ods",
    "blanks.ods",
    "rows.ods",
    "blank-rows.ods",
    "text.ods",
    "entities.ods",
    "far.xlsb",
    "far.xls",
    "dimensions.xls",
    "many-sheets.xls",
    "columns.csv",
]


@pytest.mark.parametrize("name", QUICK)
def test_a_bomb_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(BOMBS[name]())
    assert path.stat().st_size < 8_000_000
    with pytest.raises(TunedPriorError, match=name):
        read_table(path, ["x", "y"], "Old data")


@pytest.mark.parametrize("spaces", ["2000000000", "a"])
def test_spaces_that_are_counted_and_not_written(tmp_path: Path, spaces: str) -> None:
    path = tmp_path / "a.ods"
    cell = (
        f'<table:table-cell office:value-type="string"><text:p>x<text:s text:c="{spaces}"/></text:p></table:table-cell>'
    )
    path.write_bytes(ods(f"<table:table-row>{cell}</table:table-row>"))
    with pytest.raises(InputError, match=r"'a\.ods' holds more than 256 MiB"):
        read_table(path, ["x", "y"], "Old data")


def test_limits_are_of_cells_columns_and_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "1,2\n" * 100)
    assert len(read_table(path, ["x", "y"], "Old data")) == 100
    monkeypatch.setattr(formats, "MOST_CELLS", 150)
    with pytest.raises(InputError, match=r"'a\.csv' has more than 150 cells.*pandas\.DataFrame"):
        read_table(path, ["x", "y"], "Old data")
    monkeypatch.setattr(formats, "MOST_COLUMNS", 1)
    with pytest.raises(InputError, match="more than 1 columns"):
        read_table(path, ["x", "y"], "Old data")


@pytest.mark.parametrize("cell", ["<c/>", '<c r="A1"><v>1</v></c>'])
def test_cells_count_wherever_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(xlsx(f'<row r="1">{cell * 200}</row>'))
    monkeypatch.setattr(formats, "MOST_CELLS", 150)
    with raises(InputError, "a.xlsx", "150 cells"):
        read_table(path, ["x", "y"], "Old data")


def test_old_and_new_workbooks_of_that_make_are_read(tmp_path: Path) -> None:
    """What makes the bombs makes sound files too: it is their size that is refused."""
    rows = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>'
    rows += '<row r="2"><c r="A2"><v>1</v></c><c r="B2"><v>2</v></c></row>'
    path = tmp_path / "sound.xlsx"
    path.write_bytes(xlsx(rows, shared="<si><t>x</t></si><si><t>y</t></si>"))
    assert read_table(path, ["x", "y"], "Old data").table.to_dict("records") == [{"x": 1, "y": 2}]
    old = tmp_path / "sound.xls"
    old.write_bytes(xls([(2, 3)]))
    assert read_table(old, ["x"], "Old data").table.columns.tolist() == ["1"]


def test_texts_of_a_parquet_file_count_as_often_as_they_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"x": ["long " * 100] * 1000, "y": range(1000)}), path)
    assert read_table(path, ["x", "y"], "Old data").table["x"].tolist() == ["long " * 100] * 1000
    monkeypatch.setattr("tunedprior.tables.sheets.MOST_TEXT", 100_000)
    with pytest.raises(InputError, match=r"a\.parquet.* holds more than"):
        read_table(path, ["x", "y"], "Old data")
