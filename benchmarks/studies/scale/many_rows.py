"""Old data in many rows: one pass in one process against a tree of sums on Dask's workers, on the same files."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from logging import ERROR
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch

from benchmarks.studies.scale.own_process import alone
from benchmarks.studies.speed.learning import peak_memory, rough
from tunedprior import WeightPrior
from tunedprior.numerics.chunking import SumT
from tunedprior.weight_prior.partitioned import Pieces, TaskSummer, pretrain_partitions, sum_in_process

#: What is kept of either side: seconds in all, of each pass and of processors; GiB at the most and before it began.
OF_A_SIDE = ("in all", "sample", "ranges", "equations", "busy", "most", "before")
#: What is kept of each job. The answers differ by their predictions and by their weights, relative to the largest.
OF_ROWS = (
    *(f"one: {name}" for name in OF_A_SIDE),
    *(f"tree: {name}" for name in OF_A_SIDE),
    *("writing", "gigabytes", "features kept", "used", "predictions", "weights"),
)
_ROWS_OF_A_FILE, _ROWS_OF_A_GROUP = 1_000_000, 250_000
_AT_ONCE = 250_000
# Every so many rows a response is blank: they are left out by both sides.
_BLANK = 1000
_ONE_TASK = 10**12
#: What the environment of workers has. Dask's own default has MALLOC_TRIM_THRESHOLD_ too, by which every large array is
#: asked of the system anew: sums over features then take twice the time.
WORKERS_HAVE = {"OMP_NUM_THREADS": 1, "MKL_NUM_THREADS": 1}
_POINTS = 1000  # at which predictions are compared


@dataclass(frozen=True)
class RowsJob:
    """One table in many files, learnt from twice.

    Attributes:
        rows: In all files.
        inputs: Of each row.
        features: At most so many.
        workers: Of the tree; one pass has none.
        seed: Of the rows.
    """

    rows: int
    inputs: int
    features: int
    workers: int = 4
    seed: int = 0


def missing_dask() -> str | None:
    """Why the tree cannot be measured here, if so."""
    there = all(find_spec(name) for name in ("dask", "distributed"))
    return None if there else 'Dask is missing: pip install "tunedprior[dask]".'


def space_of(job: RowsJob) -> dict[str, tuple[float, float]]:
    """The box of the rows."""
    return {f"x{number}": (-1.0, 1.0) for number in range(job.inputs)}


def write_rows(job: RowsJob, folder: Path) -> None:
    """Files of a million rows each; a quarter of a million are in memory at once."""
    import pyarrow
    from pyarrow import parquet

    random = np.random.default_rng(job.seed)
    for number, first in enumerate(range(0, job.rows, _ROWS_OF_A_FILE)):
        writer = None
        count = min(_ROWS_OF_A_FILE, job.rows - first)
        for begun in range(0, count, _AT_ONCE):
            points = random.uniform(-1, 1, (min(_AT_ONCE, count - begun), job.inputs))
            response = rough(points, random)
            response[::_BLANK] = np.nan
            table = pyarrow.table(pd.DataFrame(points, columns=list(space_of(job))).assign(y=response))
            writer = writer or parquet.ParquetWriter(folder / f"part{number:06d}.parquet", table.schema)
            writer.write_table(table, row_group_size=_ROWS_OF_A_GROUP)
        if writer is not None:
            writer.close()


def once_and_as_a_tree(job: RowsJob) -> list[float]:
    """In the order of OF_ROWS."""
    with TemporaryDirectory(prefix="tunedprior-scale-") as name:
        folder, started = Path(name), time.perf_counter()
        alone(write_rows, job, folder)
        writing = time.perf_counter() - started
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e9
        one, of_one = alone(in_one_pass, job, name)
        tree, of_tree = alone(on_workers, job, name)
    points = torch.as_tensor(np.random.default_rng(job.seed).uniform(-1, 1, (_POINTS, job.inputs)))
    differing = [_relative(one.fit(points), tree.fit(points)), _relative(one.fit.weights, tree.fit.weights)]
    used = job.rows - sum(-(-min(_AT_ONCE, job.rows - first) // _BLANK) for first in range(0, job.rows, _AT_ONCE))
    return [*of_one, *of_tree, writing, size, len(one.fit.map), used, *differing]


def _relative(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one - other).abs().max() / one.abs().max())


@dataclass
class Timed:
    """Sums as another computes them, with the seconds of each pass."""

    summing: TaskSummer
    seconds: list[float] = field(default_factory=list)

    def __call__(self, measure: Callable[[Pieces], SumT], tasks: Sequence[Pieces]) -> SumT:
        """The same sum."""
        started = time.perf_counter()
        found = self.summing(measure, tasks)
        self.seconds.append(time.perf_counter() - started)
        return found


def _learnt(job: RowsJob, folder: str, timed: Timed, **options: int) -> tuple[WeightPrior, list[float]]:
    started = time.perf_counter()
    prior = pretrain_partitions(folder, space_of(job), most_features=job.features, summing=timed, **options)
    return prior, [time.perf_counter() - started, *timed.seconds]


def in_one_pass(job: RowsJob, folder: str) -> tuple[WeightPrior, list[float]]:
    """All rows as one task of this process: each sum is made by adding one table after the other."""
    before, begun = peak_memory(), time.process_time()
    prior, seconds = _learnt(job, folder, Timed(sum_in_process), rows_per_task=_ONE_TASK)
    return prior, [*seconds, time.process_time() - begun, peak_memory(), before]


def on_workers(job: RowsJob, folder: str) -> tuple[WeightPrior, list[float]]:
    """The same on workers of one thread each; memory is the largest worker's, processors are those of all of them."""
    import dask
    from distributed import Client, LocalCluster

    from tunedprior.integrations.dask import DaskTreeSum

    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": WORKERS_HAVE}),
        LocalCluster(
            n_workers=job.workers, threads_per_worker=1, dashboard_address=":0", silence_logs=ERROR
        ) as cluster,
        Client(cluster) as client,
    ):
        before, begun = max(client.run(_imported).values()), _busy(client)
        prior, seconds = _learnt(job, folder, Timed(DaskTreeSum(client)))
        return prior, [*seconds, _busy(client) - begun, max(client.run(peak_memory).values()), before]


def _busy(client: Any) -> float:
    """The seconds of processors that all workers and this process have used so far."""
    return time.process_time() + sum(client.run(time.process_time).values())


def _imported() -> float:
    """The memory of a worker that has loaded the package, and nothing else."""
    import tunedprior.weight_prior.partitioned  # noqa: F401 (in the worker)

    return peak_memory()
