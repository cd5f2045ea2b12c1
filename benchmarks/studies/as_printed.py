"""Algorithm 1 as printed, against the project's own version of it, and against that with one thing changed.

    python -m benchmarks as-printed [--smoke]

The paper's six functions with flipped old data, in pools, as in `python -m benchmarks paper`, and for three of
the variants the shifted copies, on two sets of 20 seeds that no other study uses: one to choose by, one to confirm.
"""

import argparse
import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from benchmarks.comparison import LEAST_REGRET, mean_regrets, paired_ratio
from benchmarks.methods.by_name import AS_PRINTED, BASELINE, TUNED_PRIOR, UNCENTRED, VARIANTS
from benchmarks.problems.functions import PAPER, SHIFTED
from benchmarks.problems.kinds import FLIPPED, SPACE
from benchmarks.results import RESULTS
from benchmarks.runner import Study, run_all
from benchmarks.studies.paper import FULL, SMOKE, FunctionJob, Size, on_function
from benchmarks.tables import DOCS, markdown, marked, write_tables

STUDY = Study("as_printed", FunctionJob, on_function, "python -m benchmarks as-printed")
COMPARED = (TUNED_PRIOR, *VARIANTS, AS_PRINTED)
COMPARED_SHIFTED = (TUNED_PRIOR, UNCENTRED, AS_PRINTED)
CHOOSING, CONFIRMING = range(200, 220), range(220, 240)
_WITHOUT_ACKLEY = [name for name in PAPER if name != "Ackley"]  # whose optimum sits at the kernel's origin


def jobs(size: Size, seeds: Iterable[int]) -> list[FunctionJob]:
    """Every variant and the baseline, on every function and seed; some of them on shifted copies."""
    return [
        FunctionJob(name, FLIPPED, method, seed, size.evaluations, size.pool)
        for seed in seeds
        for names, methods in ((PAPER, COMPARED), (SHIFTED, COMPARED_SHIFTED))
        for name in names
        for method in (BASELINE, *methods)
    ]


def tables(results: pd.DataFrame) -> dict[str, str]:
    """Ratios to the standard process and to the project's own version, for each set of seeds that there are runs of."""
    regrets = mean_regrets(results, after=len(SPACE) + 1)
    found, shifted = {}, {}
    for name, seeds in {"choosing": CHOOSING, "confirming": CONFIRMING}.items():
        tried = sorted(set(results["seed"]) & set(seeds))
        if not tried:
            continue
        to = partial(_over, regrets, seeds=tried)
        cells = {function: [to(method, BASELINE, [function]) for method in COMPARED] for function in PAPER}
        cells["geometric mean"] = [to(method, BASELINE, PAPER) for method in COMPARED]
        cells[f"over {TUNED_PRIOR}"] = [to(method, TUNED_PRIOR, PAPER) for method in COMPARED]
        cells["… without Ackley"] = [to(method, TUNED_PRIOR, _WITHOUT_ACKLEY) for method in COMPARED]
        found[f"as printed, {name} seeds"] = markdown(pd.DataFrame(cells, index=pd.Index(COMPARED, name="method")))
        shifted |= {
            f"{function}, {name}": [to(method, BASELINE, [function]) for method in COMPARED_SHIFTED]
            for function in SHIFTED
        }
        shifted[f"over {TUNED_PRIOR}, {name}"] = [to(method, TUNED_PRIOR, SHIFTED) for method in COMPARED_SHIFTED]
    found["as printed, shifted"] = markdown(pd.DataFrame(shifted, index=pd.Index(COMPARED_SHIFTED, name="method")))
    return found


def _over(regrets: pd.DataFrame, method: str, other: str, names: Sequence[str], seeds: Sequence[int]) -> str:
    """Mean regret over another method's: the geometric mean over functions, with its interval."""
    own, base = (regrets.loc[[(name, FLIPPED, each) for name in names], seeds].to_numpy() for each in (method, other))
    return marked(paired_ratio(own, base, least=LEAST_REGRET))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="one seed, a few evaluations, in a temporary folder")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the tables."""
    size, seeds, folder, docs = FULL, [*CHOOSING, *CONFIRMING], RESULTS, DOCS
    if arguments.smoke:
        folder = docs = Path(tempfile.mkdtemp(prefix="tunedprior-"))
        size, seeds = SMOKE, [CHOOSING[0]]
    written = tables(run_all(STUDY, jobs(size, seeds), folder))
    write_tables(docs / "experiments.md", written)
    print("\n\n".join(written.values()))
