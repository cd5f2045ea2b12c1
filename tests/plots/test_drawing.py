"""Every picture of every campaign is drawn, or says why not; and drawing leaves everything as it was."""

import ast
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import tunedprior
from support.campaigns import CAMPAIGNS, HTML, plain
from tunedprior import Optimizer, plots
from tunedprior.errors import InputError

pytestmark = pytest.mark.usefixtures("short_search", "coarse_pictures")
PICTURES = ("progress", "effects", "interactions", "trust", "front", "old_data")
NO_OLD_DATA = {"trust", "old_data"}
NO_RESULT = {"progress", "effects", "interactions", "trust", "front"}
# What there is nothing to draw of.
REFUSED = {
    "nothing_told": NO_RESULT | NO_OLD_DATA,
    "only_old_data": NO_RESULT,
    "one_result": {"front"},
    "equal_results": {"front"},
    "suggested_and_failed": {"front"},
    "one_input": {"front", "interactions"},
    "categories_only": {"front"} | NO_OLD_DATA,
    "all_failed": NO_RESULT - {"progress"},
    "several_objectives": set(),
    "weighed_objectives": {"interactions"} | NO_OLD_DATA,
    "a_target": {"front"},
    "a_logarithm": {"front"} | NO_OLD_DATA,
    "a_mixture": {"front"} | NO_OLD_DATA,
    "half_the_square": {"front"} | NO_OLD_DATA,
    "html_in_names": {"front"},
    "the_papers_algorithm": {"front", "trust"},
    "without_old_data": {"front"} | NO_OLD_DATA,
    "plain": {"front"},
}


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_every_picture_is_drawn_or_says_why_not(name: str) -> None:
    opt = CAMPAIGNS[name]()
    before, settings = opt.trials, dict(mpl.rcParams)
    for picture in PICTURES:
        draw = getattr(plots, picture)
        if picture in REFUSED[name]:
            with pytest.raises(InputError, match=r"\.$"):
                draw(opt)
            continue
        by_plotly, by_matplotlib = draw(opt), draw(opt, backend="matplotlib")
        shown = [one for one in by_matplotlib.get_axes() if one.get_visible() and one.get_label() != "<colorbar>"]
        assert len(by_plotly.data) >= len(shown) >= 1
        assert all(axes.has_data() for axes in shown)
    assert opt.trials is before  # nothing was asked for
    assert dict(mpl.rcParams) == settings


def test_names_are_shown_as_they_are() -> None:
    opt = CAMPAIGNS["html_in_names"]()
    text = plots.effects(opt).to_json()
    assert "<" not in text.replace("<br>", "")  # whatever Plotly would read as HTML is escaped
    assert "&lt;b&gt;heat&lt;/b&gt; &amp; $x$" in text.encode().decode("unicode_escape")
    figure = plots.effects(opt, backend="matplotlib")
    figure.draw_without_rendering()
    assert figure.get_axes()[0].get_xlabel() == HTML.replace("$", r"\$")  # which is no mathematics


def test_wrong_arguments() -> None:
    opt = plain(old=False, count=2)
    with pytest.raises(InputError, match="backend must be one of 'plotly', 'matplotlib'; got 'bokeh'"):
        plots.progress(opt, backend="bokeh")
    with pytest.raises(InputError, match="shadow must be a whole number"):
        plots.progress(opt, shadow=-1)


def test_a_picture_follows_what_is_told() -> None:
    opt = plain(old=False, count=3)
    plots.effects(opt)
    opt.tell({"a": 0.5, "b": 0.5}, 100.0)
    highest = max(np.nanmax(np.array(trace.y, dtype=float)) for trace in plots.progress(opt).data)
    assert highest >= 100


def test_many_inputs_take_several_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunedprior.plots.effects_pictures._COMPARED", 3)
    names = [f"x{number}" for number in range(6)]
    opt = Optimizer(dict.fromkeys(names, (0.0, 1.0)), direction="maximize", noise_std=0.1, seed=0)
    for row in np.random.default_rng(0).uniform(0, 1, (4, 6)).tolist():
        opt.tell(dict(zip(names, row, strict=True)), row[0] * row[3])
    titles = {axis.title.text for axis in plots.effects(opt).select_xaxes()}
    assert titles == set(names)
    assert len(list(plots.interactions(opt).select_xaxes())) == 2


def test_neither_package_is_imported_before_it_is_needed() -> None:
    root = Path(tunedprior.__file__).parent
    sources = [path for name in ("plots", "report") for path in (root / name).glob("*.py")]
    assert len(sources) >= 10
    early = {
        name.split(".")[0]
        for path in sources
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
    }
    assert not early & {"plotly", "matplotlib", "jinja2", "tqdm"}
