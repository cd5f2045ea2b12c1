"""Whether what was acknowledged is kept: by threads, by two who correct at once, and with a fault at every step.

    python -m benchmarks durability [--only threads|writers|faults] [--smoke] [--out DIR]
    python -m benchmarks durability --tables

- threads: 2, 4 and 8 threads ask one optimiser for 1,000 settings and tell their results, in memory and on SQLite.
- writers: two processes change the same trial at the same moment, through Python, the page and the command line; 204
  times on SQLite and 54 times on PostgreSQL.
- faults: every statement and every commit of the database, and every call of the file system, of all operations that
  write: it raises before or after taking effect, or the process is killed there.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.runner import Study, run_all, run_in_turn
from benchmarks.studies.durability.faults import ALL, MODES, OF_FAULTS, FaultJob, after_faults
from benchmarks.studies.durability.threads import MEMORY, OF_THREADS, SQLITE, ThreadJob, after_threads
from benchmarks.studies.durability.writers import OF_WRITERS, PAIRS, POSTGRESQL, WriterJob, after_writers
from benchmarks.studies.goals.campaigns import side_by_side
from benchmarks.studies.storing import add_storing, run_parts
from benchmarks.tables import markdown

_COMMAND = "python -m benchmarks durability"
STUDIES: dict[str, Study[Any]] = {
    "threads": Study("durability_threads", ThreadJob, after_threads, _COMMAND),
    "writers": Study("durability_writers", WriterJob, after_writers, _COMMAND),
    "faults": Study("durability_faults", FaultJob, after_faults, _COMMAND),
}


def jobs_of_part(part: str, smoke: bool) -> list[Any]:
    """What a part is to run."""
    if part == "threads":
        return [ThreadJob(place, count) for place in (MEMORY, SQLITE) for count in ((2, 4, 8) if not smoke else (4,))]
    if part == "writers":
        times = {SQLITE: 34, POSTGRESQL: 9} if not smoke else {SQLITE: 2}
        return [WriterJob(place, pair, count) for place, count in times.items() for pair in PAIRS]
    return [FaultJob(operation, mode, 17 if smoke else 1) for operation in ALL for mode in MODES]


def thread_table(results: pd.DataFrame) -> str:
    """A row for each place and number of threads."""
    told = side_by_side(results, OF_THREADS).set_index(["place", "threads"])[list(OF_THREADS)].astype(int)
    return markdown(told.rename_axis(index=["kept in", "threads"]).reset_index().set_index("kept in"))


def writer_table(results: pd.DataFrame) -> str:
    """A row for each place and pair of changes."""
    told = side_by_side(results, OF_WRITERS)
    told = told.assign(**{name: told[name].astype(int) for name in OF_WRITERS})
    return markdown(told.set_index("database")[["pair", *OF_WRITERS]].rename(columns={"pair": "two at once"}))


def fault_table(results: pd.DataFrame) -> str:
    """A row for each operation, over all kinds of faults, and one for all."""
    told = side_by_side(results, OF_FAULTS).groupby("operation", sort=False)[list(OF_FAULTS)].sum().astype(int)
    told = told.loc[[name for name in ALL if name in told.index]]
    told.loc["all"] = told.sum()
    return markdown(told)


TABLES = {"threads": thread_table, "writers": writer_table, "faults": fault_table}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--only", choices=STUDIES, help="one part of it")
    add_storing(parser, "a small size of each part, nothing stored")


def tables_of(found: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Of every part that there are results of."""
    return {f"durability {part}": TABLES[part](results) for part, results in found.items()}


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, and write the tables."""

    def run(part: str, folder: Path | None) -> pd.DataFrame:
        at_once = run_all if part == "faults" else run_in_turn  # the others start threads and processes of their own
        return at_once(STUDIES[part], jobs_of_part(part, arguments.smoke), folder)

    run_parts(arguments, STUDIES, run, tables_of, "reliability.md")
