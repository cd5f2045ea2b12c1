"""Old data that does not quite fit: columns that it lacks or has too many of, and cells that are blank."""

import numpy as np
import pandas as pd
import pytest

from support.builders import PLANT, box_of, plant_data
from tunedprior.errors import InputError, OldDataWarning
from tunedprior.source_data.matching import OldTable, read_old_data
from tunedprior.source_data.training_set import TrainingSet
from tunedprior.space.search_space import Space

SPACE = {"temp": (30.0, 90.0), "flow": (0.0, 2.0), "gas": ["air", "argon"]}


def measured(rows: int = 24) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"temp": rng.uniform(30, 90, rows), "flow": rng.uniform(0, 2, rows)})
    table["gas"] = ["air", "argon", "air"] * (rows // 3)
    return table.assign(y=np.sin(table["temp"] / 20) * table["flow"] + (table["gas"] == "air"))


def read(table: pd.DataFrame, said: str, space: dict = SPACE) -> OldTable:
    with pytest.warns(OldDataWarning, match=said) as caught:
        data = read_old_data(table, Space.parse(space))
    assert len(caught) == 1
    return data


def kinds(data: OldTable) -> list[tuple[str, str]]:
    return [(one.kind, one.column) for one in data.report.findings]


# -- columns that old data lacks -----------------------------------------------------------------------


@pytest.mark.parametrize(("name", "constant"), [("gas", "air"), ("flow", 1.0), ("temp", 60.0)])
def test_without_a_column_the_others_are_what_they_were(name: str, constant) -> None:
    whole = read_old_data(measured(), Space.parse(SPACE))
    data = read(measured().drop(columns=name), f"no column '{name}': what it says is taken to hold for every '{name}'")
    others = [one for one in SPACE if one != name]
    pd.testing.assert_frame_equal(data.settings[others], whole.settings[others])
    assert data.response.tolist() == whole.response.tolist()
    assert set(data.settings[name]) == {constant}
    assert list(data.settings) == list(SPACE)
    assert data.absent == (name,)
    assert whole.absent == ()
    assert kinds(data) == [("absent", name)]  # and not that it is constant


def test_a_column_that_may_be_the_missing_one_is_named() -> None:
    data = read(
        measured().rename(columns={"temp": "oven"}), r"no column 'temp' \(there is oven; rename it if it is the"
    )
    assert kinds(data) == [("absent", "temp"), ("extra columns", "")]


@pytest.mark.parametrize("lost", [["temp", "flow", "gas"], ["y"], ["y", "gas"]])
def test_without_any_setting_or_the_response_nothing_can_be_learnt(lost: list[str]) -> None:
    with pytest.raises(
        InputError, match=f"for the response and for settings; {', '.join(sorted(lost, key=[*SPACE, 'y'].index))} is"
    ):
        read_old_data(measured().drop(columns=lost), Space.parse(SPACE))


def test_what_is_absent_is_carried_along_and_is_part_of_the_content() -> None:
    table = measured()
    table.loc[4, "y"] *= 1e4
    data = read(table.drop(columns="gas"), "no column 'gas'")
    there = read(table.assign(gas="air"), "says nothing about gas")
    assert data.select_rows(~data.doubtful).absent == ("gas",)
    assert len(data.select_rows(~data.doubtful)) == 23
    pd.testing.assert_frame_equal(data.settings, there.settings)
    assert data.fingerprint != there.fingerprint


# -- columns that it has too many of -------------------------------------------------------------------


def test_what_is_learnt_is_the_average_over_a_column_that_the_space_lacks() -> None:
    once = plant_data(10)
    old = pd.concat([once.assign(shift=k, y=once["y"] + k) for k in (0.0, 1.0, 5.0)], ignore_index=True)
    data = read(old.assign(site="B"), r"averaged over: shift \(constant: site\)\.", PLANT)
    assert kinds(data) == [("extra columns", "")]
    assert list(data.settings) == list(PLANT)
    training = TrainingSet.from_old_table(data, box_of(PLANT))
    assert len(training) == 10
    assert sorted(training.response.tolist()) == pytest.approx(sorted(once["y"] + 2.0))


def test_what_varies_in_rows_that_are_left_out_alone_is_not_averaged_over() -> None:
    table = measured().assign(site=["A"] + ["B"] * 23)
    table.loc[0, "y"] = np.nan
    assert "does not name are ignored: site." in str(read(table, "site").report)


# -- blank cells ---------------------------------------------------------------------------------------


def test_blank_cells_are_filled_in_and_named() -> None:
    table = measured()
    table.loc[[3, 8], "gas"] = None
    table.loc[8, "temp"] = -9999.0
    table.loc[12, "flow"] = np.nan
    data = read(table, r"'gas' is blank in 2 of 24 rows \(row 3, row 8\): filled in from the most similar rows")
    assert len(data) == 24
    assert kinds(data) == [("sentinel", "temp"), ("blank", "flow"), ("blank", "gas")]
    assert [one.rows for one in data.report.findings] == [("row 8",), ("row 12",), ("row 3", "row 8")]
    known = table.drop(index=[3, 8, 12])
    pd.testing.assert_frame_equal(data.settings.loc[known.index], known[list(SPACE)], check_dtype=False)
    assert 30 <= data.settings.loc[8, "temp"] <= 90
    assert set(data.settings["gas"]) == {"air", "argon"}
    assert read(table, "filled in").fingerprint == data.fingerprint


def test_a_blank_number_is_found_again_where_the_others_determine_it() -> None:
    temp = np.repeat(np.linspace(30, 90, 31), 2)
    table = pd.DataFrame({"temp": temp, "flow": 1.0, "gas": ["air", "argon"] * 31, "y": temp / 10})
    table.loc[20, "temp"] = np.nan
    assert read(table, "filled in").settings.loc[20, "temp"] == pytest.approx(temp[20], abs=2.0)


@pytest.mark.parametrize(("blank", "absent"), [(24, True), (13, True), (12, False)])
def test_a_column_that_is_blank_in_more_than_half_of_the_rows_is_absent(blank: int, absent: bool) -> None:
    table = measured()
    table.loc[: blank - 1, "flow"] = np.nan
    data = read(table, f"'flow' is blank in {blank} of 24 rows")
    assert data.absent == (("flow",) if absent else ())
    assert (set(data.settings["flow"]) == {1.0}) == absent
    assert len(data) == 24
    assert kinds(data) == [("absent" if absent else "blank", "flow")]


def test_rows_without_a_response_or_a_single_setting_do_not_make_a_column_blank() -> None:
    empty = pd.DataFrame(index=range(30), columns=measured().columns, dtype=object)
    table = pd.concat([measured().astype(object), empty, empty.assign(y=1.0), empty.assign(temp=50.0)])
    data = read(table.reset_index(drop=True), r"Every setting is blank in 60 of 114 rows, which are left out: row 24")
    assert data.absent == ()
    assert len(data) == 24


def test_a_row_that_has_nothing_but_a_column_that_is_set_aside_is_left_out() -> None:
    table = measured()
    table.loc[2:, "flow"] = np.nan
    table.loc[0, ["temp", "gas"]] = None
    data = read(table, "Every setting is blank in 1 of 24 rows, which are left out: row 0")
    assert data.absent == ("flow",)
    assert len(data) == 23


def test_a_row_is_left_out_where_too_little_is_known_to_fill_it_in() -> None:
    table = measured().iloc[:2].assign(temp=[50.0, np.nan])
    data = read(table, "'temp' is blank and left out in 1 of 2 rows: row 1")
    assert data.settings["temp"].tolist() == [50.0]


def test_a_space_of_one_parameter_has_nothing_to_fill_in_from() -> None:
    table = pd.DataFrame({"temp": [30.0, np.nan, 60.0, np.nan, np.nan], "y": [1.0, 2.0, 3.0, 4.0, 5.0]})
    data = read(table, "'temp' is blank and left out in 3 of 5 rows", {"temp": (30.0, 90.0)})
    assert data.response.tolist() == [1.0, 3.0]
    assert data.absent == ()


def test_gaps_do_not_hide_what_is_far_outside() -> None:
    table = measured()
    table.loc[5, "temp"], table.loc[6, "temp"] = 6200.0, np.nan
    data = read(table, r"'temp' is far outside .* in 1 of 24 rows \(6200\): row 5")
    assert kinds(data) == [("far outside", "temp"), ("blank", "temp")]
    assert data.settings["temp"].max() <= 90


def test_a_column_with_the_name_of_the_response_and_a_suffix_is_no_setting() -> None:
    data = read(measured().assign(y_2=1.0, **{"Y (NMR)": range(24), "y rate": range(24)}), "averaged over: y rate")
    said = [one.text for one in data.report.findings if one.kind == "extra columns"]
    assert said[:2] == [f"{name!r} looks like a second response; it is not used." for name in ("y_2", "Y (NMR)")]
