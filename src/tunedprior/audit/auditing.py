"""The audit: all that is worth knowing of old data before anything is spent."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from tunedprior.audit.coverage import coverage_of
from tunedprior.audit.findings import Audit, Range
from tunedprior.audit.inspection import Inspection, inspected
from tunedprior.audit.prediction import influences, self_prediction
from tunedprior.audit.rehearsals import REPEATS, rehearsed
from tunedprior.audit.relations import replicate_noise
from tunedprior.checks import seeded
from tunedprior.problem.goals import Goal, check_goal
from tunedprior.problem.parameters import Categorical, Description
from tunedprior.problem.space import Space

#: How often `advance` is called.
STEPS = 5 + 2 * REPEATS


def audit_of(
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
    """Say of old data what is wrong with it, what it knows of the space, and whether it can help.

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
        InputError: It is no table, or it has not the columns that it must have.

    >>> import numpy as np
    >>> heat = np.linspace(20.0, 90.0, 30)
    >>> found = audit_of({"heat": heat + 273.15, "y": np.sin(heat / 20)}, {"heat": (20.0, 90.0)}, rehearse=False)
    >>> [(one.kind, one.columns) for one in found.faults]
    [('other units', ('heat',))]
    """
    check_goal(direction)
    space, seed = Space.parse(space), seeded(seed)
    found = inspected(data, space, target, direction, others, seed, advance)
    known = Audit(found.origin, target, direction, found.rows, found=found, ranges=_ranges(found, space))
    old, related = found.old, found.related
    if old is None or related is None or len(old) == 0:
        return known
    advance("predicting old rows from others")
    noise = None if old.labels or found.sheet is None else replicate_noise(found.sheet)
    prediction = self_prediction(related, noise, seed)
    matter = None if prediction is None else influences(related, prediction.logarithm, seed)
    advance("comparing with the space")
    coverage = coverage_of(old, space, seed)
    rehearsal = None
    if rehearse:
        rehearsal = rehearsed(old, space, direction, seed, lambda: advance("trying it on the old data itself"))
    return known.with_measures(coverage, prediction, matter, rehearsal)


def _ranges(found: Inspection, space: Space) -> tuple[Range, ...]:
    """What each input is in old data and in the space."""
    if found.sheet is None:
        return ()
    ranges = []
    for one in space.parameters:
        if one not in found.sheet.parameters:
            ranges.append(Range(one.name, None, None, _in_space(one)))
        elif isinstance(one, Categorical):
            cells = list(dict.fromkeys(map(str, found.sheet.table[one.name].dropna())))
            ranges.append(Range(one.name, tuple(cells), len(cells), _in_space(one)))
        else:
            values = found.sheet.measured(one.name)
            values = values[np.isfinite(values)]
            ends = (float(values.min()), float(values.max())) if len(values) else None
            ranges.append(Range(one.name, ends, len(np.unique(values)), _in_space(one)))
    return tuple(ranges)


def _in_space(one: Any) -> tuple[Any, ...]:
    return tuple(one.choices) if isinstance(one, Categorical) else (float(one.low), float(one.high))
