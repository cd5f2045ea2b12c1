"""What campaigns gave, as long tables: `STUDY.csv` has a row for each run and step, `STUDY_runs.csv` one for each run.

A run's row has the fields of the job that it did, the seconds it took, how many fits failed in it (empty where that was
not counted), and which of the entries of `software.json` made it. Values have nine digits, and are read back exactly.
"""

import json
import os
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

import tunedprior

RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("torch", "gpytorch", "botorch", "numpy", "scipy", "scikit-learn", "optuna")
_SECONDS_BETWEEN_SAVES = 10.0
#: Until 3.1, pandas changed the last digit of some numbers unless told not to; since then it does not like to be told.
EVERY_DIGIT = {"float_precision": "round_trip"} if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1) else {}
#: Columns of the table of runs that say how a run went, not what was run.
OF_THE_RUN = ("seconds", "failed_fits", "software")

#: A frozen dataclass whose fields say what was run.
JobT = TypeVar("JobT")


@dataclass(frozen=True)
class Run(Generic[JobT]):
    """One campaign that was run.

    Attributes:
        job: What was run.
        curve: Its value after each step.
        seconds: How long it took.
        failed_fits: How many fits failed in it (the model then went on with what it had); None: not counted.
        software: The place of its software in `software.json`.
    """

    job: JobT
    curve: tuple[float, ...]
    seconds: float
    failed_fits: int | None = None
    software: int = 0


def software() -> dict[str, str]:
    """The versions of all that results may depend on."""
    versions = {"python": python_version(), "tunedprior": tunedprior.__version__}
    return versions | {package: version(package) for package in _PACKAGES}


def read_results(study: str, folder: Path = RESULTS) -> pd.DataFrame:
    """A study's long table with everything that is known of each run: its fields, step and value."""
    values = read_exactly(folder / f"{study}.csv")
    return read_runs(study, folder).merge(values, on="run", validate="one_to_many")


def read_runs(study: str, folder: Path = RESULTS) -> pd.DataFrame:
    """The table of a study's runs."""
    return read_exactly(folder / f"{study}_runs.csv").astype({"failed_fits": "Int64"})


def read_exactly(path: Path) -> pd.DataFrame:
    """A table with every number as it was written; only an empty cell is one without a value, whatever others say."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""], **EVERY_DIGIT)


def jobs_of(runs: pd.DataFrame, job: type[JobT]) -> list[JobT]:
    """The job of each run; an empty cell is None."""
    rows = runs[[field.name for field in fields(job)]].to_dict("records")
    return [job(**{name: None if pd.isna(value) else value for name, value in row.items()}) for row in rows]


def long_table(runs: Iterable[Run[Any]]) -> pd.DataFrame:
    """The same as `read_results` would give, of runs that need not be stored."""
    numbered = list(enumerate(runs))
    return _runs_table(numbered).merge(_values_table(numbered), on="run", validate="one_to_many")


class Stored(Generic[JobT]):
    """The runs of one study, kept in a folder (or nowhere) with the command and the software that made them.

    Numbers of runs never change, and values are written before the table of runs: after a crash between the two, values
    of runs that the table does not know are left aside.
    """

    def __init__(self, study: str, job: type[JobT], command: str, folder: Path | None) -> None:
        self._study, self._command, self._folder = study, command, folder
        #: Places of software by what came with it; looked up with the first run, as reading alone writes nothing.
        self._made_by: dict[tuple[tuple[str, str], ...], int] = {}
        self._saved = time.monotonic()
        self._runs: dict[JobT, tuple[int, Run[JobT]]] = {}
        if folder is not None and (folder / f"{study}_runs.csv").exists():
            self._runs = _read(study, job, folder)
        self._next = 1 + max((number for number, _ in self._runs.values()), default=-1)

    def __contains__(self, job: JobT) -> bool:
        return job in self._runs

    def numbered(self, jobs: Sequence[JobT]) -> dict[JobT, int]:
        """A number for each of the jobs that are to be run, in their order, whichever is done first."""
        numbers = {job: self._next + place for place, job in enumerate(jobs)}
        self._next += len(jobs)
        return numbers

    def add(self, number: int, run: Run[JobT], versions: Mapping[str, str] | None = None) -> None:
        """Keep a run, made with these versions beside `software()`; save if it is time, or if the run took long."""
        self._runs[run.job] = number, replace(run, software=self._place(versions or {}))
        if max(time.monotonic() - self._saved, run.seconds) > _SECONDS_BETWEEN_SAVES:
            self.save()

    def _place(self, versions: Mapping[str, str]) -> int:
        """The place of the present software with these versions beside it; nothing that is not stored has one."""
        if self._folder is None:
            return 0
        key = tuple(sorted(versions.items()))
        if key not in self._made_by:
            path = self._folder / "software.json"
            self._made_by[key] = _registered(path, self._study, self._command, software() | versions)
        return self._made_by[key]

    def save(self) -> None:
        """Write both tables, values first."""
        if self._folder is None or not self._runs:
            return
        in_order = sorted(self._runs.values(), key=lambda entry: entry[0])
        replace_file(self._folder / f"{self._study}.csv", _values_table(in_order).to_csv(index=False))
        replace_file(self._folder / f"{self._study}_runs.csv", _runs_table(in_order).to_csv(index=False))
        self._saved = time.monotonic()

    def table(self, jobs: Iterable[JobT]) -> pd.DataFrame:
        """The long table of these jobs, in their order."""
        return long_table(self._runs[job][1] for job in jobs)


def replace_file(path: Path, text: str) -> None:
    """Write beside and then move, so that a crash leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(beside).chmod(0o644)  # a temporary file is its owner's alone
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _read(study: str, job: type[JobT], folder: Path) -> dict[JobT, tuple[int, Run[JobT]]]:
    runs = read_runs(study, folder)
    values = read_exactly(folder / f"{study}.csv")
    curves = values.groupby("run")["value"].apply(tuple)
    found = {}
    of_runs = zip(runs["run"].tolist(), jobs_of(runs, job), runs[list(OF_THE_RUN)].to_dict("records"), strict=True)
    for number, done, row in of_runs:
        failed = None if pd.isna(row["failed_fits"]) else int(row["failed_fits"])
        found[done] = number, Run(done, curves[number], row["seconds"], failed, row["software"])
    return found


def _values_table(runs: Sequence[tuple[int, Run[Any]]]) -> pd.DataFrame:
    lengths = [len(run.curve) for _, run in runs]
    return pd.DataFrame(
        {
            "run": np.repeat(np.array([number for number, _ in runs], dtype=int), lengths),
            "step": [step for length in lengths for step in range(1, length + 1)],
            "value": [value for _, run in runs for value in run.curve],
        }
    )


def _runs_table(runs: Sequence[tuple[int, Run[Any]]]) -> pd.DataFrame:
    rows = [
        {"run": number} | asdict(run.job) | {name: getattr(run, name) for name in OF_THE_RUN} for number, run in runs
    ]
    return pd.DataFrame(rows).astype({"failed_fits": "Int64"})


def _registered(path: Path, study: str, command: str, versions: dict[str, str]) -> int:
    """The place of the software in the file, where the study's command is told too."""
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"commands": {}, "software": []}
    if versions not in found["software"] or found["commands"].get(study) != command:
        known = found["software"] if versions in found["software"] else [*found["software"], versions]
        found = {"commands": dict(sorted((found["commands"] | {study: command}).items())), "software": known}
        replace_file(path, json.dumps(found, indent=1) + "\n")
    return found["software"].index(versions)
