"""Files that are faulty as files: what is said of them, and what is read of them all the same."""

from pathlib import Path

import numpy as np
import pytest

from tunedprior.errors import InputError
from tunedprior.source_data.text_checks import OpenedTable, open_table

NAMES, NUMERIC = ["heat", "gas", "y"], ["heat", "y"]
PLAIN = "heat,gas,y\n20.5,air,1.5\n30.5,argon,2.5\n40.5,air,3.5\n50.5,argon,4.5\n"


def read(folder: Path, content: str | bytes, name: str = "old.csv") -> OpenedTable:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_table(path, NAMES, NUMERIC)


def only(found: OpenedTable) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    (fault,) = found.faults
    assert fault.text
    assert fault.remedy
    return fault.kind, fault.columns, fault.rows


def heats(found: OpenedTable) -> list[float]:
    assert found.table is not None
    return [float(cell) for cell in found.table.table["heat"]]


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.replace(",", ";").replace(".", ","),
        PLAIN.replace(",", "\t"),
        "# a comment\n" + PLAIN,
        PLAIN.replace("\n", ",\n"),
        PLAIN.encode("utf-16"),
        PLAIN.replace("argon", "öl").encode("cp1252"),
        PLAIN.replace("argon", "öl").encode(),
        PLAIN.replace("argon", "öl").encode("utf-8-sig"),
        PLAIN.replace("heat", "Heat [°C]"),
    ],
)
def test_a_file_in_any_usual_dialect_has_no_fault(content: str | bytes, tmp_path: Path) -> None:
    found = read(tmp_path, content)
    assert found.faults == ()
    assert heats(found) == [20.5, 30.5, 40.5, 50.5]


def test_no_header(tmp_path: Path) -> None:
    found = read(tmp_path, PLAIN.split("\n", 1)[1])
    assert only(found) == ("no header", (), ("line 1",))
    assert found.table is None


def test_the_header_again(tmp_path: Path) -> None:
    found = read(tmp_path, PLAIN + PLAIN)
    assert only(found) == ("repeated header", (), ("line 6",))
    assert heats(found) == 2 * [20.5, 30.5, 40.5, 50.5]
    assert found.table is not None
    assert found.table.format_place(4) == "line 7"
    assert [one.row for one in found.rejected] == ["line 6"]


def test_a_file_that_was_cut_off(tmp_path: Path) -> None:
    found = read(tmp_path, PLAIN + "60.5,ai")
    assert only(found) == ("cut-off line", (), ("line 6",))
    assert heats(found) == [20.5, 30.5, 40.5, 50.5]


def test_a_cell_too_many(tmp_path: Path) -> None:
    found = read(tmp_path, PLAIN.replace("30.5,", "30.5,,"))
    assert only(found) == ("uneven lines", (), ("line 3",))
    assert heats(found) == [20.5, 40.5, 50.5]


def test_decimal_commas_where_commas_separate(tmp_path: Path) -> None:
    found = read(tmp_path, PLAIN.replace(".", ","))
    assert only(found)[0] == "decimal commas among commas"
    assert found.table is None
    quoted = read(tmp_path, "heat,gas,y\n" + "".join(f'"{k},25",air,1\n' for k in range(20, 24)))
    assert quoted.faults == ()
    assert heats(quoted) == [20.25, 21.25, 22.25, 23.25]
    assert quoted.table.remarks == ("Numbers have decimal commas.",)


def test_quoted_commas_that_may_be_thousands(tmp_path: Path) -> None:
    rows = "".join(f'"{k},250",air,"1,5"\n' for k in range(20, 24))
    found = read(tmp_path, f"heat,gas,y\n{rows}")
    assert only(found) == ("decimal commas among commas", ("heat",), ("line 2",))
    assert "'20,250' in line 2 may be 20.250 or 20250" in found.faults[0].text
    assert heats(found) == [20.25, 21.25, 22.25, 23.25]


def test_points_and_commas(tmp_path: Path) -> None:
    found = read(tmp_path, PLAIN.replace(",", ";").replace("30.5", "30,5"))
    assert only(found) == ("mixed decimal signs", ("heat",), ("line 3",))
    assert heats(found) == [20.5, 30.5, 40.5, 50.5]


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["1.020,5", "1.030", "400,5"], ";"),
        (["1,020.5", "1,030", "400.5"], ";"),
        (["1 020,5", "1 030", "400,5"], ";"),
        (["1'020.5", "1'030", "400.5"], ","),
        (['"1,020.5"', '"1,030"', "400.5"], ","),
    ],
)
def test_thousands_separators(cells: list[str], separator: str, tmp_path: Path) -> None:
    lines = [separator.join(["heat", "gas", "y"]), *(separator.join([cell, "air", "1"]) for cell in cells)]
    found = read(tmp_path, "\n".join(lines))
    assert only(found) == ("thousands separators", ("heat",), ("line 2", "line 3"))
    assert heats(found) == [1020.5, 1030.0, 400.5]


def test_three_decimals_are_no_thousands(tmp_path: Path) -> None:
    found = read(tmp_path, "heat;gas;y\n1,234;air;1\n2,345;air;2\n")
    assert found.faults == ()
    assert heats(found) == [1.234, 2.345]


def test_two_encodings(tmp_path: Path) -> None:
    lines = PLAIN.replace("argon", "öl").splitlines(keepends=True)
    found = read(tmp_path, "".join(lines[:4]).encode() + "".join(lines[4:]).encode("cp1252"))
    assert only(found) == ("mixed encodings", (), ("line 5",))
    assert found.table is not None
    assert found.table.table["gas"].tolist() == ["air", "öl", "air", "öl"]


def test_text_that_was_encoded_twice(tmp_path: Path) -> None:
    text = PLAIN.replace("argon", "öl").encode().decode("cp1252")
    found = read(tmp_path, text)
    assert only(found) == ("mixed encodings", (), ("line 3", "line 5"))
    assert found.table is not None
    assert found.table.table["gas"].tolist() == ["air", "öl", "air", "öl"]


def test_several_faults_at_once(tmp_path: Path) -> None:
    text = PLAIN.replace(",", ";").replace("30.5", "30,5")
    found = read(tmp_path, text + text.split("\n")[0] + "\n60,5;ai")
    assert {one.kind for one in found.faults} == {"repeated header", "cut-off line", "mixed decimal signs"}
    assert heats(found) == [20.5, 30.5, 40.5, 50.5]


def test_what_is_no_text_is_left_to_the_reader(tmp_path: Path) -> None:
    assert open_table({"heat": [1.0], "gas": ["air"], "y": [2.0]}, NAMES, NUMERIC).faults == ()
    with pytest.raises(InputError, match="no file"):
        open_table(str(tmp_path / "nothing.csv"), NAMES, NUMERIC)
    with pytest.raises(InputError, match="not a text file"):
        read(tmp_path, np.random.default_rng(0).bytes(2000))
