"""What the audit says of measured sources as they are, and of copies that are spoiled in twenty ways.

    python -m benchmarks audit --pairs FOLDER [--seeds LO-HI] [--smoke] [--out DIR]
    python -m benchmarks audit --tables

- clean: every source beside the space of its target. Nothing must be blamed; rows, ranges, coverage, how well it
  predicts itself and which input matters are compared with pandas, brute force and a random forest.
- spoiled: for each seed twenty copies, each spoiled in one way, of a pair at random. The fault must be found: the right
  kind, with its columns, and most of its rows and few others.

Copies are made when they are audited, and nothing of them is kept but whether the fault was found.
"""

import argparse
from functools import partial
from pathlib import Path

import pandas as pd

from benchmarks.problems.pairs import PAIRS
from benchmarks.results import read_results
from benchmarks.runner import Study, run_all
from benchmarks.studies.audits.jobs import (
    CleanJob,
    SpoiledJob,
    clean_jobs,
    of_a_clean_source,
    of_a_spoiled_copy,
    spoiled_jobs,
)
from benchmarks.studies.audits.tables import audit_tables
from benchmarks.studies.beliefs import seeds_between
from benchmarks.studies.storing import add_storing, places
from benchmarks.tables import write_tables
from tunedprior.errors import InputError

_COMMAND = "python -m benchmarks audit --pairs FOLDER"
CLEAN, SPOILED = "audit_clean", "audit_spoiled"
_SEEDS = tuple(range(200, 205))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--pairs", type=Path, metavar="FOLDER", help="where the measured pairs are")
    parser.add_argument("--seeds", metavar="LO-HI", type=seeds_between, default=_SEEDS, help="of the spoiled copies")
    add_storing(parser, "one pair, one seed, nothing stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, then write or (of a quick run) print the tables."""
    folder, docs = places(arguments)
    found: dict[str, pd.DataFrame] = {}
    if not arguments.tables:
        if arguments.pairs is None:
            raise InputError("--pairs must name the folder of measured pairs.")
        names = PAIRS[:1] if arguments.smoke else PAIRS
        seeds = arguments.seeds[:1] if arguments.smoke else arguments.seeds
        spoiled = Study(SPOILED, SpoiledJob, partial(of_a_spoiled_copy, folder=arguments.pairs), _COMMAND)
        clean = Study(CLEAN, CleanJob, partial(of_a_clean_source, folder=arguments.pairs), _COMMAND)
        found[SPOILED] = run_all(spoiled, spoiled_jobs(arguments.pairs, seeds, names), folder)
        found[CLEAN] = run_all(clean, clean_jobs(names), folder)
    if folder is not None:
        found = {name: read_results(name, folder) for name in (CLEAN, SPOILED) if _is_stored(name, folder)}
    tables = audit_tables(found.get(CLEAN), found.get(SPOILED))
    print("\n\n".join(f"{name}\n\n{table}" for name, table in tables.items()))
    if folder is not None:
        write_tables(docs / "tables_audit.md", tables)


def _is_stored(name: str, folder: Path) -> bool:
    return (folder / f"{name}_runs.csv").exists()
