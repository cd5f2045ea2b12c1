"""Every kind of fault in a small table, and tables without any, of which nothing must be said."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tunedprior.audit import Fault
from tunedprior.source_data.findings import KINDS, join_places, sort_faults
from tunedprior.source_data.inspection import Inspection, inspect_old_data
from tunedprior.space.search_space import Space

SPACE = Space.parse({"heat": (20.0, 90.0), "flow": (0.5, 2.5), "time": (600.0, 3600.0), "gas": ["air", "argon", "N2"]})
ROWS = 60


@pytest.fixture(scope="module")
def old() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "heat": rng.uniform(20, 90, ROWS).round(2),
            "flow": rng.uniform(0.5, 2.5, ROWS).round(3),
            "time": rng.uniform(600, 3600, ROWS).round(1),
            "gas": rng.choice(["air", "argon", "N2"], ROWS),
        }
    )
    effect = table["gas"].map({"air": 1.0, "argon": 1.5, "N2": 2.5})
    response = 40 + 20 * np.sin(table["heat"] / 25) * table["flow"] * effect / 2 + table["time"] / 400
    return table.assign(y=(response + 0.3 * rng.standard_normal(ROWS)).round(4))


def found_in(data: Any, space: Space = SPACE, target: str = "y") -> Inspection:
    return inspect_old_data(data, space, target, "maximize", (), 0, lambda _doing: None)


def faults_of(data: Any, **options: Any) -> list[Fault]:
    return list(found_in(data, **options).faults)


def times(name: str, factor: float) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda old: old.assign(**{name: factor * old[name]})


def cell(row: int, name: str, value: Any) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda old: old.astype({name: object}).mask(
        pd.DataFrame({one: (old.index == row) & (one == name) for one in old}), value
    )


def half_times(name: str, factor: float) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda old: old.assign(**{name: old[name].where(old.index % 2 == 0, factor * old[name])})


def swapped(one: str, other: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda old: old.assign(**{one: old[other], other: old[one]})


SPOILED: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str, tuple[str, ...], tuple[str, ...]]] = {
    "thousandfold": (times("flow", 1000.0), "other units", ("flow",), ()),
    "a thousandth": (times("time", 0.001), "other units", ("time",), ()),
    "tenfold": (times("heat", 10.0), "other units", ("heat",), ()),
    "percent": (times("flow", 100.0), "other units", ("flow",), ()),
    "minutes": (times("time", 1 / 60), "other units", ("time",), ()),
    "kelvin": (lambda old: old.assign(heat=old["heat"] + 273.15), "other units", ("heat",), ()),
    "fahrenheit": (lambda old: old.assign(heat=1.8 * old["heat"] + 32), "other units", ("heat",), ()),
    "far apart": (lambda old: old.assign(heat=old["heat"] + 700), "no overlap", ("heat",), ()),
    "half thousandfold": (
        half_times("flow", 1000.0),
        "part in other units",
        ("flow",),
        tuple(f"row {k}" for k in range(1, ROWS, 2)),
    ),
    "half in kelvin": (
        lambda old: old.assign(heat=old["heat"].where(old.index < 40, old["heat"] + 273.15)),
        "part in other units",
        ("heat",),
        tuple(f"row {k}" for k in range(40, ROWS)),
    ),
    "one far off": (cell(7, "heat", 7000.0), "far off", ("heat",), ("row 7",)),
    "a response far off": (cell(7, "y", 7000.0), "far off", ("y",), ("row 7",)),
    "a sentinel": (cell(9, "time", -9999), "sentinel", ("time",), ("row 9",)),
    "a sentinel among responses": (cell(9, "y", 99999), "sentinel", ("y",), ("row 9",)),
    "swapped": (swapped("heat", "time"), "swapped columns", ("heat", "time"), ()),
    "text for numbers": (swapped("gas", "flow"), "swapped columns", ("flow", "gas"), ()),
    "swapped with the response": (
        lambda old: swapped("flow", "y")(old.assign(y=100 * old["y"])),
        "swapped columns",
        ("flow", "y"),
        (),
    ),
    "not a number": (cell(3, "flow", "1.2 ml"), "not a number", ("flow",), ("row 3",)),
    "row numbers": (lambda old: old.assign(heat=np.arange(1.0, ROWS + 1)), "row numbers", ("heat",), ()),
    "spelling": (cell(0, "gas", "A.R.G.O.N."), "spelling", ("gas",), ("row 0",)),
    "response moved down": (lambda old: old.assign(y=np.roll(old["y"], 1)), "shifted rows", ("y",), ()),
    "a column moved up": (lambda old: old.assign(gas=np.roll(old["gas"], -1)), "shifted rows", ("gas",), ()),
    "rows twice": (
        lambda old: pd.concat([old, old.iloc[5:8]], ignore_index=True),
        "copied rows",
        (),
        ("row 60", "row 61", "row 62"),
    ),
    "contradiction": (
        lambda old: (
            pd.concat([old, old.iloc[[4]].assign(y=old["y"].max() + old["y"].min() - old["y"][4])], ignore_index=True)
            if abs(old["y"][4] - old["y"].median()) > 10
            else pd.concat([old, old.iloc[[4]].assign(y=old["y"].max())], ignore_index=True)
        ),
        "contradictory repeats",
        ("y",),
        ("row 4", "row 60"),
    ),
    "sign": (
        half_times("y", -1.0),
        "sign of the response",
        ("y",),
        tuple(f"row {k}" for k in range(1, ROWS, 2)),
    ),
    "units of the response": (
        half_times("y", 1000.0),
        "units of the response",
        ("y",),
        (),
    ),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_fault_is_found_and_nothing_else_is_blamed(name: str, old: pd.DataFrame) -> None:
    spoil, kind, columns, rows = SPOILED[name]
    found = faults_of(spoil(old))
    assert [one.kind for one in found] == [kind], [one.text for one in found]
    assert set(found[0].columns) == set(columns)
    if rows:
        assert found[0].rows == rows


def test_a_clean_table_has_no_fault(old: pd.DataFrame) -> None:
    found = found_in(old)
    assert found.faults == ()
    assert found.notes == ()
    assert found.rejected == ()


CLEAN: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "noise": lambda old: old.assign(y=np.random.default_rng(1).normal(size=ROWS)),
    "repeats": lambda old: pd.concat([old, old.assign(y=old["y"] + 0.1)], ignore_index=True),
    "coarse repeats": lambda old: pd.concat([old.assign(y=(old["y"] / 20).round())] * 2, ignore_index=True),
    "a wider range": lambda old: old.assign(heat=2 * old["heat"] - 20),
    "a narrow range": lambda old: old.assign(heat=50 + old["heat"] / 10),
    "a shifted range": lambda old: old.assign(heat=old["heat"] + 40),
    "heavy tails": lambda old: old.assign(y=np.exp(old["y"] / 10)),
    "both signs": lambda old: old.assign(y=old["y"] - old["y"].mean()),
    "pass and fail": lambda old: old.assign(y=np.where(old["y"] > old["y"].median(), "pass", "fail")),
    "zeros and ones": lambda old: old.assign(y=(old["y"] > old["y"].median()).astype(int)),
    "failed runs": lambda old: old.assign(y=old["y"].astype(object).where(old.index % 9 > 0, "failed")),
    "blank responses": lambda old: old.assign(y=old["y"].where(old.index % 9 > 0)),
    "blank settings": lambda old: old.assign(heat=old["heat"].where(old.index % 9 > 0)),
    "no such column": lambda old: old.drop(columns="flow"),
    "a column more": lambda old: old.assign(operator="Ann", run=np.arange(ROWS)),
    "a constant": lambda old: old.assign(flow=1.0),
    "other categories": lambda old: old.assign(gas=old["gas"].replace({"N2": "helium"})),
    "sorted": lambda old: old.sort_values("heat", ignore_index=True),
    "two levels": lambda old: old.assign(heat=np.where(old["heat"] > 50, 80.0, 30.0)),
    "decades": lambda old: old.assign(flow=10.0 ** (old.index % 4) / 400),
    "one row": lambda old: old.iloc[:1],
    "three rows": lambda old: old.iloc[:3],
    "a response that never varies": lambda old: old.assign(y=1.0),
    "names in other capitals": lambda old: old.rename(columns={"heat": "Heat [°C]"}),
}


@pytest.mark.parametrize("name", CLEAN)
def test_nothing_is_blamed_that_is_merely_unusual(name: str, old: pd.DataFrame) -> None:
    assert faults_of(CLEAN[name](old)) == []


@pytest.mark.parametrize("seed", range(12))
def test_small_noisy_tables_are_not_blamed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(20, 45))
    settings = {"a": rng.uniform(0, 1, count), "b": rng.uniform(0, 100, count), "c": rng.choice(["x", "y"], count)}
    old = pd.DataFrame({**settings, "y": settings["a"] + rng.standard_t(3, count)})
    assert faults_of(old, space=Space.parse({"a": (0.0, 1.0), "b": (0.0, 100.0), "c": ["x", "y"]})) == []


def test_cells_moved_by_a_column(old: pd.DataFrame) -> None:
    table = old.astype(object)
    for row in (11, 30):
        table.iloc[row] = ["", *table.iloc[row].tolist()[:-1]]
    (fault,) = faults_of(table)
    assert (fault.kind, fault.rows) == ("shifted cells", ("row 11", "row 30"))


def test_two_cells_swapped_in_a_row(old: pd.DataFrame) -> None:
    table = old.astype(object)
    table.loc[11, ["time", "gas"]] = [old.loc[11, "gas"], old.loc[11, "time"]]
    (fault,) = faults_of(table)
    assert (fault.kind, fault.columns, fault.rows) == ("swapped cells", ("time", "gas"), ("row 11",))


def test_dates_are_named_as_such(old: pd.DataFrame) -> None:
    (fault,) = faults_of(old.assign(flow=[f"2024-03-{1 + k % 28:02}" for k in range(ROWS)]))
    assert fault.kind == "not a number"
    assert "dates" in fault.text


def test_an_input_that_all_have_the_same_range_cannot_be_told_apart(old: pd.DataFrame) -> None:
    same = pd.DataFrame({"a": old["heat"] / 90, "b": old["time"] / 3600, "y": old["y"]})
    space = Space.parse({"a": (0.0, 1.0), "b": (0.0, 1.0)})
    assert faults_of(same.rename(columns={"a": "b", "b": "a"}), space=space) == []


def test_rows_that_are_rejected_are_named_with_the_reason(old: pd.DataFrame) -> None:
    found = found_in(old.assign(y=old["y"].where(old.index != 5)))
    assert [(one.row, one.reason) for one in found.rejected] == [("row 5", "'y': blank")]


def test_faults_come_in_the_order_in_which_they_are_to_be_mended() -> None:
    one, other = (Fault(kind, (), (), "", "") for kind in (KINDS[-1], KINDS[0]))
    assert sort_faults([one, other]) == (other, one)


def test_places_in_short() -> None:
    assert join_places(["row 3"]) == "row 3"
    assert join_places(["row 3", "row 4"]) == "rows 3 and 4"


def test_html_and_odd_names(tmp_path: Path) -> None:
    space = Space.parse({"<b>t</b>": (0.0, 1.0), "é": ["a", "b"]})
    rows = [f"{k / 10},{'ab'[k % 2]},{k % 3}" for k in range(10)]
    path = tmp_path / "old.csv"
    path.write_text("\n".join(["<b>t</b>,é,y", *rows]), encoding="utf-8")
    assert faults_of(path, space=space) == []
