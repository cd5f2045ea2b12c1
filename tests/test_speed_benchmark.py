"""The quick size of the speed benchmark, and a page that tells its stored results."""

import json
from pathlib import Path

import pytest

from benchmarks import speed_cuda, speed_parts
from benchmarks.__main__ import main
from benchmarks.runs import RESULTS
from benchmarks.speed_report import speed_tables

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"


def test_it_has_a_quick_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = ["entries", "suggestions", "old-rows", "observations", "campaign", "profile"]
    main(["speed", "--smoke", "--out", str(tmp_path), "--only", *parts])
    said = capsys.readouterr().out
    stored = json.loads((tmp_path / "speed.json").read_text())["parts"]
    assert set(stored) == set(parts)
    for name, part in stored.items():
        assert part["rows"]
        assert f"{name} " in said
    (entry,) = stored["entries"]["rows"]
    assert entry["by_features"]
    assert entry["error"] < 1e-6
    assert set(speed_tables(stored)) == {*parts, "targets", "made on"}


def test_both_sides_of_a_comparison_take_turns() -> None:
    order: list[str] = []
    times = speed_parts.in_turns({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 3)
    assert order == ["a", "b"] * 4  # once to warm up
    assert [len(each) for each in times.values()] == [3, 3]


def test_pretraining_is_measured_on_rows_without_alpha() -> None:
    row = speed_parts._pretraining("pretrain", 600, 2)
    assert 0 < row["features"] <= 2048
    assert row["peak"] >= row["table"] > 0


def test_the_documented_results_are_the_stored_ones() -> None:
    text = PAGE.read_text()
    parts = json.loads((RESULTS / "speed.json").read_text())["parts"]
    assert set(parts) == {*speed_parts.PARTS, *speed_cuda.PARTS}
    assert [row["rows"] for row in parts["pretraining"]["rows"]] == [100_000, 100_000, 1_000_000, 1_000_000]
    assert parts["cuda-pretraining"]["rows"][-1]["rows"] == 10_000_000
    for name, table in speed_tables(parts).items():
        assert f"<!-- table: {name} -->\n{table}\n<!-- end -->" in text, name
    assert text.count("<!-- table: ") == len(speed_tables(parts))
