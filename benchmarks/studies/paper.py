"""The paper's experiments, and what they leave out: shifted copies, failure cases, other kinds of old data.

    python -m benchmarks paper [--smoke] [--only functions|fibre] [--out DIR]
    python -m benchmarks paper --fibre-data DIR [--out DIR]
    python -m benchmarks paper --estimate

Everything is chosen from a pool of settings, with the same old data, pool, first settings and budget for every method.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import draw_fibre, save
from benchmarks.methods.by_name import METHODS, OldData
from benchmarks.methods.campaigns import campaign_in_pool
from benchmarks.problems import fibre
from benchmarks.problems.functions import FAILURES, FUNCTIONS, PAPER, SHIFTED
from benchmarks.problems.kinds import FLIPPED, OTHER_KINDS, SPACE, old_data
from benchmarks.problems.pools import pool_of
from benchmarks.results import RESULTS, JobT
from benchmarks.runner import Study, estimated_seconds, run_all
from benchmarks.studies.paper_tables import fibre_tables, function_tables
from benchmarks.tables import DOCS, write_tables

#: Where other kinds of old data are tried: none has its optimum at the centre.
KIND_FUNCTIONS = ("Hölder table", "Himmelblau", "Styblinski-Tang", "Ackley (shifted)")
KIND_METHODS = ("TP-EI-BO", "average-EI", "ARD-EI", "envEI", "diffEI", "MTGP-EI (free sign)", "RGPE-EI")
#: Instead of a folder of measured tables.
SIMULATED = "simulated"
_COMMAND = "python -m benchmarks paper"


@dataclass(frozen=True)
class FunctionJob:
    """A campaign on a test function, with settings from a pool."""

    problem: str
    kind: str
    method: str
    seed: int
    evaluations: int
    pool: int


@dataclass(frozen=True)
class FibreJob:
    """A campaign on device B, with records of device A: simulated tables, or those of a folder."""

    method: str
    seed: int
    evaluations: int
    tables: str


@dataclass(frozen=True)
class Size:
    """How much is run: seeds of each part, evaluations of each campaign, settings in the pool."""

    seeds: int
    kind_seeds: int
    fibre_seeds: int
    evaluations: int
    fibre_evaluations: int
    pool: int


FULL = Size(seeds=15, kind_seeds=5, fibre_seeds=10, evaluations=25, fibre_evaluations=30, pool=1024)
#: The first evaluation that methods choose, after those that all share.
FIRST_CHOSEN = len(SPACE) + 1
SMOKE = Size(seeds=1, kind_seeds=1, fibre_seeds=1, evaluations=4, fibre_evaluations=7, pool=64)


def on_function(job: FunctionJob) -> list[float]:
    """Simple regret within the pool after each evaluation."""
    function = FUNCTIONS[job.problem]
    pool = pool_of(function, job.pool, job.seed)
    values = function(pool.to_numpy())
    old = OldData(old_data(job.kind, function, job.seed), SPACE, "maximize", job.seed)
    return [float(values.max()) - value for value in campaign_in_pool(job.method, old, pool, values, job.evaluations)]


def on_fibres(job: FibreJob) -> list[float]:
    """The least squared distance from 500 µm after each experiment on device B, µm².

    In the simulation every seed has tables of its own; measured tables are what they are, and the seed only picks the
    first settings.
    """
    simulated = job.tables == SIMULATED
    old, new = fibre.tables(job.seed) if simulated else fibre.read_tables(Path(job.tables))
    space = fibre.space("B") if simulated else fibre.measured_space(new)
    known = OldData(old, space, "minimize", job.seed)
    return campaign_in_pool(job.method, known, new[list(space)], new["y"].to_numpy(), job.evaluations)


ON_FUNCTIONS = Study("functions", FunctionJob, on_function, _COMMAND)
ON_FIBRES = Study("fibre", FibreJob, on_fibres, _COMMAND)


def function_jobs(size: Size) -> list[FunctionJob]:
    """Experiment 1 with all methods, then other kinds of old data with some."""
    every = [
        FunctionJob(name, FLIPPED, method, seed, size.evaluations, size.pool)
        for name in (*PAPER, *SHIFTED, *FAILURES)
        for seed in range(size.seeds)
        for method in METHODS
    ]
    return every + [
        FunctionJob(name, kind, method, seed, size.evaluations, size.pool)
        for kind in OTHER_KINDS
        for name in KIND_FUNCTIONS
        for seed in range(size.kind_seeds)
        for method in KIND_METHODS
    ]


def fibre_jobs(size: Size, tables: str = SIMULATED) -> list[FibreJob]:
    """Experiment 2 with all methods."""
    return [
        FibreJob(method, seed, size.fibre_evaluations, tables) for seed in range(size.fibre_seeds) for method in METHODS
    ]


def estimated_minutes(size: Size) -> float:
    """On two cores: three campaigns of every method on functions, of both kinds of job, and one on fibres."""
    functions = estimated_seconds(
        ON_FUNCTIONS, function_jobs(size), group=lambda job: (job.method, job.kind == FLIPPED), sample=3
    )
    fibres = estimated_seconds(ON_FIBRES, fibre_jobs(size), group=lambda job: job.method, sample=1)
    return (functions + fibres) / 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="every method and function, one seed, a few evaluations")
    parser.add_argument("--only", choices=("functions", "fibre"), help="one part of it")
    parser.add_argument("--fibre-data", metavar="DIR", help="Experiment 2 on measured tables (see docs/experiments.md)")
    parser.add_argument("--estimate", action="store_true", help="how long all of it takes on two cores, from a sample")
    parser.add_argument("--out", type=Path, help="where results and tables go, instead of into the project")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, then write tables."""
    size = SMOKE if arguments.smoke else FULL
    if arguments.estimate:
        print(f"About {estimated_minutes(size):.0f} minutes on two cores like these.")
        return
    measured: str | None = arguments.fibre_data
    out: Path | None = arguments.out
    # Neither measured tables nor a quick look belong into the project's own results.
    if measured is not None:
        fibre.read_tables(Path(measured))  # refuses what cannot be read, before anything is written
        out = out or Path("fibre-results")
    elif out is None and arguments.smoke:
        out = Path(tempfile.mkdtemp(prefix="tunedprior-"))
    results, docs = (RESULTS, DOCS) if out is None else (out, out)
    docs.mkdir(parents=True, exist_ok=True)
    if arguments.only != "fibre" and measured is None:
        tell_functions(size, results, docs)
    if arguments.only != "functions":
        tell_fibres(size, measured, results, docs)
    print(f"Results are in {results}, tables in {docs}; `make pictures` draws what is stored.")


def tell_functions(size: Size, results: Path, docs: Path) -> None:
    """Experiment 1: run what is missing, then write its tables."""
    found = run_all(_sized(ON_FUNCTIONS, size), function_jobs(size), results)
    write_tables(docs / "experiments.md", function_tables(found, FIRST_CHOSEN))


def tell_fibres(size: Size, measured: str | None, results: Path, docs: Path) -> None:
    """Experiment 2, on simulated tables or on those of a folder."""
    study, tables = ON_FIBRES, SIMULATED
    if measured is not None:
        study, tables = Study("fibre-data", FibreJob, on_fibres, f"{_COMMAND} --fibre-data {measured}"), measured
    found = run_all(_sized(study, size), fibre_jobs(size, tables), results)
    write_tables(docs / "experiments.md", fibre_tables(found, simulated=measured is None))
    if measured is not None:
        made = [results / f"{study.name}{end}.csv" for end in ("", "_runs")]
        save(draw_fibre(found, simulated=False), docs / "figures" / f"{study.name}.png", made)


def _sized(study: Study[JobT], size: Size) -> Study[JobT]:
    return study.with_option("--smoke") if size == SMOKE else study
