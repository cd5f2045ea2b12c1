"""Seconds from the shell until there is a suggestion, in turns with `import botorch`."""

import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import optuna

from benchmarks.studies.shell.kills import CAMPAIGN
from tunedprior.campaign.optimizer import Optimizer

#: What is kept of each turn.
OF_A_TURN = ("suggest", "import botorch")


@dataclass(frozen=True)
class SecondsJob:
    """One campaign, timed several times.

    Attributes:
        seed: Of its results.
        results: How many it has.
        inputs: How many there are.
        old: How many rows of old data it learnt from.
        repeats: How many turns.
    """

    seed: int
    results: int = 30
    inputs: int = 5
    old: int = 100
    repeats: int = 5


def seconds_from_the_shell(job: SecondsJob) -> list[float]:
    """In the order of OF_A_TURN, turn by turn, after one to warm up."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rng = np.random.default_rng(job.seed)
    names = [f"x{number}" for number in range(job.inputs)]

    def response(x: np.ndarray) -> float:
        return float(np.sin(3 * x[0]) * x[1] + (x[2] - 0.4) ** 2 if job.inputs > 2 else np.sin(3 * x[0]))

    def rows(count: int) -> list[dict[str, float]]:
        drawn = rng.random((count, job.inputs))
        return [{**dict(zip(names, map(float, x), strict=True)), "y": response(x)} for x in drawn]

    found: list[float] = []
    with tempfile.TemporaryDirectory(prefix="tunedprior-shell-") as folder:
        begun = Path(folder, "begun.db")
        opt = Optimizer(
            dict.fromkeys(names, (0.0, 1.0)),
            rows(job.old),
            direction="maximize",
            storage=f"sqlite:///{begun}",
            seed=job.seed,
        )
        for row in rows(job.results):
            opt.tell({name: row[name] for name in names}, row["y"])
        for turn in range(job.repeats + 1):
            shutil.copy(begun, Path(folder, CAMPAIGN))  # a suggestion that is open would cost the next one time
            own = _timed(
                [sys.executable, "-c", "from tunedprior.cli.program import main; main()", "suggest", CAMPAIGN], folder
            )
            other = _timed([sys.executable, "-c", "import botorch"], folder)
            found += [own, other] if turn else []
    return found


def _timed(command: list[str], folder: str) -> float:
    begun = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begun
