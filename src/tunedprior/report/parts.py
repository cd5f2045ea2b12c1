"""The parts of a report: facts, sentences, pictures and tables. A part that cannot be made says why."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pandas as pd

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.errors import InputError, TunedPriorError
from tunedprior.goals.objective import Objective
from tunedprior.history.trials import Trial
from tunedprior.plots.effects_pictures import HOW_TO_READ, build_old_data_picture
from tunedprior.plots.pictures import Picture, abbreviate_setting, round_near_zeros, shorten
from tunedprior.plots.snapshot import Snapshot
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


def describe_status(snapshot: Snapshot, draw: Callable[[], Picture]) -> Callable[[ReportPart], ReportPart]:
    """Make the part with the best result, the recommendation, the remaining improvement and the picture.

    Args:
        snapshot: The campaign.
        draw: Draws the progress.
    """

    def make(part: ReportPart) -> ReportPart:
        progress = make_part(part.anchor, part.title, lambda empty: replace(empty, picture=draw()))
        goals, history = snapshot.goals, snapshot.history
        failed = sum(trial.failed for trial in history.told)
        told = f"{len(history)}" + (f", {failed} of them failed runs" if failed else "")
        facts = [("Wanted", goals.describe())]
        if snapshot.space.constraints:
            facts.append(("Constraints", "; ".join(map(str, snapshot.space.constraints))))
        facts.append(("Results", told))
        if history.pending:
            facts.append(("Under way", f"{len(history.pending)}"))
        if goals.has_front:
            facts.append(
                ("Best trade-offs", ", ".join(f"trial {one.id}" for one in goals.find_front(history.told)) or "none")
            )
        lead = [_describe_best(snapshot)] if history.told else []
        sentences = [] if progress.picture is None else list(progress.picture.sentences)
        with suppress(InputError):  # nothing told yet, or a front, of which nothing is recommended
            found = snapshot.recommendation
            if found.probability < 1:
                works = "Meets what is required" if goals.requirements else "A run there works"
                facts.append((works, f"with probability {found.probability:.2g}"))
            expected = f"{found.mean:.4g} expected, 95 % interval {found.low:.4g} to {found.high:.4g}"
            lead.append(
                f"Recommended: {abbreviate_setting(found.setting, snapshot.space)} ({goals.main.name} {expected})."
            )
            sentences.append(
                "The recommended setting is the one that all results together speak for, and not the luckiest "
                "measurement alone."
            )
        with suppress(InputError):
            left = estimate_remaining(snapshot.suggester, snapshot.fitted, snapshot.seed, 0.0)
            gain = f"{left.expected:.3g} expected, and with 95 % certainty at most {left.bound:.3g}"
            gain += f" ({left.caveat})" if left.caveat else ""
            lead.append(f"Left to gain: {gain}.")
        return replace(
            part,
            lead=tuple(lead),
            facts=tuple(facts),
            sentences=tuple(sentences),
            picture=progress.picture,
            why_not=progress.why_not,
        )

    return make


def _describe_best(snapshot: Snapshot) -> str:
    """The best so far, in a sentence."""
    goals, told = snapshot.goals, snapshot.history.told
    of_all = f"of {len(told)} result{'s' if len(told) > 1 else ''}"
    if goals.has_front:
        count = len(goals.find_front(told))
        return f"Best trade-offs so far: {count or 'none'} {of_all}."
    best = goals.find_best(told)
    if best is None:
        lacking = "meets what is required" if goals.requirements else "is one that counts"
        return f"None {of_all} {lacking} yet."
    values = ", ".join(f"{one.name} {_format_value(one, best)}" for one in goals.responses)
    return f"Best so far: {values} (trial {best.id}, {of_all}), at {abbreviate_setting(best.setting, snapshot.space)}."


def _format_value(response: Objective, trial: Trial) -> str:
    value = response.get_value(trial)
    return (
        "not measured" if value != value else {1.0: "pass", -1.0: "fail"}[value] if response.labels else f"{value:.6g}"
    )


def describe_pending(opt: Optimizer, snapshot: Snapshot) -> Callable[[ReportPart], ReportPart]:
    """Make the part with the pending settings, their predictions and the reasons for them."""

    def make(part: ReportPart) -> ReportPart:
        pending = snapshot.history.pending
        if not pending:
            said = "Nothing is under way. Ask for the next setting with: tunedprior suggest"
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
        columns = ["trial", *names, *(f"{one.name} expected (95 % interval)" for one in modelled)]
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

    return make


def _explain_trial(opt: Optimizer, trial: Trial) -> tuple[str, ...]:
    """Why a setting was suggested."""
    try:
        return tuple(opt.explain(trial.id).sentences)
    except InputError as error:
        return (f"Trial {trial.id}: {error}",)


def describe_old_data(opt: Optimizer, snapshot: Snapshot) -> Callable[[ReportPart], ReportPart]:
    """Make the part about what was learnt from old data."""

    def make(part: ReportPart) -> ReportPart:
        picture = build_old_data_picture(snapshot)
        # The same and more, in words; the last ones say how to read the picture.
        return replace(
            part, picture=picture, sentences=picture.sentences[-HOW_TO_READ:], lists=(_explain_old_data(opt),)
        )

    return make


def _explain_old_data(opt: Optimizer) -> tuple[str, ...]:
    try:
        return ("In words:", *opt.explain().sentences)
    except InputError as error:
        return (str(error),)


def tabulate_trials(opt: Optimizer) -> Callable[[ReportPart], ReportPart]:
    """Make the part with a table of all trials and their notes."""

    def make(part: ReportPart) -> ReportPart:
        history: pd.DataFrame = opt.history.astype(object)
        tidy = [round_near_zeros(trial.setting, opt.space) for trial in opt.trials.trials]
        history[list(opt.space.names)] = pd.DataFrame(tidy, columns=list(opt.space.names), index=history.index)
        if history.empty:
            return replace(part, why_not="Nothing was told or asked for yet.")
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

    return make
