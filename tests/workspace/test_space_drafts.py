from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.errors import raises
from tunedprior.errors import InputError
from tunedprior.space.parameters import Categorical, Numeric
from tunedprior.tables.cells import is_unmeasured, parse_numbers
from tunedprior.tables.reading import read_table
from tunedprior.workspace.space_drafts import draft_space_file, quote_yaml
from tunedprior.workspace.space_file import parse_space_text

ROWS = 12
NAMES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12),
    st.sampled_from(
        ["yes", "no", "null", "~", "a: b", "# x", "- z", "'q'", '"', "{", "[1]", "? ", "*a", "&b", "1.5", "é"]
    ),
).filter(lambda name: name.strip() == name != "")
COLUMNS = st.one_of(
    st.lists(st.floats(-1e6, 1e6), min_size=ROWS, max_size=ROWS),
    st.lists(st.integers(-50, 50), min_size=ROWS, max_size=ROWS),
    st.lists(st.sampled_from([0.1, 0.2, 0.5]), min_size=ROWS, max_size=ROWS),
    st.lists(st.floats(1e-9, 1e9), min_size=ROWS, max_size=ROWS),
    st.lists(NAMES, min_size=ROWS, max_size=ROWS),
    st.lists(
        st.sampled_from(["THF", "#1", "a, b", "no", "yes: no", "'", "\\", "1", "2"]), min_size=ROWS, max_size=ROWS
    ),
)


def read_back(text: str) -> Any:
    return parse_space_text(text, "space.yaml")


@settings(max_examples=30)
@given(st.lists(NAMES, min_size=1, max_size=3, unique_by=lambda name: name.casefold()), st.data())
def test_a_draft_reads_back_whatever_the_columns_are_called(names: list[str], data: st.DataObject) -> None:
    columns = {name: data.draw(COLUMNS) for name in names}
    target = data.draw(NAMES.filter(lambda name: name.casefold() not in {one.casefold() for one in names}))
    table = pd.DataFrame({**columns, target: range(ROWS)})
    try:
        draft = draft_space_file(table, target)
    except InputError:  # nothing varies, or two names are the same but for spaces
        assume(False)
    found = read_back(draft.text)
    assert tuple(found.parameters) == draft.parameters
    assert list(found.goals) == [draft.target]
    assert set(found.space.names) == set(draft.parameters)
    read = read_table(table, [*found.parameters, draft.target], "Old data").table
    for one in found.space.parameters:
        assert one.name in read.columns
        cells = read[one.name] if isinstance(one, Categorical) else parse_numbers(read[one.name])[0]
        doubtful = {row for finding in draft.doubtful if finding.column == one.name for row in finding.rows}
        known = [cell for k, cell in enumerate(cells) if not is_unmeasured(cell) and f"row {k}" not in doubtful]
        if isinstance(one, Numeric) and one.levels is None:
            near = 1e-9 * (one.high - one.low)  # a draft has the digits that people read
            assert all(one.low - near <= cell <= one.high + near for cell in known)
        else:
            assert all(one.allows(cell) for cell in known)


def test_what_is_drafted() -> None:
    old = pd.DataFrame(
        {
            "run": range(1, 41),
            "date": [f"2024-01-{1 + k % 28:02}" for k in range(40)],
            "Temp [°C]": [20 + 5 * (k % 8) for k in range(40)],
            "rate": [10.0 ** (-5 + k / 8) for k in range(40)],
            "flow": [0.31 + 0.117 * k**1.1 for k in range(40)],
            "level": [1, 2, 5, 50] * 10,
            "gas": ["air", "N2: dry"] * 20,
            "pressure": [1.0] * 40,
            "note": [f"sample {k}" for k in range(40)],
            "yield / %": range(40),
        }
    )
    draft = draft_space_file(old)
    found = read_back(draft.text)
    assert found.parameters == {
        "Temp": (20, 55, 5),
        "rate": (1e-5, 0.75, "log", 3),
        "flow": (0.31, 6.9, 0.01),
        "level": [1, 2, 5, 50],
        "gas": ["air", "N2: dry"],
    }
    assert found.goals == {"yield": "maximize"}
    assert draft.left_out == {
        "run": "it counts the rows",
        "date": "dates",
        "pressure": "1 in every row",
        "note": "40 different texts, as of names or notes",
    }
    assert "# °C; 8 values in old data" in draft.text
    assert set(found.parameters) <= set(read_table(old, [*found.parameters, "yield"], "Old data").table.columns)


FLOWS = [0.2451, 3.9, 17.25, 40.1, 55.123456, 60.2, 71.364, 88.8, 99.9, 101.5, 118.0, 124.6]


def with_slip(value: float, others: list[float] = FLOWS) -> pd.DataFrame:
    flows = [*others[:7], value, *others[7:]]
    return pd.DataFrame({"src_flow": flows, "gas": ["air", "N2"] * 6 + ["air"], "y": range(len(flows))})


@pytest.mark.parametrize("value", [7136.4, 1240.0, 450.0])
def test_a_slipped_decimal_does_not_become_the_range(value: float) -> None:
    draft = draft_space_file(with_slip(value))
    (found,) = draft.doubtful
    assert (found.kind, found.column, found.rows) == ("far off", "src_flow", ("row 7",))
    assert f"'src_flow' is {value:g} in row 7, far from all others (0.2451 to 124.6)" in found.text
    assert read_back(draft.text).parameters["src_flow"] == (0.2, 124.6, 0.1)
    assert f"  # Look this up: {found.text}\n  src_flow: " in draft.text


HEATS = [30.0, 65.3, 66.7, 110.0, 67.0, 110.0, 30.0, 110.0, 65.3, 110.0, 80.5, 110.0]


@pytest.mark.parametrize("name", ["T", "T [°C]"])
def test_kelvins_among_celsius_do_not_become_the_range(name: str) -> None:
    heats = [heat + 273.15 if row % 3 == 2 else heat for row, heat in enumerate(HEATS)]
    draft = draft_space_file(pd.DataFrame({name: heats, "y": range(12)}))
    (found,) = draft.doubtful
    assert (found.kind, found.column) == ("part in other units", "T")
    assert found.rows == ("row 2", "row 5", "row 8", "row 11")
    assert "'T' is in other units in 4 of 12 rows (row 2, row 5, row 8, row 11): 338.45 to 383.15, K inst" in found.text
    levels = read_back(draft.text).parameters["T"]
    assert (min(levels), max(levels)) == (30, 110)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("t [s]", [heat + 273.15 if row % 3 == 2 else heat for row, heat in enumerate(HEATS)]),
        ("shared", [0.0, 1.0] * 10),
        ("wait", [1.0, 2, 3, 5, 8, 10, 100, 1000, 10000, 60000] * 3),  # powers of ten are levels
    ],
)
def test_what_settings_span_is_no_mixture(name: str, values: list[float]) -> None:
    assert draft_space_file({name: values, "x": [*range(1, len(values)), 1], "y": range(len(values))}).doubtful == ()


def test_a_second_response_is_no_setting() -> None:
    draft = draft_space_file({"x": [1.0, 2.0, 4.5], "Yield 2": [3.0, 1.0, 2.0], "yield [%]": [1, 2, 3]})
    assert draft.left_out == {"Yield 2": "looks like a second response; not used"}


@pytest.mark.parametrize("cells", [["30 °C", "65,3 °C", None, "110 °C"], ["30°C", "65.3°C", 70, "110°C"]])
def test_numbers_with_their_unit_in_the_cells_are_a_range(cells: list[object]) -> None:
    draft = draft_space_file({"T": cells * 3, "y": range(12)})
    (found,) = draft.doubtful
    assert (found.kind, found.column, found.rows[:2]) == ("units in cells", "T", ("row 0", "row 1"))
    assert "'T' is numbers with the unit °C in the cells" in found.text
    levels = read_back(draft.text).parameters["T"]
    assert (min(levels), max(levels)) == (30, 110)
    assert "# °C; " in draft.text


@pytest.mark.parametrize("slip", ["rt", "ca. 30", "1,2.3"])
def test_a_text_among_numbers_does_not_make_choices_of_them(slip: str) -> None:
    draft = draft_space_file(pd.DataFrame({"T": [*map(str, HEATS), slip], "y": range(13)}))
    (found,) = draft.doubtful
    assert (found.kind, found.column, found.rows) == ("text among numbers", "T", ("row 12",))
    assert repr(slip) in found.text
    levels = read_back(draft.text).parameters["T"]
    assert (min(levels), max(levels)) == (30, 110)


def test_the_limits_in_a_draft_are_those_of_its_response() -> None:
    text = draft_space_file({"x": [1.0, 2.0, 4.5], "Ausbeute": [3.0, 1.0, 2.0]}, "Ausbeute").text
    uncommented = text.replace("# limits:\n#   Ausbeute", "limits:\n  Ausbeute")
    assert read_back(uncommented).limits == {"Ausbeute": (0.0, 100.0)}


@pytest.mark.parametrize("cells", [["1 g", "1 mg", "2 g"], ["1.5 g", "2,5 g", "3 g"], ["A 1", "B 2", "C 3"]])
def test_texts_without_one_unit_are_choices(cells: list[str]) -> None:
    draft = draft_space_file({"T": cells * 3, "y": range(9)})
    assert (read_back(draft.text).parameters["T"], draft.doubtful) == (cells, ())


def test_what_stands_for_not_measured_does_not_become_the_range() -> None:
    draft = draft_space_file(with_slip(-9999.0))
    assert [one.kind for one in draft.doubtful] == ["sentinel"]
    assert read_back(draft.text).parameters["src_flow"] == (0.2, 124.6, 0.1)


@pytest.mark.parametrize(
    "levels",
    [
        [1, 2, 5, 50] * 10,
        [512, 1024] * 10 + [32],
        [1, 10, 100, 1000] * 5 + [10000],
        [10.0 ** (k / 4) for k in range(40)],
        [20.0, 30.0, 40.0, 400.0],  # a few rows may have a far one by design
    ],
)
def test_what_was_meant_is_no_slip(levels: list[float]) -> None:
    assert draft_space_file({"x": levels, "y": range(len(levels))}).doubtful == ()


def test_a_slip_among_levels_is_one_of_them_by_a_power_of_ten() -> None:
    draft = draft_space_file({"x": [20, 40, 60] * 6 + [400], "y": range(19)})
    assert [one.rows for one in draft.doubtful] == [("row 18",)]
    assert read_back(draft.text).parameters["x"] == (20, 60, 20)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([100 + 16.3437 * k / 7 for k in range(9)], (100, 118.68, 0.01)),  # digits of a pump's log
        ([10, 20, 50, 60, 100, 140, 330, 410, 670, 1000], (10, 1000, 10)),  # tens
        ([20.5, 21, 22.5, 30, 34.5, 40, 41.5, 50, 88], (20.5, 88, 0.5)),
        ([0.1, 0.7], (0.1, 0.7, 0.001)),
        ([-4.0001, -3.217853, -2.2, -1.53, -1.1, -0.9, -0.8, -0.3, -0.0001234], (-4.01, 0, 0.01)),
    ],
)
def test_a_range_has_the_step_that_people_can_set(values: list[float], expected: tuple[float, ...]) -> None:
    draft = draft_space_file({"x": values, "y": range(len(values))})
    assert read_back(draft.text).parameters["x"] == expected
    assert "Steps and digits are what people can set, by old data and the range" in draft.text


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0099671 * 2.2**k for k in range(12)], (0.00996, 58.3, "log", 3)),  # digits of a balance
        ([0.01, 0.02, 0.05, 0.15, 0.7, 1.2, 3, 9, 15, 40], (0.01, 40, "log", 2)),
        ([0.001, 0.002, 0.005, 0.01, 0.03, 0.1, 0.4, 2, 7, 9], (0.001, 9, "log", 2)),
    ],
)
def test_a_logarithmic_range_has_the_digits_that_people_can_set(
    values: list[float], expected: tuple[float | str, ...]
) -> None:
    draft = draft_space_file({"x": values, "y": range(len(values))})
    assert read_back(draft.text).parameters["x"] == expected


@pytest.mark.parametrize("name", ["operator", "Operator", "Bearbeiter", "initials"])
def test_who_did_it_is_no_setting(name: str) -> None:
    draft = draft_space_file({"x": [0.1 * k for k in range(9)], name: ["BK", "ML", "BK"] * 3, "y": range(9)})
    assert draft.parameters == ("x",)
    assert draft.left_out == {name: "2 texts, as of who did it"}


def test_units_stay_where_names_would_be_the_same() -> None:
    old = {"T [°C]": [1.0, 2.0, 3.5], "T [K]": [4.0, 5.0, 7.5], "y": [1, 2, 3]}
    assert draft_space_file(old).parameters == ("T [°C]", "T [K]")


@pytest.mark.parametrize(
    ("columns", "target"),
    [(["a", "Y", "b"], "Y"), (["a", "b", "c"], "c"), (["response", "a"], "response"), (["a", "y (%)", "b"], "y")],
)
def test_the_response_is_guessed(columns: list[str], target: str) -> None:
    old = pd.DataFrame({name: [0.1 * k, 0.3, 0.7] for k, name in enumerate(columns)})
    assert draft_space_file(old).target == target


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("Loss", "minimize"),
        ("val_loss", "minimize"),
        ("RMSE [K]", "minimize"),
        ("total cost", "minimize"),
        ("Kosten", "minimize"),
        ("yield", "maximize"),
        ("glossiness", "maximize"),
        ("time saved", "maximize"),
        ("residual activity", "maximize"),
        ("cost efficiency", "maximize"),
    ],
)
def test_the_direction_is_guessed(name: str, direction: str) -> None:
    draft = draft_space_file({"a": [1.0, 2.0, 4.5], name: [0.1, 0.3, 0.7]})
    assert draft.direction == direction
    assert list(read_back(draft.text).goals.values()) == [direction]


def lab_book(rows: int = 96, **columns: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Nr": range(1, rows + 1),
            "t_res": [60.0, 90.0, 150.0, 600.0] * (rows // 4),
            "yield_pct": [20 + 0.37 * (k * 7 % rows) for k in range(rows)],
            "Datum": pd.date_range("2024-01-01", periods=rows),
            "Bemerkung": ["pump leaked"] + [None] * (rows - 1),
            **columns,
        }
    )


@pytest.mark.parametrize("name", ["yield_pct", "Ausbeute [%]", "Ergebnis", "signal"])
def test_remarks_are_neither_the_response_nor_settings(name: str) -> None:
    draft = draft_space_file(lab_book().rename(columns={"yield_pct": name}))
    assert (draft.target, draft.parameters) == (name.removesuffix(" [%]"), ("t_res",))
    because = "it is the last column of numbers" if name == "signal" else "of its name"
    assert draft.why == f"{draft.target!r} is taken as the response because {because}; name another with --target."
    assert draft.why in draft.text
    assert draft.left_out["Bemerkung"] == "filled in in 1 of 96 rows"
    assert "# Bemerkung: left out: filled in in 1 of 96 rows" in draft.text
    assert draft_space_file(lab_book(), "t_res").why == ""


def test_free_text_in_few_rows_is_left_out() -> None:
    some = [f"see page {k % 5}" if k % 4 == 0 else None for k in range(96)]
    all_of_them = ["fine", "cloudy"] * 48
    draft = draft_space_file(lab_book(seen=some, Kommentar=all_of_them, gas=["air", "argon"] * 48))
    assert draft.parameters == ("t_res", "gas")
    assert draft.left_out["seen"] == "text in 24 of 96 rows, as of remarks"
    assert draft.left_out["Kommentar"] == "text in 96 of 96 rows, as of remarks"


def test_a_table_of_text_has_no_response() -> None:
    with pytest.raises(InputError, match=r"no column that is likely to be the response.*--target"):
        draft_space_file({"gas": ["air", "argon"] * 5, "Bemerkung": ["fine", "cloudy"] * 5})


@pytest.mark.parametrize("name", ["yield", "Yield [%]", "crude yield"])
@pytest.mark.parametrize(("filled", "rows"), [(0, "every row"), (20, "76 of 96 rows")])
def test_a_blank_response_is_not_replaced_by_another_column(name: str, filled: int, rows: str) -> None:
    old = lab_book().rename(columns={"yield_pct": name})
    old["loading"] = [0.1 * (k * 7 % 96) for k in range(96)]
    old[name] = [*old[name][:filled], *[None] * (96 - filled)]
    with pytest.raises(InputError, match=rf"the response by its name, and it is blank in {rows}\..*--target"):
        draft_space_file(old)
    assert draft_space_file(old, "loading").target == "loading"


@pytest.mark.parametrize("name", ["result", "Target", "y", "objective"])
def test_a_blank_column_that_might_have_been_the_response_is_no_hindrance(name: str) -> None:
    old = lab_book().rename(columns={"yield_pct": "yield"}).assign(**{name: None})
    assert draft_space_file(old).target == "yield"


def test_a_workbook_with_decimal_commas_as_text(tmp_path: Path) -> None:
    texts = lab_book()[["t_res", "yield_pct"]].map(lambda number: f"{number:.1f}".replace(".", ","))
    texts.to_excel(tmp_path / "old.xlsx", index=False)
    draft = draft_space_file(tmp_path / "old.xlsx")
    assert read_back(draft.text).parameters == {"t_res": [60, 90, 150, 600]}


def test_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_text("heat;y\n20,5;1\n21,5;2\n22,5;3\n")
    assert read_back(draft_space_file(path).text).parameters == {"heat": (20.5, 22.5, 1)}


@pytest.mark.parametrize(
    ("old", "facts"),
    [
        ({"a": [1.0, 1.0], "y": [1.0, 2.0]}, ("no column", "setting")),
        ({"y": [1.0, 2.0]}, ("1 columns", "2 rows")),
        ({"a": [], "y": []}, ("no rows",)),
    ],
)
def test_what_cannot_be_drafted(old: dict[str, list[float]], facts: tuple[str, ...]) -> None:
    with raises(InputError, *facts):
        draft_space_file(old)
    with pytest.raises(InputError, match="no column 'z'"):
        draft_space_file({"a": [1.0, 2.0], "y": [1.0, 2.0]}, "z")


def test_a_very_long_name() -> None:
    name = "x" * 2000
    assert read_back(draft_space_file({name: [1.0, 2.0, 4.5], "y": [1, 2, 3]}).text).parameters == {name: [1, 2, 4.5]}


def test_text_in_yaml() -> None:
    assert quote_yaml("heat rate") == "heat rate"
    assert quote_yaml('a"b') == '"a\\"b"'
    assert quote_yaml("\u2028") == '"\\U00002028"'


def test_a_draft_says_which_sheet_it_is_from(tmp_path: Path) -> None:
    table = pd.DataFrame({"t": [20, 30], "y": [0.5, 0.75]})
    with pd.ExcelWriter(tmp_path / "x.xlsx") as writer:
        for name in ("spring", "autumn"):
            table.to_excel(writer, sheet_name=name, index=False)
    text = draft_space_file(tmp_path / "x.xlsx").text
    assert "# Sheet 'spring' is read, and not 'autumn', which also holds rows." in text
    assert list(parse_space_text(text, "x.yaml").parameters) == ["t"]
