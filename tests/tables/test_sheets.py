"""What people have in the cells of a workbook: numbers as text, errors, formulas that were never computed."""

from pathlib import Path
from typing import Any

import openpyxl
import pytest

from tunedprior.errors import InputError
from tunedprior.tables import ReadTable, read_table

SAID = "Numbers have decimal commas."


def sheet_of(path: Path, *rows: list[Any]) -> ReadTable:
    book = openpyxl.Workbook()
    book.active.title = "first & only"
    for row in rows:
        book.active.append(row)
    for row in book.active:
        for cell in row:
            if isinstance(cell.value, str) and cell.value.startswith("#"):
                cell.data_type = "e"
    book.save(path / "x.xlsx")
    return read_table(path / "x.xlsx", [str(name) for name in rows[0]], "Old data")


def test_text_with_decimal_commas(tmp_path: Path) -> None:
    found = sheet_of(tmp_path, ["t", "gas", "y"], ["600,0", "air", "20,5"], ["60,0", "N2, dry", 7.25], [50, "air", "x"])
    assert found.table.to_dict("list") == {
        "t": ["600.0", "60.0", 50],
        "gas": ["air", "N2, dry", "air"],
        "y": ["20.5", 7.25, "x"],
    }
    assert SAID in found.remarks


@pytest.mark.parametrize("cells", [["1,234", "5,678"], ["a", "1,5", "b"], ["1.5", "2.5"], [1.5, 2.5]])
def test_what_may_be_something_else_stays(tmp_path: Path, cells: list[Any]) -> None:
    found = sheet_of(tmp_path, ["t", "n"], *([cell, 1] for cell in cells))
    assert found.table["t"].tolist() == cells
    assert SAID not in found.remarks


def test_both_ways_at_once_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="decimal points or decimal commas, not both"):
        sheet_of(tmp_path, ["t", "y"], ["1,5", "2.5"])


def test_cells_that_are_shown_as_per_cent(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["y [%]", "t"], [0.1, 20], ["12%", 30], [25.0, 40]):
        book.active.append(row)
    for row, shown in enumerate(("0.0%", "0.0%", '0.0" %"'), 2):
        book.active[f"A{row}"].number_format = shown
    book.save(tmp_path / "x.xlsx")
    found = read_table(tmp_path / "x.xlsx", ["t", "y"], "Old data")
    assert found.percentages == {"y": [0]}
    assert found.table["y"].tolist() == [0.1, "12%", 25]
    assert found.format_percentages(["y", "t"]).table["y"].tolist() == ["10%", "12%", 25]
    (said,) = (one for one in found.remarks if "per cent" in one)
    assert said.startswith(
        "Cells of 'y' are shown as per cent, and their numbers are taken as they are stored: 0.1 for"
    )


TITLES = [["Reactor B, spring 2024", None, None], [None, None, None], [None, None, 2024]]
ROWS = [["T [°C]", "gas", "Yield"], [20, "air", 0.5], [30, "N2", 0.75]]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("names", [[], ["T", "gas", "Yield"], ["T", "gas", "purity"]])
def test_a_header_below_titles_is_found(tmp_path: Path, count: int, names: list[str]) -> None:
    book = openpyxl.Workbook()
    for row in [*TITLES[:count], *ROWS]:
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    found = read_table(tmp_path / "x.xlsx", names, "Old data")
    assert f"Rows before the header (row {count + 1}) are skipped." in found.remarks
    assert found.table.to_dict("list")["gas"] == ["air", "N2"]
    assert found.format_place(0) == f"row {count + 2}"


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_header_below_a_title_in_a_text_file(tmp_path: Path, separator: str) -> None:
    lines = ["Reactor B"] + [separator.join(map(str, row)) for row in ROWS]
    (tmp_path / "x.csv").write_text("\n".join(lines), encoding="utf-8")
    found = read_table(tmp_path / "x.csv", [], "Old data")
    assert list(found.table.columns) == ["T [°C]", "gas", "Yield"]
    assert found.format_place(1) == "line 4"


@pytest.mark.parametrize(
    "rows",
    [
        [[None, "y"], [1, 0.5], [2, 0.75]],  # a column of numbers without a name
        [["solvent", "y"], ["water", "good"], ["acid", "bad"]],
        [["x"], [1], [2]],
        [["a", "b", None, None], [1, 2, 3, 4]],
    ],
)
def test_what_stands_first_is_the_header(tmp_path: Path, rows: list[Any]) -> None:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    found = read_table(tmp_path / "x.xlsx", [], "Old data")
    assert len(found) == len(rows) - 1
    assert list(found.table.columns) == [name for name in rows[0] if name]


def test_errors_and_formulas_without_values_are_not_blank(tmp_path: Path) -> None:
    rows = [["t", "y"], [1, "#DIV/0!"], ["#N/A", "=A2&B2"], [None, 3]]
    found = sheet_of(tmp_path, *rows)
    assert found.table["y"].tolist() == ["#DIV/0!", "=A2&B2", 3]
    assert found.table["t"].tolist()[:2] == [1, "#N/A"]
    assert found.table["t"].isna().tolist() == [False, False, True]


def merged_sheet(path: Path, titles: int = 1) -> Path:
    """Catalysts that are merged down, a solvent and an acid that are merged across, and a merged title."""
    book = openpyxl.Workbook()
    sheet = book.active
    for _ in range(titles):
        sheet.append(["Reactor B, spring"])
    sheet.append(["catalyst", "solvent", "acid", "T", "y"])
    for row in [["A", "none", None, 20, 1], [None, "x", "y", 30, 2], [None, "x", "z", 40, 3], ["B", "w", None, 50, 4]]:
        sheet.append(row)
    for first, last in ((f"A{titles + 2}", f"A{titles + 4}"), (f"B{titles + 2}", f"C{titles + 2}")):
        sheet.merge_cells(f"{first}:{last}")
    if titles:
        sheet.merge_cells("A1:E1")
    sheet.append(["since then with the new pump"])
    sheet.merge_cells(f"A{titles + 6}:E{titles + 6}")
    book.save(path / "x.xlsx")
    return path / "x.xlsx"


@pytest.mark.parametrize("names", [[], ["catalyst", "solvent", "acid", "T", "y"]])
@pytest.mark.parametrize("titles", [0, 1])
def test_merged_cells_have_the_value_of_the_first(tmp_path: Path, titles: int, names: list[str]) -> None:
    found = read_table(merged_sheet(tmp_path, titles), names, "Old data")
    assert found.table["catalyst"].tolist() == ["A", "A", "A", "B", "since then with the new pump"]
    assert found.table["acid"].tolist() == ["none", "y", "z", None, None]
    assert found.table["T"].tolist()[:4] == [20, 30, 40, 50]
    assert "Merged cells have the value of the first of them: 'catalyst' (2), 'acid' (1)." in found.remarks


def test_merged_cells_of_blank_rows_make_no_rows(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in [["gas", "y"], ["air", 1], [None, None], [None, 3]]:
        book.active.append(row)
    book.active.merge_cells("A2:A20000")
    book.save(tmp_path / "x.xlsx")
    found = read_table(tmp_path / "x.xlsx", ["gas", "y"], "Old data")
    assert (found.table["gas"].tolist(), found.format_place(1)) == (["air", "air"], "row 4")


def test_merged_cells_count_as_often_as_they_are_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = merged_sheet(tmp_path)
    monkeypatch.setattr("tunedprior.tables.sheets.MOST_TEXT", 4)
    with pytest.raises(InputError, match="holds more than"):
        read_table(path, [], "Old data")


def test_merged_cells_are_shown_as_the_first_one(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in [["x", "y"], [1, 0.1], [2, None], [3, None]]:
        book.active.append(row)
    book.active["B2"].number_format = "0%"
    book.active.merge_cells("B2:B4")
    book.save(tmp_path / "x.xlsx")
    found = read_table(tmp_path / "x.xlsx", ["x", "y"], "Old data")
    assert found.table["y"].tolist() == [0.1, 0.1, 0.1]
    assert found.percentages == {"y": [0, 1, 2]}
