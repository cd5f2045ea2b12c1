"""Text files in every usual dialect give one table, say what was assumed, and know their lines."""

from collections.abc import Sequence
from io import BytesIO, StringIO

import pytest

from support.errors import raises
from tunedprior.errors import InputError
from tunedprior.tables import ReadTable, parse_numbers, read_table

NAMES = ("temp", "flow", "y")


def read(text: str | bytes, names: Sequence[str] = NAMES) -> ReadTable:
    return read_table(StringIO(text, newline="") if isinstance(text, str) else BytesIO(text), names, "Old data")


def values(found: ReadTable) -> list[list[float]]:
    return [parse_numbers(found.table[name])[0].tolist() for name in found.table.columns]


# Text, what is said, and the lines of its two rows (20, 1, 0.5) and (30, 2.5, 0.7).
DIALECTS = {
    "plain": ("temp,flow,y\n20,1,0.5\n30,2.5,0.7\n", [], [2, 3]),
    "no last end of line": ("temp,flow,y\n20,1,0.5\n30,2.5,0.7", [], [2, 3]),
    "spaces after commas": ("temp, flow, y\n20, 1, 0.5\n30, 2.5, 0.7\n", [], [2, 3]),
    "CRLF": ("temp,flow,y\r\n20,1,0.5\r\n30,2.5,0.7\r\n", [], [2, 3]),
    "CR": ("temp,flow,y\r20,1,0.5\r30,2.5,0.7\r", [], [2, 3]),
    "blank lines": ("\n\ntemp,flow,y\n\n20,1,0.5\n  \n30,2.5,0.7\n\n", [], [5, 7]),
    "quotes": ('"temp","flow","y"\n"20","1","0.5"\n"30","2.5","0.7"\n', [], [2, 3]),
    "semicolons": ("temp;flow;y\n20;1;0.5\n30;2.5;0.7\n", ["separator is ';'"], [2, 3]),
    "decimal commas": ("temp;flow;y\n20;1;0,5\n30;2,5;0,7\n", ["separator is ';'", "decimal commas"], [2, 3]),
    "quoted decimal commas": ('temp,flow,y\n20,1,"0,5"\n30,"2,5"," 0,7 "\n', ["decimal commas"], [2, 3]),
    "tabs": ("temp\tflow\ty\n20\t1\t0.5\n30\t2.5\t0.7\n", ["separator is a tab"], [2, 3]),
    "tabs, decimal commas": ("temp\tflow\ty\n20\t1\t0,5\n30\t2,5\t0,7\n", ["a tab", "decimal commas"], [2, 3]),
    "bars": ("temp|flow|y\n20|1|0.5\n30|2.5|0.7\n", ["separator is '|'"], [2, 3]),
    "spaces": ("temp flow   y\n  20 1 \t0.5  \n  30 2.5 0.7\n", ["separator is spaces"], [2, 3]),
    "declared": ("sep=;\ntemp;flow;y\n20;1;0.5\n30;2.5;0.7\n", ["separator is ';'"], [3, 4]),
    "comments": ('# of\ntemp,flow,y\n% a\n20,1,0.5\n//b, "c\n30,2.5,0.7\n', ["skipped (lines 1, 3, 5)"], [4, 6]),
    "header in a comment": ("# temp,flow,y\n20,1,0.5\n30,2.5,0.7\n", ["skipped (line 1)", "comment in line 1"], [2, 3]),
    "header of savetxt": ("# temp flow y\n20 1 0.5\n30 2.5 0.7\n", ["spaces", "skipped", "comment in line 1"], [2, 3]),
    "units": ("temp,flow,y\n°C,ml/min,\n20,1,0.5\n30,2.5,0.7\n", ["units in line 2"], [3, 4]),
    "units in brackets": ("temp,flow,y\n[°C],[ml min-1],[any]\n20,1,0.5\n30,2.5,0.7\n", ["units in line 2"], [3, 4]),
    "ends of lines": ("temp,flow,y\n20,1,0.5,\n30,2.5,0.7,\n", ["ends of lines"], [2, 3]),
    "ends of all lines": ("temp,flow,y,\n20,1,0.5,\n30,2.5,0.7,\n", ["ends of lines"], [2, 3]),
    "end of the header": ("temp,flow,y,\n20,1,0.5\n30,2.5,0.7\n", ["end of the header"], [2, 3]),
    "rows' numbers": (",temp,flow,y\n0,20,1,0.5\n1,30,2.5,0.7\n", ["first column has no name"], [2, 3]),
    "other names": ("TEMP,Flow (ml/min),y / %\n20,1,0.5\n30,2.5,0.7\n", ["'TEMP'", "'flow'", "'y'"], [2, 3]),
    "lines before": ("Device,A7\n\ntemp,flow,y\n20,1,0.5\n30,2.5,0.7\n", ["before the header (line 3)"], [4, 5]),
    "empty rows": ("temp,flow,y\n20,1,0.5\n,,\n30,2.5,0.7\n,,\n", ["without any entry"], [2, 4]),
}
ENCODINGS = {
    "UTF-8": ("utf-8", []),
    "UTF-8 with a mark": ("utf-8-sig", []),
    "UTF-16": ("utf-16", ["UTF-16"]),
    "UTF-16 LE": ("utf-16-le", ["UTF-16"]),
    "UTF-16 BE": ("utf-16-be", ["UTF-16"]),
    "UTF-32": ("utf-32", ["UTF-32"]),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_the_same_table(dialect: str, encoding: str) -> None:
    text, said, lines = DIALECTS[dialect]
    codec, on_encoding = ENCODINGS[encoding]
    found = read(text.encode(codec))
    assert found.table.columns.tolist() == list(NAMES)
    assert found.table.index.tolist() == [0, 1]
    assert values(found) == [[20.0, 30.0], [1.0, 2.5], [0.5, 0.7]]
    assert [found.format_place(row) for row in range(2)] == [f"line {line}" for line in lines]
    expected = [*on_encoding, *said]
    assert len(found.remarks) == len(expected), found.remarks
    for sentence, part in zip(found.remarks, expected, strict=True):
        assert part in sentence


def test_cp1252_is_the_last_guess() -> None:
    found = read("temp,flow,größe,y\n20,1,µ,0.5\n".encode("cp1252"))
    assert found.table["größe"].tolist() == ["µ"]
    assert found.remarks == ("The encoding is cp1252.",)


def test_the_decimal_comma_of_a_comma_file_is_no_column() -> None:
    """It was read as y = 42, with 20 as the row's name."""
    with pytest.raises(InputError, match=r"line 2 of the open file has 4 .*'20', '1', '0', '42'.*';' or tabs"):
        read("temp,flow,y\n20,1,0,42\n")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("temp,flow,y\n20,1,2\n\n20,1\n", ("line 4", "has 2")),
        ("temp,flow,y\n20,1,2,\n20,1,3\n", ("line 2", "has 4")),
        ("temp;flow;y\n20;1;2;3\n", ("line 2", "has 4", "'20', '1', '2', '3'")),
        ('temp,flow,y\n20,1,2\n20,1,"3\n', ("line 3",)),
        ("temp;flow;y\n20;1;1.234,5\n", ("thousands", "'y'", "'1.234,5'", "line 2")),
        ("temp;flow;y\n20;1;1,234.5\n", ("thousands", "'y'", "line 2")),
        ("temp;flow;y\n20;1;1,234,567\n", ("thousands", "'y'", "line 2")),
        ("temp;flow;y\n20;1;12 345\n", ("thousands", "'y'", "line 2")),
        ('temp,flow,y\n20,1,"1,234"\n', ("'y'", "'1,234'", "line 2", "1.234 or 1234")),
        ('temp,flow,y\n"20,5",1,"1,234"\n"21,5",1,\n', ("'y'", "'1,234'", "line 2", "1.234 or 1234")),
        ('temp,flow,y\n20,1,"9,2"\n20,1,"1,234.5"\n', ("thousands", "'y'", "'1,234.5'", "line 3")),
        ('temp,flow,y\n20,1,"9,2"\n20,1,"1,234,567"\n', ("thousands", "'y'", "'1,234,567'", "line 3")),
        ('temp,flow,y\n20,1.5,"9,2"\n', ("'9,2' in line 2", "'1.5' in line 2")),
        ("temp;flow;y\n20;1,5;3\n20;1,5;0.25\n", ("'1,5' in line 2", "'0.25' in line 3")),
        ("temp,flow,y,y\n20,1,2,3\n", ("'y'", "more than once")),
        ("", ("empty",)),
        ("# only\n# comments\n", ("comments",)),
    ],
)
def test_what_could_be_misread_is_refused_with_its_line(text: str, facts: tuple[str, ...]) -> None:
    with raises(InputError, *facts):
        read(text)


@pytest.mark.parametrize("data", [b"\x00\x01\x02" * 100, b"temp,y\n1,\x81\n", "temp,y\n1,2\n".encode("utf-16")[:-1]])
def test_binaries_are_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="not a text file"):
        read(data)


def test_categories_stay_as_they_stand_there() -> None:
    kinds = [
        "NA",
        "None",
        "null",
        "",
        "01",
        "1",
        "nan",
        "true",
        "1e3",
        "a, b",
        'say "x"',
        "two\r\nlines",
        "x\u2028y",
        "#1",
    ]
    lines = "\n".join('"' + kind.replace('"', '""') + '",1' for kind in kinds)
    found = read(f"kind,y\n{lines}\n", ["kind", "y"])
    assert found.table["kind"].tolist() == kinds
    assert found.format_place(12) == "line 15"  # one cell before it has two lines
    assert found.remarks == ()


def test_quoted_decimal_commas_of_which_some_have_three_digits() -> None:
    """What is no thousands separator in one cell of a column is none in the others."""
    found = read('temp,flow,y\n"1,234","-0,125","9,2"\n"1,5","2,250",failed\n"1234,567",3,\n')
    assert found.table["y"].tolist() == ["9.2", "failed", ""]
    assert [parse_numbers(found.table[name])[0].tolist() for name in ("temp", "flow")] == [
        [1.234, 1.5, 1234.567],
        [-0.125, 2.25, 3.0],
    ]
    assert found.remarks == ("Numbers have decimal commas.",)


@pytest.mark.parametrize("cells", [["1,2", "1,3-mix"], ["1,234", "mixed"], ["1,2", "a, b"]])
def test_quoted_commas_of_categories_stay(cells: list[str]) -> None:
    found = read("kind,y\n" + "".join(f'"{cell}",1\n' for cell in cells), ["kind", "y"])
    assert found.table["kind"].tolist() == cells
    assert found.remarks == ()


def test_one_column_may_hold_empty_text() -> None:
    assert read('kind\n""\na\n', ["kind"]).table["kind"].tolist() == ["", "a"]


def test_a_first_row_that_failed_is_no_line_of_units() -> None:
    assert len(read("gas,temp,y\nA,20,failed\nB,30,1\n", ["gas", "temp", "y"])) == 2
    assert len(read("gas,kind,y\nA,m,\nB,s,1\n", ["gas", "kind", "y"])) == 2
    assert len(read("gas,kind,y\nA,m,failed\nB,s,1\n", ["gas", "kind", "y"])) == 2


def test_names_are_matched_only_if_there_is_one_way() -> None:
    assert read("temp [K],flow,y\n1,2,3\n", ["temp [°C]", "flow", "y"]).table.columns.tolist() == [
        "temp [K]",
        "flow",
        "y",
    ]
    assert read("Temp,TEMP,y\n1,2,3\n", ["temp", "y"]).table.columns.tolist() == ["Temp", "TEMP", "y"]
    assert read("Temp,temp,y\n1,2,3\n", ["temp", "y"]).table["temp"].tolist() == ["2"]
    assert read("x(1),x(2),y\n1,2,3\n", ["x", "y"]).table.columns.tolist() == ["x(1)", "x(2)", "y"]


def test_a_unit_without_brackets_counts_where_nothing_else_is_like_the_name() -> None:
    assert read("Temp °C,Yield %\n1,2\n", ["temp", "yield"]).table.columns.tolist() == ["temp", "yield"]
    for header in ("acid [g],acid %,y", "acid %,Acid,y"):
        found = read(f"{header}\n1,2,3\n", ["acid", "y"]).table.columns.tolist()
        assert found.count("acid") == 1
        assert "acid %" in found
    assert "mol%" in read("mol%,y\n1,2\n", ["mol", "y"]).table.columns


def test_columns_that_nobody_asked_for_may_hold_anything() -> None:
    found = read("temp;flow;y;note;note\n20;1,5;0,5;1.5;see 1,234.5\n")
    assert found.table.iloc[0].tolist() == ["20", "1.5", "0.5", "1.5", "see 1,234.5"]
    assert found.table.columns.tolist() == [*NAMES, "note", "note (2)"]


def test_a_header_alone_is_a_table_without_rows() -> None:
    assert read("temp,flow,y\n").table.shape == (0, 3)


def test_a_column_of_decimal_commas_alone() -> None:
    assert values(read("y\n1,5\n2,5\n", ["y"])) == [[1.5, 2.5]]
