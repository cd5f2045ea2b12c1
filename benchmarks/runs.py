"""Running many campaigns on all cores, and keeping what they gave with the command and versions that made it."""

import json
import time
import warnings
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path
from platform import python_version

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import tunedprior
from tunedprior.errors import FittingWarning

RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("torch", "gpytorch", "botorch", "numpy", "scipy", "scikit-learn")
_SECONDS_BETWEEN_SAVES = 10.0


def run_all(
    name: str, campaign: Callable[..., Sequence[float]], jobs: Sequence[tuple], command: str, folder: Path | None
) -> dict[tuple, list[float]]:
    """campaign(*job) for every job, by job; those found in `folder/name.json` are not run again.

    The file is saved every few seconds, so that an interrupted run goes on where it stopped. Without a folder nothing
    is stored. Each run names the software that made it; a change of this project's own code is for whoever made it to
    judge, and to delete the runs it touches.
    """
    path = None if folder is None else folder / f"{name}.json"
    stored = _Stored(path, command)
    missing = [job for job in jobs if job not in stored.runs]
    with ProcessPoolExecutor(initializer=_one_thread) as pool:
        futures = [pool.submit(_timed, campaign, job) for job in missing]
        try:
            for future in tqdm(as_completed(futures), total=len(missing), desc=name, unit="campaign"):
                stored.add(future.result())
        finally:
            for future in futures:
                if not future.cancel() and future.done() and future.exception() is None:
                    stored.add(future.result())
            if missing:
                stored.save()
    return {job: stored.runs[job]["best"] for job in jobs}


def software() -> dict[str, str]:
    """The versions of all that results may depend on."""
    versions = {"python": python_version(), "tunedprior": tunedprior.__version__}
    return versions | {package: version(package) for package in _PACKAGES}


class _Stored:
    """The file of results: a line for each run, in a settled order, so that versions of it can be compared."""

    def __init__(self, path: Path | None, command: str) -> None:
        self._path, self._command, self._saved = path, command, time.monotonic()
        found = json.loads(path.read_text()) if path is not None and path.exists() else {"software": [], "runs": []}
        self._software: list[dict[str, str]] = found["software"]
        self.runs = {tuple(run["job"]): run for run in found["runs"]}
        versions = software()
        if versions not in self._software:
            self._software.append(versions)
        self._made_by = self._software.index(versions)

    def add(self, run: dict) -> None:
        """Keep a run; save if it is time."""
        self.runs[tuple(run["job"])] = run | {"software": self._made_by}
        if time.monotonic() - self._saved > _SECONDS_BETWEEN_SAVES:
            self.save()

    def save(self) -> None:
        """Write beside and then move, so that a crash leaves the old file or the new one."""
        if self._path is None:
            return
        used = sorted({run["software"] for run in self.runs.values()})
        lines = [
            self.runs[job] | {"software": used.index(self.runs[job]["software"])} for job in sorted(self.runs, key=str)
        ]
        head = json.dumps({"command": self._command, "software": [self._software[index] for index in used]})
        text = ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        beside = self._path.with_suffix(".part")
        beside.write_text(f'{head[:-1]}, "runs": [\n{text}\n]}}\n')
        beside.replace(self._path)
        self._saved = time.monotonic()


def _timed(campaign: Callable[..., Sequence[float]], job: tuple) -> dict:
    """One run, with its seconds and how many fits failed in it (the model then went on with what it had)."""
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", FittingWarning)
        best = campaign(*job)
    return {
        "job": list(job),
        "best": [float(f"{value:.9g}") for value in best],
        "seconds": round(time.perf_counter() - started, 2),
        "failed_fits": len(caught),
    }


def estimated_seconds(
    campaign: Callable[..., Sequence[float]], jobs: Sequence[tuple], group: Callable[[tuple], Hashable], sample: int
) -> float:
    """How long all jobs would take on two cores: a few of each group are run there, two at a time, and scaled up."""
    random = np.random.default_rng(0)
    groups: dict[Hashable, list[tuple]] = {}
    for job in jobs:
        groups.setdefault(group(job), []).append(job)
    total = 0.0
    with ProcessPoolExecutor(2, initializer=_one_thread) as pool:
        for members in tqdm(groups.values(), unit="group"):
            picked = [members[row] for row in random.choice(len(members), min(sample, len(members)), replace=False)]
            runs = pool.map(_timed, [campaign] * len(picked), picked)
            total += len(members) * float(np.mean([run["seconds"] for run in runs]))
    return total / 2


def _one_thread() -> None:
    """In every worker: campaigns share the cores among them, not within."""
    torch.set_num_threads(1)
    threadpool_limits(1)
