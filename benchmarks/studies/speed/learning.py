"""What comes before the first suggestion: importing the package, and learning from many old rows."""

import multiprocessing
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd

from benchmarks.studies.speed.data import SEED
from benchmarks.studies.speed.timing import Options, Row, in_turns
from tunedprior import Optimizer, WeightPrior, pretrain


def imports(options: Options) -> list[Row]:
    """Importing the package, and BoTorch alone, in fresh interpreters."""
    sides = {
        name: partial(subprocess.run, [sys.executable, "-c", f"import {name}"], check=True)
        for name in ("tunedprior", "botorch")
    }
    times = in_turns(sides, 1 if options.smoke else 7)
    ratios = [a / b for a, b in zip(*times.values(), strict=True)]
    return [{name: median(each) for name, each in times.items()} | {"ratio": median(ratios)}]


def pretraining(options: Options) -> list[Row]:
    """What `pretrain` and the default prior take to learn from many rows, each in a process of its own."""
    spawned = multiprocessing.get_context("spawn")
    rows = []
    for size in (600,) if options.smoke else (100_000, 1_000_000):
        for what in ("pretrain", "average"):
            with spawned.Pool(1) as pool:
                rows.append(pool.apply(learn_from, (what, size, 2 if options.smoke else 5)))
    return rows


def rough(points: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A response that takes as many features as there may be: waves, a square and a product, with noise."""
    waves = np.sin(3 * points[:, 0]) + np.cos(4 * points[:, -1]) / 2
    return waves + points[:, 1] ** 2 - points.prod(1) + 0.1 * random.standard_normal(len(points))


def learn_from(what: str, size: int, num_inputs: int) -> Row:
    """The time and the memory that learning from so many rows takes."""
    random = np.random.default_rng(SEED)
    space = {f"x{column}": (-1.0, 1.0) for column in range(num_inputs)}
    points = random.uniform(-1, 1, (size, num_inputs))
    old, before = pd.DataFrame(points, columns=list(space)).assign(y=rough(points, random)), peak_memory()
    started = time.perf_counter()
    prior = pretrain(old, space) if what == "pretrain" else Optimizer(space, old, direction="maximize", seed=0)
    taken = time.perf_counter() - started
    more = {"features": len(prior.fit.feature_map), "error": prior.error} if isinstance(prior, WeightPrior) else {}
    found = {"what": what, "rows": size, "inputs": num_inputs, "seconds": taken, "table": before}
    return found | {"peak": peak_memory()} | more


def peak_memory() -> float:
    """The most that this process has had, in GiB; what getrusage says includes the process that started it."""
    (line,) = [
        line for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM")
    ]
    return int(line.split()[1]) / 2**20
