"""Make the report of a campaign: collect its parts and write the HTML page."""

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
from tunedprior.checks import import_optional
from tunedprior.errors import InputError
from tunedprior.plots.drawing import parse_baseline_count
from tunedprior.plots.effects_pictures import build_effects_picture, build_interactions_picture
from tunedprior.plots.pictures import (
    CIRCLE,
    CROSS,
    DIAMOND,
    SQUARE,
    STAR,
    Band,
    Curve,
    Dots,
    Layer,
    Level,
    Picture,
    Zone,
)
from tunedprior.plots.progress_pictures import build_front_picture, build_progress_picture, build_trust_picture
from tunedprior.plots.snapshot import copy_optimizer, take_snapshot
from tunedprior.plots.with_plotly import encode_panel
from tunedprior.report.parts import (
    ReportPart,
    describe_old_data,
    describe_pending,
    describe_status,
    make_part,
    make_table,
    tabulate_trials,
)

_MARKS = {
    CIRCLE: '<circle cx="12" cy="7" r="{size}"/>',
    DIAMOND: '<path d="M12 2 17 7 12 12 7 7Z"/>',
    CROSS: '<path d="M8 3 16 11M16 3 8 11" fill="none" stroke-width="2.5"/>',
    STAR: '<path d="M12 1 13.6 5.2 18 5.4 14.5 8.1 15.7 12.4 12 9.9 8.3 12.4 9.5 8.1 6 5.4 10.4 5.2Z"/>',
    SQUARE: '<path d="M8 3H16V11H8Z"/>',
}


def render_key_svg(layer: Layer) -> str:
    """Draw the key of a layer (its colour and mark) as SVG; it contains no user text."""
    if isinstance(layer, Dots):
        fill = "#ffffff" if layer.hollow else layer.colour
        mark = _MARKS[layer.shape].format(size=2.5 if layer.small else 4)
        inside = f'<g fill="{fill}" stroke="{layer.colour}" stroke-width="1.5">{mark}</g>'
    elif isinstance(layer, Band | Zone):
        inside = f'<rect x="0" y="1" width="24" height="12" fill="{layer.colour}" opacity="0.3"/>'
    elif isinstance(layer, Curve | Level):
        dashed = isinstance(layer, Level) or layer.dashed
        dashes = ' stroke-dasharray="5 3"' if dashed else ""
        inside = f'<path d="M0 7H24" stroke="{layer.colour}" stroke-width="2"{dashes}/>'
    else:
        inside = ""
    return f'<svg width="24" height="14" viewBox="0 0 24 14" aria-hidden="true">{inside}</svg>'


_BEGINNING = b"<!doctype html>"


def refuse_other_pages(path: Path) -> None:
    """Raise an `InputError` for a path that cannot be a page, or a file that is no page."""
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder. Name a file, such as {str(path / 'report.html')!r}.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"There is no folder {str(path.absolute().parent)!r} to write the report into. Make it first.")
    if path.exists():
        with path.open("rb") as file:
            beginning = file.read(len(_BEGINNING))
        if beginning and beginning.lower() != _BEGINNING:
            raise InputError(f"{str(path)!r} is there already, and is no report. Name another file.")


#: The part that has long names.
NAMES = "names"
_PANELS = 60  # of one picture
#: Of how many of the latest suggestions the page shows the shadow; each takes a fifth of a second or more.
BASELINE_COUNT = 12
_PAGE = Path(__file__).parent / "page.html"
# Characters that HTML or JavaScript would take for their own inside a script.
_OUTSIDE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def report_html(opt: Optimizer, *, title: str = "", shadow: bool | int = BASELINE_COUNT, bar: bool = False) -> str:
    """Return the report of a campaign as one HTML page without external files.

    The history is read once, so the page is of one moment, and nothing is asked for or told. A part that cannot be
    drawn says why.

    Args:
        opt: The campaign.
        title: What stands above it; the name of the campaign, when left out.
        shadow: As for `plots.progress`.
        bar: Whether to show progress meanwhile.
    """
    jinja2 = import_optional("jinja2", "lab")
    script = _compress_script(import_optional("plotly.offline", "plots").get_plotlyjs())
    baseline_count = parse_baseline_count(shadow)
    frozen = copy_optimizer(opt)
    parts = _build_parts(frozen, baseline_count, bar)
    panels = [encode_panel(panel) for part in parts if part.picture is not None for panel in part.picture.panels]
    template = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        _PAGE.read_text(encoding="utf-8")
    )
    page: str = template.render(
        title=title or _get_campaign_name(opt),
        when=f"{datetime.now().astimezone():%Y-%m-%d %H:%M}",
        parts=parts,
        key_svg=lambda layer: import_optional("markupsafe", "lab").Markup(render_key_svg(layer)),
        panels=import_optional("markupsafe", "lab").Markup(encode_for_script(panels)),
        plotly=script,
        names=NAMES,
    )
    return page


@lru_cache(maxsize=1)
def _compress_script(script: str) -> str:
    """A script that a browser unpacks: gzip in base64, which is two fifths of it."""
    return base64.b64encode(gzip.compress(script.encode(), 9, mtime=0)).decode("ascii")


def _get_campaign_name(opt: Optimizer) -> str:
    return "Campaign" if opt.study is None else opt.study.study_name


def _build_parts(opt: Optimizer, baseline_count: int, bar: bool) -> list[ReportPart]:
    snapshot = take_snapshot(opt)
    several = len(snapshot.goals.objectives) > 1
    makers: list[tuple[str, str, Callable[[ReportPart], ReportPart]]] = [
        (
            "stand",
            "Where it stands",
            describe_status(snapshot, lambda: build_progress_picture(snapshot, baseline_count, bar)),
        ),
        ("next", "What to run next, and why", describe_pending(opt, snapshot)),
        (
            "effects",
            "What the model expects along each input",
            _draw_into_part(lambda: build_effects_picture(snapshot)),
        ),
        ("interactions", "The strongest interactions", _draw_into_part(lambda: build_interactions_picture(snapshot))),
        ("trust", "Trust in old data", _draw_into_part(lambda: build_trust_picture(opt.trust))),
        ("learnt", "What the old data taught", describe_old_data(opt, snapshot)),
        ("front", "The front of trade-offs", _draw_into_part(lambda: build_front_picture(snapshot))),
        ("data", "The data", tabulate_trials(opt)),
    ]
    with _show_progress(len(makers), bar) as step:
        found = []
        for anchor, title, make in makers:
            if anchor != "front" or several:
                found.append(_limit_panels(make_part(anchor, title, make)))
            step()
    return [*found[:-1], *_make_names_part(found), found[-1]]


def _limit_panels(part: ReportPart) -> ReportPart:
    """The part with so many panels that a page can hold them; of more the first, which is said."""
    picture = part.picture
    if picture is None or len(picture.panels) <= _PANELS:
        return part
    said = f"Of {len(picture.panels)} pictures the first {_PANELS} are shown; tunedprior.plots draws all of them."
    return replace(part, picture=replace(picture, panels=picture.panels[:_PANELS]), sentences=(*part.sentences, said))


def _make_names_part(parts: Sequence[ReportPart]) -> list[ReportPart]:
    """A part for names that had no room in pictures; none if all had."""
    renamed: dict[str, dict[str, str]] = {}
    for part in parts:
        if part.picture is not None:
            renamed |= part.picture.collect_full_names()
    rows = [(title, label.split(":")[0], name) for title, names in renamed.items() for label, name in names.items()]
    if not rows:
        return []
    table = make_table(("", "number", "name"), rows)
    return [ReportPart(NAMES, "What numbers in the pictures stand for", tables=(table,))]


def _draw_into_part(draw: Callable[[], Picture]) -> Callable[[ReportPart], ReportPart]:
    def make(part: ReportPart) -> ReportPart:
        picture = draw()
        return replace(part, picture=picture, sentences=picture.sentences)

    return make


@contextmanager
def _show_progress(count: int, shown: bool) -> Iterator[Callable[[], object]]:
    from tqdm import tqdm

    with tqdm(total=count, desc="report", disable=not shown, leave=False) as bar:
        yield lambda: bar.update()


def encode_for_script(value: Any) -> str:
    """Encode a value as JSON that is safe inside a script element; NaN and infinities become null."""
    return json.dumps(_replace_non_finite(value), ensure_ascii=False, allow_nan=False).translate(_OUTSIDE)


def _replace_non_finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _replace_non_finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_non_finite(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value
