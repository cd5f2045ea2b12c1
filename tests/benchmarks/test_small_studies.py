"""The demonstration, the two small studies of Algorithm 1, and what trust is drawn from."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import figures
from benchmarks.__main__ import main
from benchmarks.methods.by_name import AVERAGE, BASELINE, METHODS
from benchmarks.studies import ideas, trust

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


@pytest.mark.parametrize("arguments", [["flipped"], ["flipped", "--first-seed", "100"], ["lambda-floor"]])
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
    settings, response, found = trust.draws(count=2)
    near = [int((trust.GRID - setting).abs().argmin()) for setting in settings]
    for draw in found["aligned"][near].T:
        assert abs(np.corrcoef(draw, response)[0, 1]) > 0.99
    assert list(found) == [*trust.HELD, "uninformed"]


def test_trust_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "DRAWN", ("flipped", "same", "shifted", "pure noise"))
    monkeypatch.setattr(trust, "STEPS", 1)
    monkeypatch.setattr(trust, "POOL", 32)
    main(["trust", "--out", str(tmp_path)])
    for name in ("trust", "held"):
        assert (tmp_path / "figures" / f"{name}.png").read_bytes()[:4] == b"\x89PNG"


def test_three_results_and_old_data_show_where_the_best_is(tmp_path: Path) -> None:
    chosen = ideas.draw_learning(tmp_path / "learning")
    best = ideas.GRID["temperature"][ideas.new_yield(ideas.GRID["temperature"].to_numpy()).argmax()]
    assert abs(chosen["with old data"] - best) < 5 < abs(chosen["without old data"] - best)
    assert (tmp_path / "learning.png").read_bytes()[:4] == b"\x89PNG"


def test_names_at_the_ends_of_lines_stay_clear_of_each_other(tmp_path: Path) -> None:
    ends = ideas._apart([0.83, 0.83, 0.0, 0.02], least=0.06)
    assert ends == pytest.approx([0.83, 0.89, 0.0, 0.06])
    histories = {kind: pd.Series([0.0, 0.5]) for kind in ideas.KINDS}
    ideas.draw_trust_lines(histories, tmp_path / "trust")
    assert "<svg" in (tmp_path / "trust.svg").read_text()[:500]


def test_at_most_seven_methods_are_told_apart_and_the_default_is_one() -> None:
    assert len(figures.COLOURS) <= 7
    assert {AVERAGE, BASELINE} <= set(figures.COLOURS) <= set(METHODS)
