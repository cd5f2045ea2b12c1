"""Audit old data in full, or check it quickly for faults before a campaign learns from it.

The results of an audit are values, with all findings in words and as JSON.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from html import escape
from os import PathLike
from typing import Any

import numpy as np

from tunedprior.audit.measures import (
    REPEATS,
    Coverage,
    Influences,
    Rehearsal,
    SelfPrediction,
    compute_coverage,
    compute_influences,
    compute_self_prediction,
    run_rehearsal,
)
from tunedprior.checks import check_seed, format_list
from tunedprior.errors import TunedPriorError
from tunedprior.goals.goal import Goal, Target, check_goal
from tunedprior.source_data.findings import Fault, RejectedRow
from tunedprior.source_data.inspection import Inspection, inspect_old_data
from tunedprior.source_data.relations import estimate_replicate_noise
from tunedprior.space.parameters import Categorical, Description
from tunedprior.space.search_space import Space
from tunedprior.weight_prior.prior_archive import is_weight_prior
from tunedprior.workspace.shell_words import quote_word

# Below this part of the variance, and this much better than the more frequent label, settings say next to nothing.
_LITTLE, _HARDLY_BETTER = 0.1, 0.03
_GOOD, _FAIR = 0.7, 0.4
_FEW_ROWS = 8
_HELPS, _HINDERS = 0.9, 1.1
_NEAR_NOTHING = 0.02
_SHOWN_INPUTS, _SHOWN_PAIRS = 5, 3
_LEAST_SHARE = 0.02  # of the variance: what matters less is not named


def describe_reading(origin: str, rows: int, used: int, target: str, found: Inspection) -> tuple[str, ...]:
    """Describe what was read, how, and how many rows are left."""
    if found.sheet is None:
        return (f"{origin} cannot be read as a table until it is mended.",)
    kind = "pass and fail" if found.sheet.labels else "numbers"
    used_words = {rows: "all of them are used", 0: "none is used"}.get(used, f"{used:,} are used")
    head = f"{origin}: {rows:,} row{'s' if rows != 1 else ''}, {used_words}; the response {target!r} is {kind}."
    reasons: dict[str, list[str]] = {}
    for one in found.rejected:
        reasons.setdefault(one.reason, []).append(one.row)
    rejected = (f"Not used ({len(some):,}), {reason}: {format_list(some)}." for reason, some in reasons.items())
    return (head, *found.remarks, *rejected)


def describe_coverage(coverage: Coverage) -> tuple[str, ...]:
    """Describe how much of the search space old data covers."""
    head = f"{_format_percent(coverage.share)} of the search space has an old row nearby"
    outside = (
        "" if coverage.inside > 0.995 else f"; {_format_percent(1 - coverage.inside)} of the old rows lie outside of it"
    )
    gaps = (f"{name!r}: {gap} in old data." for name, gap in coverage.gaps.items())
    return (f"{head}{outside}.", *gaps)


def describe_prediction(found: SelfPrediction, target: str) -> tuple[str, ...]:
    """Describe how well old data predicts itself."""
    if found.correct is not None:
        right, usual = found.correct
        said = (
            f"Held-out rows are predicted right in {_format_percent(right)} of the cases, where the "
            "more frequent "
            f"answer alone would be in {_format_percent(usual)} ({found.rows} rows, cross-validated)."
        )
        return (said,)
    word = "well" if found.explained >= _GOOD else "fairly" if found.explained >= _FAIR else "poorly"
    word = "not at all" if found.explained < _LITTLE else word
    error = f"by a factor of {found.error:.3g}" if found.logarithm else f"by {found.error:.3g}"
    scale = " (its logarithm is predicted, as that works better)" if found.logarithm else ""
    said = (
        f"Held-out rows are predicted {word}: the others explain "
        f"{_format_percent(max(0.0, found.explained))} of "
        f"the variance of {target!r}{scale}, and are off {error} ({found.rows} rows, cross-validated)."
    )
    if found.noise is None:
        return (said,)
    return (said, f"Repeats of the same setting differ by a standard deviation of {found.noise:.3g}.")


def describe_influences(found: Influences, prediction: SelfPrediction) -> tuple[str, ...]:
    """Describe which inputs and pairs matter; nothing if old data predicts nothing."""
    if not found.inputs or _is_uninformative(prediction):
        return ()
    inputs = [f"{name} {_format_percent(share)}" for name, share in found.inputs.items() if share >= _LEAST_SHARE]
    rest = [name for name, share in found.inputs.items() if share < _LEAST_SHARE]
    said = [f"Shares of the predictable variance: {', '.join(inputs[:_SHOWN_INPUTS]) or 'nothing in particular'}."]
    if rest:
        said.append(f"Next to nothing depends on {format_list(rest)}.")
    pairs = [
        f"{' with '.join(pair)} {_format_percent(share)}"
        for pair, share in found.pairs.items()
        if share >= _LEAST_SHARE
    ]
    if pairs:
        said.append(f"Interactions: {', '.join(pairs[:_SHOWN_PAIRS])}.")
    return tuple(said)


def describe_rehearsal(found: Rehearsal) -> tuple[str, ...]:
    """Describe the result of the simulated campaigns on old data."""
    soon = found.trials_to_match
    how = ""
    if soon is not None and soon < found.trials:
        how = f" It got as far after {soon} trial{'s' if soon > 1 else ''} as without it after {found.trials}."
    elif found.with_old[-1] > found.without[-1]:
        how = " In the end it was nearer without old data."
    curves = (found.with_old, found.without, found.at_random)
    with_old, without, at_random = (_format_fine_percent(float(np.mean(one))) for one in curves)
    ends = format_list(_format_fine_percent(one[-1]) for one in curves)  # in the same order
    said = (
        "In campaigns on the old data itself (one half to learn from, the other to search), simple regret, how far the "
        f"best result so far is from the best possible, was {with_old} of the range with old data, {without} without, "
        f"and {at_random} at random: the mean over {found.trials} trials ({found.repeats} campaigns each, "
        f"{found.better} of them better with old data). After the last trial it was {ends}.{how}"
    )
    bound = "Expect no more than that: the new response may differ from the old one."
    return (said, bound)


def describe_verdict(
    faults: Sequence[Fault],
    used: int,
    coverage: Coverage | None,
    prediction: SelfPrediction | None,
    rehearsal: Rehearsal | None,
) -> str:
    """Say whether to use the old data."""
    blamed = format_list(dict.fromkeys(format_fault(one) for one in faults))
    if used == 0:
        return f"It cannot help as it is: {blamed}." if faults else "It cannot help: there is no row to learn from."
    if faults:
        return f"Use it, but mend it first: {blamed}."
    if used < _FEW_ROWS:
        return f"Use it, and do not expect much: there are {used} rows to learn from."
    if prediction is None:
        return "It cannot help: the response, or the settings, never vary."
    if coverage is not None and coverage.share < _NEAR_NOTHING and coverage.inside < _NEAR_NOTHING:
        return "It can hardly help: none of the old rows is near the new space."
    if _is_uninformative(prediction):
        return (
            "It can hardly help: its settings say next to nothing about its response. Using it does little harm, as it "
            "is trusted only as far as new results bear it out."
        )
    if rehearsal is not None and rehearsal.ratio > _HINDERS and prediction.explained < _FAIR:
        return "Use it, and do not expect much: on the old data itself it did not help."
    if rehearsal is not None and rehearsal.ratio < _HELPS:
        return f"Use it: {_describe_head_start(rehearsal)}"
    if rehearsal is not None and rehearsal.ratio > _HINDERS:
        return (
            "Use it: its settings explain its response, though campaigns on the old data itself went no faster with it."
        )
    return "Use it: its settings explain its response."


def _is_uninformative(found: SelfPrediction) -> bool:
    if found.correct is not None:
        return found.correct[0] < found.correct[1] + _HARDLY_BETTER
    return found.explained < _LITTLE


def format_fault(fault: Fault) -> str:
    """Describe a fault in a few words."""
    return f"{fault.kind} in {format_list(fault.columns)}" if fault.columns else fault.kind


def _describe_head_start(found: Rehearsal) -> str:
    """What speaks for it, in the figures that the section on the campaigns begins with."""
    with_old, without = (_format_fine_percent(float(np.mean(one))) for one in (found.with_old, found.without))
    said = (
        f"in campaigns on the old data itself, mean simple regret over {found.trials} trials was {with_old} of the "
        f"range with it and {without} without."
    )
    is_behind = found.with_old[-1] > found.without[-1]
    return f"{said} The gain is in the first trials, not in the last." if is_behind else said


def _format_fine_percent(part: float) -> str:
    """A share that is compared with others: below 10 % with a decimal, so that a difference is seen."""
    return f"{100 * part:.1f} %" if part < 0.0995 else _format_percent(part)


def _format_percent(part: float) -> str:
    return f"{100 * part:.0f} %"


@dataclass(frozen=True)
class Range:
    """The values of one input in old data and in the search space.

    Attributes:
        name: Its name.
        old: The least and the largest old value, or the old categories; None if there is no such column.
        distinct: How many different values there are in old data; None if there is no such column.
        space: The ends of the range in the space, or its choices.
    """

    name: str
    old: tuple[Any, ...] | None
    distinct: int | None
    space: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Audit:
    """The result of an audit of old data; `print` it, or show it in a notebook.

    Attributes:
        origin: The name of the file, or "the table" and the like.
        target: The column of the response.
        direction: Which way is better, or a target.
        rows: How many rows there are, with those that cannot be read.
        found: What was found when it was read.
        ranges: Each input in old data and in the space.
        coverage: How much of the space it has seen; None if nothing can be learnt from it.
        prediction: How well it predicts itself; None if that cannot be told.
        influences: Which inputs matter in it.
        rehearsal: Campaigns on the old data itself; None if there were none.
        files: What old data and the space file are called in commands.
        is_in_file: Whether the space file says which response is wanted, and which way.
    """

    origin: str
    target: str
    direction: Goal
    rows: int
    found: Inspection
    ranges: tuple[Range, ...] = ()
    coverage: Coverage | None = None
    prediction: SelfPrediction | None = None
    influences: Influences | None = None
    rehearsal: Rehearsal | None = None
    files: tuple[str, str] | None = None
    is_in_file: bool = False

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The probable mistakes, in the order in which a person should correct them."""
        return self.found.faults

    @property
    def notes(self) -> tuple[str, ...]:
        """Unusual properties that are no mistakes."""
        return self.found.notes

    @property
    def rejected(self) -> tuple[RejectedRow, ...]:
        """The rows that are not learnt from."""
        return self.found.rejected

    @property
    def used(self) -> int:
        """The number of rows that are learnt from."""
        return 0 if self.found.old is None else len(self.found.old)

    @cached_property
    def verdict(self) -> str:
        """Whether to use the old data, in one or two sentences."""
        return describe_verdict(self.faults, self.used, self.coverage, self.prediction, self.rehearsal)

    @cached_property
    def next_step(self) -> str:
        """The next thing to do: a command, which names the goal unless the space file does."""
        if self.faults:
            return f"{self.faults[0].remedy} Then audit it again."
        if self.used == 0:
            return "Add rows with settings and a response, or begin without old data."
        old, space = self.files or (self.origin, "space.yaml")
        begin = f"Begin: tunedprior new campaign.db --space {quote_word(space)} --old {quote_word(old)}"
        if self.is_in_file:
            return begin
        if not isinstance(self.direction, Target):
            return f"{begin} --{self.direction} {quote_word(self.target)}"
        ends = "..".join(f"{end:g}" for end in dict.fromkeys((self.direction.low, self.direction.upper)))
        return f"{begin} --target {quote_word(f'{self.target}={ends}')}"

    @cached_property
    def sections(self) -> dict[str, tuple[str, ...]]:
        """All findings as sentences, by topic."""
        coverage, prediction, influences, rehearsal = self.coverage, self.prediction, self.influences, self.rehearsal
        parts = {
            "What was read": describe_reading(self.origin, self.rows, self.used, self.target, self.found),
            "Faults": tuple(f"{one.text} {one.remedy}" for one in self.faults),
            "Worth knowing": self.notes,
            "Coverage of the search space": describe_coverage(coverage) if coverage else (),
            "How predictable it is": describe_prediction(prediction, self.target) if prediction else (),
            "Which inputs matter": describe_influences(influences, prediction) if influences and prediction else (),
            "Whether transfer can help": describe_rehearsal(rehearsal) if rehearsal else (),
            "Verdict": (self.verdict,),
            "Next": (self.next_step,),
        }
        return {name: sentences for name, sentences in parts.items() if sentences}

    @property
    def sentences(self) -> tuple[str, ...]:
        """All findings as sentences."""
        return tuple(sentence for part in self.sections.values() for sentence in part)

    def to_dict(self) -> dict[str, Any]:
        """Return all findings as a dict for JSON."""
        return {
            "file": self.origin,
            "target": self.target,
            "direction": str(self.direction),
            "rows": self.rows,
            "used": self.used,
            "read": list(self.found.remarks),
            "faults": [one.to_dict() for one in self.faults],
            "notes": list(self.notes),
            "rejected": [asdict(one) for one in self.rejected],
            "ranges": [asdict(one) for one in self.ranges],
            "coverage": None if self.coverage is None else asdict(self.coverage),
            "prediction": None if self.prediction is None else asdict(self.prediction),
            "influences": None if self.influences is None else _convert_influences(self.influences),
            "rehearsal": None if self.rehearsal is None else asdict(self.rehearsal) | {"ratio": self.rehearsal.ratio},
            "verdict": self.verdict,
            "next_step": self.next_step,
        }

    def __str__(self) -> str:
        parts = ["\n".join([name, *(f"- {one}" for one in some)]) for name, some in self.sections.items()]
        return "\n\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = [
            f"<h4>{escape(name)}</h4><ul>{''.join(f'<li>{escape(one)}</li>' for one in some)}</ul>"
            for name, some in self.sections.items()
        ]
        return f"<div>{''.join(parts)}</div>"


def _convert_influences(found: Influences) -> dict[str, Any]:
    return {
        "inputs": found.inputs,
        "pairs": [{"inputs": list(pair), "share": share} for pair, share in found.pairs.items()],
    }


_MOST_ROWS = 5_000


def find_faults(
    data: Any, space: Space, goals: Mapping[str, Goal], others: Collection[str] = (), seed: int = 0
) -> tuple[Fault, ...]:
    """Find the faults that an audit would report, each once even if several responses share its rows.

    Args:
        data: Whatever `run_audit` takes; of a saved prior, which has no rows, nothing is said.
        space: What may be set.
        goals: The responses and what is wanted of them; those that it has not are passed over.
        others: Columns of responses that nothing is wanted of but a requirement.
        seed: Which rows of large tables are looked at.
    """
    found: dict[tuple[str, tuple[str, ...]], Fault] = {}
    if isinstance(data, str | PathLike) and is_weight_prior(data):
        return ()
    for target, direction in goals.items():
        rest = [name for name in (*goals, *others) if name != target]
        try:
            faults = inspect_old_data(
                data, space, target, direction, rest, seed, lambda _doing: None, _MOST_ROWS
            ).faults
        except TunedPriorError:  # it has not this response, or is no table: for those to say who learn from it
            continue
        for fault in faults:
            found.setdefault((fault.kind, fault.columns), fault)
    return tuple(found.values())


#: How often `advance` is called.
STEPS = 5 + 2 * REPEATS


def run_audit(
    data: Any,
    space: Mapping[str, Description] | Space,
    target: str = "y",
    direction: Goal = "maximize",
    *,
    others: Collection[str] = (),
    rehearse: bool = True,
    seed: int = 0,
    advance: Callable[[str], object] = lambda _doing: None,
) -> Audit:
    """Audit old data: what is wrong with it, how much of the space it covers, and whether it can help.

    Args:
        data: Whatever `Optimizer(old_data=…)` takes as one table: a file, a DataFrame, records, an Optuna study.
        space: What may be set.
        target: The column of the response.
        direction: Which way is better, or a `Target`.
        others: Columns of other responses.
        rehearse: Whether to run short campaigns on the old data itself, which takes most of the time.
        seed: Of all that is random: which rows of large tables are looked at, and the campaigns.
        advance: Called with what is done next, `STEPS` times at most, to show progress.

    Raises:
        InputError: The data is no table, or lacks a column that it must have.

    >>> import numpy as np
    >>> heat = np.linspace(20.0, 90.0, 30)
    >>> found = run_audit({"heat": heat + 273.15, "y": np.sin(heat / 20)}, {"heat": (20.0, 90.0)}, rehearse=False)
    >>> [(one.kind, one.columns) for one in found.faults]
    [('other units', ('heat',))]
    """
    check_goal(direction)
    space, seed = Space.parse(space), check_seed(seed)
    found = inspect_old_data(data, space, target, direction, others, seed, advance)
    known = Audit(found.origin, target, direction, found.rows, found=found, ranges=tuple(_list_ranges(found, space)))
    old, related = found.old, found.related
    if old is None or related is None or len(old) == 0:
        return known
    advance("predicting old rows from others")
    noise = None if old.labels or found.sheet is None else estimate_replicate_noise(found.sheet)
    prediction = compute_self_prediction(related, noise, seed)
    influences = None if prediction is None else compute_influences(related, prediction.logarithm, seed)
    advance("comparing with the space")
    coverage = compute_coverage(old, space, seed)
    rehearsal = None
    if rehearse:
        rehearsal = run_rehearsal(old, space, direction, seed, lambda: advance("trying it on the old data itself"))
    return replace(known, coverage=coverage, prediction=prediction, influences=influences, rehearsal=rehearsal)


def _list_ranges(found: Inspection, space: Space) -> Iterator[Range]:
    """List the range of each input in old data and in the space."""
    if found.sheet is None:
        return
    for one in space.parameters:
        in_space = tuple(one.choices) if isinstance(one, Categorical) else (float(one.low), float(one.high))
        if one not in found.sheet.parameters:
            yield Range(one.name, None, None, in_space)
        elif isinstance(one, Categorical):
            cells = tuple(dict.fromkeys(map(str, found.sheet.table[one.name].dropna())))
            yield Range(one.name, cells, len(cells), in_space)
        else:
            values = found.sheet.get_measured_values(one.name)
            values = values[np.isfinite(values)]
            ends = (float(values.min()), float(values.max())) if len(values) else None
            yield Range(one.name, ends, len(np.unique(values)), in_space)
