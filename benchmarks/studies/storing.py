"""What studies of several parts share: arguments, a run of what is missing, and tables of what is stored."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.results import RESULTS, read_results
from benchmarks.runner import Study
from benchmarks.tables import DOCS, write_tables


def add_storing(parser: argparse.ArgumentParser, smoke: str) -> None:
    """Whether to run at all, whether to store, and where; `smoke` says what a quick run is."""
    parser.add_argument("--smoke", action="store_true", help=smoke)
    parser.add_argument("--tables", action="store_true", help="run nothing; tables of all that is stored")
    parser.add_argument("--out", type=Path, help="where results and tables go, instead of into the project")


def places(arguments: argparse.Namespace) -> tuple[Path | None, Path]:
    """The folder of results, None if nothing is to be stored, and that of the tables."""
    results, docs = (RESULTS, DOCS) if arguments.out is None else (arguments.out, arguments.out)
    return (None if arguments.smoke else results), docs


def run_parts(
    arguments: argparse.Namespace,
    studies: Mapping[str, Study[Any]],
    run: Callable[[str, Path | None], pd.DataFrame | None],
    tables_of: Callable[[Mapping[str, pd.DataFrame]], Mapping[str, str]],
    page: str,
) -> None:
    """Run the parts that are asked for, print the tables of all that is stored, and write them into a page.

    Args:
        arguments: Of the command line, with `only`, the name of one part or None.
        studies: By the name of the part.
        run: Runs what is missing of a part, with its results in a folder (None: nowhere); None if it cannot be run.
        tables_of: From results by part to tables by name.
        page: The page that the tables are written into, unless nothing is stored.
    """
    folder, docs = places(arguments)
    found = {}
    for part in () if arguments.tables else [arguments.only] if arguments.only else studies:
        results = run(part, folder)
        if results is not None:
            found[part] = results
    if folder is not None:
        found = stored_parts(studies, folder)
    tables = dict(tables_of(found))
    print("\n\n".join(f"{name}\n\n{table}" for name, table in tables.items()))
    if folder is not None:
        write_tables(docs / page, tables)


def stored_parts(studies: Mapping[str, Study[Any]], folder: Path) -> dict[str, pd.DataFrame]:
    """The results of every part that there are any of."""
    return {
        part: read_results(study.name, folder)
        for part, study in studies.items()
        if (folder / f"{study.name}_runs.csv").exists()
    }
