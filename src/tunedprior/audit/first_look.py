"""Faults alone, of old data that a campaign is about to learn from."""

from collections.abc import Collection, Mapping
from typing import Any

from tunedprior.audit.faults import Fault
from tunedprior.audit.inspection import inspected
from tunedprior.errors import InputError
from tunedprior.problem.goals import Goal
from tunedprior.problem.space import Space


def faults_of(
    data: Any, space: Space, goals: Mapping[str, Goal], others: Collection[str] = (), seed: int = 0
) -> tuple[Fault, ...]:
    """What the audit would find wrong with it, each fault once, though several responses be read from the same rows.

    Args:
        data: Whatever `audit_of` takes.
        space: What may be set.
        goals: The responses and what is wanted of them; those that it has not are passed over.
        others: Columns of responses that nothing is wanted of but a requirement.
        seed: Which rows of large tables are looked at.
    """
    found: dict[tuple[str, tuple[str, ...]], Fault] = {}
    for target, direction in goals.items():
        rest = [name for name in (*goals, *others) if name != target]
        try:
            faults = inspected(data, space, target, direction, rest, seed, lambda _doing: None).faults
        except InputError:  # it has not this response, which is for those to say who learn from it
            continue
        for fault in faults:
            found.setdefault((fault.kind, fault.columns), fault)
    return tuple(found.values())
