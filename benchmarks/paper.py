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

import pandas as pd

from benchmarks import fibre
from benchmarks.campaigns import campaign
from benchmarks.figures import draw_fibre, draw_functions, draw_kinds
from benchmarks.functions import FAILURES, FUNCTIONS, PAPER, SHIFTED, Function
from benchmarks.methods import METHODS
from benchmarks.old_data import KINDS, SPACE, old_data
from benchmarks.report import fibre_tables, function_tables, write_tables
from benchmarks.runs import RESULTS, estimated_seconds, run_all
from tunedprior.space import Space

DOCS = Path(__file__).parent.parent / "docs"

# A pool without a setting this good (Easom's well is smaller than its meshes) gets the function's best one.
_WORTH_FINDING = 0.5

#: Where other kinds of old data are tried: none has its optimum at the centre.
KIND_FUNCTIONS = ("Hölder table", "Himmelblau", "Styblinski-Tang", "Ackley (shifted)")
KIND_METHODS = (
    "TP-EI-BO", "TP-EI-BO (unit diagonal)", "ARD-EI", "envEI", "diffEI", "MTGP-EI (free sign)", "RGPE-EI",
)  # fmt: skip


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
SMOKE = Size(seeds=1, kind_seeds=1, fibre_seeds=1, evaluations=4, fibre_evaluations=7, pool=64)


def pool_of(function: Function, size: int, seed: int) -> pd.DataFrame:
    """A Sobol sample of the box, with the function's best setting if all others are bad."""
    pool = pd.DataFrame(Space.parse(function.space).sobol(size, seed))
    if function(pool.to_numpy()).max() < _WORTH_FINDING:
        pool = pd.concat([pool, pd.DataFrame(function.best_settings[:1], columns=pool.columns)], ignore_index=True)
    return pool


def on_function(name: str, kind: str, method: str, seed: int, evaluations: int, pool_size: int) -> list[float]:
    """Simple regret within the pool after each evaluation."""
    function = FUNCTIONS[name]
    pool = pool_of(function, pool_size, seed)
    values = function(pool.to_numpy())
    best = campaign(method, old_data(kind, function, seed), SPACE, pool, values, evaluations, seed)
    return [float(values.max()) - value for value in best]


def on_fibres(method: str, seed: int, evaluations: int, folder: str | None) -> list[float]:
    """The least squared distance from 500 µm after each experiment on device B, µm².

    In the simulation every seed has tables of its own; measured tables are what they are, and the seed only picks the
    first settings.
    """
    old, new = fibre.tables(seed) if folder is None else fibre.read_tables(Path(folder))
    space = fibre.space("B") if folder is None else fibre.measured_space(new)
    return campaign(method, old, space, new[list(space)], new["y"].to_numpy(), evaluations, seed, direction="minimize")


def function_jobs(size: Size) -> list[tuple]:
    """Experiment 1 with all methods, then other kinds of old data with some."""
    every = [
        (name, "flipped", method, seed, size.evaluations, size.pool)
        for name in (*PAPER, *SHIFTED, *FAILURES)
        for seed in range(size.seeds)
        for method in METHODS
    ]
    return every + [
        (name, kind, method, seed, size.evaluations, size.pool)
        for kind in KINDS
        if kind != "flipped"
        for name in KIND_FUNCTIONS
        for seed in range(size.kind_seeds)
        for method in KIND_METHODS
    ]


def fibre_jobs(size: Size, folder: str | None) -> list[tuple]:
    """Experiment 2 with all methods."""
    return [(method, seed, size.fibre_evaluations, folder) for seed in range(size.fibre_seeds) for method in METHODS]


def estimated_minutes(size: Size) -> float:
    """On two cores: three campaigns of every method on functions, of both kinds of job, and one on fibres."""
    functions = estimated_seconds(
        on_function, function_jobs(size), group=lambda job: (job[2], job[1] == "flipped"), sample=3
    )
    fibres = estimated_seconds(on_fibres, fibre_jobs(size, None), group=lambda job: job[0], sample=1)
    return (functions + fibres) / 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="every method and function, one seed, a few evaluations")
    parser.add_argument("--only", choices=("functions", "fibre"), help="one part of it")
    parser.add_argument("--fibre-data", metavar="DIR", help="Experiment 2 on measured tables (see docs/experiments.md)")
    parser.add_argument("--estimate", action="store_true", help="how long all of it takes on two cores, from a sample")
    parser.add_argument("--out", type=Path, help="where results, tables and figures go, instead of into the project")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, then write tables and figures."""
    size = SMOKE if arguments.smoke else FULL
    if arguments.estimate:
        minutes = estimated_minutes(size)
        print(f"About {minutes:.0f} minutes on two cores like these.")
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
    command = "python -m benchmarks paper" + (" --smoke" if arguments.smoke else "")
    figures = docs / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    tables: dict[str, str] = {}
    if arguments.only != "fibre" and measured is None:
        found = run_all("functions", on_function, function_jobs(size), command, results)
        first = len(SPACE) + 1
        tables |= function_tables(found, first)
        draw_functions(found, PAPER, figures / "experiment1")
        draw_functions(found, (*SHIFTED, *FAILURES), figures / "shifted_and_failures")
        draw_kinds(found, first, figures / "kinds")
    if arguments.only != "functions":
        name = "fibre" if measured is None else "fibre-data"
        command += "" if measured is None else f" --fibre-data {measured}"
        found = run_all(name, on_fibres, fibre_jobs(size, measured), command, results)
        tables |= fibre_tables(found, simulated=measured is None)
        draw_fibre(found, simulated=measured is None, path=figures / name)
    write_tables(docs / "experiments.md", tables)
    print(f"Results are in {results}, tables and figures in {docs}.")
