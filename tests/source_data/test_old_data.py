"""Reading old data: labels in any spelling, failed runs, what was not measured, and what is suspicious."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import FloatDistribution

from support.builders import PLANT, plant_data
from tunedprior import pretrain
from tunedprior.errors import InputError, OldDataWarning
from tunedprior.source_data.matching import read_old_data
from tunedprior.space.search_space import Space


@pytest.mark.parametrize(
    ("good", "bad"),
    [(1, -1), (1, 0), ("pass", "fail"), ("OK", "nok"), (True, False)],
    ids=["±1", "0/1", "pass/fail", "case", "booleans"],
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
    old["y"] = old["y"].astype(object)
    old.loc[[3, 7], "y"] = "failed"
    data = read_old_data(old, Space.parse(PLANT), direction=direction)
    assert not data.labels
    assert data.response[3] == data.response[7] == worst(value for value in old["y"] if value != "failed")
    assert "failed runs (2)" in data.report.response
    assert not pretrain(old, PLANT, direction=direction).vanishes


def test_the_word_failed_among_numbers_is_a_failed_run() -> None:
    old = plant_data()
    old["y"] = old["y"].astype(object)
    old.loc[4, "y"] = "failed"
    data = read_old_data(old, Space.parse(PLANT))
    assert data.response[4] == min(value for value in old["y"] if value != "failed")


def test_one_good_value_and_failures_are_labels() -> None:
    old = plant_data().assign(y="7.0")
    old.loc[:5, "y"] = "failed"
    data = read_old_data(old, Space.parse(PLANT))
    assert data.labels
    assert data.response.tolist() == [-1.0] * 6 + [1.0] * 14


def test_a_blank_response_was_not_measured_and_that_is_said() -> None:
    old = plant_data()
    old.loc[[3, 7], "y"] = np.nan
    with pytest.warns(OldDataWarning, match=r"18 of 20 rows used.*'not measured'.*row 3, row 7"):
        data = read_old_data(old, Space.parse(PLANT))
    assert data.response.tolist() == old["y"].dropna().tolist()
    assert [(one.kind, one.column, one.rows) for one in data.report.findings] == [("blank", "y", ("row 3", "row 7"))]


def test_a_mistyped_row_is_left_out_by_name(tmp_path: Path) -> None:
    old = plant_data()
    old.loc[5, "a"] = 6200.0
    old.to_csv(tmp_path / "old.csv", index=False)
    with pytest.warns(OldDataWarning, match=r"old.csv.*'a' is far outside.*6200\): line 7\.") as caught:
        data = read_old_data(tmp_path / "old.csv", Space.parse(PLANT))
    assert len(caught) == 1  # one warning for one old data set
    assert len(data) == 19
    assert data.settings["a"].max() < 100


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (lambda t: 1000 * t, "other units", "1,000 times too large.*Nothing is learnt from it"),
        (lambda t: t / 1000, "other units", "1,000 times too small"),
        (lambda t: t + 273.15, "other units", "one were in K and the other in °C"),
        (lambda t: 10 * t, "other units", "10 times too large"),
        (lambda t: t / 60, "other units", "one were in minutes and the other in seconds"),
        (lambda t: 1.8 * t + 32, "other units", "one were in °F and the other in °C"),
        (lambda t: t + 70, "no overlap", "from 30 to 90 in the space, which do not meet: what was learnt there helps"),
        (lambda t: 700 + t / 2, "no overlap", "far apart. Nothing is learnt"),
        (lambda t: t.where(t.index != 2, -9999.0), "sentinel", "'not measured'.*-9999.*row 2"),
        (lambda t: t.where(t.index != 2), "blank", "blank.*row 2"),
    ],
    ids=["factor", "divided", "kelvin", "ten", "minutes", "fahrenheit", "beside", "far", "sentinel", "blank"],
)
def test_what_is_suspicious_in_a_setting_is_reported(change, kind: str, said: str) -> None:
    space = Space.parse({"t": (30.0, 90.0), "z": (0.0, 1.0)})
    old = pd.DataFrame({"t": np.linspace(30, 90, 40), "z": np.tile([0.0, 0.3, 0.7, 1.0], 10)})
    old["y"] = old["t"] * old["z"]
    old["t"] = change(old["t"])
    with pytest.warns(OldDataWarning, match=said):
        data = read_old_data(old, space)
    assert [one.kind for one in data.report.findings] == [kind]
    assert data.report.findings[0].column == "t"


def test_an_isolated_response_is_doubtful() -> None:
    old = plant_data()
    old.loc[4, "y"] *= 1e4
    with pytest.warns(OldDataWarning, match=r"row 4, far from all others.*with and without it"):
        data = read_old_data(old, Space.parse(PLANT))
    assert np.flatnonzero(data.doubtful).tolist() == [4]
    assert len(data) == 20
    assert len(data.select_rows(~data.doubtful)) == 19


def test_dates_are_no_numbers() -> None:
    old = plant_data()
    old["a"] = pd.date_range("2020-01-01", periods=20)
    with pytest.raises(InputError, match="'a' must be numbers; 20 of 20 are dates"):
        read_old_data(old, Space.parse(PLANT))


def test_a_logarithmic_setting_leaves_out_what_is_not_above_zero() -> None:
    space = Space.parse({"rate": FloatDistribution(1e-4, 1e-1, log=True)})
    old = pd.DataFrame({"rate": [1e-4, 1e-3, 0.0, 1e-2, -1.0], "y": [1.0, 2.0, 3.0, 4.0, 5.0]})
    with pytest.warns(OldDataWarning, match=r"not above 0.*row 2, row 4"):
        data = read_old_data(old, space)
    assert data.response.tolist() == [1.0, 2.0, 4.0]


def test_good_old_data_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = read_old_data(plant_data(), Space.parse(PLANT))
    assert str(data.report) == "old data (the table): 20 rows, all are used; the response is numbers."


def test_the_fingerprint_is_that_of_the_content() -> None:
    space, old = Space.parse(PLANT), plant_data()
    same, other = old.copy(), old.copy()
    other.loc[3, "y"] += 1e-9
    assert read_old_data(old, space).fingerprint == read_old_data(same, space).fingerprint
    assert read_old_data(old, space).fingerprint != read_old_data(other, space).fingerprint


def test_what_a_spreadsheet_could_not_compute_is_named() -> None:
    old = plant_data().astype(object)
    old.loc[3, "y"] = "#N/A"
    with pytest.warns(OldDataWarning, match="'y' is '#N/A', an error of the spreadsheet, in row 3: taken as blank"):
        assert len(read_old_data(old, Space.parse(PLANT))) == len(old) - 1
    old.loc[3, "y"] = "#DIV/0!"
    with pytest.raises(InputError, match=r"row 3: '#DIV/0!'.* One is '#DIV/0!', an error of the spreadsheet"):
        read_old_data(old, Space.parse(PLANT))
    old.loc[3, "y"] = pd.Timestamp("2026-05-20")
    with pytest.raises(InputError, match=r"One is a date \(20 May 2026\): spreadsheets make dates of numbers"):
        read_old_data(old, Space.parse(PLANT))
