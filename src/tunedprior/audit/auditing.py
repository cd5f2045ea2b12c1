"""Audit old data in full, or check it quickly for faults before a campaign learns from it."""

from collections.abc import Callable, Collection, Mapping
from os import PathLike
from typing import Any

import numpy as np

from tunedprior.audit.coverage import compute_coverage, compute_influences, compute_self_prediction
from tunedprior.audit.findings import Audit, Range
from tunedprior.audit.rehearsals import REPEATS, run_rehearsal
from tunedprior.checks import check_seed
from tunedprior.errors import TunedPriorError
from tunedprior.goals.goal import Goal, check_goal
from tunedprior.source_data.findings import Fault
from tunedprior.source_data.inspection import Inspection, inspect_old_data
from tunedprior.source_data.relations import estimate_replicate_noise
from tunedprior.space.parameters import Categorical, Description
from tunedprior.space.search_space import Space
from tunedprior.weight_prior.prior_archive import is_weight_prior

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
    known = Audit(found.origin, target, direction, found.rows, found=found, ranges=_list_ranges(found, space))
    old, related = found.old, found.related
    if old is None or related is None or len(old) == 0:
        return known
    advance("predicting old rows from others")
    noise = None if old.labels or found.sheet is None else estimate_replicate_noise(found.sheet)
    prediction = compute_self_prediction(related, noise, seed)
    matter = None if prediction is None else compute_influences(related, prediction.logarithm, seed)
    advance("comparing with the space")
    coverage = compute_coverage(old, space, seed)
    rehearsal = None
    if rehearse:
        rehearsal = run_rehearsal(old, space, direction, seed, lambda: advance("trying it on the old data itself"))
    return known.add_measures(coverage, prediction, matter, rehearsal)


def _list_ranges(found: Inspection, space: Space) -> tuple[Range, ...]:
    """List the range of each input in old data and in the space."""
    if found.sheet is None:
        return ()
    ranges = []
    for one in space.parameters:
        if one not in found.sheet.parameters:
            ranges.append(Range(one.name, None, None, _get_space_range(one)))
        elif isinstance(one, Categorical):
            cells = list(dict.fromkeys(map(str, found.sheet.table[one.name].dropna())))
            ranges.append(Range(one.name, tuple(cells), len(cells), _get_space_range(one)))
        else:
            values = found.sheet.get_measured_values(one.name)
            values = values[np.isfinite(values)]
            ends = (float(values.min()), float(values.max())) if len(values) else None
            ranges.append(Range(one.name, ends, len(np.unique(values)), _get_space_range(one)))
    return tuple(ranges)


def _get_space_range(one: Any) -> tuple[Any, ...]:
    return tuple(one.choices) if isinstance(one, Categorical) else (float(one.low), float(one.high))
