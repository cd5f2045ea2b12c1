"""Scores of scikit-learn's models at many settings, for `benchmarks.problems.tuning`: ten minutes of one core.

python -m benchmarks tuning-tables [--only MODEL] [--out DIR]
"""

import argparse
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.problems.tuning import DATA_SETS, OLD, POOL, TABLES, TUNED, score, settings
from benchmarks.runner import completed, terminated_as_interrupted


@dataclass(frozen=True)
class Scored:
    """One setting of a model, to be scored on every data set: a row of its table."""

    model: str
    sample: str
    setting: tuple[tuple[str, Any], ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Of the command line."""
    parser.add_argument("--only", choices=TUNED, help="one model's table instead of all")
    parser.add_argument("--out", type=Path, default=TABLES, help="where the tables go, instead of into the project")


def main(arguments: argparse.Namespace) -> None:
    """Score every setting and write the tables, one for each model."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    for model in [arguments.only] if arguments.only else TUNED:
        made = table_of(model)
        made.to_csv(arguments.out / f"{model}.csv", index=False, lineterminator="\n")
        print(f"{model}: {len(made)} settings")


def table_of(model: str) -> pd.DataFrame:
    """A row for each setting of both samples: the sample, the setting, its score on each data set."""
    jobs = [Scored(model, sample, tuple(one.items())) for sample in (POOL, OLD) for one in settings(model, sample)]
    with terminated_as_interrupted(), closing(completed(scores, jobs, model)) as done:
        found = {run.job: run.curve for run in done}
    return pd.DataFrame(
        {"sample": job.sample}
        | dict(job.setting)
        | {name: float(f"{value:.6g}") for name, value in zip(DATA_SETS, found[job], strict=True)}
        for job in jobs
    )


def scores(job: Scored) -> list[float]:
    """On each data set."""
    return [score(job.model, dict(job.setting), data_set) for data_set in DATA_SETS]
