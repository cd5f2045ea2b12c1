"""Running many campaigns on all cores, and keeping what they gave with the command and versions that made it."""

import json
import os
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import tunedprior

RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("torch", "gpytorch", "botorch", "numpy", "scipy", "scikit-learn")
_SECONDS_BETWEEN_SAVES = 10.0


def run_all(
    name: str, campaign: Callable[..., Sequence[float]], jobs: Sequence[tuple], command: str, folder: Path | None
) -> dict[tuple, list[float]]:
    """campaign(*job) for every job, by job; those found in `folder/name.json` are not run again.

    The file is saved every few seconds, so that an interrupted run goes on where it stopped. Without a folder nothing
    is stored.
    """
    path = None if folder is None else folder / f"{name}.json"
    runs = json.loads(path.read_text())["runs"] if path is not None and path.exists() else []
    done = {tuple(run["job"]): run for run in runs}
    missing = [job for job in jobs if job not in done]
    saved = time.monotonic()
    with ProcessPoolExecutor(initializer=_one_thread) as pool:
        futures = [pool.submit(_timed, campaign, job) for job in missing]
        try:
            for future in tqdm(as_completed(futures), total=len(missing), desc=name, unit="campaign"):
                run = future.result()
                done[tuple(run["job"])] = run
                if path is not None and time.monotonic() - saved > _SECONDS_BETWEEN_SAVES:
                    _save(path, command, done)
                    saved = time.monotonic()
        finally:
            for future in futures:
                future.cancel()
            if path is not None and missing:
                _save(path, command, done)
    return {job: done[job]["best"] for job in jobs}


def seconds_spent(path: Path) -> float:
    """How long the stored campaigns took, one core each."""
    return sum(run["seconds"] for run in json.loads(path.read_text())["runs"])


def _save(path: Path, command: str, done: dict[tuple, dict]) -> None:
    """A line for each run, in a settled order, so that versions of the file can be compared."""
    versions = {"tunedprior": tunedprior.__version__} | {package: version(package) for package in _PACKAGES}
    head = json.dumps({"command": command, "versions": versions})
    lines = [json.dumps(done[job], ensure_ascii=False) for job in sorted(done, key=str)]
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(head[:-1] + ', "runs": [\n' + ",\n".join(lines) + "\n]}\n")
    beside.replace(path)


def _timed(campaign: Callable[..., Sequence[float]], job: tuple) -> dict:
    started = time.perf_counter()
    best = campaign(*job)
    return {
        "job": list(job),
        "best": [float(f"{value:.9g}") for value in best],
        "seconds": round(time.perf_counter() - started, 2),
    }


def _one_thread() -> None:
    """In every worker: campaigns share the cores among them, not within; what they warn of is in the tests."""
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    threadpool_limits(1)
    warnings.simplefilter("ignore")


def median_and_interval(values: Sequence[float], seed: int = 0) -> str:
    """The median, with a 95 % bootstrap interval."""
    rng = np.random.default_rng(seed)
    medians = np.median(rng.choice(values, (2000, len(values))), axis=1)
    return f"{np.median(values):.4f} ({np.quantile(medians, 0.025):.4f} to {np.quantile(medians, 0.975):.4f})"
