"""The simulated fibre process, the quick size of each benchmark, and documents that tell the stored results."""

import json
import re
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import fibre, report, runs
from benchmarks.__main__ import main
from benchmarks.campaigns import campaign
from benchmarks.functions import FUNCTIONS
from benchmarks.methods import METHODS
from benchmarks.old_data import KINDS, SPACE, old_data
from benchmarks.paper import FULL, fibre_jobs, function_jobs, on_fibres, on_function
from tunedprior.errors import FittingWarning, InputError
from tunedprior.space import Space

ROOT = Path(__file__).parent.parent
EXPERIMENTS = ROOT / "docs" / "experiments.md"


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


def test_the_demonstration_says_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "demo.png"
    main(["demo", "--trials", "8", "--repeats", "1", "--picture", str(picture)])
    said = capsys.readouterr()
    assert said.out.startswith("SIMULATION")
    assert "Best settings for device B (simulated)" in said.out
    assert "without" in said.out
    assert "16/16" in said.err
    assert picture.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("name", ["flipped", "lambda-floor"])
def test_small_benchmarks_have_a_quick_size(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([name, "--smoke"])
    assert "Styblinski-Tang" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["flipped"], ["flipped", "--first-seed", "100"], ["lambda-floor"]])
def test_stored_results_are_the_documented_ones(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(arguments)  # everything is stored, so nothing is run
    told = (ROOT / "docs" / "algorithm1.md").read_text().replace("**", "")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 5
    for line in lines:
        assert line in told


def test_the_papers_experiments_have_a_quick_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["paper", "--smoke", "--out", str(tmp_path)])
    said = capsys.readouterr()
    assert str(tmp_path) in said.out
    done = json.loads((tmp_path / "functions.json").read_text())
    assert {"tunedprior", "torch", "botorch"} <= set(done["software"][0])
    assert all(run["failed_fits"] == 0 for run in done["runs"])
    tried = {tuple(run["job"][:3]) for run in done["runs"]}
    assert {(name, "flipped", method) for name in FUNCTIONS for method in METHODS} <= tried
    assert {kind for _, kind, _ in tried} == set(KINDS)
    fibres = json.loads((tmp_path / "fibre.json").read_text())["runs"]
    assert {run["job"][0] for run in fibres} == set(METHODS)
    tables = (tmp_path / "experiments.md").read_text()
    assert "after 7 experiments (simulated)" in tables
    for name in ("experiment1", "shifted_and_failures", "kinds", "fibre"):
        assert (tmp_path / "figures" / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
        assert "<svg" in (tmp_path / "figures" / f"{name}.svg").read_text()[:500]


def test_the_documented_experiments_are_the_stored_ones() -> None:
    assert FULL.seeds >= 15
    text = EXPERIMENTS.read_text()
    tables = {}
    for name, jobs in (("functions", function_jobs(FULL)), ("fibre", fibre_jobs(FULL, None))):
        stored = json.loads((runs.RESULTS / f"{name}.json").read_text())["runs"]
        results = {tuple(run["job"]): run["best"] for run in stored}
        assert set(results) == set(jobs)
        if name == "functions":
            tables |= report.function_tables(results, first=3)
        else:
            tables |= report.fibre_tables(results, simulated=True)
    for name, table in tables.items():
        assert f"<!-- table: {name} -->\n{table}\n<!-- end -->" in text, name
    for picture in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (EXPERIMENTS.parent / picture).is_file()


def test_measured_fibres_can_be_brought(tmp_path: Path) -> None:
    for device in "ab":
        table = fibre.records(device.upper(), 40, seed=0).drop(columns="y")
        lengths = [fibre.fibre_length(setting, device.upper()) for setting in table.to_dict("records")]
        table["position_mm"] += 20.0  # beyond anything the simulation knows
        again = table.assign(length_um=lengths)
        pd.concat([again, again.iloc[:5]]).to_csv(tmp_path / f"device_{device}.csv", index=False)
    old, new = fibre.read_tables(tmp_path)
    assert len(old) == len(new) == 40  # repeats are merged
    assert sorted(new["y"]) == pytest.approx(sorted((length - 500) ** 2 for length in lengths))
    assert fibre.measured_space(new)["butanol_speed_ml_per_h"] == [48.0, 63.0, 98.0]
    best = on_fibres("TP-EI-BO", 0, 8, str(tmp_path))
    assert min(new["y"]) <= best[-1] <= best[0]
    with pytest.raises(SystemExit, match="is not there"):
        main(["paper", "--fibre-data", str(tmp_path / "elsewhere")])
    whole = pd.read_csv(tmp_path / "device_b.csv")
    whole.assign(length_um=whole["length_um"].mask(whole.index == 3)).to_csv(tmp_path / "device_b.csv", index=False)
    with pytest.raises(InputError, match="a number in every cell; rows 3 do not"):
        fibre.read_tables(tmp_path)
    whole.drop(columns="length_um").to_csv(tmp_path / "device_b.csv", index=False)
    with pytest.raises(InputError, match="length_um is missing"):
        fibre.read_tables(tmp_path)


def test_old_data_is_of_the_kind_it_says() -> None:
    function = FUNCTIONS["Himmelblau"]
    tables = {kind: old_data(kind, function, seed=4) for kind in KINDS}
    x = tables["flipped"][list(SPACE)].to_numpy()
    for table in tables.values():
        np.testing.assert_array_equal(table[list(SPACE)], x)  # the same settings for every kind
    y = {kind: table["y"].to_numpy() for kind, table in tables.items()}
    np.testing.assert_allclose(y["flipped"], 1 - function(x))
    np.testing.assert_allclose(y["same"] ** 2, y["squared"])
    np.testing.assert_allclose(y["shifted"], function(x - 0.15))
    np.testing.assert_allclose(y["another function"], FUNCTIONS["Ackley"](x))
    assert 0.05 < np.std(y["noisy flip"] - y["flipped"]) < 0.2
    assert set(y["binary labels"]) == {-1.0, 1.0}
    assert abs(np.corrcoef(y["pure noise"], y["same"])[0, 1]) < 0.4


def test_every_method_starts_from_the_same_settings() -> None:
    function = FUNCTIONS["Ackley"]
    pool = pd.DataFrame(Space.parse(SPACE).sobol(64, 5))
    values = function(pool.to_numpy())
    old = old_data("flipped", function, 5)
    curves = [campaign(method, old, SPACE, pool, values, 3, seed=5) for method in ("EI", "TP-EI-BO", "envGPUCB")]
    assert curves[0] == curves[1] == curves[2]


def test_campaigns_can_be_repeated_and_never_get_worse() -> None:
    first, second = (on_function("Himmelblau", "flipped", "MTGP-EI (free sign)", 3, 6, 64) for _ in range(2))
    assert first == second
    assert all(earlier >= later >= 0 for earlier, later in pairwise(first))


def test_flipped_and_same_are_the_same_to_the_tuned_prior() -> None:
    flipped, same = (on_function("Himmelblau", kind, "TP-EI-BO", 2, 6, 64) for kind in ("flipped", "same"))
    assert flipped == pytest.approx(same)


def test_a_needle_is_in_the_haystack() -> None:
    assert on_function("Easom", "flipped", "EI", 0, 3, 64)[0] > 0.9  # relative to the well, which the pool would miss


def test_ratios_compare_in_pairs() -> None:
    rng = np.random.default_rng(0)
    base = rng.uniform(0.5, 1.0, (12, 10))
    results = {("f", "flipped", "standard-EI", seed): list(base[seed]) for seed in range(12)}
    results |= {("f", "flipped", "half", seed): list(base[seed] / 2) for seed in range(12)}
    assert report.ratio(results, ["f"], "flipped", "half", first=3) == pytest.approx((0.5, 0.5, 0.5))
    results |= {("g", *key[1:]): value for key, value in results.items()}
    results |= {("g", "flipped", "half", seed): list(2 * base[seed]) for seed in range(12)}
    assert report.ratio(results, ["f", "g"], "flipped", "half", first=3)[0] == pytest.approx(1.0)  # ½ and 2
    some = report.ratio(results, ["f"], "flipped", "standard-EI", first=3, seeds={0, 5})
    assert some == pytest.approx((1.0, 1.0, 1.0))
    assert report.curves(results, "f", "flipped", "half", seeds={0, 5}).shape == (2, 10)


def test_tables_replace_themselves(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("before\n<!-- table: a -->\nold\n<!-- end -->\nafter\n")
    report.write_tables(path, {"a": "new", "b": "other"})
    report.write_tables(path, {"a": "newer"})
    assert path.read_text() == (
        "before\n<!-- table: a -->\nnewer\n<!-- end -->\nafter\n\n<!-- table: b -->\nother\n<!-- end -->\n"
    )


def test_results_are_kept_and_not_run_again(tmp_path: Path) -> None:
    first = runs.run_all("kept", double, [(1.0,), (2.0,)], "the command", tmp_path)
    again = runs.run_all("kept", never, [(1.0,), (2.0,)], "the command", tmp_path)
    assert first == again == {(1.0,): [2.0], (2.0,): [4.0]}
    stored = json.loads((tmp_path / "kept.json").read_text())
    assert stored["command"] == "the command"
    assert [run["software"] for run in stored["runs"]] == [0, 0]
    assert "torch" in stored["software"][0]


def test_runs_remember_the_software_that_made_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.run_all("kept", double, [(1.0,)], "the command", tmp_path)
    monkeypatch.setattr(runs, "version", lambda package: f"{package} of tomorrow")
    runs.run_all("kept", double, [(1.0,), (2.0,)], "the command", tmp_path)
    stored = json.loads((tmp_path / "kept.json").read_text())
    made_by = {run["job"][0]: stored["software"][run["software"]]["torch"] for run in stored["runs"]}
    assert made_by[1.0] != made_by[2.0] == "torch of tomorrow"


def test_time_is_estimated_from_every_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_timed", says_its_seconds)
    jobs = [(3.0,)] * 10 + [(20.0,)] * 5
    assert runs.estimated_seconds(double, jobs, group=lambda job: job[0], sample=2) == (10 * 3 + 5 * 20) / 2


def test_failed_fits_are_counted() -> None:
    assert runs._timed(double, (1.0,))["failed_fits"] == 0
    assert runs._timed(fits_badly, (1.0,))["failed_fits"] == 2


def test_what_was_done_survives_a_failure(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        runs.run_all("kept", fails_at_two, [(1.0,), (2.0,)], "the command", tmp_path)
    assert runs.run_all("kept", never, [(1.0,)], "the command", tmp_path) == {(1.0,): [2.0]}


def double(value: float) -> list[float]:
    return [2 * value]


def never(value: float) -> list[float]:
    raise AssertionError(value)


def says_its_seconds(_campaign: object, job: tuple) -> dict[str, float]:
    return {"seconds": job[0]}


def fits_badly(value: float) -> list[float]:
    for _ in range(2):
        warnings.warn("no fit", FittingWarning, stacklevel=1)
    return [value]


def fails_at_two(value: float) -> list[float]:
    if value == 2.0:
        time.sleep(1.0)  # the other is done by then
        raise AssertionError(value)
    return [2 * value]
