"""`python -m tools.mutants`: put small mistakes into the source, one at a time, and see whether tests notice."""

import argparse
import os
import random
import sys
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # read when NumPy and PyTorch are imported; children share the cores among them
os.environ["CUDA_VISIBLE_DEVICES"] = ""  # after a fork CUDA's autograd fails: tests would fail without any mistake

from tools.mutants.report import accepted, report  # noqa: E402  # after the variables
from tools.mutants.session import TESTS, Run, key_of  # noqa: E402  # after the variables
from tools.mutants.sites import Mutant, mutants  # noqa: E402  # after the variables

ROOT = Path(__file__).parents[2]
MODULES = (
    "space/search_space", "space/encoding", "space/parameters", "history/trials", "goals/objective",
    "goals/observations", "source_data/training_set", "numerics/linalg",
    "kernels", "machines", "model_averaging", "acquisition",
)  # fmt: skip
ACCEPTED = Path(__file__).parent / "accepted.toml"


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="tools.mutants", description=__doc__)
    parser.add_argument("--module", action="append", help="a module or package, such as space/encoding (default: all)")
    parser.add_argument("--sample", type=int, help="so many mutants of each module, drawn with --seed (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--budget", type=float, default=30.0, help="seconds of tests that a mutant must survive")
    parser.add_argument("--record", type=Path, default=ROOT / "build" / "mutants.jsonl")
    parser.add_argument("--again", action="store_true", help="try those that survived once more")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="folders of tests to run (default: all)")
    parser.add_argument("--list", action="store_true", help="say what would be tried, and stop")
    arguments = parser.parse_args()
    chosen = [
        one
        for name in arguments.module or MODULES
        for file in sorted(_files(name))
        for one in _sample(mutants(file, ROOT), arguments.sample, arguments.seed)
    ]
    if arguments.list:
        print("\n".join(f"{one.path}:{one.lines[0]} {one.where}: {one.before} -> {one.after}" for one in chosen))
        return 0
    arguments.record.parent.mkdir(parents=True, exist_ok=True)
    options = arguments.jobs, arguments.budget, arguments.again, tuple(arguments.tests)
    run = Run(ROOT, arguments.record, ROOT / "build" / "test_map.json", *options)
    untried = run.untried(chosen)
    print(f"{len(chosen)} mutants, {len(untried)} of them to be tried", flush=True)
    if untried:
        _import_others()
        run.try_all(untried)
    found = run.results()
    lines = [found[key_of(one)] for one in chosen if key_of(one) in found]
    text = report(lines, accepted(ACCEPTED))
    print(text)
    return 0


def _files(name: str) -> list[Path]:
    at = ROOT / "src" / "tunedprior" / name
    return list(at.rglob("*.py")) if at.is_dir() else [at.with_suffix(".py")]


def _sample(all_: list[Mutant], size: int | None, seed: int) -> list[Mutant]:
    """The same mutants for the same module, whatever else is asked for."""
    if size is None or size >= len(all_) or not all_:
        return all_
    return sorted(random.Random(f"{seed} {all_[0].path}").sample(all_, size), key=lambda one: one.number)


def _import_others() -> None:
    """What takes seconds to import and is never changed: children find it there."""
    import botorch.acquisition
    import botorch.optim
    import gpytorch
    import gpytorch.test.base_kernel_test_case
    import hypothesis
    import optuna
    import pandas
    import scipy.optimize
    import scipy.stats.qmc
    import sklearn.svm
    import torch

    torch.set_num_threads(1)
    torch.testing.assert_close(torch.ones(1), torch.ones(1))  # imports as much again when it is first called
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
    del botorch, gpytorch, hypothesis, optuna, pandas, scipy, sklearn


if __name__ == "__main__":
    sys.exit(main())
