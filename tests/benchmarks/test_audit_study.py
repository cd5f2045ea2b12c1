import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.problems import pairs
from benchmarks.studies.audits import jobs
from benchmarks.studies.audits.jobs import OF_A_CLEAN_SOURCE, CleanJob, of_a_clean_source, read_clean, spoiled_jobs
from benchmarks.studies.audits.spoiled import Copy
from benchmarks.studies.audits.spoilers import SPOILERS
from benchmarks.studies.audits.tables import audit_tables
from tunedprior.audit import Fault, measures

NAME = pairs.PAIRS[0]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One pair that every spoiler can be applied to."""
    rng = np.random.default_rng(0)
    where = tmp_path / NAME
    where.mkdir()
    for file in ("source", "target"):
        table = pd.DataFrame(
            {
                "temperature": rng.uniform(30, 90, 80).round(2),
                "time": rng.uniform(600, 3600, 80).round(1),
                "gas": rng.choice(["Air", "Argon"], 80),
            }
        )
        response = np.sin(table["temperature"] / 15) * 30 + table["time"] / 100 + 40 + 5 * (table["gas"] == "Air")
        table.assign(y=response.round(3)).to_csv(where / f"{file}.csv", index=False)
    facts = {"inputs": ["temperature", "time", "gas"], "categorical": ["gas"], "goal": "max"}
    (where / "meta.json").write_text(json.dumps(facts | {"origin": "", "licence": ""}))
    monkeypatch.setattr(measures, "TRIALS", 2)
    monkeypatch.setattr(measures, "REPEATS", 1)
    return tmp_path


def test_every_way_to_spoil_a_table_changes_it_and_says_how(folder: Path) -> None:
    clean = read_clean(folder, NAME)
    kinds = set()
    assert len(SPOILERS) == 20
    for spoil, can_be in SPOILERS.values():
        assert can_be(clean)
        copy = spoil(clean, np.random.default_rng(1))
        assert copy.content != clean.cells.to_csv(index=False, lineterminator="\n").encode()
        assert copy.columns or copy.lines
        assert spoil(clean, np.random.default_rng(1)) == copy
        kinds |= set(copy.kinds)
    assert len(kinds) >= 17


def test_a_fault_is_found_only_with_its_column_and_rows() -> None:
    copy = Copy(b"", ("far off",), ("a",), (3, 4))
    fault = Fault("far off", ("a", "b"), ("line 3", "line 4", "line 5"), "", "")
    assert copy.is_found_in([fault])
    for other in (
        Fault("sentinel", ("a",), ("line 3", "line 4"), "", ""),
        Fault("far off", ("b",), ("line 3", "line 4"), "", ""),
        Fault("far off", ("a",), ("line 3", "line 7", "line 8"), "", ""),
        Fault("far off", ("a",), (), "", ""),
    ):
        assert not copy.is_found_in([other])


def test_jobs_and_tables(folder: Path) -> None:
    made = spoiled_jobs(folder, [5], [NAME])
    assert len(made) == 20
    of_two = [jobs.of_a_spoiled_copy(job, folder) for job in made[:2]]
    assert of_two == [[1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    spoiled = pd.DataFrame(
        [
            {"spoiler": job.spoiler, "pair": job.pair, "seed": job.seed, "step": step, "value": value}
            for job, values in zip(made, of_two, strict=False)
            for step, value in enumerate(values, 1)
        ]
    )
    values = dict(zip(OF_A_CLEAN_SOURCE, of_a_clean_source(CleanJob(NAME), folder), strict=True))
    assert values["faults"] == values["ranges that differ"] == 0
    assert values["rows"] == values["rows by pandas"] == 80
    assert values["coverage"] == pytest.approx(values["coverage by brute force"], abs=0.1)
    clean = pd.DataFrame(
        [{"pair": NAME, "step": step, "value": value} for step, value in enumerate(values.values(), 1)]
    )
    found = audit_tables(clean, spoiled)
    assert f"| {NAME} | 0 | 80 (80) | 0 |" in found["clean"]
    assert "| all | 2 of 2 | 0 of 2 |  |" in found["spoiled"]
    assert found["spoiled by seed"].endswith("| found | 2 of 2 |")
