from datetime import datetime
from math import isnan
from pathlib import Path

import pandas as pd
import pytest

from support.errors import raises
from tunedprior import Optimizer
from tunedprior.errors import InputError

SPACE = {"heat": (20, 90, 5), "flow": (0.0, 1.0), "gas": ["air", "argon"]}


@pytest.fixture
def opt() -> Optimizer:
    return Optimizer(SPACE, direction="maximize", seed=0)


def sheet(opt: Optimizer, *values: object) -> pd.DataFrame:
    """What people are given: open suggestions, with a column for what came of them."""
    asked = [opt.ask() for _ in values]
    return pd.DataFrame([{"trial": one.trial, **one, "y": value} for one, value in zip(asked, values, strict=True)])


def test_results_filled_in_are_told_of_their_trials(opt: Optimizer) -> None:
    table = sheet(opt, 1.5, None, "failed")
    table["note"] = ["fine", None, "tube burst"]
    done = opt.record(table)
    assert [(trial.id, trial.state) for trial in done.trials] == [(1, "complete"), (3, "failed")]
    assert done.open == (2,)
    assert [trial.id for trial in opt.trials.pending] == [2]
    assert [trial.note for trial in opt.trials.told] == ["fine", "tube burst"]
    assert all(trial.is_suggestion for trial in opt.trials.told)


def test_a_file_with_decimal_commas_and_another_order(opt: Optimizer, tmp_path: Path) -> None:
    table = sheet(opt, 1.5, 2.25)
    path = tmp_path / "next.csv"
    table[["y", "gas", "heat", "flow", "trial"]].iloc[::-1].to_csv(path, sep=";", decimal=",", index=False)
    opt.record(path)
    assert {trial.id: trial.value for trial in opt.trials.told} == {1: 1.5, 2: 2.25}
    assert [trial.suggested for trial in opt.trials.told] == [trial.setting for trial in opt.trials.told]


def test_a_number_alone_stands_for_its_suggestion(opt: Optimizer) -> None:
    setting = opt.ask()
    opt.record([{"trial": 1, "y": 3.0}])
    assert opt.trials.told[0].setting == dict(setting)


def test_runs_of_peoples_own(opt: Optimizer) -> None:
    done = opt.record(
        [{"heat": 25, "flow": 0.5, "gas": "air", "y": 1.0}, {"heat": 30, "flow": 0.5, "gas": "air", "y": 2.0}]
    )
    assert [trial.is_suggestion for trial in opt.trials.told] == [False, False]
    assert [trial.id for trial in done.trials] == [1, 2]


WRONG = [
    ({"heat": 26}, ("row 0", "heat", "26.0", "25")),
    ({"heat": "warm"}, ("row 0", "heat", "'warm'")),
    ({"gas": "oxygen"}, ("row 0", "oxygen")),
    ({"y": "3,1,4"}, ("row 0", "y", "'3,1,4'")),
    ({"y": "NaN?"}, ("row 0", "y", "'NaN?'")),
    ({"trial": 9}, ("row 0", "no trial 9", "1, 2")),
    ({"trial": 2}, ("row 1", "trial number 2", "row 0")),
    ({"trial": "one"}, ("row 0", "trial", "'one'")),
    ({"flow": 77.0}, ("row 0", "flow")),
    ({"flow": None}, ("row 0", "flow", "blank")),
    ({"y": "#DIV/0!"}, ("row 0", "y", "'#DIV/0!'", "spreadsheet", "failed", "blank")),
    ({"y": "#N/A"}, ("row 0", "y", "'#N/A'", "spreadsheet")),
    ({"heat": "#WERT!"}, ("row 0", "heat", "'#WERT!'", "spreadsheet")),
    ({"gas": "#REF!"}, ("row 0", "gas", "'#REF!'", "spreadsheet")),
    ({"y": "=A2+1"}, ("row 0", "y", "'=A2+1'", "formula", "value")),
    (
        {"y": datetime(2026, 5, 20)},
        ("row 0", "y", "date", "20 May 2026", "20.5"),
    ),
    ({"heat": "20.05.2026"}, ("row 0", "heat", "date", "20.05.2026", "number")),
    *(({"y": cell}, ("row 0", "y", f"'{cell}'", "failed", "blank")) for cell in ("<0.5", "n.a.", "-")),
    ({"y": "20 %"}, ("row 0", "y", "'20 %'", "20 or 0.2")),
    (
        {"y": "10,500"},
        ("row 0", "y", "'10,500'", "10.500"),
    ),
    ({"trial": "Summe", "flow": None}, ("row 0", "trial", "'Summe'", "remove")),
]


@pytest.mark.parametrize(("change", "facts"), WRONG)
def test_a_wrong_row_refuses_the_whole_table(opt: Optimizer, change: dict[str, object], facts: tuple[str, ...]) -> None:
    table = sheet(opt, 1.5, 2.5).astype(object)
    for name, cell in change.items():
        table.loc[0, name] = cell
    with raises(InputError, *facts):
        opt.record(table)
    assert len(opt.trials) == 0
    assert len(opt.trials.pending) == 2


def test_a_total_below_numbers_and_results_alone(opt: Optimizer) -> None:
    opt.ask()
    with raises(InputError, "trial", "'Mittelwert'", "remove"):
        opt.record([{"trial": 1, "y": 3.0}, {"trial": "Mittelwert", "y": 3.0}])


def test_a_workbook_with_decimal_commas_as_text_and_an_error(opt: Optimizer, tmp_path: Path) -> None:
    table = sheet(opt, "20,5", "=1/0").astype(object)
    table["flow"] = ["0,5", "0,25"]
    path = tmp_path / "next.xlsx"
    table.to_excel(path, index=False)
    with raises(InputError, "row 3", "y", "'=1/0'", "formula"):
        opt.record(path, as_run=True)
    table.loc[1, "y"] = None
    table.to_excel(path, index=False)
    opt.record(path, as_run=True)
    assert [(trial.value, trial.setting["flow"]) for trial in opt.trials.told] == [(20.5, 0.5)]


@pytest.mark.parametrize("shown", ["0%", "0.0 %", "[Red]0.00%;-0%"])
def test_numbers_that_a_sheet_shows_as_per_cent(opt: Optimizer, tmp_path: Path, shown: str) -> None:
    table = sheet(opt, 0.1, 20.0).assign(purity=0.5)
    with pd.ExcelWriter(tmp_path / "next.xlsx") as writer:
        table.to_excel(writer, index=False)
        for place in ("E2", "F2"):
            writer.sheets["Sheet1"][place].number_format = shown
    with raises(InputError, "1 row", "row 2", "y", "'10%'", "10 or 0.1"):
        opt.record(tmp_path / "next.xlsx")
    table.to_excel(tmp_path / "next.xlsx", index=False)
    opt.record(tmp_path / "next.xlsx")
    with pd.ExcelWriter(tmp_path / "history.xlsx") as writer:
        opt.history.to_excel(writer, index=False)
        writer.sheets["Sheet1"]["D2"].number_format = shown
    with raises(InputError, "row 2", "y", "'10%'", "10 or 0.1"):
        Optimizer(SPACE, direction="maximize", seed=0).resume(tmp_path / "history.xlsx")


def test_results_in_two_sheets(opt: Optimizer, tmp_path: Path) -> None:
    table = sheet(opt, 1.5, 2.5)
    blank = table.assign(y=None)
    total = pd.DataFrame({"what": ["mean"], "y": [2.0]})
    path = tmp_path / "next.xlsx"
    for other in (table.assign(y=77.0), table.assign(y=77.0).drop(columns="trial")):
        with pd.ExcelWriter(path) as writer:
            for name, one in {"blank": blank, "mine": table, "total": total, "hers": other}.items():
                one.to_excel(writer, sheet_name=name, index=False)
        with raises(InputError, "several sheets", "'hers'"):
            opt.record(path)
    with pd.ExcelWriter(path) as writer:
        for name, one in {"mine": table, "blank": blank, "total": total}.items():
            one.to_excel(writer, sheet_name=name, index=False)
    assert [trial.value for trial in opt.record(path).trials] == [1.5, 2.5]


def test_what_was_run_off_the_grid_is_taken_on_request(opt: Optimizer) -> None:
    table = sheet(opt, 1.5)
    table.loc[0, "heat"] = 26
    opt.record(table, as_run=True)
    assert opt.trials.told[0].setting["heat"] == 26
    assert opt.trials.told[0].suggested["heat"] != 26


def test_a_setting_that_was_rounded_at_the_end_of_its_range_is_taken(opt: Optimizer) -> None:
    opt.record(
        [{"heat": 25, "flow": 1.0005, "gas": "air", "y": 0.5}, {"heat": 30, "flow": -0.001, "gas": "air", "y": 0.4}]
    )
    assert [one.setting["flow"] for one in opt.trials.told] == [1.0005, -0.001]
    with raises(InputError, "flow", "1.01", "1 is nearest", "--as-run"):
        opt.record([{"heat": 25, "flow": 1.01, "gas": "air", "y": 0.5}])


def test_constraints_hold_for_what_is_recorded() -> None:
    opt = Optimizer({"a": (0.0, 1.0), "b": (0.0, 1.0)}, direction="maximize", constraints="a + b <= 1", seed=0)
    with raises(InputError, "a + b <= 1"):
        opt.record([{"a": 0.8, "b": 0.8, "y": 1.0}])


def test_a_row_recorded_before_is_refused_or_skipped(opt: Optimizer) -> None:
    table = sheet(opt, 1.5, 2.5, None)
    opt.record(table)
    table.loc[2, "y"] = 3.5
    with raises(InputError, "2 rows", "row 0", "trial 1", "recorded already", "same result"):
        opt.record(table)
    assert len(opt.trials) == 2
    done = opt.record(table, skip_recorded=True)
    assert (done.skipped, [trial.id for trial in done.trials]) == ((1, 2), [3])
    assert opt.record(table, skip_recorded=True).trials == ()
    table.loc[0, "y"] = 1.6
    with raises(InputError, "recorded already", "1.5", "amend trial 1"):
        opt.record(table, skip_recorded=True)


def test_own_runs_recorded_twice(opt: Optimizer) -> None:
    rows = [{"heat": 25, "flow": 0.5, "gas": "air", "y": 1.0}]
    opt.record(rows)
    with raises(InputError, "trial 1", "recorded already"):
        opt.record(rows)


def test_a_sheet_without_numbers_recorded_twice(opt: Optimizer) -> None:
    rows = sheet(opt, 1.5, 2.5).drop(columns="trial")
    assert [trial.id for trial in opt.record(rows).trials] == [1, 2]
    with raises(InputError, "2 rows", "row 0", "trial 1", "recorded already", "same result"):
        opt.record(rows)
    opt.amend(2, note="stirred by hand")
    assert opt.record(rows, skip_recorded=True).skipped == (1, 2)
    again = rows.assign(note="a replicate")
    assert [(trial.id, trial.is_suggestion) for trial in opt.record(again).trials] == [(3, False), (4, False)]
    with raises(InputError, "trial 3", "recorded already", "'note'"):
        opt.record(again)


def test_a_sheet_that_nobody_filled_in(opt: Optimizer) -> None:
    with raises(InputError, "no result", "y"):
        opt.record(sheet(opt, None, None))


@pytest.mark.parametrize(
    ("table", "facts"),
    [
        ([{"heat": 25, "y": 1.0}], ("columns", "heat, flow, gas")),
        ([{"heat": 25, "flow": 0.5, "gas": "air"}], ("column", "y")),
        ([{"trial": 1, "yield": 1.0}], ("column", "y")),
    ],
)
def test_missing_columns(opt: Optimizer, table: list[dict[str, object]], facts: tuple[str, ...]) -> None:
    opt.ask()
    with raises(InputError, *facts):
        opt.record(table)


def test_a_sheet_for_the_other_direction(opt: Optimizer) -> None:
    table = sheet(opt, 1.0)
    table["direction"] = "minimize"
    with pytest.raises(InputError, match="minimize"):
        opt.record(table)


def test_several_responses() -> None:
    opt = Optimizer(
        {"a": (0.0, 1.0)}, objectives={"yield": "maximize", "cost": "minimize"}, requirements={"purity": "pass"}, seed=0
    )
    opt.ask(n=3)
    opt.record(
        [
            {"trial": 1, "yield": 0.5, "cost": 3, "purity": "pass"},
            {"trial": 2, "yield": "failed", "cost": None, "purity": None},
            {"trial": 3, "yield": None, "cost": 2, "purity": None},
        ]
    )
    told = opt.trials.told
    assert [trial.state for trial in told] == ["complete", "failed", "complete"]
    assert told[0].more == {"cost": 3.0, "purity": 1.0}
    assert isnan(told[2].value)
    assert told[2].more == {"cost": 2.0}


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a database"])
def test_undo_takes_back_the_last_result_and_opens_its_suggestion(kept: bool, tmp_path: Path) -> None:
    opt = (
        Optimizer(SPACE, direction="maximize", storage=f"sqlite:///{tmp_path}/a.db", seed=0)
        if kept
        else Optimizer(SPACE, direction="maximize", seed=0)
    )
    first, second = opt.ask(n=2)
    opt.tell(first, 1.0)
    opt.tell(second, 99.0)
    undone = opt.undo()
    assert (undone.trial.id, undone.trial.value) == (2, 99.0)
    assert undone.reopened_suggestion is not None
    assert (dict(undone.reopened_suggestion), undone.reopened_suggestion.trial) == (
        dict(second),
        2,
    )  # so that a printed sheet still fits
    assert [trial.value for trial in opt.trials.told] == [1.0]
    opt.tell(undone.reopened_suggestion, 9.9)
    assert [trial.value for trial in opt.trials.told] == [1.0, 9.9]
    assert opt.trials.set_aside == ()
    assert opt.journal["action"].tolist() == ["suggest", "suggest", "record", "record", "undo", "record"]
    opt.undo()
    opt.undo()
    assert len(opt.trials) == 0
    with raises(InputError, "take back"):
        opt.undo()


def test_undoing_a_run_that_nobody_asked_for(opt: Optimizer) -> None:
    opt.tell({"heat": 25, "flow": 0.5, "gas": "air"}, 1.0, note="by hand")
    assert opt.undo().reopened_suggestion is None
    assert not opt.trials.pending
    assert opt.trials.set_aside[0].note == "by hand; taken back"


def test_numbers_that_were_sorted_apart_from_their_settings(opt: Optimizer) -> None:
    table = sheet(opt, 1.5, 2.5)
    table["trial"] = [2, 1]
    with raises(InputError, "trial 2", "settings of trial 1"):
        opt.record(table)


def test_the_number_of_another_result(opt: Optimizer) -> None:
    opt.record(sheet(opt, 1.5))
    table = sheet(opt, 2.5)
    table["trial"] = 1
    with pytest.raises(InputError, match=r"recorded already, at heat=.*\. Is the number right|settings of trial 2"):
        opt.record(table)


def test_runs_without_a_number_may_be_refused(opt: Optimizer) -> None:
    with raises(InputError, "no trial's number"):
        opt.record([{"heat": 25, "flow": 0.5, "gas": "air", "y": 1.0}], own=False)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"gas": "argon"}, "in gas"),
        ({"heat": 75}, "in heat"),
        ({"rate": 0.01}, "in rate"),
        ({"heat": 75, "gas": "argon"}, "in heat, gas"),
        ({"heat": 65, "flow": 0.74, "rate": 0.3}, ""),  # 15 of 70, 0.24 of 1, a half of three decades
    ],
)
def test_settings_far_from_what_was_suggested(change: dict[str, object], expected: str) -> None:
    suggested = {"heat": 50, "flow": 0.5, "gas": "air", "rate": 1.0}
    opt = Optimizer({**SPACE, "rate": (0.001, 1.0, "log")}, direction="maximize", seed=0)
    opt.ask(candidates=[suggested])
    second = opt.ask()
    rows = [{"trial": 1, **suggested, **change, "y": 1.0}, {"trial": 2, **second, "y": 2.0}]
    if not expected:
        assert len(opt.record(rows).trials) == 2
        return
    with pytest.raises(
        InputError, match=f"row 0: has .* trial 1 was suggested with heat=50.*far from it {expected}\\..*--as-run"
    ):
        opt.record(rows)
    assert len(opt.trials) == 0
    opt.record(rows, as_run=True)
    assert opt.trials.told[0].setting == {**suggested, **change}
    assert opt.record(rows, skip_recorded=True).skipped == (1, 2)


def test_the_sheet_of_another_campaign(opt: Optimizer) -> None:
    opt.ask(n=6)
    theirs = sheet(Optimizer(SPACE, direction="maximize", seed=9), *range(6))
    with raises(InputError, "sheet", "another campaign"):
        opt.record(theirs)
    theirs["y"] = [1.0, *[None] * 5]
    with raises(InputError, "sheet", "another campaign"):
        opt.record(theirs)
    assert len(opt.trials) == 0
    assert len(opt.record(theirs.drop(columns="trial").head(1)).trials) == 1  # as runs of one's own


def test_a_renamed_column_is_named_first_and_choices_are_all_named() -> None:
    names = [f"x{k}" for k in range(8)]
    opt = Optimizer(
        {**dict.fromkeys(names, (0.0, 1.0)), "gas": list("abcdefgh")}, direction="maximize", target="yield", seed=0
    )
    row = {"trial": opt.ask().trial, **dict.fromkeys(names, 0.5), "gas": "a", "Ausbeute": 1.0}
    with raises(InputError, "column for yield", "Ausbeute, trial, x0", "x7, gas"):
        opt.record([row])
    with raises(InputError, "a, b, c, d, e, f, g, h", "'z'"):
        opt.record([{**row, "gas": "z", "yield": 1.0}])


def test_a_header_with_a_unit_after_a_space() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", target="yield", seed=0)
    opt.record([{"x": 0.5, "Yield %": 20.0}])
    assert opt.best.value == 20.0


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "in a database"])
def test_a_cancelled_suggestion_that_was_run_after_all(kept: bool, tmp_path: Path) -> None:
    opt = (
        Optimizer(SPACE, direction="maximize", storage=f"sqlite:///{tmp_path}/a.db", seed=0)
        if kept
        else Optimizer(SPACE, direction="maximize", seed=0)
    )
    asked = opt.ask(n=4)
    table = pd.DataFrame([{"trial": one.trial, **one, "y": None} for one in asked])
    opt.cancel(asked)
    with raises(InputError, "no result"):
        opt.record(table)
    table.loc[1, "y"] = 2.0
    assert [trial.id for trial in opt.record(table).trials] == [2]
    assert opt.record([{"trial": 3, "y": 3.0}]).open == ()
    opt.tell(asked[0], 1.0)
    opt.tell(dict(asked[3]), 4.0, trial=4)
    for trials in (opt.trials, Optimizer.load(f"sqlite:///{tmp_path}/a.db").trials if kept else opt.trials):
        assert {one.id: (one.value, one.is_suggestion) for one in trials.told} == {
            k: (float(k), True) for k in (1, 2, 3, 4)
        }
        assert trials.set_aside == trials.pending == ()
    assert opt.undo().reopened_suggestion == asked[3]
    assert [trial.id for trial in opt.trials.pending] == [4]
    if not kept:
        opt.save(tmp_path / "a.json")
        assert Optimizer.load(tmp_path / "a.json").trials == opt.trials


def test_what_a_sheet_says_of_cancelled_suggestions(opt: Optimizer) -> None:
    opt.cancel(opt.ask(n=2)[0])
    opt.record(opt.history.assign(y=[2.0, None]))  # the first row is of the one that is open
    assert [trial.state for trial in opt.trials.trials] == ["complete", "cancelled"]
    opt.ask()
    rows = opt.history.assign(state=["cancelled"] * 3, y=None)
    with raises(InputError, "cancelled", "trial 2", "number"):
        opt.record(rows)


@pytest.mark.filterwarnings("ignore::tunedprior.errors.OldDataWarning")
def test_a_header_with_another_unit_than_in_old_data(tmp_path: Path) -> None:
    old = pd.DataFrame({"x": [0.1, 0.5, 0.9, 0.7], "t (s)": [10, 20, 30, 40], "yield [%]": [20.0, 50.0, 90.0, 75.0]})
    space, url = {"x": (0.0, 1.0), "t": (5, 50)}, f"sqlite:///{tmp_path}/a.db"
    first = Optimizer(space, old, direction="maximize", target="yield", storage=url, seed=0)
    first.save(tmp_path / "a.json")
    for opt in (first, Optimizer.load(url), Optimizer.load(tmp_path / "a.json", old_data=old)):
        with raises(InputError, "'yield'", "fraction", "old data", "%"):
            opt.record([{"x": 0.5, "t": 10, "yield [fraction]": 0.2}])
        with raises(InputError, "'t'", "min", "old data", "in s"):
            opt.record([{"x": 0.5, "t [min]": 10, "yield": 20.0}])
    opt = first
    opt.record([{"x": 0.5, "t (sec)": 10, "yield (percent)": 20.0}, {"x": 0.6, "t (sec)": 10, "yield (percent)": 20.0}])
    opt.record([{"x": 0.5, "t": 12, "yield (GC)": 20.0}])
    assert len(opt.trials.told) == 3
