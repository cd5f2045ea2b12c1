"""Experiment 1 from the stored results of three studies: ratios on shared seeds, and average ranks."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from support.stored import _RESAMPLES, LEAST, PAPER, STANDARD, Estimate, _resampled, curves

OF_THE_PAPER = (
    "EI", "GPUCB", "ARD-EI", "ARD-GPUCB", "DT-MKL-EI", "DT-MKL-GPUCB", "envEI", "envGPUCB", "diffEI", "diffGPUCB",
    "TP-EI-BO", "TP-GPUCB-BO",
)  # fmt: skip
SEEDS = {*range(15), *range(200, 225)}
WITHOUT_ACKLEY = tuple(name for name in PAPER if name != "Ackley")


@cache
def means() -> dict[tuple[str, str], dict[int, float]]:
    """The mean regret after the shared settings, by problem and method, then by seed."""
    every = pd.concat([curves(study) for study in ("experiment1", "functions", "as_printed")])
    every = every[(every["kind"] == "flipped") & (every["step"] > 3) & every["seed"].isin(SEEDS)]
    found: dict[tuple[str, str], dict[int, float]] = {}
    for (problem, method, seed), value in every.groupby(["problem", "method", "seed"])["value"].mean().items():
        found.setdefault((problem, method), {})[int(seed)] = float(value)
    return found


def seeds_of(method: str) -> set[int]:
    """The seeds on which it ran on all six functions."""
    return set.intersection(*(set(means().get((name, method), {})) for name in PAPER))


def own_base(method: str, base: str) -> str:
    """EI or GPUCB on the scale of this method."""
    on_papers_scale = "as stated" in method or "as printed" in method
    return f"{base} (as stated)" if on_papers_scale and base in ("EI", "GPUCB") else base


def over(method: str, base: str = STANDARD, names: Sequence[str] = PAPER) -> Estimate:
    """The geometric mean over functions of mean regret over that of a base."""
    base = own_base(method, base)
    seeds = sorted(seeds_of(method) & seeds_of(base))
    middle, draws, weights = 0.0, np.zeros(_RESAMPLES), _resampled(len(seeds))
    for name in names:
        rows = [np.array([means()[name, one][seed] for seed in seeds]) for one in (method, base)]
        middle += np.log(max(rows[0].mean(), LEAST) / max(rows[1].mean(), LEAST)) / len(names)
        again = [np.maximum(weights @ row, LEAST) for row in rows]
        draws += np.log(again[0] / again[1]) / len(names)
    return Estimate(float(np.exp(middle)), np.exp(draws))


def contestants(contest: str) -> dict[str, str]:
    """The twelve methods of a column of ranks, by what they are called there."""
    if contest == "standardised":
        return {name: name for name in OF_THE_PAPER}
    reading = "as printed, unit diagonal" if "unit diagonal" in contest else "as printed"
    return {name: f"{name} ({called(name, reading)})" for name in OF_THE_PAPER}


def called(name: str, reading: str = "as printed") -> str:
    """What is said of a method on the paper's scale."""
    return {"TP": reading, "DT": "MMD, as stated"}.get(name[:2], "as stated")


@cache
def ranks(contest: str) -> tuple[set[int], dict[str, Estimate]]:
    """The seeds that all twelve have, and each one's rank by mean regret, averaged over functions and seeds."""
    methods = contestants(contest)
    seeds = set.intersection(*map(seeds_of, methods.values()))
    of_seeds: dict[str, list[float]] = {name: [] for name in methods}
    for seed in sorted(seeds):
        sums = dict.fromkeys(methods, 0.0)
        for problem in PAPER:
            values = {name: max(means()[problem, one][seed], LEAST) for name, one in methods.items()}
            for name, value in values.items():
                others = [other for key, other in values.items() if key != name]
                sums[name] += 1 + sum(other < value for other in others) + sum(other == value for other in others) / 2
        for name, total in sums.items():
            of_seeds[name].append(total / len(PAPER))
    weights = _resampled(len(seeds)) if seeds else np.zeros((1, 0))
    return seeds, {name: Estimate(float(np.mean(row)), weights @ np.array(row)) for name, row in of_seeds.items()}
