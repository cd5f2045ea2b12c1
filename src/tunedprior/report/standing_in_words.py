"""Where a campaign stands and what to run next, in words and tables."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pandas as pd

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.campaign.outlook import remaining
from tunedprior.errors import InputError
from tunedprior.plots.along_inputs import in_brief, tidied
from tunedprior.plots.old_lessons import HOW_TO_READ, learnt_picture
from tunedprior.plots.pictures import Picture
from tunedprior.plots.standing import Standing
from tunedprior.problem.objective import Objective
from tunedprior.problem.trials import Trial
from tunedprior.report.parts import LONGEST_CELL, Part, made, table_of

_EXPLAINED = 4  # pending settings that are explained; of more, the first
_LISTED = 500  # trials in the table of all; of more, the latest


def where_it_stands(standing: Standing, draw: Callable[[], Picture]) -> Callable[[Part], Part]:
    """What is found, recommended and left to gain, the picture of progress, and then what these do not say.

    Args:
        standing: The campaign.
        draw: Draws the progress.
    """

    def make(part: Part) -> Part:
        progress = made(part.anchor, part.title, lambda empty: replace(empty, picture=draw()))
        aims, history = standing.aims, standing.history
        failed = sum(trial.failed for trial in history.told)
        told = f"{len(history)}" + (f", {failed} of them failed runs" if failed else "")
        facts = [("Wanted", aims.in_words())]
        if standing.space.constraints:
            facts.append(("Constraints", "; ".join(map(str, standing.space.constraints))))
        facts.append(("Results", told))
        if history.pending:
            facts.append(("Under way", f"{len(history.pending)}"))
        if aims.has_front:
            facts.append(
                ("Best trade-offs", ", ".join(f"trial {one.id}" for one in aims.front(history.told)) or "none")
            )
        lead = [_best_in_brief(standing)] if history.told else []
        sentences = [] if progress.picture is None else list(progress.picture.sentences)
        with suppress(InputError):  # nothing told yet, or a front, of which nothing is recommended
            found = standing.recommendation
            if found.probability < 1:
                works = "Meets what is required" if aims.requirements else "A run there works"
                facts.append((works, f"with probability {found.probability:.2g}"))
            expected = f"{found.mean:.4g} expected, 95 % interval {found.low:.4g} to {found.high:.4g}"
            lead.append(f"Recommended: {in_brief(found.setting, standing.space)} ({aims.main.target} {expected}).")
            sentences.append(
                "The recommended setting is the one that all results together speak for, and not the luckiest "
                "measurement alone."
            )
        with suppress(InputError):
            left = remaining(standing.suggester, standing.fitted, standing.seed, 0.0)
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


def _best_in_brief(standing: Standing) -> str:
    """The best so far, in a sentence."""
    aims, told = standing.aims, standing.history.told
    of_all = f"of {len(told)} result{'s' if len(told) > 1 else ''}"
    if aims.has_front:
        count = len(aims.front(told))
        return f"Best trade-offs so far: {count or 'none'} {of_all}."
    best = aims.best(told)
    if best is None:
        lacking = "meets what is required" if aims.requirements else "is one that counts"
        return f"None {of_all} {lacking} yet."
    values = ", ".join(f"{one.target} {_value(one, best)}" for one in aims.responses)
    return f"Best so far: {values} (trial {best.id}, {of_all}), at {in_brief(best.setting, standing.space)}."


def _value(response: Objective, trial: Trial) -> str:
    value = response.value_of(trial)
    return (
        "not measured" if value != value else {1.0: "pass", -1.0: "fail"}[value] if response.labels else f"{value:.6g}"
    )


def what_next(opt: Optimizer, standing: Standing) -> Callable[[Part], Part]:
    """The settings that are under way, what is expected of each, and why each was suggested."""

    def make(part: Part) -> Part:
        pending = standing.history.pending
        if not pending:
            said = "Nothing is under way. Ask for the next setting with: tunedprior suggest"
            return replace(part, sentences=(said,))
        names, settings = standing.space.names, [one.setting for one in pending]
        expected = []
        modelled = standing.modelled if any(r.told(standing.history.told) for r in standing.aims.responses) else []
        for response in modelled:
            found = standing.expected(response, settings)
            ends = zip(found.mean, found.low, found.high, strict=True)
            expected.append([f"{mean:.4g} ({low:.4g} to {high:.4g})" for mean, low, high in ends])
        columns = ["trial", *names, *(f"{one.target} expected (95 % interval)" for one in modelled)]
        rows = [
            [trial.id, *tidied(trial.setting, standing.space).values(), *(column[number] for column in expected)]
            for number, trial in enumerate(pending)
        ]
        reasons = tuple(_reasons(opt, trial) for trial in pending[:_EXPLAINED])
        return replace(part, tables=(table_of(columns, rows),), lists=reasons)

    return make


def _reasons(opt: Optimizer, trial: Trial) -> tuple[str, ...]:
    """Why a setting was suggested."""
    try:
        return tuple(opt.explain(trial.id).sentences)
    except InputError as error:
        return (f"Trial {trial.id}: {error}",)


def taught(opt: Optimizer, standing: Standing) -> Callable[[Part], Part]:
    """What the old data taught, as a picture and in words."""

    def make(part: Part) -> Part:
        picture = learnt_picture(standing)
        # The same and more, in words; the last ones say how to read the picture.
        return replace(part, picture=picture, sentences=picture.sentences[-HOW_TO_READ:], lists=(_told(opt),))

    return make


def _told(opt: Optimizer) -> tuple[str, ...]:
    try:
        return ("In words:", *opt.explain().sentences)
    except InputError as error:
        return (str(error),)


def all_data(opt: Optimizer) -> Callable[[Part], Part]:
    """Every trial, with notes."""

    def make(part: Part) -> Part:
        history: pd.DataFrame = opt.history.astype(object)
        tidy = [tidied(trial.setting, opt.space) for trial in opt.trials.trials]
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
        found = table_of([str(name) for name in table.columns], cells)
        return replace(part, tables=(found,), lead=tuple(said))

    return make
