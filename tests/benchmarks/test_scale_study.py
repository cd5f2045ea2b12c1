"""The study of scale: its small runs, its tables, and that the document has what is stored."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.results import RESULTS, Run, long_table, read_results
from benchmarks.studies.scale import growing, many_rows, tables
from benchmarks.studies.scale.command import JOBS, SMOKE, STUDIES
from benchmarks.studies.scale.growing import OF_INPUTS, OF_MAKING, OF_PENDING, OF_TRIALS, TrialsJob
from benchmarks.studies.scale.many_rows import OF_A_SIDE, OF_ROWS, RowsJob

KEPT = {"sets": OF_MAKING, "inputs": OF_INPUTS, "trials": OF_TRIALS, "pending": OF_PENDING, "rows": OF_ROWS}


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of its own takes seconds to begin."""

    def here(measure: Callable[..., Any], *arguments: Any) -> Any:
        return measure(*arguments)

    monkeypatch.setattr(growing, "alone", here)
    monkeypatch.setattr(many_rows, "alone", here)


def cells(table: str, row: str) -> list[str]:
    (found,) = [line for line in table.splitlines() if line.startswith(f"| {row} |")]
    return [cell.strip() for cell in found.strip("|").split("|")][1:]


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("part", ["sets", "inputs", "trials", "pending"])
def test_small_runs_measure_all_that_is_kept(part: str) -> None:
    (job,) = SMOKE[part]
    found = dict(zip(KEPT[part], STUDIES[part].campaign(job), strict=True))
    assert all(value >= 0 for name, value in found.items() if name != "missing")
    assert found["most"] > 0.05
    assert part != "trials" or found["used"] == 20


@pytest.mark.filterwarnings("ignore::tunedprior.errors.OldDataWarning")
def test_rows_are_written_and_learnt_from_in_one_pass(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    job = RowsJob(2500, 2, 64)
    many_rows.write_rows(job, tmp_path)
    table = pd.read_parquet(tmp_path)
    assert len(table) == 2500
    assert table["y"].isna().sum() == 3
    prior, found = many_rows.in_one_pass(job, str(tmp_path))
    assert dict(zip(OF_A_SIDE, found, strict=True))["in all"] > 0
    assert prior.error < 0.1


def test_differences_are_relative_to_the_largest() -> None:
    one, other = torch.tensor([4.0, -8.0]), torch.tensor([5.0, -8.0])
    assert many_rows._relative(one, other) == 0.125


def rows_of(predictions: float) -> pd.DataFrame:
    side = {
        "in all": 120.0,
        "sample": 10.0,
        "ranges": 10.0,
        "equations": 80.0,
        "busy": 110.0,
        "most": 0.5,
        "before": 0.4,
    }
    found = {f"{which}: {name}": value for which in ("one", "tree") for name, value in side.items()}
    found |= {"tree: in all": 60.0, "writing": 5.0, "gigabytes": 0.3, "features kept": 64.0, "used": 9_990_000.0}
    found |= {"predictions": predictions, "weights": 1e-8}
    return long_table([Run(RowsJob(10**7, 2, 64), tuple(found[name] for name in OF_ROWS), 1.0)])


def test_the_table_of_rows() -> None:
    row = cells(tables.rows_table(rows_of(2e-12)), "10,000,000, 2 inputs, 64 features")
    assert row[1:4] == ["120 s", "60 s", "0.50"]
    assert row[-3:] == ["2e-12", "≤ 1e-09: yes", "1e-08"]
    assert "**no**" in tables.rows_table(rows_of(2e-9))


def test_the_table_of_a_billion_is_arithmetic() -> None:
    row = cells(tables.billion_table(rows_of(0.0)), "2 inputs, 64 features")
    # 100 s of passes for 10⁷ rows are 10 µs for each; 20 s are for choosing, and 90 s of processors for the rest.
    assert row == ["10,000,000 rows", "1 µs", "1 µs", "8 µs", "20 s", "2.8 h", "2.5 h", "2.7 min"]


def test_the_table_of_trials() -> None:
    found = long_table([Run(TrialsJob(1000), (2.0, 0.5, 0.001, 700.0, 0.8), 1.0)])
    assert cells(tables.trials_table(found), "1,000") == ["700", "2 s", "500 ms", "1 ms", "0.80 GiB"]


def test_everything_that_was_asked_for_is_stored() -> None:
    found = {part: read_results(study.name, RESULTS) for part, study in STUDIES.items()}
    for part, results in found.items():
        assert results["run"].nunique() == len(JOBS[part])


def test_both_answers_that_are_stored_are_the_same() -> None:
    results = read_results("scale_rows", RESULTS)
    place = OF_ROWS.index("predictions") + 1
    apart = results.loc[results["step"] == place, "value"].to_numpy()
    assert len(apart) == 3
    assert np.all(apart <= tables.WANTED)
