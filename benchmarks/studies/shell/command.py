"""The command line from outside: 200 kills at random moments, and seconds until there is a suggestion.

    python -m benchmarks shell [--only kills|seconds] [--seeds LO-HI] [--smoke] [--out DIR]
    python -m benchmarks shell --tables

- kills: commands (suggest, record, amend, undo) of ten campaigns in SQLite are killed, 20 in each, after a time between
  none and a little more than a command takes; after each it is looked whether all that was acknowledged is there.
- seconds: `tunedprior suggest` in turns with `python -c "import botorch"`, on campaigns of 30 results and five inputs.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.runner import Study, run_all, run_in_turn
from benchmarks.studies.beliefs import seeds_between
from benchmarks.studies.goals.campaigns import side_by_side
from benchmarks.studies.shell.kills import OF_KILLS, KillJob, after_kills
from benchmarks.studies.shell.seconds import OF_A_TURN, SecondsJob, seconds_from_the_shell
from benchmarks.studies.storing import add_storing, run_parts
from benchmarks.studies.workers.tables import median_ratio, within
from benchmarks.tables import markdown, with_interval

_COMMAND = "python -m benchmarks shell"
STUDIES: dict[str, Study[Any]] = {
    "kills": Study("shell_kills", KillJob, after_kills, _COMMAND),
    "seconds": Study("shell_seconds", SecondsJob, seconds_from_the_shell, _COMMAND),
}
#: What `suggest` may take of the time that `import botorch` takes.
WANTED = 2.0


def jobs_of_part(part: str, seeds: tuple[int, ...], smoke: bool) -> list[Any]:
    """What a part is to run."""
    if part == "kills":
        return [KillJob(0, kills=1)] if smoke else [KillJob(seed) for seed in seeds or range(10)]
    return [SecondsJob(0, repeats=1)] if smoke else [SecondsJob(seed) for seed in seeds or range(3)]


def kill_table(results: pd.DataFrame) -> str:
    """Sums over all campaigns."""
    told = side_by_side(results, OF_KILLS)
    rows = {"all campaigns": {"campaigns": len(told)} | {name: f"{told[name].sum():.0f}" for name in OF_KILLS}}
    return markdown(pd.DataFrame.from_dict(rows, orient="index").rename_axis(index=""))


def seconds_table(results: pd.DataFrame) -> str:
    """Medians over all turns, and that of the ratios."""
    told = results.sort_values(["seed", "step"])["value"].to_numpy().reshape(-1, 2)
    ratio = median_ratio(told[:, 0], told[:, 1])
    first = results.iloc[0]
    row = {name: f"{seconds:.2f} s" for name, seconds in zip(OF_A_TURN, pd.DataFrame(told).median(), strict=True)}
    row |= {"turns": len(told), "ratio": with_interval(ratio), "wanted": within(ratio.middle, WANTED)}
    named = f"{first['results']:.0f} results, {first['inputs']:.0f} inputs"
    return markdown(pd.DataFrame.from_dict({named: row}, orient="index").rename_axis(index="a campaign of"))


TABLES = {"kills": kill_table, "seconds": seconds_table}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--only", choices=STUDIES, help="one part of it")
    parser.add_argument("--seeds", metavar="LO-HI", type=seeds_between, default=(), help="only these")
    add_storing(parser, "one short run of each part, nothing stored")


def tables_of(found: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Of every part that there are results of."""
    return {part: TABLES[part](results) for part, results in found.items()}


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, and write the tables."""

    def run(part: str, folder: Path | None) -> pd.DataFrame:
        at_once = run_all if part == "kills" else run_in_turn  # what measures time has the machine to itself
        return at_once(STUDIES[part], jobs_of_part(part, tuple(arguments.seeds), arguments.smoke), folder)

    run_parts(arguments, STUDIES, run, tables_of, "commands.md")
