"""Make the report of a campaign: collect its parts and write the HTML page."""

import base64
import gzip
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Any

import pandas as pd

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.checks import import_optional
from tunedprior.errors import InputError, TunedPriorError
from tunedprior.goals.objective import Objective
from tunedprior.history.trials import Trial
from tunedprior.plots.drawing import parse_baseline_count
from tunedprior.plots.effects_pictures import (
    HOW_TO_READ,
    build_effects_picture,
    build_interactions_picture,
    build_old_data_picture,
)
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
    abbreviate_setting,
    round_near_zeros,
    shorten,
)
from tunedprior.plots.progress_pictures import build_front_picture, build_progress_picture, build_trust_picture
from tunedprior.plots.snapshot import Snapshot, copy_optimizer, take_snapshot
from tunedprior.plots.with_plotly import encode_panel
from tunedprior.suggestion.stopping import estimate_remaining

#: Letters of a cell; no chemical's name needs more.
LONGEST_CELL = 200


@dataclass(frozen=True)
class Table:
    """A table of text: rows under column names."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ReportPart:
    """One part of the report.

    Attributes:
        anchor: What links to it call it.
        title: What it is about.
        lead: What to read first, each a paragraph.
        facts: Short answers, by what they are about.
        sentences: What there is to say, each a paragraph.
        lists: More of it, in groups: what each is about, and what belongs to that.
        picture: What there is to see.
        tables: What there is to look up.
        why_not: The reason if the part could not be made.
    """

    anchor: str
    title: str
    lead: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    sentences: tuple[str, ...] = ()
    lists: tuple[tuple[str, ...], ...] = ()
    picture: Picture | None = None
    tables: tuple[Table, ...] = ()
    why_not: str = ""


def make_part(anchor: str, title: str, make: Callable[[ReportPart], ReportPart]) -> ReportPart:
    """Make a part of the report, or a part that says why it cannot be made."""
    empty = ReportPart(anchor, title)
    try:
        return make(empty)
    except TunedPriorError as error:
        return replace(empty, why_not=str(error))
    except Exception as error:  # a fault of ours, or of somebody's model: the rest of the page is of use all the same
        return replace(empty, why_not=f"This part could not be made ({type(error).__name__}: {error}).")


def format_cell(value: object) -> str:
    """Format a cell for people; a missing value is ""."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def make_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """Make a table from cells of any kind; very long text is shortened in the middle."""
    cells = (tuple(shorten(format_cell(cell), LONGEST_CELL) for cell in row) for row in rows)
    return Table(tuple(columns), tuple(cells))


_EXPLAINED = 4  # pending settings that are explained; of more, the first
_LISTED = 500  # trials in the table of all; of more, the latest


def describe_status(part: ReportPart, snapshot: Snapshot, draw: Callable[[], Picture]) -> ReportPart:
    """Add the best result, the recommendation, the remaining improvement and the picture to a part.

    Args:
        part: The part.
        snapshot: The campaign.
        draw: Draws the progress.
    """
    progress = make_part(part.anchor, part.title, lambda empty: replace(empty, picture=draw()))
    goals, history = snapshot.goals, snapshot.history
    failed = sum(trial.failed for trial in history.told)
    told = f"{len(history)}" + (f", {failed} of them failed runs" if failed else "")
    facts = [("Wanted", goals.describe())]
    if snapshot.space.constraints:
        facts.append(("Constraints", "; ".join(map(str, snapshot.space.constraints))))
    facts.append(("Results", told))
    if history.pending:
        facts.append(("Open suggestions", f"{len(history.pending)}"))
    if goals.has_front:
        facts.append(
            ("Pareto front", ", ".join(f"trial {one.label}" for one in goals.find_front(history.told)) or "none")
        )
    lead = [_describe_best(snapshot)] if history.told else []
    sentences = [] if progress.picture is None else list(progress.picture.sentences)
    with suppress(InputError):  # nothing told yet, or a front, of which nothing is recommended
        found = snapshot.recommendation
        if found.probability < 1:
            works = "Meets the requirements" if goals.requirements else "A run there works"
            facts.append((works, f"with probability {found.probability:.2g}"))
        expected = f"{found.mean:.4g}, 95 % interval {found.low:.4g} to {found.high:.4g}"
        at = abbreviate_setting(found.setting, snapshot.space)
        lead.append(f"Recommended setting (by the model): {at} (predicted {goals.main.name} = {expected}).")
        sentences.append("The recommended setting has the best posterior mean; the best result may have been lucky.")
    with suppress(InputError):
        left = estimate_remaining(snapshot.suggester, snapshot.fitted, snapshot.seed, 0.0)
        gain = f"{left.expected:.3g} expected, at most {left.bound:.3g} with 95 % certainty"
        gain += f" ({left.caveat})" if left.caveat else ""
        lead.append(f"Possible improvement: {gain}.")
    return replace(
        part,
        lead=tuple(lead),
        facts=tuple(facts),
        sentences=tuple(sentences),
        picture=progress.picture,
        why_not=progress.why_not,
    )


def _describe_best(snapshot: Snapshot) -> str:
    """The best so far, in a sentence."""
    goals, told = snapshot.goals, snapshot.history.told
    of_all = f"of {len(told)} result{'s' if len(told) > 1 else ''}"
    if goals.has_front:
        count = len(goals.find_front(told))
        return f"Pareto front (best trade-offs): {count or 'none'} {of_all}."
    best = goals.find_best(told)
    if best is None:
        lacking = "meets the requirements" if goals.requirements else "is one that counts"
        return f"None {of_all} {lacking} yet."
    values = ", ".join(f"{one.name} = {_format_value(one, best)}" for one in goals.responses)
    return (
        f"Best result: {values} (trial {best.label} {of_all}), at {abbreviate_setting(best.setting, snapshot.space)}."
    )


def _format_value(response: Objective, trial: Trial) -> str:
    value = response.get_value(trial)
    return (
        "not measured" if value != value else {1.0: "pass", -1.0: "fail"}[value] if response.labels else f"{value:.6g}"
    )


def describe_pending(part: ReportPart, opt: Optimizer, snapshot: Snapshot) -> ReportPart:
    """Add the pending settings, their predictions and the reasons for them to a part."""
    pending = snapshot.history.pending
    if not pending:
        said = "No suggestion is open. Ask for one with: tunedprior suggest"
        return replace(part, sentences=(said,))
    names, settings = snapshot.space.names, [one.setting for one in pending]
    expected = []
    modelled = (
        snapshot.modelled if any(r.select_measured(snapshot.history.told) for r in snapshot.goals.responses) else []
    )
    for response in modelled:
        found = snapshot.predict_interval(response, settings)
        ends = zip(found.mean, found.low, found.high, strict=True)
        expected.append([f"{mean:.4g} ({low:.4g} to {high:.4g})" for mean, low, high in ends])
    columns = ["trial", *names, *(f"{one.name} predicted (95 % interval)" for one in modelled)]
    rows = [
        [
            trial.id,
            *round_near_zeros(trial.setting, snapshot.space).values(),
            *(column[number] for column in expected),
        ]
        for number, trial in enumerate(pending)
    ]
    reasons = tuple(_explain_trial(opt, trial) for trial in pending[:_EXPLAINED])
    return replace(part, tables=(make_table(columns, rows),), lists=reasons)


def _explain_trial(opt: Optimizer, trial: Trial) -> tuple[str, ...]:
    """Why a setting was suggested."""
    try:
        return tuple(opt.explain(trial.id).sentences)
    except InputError as error:
        return (f"Trial {trial.label}: {error}",)


def describe_old_data(part: ReportPart, opt: Optimizer, snapshot: Snapshot) -> ReportPart:
    """Add what was learnt from old data to a part."""
    picture = build_old_data_picture(snapshot)
    # The same and more, in words; the last ones say how to read the picture.
    return replace(part, picture=picture, sentences=picture.sentences[-HOW_TO_READ:], lists=(_explain_old_data(opt),))


def _explain_old_data(opt: Optimizer) -> tuple[str, ...]:
    try:
        return ("In words:", *opt.explain().sentences)
    except InputError as error:
        return (str(error),)


def tabulate_trials(part: ReportPart, opt: Optimizer) -> ReportPart:
    """Add a table of all trials and their notes to a part."""
    history: pd.DataFrame = opt.history.astype(object)
    tidy = [round_near_zeros(trial.setting, opt.space) for trial in opt.trials.trials]
    history[list(opt.space.names)] = pd.DataFrame(tidy, columns=list(opt.space.names), index=history.index)
    if history.empty:
        return replace(part, why_not="Nothing was suggested or recorded yet.")
    order = ["trial", "state", *(name for name in history.columns if name not in ("trial", "state", "direction"))]
    table = history[[name for name in order if name in history.columns]].astype(object)
    if "trial" in table.columns:
        table = table.sort_values("trial")
    said = []
    if len(table) > _LISTED:
        said.append(
            f"These are the latest {_LISTED} of {len(table)} trials. All are in the file that tunedprior export "
            "writes (opt.history in Python)."
        )
        table = table.iloc[-_LISTED:]
    cells = table.to_numpy().tolist()
    if any(isinstance(cell, str) and len(cell) > LONGEST_CELL for row in cells for cell in row):
        said.append(f"Of cells with more than {LONGEST_CELL} letters, the beginning and the end are shown.")
    found = make_table([str(name) for name in table.columns], cells)
    return replace(part, tables=(found,), lead=tuple(said))


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
        title=title or ("Campaign" if opt.study is None else opt.study.study_name),
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


def _build_parts(opt: Optimizer, baseline_count: int, bar: bool) -> list[ReportPart]:
    from tqdm import tqdm

    snapshot = take_snapshot(opt)
    makers: list[tuple[str, str, Callable[[ReportPart], ReportPart]]] = [
        (
            "stand",
            "Where it stands",
            lambda part: describe_status(part, snapshot, lambda: build_progress_picture(snapshot, baseline_count, bar)),
        ),
        ("next", "What to run next, and why", lambda part: describe_pending(part, opt, snapshot)),
        (
            "effects",
            "Predicted response along each input",
            lambda part: _add_picture(part, build_effects_picture(snapshot)),
        ),
        (
            "interactions",
            "Strongest interactions",
            lambda part: _add_picture(part, build_interactions_picture(snapshot)),
        ),
        ("trust", "Trust in old data", lambda part: _add_picture(part, build_trust_picture(opt.trust))),
        ("learnt", "What was learnt from old data", lambda part: describe_old_data(part, opt, snapshot)),
        ("front", "Pareto front (best trade-offs)", lambda part: _add_picture(part, build_front_picture(snapshot))),
        ("data", "All trials", lambda part: tabulate_trials(part, opt)),
    ]
    if len(snapshot.goals.objectives) == 1:
        makers = [one for one in makers if one[0] != "front"]
    steps = tqdm(makers, desc="report", disable=not bar, leave=False)
    found = [_limit_panels(make_part(anchor, title, make)) for anchor, title, make in steps]
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
    return [ReportPart(NAMES, "Names behind the numbers in pictures", tables=(table,))]


def _add_picture(part: ReportPart, picture: Picture) -> ReportPart:
    return replace(part, picture=picture, sentences=picture.sentences)


def encode_for_script(value: Any) -> str:
    """Encode a value as JSON that is safe inside a script element; NaN and infinities become null."""
    return json.dumps(_replace_non_finite(value), ensure_ascii=False, allow_nan=False).translate(_OUTSIDE)


def _replace_non_finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _replace_non_finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_non_finite(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value
