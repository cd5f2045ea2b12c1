"""Experiment 1 with the twelve methods of the paper as it states them, and Algorithm 1 to the letter.

    python -m benchmarks experiment1 [--smoke] [--tables]

The paper's six functions with flipped old data, in pools, as in `python -m benchmarks paper`, on forty seeds. What
that study and `as-printed` have stored is not run again.
"""

import argparse
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.comparison import LEAST_REGRET, Estimate, estimated, mean_regrets, ratio
from benchmarks.methods.by_name import (
    BASELINE,
    DISCREPANCY,
    OF_THE_PAPER,
    PRINTED,
    RIVAL_VARIANTS,
    STATED,
)
from benchmarks.problems.functions import PAPER
from benchmarks.problems.kinds import FLIPPED, SPACE
from benchmarks.results import RESULTS, read_results
from benchmarks.runner import Study, run_all
from benchmarks.studies import as_printed, paper
from benchmarks.studies.paper import FULL, SMOKE, FunctionJob, Size, on_function
from benchmarks.tables import DOCS, markdown, marked, with_interval, write_tables

STUDY = Study("experiment1", FunctionJob, on_function, "python -m benchmarks experiment1")
SEEDS = (*range(FULL.seeds), *range(200, 225))
#: With fewer seeds an interval says little.
FEWEST = 5
_WITHOUT_ACKLEY = [name for name in PAPER if name != "Ackley"]
_MMD = {name: f"{name} ({DISCREPANCY}, {STATED})" for name in ("DT-MKL-EI", "DT-MKL-GPUCB")}
_TUNED = ("TP-EI-BO", "TP-GPUCB-BO")


def on_papers_scale(reading: str) -> dict[str, str]:
    """The paper's twelve methods by the names they have here, on its scale, with Algorithm 1 in one reading."""
    rivals = {name: _MMD.get(name, f"{name} ({STATED})") for name in OF_THE_PAPER if name not in _TUNED}
    return rivals | {name: f"{name} ({reading})" for name in _TUNED}


#: Whose ranks are compared: twelve methods each.
CONTESTS = {
    "the paper's scale": on_papers_scale("as printed"),
    "… TP with unit diagonal": on_papers_scale("as printed, unit diagonal"),
    "standardised": {name: name for name in OF_THE_PAPER},
}
#: The most important come first.
COMPARED = (*PRINTED, *RIVAL_VARIANTS, *OF_THE_PAPER, BASELINE)


def jobs(size: Size, seeds: Collection[int]) -> list[FunctionJob]:
    """What no other study has."""
    known = {*paper.function_jobs(FULL), *as_printed.jobs(FULL, (*as_printed.CHOOSING, *as_printed.CONFIRMING))}
    every = [
        FunctionJob(name, FLIPPED, method, seed, size.evaluations, size.pool)
        for method in COMPARED
        for seed in seeds
        for name in PAPER
    ]
    return [job for job in every if job not in known]


def stored_results(folder: Path = RESULTS) -> pd.DataFrame:
    """The runs of all three studies on the paper's functions with flipped old data, on these seeds."""
    studies = [one.name for one in (STUDY, paper.ON_FUNCTIONS, as_printed.STUDY)]
    found = [read_results(name, folder) for name in studies if (folder / f"{name}_runs.csv").exists()]
    every = pd.concat(found, ignore_index=True)
    wanted = every["problem"].isin(PAPER) & (every["kind"] == FLIPPED) & every["seed"].isin(SEEDS)
    return every[wanted & every["method"].isin(COMPARED)]


def tables(results: pd.DataFrame, fewest: int = FEWEST) -> dict[str, str]:
    """Ratios to the paper's own EI and GPUCB and to the standard process, by function too; and average ranks.

    Methods that ran on fewer seeds are left out.
    """
    regrets = mean_regrets(results, after=len(SPACE) + 1)
    methods = [method for method in COMPARED if len(seeds_of(regrets, method)) >= fewest]

    def over(base: str, names: Sequence[str] = PAPER) -> list[str]:
        return [marked(to(regrets, names, method, base_of(method, base))) for method in methods]

    cells = {
        "seeds": [in_words(seeds_of(regrets, method)) for method in methods],
        "over EI": over("EI"),
        "over EI, without Ackley": over("EI", _WITHOUT_ACKLEY),
        "over GPUCB": over("GPUCB"),
        f"over {BASELINE}": over(BASELINE),
        f"over {BASELINE}, without Ackley": over(BASELINE, _WITHOUT_ACKLEY),
    }
    index = pd.Index(methods, name="method")
    by_function = {name: over(BASELINE, [name]) for name in PAPER}
    return {
        "experiment 1": markdown(pd.DataFrame(cells, index=index)),
        "experiment 1, by function": markdown(pd.DataFrame(by_function, index=index)),
        "experiment 1, ranks": markdown(_ranks(regrets, fewest)),
    }


def base_of(method: str, base: str) -> str:
    """The paper's own baseline on the scale of a method."""
    stated = method in PRINTED or STATED in method
    return f"{base} ({STATED})" if stated and base != BASELINE else base


def seeds_of(regrets: pd.DataFrame, method: str) -> list[int]:
    """The seeds on which a method ran on all six functions."""
    keys = [(name, FLIPPED, method) for name in PAPER]
    if not all(key in regrets.index for key in keys):
        return []
    done = regrets.loc[keys].notna().all()
    return [int(seed) for seed in done.index[done]]


def to(regrets: pd.DataFrame, names: Sequence[str], method: str, base: str) -> Estimate:
    """Mean regret over another method's, on the seeds on which both ran on all six functions."""
    shared = set(seeds_of(regrets, method)) & set(seeds_of(regrets, base))
    return ratio(regrets, names, FLIPPED, method, shared, baseline=base)


def average_ranks(regrets: pd.DataFrame, methods: Mapping[str, str]) -> tuple[list[int], dict[str, Estimate]]:
    """The seeds that all methods have, and each method's rank by mean regret, averaged over functions and seeds."""
    seeds = sorted(set.intersection(*(set(seeds_of(regrets, name)) for name in methods.values())))
    if not seeds:
        return [], {}
    values = np.stack([regrets.loc[[(name, FLIPPED, each) for name in PAPER], seeds] for each in methods.values()])
    ranks = pd.DataFrame(np.maximum(values, LEAST_REGRET).reshape(len(methods), -1)).rank(axis=0)
    of_seeds = ranks.to_numpy().reshape(values.shape).mean(axis=1)
    return seeds, {name: estimated(_mean, row) for name, row in zip(methods, of_seeds, strict=True)}


def _mean(values: np.ndarray, axis: int) -> np.ndarray:
    return values.mean(axis=axis)


def _ranks(regrets: pd.DataFrame, fewest: int) -> pd.DataFrame:
    cells = {}
    for head, methods in CONTESTS.items():
        seeds, ranks = average_ranks(regrets, methods)
        if len(seeds) >= fewest:
            cells[f"{head} ({in_words(seeds)})"] = [with_interval(ranks[name]) for name in OF_THE_PAPER]
    return pd.DataFrame(cells, index=pd.Index(OF_THE_PAPER, name="method"))


def in_words(seeds: Sequence[int]) -> str:
    """Seeds as ranges."""
    starts = [seed for seed in seeds if seed - 1 not in seeds]
    ends = [seed for seed in seeds if seed + 1 not in seeds]
    return ", ".join(f"{low}–{high}" if low < high else str(low) for low, high in zip(starts, ends, strict=True))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="one seed, a few evaluations, in a temporary folder")
    parser.add_argument("--tables", action="store_true", help="run nothing; tables of all that is stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the tables."""
    if arguments.smoke:
        folder = Path(tempfile.mkdtemp(prefix="tunedprior-"))
        results = run_all(STUDY, jobs(SMOKE, [0]), folder)
        print("\n\n".join(tables(results, fewest=1).values()))
        return
    if not arguments.tables:
        run_all(STUDY, jobs(FULL, SEEDS), RESULTS)
    written = tables(stored_results())
    write_tables(DOCS / "experiments.md", written)
    print("\n\n".join(written.values()))
