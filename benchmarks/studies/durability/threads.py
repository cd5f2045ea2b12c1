"""Threads that share one optimiser: every result is there, and no two suggestions are the same."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tunedprior import SearchConfig
from tunedprior.campaign.optimizer import Optimizer

MEMORY, SQLITE = "memory", "SQLite"
#: What is kept of each job.
OF_THREADS = ("asked and told", "there", "distinct", "errors")


@dataclass(frozen=True)
class ThreadJob:
    """Threads that ask and tell.

    Attributes:
        place: Where the campaign is kept.
        threads: How many there are.
        trials: How many settings they ask for and tell, all together.
        designed: How many of these come from the design; the model suggests the others.
    """

    place: str
    threads: int
    trials: int = 1000
    designed: int = 985


def after_threads(job: ThreadJob) -> list[float]:
    """In the order of OF_THREADS."""
    with tempfile.TemporaryDirectory(prefix="tunedprior-threads-") as folder:
        storage = None if job.place == MEMORY else f"sqlite:///{Path(folder) / 'campaign.db'}"
        opt = Optimizer(
            {"x": (0.0, 1.0), "z": (0.0, 1.0)},
            direction="maximize",
            storage=storage,
            search=SearchConfig(initial=job.designed),
            seed=0,
        )
        errors = []

        def ask_and_tell(_: int) -> None:
            try:
                setting = opt.ask()
                opt.tell(setting, setting["x"] * (1 - setting["z"]))
            except Exception as error:  # counted: whatever it is, it is one too many
                errors.append(error)

        with ThreadPoolExecutor(job.threads) as pool:
            list(pool.map(ask_and_tell, range(job.trials)))
        told = (opt if storage is None else Optimizer.load(storage)).trials.told
        right = [one for one in told if one.value == one.setting["x"] * (1 - one.setting["z"])]
        distinct = {tuple(one.setting.values()) for one in told}
    return [float(job.trials), float(len(right)), float(len(distinct)), float(len(errors))]
