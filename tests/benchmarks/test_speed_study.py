"""The quick size of the speed benchmark, and a page that tells its stored results."""

import json
import subprocess
from multiprocessing import get_context
from pathlib import Path

import pytest

import tunedprior
from benchmarks.__main__ import main
from benchmarks.results import RESULTS
from benchmarks.studies.speed import batches_asked, contention, growth, timing
from benchmarks.studies.speed.learning import learn_from
from benchmarks.studies.speed.parts import ON_CPU, ON_CUDA
from benchmarks.studies.speed.report import COLUMNS, speed_tables
from benchmarks.studies.speed.timing import Options
from tunedprior.errors import InputError

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"
NOT_MEASURED = "*(not measured yet)*"

# What is measured here need not be worth suggesting.
pytestmark = pytest.mark.usefixtures("short_search")


def measured(part: str, folder: Path) -> list[dict]:
    main(["speed", "--smoke", "--out", str(folder), "--only", part])
    stored = json.loads((folder / "speed.json").read_text())["parts"]
    assert set(speed_tables(stored)) == {part, "targets", "made on"}
    return stored[part]["rows"]


@pytest.mark.parametrize("part", ["suggestions", "old-rows", "campaign", "profile"])
def test_parts_have_a_quick_size(part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measured(part, tmp_path)
    assert f"{part} " in capsys.readouterr().out


def test_entries_by_features_are_exact_enough(tmp_path: Path) -> None:
    (entry,) = measured("entries", tmp_path)
    assert entry["by_features"]
    assert entry["error"] < 1e-6


def test_observations_are_compared_with_their_neighbours(tmp_path: Path) -> None:
    first, second = measured("observations", tmp_path)
    assert [first["observations"], second["observations"]] == [5, 10]
    assert first["one_step"] is None
    assert first["GPSampler"] is None
    assert second["ten_step"] == pytest.approx(second["ten"] / first["ten"])
    assert second["GPSampler"] > 0
    assert growth.COUNTS[:4] == (100, 110, 121, 133)
    assert growth.COUNTS[-1] == 1000
    assert max(b / a for a, b in zip(growth.COUNTS, growth.COUNTS[1:], strict=False)) < 1.105


def test_batches_are_compared_with_an_older_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches_asked, "_SIZE", 2)
    checkout = tmp_path / "older"
    (checkout / "src").mkdir(parents=True)
    (checkout / "src" / "tunedprior").symlink_to(Path(tunedprior.__file__).parent)
    rows = batches_asked.batches(Options(smoke=True, before=checkout))
    for row in rows:
        assert row["ratio"] == pytest.approx(row["now"] / row["before"])
    with pytest.raises(InputError, match="--before needs a checkout"):
        batches_asked.batches(Options(smoke=True, before=tmp_path))


def test_a_core_is_busy_only_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Spied(subprocess.Popen):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(contention.subprocess, "Popen", Spied)
    rows = measured("busy", tmp_path)
    assert [set(row) for row in rows] == [{"what", "inputs", "idle", "busy", "ratio"}] * 3
    assert len(started) == 3
    assert all(process.returncode is not None for process in started)


def test_workers_that_share_a_suggester_suggest_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Processes that are started afresh know nothing of a shorter search; tests of campaigns have some.
    monkeypatch.setattr(contention.multiprocessing, "get_context", lambda _method, get=get_context: get("fork"))
    rows = measured("workers", tmp_path)
    assert [row["way"] for row in rows] == ["one after the other", "two threads", "two processes", "four threads"]
    assert all(row["equal"] for row in rows)


def test_both_sides_of_a_comparison_take_turns() -> None:
    order: list[str] = []
    times = timing.in_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 3)
    assert order == ["a", "b"] * 4  # once to warm up
    assert [len(each) for each in times.values()] == [3, 3]


def test_pretraining_is_measured_on_rows_without_alpha() -> None:
    row = learn_from("pretrain", 600, 2)
    assert 0 < row["features"] <= 2048
    assert row["peak"] >= row["table"] > 0


def test_everything_that_was_asked_for_is_stored() -> None:
    parts = json.loads((RESULTS / "speed.json").read_text())["parts"]
    assert set(parts) <= {*ON_CPU, *ON_CUDA}
    assert [row["rows"] for row in parts["pretraining"]["rows"]] == [100_000, 100_000, 1_000_000, 1_000_000]
    assert parts["cuda-pretraining"]["rows"][-1]["rows"] == 10_000_000
    assert {*COLUMNS, "targets", "made on"} == set(speed_tables(parts))
