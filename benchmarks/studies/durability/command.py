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
from typing import Any

import pandas as pd

from benchmarks.results import read_results
from benchmarks.runner import Study, run_all, run_in_turn
from benchmarks.studies.durability.faults import ALL, MODES, OF_FAULTS, FaultJob, after_faults
from benchmarks.studies.durability.threads import MEMORY, OF_THREADS, SQLITE, ThreadJob, after_threads
from benchmarks.studies.durability.writers import OF_WRITERS, PAIRS, POSTGRESQL, WriterJob, after_writers
from benchmarks.studies.goals.campaigns import side_by_side
from benchmarks.studies.storing import add_storing, places
from benchmarks.tables import markdown, write_tables

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


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, then write or (of a quick run) print the tables."""
    folder, docs = places(arguments)
    found: dict[str, pd.DataFrame] = {}
    for part in [] if arguments.tables else [arguments.only] if arguments.only else list(STUDIES):
        run = run_all if part == "faults" else run_in_turn  # the others start threads and processes of their own
        found[part] = run(STUDIES[part], jobs_of_part(part, arguments.smoke), folder)
    if folder is not None:
        stored = [part for part, study in STUDIES.items() if (folder / f"{study.name}_runs.csv").exists()]
        found = {part: read_results(STUDIES[part].name, folder) for part in stored}
    tables = {f"durability {part}": TABLES[part](results) for part, results in found.items()}
    print("\n\n".join(f"{name}\n\n{table}" for name, table in tables.items()))
    if arguments.tables or arguments.out is not None:
        write_tables(docs / "reliability.md", tables)
