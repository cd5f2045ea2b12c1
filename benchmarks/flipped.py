"""Does old data that runs backwards help? Ackley and Styblinski-Tang, 50 flipped auxiliary points, few evaluations.

    python -m benchmarks.flipped [--first-seed 100] [--smoke]

The same optimiser, seeds, initial points and budget, with and without the old data.
"""

import argparse

import numpy as np
import pandas as pd

from benchmarks.functions import Function, scaled
from benchmarks.runs import median_and_interval, run_all
from tunedprior import Optimizer

SPACE = {"x0": (-1.0, 1.0), "x1": (-1.0, 1.0)}
NAMES = ("ackley", "styblinski_tang")
AUXILIARY_POINTS = 50


def flipped_data(function: Function, seed: int) -> pd.DataFrame:
    """Old data that runs backwards: uniform points with the response 1 - f."""
    points = np.random.default_rng(seed).uniform(-1, 1, (AUXILIARY_POINTS, 2))
    return pd.DataFrame(points, columns=list(SPACE)).assign(y=1 - function(points))


def campaign(name: str, seed: int, with_old: bool, evaluations: int) -> list[float]:
    """Simple regret after each evaluation."""
    function = scaled(name)
    optimizer = Optimizer(SPACE, flipped_data(function, seed) if with_old else None, seed=seed)
    regret = []
    for _ in range(evaluations):
        setting = optimizer.ask()
        optimizer.tell(setting, float(function(list(setting.values()))))
        regret.append(1 - optimizer.best.value)
    return regret


def main() -> None:
    """Run what is missing, store it, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="two seeds, four evaluations, nothing stored")
    parser.add_argument("--first-seed", type=int, default=0, help="20 seeds from here; those from 100 chose nothing")
    arguments = parser.parse_args()
    smoke, first = arguments.smoke, arguments.first_seed
    seeds, evaluations = (range(first, first + 2), 4) if smoke else (range(first, first + 20), 20)
    jobs = [(name, seed, old, evaluations) for name in NAMES for seed in seeds for old in (False, True)]
    results = run_all("flipped", campaign, jobs, keep=not smoke)
    print("| function | evaluations | median regret without old data (95 %) | with flipped old data (95 %) |")
    print("|---|---|---|---|")
    for name in NAMES:
        for step in sorted({evaluations // 4, evaluations // 2, evaluations}):
            cells = [
                median_and_interval([results[name, seed, old, evaluations][step - 1] for seed in seeds])
                for old in (False, True)
            ]
            print(f"| {name} | {step} | {cells[0]} | {cells[1]} |")


if __name__ == "__main__":
    main()
