"""Results that were made elsewhere, such as on another machine, put among those that are stored.

    python -m benchmarks merge FOLDER … [--seeds LO-HI] [--replace] [--out DIR]

Each folder is one that a study wrote with `--out DIR`. Runs that are stored already stay as they are, or with
`--replace` give way. Numbers of runs that are stored never change; new ones come after them.
"""

import argparse
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.results import OF_THE_RUN, RESULTS, read_exactly, read_runs, replace_file
from benchmarks.studies.beliefs import seeds_between
from tunedprior.errors import InputError

_SOFTWARE = "software.json"


def bring(study: str, source: Path, target: Path, seeds: Collection[int] | None = None, again: bool = False) -> int:
    """Bring a study's runs from one folder into another; how many came.

    Args:
        study: The name of its files.
        source: Where they come from.
        target: Where they go.
        seeds: Of which seeds; None: of all.
        again: Whether they replace stored runs of the same job.
    """
    new, new_values = read_runs(study, source), read_exactly(source / f"{study}.csv")
    if seeds is not None:
        new = new[new["seed"].isin(list(seeds))]
    known, values = new.iloc[:0], new_values.iloc[:0]
    if (target / f"{study}_runs.csv").exists():
        known, values = read_runs(study, target), read_exactly(target / f"{study}.csv")
    if list(new.columns) != list(known.columns):
        raise InputError(
            f"Runs of {study} in {source} must have the columns {', '.join(known.columns)}; they have "
            f"{', '.join(new.columns)}."
        )
    number = 1 + int(known["run"].max()) if len(known) else 0
    if again:
        known = known[~_jobs(known).isin(set(_jobs(new)))]
    else:
        new = new[~_jobs(new).isin(set(_jobs(known)))]
    if new.empty:
        return 0
    numbers = dict(zip(new["run"], range(number, number + len(new)), strict=True))
    places = _registered(study, sorted(set(new["software"])), source, target)
    new = new.assign(run=new["run"].map(numbers), software=new["software"].map(places))
    new_values = new_values[new_values["run"].isin(numbers)]
    new_values = new_values.assign(run=new_values["run"].map(numbers)).sort_values(["run", "step"])
    values = values[values["run"].isin(known["run"])]
    # Values first: see `Stored`.
    replace_file(target / f"{study}.csv", pd.concat([values, new_values]).to_csv(index=False))
    replace_file(target / f"{study}_runs.csv", pd.concat([known, new]).to_csv(index=False))
    return len(new)


def _jobs(runs: pd.DataFrame) -> pd.Series:
    """What each run did, as something to compare by; an empty cell is None."""
    fields = [name for name in runs.columns if name not in ("run", *OF_THE_RUN)]
    rows = [tuple(None if pd.isna(cell) else cell for cell in row) for row in runs[fields].itertuples(index=False)]
    return pd.Series(rows, index=runs.index, dtype=object)


def _registered(study: str, places: list[int], source: Path, target: Path) -> dict[int, int]:
    """Where in the target's list the software is that the source has at these places; what is missing is added."""
    theirs = json.loads((source / _SOFTWARE).read_text())
    path = target / _SOFTWARE
    ours: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"commands": {}, "software": []}
    commands = {study: theirs["commands"][study]} | ours["commands"]
    software = list(ours["software"])
    software += [one for one in (theirs["software"][place] for place in places) if one not in software]
    replace_file(path, json.dumps({"commands": dict(sorted(commands.items())), "software": software}, indent=1) + "\n")
    return {place: software.index(theirs["software"][place]) for place in places}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("folders", metavar="FOLDER", nargs="+", type=Path, help="results of a study run elsewhere")
    parser.add_argument("--seeds", metavar="LO-HI", type=seeds_between, help="only these seeds")
    parser.add_argument("--replace", action="store_true", help="stored runs of the same jobs give way")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of results, instead of the project's")


def main(arguments: argparse.Namespace) -> None:
    """Merge every study of every folder."""
    for folder in arguments.folders:
        found = sorted(path.name.removesuffix("_runs.csv") for path in folder.glob("*_runs.csv"))
        if not found:
            raise InputError(f"There are no results (STUDY.csv and STUDY_runs.csv) in {folder}.")
        for study in found:
            count = bring(study, folder, arguments.out, arguments.seeds, arguments.replace)
            print(f"{study}: {count} runs of {folder}")
