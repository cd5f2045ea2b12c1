"""What all parts share: what they are asked for, and how times are taken."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: One line of what a part found.
Row = dict[str, object]


@dataclass(frozen=True)
class Options:
    """What is asked of a part.

    Attributes:
        smoke: Whether small sizes will do.
        before: A checkout of an older version to compare with.
    """

    smoke: bool = False
    before: Path | None = None


Part = Callable[[Options], list[Row]]


def seconds(run: Callable[[], object]) -> float:
    """How long it takes, once: a step of a campaign cannot be repeated, as `torch.utils.benchmark.Timer` would do."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def in_turns(sides: dict[str, Callable[[], object]], repeats: int) -> dict[str, list[float]]:
    """Every side's times, the sides taking turns so that a busy machine is busy for all of them."""
    for run in sides.values():
        run()  # once to warm up
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, run in sides.items():
            times[name].append(seconds(run))
    return times
