"""Damaged and hostile files, texts and attributes: what is refused, and whether anything else comes of them.

    python -m benchmarks hostile [--only cases|bombs] [--smoke] [--out DIR]
    python -m benchmarks hostile --tables

- cases: 1,000 damaged and 30 crafted SQLite files (what is loaded is compared with the original), 200 space files,
  100 constraints, 50 attributes of trials and studies.
- bombs: small files that would be huge tables, each read in a process of its own.

All of it happens in temporary folders and in memory; no network is used.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.runner import Study, run_all, run_in_turn
from benchmarks.studies.goals.campaigns import side_by_side
from benchmarks.studies.hostile.bombs import BOMBS, MOST_GIB, MOST_SECONDS, read_bomb
from benchmarks.studies.hostile.judging import COUNTS, OUTCOMES, judge
from benchmarks.studies.storing import add_storing, run_parts
from benchmarks.tables import markdown

_COMMAND = "python -m benchmarks hostile"
_AT_ONCE = 50
#: What is stored of a bomb.
OF_A_BOMB = ("refused", "seconds", "GiB", "bytes")


@dataclass(frozen=True)
class CaseJob:
    """Cases of one kind."""

    kind: str
    first: int
    count: int


@dataclass(frozen=True)
class BombJob:
    """A file."""

    name: str


def counts_of(job: CaseJob) -> list[float]:
    """How many cases had each outcome."""
    found = judge(job.kind, job.first, job.count)
    return [float(found[outcome]) for outcome in OUTCOMES]


def facts_of(job: BombJob) -> list[float]:
    """Whether a bomb was refused by an error that names it, and what that took."""
    outcome, seconds, peak, size = read_bomb(job.name)
    return [float(outcome == "refused"), seconds, peak, float(size)]


STUDIES: dict[str, Study[Any]] = {
    "cases": Study("hostile", CaseJob, counts_of, _COMMAND),
    "bombs": Study("hostile_bombs", BombJob, facts_of, _COMMAND),
}


def jobs_of_part(part: str, smoke: bool) -> list[Any]:
    """What a part is to run."""
    if part == "bombs":
        return [BombJob(name) for name in (["far.xlsx"] if smoke else BOMBS)]
    sizes = dict.fromkeys(COUNTS, 2) if smoke else COUNTS
    return [
        CaseJob(kind, first, min(_AT_ONCE, count - first))
        for kind, count in sizes.items()
        for first in range(0, count, _AT_ONCE)
    ]


def case_table(results: pd.DataFrame) -> str:
    """Sums over all cases of a kind."""
    counts = results.groupby(["kind", "step"])["value"].sum().astype(int).unstack("step")
    rows = {}
    for kind in [one for one in COUNTS if one in counts.index]:
        of_kind = counts.loc[kind]
        rows[kind] = {"cases": f"{of_kind.sum():,}"} | {name: f"{of_kind[k]:,}" for k, name in enumerate(OUTCOMES, 1)}
    return markdown(pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="what"))


def bomb_table(results: pd.DataFrame) -> str:
    """By the kind of file: how many, how many were refused in time, and the most that one took."""
    told = side_by_side(results, OF_A_BOMB)
    told["kind"] = [_ending(name) for name in told["name"]]
    told["in time"] = (told["refused"] == 1) & (told["seconds"] <= MOST_SECONDS) & (told["GiB"] <= MOST_GIB)
    rows = {}
    for kind, group in [*told.groupby("kind"), ("all", told)]:
        rows[kind] = {
            "files": len(group),
            f"refused within {MOST_SECONDS:g} s and {MOST_GIB:g} GiB": int(group["in time"].sum()),
            "smallest file": f"{group['bytes'].min():,.0f} bytes",
            "longest": f"{group['seconds'].max():.2f} s",
            "most memory": f"{group['GiB'].max():.2f} GiB",
        }
    return markdown(pd.DataFrame.from_dict(rows, orient="index").rename_axis(index="tables"))


def _ending(name: str) -> str:
    return "packed CSV" if name.endswith((".gz", ".bz2", ".xz", ".zip")) else name.rpartition(".")[2].upper()


TABLES = {"cases": ("hostile", case_table), "bombs": ("bombs", bomb_table)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--only", choices=STUDIES, help="one part of it")
    add_storing(parser, "two cases of each kind, nothing stored")


def tables_of(found: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Of every part that there are results of."""
    return {TABLES[part][0]: TABLES[part][1](results) for part, results in found.items()}


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, and write the tables."""

    def run(part: str, folder: Path | None) -> pd.DataFrame:
        at_once = run_in_turn if part == "bombs" else run_all  # what measures time has the machine to itself
        return at_once(STUDIES[part], jobs_of_part(part, arguments.smoke), folder)

    run_parts(arguments, STUDIES, run, tables_of, "reliability.md")
