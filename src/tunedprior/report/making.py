"""A report: its parts put together, and the page they are written into."""

import base64
import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.integrations.extras import needed
from tunedprior.plots.drawing import shadows
from tunedprior.plots.effect_curves import effects_picture
from tunedprior.plots.over_trials import progress_picture
from tunedprior.plots.pair_effects import interactions_picture
from tunedprior.plots.pictures import Picture
from tunedprior.plots.standing import standing_of, still
from tunedprior.plots.trade_offs import front_picture
from tunedprior.plots.trust_course import trust_picture
from tunedprior.plots.with_plotly import panel_data
from tunedprior.report.legend import key_svg
from tunedprior.report.parts import Part, made, table_of
from tunedprior.report.standing_in_words import all_data, taught, what_next, where_it_stands

#: The part that has long names.
NAMES = "names"
_PANELS = 60  # of one picture
#: Of how many of the latest suggestions the page shows the shadow; each takes a fifth of a second or more.
SHADOWED = 12
_PAGE = Path(__file__).parent / "page.html"
# Characters that HTML or JavaScript would take for their own inside a script.
_OUTSIDE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def report_html(opt: Optimizer, *, title: str = "", shadow: bool | int = SHADOWED, bar: bool = False) -> str:
    """The campaign as a page of HTML that needs nothing but itself: no network, no other file.

    The history is read once, so the page is of one moment, and nothing is asked for or told. A part that cannot be
    drawn says why.

    Args:
        opt: The campaign.
        title: What stands above it; the name of the campaign, when left out.
        shadow: As for `plots.progress`.
        bar: Whether to show progress meanwhile.
    """
    jinja2 = needed("jinja2", "lab")
    script = _packed(needed("plotly.offline", "plots").get_plotlyjs())
    shadow = shadows(shadow)
    frozen = still(opt)
    parts = _parts(frozen, shadow, bar)
    panels = [panel_data(panel) for part in parts if part.picture is not None for panel in part.picture.panels]
    template = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        _PAGE.read_text(encoding="utf-8")
    )
    page: str = template.render(
        title=title or _name_of(opt),
        when=f"{datetime.now().astimezone():%Y-%m-%d %H:%M}",
        parts=parts,
        key_svg=lambda layer: needed("markupsafe", "lab").Markup(key_svg(layer)),
        panels=needed("markupsafe", "lab").Markup(as_script(panels)),
        plotly=script,
        names=NAMES,
    )
    return page


@lru_cache(maxsize=1)
def _packed(script: str) -> str:
    """A script that a browser unpacks: gzip in base64, which is two fifths of it."""
    return base64.b64encode(gzip.compress(script.encode(), 9, mtime=0)).decode("ascii")


def _name_of(opt: Optimizer) -> str:
    return "Campaign" if opt.study is None else opt.study.study_name


def _parts(opt: Optimizer, shadow: int, bar: bool) -> list[Part]:
    standing = standing_of(opt)
    several = len(standing.aims.objectives) > 1
    makers: list[tuple[str, str, Callable[[Part], Part]]] = [
        ("stand", "Where it stands", where_it_stands(standing, lambda: progress_picture(standing, shadow, bar))),
        ("next", "What to run next, and why", what_next(opt, standing)),
        ("effects", "What the model expects along each input", _drawn(lambda: effects_picture(standing))),
        ("interactions", "The strongest interactions", _drawn(lambda: interactions_picture(standing))),
        ("trust", "Trust in old data", _drawn(lambda: trust_picture(opt.trust))),
        ("learnt", "What the old data taught", taught(opt, standing)),
        ("front", "The front of trade-offs", _drawn(lambda: front_picture(standing))),
        ("data", "The data", all_data(opt)),
    ]
    with _bar(len(makers), bar) as step:
        found = []
        for anchor, title, make in makers:
            if anchor != "front" or several:
                found.append(_bounded(made(anchor, title, make)))
            step()
    return [*found[:-1], *_names(found), found[-1]]


def _bounded(part: Part) -> Part:
    """The part with so many panels that a page can hold them; of more the first, which is said."""
    picture = part.picture
    if picture is None or len(picture.panels) <= _PANELS:
        return part
    said = f"Of {len(picture.panels)} pictures the first {_PANELS} are shown; tunedprior.plots draws all of them."
    return replace(part, picture=replace(picture, panels=picture.panels[:_PANELS]), sentences=(*part.sentences, said))


def _names(parts: Sequence[Part]) -> list[Part]:
    """A part for names that had no room in pictures; none if all had."""
    renamed: dict[str, dict[str, str]] = {}
    for part in parts:
        if part.picture is not None:
            renamed |= part.picture.renamed()
    rows = [(title, label.split(":")[0], name) for title, names in renamed.items() for label, name in names.items()]
    if not rows:
        return []
    table = table_of(("", "number", "name"), rows)
    return [Part(NAMES, "What numbers in the pictures stand for", tables=(table,))]


def _drawn(draw: Callable[[], Picture]) -> Callable[[Part], Part]:
    def make(part: Part) -> Part:
        picture = draw()
        return replace(part, picture=picture, sentences=picture.sentences)

    return make


@contextmanager
def _bar(count: int, shown: bool) -> Iterator[Callable[[], object]]:
    from tqdm import tqdm

    with tqdm(total=count, desc="report", disable=not shown, leave=False) as bar:
        yield lambda: bar.update()


def as_script(value: Any) -> str:
    """JSON that can stand inside a script of a page: whatever is no number is null."""
    return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False).translate(_OUTSIDE)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value
