"""The field: this project against what people would use instead, each as its makers recommend.

    make peers                               # once: environments for the others
    python -m benchmarks field --pairs DIR   # resumable; tables go to docs/field.md and its appendix
    python -m benchmarks field --pairs DIR --contests slow [--workers N]
    python -m benchmarks field --smoke [--pairs DIR]
    python -m benchmarks field --tables

Parts: measured pairs, tuning of scikit-learn models, families of test functions, noise, several old data sets, few and
many old rows; and `cost`, the seconds and the memory of suggestions, one peer after the other. `--peers`, `--parts`,
`--problems` and `--seeds` run some of it, such as on another machine (`python -m benchmarks merge` brings results
together), and write no tables. `--contests slow` runs the slow peers, unless others are named, in eight contests with
eight seeds, seed by seed. With `--missing`, runs that the project has are not made again for another folder. A peer
that is not installed is named with the reason, and left out; so is a campaign in which one fails.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from benchmarks.peers.by_name import ALL_PEERS, HERE
from benchmarks.peers.calling import versions_of, why_missing
from benchmarks.problems.pairs import PAIRS, read_pair
from benchmarks.results import RESULTS, read_results, read_runs
from benchmarks.results import jobs_of as stored_jobs
from benchmarks.runner import Study, run_all, run_in_turn
from benchmarks.studies.beliefs import seeds_between
from benchmarks.studies.field.campaigns import regrets, seconds_and_mebibytes
from benchmarks.studies.field.described import who_takes_part
from benchmarks.studies.field.jobs import (
    CONTESTS,
    FULL,
    NEED_PAIRS,
    SLOW,
    SMOKE,
    Contest,
    FieldJob,
    Size,
    jobs_of,
)
from benchmarks.studies.field.tables import field_tables
from benchmarks.tables import DOCS, write_tables
from tunedprior.checks import format_list
from tunedprior.errors import InputError

_COMMAND = "python -m benchmarks field --pairs DIR"
#: The part that measures what suggestions cost.
_COST = "cost"
_ALL, _SLOW = "all", "slow"
PARTS = (*dict.fromkeys(one.part for one in CONTESTS), _COST)
#: So many seeds of one peer come before the next one's turn: what is there when a run is stopped can be compared.
_SEEDS_AT_ONCE = 5


def study_of_regret(pairs: Path | None) -> Study[FieldJob]:
    """Simple regret after each trial."""
    return Study("field", FieldJob, partial(regrets, pairs=pairs), _COMMAND, versions_of_peer)


def study_of_cost(pairs: Path | None) -> Study[FieldJob]:
    """Seconds of each suggestion, and the most memory."""
    return Study("field_cost", FieldJob, partial(seconds_and_mebibytes, pairs=pairs), _COMMAND, versions_of_peer)


def versions_of_peer(job: FieldJob) -> dict[str, str]:
    """What the job's peer ran with, where that is another environment than this one."""
    if ALL_PEERS[job.peer].environment == HERE:
        return {}
    return {f"{package}, of the peer": version for package, version in _versions_of(job.peer).items()}


_versions_of = cache(versions_of)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument(
        "--smoke",
        action="store_true",
        help="one contest of each part, one seed, four trials; slow peers in one part alone",
    )
    parser.add_argument("--pairs", metavar="DIR", type=Path, help="a folder of measured pairs; without it, no pairs")
    parser.add_argument("--peers", metavar="NAME", nargs="+", help="only these; no tables are written")
    parser.add_argument("--parts", choices=PARTS, nargs="+", help="only these; no tables are written")
    parser.add_argument("--problems", metavar="NAME", nargs="+", help="only these; no tables are written")
    parser.add_argument("--seeds", metavar="LO-HI", type=seeds_between, help="only these; no tables are written")
    parser.add_argument(
        "--contests",
        choices=(_ALL, _SLOW),
        default=_ALL,
        help="slow: the eight contests and eight seeds that slow peers have time for; no tables are written",
    )
    parser.add_argument("--workers", metavar="N", type=int, help="campaigns at a time, instead of one for each core")
    parser.add_argument(
        "--missing", action="store_true", help="with --out: only what is not among the project's results yet"
    )
    parser.add_argument("--tables", action="store_true", help="run nothing; tables of all that is stored")
    parser.add_argument("--out", type=Path, help="where results and tables go, instead of into the project")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, then write tables."""
    out = arguments.out
    if out is None and arguments.smoke:
        out = Path(tempfile.mkdtemp(prefix="tunedprior-"))
    results, docs = (RESULTS, DOCS) if out is None else (out, out)
    if not arguments.tables:
        _run(arguments, SMOKE if arguments.smoke else SLOW if arguments.contests == _SLOW else FULL, results)
        print(f"Results are in {results}.")
    some = (arguments.peers, arguments.parts, arguments.problems, arguments.seeds, arguments.contests == _SLOW)
    if arguments.tables or not any(some):
        write_field(results, docs)
        print(f"Tables are in {docs}; `make pictures` draws what is stored.")


def all_tables(results: Path) -> dict[str, str]:
    """Of all that is stored in a folder."""
    found, cost = read_results(study_of_regret(None).name, results), study_of_cost(None).name
    costs = read_results(cost, results) if (results / f"{cost}_runs.csv").exists() else None
    return {**field_tables(found, CONTESTS, costs), "field peers": who_takes_part()}


def write_field(results: Path, docs: Path) -> None:
    """Tables of all that is stored, beside results that are not the project's own."""
    write_tables(docs / "field.md", all_tables(results))


def _run(arguments: argparse.Namespace, size: Size, results: Path) -> None:
    """Everything that is asked for and not there yet."""
    unknown = [name for name in arguments.peers or () if name not in ALL_PEERS]
    if unknown:
        known = ", ".join(map(repr, ALL_PEERS))  # some names have commas
        raise InputError(f"Peers are {known}; there is no {format_list(map(repr, unknown))}.")
    if arguments.pairs is not None:
        used = {one.problem for one in size.contests} | {one.problem for one in size.cost}
        for name in PAIRS:
            if name in used:
                read_pair(arguments.pairs, name)  # refuses what cannot be read, before anything is run
    entered = [name for name, entry in ALL_PEERS.items() if size is not SLOW or entry.slow]
    missing = {name: why_missing(name) for name in arguments.peers or entered}
    for name, reason in missing.items():
        if reason is not None:
            print(f"{name} is left out: {reason}")
    peers = [name for name, reason in missing.items() if reason is None]
    parts, problems = arguments.parts or PARTS, arguments.problems
    wanted = {
        name: [
            one
            for one in _possible(size.contests_of(name), arguments.pairs)
            if one.part in parts and (problems is None or one.problem in problems)
        ]
        for name in peers
    }
    study = study_of_regret(arguments.pairs)
    seeds = [seed for seed in size.seeds if arguments.seeds is None or seed in arguments.seeds]
    known = set(stored_jobs(read_runs(study.name), FieldJob)) if arguments.missing else set()
    if size is SLOW:  # in one go, so that no core waits; seed by seed, so that one that is stopped has whole seeds
        in_order = [
            job for seed in seeds for name in wanted for job in jobs_of(wanted[name], name, [seed], size.trials)
        ]
        blocks = [in_order]
    else:
        blocks = [
            jobs_of(contests, name, some, size.trials)
            for some in _in_blocks(seeds)
            for name, contests in wanted.items()
        ]
    for block in blocks:
        jobs = [job for job in block if job not in known]
        if jobs:
            run_all(study, jobs, results, arguments.workers)
    if _COST in parts:
        where = {name: _possible(size.cost_of(name), arguments.pairs) for name in peers}
        jobs = [job for name in peers for job in jobs_of(where[name], name, size.cost_seeds, size.cost_trials)]
        if jobs:
            run_in_turn(study_of_cost(arguments.pairs), jobs, results)


def _possible(contests: Sequence[Contest], pairs: Path | None) -> list[Contest]:
    """Those that need no measured pairs, if there are none."""
    return [one for one in contests if pairs is not None or one.part not in NEED_PAIRS or one.problem not in PAIRS]


def _in_blocks(seeds: Sequence[int]) -> Iterator[Sequence[int]]:
    for place in range(0, len(seeds), _SEEDS_AT_ONCE):
        yield seeds[place : place + _SEEDS_AT_ONCE]
