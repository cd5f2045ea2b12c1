"""The simulated fibre process, the demonstration, and the quick size of each benchmark."""

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import demo, fibre, flipped, functions, lambda_floor, runs  # noqa: E402  # the benchmarks are not installed


def test_fibres_behave_like_fibres() -> None:
    setting = {
        "channel_width_mm": 1.0,
        "constriction_angle_deg": 30.0,
        "position_mm": 3.0,
        "butanol_speed_ml_per_h": 63.0,
        "polymer_concentration": 0.5,
    }
    length = fibre.fibre_length(setting, "B")
    assert 50 < length < 2000
    assert fibre.fibre_length(setting | {"butanol_speed_ml_per_h": 98.0}, "B") < length  # more shear, shorter
    assert fibre.fibre_length(setting | {"channel_width_mm": 2.0}, "B") > length  # less shear, longer
    assert fibre.fibre_length(setting | {"polymer_concentration": 1.0}, "B") > length
    assert fibre.squared_miss(510.0) == 100.0


@pytest.mark.parametrize("device", ["A", "B"])
def test_records_are_a_labs_table(device: str) -> None:
    table = fibre.records(device, 162, seed=0)
    assert list(table.columns) == [*fibre.space(device), "y"]
    assert not table.drop(columns="y").duplicated().any()
    assert set(table["butanol_speed_ml_per_h"]) == set(fibre.SPEEDS[device])
    assert table["y"].min() < 30**2  # the wanted length can be had
    assert (table["y"] == fibre.records(device, 162, seed=0)["y"]).all()


def test_the_demonstration_says_what_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "demo.png"
    monkeypatch.setattr(sys, "argv", ["demo", "--trials", "8", "--repeats", "1", "--picture", str(picture)])
    demo.main()
    said = capsys.readouterr()
    assert said.out.startswith("SIMULATION")
    assert "Best settings for device B (simulated)" in said.out
    assert "without" in said.out
    assert "16/16" in said.err
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_functions_have_their_published_optima() -> None:
    assert functions.ackley(np.zeros(2)) == pytest.approx(0.0, abs=1e-12)
    valley = np.full(2, -2.903534027771178 / 5)
    assert functions.styblinski_tang(valley) == pytest.approx(2 * 39.16616570377142, abs=1e-9)
    assert functions.himmelblau(np.array([3.0, 2.0]) / 5) == pytest.approx(0.0, abs=1e-12)
    for name in functions.FUNCTIONS:
        values = functions.scaled(name)(np.random.default_rng(0).uniform(-1, 1, (500, 2)))
        assert values.min() >= -1e-9
        assert values.max() <= 1 + 1e-4


@pytest.mark.parametrize("benchmark", [flipped, lambda_floor], ids=lambda module: module.__name__)
def test_every_benchmark_has_a_quick_size(benchmark, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmark", "--smoke"])
    benchmark.main()
    assert "styblinski_tang" in capsys.readouterr().out


def test_results_are_kept_and_not_run_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(runs, "RESULTS", tmp_path / "results")
    first = runs.run_all("kept", double, [(1.0,), (2.0,)], keep=True)
    again = runs.run_all("kept", never, [(1.0,), (2.0,)], keep=True)
    assert first == again == {(1.0,): [2.0], (2.0,): [4.0]}
    assert '"torch"' in (tmp_path / "results" / "kept.json").read_text()


def double(value: float) -> list[float]:
    return [2 * value]


def never(value: float) -> list[float]:
    raise AssertionError(value)
