"""Reading old data: labels in any spelling, and failed runs."""

import numpy as np
import pandas as pd
import pytest

from support.builders import PLANT, plant_data
from tunedprior import pretrain
from tunedprior.problem.old_data import read_old_data
from tunedprior.problem.space import Space


@pytest.mark.parametrize(
    ("good", "bad"),
    [(1, -1), (1, 0), ("pass", "fail"), ("OK", "nok"), (True, False), ("Yes", np.nan)],
    ids=["±1", "0/1", "pass/fail", "case", "booleans", "empty is a failure"],
)
def test_labels_in_any_spelling_are_labels(good, bad) -> None:
    old = plant_data()
    above = old["y"] > old["y"].median()
    old["y"] = pd.Series([good if one else bad for one in above], dtype=object)
    data = read_old_data(old, Space.parse(PLANT))
    assert data.labels
    assert data.response.tolist() == [1.0 if one else -1.0 for one in above]


@pytest.mark.parametrize(("direction", "worst"), [("maximize", min), ("minimize", max)])
def test_failed_old_runs_count_as_the_worst(direction, worst) -> None:
    old = plant_data()
    old.loc[[3, 7], "y"] = np.nan
    data = read_old_data(old, Space.parse(PLANT), direction=direction)
    assert not data.labels
    assert data.response[3] == data.response[7] == worst(old["y"].dropna())
    assert not pretrain(old, PLANT, direction=direction).vanishes


def test_the_word_failed_among_numbers_is_a_failed_run() -> None:
    old = plant_data()
    old["y"] = old["y"].astype(object)
    old.loc[4, "y"] = "failed"
    data = read_old_data(old, Space.parse(PLANT))
    assert data.response[4] == min(value for value in old["y"] if value != "failed")


def test_one_good_value_and_failures_are_labels() -> None:
    old = plant_data().assign(y=7.0)
    old.loc[:5, "y"] = np.nan
    data = read_old_data(old, Space.parse(PLANT))
    assert data.labels
    assert data.response.tolist() == [-1.0] * 6 + [1.0] * 14
