"""How small may λ be? The re-weighted prior on flipped data, with different floors under λ.

    python -m benchmarks lambda-floor [--smoke]

Choice from a Sobol pool of 512 points, 15 evaluations, mean simple regret, beside the same optimiser without old data.
"""

import argparse
from dataclasses import dataclass

from benchmarks.problems.functions import FUNCTIONS
from benchmarks.problems.kinds import FLIPPED, SPACE, old_data
from benchmarks.results import RESULTS
from benchmarks.runner import Study, run_all
from tunedprior import Optimizer, TransferConfig, pretrain
from tunedprior.campaign import simulate
from tunedprior.space.search_space import Space

NAMES = ("Ackley", "Styblinski-Tang", "Himmelblau")
FLOORS = (None, 1e-6, 1e-3, 1e-2, 1e-1)


@dataclass(frozen=True)
class FloorJob:
    """A campaign on a test function, with the least λ that may be chosen; None: without old data."""

    problem: str
    seed: int
    floor: float | None
    evaluations: int
    pool: int


def regret(job: FloorJob) -> list[float]:
    """Simple regret within the pool after each evaluation."""
    function = FUNCTIONS[job.problem]
    old = old_data(FLIPPED, function, job.seed)
    prior = None if job.floor is None else pretrain(old, SPACE, lam_bounds=(job.floor, 10.0))
    optimizer = Optimizer(
        SPACE, prior, direction="maximize", seed=job.seed, transfer=TransferConfig(prior="reweighted")
    )
    pool = Space.parse(SPACE).sobol(job.pool, job.seed)
    best = max(map(function.respond, pool))
    return [best - value for value in simulate(optimizer, function.respond, job.evaluations, candidates=pool)]


STUDY = Study("lambda_floor", FloorJob, regret, "python -m benchmarks lambda-floor")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="one seed, four evaluations, nothing stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and print the table."""
    seeds, size = (range(1), (4, 32)) if arguments.smoke else (range(10), (15, 512))
    jobs = [FloorJob(name, seed, floor, *size) for name in NAMES for seed in seeds for floor in FLOORS]
    results = run_all(STUDY, jobs, None if arguments.smoke else RESULTS)
    means = results.groupby(["floor", "problem"], dropna=False)["value"].mean().unstack("problem")[list(NAMES)]
    print("| least λ | " + " | ".join(NAMES) + " |")
    print("|---" * (len(NAMES) + 1) + "|")
    for floor, row in means.reindex(FLOORS).iterrows():
        label = f"{floor:g}" if floor == floor else "no old data"  # an empty cell is not equal to itself
        print(f"| {label} | " + " | ".join(f"{mean:.3f}" for mean in row) + " |")
