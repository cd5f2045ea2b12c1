"""How often a slip in a new result is noted, and how often a sound result is.

    python -m benchmarks slips --pairs DIR

Results of random settings of each measured pair, one after the other. For each of them it is asked whether a note would
be given, as it was measured and with a slip in it, after the sound ones before it. The first three are never judged by
old data.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.problems.pairs import LOG_RESPONSES, PAIRS, Pair, read_pair, subsample
from benchmarks.results import RESULTS
from benchmarks.runner import Study, run_all
from benchmarks.tables import markdown
from tunedprior.campaign.outlier_warnings import Spans, describe_outliers
from tunedprior.goals.goals import Goals
from tunedprior.history.trials import Trial
from tunedprior.source_data.matching import read_old_data
from tunedprior.space.search_space import Space

SOUND, NO_OLD_DATA, OLD_DATA = "as measured", "no old data", "old data"
#: What a slip makes of what was measured.
SLIPS: dict[str, Callable[[float], float]] = {
    SOUND: lambda measured: measured,
    "× 10": lambda measured: 10 * measured,
    "× 100": lambda measured: 100 * measured,
    "/ 10": lambda measured: measured / 10,
    "a minus sign": lambda measured: -measured,
    "-9999": lambda _measured: -9999.0,
}
RESULTS_TOLD = 20
#: The rule was chosen on the same pairs with other seeds.
_SEEDS = range(400, 410)


@dataclass(frozen=True)
class SlipJob:
    """Results of a pair, with or without its old data, each with this slip in turn."""

    problem: str
    old: str
    slip: str
    seed: int


def noted(job: SlipJob, pairs: Path) -> list[float]:
    """How many of the results from the fourth on would be noted, and of how many."""
    pair = subsample(_read(pairs, job.problem), job.seed)
    rows = np.random.default_rng(job.seed).permutation(len(pair.pool))[:RESULTS_TOLD]
    settings, values = pair.pool.iloc[rows].to_dict("records"), pair.responses[rows]
    goals, spans = Goals.parse(pair.direction, target="y"), _spans(pair) if job.old == OLD_DATA else {}
    sound = [Trial(settings[number], float(value), id=number) for number, value in enumerate(values)]
    slipped = [replace(one, value=_slipped(one.value, job)) for one in sound]
    found = [bool(describe_outliers(sound[:k], [slipped[k]], goals, spans)) for k in range(3, len(sound))]
    return [float(sum(found)), float(len(found))]


_read = cache(read_pair)


def _spans(pair: Pair) -> Spans:
    span = read_old_data(pair.old, Space.parse(pair.space), direction=pair.direction).span
    return {} if span is None else {"y": [span]}


def _slipped(value: float, job: SlipJob) -> float:
    """What is told: on the scale of the response, which is the logarithm of what was measured for some pairs."""
    if "target" not in LOG_RESPONSES.get(job.problem, ()):
        return SLIPS[job.slip](value)
    return float(np.log(SLIPS[job.slip](np.exp(value))))


def jobs() -> list[SlipJob]:
    """All of them; nobody can enter what is not above 0 where logarithms are taken."""
    return [
        SlipJob(name, old, slip, seed)
        for name in PAIRS
        for old in (OLD_DATA, NO_OLD_DATA)
        for slip, make in SLIPS.items()
        for seed in _SEEDS
        if make(1.0) > 0 or "target" not in LOG_RESPONSES.get(name, ())
    ]


def study_of(pairs: Path) -> Study[SlipJob]:
    """Notes, and results that could have had one."""
    return Study("slips", SlipJob, partial(noted, pairs=pairs), "python -m benchmarks slips --pairs DIR")


def table(results: pd.DataFrame) -> str:
    """How many results with each slip had a note, with and without old data."""
    counts = results.groupby(["old", "slip", "step"])["value"].sum().astype(int).unstack("step")
    cells = {old: [_share(*counts.loc[old, slip]) for slip in SLIPS] for old in (OLD_DATA, NO_OLD_DATA)}
    return markdown(pd.DataFrame(cells, index=pd.Index(SLIPS, name="result")))


def _share(some: int, of: int) -> str:
    return f"{some:,} of {of:,} ({100 * some / of:.1f} %)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--pairs", metavar="DIR", type=Path, required=True, help="a folder of measured pairs")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the table."""
    found = table(run_all(study_of(arguments.pairs), jobs(), RESULTS))
    print(found)
