import csv
from pathlib import Path

import pandas as pd
import pytest
from openpyxl import load_workbook

from tunedprior.errors import InputError
from tunedprior.tables import read_table
from tunedprior.workspace.sheets import check_output_path, write_table

TABLE = pd.DataFrame({"trial": [1, 2], "heat": [20.5, 30.0], "note": ["=1+1|cmd", "größer <b>"]})


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_table_reads_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"next week.{ending}"
    write_table(TABLE, path)
    read = read_table(path, list(TABLE.columns), "It").table
    assert read["note"].tolist() == TABLE["note"].tolist()
    assert [float(cell) for cell in read["heat"]] == [20.5, 30.0]


def test_a_note_is_no_formula(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "a.xlsx")
    cell = load_workbook(tmp_path / "a.xlsx").active["C2"]
    assert (cell.data_type, cell.value) == ("s", "=1+1|cmd")


def test_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunedprior.workspace.sheets.os.access", lambda *_: False)
    with pytest.raises(InputError, match="is read-only"):
        check_output_path(tmp_path / "a.csv")


HOSTILE = [
    "=1+1",
    "=cmd|' /C calc'!A0",
    "+1+cmd",
    "-1+cmd",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "＝1+1",
    "'=1",
    "''=1",
    "'",
    "-",
    "a;=1+1",
    'a";=1',
    "a\t=1",
    "a\n=1",
    "a;;'=1\t\t@x",
    "-5",
    "+5e-3",
    "'-5",
    "_x0041_",
    "bell\x07 and \x1b[2J",
]


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_never_a_formula_and_reads_back(tmp_path: Path, ending: str, text: str) -> None:
    header = text if text.strip() == text and "\x1b" not in text and len(text) > 2 else "note"
    path = tmp_path / f"sheet.{ending}"
    write_table(pd.DataFrame({"trial": [1, 2], header: [text, "plain"]}), path)
    read = read_table(path, ["trial", header], "It").table
    assert read.columns.tolist() == ["trial", header]
    assert read[header].tolist() == [text, "plain"]
    if ending == "csv":
        for separator in ",;\t":
            for row in csv.reader(path.read_text("utf-8-sig").splitlines(keepends=True), delimiter=separator):
                for cell in row:
                    assert cell[:1] not in set("=+-@\t\r＝＋－＠") or cell in ("-5", "+5e-3"), (separator, row)
        return
    sheet = load_workbook(path).active
    for cell in (sheet["B1"], sheet["B2"]):
        assert cell.data_type == "s"
        assert cell.quotePrefix or not cell.value.startswith(("=", "@", "+1", "-1"))
