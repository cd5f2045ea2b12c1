from pathlib import Path

import pandas as pd
import pytest
from openpyxl import load_workbook

from tunedprior.desk.written_tables import refuse_to_overwrite, write_table
from tunedprior.errors import InputError
from tunedprior.files import read_table

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
    monkeypatch.setattr("tunedprior.desk.written_tables.os.access", lambda *_: False)
    with pytest.raises(InputError, match="is read-only"):
        refuse_to_overwrite(tmp_path / "a.csv")
