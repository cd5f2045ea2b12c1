"""How small may λ be? The re-weighted prior on flipped data, with different floors under λ.

    python -m benchmarks.lambda_floor [--smoke]

Choice from a Sobol pool of 512 points, 15 evaluations, mean simple regret, beside the same optimiser without old data.
"""

import argparse

import numpy as np

from benchmarks.flipped import SPACE, flipped_data
from benchmarks.functions import FUNCTIONS, scaled
from benchmarks.runs import run_all
from tunedprior import Optimizer, pretrain
from tunedprior.space import Space

FLOORS = (None, 1e-6, 1e-3, 1e-2, 1e-1)


def campaign(name: str, seed: int, floor: float | None, evaluations: int, pool_size: int) -> list[float]:
    """Simple regret within the pool after each evaluation."""
    function = scaled(name)
    prior = None if floor is None else pretrain(flipped_data(function, seed), SPACE, lam_bounds=(floor, 10.0))
    optimizer = Optimizer(SPACE, prior, seed=seed)
    pool = Space.parse(SPACE).sobol(pool_size, seed)
    best = max(float(function(list(setting.values()))) for setting in pool)
    regret = []
    for _ in range(evaluations):
        setting = optimizer.ask(candidates=pool)
        optimizer.tell(setting, float(function(list(setting.values()))))
        regret.append(best - optimizer.best.value)
    return regret


def main() -> None:
    """Run what is missing, store it, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="one seed, four evaluations, nothing stored")
    smoke = parser.parse_args().smoke
    seeds, size = (range(1), (4, 32)) if smoke else (range(10), (15, 512))
    jobs = [(name, seed, floor, *size) for name in FUNCTIONS for seed in seeds for floor in FLOORS]
    results = run_all("lambda_floor", campaign, jobs, keep=not smoke)
    print("| least λ | " + " | ".join(FUNCTIONS) + " |")
    print("|---" * (len(FUNCTIONS) + 1) + "|")
    for floor in FLOORS:
        means = [np.mean([results[name, seed, floor, *size] for seed in seeds]) for name in FUNCTIONS]
        label = "no old data" if floor is None else f"{floor:g}"
        print(f"| {label} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")


if __name__ == "__main__":
    main()
