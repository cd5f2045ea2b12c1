"""What workers say they did, kept apart from the study, and what the two say together.

Every worker appends to its own file: each result before it is told, and once more when telling it has returned. A line
is on disk before the worker goes on, so that it is there whatever happens to the worker.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from optuna.trial import FrozenTrial, TrialState

RESULT, TOLD, HELD = "result", "told", "held"


@dataclass(frozen=True)
class Entry:
    """One line.

    Attributes:
        what: Whether it is a result, one that was told, or that the worker waits where it was asked to.
        trial: The trial's number.
        value: Of the result.
    """

    what: str
    trial: int
    value: float | None = None


class Ledger:
    """A worker's file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, what: str, trial: int, value: float | None = None) -> None:
        """On disk when it returns."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(Entry(what, trial, value))) + "\n")
            file.flush()
            os.fsync(file.fileno())


def read_ledgers(paths: Iterable[Path]) -> list[Entry]:
    """All entries; a line that its worker was killed in the midst of is none."""
    lines = [line for path in paths if path.exists() for line in path.read_text().splitlines(keepends=True)]
    return [Entry(**json.loads(line)) for line in lines if line.endswith("\n")]


@dataclass(frozen=True)
class Verdict:
    """What became of the trials of a study.

    Attributes:
        completed: Trials that are.
        lost: Results that were told and are not in the study, or are with another value.
        doubled: Trials that count more often than they were to be: two of one number, a trial that was told twice, or
            one that is completed and was queued again and completed too.
        stuck: Trials that are still under way though nobody is at work.
        unmeasured: Completed trials whose value no worker has measured.
    """

    completed: int
    lost: int
    doubled: int
    stuck: int
    unmeasured: int


def audit(trials: Sequence[FrozenTrial], entries: Sequence[Entry]) -> Verdict:
    """Compare a study in which nobody is at work any more with the ledgers of those who were."""
    completed = [one for one in trials if one.state == TrialState.COMPLETE]
    stored = {(one.number, one.value) for one in completed}
    told = [(one.trial, one.value) for one in entries if one.what == TOLD]
    measured = {(one.trial, one.value) for one in entries if one.what == RESULT}
    return Verdict(
        completed=len(completed),
        lost=len(set(told) - stored),
        doubled=_beyond_one(one.number for one in trials)
        + _beyond_one(number for number, _ in told)
        + _beyond_one(one.system_attrs.get("failed_trial", one.number) for one in completed),
        stuck=sum(one.state == TrialState.RUNNING for one in trials),
        unmeasured=len(stored - measured),
    )


def _beyond_one(numbers: Iterable[int]) -> int:
    return sum(count - 1 for count in Counter(numbers).values())
