"""Does old data that runs backwards help? Ackley and Styblinski-Tang, 50 flipped auxiliary points, few evaluations.

    python -m benchmarks flipped [--first-seed 100] [--smoke]

The same optimiser, seeds, initial points and budget, with and without the old data, over the whole square.
"""

import argparse
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.comparison import estimated
from benchmarks.problems.functions import FUNCTIONS
from benchmarks.problems.kinds import FLIPPED, SPACE, old_data
from benchmarks.results import RESULTS
from benchmarks.runner import Study, run_all
from tunedprior import Optimizer, TransferConfig
from tunedprior.campaign import simulate
from tunedprior.kernels import SquaredExponential

NAMES = ("Ackley", "Styblinski-Tang")

_ONE_KERNEL = TransferConfig("reweighted", kernel=SquaredExponential())


@dataclass(frozen=True)
class FlippedJob:
    """A campaign on a test function, with or without flipped old data."""

    problem: str
    seed: int
    with_old: bool
    evaluations: int


def regret(job: FlippedJob) -> list[float]:
    """Simple regret after each evaluation."""
    function = FUNCTIONS[job.problem]
    old = old_data(FLIPPED, function, job.seed) if job.with_old else None
    optimizer = Optimizer(SPACE, old, direction="maximize", seed=job.seed, transfer=_ONE_KERNEL)
    return [1 - best for best in simulate(optimizer, function.respond, job.evaluations)]


STUDY = Study("flipped", FlippedJob, regret, "python -m benchmarks flipped")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="two seeds, four evaluations, nothing stored")
    parser.add_argument("--first-seed", type=int, default=0, help="20 seeds from here; those from 100 chose nothing")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and print the table."""
    smoke, first = arguments.smoke, arguments.first_seed
    seeds, evaluations = (range(first, first + 2), 4) if smoke else (range(first, first + 20), 20)
    jobs = [FlippedJob(name, seed, old, evaluations) for name in NAMES for seed in seeds for old in (False, True)]
    results = run_all(STUDY, jobs, None if smoke else RESULTS)
    curves = results.pivot(index="seed", columns=["problem", "with_old", "step"], values="value")
    print("| function | evaluations | median regret without old data (95 %) | with flipped old data (95 %) |")
    print("|---|---|---|---|")
    for name in NAMES:
        for step in sorted({evaluations // 4, evaluations // 2, evaluations}):
            without, with_old = (median_and_interval(curves[name, old, step]) for old in (False, True))
            print(f"| {name} | {step} | {without} | {with_old} |")


def median_and_interval(values: pd.Series) -> str:
    """The median, with a 95 % bootstrap interval."""
    found = estimated(np.median, values.to_numpy())
    return f"{found.middle:.4f} ({found.low:.4f} to {found.high:.4f})"
