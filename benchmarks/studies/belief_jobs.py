"""What the study of the average over beliefs runs: every campaign of it, in two sizes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from benchmarks.methods.by_name import AVERAGE, BASELINE, OWN_START, PLAIN, RIVAL, RIVALS, SOBOL_START
from benchmarks.problems.functions import FAILURES, MORE, PAPER, SHIFTED
from benchmarks.problems.kinds import FLIPPED, KINDS
from benchmarks.problems.pairs import MEASURED, PAIRS

CONTINUOUS_KINDS = (FLIPPED, "pure noise")
#: What is compared after the first few trials: the first settings chosen by old data, by a Sobol design, at random.
STARTS = (OWN_START, SOBOL_START, BASELINE)
#: Whose intervals are held against what is measured next.
CALIBRATED = (AVERAGE, PLAIN)


@dataclass(frozen=True)
class PoolJob:
    """A campaign on a test function or a measured pair, with settings from a pool."""

    problem: str
    kind: str
    method: str
    seed: int
    steps: int
    pool: int


@dataclass(frozen=True)
class BoxJob:
    """A campaign on a test function, over the whole box."""

    problem: str
    kind: str
    method: str
    seed: int
    steps: int


JobT = TypeVar("JobT", PoolJob, BoxJob)


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes:
        names: Functions to choose from a pool on.
        continuous: Functions to optimise over the whole box.
        pairs: Measured pairs.
        seeds: Of ours and the baseline.
        rival_seeds: Of the rival, which takes ten times as long, on every second function.
        rival_pair_seeds: Of all rivals on pairs.
        calibration_seeds: Of campaigns whose intervals are held against what is measured next.
        steps: After the first settings, one more of which than there are inputs.
        first_trials: How many trials a campaign has that looks at the first ones alone.
        pool: Settings to choose from.
    """

    names: tuple[str, ...]
    continuous: tuple[str, ...]
    pairs: tuple[str, ...]
    seeds: range
    rival_seeds: range
    rival_pair_seeds: range
    calibration_seeds: range
    steps: int
    first_trials: int
    pool: int


# The prior's numbers were chosen on seeds below 10; these chose nothing.
FULL = Size(
    names=(*PAPER, *SHIFTED, *FAILURES, *MORE),
    continuous=("Hölder table", "Styblinski-Tang", "Ackley (shifted)", "six-hump camel", "Hartmann-3"),
    pairs=PAIRS,
    seeds=range(100, 120),
    rival_seeds=range(100, 101),
    rival_pair_seeds=range(100, 108),
    calibration_seeds=range(100, 110),
    steps=40,
    first_trials=10,
    pool=1024,
)
SMOKE = replace(
    FULL,
    names=("Branin", "Hartmann-3"),
    continuous=("Branin",),
    pairs=PAIRS[:1],
    seeds=range(100, 101),
    rival_pair_seeds=range(100, 101),
    calibration_seeds=range(100, 101),
    steps=2,
    first_trials=3,
    pool=64,
)


def function_jobs(size: Size) -> list[PoolJob]:
    """The baseline once for each function and seed, as it sees no old data; ours on all kinds; the rival on a half."""
    baseline = [(name, FLIPPED, BASELINE, seed) for name in size.names for seed in size.seeds]
    ours = [(name, kind, AVERAGE, seed) for name in size.names for kind in KINDS for seed in size.seeds]
    rival = [(name, kind, RIVAL, seed) for name in size.names[::2] for kind in KINDS for seed in size.rival_seeds]
    return [PoolJob(*job, size.steps, size.pool) for job in (*baseline, *ours, *rival)]


def continuous_jobs(size: Size) -> list[BoxJob]:
    """Five functions, useful and useless old data."""
    baseline = [(name, FLIPPED, BASELINE, seed) for name in size.continuous for seed in size.seeds]
    ours = [(name, kind, AVERAGE, seed) for name in size.continuous for kind in CONTINUOUS_KINDS for seed in size.seeds]
    return [BoxJob(*job, size.steps) for job in (*baseline, *ours)]


def pair_jobs(size: Size) -> list[PoolJob]:
    """All measured pairs: the baseline and ours, with and without old data, then the rivals."""
    seeds = dict.fromkeys((BASELINE, AVERAGE, OWN_START, PLAIN), size.seeds)
    return _on_pairs(size, seeds | dict.fromkeys(RIVALS, size.rival_pair_seeds), size.steps)


def first_jobs(size: Size) -> list[PoolJob]:
    """The first trials on all measured pairs, by how the first settings are chosen."""
    return _on_pairs(size, dict.fromkeys(STARTS, size.seeds), size.first_trials)


def calibration_jobs(size: Size) -> list[PoolJob]:
    """Campaigns on all measured pairs with a prediction before every result."""
    return _on_pairs(size, dict.fromkeys(CALIBRATED, size.calibration_seeds), size.steps)


def picked(jobs: Sequence[JobT], methods: Collection[str] | None, seeds: Collection[int] | None) -> list[JobT]:
    """Those of some methods and seeds; None: of all."""
    return [job for job in jobs if (methods is None or job.method in methods) and (seeds is None or job.seed in seeds)]


def _on_pairs(size: Size, seeds: dict[str, range], steps: int) -> list[PoolJob]:
    return [
        PoolJob(name, MEASURED, method, seed, steps, size.pool)
        for name in size.pairs
        for method, some in seeds.items()
        for seed in some
    ]
