"""Arguments that studies with stored results and tables share."""

import argparse
from pathlib import Path

from benchmarks.results import RESULTS
from benchmarks.tables import DOCS


def add_storing(parser: argparse.ArgumentParser, smoke: str) -> None:
    """Whether to run at all, whether to store, and where; `smoke` says what a quick run is."""
    parser.add_argument("--smoke", action="store_true", help=smoke)
    parser.add_argument("--tables", action="store_true", help="run nothing; tables of all that is stored")
    parser.add_argument("--out", type=Path, help="where results and tables go, instead of into the project")


def places(arguments: argparse.Namespace) -> tuple[Path | None, Path]:
    """The folder of results, None if nothing is to be stored, and that of the tables."""
    results, docs = (RESULTS, DOCS) if arguments.out is None else (arguments.out, arguments.out)
    return (None if arguments.smoke else results), docs
