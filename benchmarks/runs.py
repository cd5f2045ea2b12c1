"""Running many campaigns on all cores, and keeping what they gave with the command and versions that made it."""

import json
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("tunedprior", "torch", "gpytorch", "botorch", "numpy", "scipy")


def run_all(name: str, campaign: Callable[..., list[float]], jobs: list[tuple], keep: bool) -> dict[tuple, list[float]]:
    """campaign(*job) for every job, by job; with `keep`, those in `results/name.json` are not run again.

    The file is rewritten after every campaign, so that an interrupted run goes on where it stopped.
    """
    path = RESULTS / f"{name}.json"
    stored = json.loads(path.read_text())["runs"] if keep and path.exists() else []
    results = {tuple(run["job"]): run["regret"] for run in stored}
    missing = [job for job in jobs if job not in results]
    packages = {package: version(package) for package in _PACKAGES}
    with ProcessPoolExecutor(initializer=_one_thread) as pool:
        running = {job: pool.submit(campaign, *job) for job in missing}
        for job in tqdm(missing, unit="campaign"):
            results[job] = [round(value, 12) for value in running[job].result()]
            if keep:
                runs = [{"job": list(job), "regret": regret} for job, regret in results.items()]
                record = {"command": f"python -m benchmarks.{name}", "versions": packages, "runs": runs}
                RESULTS.mkdir(exist_ok=True)
                path.write_text(json.dumps(record))
    return {job: results[job] for job in jobs}


def _one_thread() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")


def median_and_interval(values: list[float], seed: int = 0) -> str:
    """The median, with a 95 % bootstrap interval."""
    rng = np.random.default_rng(seed)
    medians = np.median(rng.choice(values, (2000, len(values))), axis=1)
    return f"{np.median(values):.4f} ({np.quantile(medians, 0.025):.4f} to {np.quantile(medians, 0.975):.4f})"
