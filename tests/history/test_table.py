"""A history is the lab's notebook: whatever is filled in is taken, whatever contradicts is refused with its line."""

import io
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution

from tunedprior import History, Trial
from tunedprior.errors import InputError
from tunedprior.goals.goals import Goals
from tunedprior.history.table import HistoryColumns, make_history_table, parse_history
from tunedprior.space.search_space import Space

SPACE = Space.parse({"x": (0.0, 1.0), "gas": ["air", "argon"]})
COLUMNS = HistoryColumns.from_space(SPACE, Goals())


def read(text: str, direction: str = "maximize") -> History:
    """From the text of a CSV file, cells as they are."""
    table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    return parse_history(table, COLUMNS, SPACE, lambda row: f"line {row + 2}", direction)


def one(line: str) -> Trial:
    """The only trial of a file with this line."""
    (trial,) = read(f"x,gas,y,state,asked,trial\n{line}\n").trials
    return trial


@pytest.mark.parametrize(
    ("line", "state", "asked", "value"),
    [
        ("0.5,air,,pending,True,3", "pending", True, None),
        ("0.5,air,2.5,pending,True,3", "complete", True, 2.5),  # typed beside it
        ("0.5,air,2.5,,True,3", "complete", True, 2.5),
        ("0.5,air,,,yes,3", "pending", True, None),
        ("0.5,air,, Pending ,TRUE,3", "pending", True, None),
        ("0.5,air,NA,FAILED,FALSE,3", "failed", False, None),
        ("0.5,air,2.5,ok,no,3", "complete", False, 2.5),
        ("0.5,air,2.5,Done,0,3", "complete", False, 2.5),
        ("0.5,air,2.5,complete,,3", "complete", False, 2.5),
        ("0.5,air,,pending,,3", "pending", True, None),  # nothing else can be pending
        ("0.5,Air ,2.5,,,", "complete", False, 2.5),  # added by hand
        ("0.5,air,,cancelled,True,3", "cancelled", True, None),
        ("0.5,air,9,withdrawn,True,3", "withdrawn", True, 9.0),
        ("0.5,air,,withdrawn,False,3", "withdrawn", False, None),
    ],
)
def test_whatever_is_filled_in_is_taken(line: str, state: str, asked: bool, value: float | None) -> None:
    trial = one(line)
    assert (trial.state, trial.is_suggestion) == (state, asked)
    assert trial.setting == {"x": 0.5, "gas": "air"}
    assert math.isnan(trial.value) if value is None else trial.value == value
    assert trial.id == (3 if line[-1] == "3" else 1)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0.5,air,2.5,failed,True,3", "line 2: is failed, but y is 2.5"),
        ("0.5,air,2.5,cancelled,True,3", "is cancelled, but y is 2.5"),
        ("0.5,air,,complete,True,3", "is complete, but y is blank"),
        ("0.5,air,inf,complete,True,3", "y is inf, which is not finite"),
        ("0.5,air,high,complete,True,3", "y is 'high', which is no number"),
        ("0.5,air,1_0,complete,True,3", "y is '1_0', which is no number"),
        ("0.5,air,1.0,running,True,3", "state is 'running'; write complete, failed, pending"),
        ("0.5,air,1.0,complete,perhaps,3", "asked is 'perhaps'; write true or false"),
        ("0.5,air,1.0,complete,True,3.5", "trial is '3.5'; a trial's number is a whole"),
        ("0.5,air,1.0,complete,True,0", "trial is '0'"),
        ("0.5,air,,pending,False,3", "is pending, but was not asked for"),
        ("0.5,air,,,,", "has neither y nor state"),
        ("0.5,air,,,False,3", "has neither y nor state"),
        (",air,1.0,complete,True,3", "x is blank"),
        ("half,air,1.0,complete,True,3", "x is 'half', which is no number"),
        ("0.5,,1.0,complete,True,3", "gas is blank"),
    ],
)
def test_whatever_contradicts_is_refused_with_its_line(line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        one(line)


def test_all_problems_of_a_file_are_told_at_once() -> None:
    lines = ["0.5,air,1,failed,True,1", "0.5,air,1,complete,True,2", "0.5,air,2,complete,True,2", *["0,air,,,,"] * 5]
    with pytest.raises(InputError) as refused:
        read("\n".join(["x,gas,y,state,asked,trial", *lines]))
    message = str(refused.value)
    assert "7 rows that cannot be taken, so nothing was" in message
    assert "line 4: has trial number 2, and so has line 3" in message
    assert message.count("\n") == 6
    assert message.endswith("… and 2 more")


def test_rows_by_hand_get_numbers_of_their_own_and_blank_rows_none() -> None:
    history = read("x,gas,y,state,asked,trial\n0.1,air,1,complete,True,7\n,,,,,\n0.2,air,2,,,\n0.3,argon,,,yes,\n")
    assert [(trial.id, trial.state) for trial in history.trials] == [
        (7, "complete"),
        (8, "complete"),
        (9, "pending"),
    ]


def test_another_direction_is_noticed() -> None:
    text = "x,gas,y,state,asked,trial,direction\n0.1,air,1,complete,True,1,Minimise\n"
    assert len(read(text, "minimize")) == 1
    with pytest.raises(InputError, match="direction is 'Minimise', and this Optimizer's is 'maximize'"):
        read(text, "maximize")


def test_columns_are_needed_once_and_in_a_table() -> None:
    table = make_history_table(History().append_result({"x": 0.1, "gas": "air"}, 1.0), COLUMNS)
    with pytest.raises(InputError, match="several called y"):
        parse_history(table[[*table.columns, "y"]], COLUMNS, SPACE)
    with pytest.raises(InputError, match=r"asked is missing .* goes to tell\(table, table\['y'\]\)"):
        parse_history(table.drop(columns="asked"), COLUMNS, SPACE)


def test_dates_and_flags_are_no_numbers() -> None:
    table = make_history_table(History().append_result({"x": 0.1, "gas": "air"}, 1.0), COLUMNS)
    for wrong in (pd.Timestamp("2020-01-01"), True):
        with pytest.raises(InputError, match=r"y is (a date|.*, which is no number)"):
            parse_history(table.astype({"y": object}).assign(y=[wrong]), COLUMNS, SPACE)


def test_own_columns_are_numbers_where_all_of_it_is() -> None:
    text = "x,gas,y,state,asked,mass,batch,count\n0.1,air,1,,,2.5,007,3\n0.2,air,2,,,,008,4\n"
    first, second = read(text).told
    assert dict(first.extra) == {"mass": 2.5, "batch": "007", "count": 3}
    assert dict(second.extra) == {"batch": "008", "count": 4}


# -- everything that can be written can be read ---------------------------------------------------------

NAMES = st.sampled_from(["x", "y", "state", "asked", "trial", "note", "direction", "asked x", "asked y_", "Größe µ"])
WORDS = st.sampled_from(["1", "01", "1.0", "NA", "None", "null", "nan", "air", "Air", "true", "a,b", 'say "x"', "ü"])
WHOLES, REALS = st.integers(-5, 5), st.floats(-1e3, 1e3)


KINDS = st.one_of(
    st.just((-1e3, 1e3)),
    st.lists(WHOLES, min_size=2, max_size=4, unique=True),
    st.lists(WORDS, min_size=2, max_size=4, unique=True).map(CategoricalDistribution),
    st.just(CategoricalDistribution((None, 2, 3.5))),
    st.just(CategoricalDistribution((True, False))),
)
EXTRAS = st.sampled_from([{}, {"operator": "Ada"}, {"mass": 2.5}, {"mass": -1e-7, "operator": "007"}])
NOTES = st.sampled_from(["", "by night", "NA", "1, 2"])


def campaign(draw, space: Space) -> History:
    """Up to eight steps of asking, telling, cancelling and withdrawing."""
    values = [
        REALS if parameter.count is None else st.sampled_from(parameter.list_values()) for parameter in space.parameters
    ]
    setting = st.fixed_dictionaries(dict(zip(space.names, values, strict=True)))
    history = History()
    for what in draw(st.lists(st.sampled_from(["ask", "tell", "fail", "cancel", "withdraw"]), min_size=1, max_size=8)):
        of = [None, *history.pending][draw(st.integers(0, len(history.pending)))]
        if what == "ask":
            history = history.append_pending(draw(setting))
        elif what == "cancel" and of is not None:
            history = history.cancel_trial(of)
        elif what == "withdraw" and history.told:
            history = history.withdraw_result(history.told[draw(st.integers(0, len(history) - 1))], draw(NOTES))
        else:
            value = math.nan if what == "fail" else draw(REALS)
            history = history.append_result(draw(setting), value, of, draw(NOTES), draw(EXTRAS))
    return history


@settings(max_examples=60)
@given(st.data(), st.sampled_from(["table", "text"]))
def test_everything_survives_the_table_and_its_text(data: st.DataObject, form: str) -> None:
    space = Space.parse(data.draw(st.dictionaries(NAMES, KINDS, min_size=1, max_size=3)))
    columns, history = HistoryColumns.from_space(space, Goals()), campaign(data.draw, space)
    table = make_history_table(history, columns, "minimize")
    if form == "text":
        table = pd.read_csv(io.StringIO(table.to_csv(index=False)), dtype=str, keep_default_na=False)
    again = parse_history(table, columns, space, direction="minimize")
    assert again == history
    for one, other in zip(again.trials, history.trials, strict=True):
        assert all(type(value) is type(other.setting[name]) for name, value in one.setting.items())
    assert np.array_equal([t.value for t in again.trials], [t.value for t in history.trials], equal_nan=True)
