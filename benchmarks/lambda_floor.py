"""How small may λ be? The re-weighted prior on flipped data, with different floors under λ.

    python -m benchmarks lambda-floor [--smoke]

Choice from a Sobol pool of 512 points, 15 evaluations, mean simple regret, beside the same optimiser without old data.
"""

import argparse

import numpy as np

from benchmarks.functions import FUNCTIONS
from benchmarks.old_data import SPACE, old_data
from benchmarks.runs import RESULTS, run_all
from tunedprior import Optimizer, pretrain
from tunedprior.space import Space

NAMES = ("Ackley", "Styblinski-Tang", "Himmelblau")
FLOORS = (None, 1e-6, 1e-3, 1e-2, 1e-1)


def regret(name: str, seed: int, floor: float | None, evaluations: int, pool_size: int) -> list[float]:
    """Simple regret within the pool after each evaluation."""
    function = FUNCTIONS[name]
    old = old_data("flipped", function, seed)
    prior = None if floor is None else pretrain(old, SPACE, lam_bounds=(floor, 10.0))
    optimizer = Optimizer(SPACE, prior, seed=seed, prior="reweighted")
    pool = Space.parse(SPACE).sobol(pool_size, seed)
    best = max(float(function(list(setting.values()))) for setting in pool)
    found = []
    for _ in range(evaluations):
        setting = optimizer.ask(candidates=pool)
        optimizer.tell(setting, float(function(list(setting.values()))))
        found.append(best - optimizer.best.value)
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="one seed, four evaluations, nothing stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and print the table."""
    seeds, size = (range(1), (4, 32)) if arguments.smoke else (range(10), (15, 512))
    jobs = [(name, seed, floor, *size) for name in NAMES for seed in seeds for floor in FLOORS]
    folder = None if arguments.smoke else RESULTS
    results = run_all("lambda_floor", regret, jobs, "python -m benchmarks lambda-floor", folder)
    print("| least λ | " + " | ".join(NAMES) + " |")
    print("|---" * (len(NAMES) + 1) + "|")
    for floor in FLOORS:
        means = [np.mean([results[name, seed, floor, *size] for seed in seeds]) for name in NAMES]
        label = "no old data" if floor is None else f"{floor:g}"
        print(f"| {label} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
