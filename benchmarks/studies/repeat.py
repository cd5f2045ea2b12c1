"""Do the stored campaigns come out the same with the present code? Some of them, drawn at random, are run again.

    python -m benchmarks repeat [--count 80] [--seed 0] [--pairs DIR] [--out DIR]

As many of the paper's experiments as of beliefs on functions, and with `--pairs` as many of beliefs on measured pairs;
at most a fifth are of slow rivals. How far each curve is from the stored one goes to benchmarks/results/repeat.csv.
What was repeated with the same code is not run again, so an interrupted run goes on where it stopped.
"""

import argparse
import hashlib
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tunedprior
from benchmarks.results import RESULTS, jobs_of, read_exactly, read_results, read_runs, replace_file, software
from benchmarks.runner import Study, completed
from benchmarks.studies import beliefs, paper

#: How the names of methods begin whose campaigns take ten times as long as others.
SLOW = ("MTGP", "RGPE")
_SLOW_SHARE = 0.2
AGREES = 1e-6
#: What is told of each campaign, where its study has it.
_TOLD = ("study", "run", "problem", "kind", "method", "seed")


@dataclass(frozen=True)
class Drawn:
    """A stored campaign that is to be run again: its study, its number there, and what it ran."""

    study: str
    run: int
    job: Any


def groups_of_studies(pairs: str | None) -> list[list[Study[Any]]]:
    """Studies, in groups that are to have the same share of the draw."""
    groups = [[paper.ON_FUNCTIONS, paper.ON_FIBRES], [beliefs.IN_POOLS, beliefs.IN_BOXES]]
    return groups if pairs is None else [*groups, [beliefs.on_pairs(pairs)]]


def stored_runs(groups: list[list[Study[Any]]], folder: Path) -> pd.DataFrame:
    """All runs that there are results of, each with its group, study and job."""
    tables = []
    for number, group in enumerate(groups):
        for study in group:
            if (folder / f"{study.name}_runs.csv").exists():
                runs = read_runs(study.name, folder)
                tables.append(runs.assign(group=number, study=study.name, job=jobs_of(runs, study.job)))
    return pd.concat(tables, ignore_index=True)


def draw(runs: pd.DataFrame, count: int, seed: int) -> pd.DataFrame:
    """So many runs at random: of each group as many, of its studies as many, and of each method one in turn."""
    mixed = runs.sample(frac=1, random_state=seed)
    mixed = mixed.assign(slow=mixed["method"].str.startswith(SLOW))
    for level in (["study", "method"], ["slow", "study"], ["slow", "group"]):
        mixed = mixed.assign(turn=mixed.groupby(level).cumcount()).sort_values("turn", kind="stable")
    slow = mixed[mixed["slow"]].head(int(_SLOW_SHARE * count))
    return pd.concat([slow, mixed[~mixed["slow"]].head(count - len(slow))])


def repeat_all(drawn: pd.DataFrame, studies: dict[str, Study[Any]], folder: Path) -> pd.DataFrame:
    """A row for each drawn campaign; those that were repeated with the same code are not run again."""
    path, code, versions = folder / "repeat.csv", fingerprint(), _known_software(folder)
    read = read_exactly(path).to_dict("records") if path.exists() else []
    rows = {(row["study"], row["run"]): row for row in read}
    stored = drawn.set_index(["study", "run"], drop=False)
    missing = [key for key in stored.index if key not in rows or rows[key]["code"] != code]
    curves = {name: read_results(name, folder).groupby("run")["value"] for name in {study for study, _ in missing}}
    jobs = [Drawn(*key, stored.loc[key, "job"]) for key in missing]
    for run in completed(partial(run_again, studies), jobs, "repeat"):
        key = run.job.study, run.job.run
        before = stored.loc[key]
        difference = np.abs(curves[key[0]].get_group(key[1]).to_numpy() - run.curve)
        rows[key] = {field: before.get(field) for field in _TOLD} | {
            "difference": float(f"{difference.max():.3g}"),
            "first_step": int(np.argmax(difference > AGREES)) + 1 if difference.max() > AGREES else None,
            "seconds": run.seconds,
            "seconds_before": before["seconds"],
            "same_software": versions[before["software"]] == software(),
            "code": code,
        }
        table = pd.DataFrame([rows[place] for place in sorted(rows)]).astype({"first_step": "Int64"})
        replace_file(path, table.to_csv(index=False))
    return pd.DataFrame([rows[key] for key in stored.index])


def run_again(studies: dict[str, Study[Any]], drawn: Drawn) -> list[float]:
    """The curve of a drawn campaign, made by the present code."""
    return list(studies[drawn.study].campaign(drawn.job))


def fingerprint() -> str:
    """Of all code that a campaign's curve depends on."""
    code = hashlib.sha256()
    here = Path(__file__).parents[1]
    for folder in (Path(tunedprior.__file__).parent, here / "problems", here / "methods"):
        for file in sorted(folder.rglob("*.py")):
            code.update(file.read_bytes())
    return code.hexdigest()[:12]


def _known_software(folder: Path) -> list[dict[str, str]]:
    path = folder / "software.json"
    return json.loads(path.read_text())["software"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--count", type=int, default=80, help="how many campaigns")
    parser.add_argument("--seed", type=int, default=0, help="decides which")
    parser.add_argument("--pairs", metavar="DIR", help="a folder of measured pairs; without it they are left out")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of results, instead of the project's")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and print what agrees and what does not."""
    groups = groups_of_studies(arguments.pairs)
    drawn = draw(stored_runs(groups, arguments.out), arguments.count, arguments.seed)
    found = repeat_all(drawn, {study.name: study for group in groups for study in group}, arguments.out)
    found = found.sort_values("difference", ascending=False)
    print(found.drop(columns="code").to_string(index=False))
    print("\n" + summary(found))


def summary(found: pd.DataFrame) -> str:
    """How many agree, by study, and which do not."""
    agrees = found["difference"] <= AGREES
    lines = [f"{agrees.sum()} of {len(found)} campaigns agree with the stored ones to {AGREES:g}."]
    for study, group in agrees.groupby(found["study"]):
        lines.append(f"  {study}: {group.sum()} of {len(group)}")
    for row in found[~agrees].to_dict("records"):
        what = ", ".join(str(row[field]) for field in _TOLD if not pd.isna(row[field]))
        made = "" if row["same_software"] else "; the stored one was made with other software"
        lines.append(f"  differs by {row['difference']:g} from step {int(row['first_step'])}: {what}{made}")
    return "\n".join(lines)
