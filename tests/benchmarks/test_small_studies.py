"""The demonstration, the two small studies of Algorithm 1, and what trust is drawn from."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import figures
from benchmarks.__main__ import main
from benchmarks.methods.by_name import AVERAGE, BASELINE, METHODS
from benchmarks.studies import ideas, libraries, trust
from tunedprior.beliefs import list_beliefs
from tunedprior.space.search_space import Space

ALGORITHM1 = Path(__file__).parents[2] / "docs" / "algorithm1.md"


@pytest.mark.usefixtures("short_search")
def test_the_demonstration_says_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture, stored = tmp_path / "demo.png", tmp_path / "demo.csv"
    stored.write_text("prior,old,seed,trial,distance,rank\naverage,without,0,1,7.5,0\nreweighted,without,0,1,7.5,0\n")
    main(["demo", "--trials", "8", "--repeats", "1", "--picture", str(picture), "--store", str(stored)])
    said = capsys.readouterr()
    assert said.out.startswith("SIMULATION")
    assert "Best settings for device B (simulated)" in said.out
    assert "without" in said.out
    assert "16/16" in said.err
    assert picture.read_bytes()[:4] == b"\x89PNG"
    of_priors = pd.read_csv(stored).groupby("prior").size()
    assert dict(of_priors) == {"average": 16, "reweighted": 1}  # what was there of this prior is replaced


@pytest.mark.parametrize("name", ["flipped", "lambda-floor"])
@pytest.mark.usefixtures("short_search")
def test_small_studies_have_a_quick_size(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([name, "--smoke"])
    assert "Styblinski-Tang" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["flipped", "--first-seed", "100"], ["lambda-floor"]])
def test_stored_results_are_the_documented_ones(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(arguments)  # everything is stored, so nothing is run
    told = ALGORITHM1.read_text().replace("**", "")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 5
    for line in lines:
        assert line in told


def test_a_run_that_is_drawn_earns_trust() -> None:
    history = trust.campaign("flipped", steps=3).trust.history
    assert history["aligned"].iloc[-1] > 0.8 > history["aligned"].iloc[0]
    assert history["trust"].iloc[-1] > 0.4 > history["trust"].iloc[0]
    assert history["slope"].iloc[-1] == pytest.approx(-1, abs=0.2)


def test_draws_of_aligned_are_mirror_images_where_there_is_old_data() -> None:
    found = trust.draws(count=2)
    old, drawn = found["old data"].dropna(), found.drop(columns="old data").interpolate("index")
    for draw in ("aligned 1", "aligned 2"):
        assert abs(np.corrcoef(drawn.loc[old.index, draw], old)[0, 1]) > 0.99
    assert [one.name for one in list_beliefs() if one.in_default_average] == sorted(trust.HELD[:3])
    assert {one.name for one in list_beliefs()} == set(trust.HELD)
    assert len(found.columns) == 1 + 2 * len(trust.HELD)


def test_trust_is_stored_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "KINDS", ("same", "flipped", "pure noise"))
    monkeypatch.setattr(trust, "STEPS", 1)
    monkeypatch.setattr(trust, "POOL", 32)
    main(["trust", "--out", str(tmp_path)])
    names = [f"figures/{name}.png" for name in ("trust", "held")]
    main(["pictures", *names, "--results", str(tmp_path), "--out", str(tmp_path)])
    assert all((tmp_path / name).read_bytes()[:4] == b"\x89PNG" for name in names)


def test_names_at_the_ends_of_lines_stay_clear_of_each_other() -> None:
    ends = ideas._apart([0.83, 0.83, 0.0, 0.02], least=0.06)
    assert ends == pytest.approx([0.83, 0.89, 0.0, 0.06])


def test_at_most_seven_methods_are_told_apart_and_the_default_is_one() -> None:
    assert len(figures.COLOURS) <= 7
    assert {AVERAGE, BASELINE} <= set(figures.COLOURS) <= set(METHODS)


@pytest.mark.parametrize("kind", ["plain", "per cent", "merged", "formulas", "hidden"])
def test_our_reader_finds_the_cells_that_openpyxl_finds(kind: str) -> None:
    pytest.importorskip("openpyxl")
    data = libraries.make_sheets(120)[kind]
    assert libraries.find_by_expressions(data) == libraries.find_by_openpyxl(data)


def test_samplers_are_compared_in_the_same_space() -> None:
    space = Space.parse({"a": (0.0, 1.0), "b": (0.0, 1.0)}).add_constraints("a + b <= 1")
    exact = libraries.draw_by_rejection(space.feasible.rows, 4000)
    assert exact.mean(0) == pytest.approx([1 / 3, 1 / 3], abs=0.02)
    for draw in (libraries.draw_by_us, libraries.draw_by_botorch):
        drawn = draw(space, 256, 0)
        assert drawn.shape == (256, 2)
        assert (drawn.sum(1) <= 1 + 1e-9).all()
        assert max(libraries.compare_moments(drawn, exact)) < 0.3
