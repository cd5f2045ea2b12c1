"""The page: all parts, whatever the campaign; nothing from outside, and nothing of anybody's taken for HTML."""

import base64
import gzip
import json
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

from support.campaigns import CAMPAIGNS, suggested_and_failed
from tunedprior import Optimizer
from tunedprior.errors import InputError
from tunedprior.plots.pictures import LONGEST, LONGEST_TITLE
from tunedprior.report import report_html
from tunedprior.report.making import LONGEST_CELL, encode_for_script

pytestmark = pytest.mark.usefixtures("short_search", "coarse_pictures")
TITLES = [
    "Where it stands",
    "What to run next, and why",
    "Predicted response along each input",
    "Strongest interactions",
    "Trust in old data",
    "What was learnt from old data",
    "All trials",
]


@pytest.fixture(autouse=True)
def _without_plotlys_script(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five megabytes that are the same on every page."""
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: "/* Plotly */")


class Page(HTMLParser):
    """What a browser sees: elements with their attributes, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open, data))

    def of(self, tag: str) -> list[str]:
        return [text for inside, text in self.texts if inside == tag and text.strip()]

    @property
    def drawn(self) -> list[dict]:
        return json.loads(next(text for tag, text in self.texts if tag == "script" and text.startswith("[")))


@pytest.mark.parametrize(
    "name",
    ["nothing_told", "all_failed", "suggested_and_failed", "several_objectives", "categories_only", "html_in_names"],
)
def test_every_campaign_has_a_page_that_needs_nothing_else(name: str) -> None:
    opt = CAMPAIGNS[name]()
    before = opt.trials
    page = Page(report_html(opt, shadow=False))
    assert opt.trials is before
    assert [title for title in page.of("h2") if title != "Pareto front (best trade-offs)"] == TITLES
    assert ("Pareto front (best trade-offs)" in page.of("h2")) == (name == "several_objectives")
    places = [attributes for tag, attributes in page.tags if attributes.get("class") == "plot"]
    assert len(places) == len(page.drawn)
    links = [value for _, attributes in page.tags for key, value in attributes.items() if key in ("src", "href")]
    assert links
    assert all(link.startswith("#") for link in links)
    policy = next(attributes["content"] for _, attributes in page.tags if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'")
    assert not {"img", "link", "iframe", "b", "i"} & {tag for tag, _ in page.tags}


def test_what_is_known_is_on_the_page() -> None:
    opt = CAMPAIGNS["suggested_and_failed"]()
    page = Page(report_html(opt, title="Lab & friends", shadow=2))
    said = dict(zip(page.of("dt"), page.of("dd"), strict=True))
    assert page.of("h1") == ["Lab & friends"]
    assert said["Wanted"] == "minimize y"
    assert said["Results"] == "4, 1 of them failed runs"
    lead, others = " ".join(page.of("p")[2:5]), [*page.of("p")[5:], *said, *said.values()]
    for once in (
        "Best result",
        "y = 0.7 (trial ",
        ", at a=",
        "Recommended setting (by the model): a=",
        "Possible improvement",
    ):
        assert once in lead
        assert not [text for text in others if once in text]
    assert f"predicted y = {opt.recommend().mean:.4g}, 95 % interval" in lead
    assert "A run there works" in said
    cells = page.of("td")
    assert "<i>burst</i>" in cells
    assert {"withdrawn", "cancelled", "pending", "failed", "complete"} <= set(cells)
    assert any(text.startswith("Plain optimisation, without old data, would have suggested") for text in page.of("li"))
    assert any(text.startswith("Old data explains") for text in page.of("p"))


def test_a_part_that_cannot_be_made_says_why_and_keeps_nobody_from_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by <0>")

    monkeypatch.setattr("tunedprior.report.making.build_effects_picture", broken)
    page = Page(report_html(CAMPAIGNS["one_input"](), shadow=False))
    assert page.of("h2") == TITLES
    assert "This part could not be made (ZeroDivisionError: by <0>)." in page.of("p")
    assert any("An interaction is one of two inputs" in text for text in page.of("p"))


def test_the_page_is_of_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    opt = suggested_and_failed()
    count = len(opt.trials.trials)

    def somebody_else(*_: object) -> None:
        opt.tell({"a": 0.5, "b": 0.5}, 99.0)
        raise InputError("They were faster.")

    monkeypatch.setattr("tunedprior.report.making.build_progress_picture", somebody_else)
    page = Page(report_html(opt, shadow=False))
    assert len(opt.trials.trials) == count + 1
    rows = [text for text in page.of("td") if text in ("complete", "failed", "pending", "cancelled", "withdrawn")]
    assert len(rows) == count
    assert "99" not in page.of("td")


def test_reasons_are_those_of_explain(monkeypatch: pytest.MonkeyPatch) -> None:
    class Explained:
        def __init__(self, *about: object) -> None:
            self.sentences = [f"About {about}.", "because <of> this"]

    monkeypatch.setattr("tunedprior.Optimizer.explain", lambda _, *about: Explained(*about))
    opt = CAMPAIGNS["suggested_and_failed"]()
    page = Page(report_html(opt, shadow=False))
    assert f"About ({opt.trials.pending[0].id},)." in page.of("summary")
    assert page.of("li").count("because <of> this") == 2  # of the pending trial, and of old data
    assert "About ()." in page.of("li")


SMILES = ["CC(C)C1=CC(=C(C(=C1)C(C)C)C2=CC=CC=C2P(C3CCCCC3)C4CCCCC4)C(C)C", "C1CCC(CC1)P(C2CCCCC2)C3CCCCC3", "CCCC#N"]


@cache
def with_long_names(choices: tuple[str, ...] = tuple(SMILES), count: int = 8) -> Optimizer:
    opt = Optimizer(
        {"ligand": list(choices), "heat": (20.0, 90.0), "base": ["a", "b"]},
        direction="maximize",
        target="y" * 90,
        seed=0,
    )
    for k in range(count):
        setting = {"ligand": choices[k % len(choices)], "heat": 20.0 + k % 70, "base": "ab"[k % 2]}
        opt.tell(setting, float(np.sin(k)), note="n" * 1500 if k == 0 else "")
    return opt


def test_the_first_screen_is_three_sentences_and_the_picture_of_progress() -> None:
    text = report_html(CAMPAIGNS["suggested_and_failed"](), shadow=False)
    first = Page(text.split("<section")[1])
    leads = [attributes.get("class") for tag, attributes in first.tags if tag == "p"][:3]
    assert leads == ["lead"] * 3
    classes = [attributes.get("class", "") for _, attributes in first.tags]
    assert classes.index("plot") < [tag for tag, _ in first.tags].index("dl")  # facts come after it
    assert "li" not in [tag for tag, _ in first.tags][: classes.index("plot")]
    assert first.of("p")[0].startswith("Best result: y = 0.7 (trial ")
    assert "minimize" in next(one["layout"]["title"]["text"] for one in Page(text).drawn)


def test_long_names_are_short_in_pictures_and_whole_in_a_table() -> None:
    opt = with_long_names()
    page = Page(report_html(opt, shadow=False))
    ticks = [
        label for one in page.drawn for axis in ("xaxis", "yaxis") for label in one["layout"][axis].get("ticktext", [])
    ]
    assert {"CCCC#N", "a", "b"} < set(ticks)
    assert max(map(len, ticks)) <= LONGEST + len("1: ")
    assert not {*SMILES[:2]} & set(ticks)
    titles = [one["layout"]["yaxis"]["title"]["text"] for one in page.drawn]
    assert max(map(len, titles)) <= LONGEST_TITLE
    assert "Names behind the numbers in pictures" in page.of("h2")
    cells = page.of("td")
    for number, name in enumerate(SMILES[:2], start=1):
        assert ["ligand", str(number), name] in [cells[k - 2 : k + 1] for k in range(2, len(cells))]
        assert any(label.startswith(f"{number}: ") for label in ticks)
    hover = [said for one in page.drawn for trace in one["data"] for said in trace.get("hovertext", [])]
    assert any(SMILES[0] in said.replace("<br>", "") for said in hover)  # under the mouse


def test_a_page_has_no_part_for_names_that_all_have_room() -> None:
    assert "Names behind the numbers in pictures" not in Page(report_html(CAMPAIGNS["one_input"]())).of("h2")


def test_a_page_of_many_results_has_an_end_and_says_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunedprior.report.making._LISTED", 6)
    monkeypatch.setattr("tunedprior.plots.effects_pictures._DRAWN", 5)
    monkeypatch.setattr("tunedprior.report.making._PANELS", 2)
    opt = with_long_names(tuple(one * 3 for one in SMILES), 10)
    page = Page(report_html(opt, shadow=False))
    said = page.of("p")
    assert any(text.startswith("These are the latest 6 of 10 trials.") for text in said)
    assert "Of the results, the latest 5 are drawn; 5 earlier ones are left out." in said
    assert any("pictures the first 2 are shown" in text for text in said)
    assert sum(text == "complete" for text in page.of("td")) == 6
    monkeypatch.setattr("tunedprior.report.making._LISTED", 10)
    page = Page(report_html(opt, shadow=False))
    assert any("the beginning and the end are shown" in text for text in page.of("p"))
    assert max(map(len, page.of("td"))) <= LONGEST_CELL


def test_pictures_are_drawn_by_a_script_that_is_packed() -> None:
    text = report_html(CAMPAIGNS["one_result"](), shadow=False)
    packed = text.split('id="plotly">')[1].split("</script>")[0]
    assert gzip.decompress(base64.b64decode(packed)).decode() == "/* Plotly */"
    assert "/* Plotly */" not in text


def test_scripts_hold_no_end_of_a_script_and_no_infinite_number() -> None:
    text = encode_for_script([{"name": "</script><!-- \u2028", "x": [1.0, float("nan"), float("inf")]}])
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == [{"name": "</script><!-- \u2028", "x": [1.0, None, None]}]
