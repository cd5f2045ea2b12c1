"""Faults alone, of old data that a campaign is about to learn from: a look that takes little time, and never fails."""

from collections.abc import Collection, Mapping
from os import PathLike
from typing import Any

from tunedprior.algorithm1.storage import is_weight_prior
from tunedprior.audit.faults import Fault
from tunedprior.audit.inspection import inspect_old_data
from tunedprior.errors import TunedPriorError
from tunedprior.problem.goals import Goal
from tunedprior.problem.space import Space

_MOST_ROWS = 5_000


def find_faults(
    data: Any, space: Space, goals: Mapping[str, Goal], others: Collection[str] = (), seed: int = 0
) -> tuple[Fault, ...]:
    """What the audit would find wrong with it, each fault once, though several responses be read from the same rows.

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
