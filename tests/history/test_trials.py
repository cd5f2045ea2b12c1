"""What was told, as a value, and as a table that can be read again."""

import math

import pandas as pd
import pytest

from benchmarks.results import EVERY_DIGIT
from support.builders import MIXED
from tunedprior import History
from tunedprior.errors import InputError
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective
from tunedprior.history.table import HistoryColumns, make_history_table, parse_history
from tunedprior.history.trials import Trial
from tunedprior.space.search_space import Space

SPACE = Space.parse(MIXED)
SETTINGS = SPACE.sobol(5, seed=1)


def campaign() -> History:
    """Two results that were asked for (one failed, one run a little off), one that was not, and one under way."""
    history = History().append_pending(SETTINGS[0]).append_pending(SETTINGS[1]).append_pending(SETTINGS[2])
    first, second, _ = history.pending
    history = history.append_result(SETTINGS[1], math.nan, second, note="pump stopped")
    history = history.append_result(SETTINGS[0] | {"x": 0.123}, 1.5, first, extra={"operator": "Ada"})
    return history.append_result(SETTINGS[3], 0.5)


# -- the value -----------------------------------------------------------------------------------------


def test_a_history_is_never_changed() -> None:
    before = History()
    after = before.append_pending(SETTINGS[0])
    told = after.append_result(SETTINGS[0], 1.0, after.pending[0])
    assert (len(before), before.pending) == (0, ())
    assert [trial.is_pending for trial in after.pending] == [True]
    assert (len(told), told.pending) == (1, ())
    assert after.cancel_trial(after.pending[0]).pending == ()


def test_trials_keep_their_numbers() -> None:
    history = campaign()
    assert [trial.id for trial in history.told] == [2, 1, 4]
    assert [trial.id for trial in history.pending] == [3]
    assert history.next_id == 5
    assert [trial.is_suggestion for trial in history.told] == [True, True, False]
    assert [trial.state for trial in (*history.told, *history.pending)] == [
        "failed",
        "complete",
        "complete",
        "pending",
    ]


def test_what_was_asked_for_is_kept_beside_what_was_run() -> None:
    trial = campaign().told[1]
    assert trial.suggested == SETTINGS[0]
    assert trial.setting == SETTINGS[0] | {"x": 0.123}


def test_up_to_is_what_was_known_then() -> None:
    history = campaign()
    assert history.keep_first(2).told == history.told[:2]
    assert history.keep_first(2).pending == ()


# -- the table -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_file", [False, True], ids=["table", "file"])
def test_a_table_holds_all_of_it(by_file: bool, tmp_path) -> None:
    columns, history = HistoryColumns.from_space(SPACE, Goals()), campaign()
    table = make_history_table(history, columns)
    assert table["state"].tolist() == ["failed", "complete", "complete", "pending"]
    assert table["trial"].tolist() == [2, 1, 4, 3]
    assert table["note"].tolist()[0] == "pump stopped"
    assert table["operator"].tolist()[1] == "Ada"
    assert table["asked x"].tolist()[1] == SETTINGS[0]["x"]
    if by_file:
        table.to_csv(tmp_path / "history.csv", index=False)
        table = pd.read_csv(tmp_path / "history.csv", **EVERY_DIGIT)
    again = parse_history(table, columns, SPACE)
    assert list(map(comparable, again.told)) == list(map(comparable, history.told))
    assert list(map(comparable, again.pending)) == list(map(comparable, history.pending))
    assert again.next_id == history.next_id


def comparable(trial: Trial) -> tuple:
    """NaN is not equal to itself."""
    value = None if math.isnan(trial.value) else trial.value
    return value, trial.setting, trial.suggested, trial.id, trial.is_pending, trial.note, dict(trial.extra)


def test_columns_that_nobody_needs_are_left_out() -> None:
    history = History().append_pending(SETTINGS[0])
    history = history.append_result(SETTINGS[0], 1.0, history.pending[0])
    names = list(make_history_table(history, HistoryColumns.from_space(SPACE, Goals())).columns)
    assert names == [*MIXED, "y", "state", "asked", "trial"]


def test_a_table_without_numbers_and_notes_will_do() -> None:
    columns = HistoryColumns.from_space(SPACE, Goals())
    table = make_history_table(campaign(), columns)[[*MIXED, "y", "state", "asked"]]
    again = parse_history(table, columns, SPACE)
    assert [trial.id for trial in again.told] == [1, 2, 3]
    assert again.told[0].suggested == SETTINGS[1]
    with pytest.raises(InputError, match="state is missing"):
        parse_history(table.drop(columns="state"), columns, SPACE)


def test_no_name_is_reserved() -> None:
    names = ("y", "state", "asked", "trial", "note", "asked y")
    space = Space.parse(dict.fromkeys(names, (0.0, 1.0)))
    columns = HistoryColumns.from_space(space, Goals((Objective("state"),)))
    history = History().append_pending(space.sobol(1, seed=0)[0])
    run = dict(history.pending[0].setting) | {"y": 0.5}
    history = history.append_result(run, 2.0, history.pending[0], note="by night")
    table = make_history_table(history, columns)
    assert table.columns.is_unique
    assert list(table.columns[:6]) == list(names)
    assert table[columns.response].tolist() == [2.0]
    assert comparable(parse_history(table, columns, space).told[0]) == comparable(history.told[0])


def test_trials_are_equal_field_by_field_and_failures_too() -> None:
    one = Trial({"x": 1.0}, math.nan, None, 3)
    assert one == Trial({"x": 1.0}, math.nan, None, 3)
    assert Trial({"x": 1.0}, 2.0) == Trial({"x": 1.0}, 2.0)
    for other in (Trial({"x": 1.0}, 2.0, None, 3), Trial({"x": 2.0}, math.nan, None, 3), Trial({"x": 1.0}, id=4), "x"):
        assert one != other
    assert Trial({"x": 1.0}, 2.0) != Trial({"x": 1.0}, 3.0)
