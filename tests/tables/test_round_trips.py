"""Any table, written in any dialect, is read as it was."""

import csv
from io import BytesIO, StringIO

from hypothesis import given
from hypothesis import strategies as st

from tunedprior.errors import FileFormatError, InputError
from tunedprior.tables import parse_numbers, read_table

# Cells of categories: any text without what no text file holds. Spaces around a cell are not kept, and what looks like
# a number with a comma is one.
LETTERS = st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0\r\ufeff")
WORDS = st.text(LETTERS, max_size=8).map(str.strip).filter(lambda word: not set(".,") & set(word) or word.isalpha())
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.lists(st.tuples(FLOATS, WORDS, FLOATS), min_size=1, max_size=12)


@given(
    rows=ROWS,
    separator=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le"]),
    comma=st.booleans(),
    comments=st.lists(st.integers(0, 12)),
    units=st.booleans(),
)
def test_any_table_in_any_dialect_is_read_as_it_was(rows, separator, end, encoding, comma, comments, units) -> None:
    comma = comma and separator != ","
    lines, places = [], []

    def put(*cells: str) -> None:
        file = StringIO(newline="")
        csv.writer(file, delimiter=separator, lineterminator=end, quoting=csv.QUOTE_ALL).writerow(cells)
        lines.append(file.getvalue())

    put("Temp [°C]", "gas", "y")
    if units:
        put("°C", "", "%")
    for k, (one, word, other) in enumerate(rows):
        lines.extend(f'# comment, "{end}' for place in comments if place == k)
        places.append(1 + "".join(lines).replace("\r\n", "\n").count("\n"))
        put(
            *(
                (repr(one).replace(".", ","), word, repr(other).replace(".", ","))
                if comma
                else (repr(one), word, repr(other))
            )
        )
    found = read_table(BytesIO("".join(lines).encode(encoding)), ["temp", "gas", "y"], "Old data")
    assert parse_numbers(found.table["temp"])[0].tolist() == [row[0] for row in rows]
    assert parse_numbers(found.table["y"])[0].tolist() == [row[2] for row in rows]
    assert found.table["gas"].tolist() == [row[1] for row in rows]
    assert [found.format_place(k) for k in range(len(rows))] == [f"line {place}" for place in places]


WORDS_AND_SIGNS = ["temp", "y", "NA", "1,5", "1.234,5", "//", "\r\n", '""', "\0", "\ufeff"]
PIECES = [*',;\t| "#%/\n\r[]()0123456789.-+eE°a', *WORDS_AND_SIGNS]


@given(
    start=st.sampled_from(["", "temp,y\n1,2\n", "temp;y\n°C;%\n1,5;2\n", "# temp y\n1 2\n", '"temp"\t"y"\n1\t"2"\n']),
    pieces=st.lists(st.sampled_from(PIECES), max_size=20),
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-16-be", "cp1252"]),
)
def test_any_text_is_a_table_or_an_error_of_ours(start, pieces, encoding) -> None:
    try:
        found = read_table(BytesIO((start + "".join(pieces)).encode(encoding, "replace")), ["temp", "y"], "Old data")
    except (InputError, FileFormatError):
        return
    for name in found.table:
        parse_numbers(found.table[name])
    assert all(found.format_place(row).startswith("line ") for row in range(len(found)))
