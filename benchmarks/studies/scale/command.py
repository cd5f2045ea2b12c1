"""More of everything: rows in files on Dask, old data sets, inputs, results, settings under way.

    python -m benchmarks scale [--only rows|sets|inputs|trials|pending] [--smoke] [--out DIR]
    python -m benchmarks scale --tables

- rows: 10⁷ and 10⁸ old rows in Parquet files, learnt from in one pass and as a tree of sums on four workers of Dask.
- sets, inputs: an optimiser with up to 100 old data sets, or 100 inputs, and a suggestion.
- trials: a suggestion after up to 10⁵ results, and the next.
- pending: a suggestion while up to 999 others are under way.

A run that is stored is not run again. Each measures in processes of its own, one after the other. `rows` needs the
extra `dask`, and up to 3 GB of temporary files.
"""

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.runner import Study, run_in_turn
from benchmarks.studies.scale.growing import (
    InputsJob,
    PendingJob,
    SetsJob,
    TrialsJob,
    with_inputs,
    with_pending,
    with_sets,
    with_trials,
)
from benchmarks.studies.scale.many_rows import RowsJob, missing_dask, once_and_as_a_tree
from benchmarks.studies.scale.tables import scale_tables
from benchmarks.studies.storing import add_storing, run_parts

_COMMAND = "python -m benchmarks scale"
STUDIES: dict[str, Study[Any]] = {
    "sets": Study("scale_sets", SetsJob, with_sets, _COMMAND),
    "inputs": Study("scale_inputs", InputsJob, with_inputs, _COMMAND),
    "trials": Study("scale_trials", TrialsJob, with_trials, _COMMAND),
    "pending": Study("scale_pending", PendingJob, with_pending, _COMMAND),
    "rows": Study("scale_rows", RowsJob, once_and_as_a_tree, _COMMAND),
}
JOBS: dict[str, list[Any]] = {
    "sets": [SetsJob(count) for count in (1, 10, 100)],
    "inputs": [InputsJob(count) for count in (5, 20, 50, 100)],
    "trials": [TrialsJob(count) for count in (1000, 10_000, 100_000)],
    "pending": [PendingJob(count) for count in (0, 9, 99, 999)],
    "rows": [RowsJob(10**7, 2, 64), RowsJob(10**7, 3, 256), RowsJob(10**8, 2, 64)],
}
SMOKE: dict[str, list[Any]] = {
    "sets": [SetsJob(2, rows=10, inputs=3, results=5)],
    "inputs": [InputsJob(3, results=5)],
    "trials": [TrialsJob(20, inputs=3)],
    "pending": [PendingJob(3, results=10, inputs=3)],
    "rows": [RowsJob(3000, 2, 64, workers=2)],
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--only", choices=STUDIES, help="one part of it")
    add_storing(parser, "one small run of each part, nothing stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, and write the tables."""

    def run(part: str, folder: Path | None) -> pd.DataFrame | None:
        lacking = missing_dask() if part == "rows" else None
        if lacking is not None:
            print(f"{part} is left out. {lacking}")
            return None
        return run_in_turn(STUDIES[part], (SMOKE if arguments.smoke else JOBS)[part], folder)

    run_parts(arguments, STUDIES, run, scale_tables, "performance.md")
