"""Results that were made elsewhere, put among those that are stored."""

import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from benchmarks import results
from benchmarks.__main__ import main
from benchmarks.results import jobs_of, read_results, read_runs
from benchmarks.runner import Study, run_all


@dataclass(frozen=True)
class Seeded:
    seed: int
    floor: float | None = None


def once(job: Seeded) -> list[float]:
    return [job.seed + 1 / 3, job.seed + 2 / 3]


def twice(job: Seeded) -> list[float]:
    return [2 * value for value in once(job)]


def stored(folder: Path, campaign: object, *seeds: int) -> Path:
    run_all(Study("kept", Seeded, campaign, "the command"), [Seeded(seed) for seed in seeds], folder)
    return folder


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    return stored(tmp_path / "here", once, 3, 4), stored(tmp_path / "there", twice, 4, 5, 6, 99)


def test_new_runs_come_after_those_that_are_stored(folders: tuple[Path, Path]) -> None:
    here, there = folders
    before = (here / "kept_runs.csv").read_text()
    main(["merge", str(there), "--seeds", "0-10", "--out", str(here)])
    assert (here / "kept_runs.csv").read_text().startswith(before)
    assert jobs_of(read_runs("kept", here), Seeded) == [Seeded(seed) for seed in (3, 4, 5, 6)]
    found = read_results("kept", here)
    assert found["run"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert found["value"].tolist() == [
        *read_results("kept", stored(here.parent / "once", once, 3, 4))["value"],
        *read_results("kept", there)["value"].iloc[2:6],
    ]
    main(["merge", str(there), "--seeds", "0-10", "--out", str(here)])  # nothing twice
    pd.testing.assert_frame_equal(read_results("kept", here), found)


def test_a_study_goes_on_from_merged_results(folders: tuple[Path, Path]) -> None:
    here, there = folders
    main(["merge", str(there), "--out", str(here)])
    before = read_results("kept", here)
    stored(here, once, 7)
    after = read_results("kept", here)
    assert after["run"].max() == before["run"].max() + 1
    pd.testing.assert_frame_equal(after.iloc[: len(before)], before)


def test_stored_runs_give_way_if_they_are_to(folders: tuple[Path, Path]) -> None:
    here, there = folders
    main(["merge", str(there), "--seeds", "4", "--replace", "--out", str(here)])
    found = read_results("kept", here)
    assert found.groupby("run")["seed"].first().to_dict() == {0: 3, 2: 4}  # a number is never used again
    assert found["value"].iloc[2:].tolist() == read_results("kept", there)["value"].iloc[:2].tolist()


def test_software_keeps_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = stored(tmp_path / "here", once, 1)
    monkeypatch.setattr(results, "version", lambda package: f"{package} of tomorrow")
    there = stored(tmp_path / "there", once, 2)
    main(["merge", str(there), "--out", str(here)])
    told = json.loads((here / "software.json").read_text())
    assert told["commands"] == {"kept": "the command"}
    places = read_runs("kept", here)["software"]
    assert [told["software"][place]["torch"] == "torch of tomorrow" for place in places] == [False, True]


def test_what_cannot_be_merged_is_said(folders: tuple[Path, Path], tmp_path: Path) -> None:
    here, there = folders
    with pytest.raises(SystemExit, match="no results"):
        main(["merge", str(tmp_path), "--out", str(here)])
    read_runs("kept", there).rename(columns={"floor": "ceiling"}).to_csv(there / "kept_runs.csv", index=False)
    with pytest.raises(SystemExit, match=r"must have the columns run, seed, floor, .* they have run, seed, ceiling"):
        main(["merge", str(there), "--out", str(here)])
