"""How far apart the settings of a batch are.

    python -m benchmarks batches [--smoke]

Campaigns in batches of four, in continuous and mixed spaces, with and without old data. The distance of two settings is
the largest difference in any parameter, as a share of its range; different categories are 1 apart.
"""

import argparse
import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.results import RESULTS
from benchmarks.runner import Study, run_all
from benchmarks.tables import markdown
from tunedprior import Optimizer, TransferConfig
from tunedprior.kernels import SquaredExponential
from tunedprior.space.search_space import Setting

CONTINUOUS = {"x": (0.0, 1.0), "z": (-1.0, 2.0)}
MIXED = CONTINUOUS | {"gas": ["air", "argon", "helium"]}
#: The search space, whether there is old data, and the prior.
KINDS = {
    "continuous": (CONTINUOUS, False, "average"),
    "mixed": (MIXED, False, "average"),
    "continuous, old data": (CONTINUOUS, True, "average"),
    "mixed, old data": (MIXED, True, "average"),
    "continuous, reweighted": (CONTINUOUS, True, "reweighted"),
}
_BATCH, _BATCHES, _SEEDS, _ROWS = 4, 10, 20, 40
NEAR = 0.01


@dataclass(frozen=True)
class BatchJob:
    """A campaign in batches."""

    kind: str
    seed: int
    batches: int


def _respond(setting: Setting) -> float:
    """Two hills, one of them higher; air is best."""
    x, z = setting["x"], setting["z"]
    hills = np.exp(-8 * (x - 0.3) ** 2 - (z - 0.7) ** 2) + 0.8 * np.exp(-20 * (x - 0.8) ** 2 - 2 * (z + 0.3) ** 2)
    return float(hills + 0.1 * (setting.get("gas") == "air"))


def nearest(job: BatchJob) -> list[float]:
    """After the first batch, which is a design: the least distance of two settings in each."""
    space, old, prior = KINDS[job.kind]
    rng = np.random.default_rng(job.seed)
    table = None
    if old:
        columns = {name: rng.uniform(*ends, _ROWS) for name, ends in CONTINUOUS.items()}
        table = pd.DataFrame(columns | ({"gas": rng.choice(MIXED["gas"], _ROWS)} if "gas" in space else {}))
        table["y"] = [1 - _respond(setting) for setting in table.to_dict("records")]
    kernel = SquaredExponential() if prior == "reweighted" else None
    transfer = TransferConfig(prior, kernel=kernel)
    optimizer = Optimizer(space, table, direction="maximize", seed=job.seed, transfer=transfer)
    found = []
    for _ in range(1 + job.batches):
        batch = optimizer.ask(n=_BATCH)
        found.append(min(_distance(one, other, space) for one, other in itertools.combinations(batch, 2)))
        optimizer.tell(batch, [_respond(setting) for setting in batch])
    return found[1:]


def _distance(one: Setting, other: Setting, space: dict) -> float:
    return max(
        abs(one[name] - other[name]) / (given[1] - given[0])
        if isinstance(given, tuple)
        else float(one[name] != other[name])
        for name, given in space.items()
    )


STUDY = Study("batches", BatchJob, nearest, "python -m benchmarks batches")


def tables(results: pd.DataFrame) -> dict[str, str]:
    """For each kind: batches, those with two settings nearer than 1 %, and the least and the median distance."""
    rows = []
    for kind in KINDS:
        found = results.loc[results["kind"] == kind, "value"]
        rows.append((kind, len(found), int((found < NEAR).sum()), f"{found.min():.3f}", f"{found.median():.3f}"))
    columns = ["space", "batches of four", "with two nearer than 1 %", "least distance", "median distance"]
    return {"batches": markdown(pd.DataFrame(rows, columns=columns).set_index("space"))}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="one seed, one batch, nothing stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the table."""
    seeds, batches = (1, 1) if arguments.smoke else (_SEEDS, _BATCHES)
    jobs = [BatchJob(kind, seed, batches) for kind in KINDS for seed in range(seeds)]
    found = tables(run_all(STUDY, jobs, None if arguments.smoke else RESULTS))
    print(found["batches"])
