"""Whether rows of old data can be found in what is shared of it.

    python -m benchmarks recovery [--smoke]

Old data of several kinds, learnt from and saved as it is and without rows, and every attack on both files. The figure
is the share of other data sets of that kind that the guesses come as close to as to the real rows (`attacks.chance`).
"""

import argparse
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from benchmarks.problems.attacks import ATTACKS, chance
from benchmarks.results import RESULTS
from benchmarks.runner import Study, run_all
from benchmarks.tables import markdown
from tunedprior import pretrain

KINDS = ("smooth", "rough", "noise")
SIZES = ((1, 12), (1, 24), (2, 20), (2, 60), (3, 40))  # inputs, and rows
FILES = ("the full file", "without rows")
LUCKY = 0.05
_SEEDS, _OTHERS = 6, 200


@dataclass(frozen=True)
class RecoveryJob:
    """Old data of this kind, with so many inputs and rows."""

    kind: str
    inputs: int
    rows: int
    seed: int


def chances(job: RecoveryJob) -> list[float]:
    """The figure of each attack on the full file, then of each on the one without rows."""
    random = np.random.default_rng(job.seed)
    settings = random.uniform(0.0, 1.0, (job.rows, job.inputs))
    first, last = settings[:, 0], settings[:, -1]
    response = {
        "smooth": np.sin(3 * first) + last**2,
        "rough": np.sin(25 * first) * np.cos(18 * last),
        "noise": random.normal(size=job.rows),
    }[job.kind]
    names = [f"x{number}" for number in range(job.inputs)]
    old = pd.DataFrame(settings, columns=names).assign(y=response)
    full = pretrain(old, dict.fromkeys(names, (0.0, 1.0)))
    rows = torch.as_tensor(2 * settings - 1)
    return [
        chance(attack(prior, job.rows), rows, _OTHERS)
        for prior in (full, full.drop_rows())
        for attack in ATTACKS.values()
    ]


STUDY = Study("recovery", RecoveryJob, chances, "python -m benchmarks recovery")


def tables(results: pd.DataFrame) -> dict[str, str]:
    """How often each attack came closer to the rows than to 95 % of other data sets."""
    steps = results["step"] - results["step"].min()
    lucky = (results["value"] <= LUCKY).groupby(steps).mean()
    cells = {
        file: [f"{100 * lucky[number * len(ATTACKS) + k]:.0f} %" for k in range(len(ATTACKS))]
        for number, file in enumerate(FILES)
    }
    return {"recovery": markdown(pd.DataFrame(cells, index=pd.Index(list(ATTACKS), name="attack")))}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="one size, one seed, nothing stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the table."""
    sizes, seeds = (SIZES[2:3], 1) if arguments.smoke else (SIZES, _SEEDS)
    jobs = [RecoveryJob(kind, *size, seed) for seed in range(seeds) for size in sizes for kind in KINDS]
    found = tables(run_all(STUDY, jobs, None if arguments.smoke else RESULTS))
    print(found["recovery"])
