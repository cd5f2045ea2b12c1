"""Does old data that runs backwards help? Ackley and Styblinski-Tang, 50 flipped auxiliary points, few evaluations.

    python -m benchmarks flipped [--first-seed 100] [--smoke]

The same optimiser, seeds, initial points and budget, with and without the old data, over the whole square.
"""

import argparse

from benchmarks.functions import FUNCTIONS
from benchmarks.old_data import SPACE, old_data
from benchmarks.report import median_and_interval
from benchmarks.runs import RESULTS, run_all
from tunedprior import Optimizer

NAMES = ("Ackley", "Styblinski-Tang")


def regret(name: str, seed: int, with_old: bool, evaluations: int) -> list[float]:
    """Simple regret after each evaluation."""
    function = FUNCTIONS[name]
    old = old_data("flipped", function, seed) if with_old else None
    optimizer = Optimizer(SPACE, old, seed=seed, prior="reweighted")
    found = []
    for _ in range(evaluations):
        setting = optimizer.ask()
        optimizer.tell(setting, float(function(list(setting.values()))))
        found.append(1 - optimizer.best.value)
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="two seeds, four evaluations, nothing stored")
    parser.add_argument("--first-seed", type=int, default=0, help="20 seeds from here; those from 100 chose nothing")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and print the table."""
    smoke, first = arguments.smoke, arguments.first_seed
    seeds, evaluations = (range(first, first + 2), 4) if smoke else (range(first, first + 20), 20)
    jobs = [(name, seed, old, evaluations) for name in NAMES for seed in seeds for old in (False, True)]
    results = run_all("flipped", regret, jobs, "python -m benchmarks flipped", None if smoke else RESULTS)
    print("| function | evaluations | median regret without old data (95 %) | with flipped old data (95 %) |")
    print("|---|---|---|---|")
    for name in NAMES:
        for step in sorted({evaluations // 4, evaluations // 2, evaluations}):
            cells = [
                median_and_interval([results[name, seed, old, evaluations][step - 1] for seed in seeds])
                for old in (False, True)
            ]
            print(f"| {name} | {step} | {cells[0]} | {cells[1]} |")
