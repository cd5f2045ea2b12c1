"""The gallery shows every picture, and its campaigns are what their descriptions say."""

from pathlib import Path

import pytest

from benchmarks.studies.gallery import one_goal, two_goals, yield_of
from tunedprior import plots

DOCS = Path(__file__).parents[2] / "docs"


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
    assert [trial.asked for trial in one.trials.told] == [True, False, False, True]
    assert two.suggester.aims.has_front
    best = {"temperature (°C)": 80.0, "time (s)": 600.0, "catalyst": "A"}
    assert yield_of(best) > yield_of({**best, "catalyst": "B"})
