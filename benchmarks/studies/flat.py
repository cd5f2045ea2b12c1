"""Whether flat old data is noticed: Easom far from its well, whose responses differ by rounding at most.

    python -m benchmarks flat [--smoke | --tables] [--out DIR]

Fifty uniform rows of the flipped function on [-100, 100]², for each seed and prior. Old data is flat where its standard
deviation is a trillionth of its size or less; a row that lies near the well makes it vary by more.
"""

import argparse
import warnings
from dataclasses import dataclass

import pandas as pd

from benchmarks.problems.functions import function_named
from benchmarks.problems.kinds import FLIPPED, old_data
from benchmarks.results import RESULTS, read_results
from benchmarks.runner import Study, run_all
from benchmarks.studies.storing import add_storing, places
from benchmarks.tables import markdown, write_tables
from tunedprior import Optimizer, TransferConfig
from tunedprior.errors import OldDataWarning

PRIORS = ("average", "reweighted", "as printed")
#: So many that a hundred of them have flat old data.
SEEDS = 120
_FLAT = 1e-12


@dataclass(frozen=True)
class FlatJob:
    """Old data of a seed, and the prior that learns from it."""

    prior: str
    seed: int


def notice(job: FlatJob) -> list[float]:
    """The response's standard deviation over its largest value, and 1 if it was said that nothing can be learnt."""
    function = function_named("Easom")
    old = old_data(FLIPPED, function, job.seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Optimizer(function.space, old, direction="maximize", seed=job.seed, transfer=TransferConfig(prior=job.prior))
    said = any(
        issubclass(one.category, OldDataWarning) and "Going on without old data" in str(one.message) for one in caught
    )
    return [float(old["y"].std(ddof=0) / old["y"].abs().max()), float(said)]


STUDY = Study("flat", FlatJob, notice, "python -m benchmarks flat")


def tables(results: pd.DataFrame) -> dict[str, str]:
    """For each prior how much flat old data was noticed, and how much of the other was learnt from."""
    both = results.pivot(index=["prior", "seed"], columns="step", values="value").reset_index()
    flat = both[1] <= _FLAT
    cells = {}
    for prior in PRIORS:
        own = both["prior"] == prior
        noticed, learnt = both.loc[own & flat, 2], 1 - both.loc[own & ~flat, 2]
        cells[prior] = [f"{int(noticed.sum())} of {len(noticed)}", f"{int(learnt.sum())} of {len(learnt)}"]
    heads = ["flat: noticed", "a row near the well: learnt from"]
    return {"flat": markdown(pd.DataFrame.from_dict(cells, orient="index", columns=heads).rename_axis("prior"))}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    add_storing(parser, "five seeds, nothing stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the table."""
    jobs = [FlatJob(prior, seed) for prior in PRIORS for seed in range(5 if arguments.smoke else SEEDS)]
    results, docs = places(arguments)
    found = tables(read_results(STUDY.name, results or RESULTS) if arguments.tables else run_all(STUDY, jobs, results))
    print(found["flat"])
    if not arguments.smoke:
        write_tables(docs / "reliability.md", found)
