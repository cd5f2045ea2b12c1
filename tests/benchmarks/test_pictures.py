"""Every picture of the documents was drawn from what is stored now, and what is stored is what this package does."""

import json
import re
import shutil
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.figures import digest_of, drawn_from
from benchmarks.results import RESULTS, read_exactly
from benchmarks.studies import gallery, ideas, trust
from benchmarks.studies.gallery import one_goal, two_goals, yield_of
from benchmarks.studies.pictures import PICTURES
from tunedprior import plots
from tunedprior.plots.pictures import Bars, Curve, Picture, Shades

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: Not drawn from data: by hand, or screenshots (`make screenshots`).
_SCREENSHOTS = (ROOT / "tools/screenshots/__main__.py").read_text(encoding="utf-8")
BY_HAND = {"pictures/favicon.svg", *(f"pictures/{name}" for name in re.findall(r'"(\w+\.png)"', _SCREENSHOTS))}
#: How far two machines may be apart, as a share of what is drawn.
CLOSE = 0.03


def documents() -> list[Path]:
    return [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.ipynb"), ROOT / "mkdocs.yml"]


def shown() -> set[str]:
    """The pictures that documents show, by their places in docs."""
    found = set()
    for page in documents():
        links = re.findall(r"!\[[^\]]*\]\(([^)\s]+)|<img[^>]+src=\\?\"([^\"\\]+)|: (pictures/\S+)", page.read_text())
        for link in (one for places in links for one in places if one and "://" not in one):
            path = (DOCS if page.suffix == ".yml" else page.parent) / link
            found.add(path.resolve().relative_to(DOCS).as_posix())
    return found


def test_every_picture_that_is_shown_can_be_drawn_and_none_is_left_over() -> None:
    assert shown() == set(PICTURES) | BY_HAND
    there = {f"{folder}/{path.name}" for folder in ("figures", "pictures") for path in (DOCS / folder).iterdir()}
    assert there == set(PICTURES) | BY_HAND


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_as_new_as_its_data(name: str) -> None:
    data = [RESULTS / one for one in PICTURES[name].data]
    names, digest = drawn_from(DOCS / name)
    assert names == ", ".join(PICTURES[name].data), "drawn from other data: run `make pictures`, and look at it"
    assert digest == digest_of(data), "its data changed since it was drawn: run `make pictures`, and look at it"


def test_a_picture_that_is_older_than_its_data_is_noticed(tmp_path: Path) -> None:
    stored = tmp_path / "ideas.csv"
    shutil.copy(RESULTS / "ideas.csv", stored)
    main(["pictures", "figures/how_it_works.png", "--results", str(tmp_path), "--out", str(tmp_path)])
    picture = tmp_path / "figures" / "how_it_works.png"
    assert drawn_from(picture) == ("ideas.csv", digest_of([stored]))
    text = stored.read_text()
    stored.write_bytes(text.replace("\n", "\r\n").encode())
    assert drawn_from(picture)[1] == digest_of([stored])  # as Git may check it out on Windows
    stored.write_text(text.replace("5.949", "5.948", 1))
    assert drawn_from(picture)[1] != digest_of([stored])
    with pytest.raises(SystemExit, match=r"there is no figures/other\.png"):
        main(["pictures", "figures/other.png"])


def test_three_results_and_old_data_show_where_the_best_is() -> None:
    stored = read_exactly(RESULTS / "ideas.csv")
    found = ideas.expectations().reset_index(drop=True)
    assert found[["of", "temperature"]].equals(stored[["of", "temperature"]])
    spread = stored["mean"].max() - stored["mean"].min()
    for column in ("mean", "std", "next"):
        apart = (found[column] - stored[column]).abs().max()
        assert apart < CLOSE * spread, f"`python -m benchmarks ideas` differs by now: {column}"
    following = stored.dropna(subset="next").groupby("of")["next"].first()
    best = ideas.GRID["temperature"][ideas.new_yield(ideas.GRID["temperature"].to_numpy()).argmax()]
    assert abs(following["with old data"] - best) < 5 < abs(following["without old data"] - best)


def test_what_is_drawn_of_beliefs_is_what_they_hold() -> None:
    stored = read_exactly(RESULTS / "held.csv").set_index("setting")
    found = trust.draws()
    assert list(found.columns) == list(stored.columns)
    apart = np.nanmax(np.abs(found.to_numpy() - stored.to_numpy()))
    assert apart < CLOSE * np.nanmax(stored.to_numpy()), "`python -m benchmarks trust` differs by now"


@pytest.mark.parametrize("kind", ["shifted"])
def test_trust_that_is_drawn_is_that_of_the_same_results(kind: str) -> None:
    stored = read_exactly(RESULTS / "trust.csv").query("kind == @kind").set_index("results")
    found = trust.told_again(kind, stored["row"].dropna().astype(int)).trust.history
    columns = ["aligned", "shape", "uninformed", "trust"]
    apart = (found[columns] - stored[columns]).abs().to_numpy().max()
    assert apart < CLOSE, "`python -m benchmarks trust` differs by now"


@pytest.mark.parametrize("name", plots.__all__)
def test_every_picture_is_in_the_gallery_and_small(name: str) -> None:
    page = (DOCS / "gallery.md").read_text()
    assert f"(pictures/{name}.png)" in page
    assert f"`plots.{name}(opt)`" in page
    assert (DOCS / "pictures" / f"{name}.png").stat().st_size < 60_000


@pytest.mark.usefixtures("short_search")
def test_the_campaigns_of_the_gallery() -> None:
    one, two = one_goal(trials=2), two_goals(trials=2)
    assert [trial.state for trial in one.trials.told] == ["complete", "complete", "failed", "complete"]
    assert [trial.is_suggestion for trial in one.trials.told] == [True, False, False, True]
    assert two.suggester.goals.has_front
    best = {"temperature (°C)": 80.0, "time (s)": 600.0, "catalyst": "A"}
    assert yield_of(best) > yield_of({**best, "catalyst": "B"})


def stored_pictures() -> dict[str, Picture]:
    return {name: gallery.decoded(one) for name, one in json.loads((RESULTS / gallery.SHOWN).read_text()).items()}


def numbers(value: Any) -> list[float]:
    """The numbers of a layer, all in one list."""
    if isinstance(value, tuple):
        return [one for part in value for one in numbers(part)]
    return [float(value)] if isinstance(value, float) and isfinite(value) else []


def drawn(picture: Picture) -> dict[str, np.ndarray]:
    """What a picture shows of the model: curves, bars and maps, by panel and name."""
    found = {}
    for place, panel in enumerate(picture.panels):
        for layer in panel.layers:
            if isinstance(layer, Curve | Bars | Shades):
                values = layer.y if isinstance(layer, Curve) else layer.lengths if isinstance(layer, Bars) else layer.z
                found[f"{place} {panel.x.title} {layer.name}"] = np.array(numbers(values))
    return found


def test_pictures_of_the_gallery_show_what_the_model_makes_of_the_same_results() -> None:
    empty = (gallery.for_yield(), gallery.for_trade_offs())
    one, two = (opt.resume(pd.read_csv(RESULTS / name)) for opt, name in zip(empty, gallery.HISTORIES, strict=True))
    now, then = gallery.pictures_of(one, two, shadow=False), stored_pictures()
    assert list(now) == list(then)
    for name, picture in then.items():
        before, after = drawn(picture), drawn(now[name])
        assert list(after) == list(before), f"`python -m benchmarks gallery` draws other things by now: {name}"
        for layer, values in before.items():
            spread = np.ptp(values) or 1.0
            apart = np.abs(after[layer] - values).max()
            assert apart < CLOSE * spread, f"`python -m benchmarks gallery` differs by now: {name}, {layer}"


def test_what_is_stored_of_a_picture_is_all_that_is_drawn() -> None:
    picture = stored_pictures()["progress"]
    assert gallery.decoded(gallery.encoded(picture)) == picture
