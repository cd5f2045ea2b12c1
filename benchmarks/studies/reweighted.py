"""The default of `prior="reweighted"`, on functions with flipped old data and by its evidence on a corpus of pairs.

    python -m benchmarks reweighted [--smoke]
    python -m benchmarks reweighted --corpus DIR [--smoke]

It averages over length-scales, and over the free kernels with places and with monomials as features. Functions are
those of `python -m benchmarks as-printed`, whose stored runs of the standard process and of Algorithm 1 with one
kernel it is compared with, on the seeds that chose nothing. On the corpus the log evidence of random results, for each
result, is compared with that of the one kernel that Algorithm 1 learns by leave-one-out.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import log, pi
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from benchmarks.comparison import LEAST_REGRET, mean_regrets, paired_ratio
from benchmarks.methods.by_name import BASELINE, REWEIGHTED, TUNED_PRIOR
from benchmarks.problems.functions import PAPER, SHIFTED
from benchmarks.problems.kinds import FLIPPED, SPACE
from benchmarks.problems.pairs import read_any_pair, subsample
from benchmarks.results import RESULTS, read_results
from benchmarks.runner import Study, run_all
from benchmarks.studies.as_printed import CONFIRMING
from benchmarks.studies.evidence import CHECKED_ON, CHOSEN_ON
from benchmarks.studies.paper import FULL, SMOKE, FunctionJob, on_function
from benchmarks.tables import DOCS, markdown, marked, write_tables
from tunedprior import Optimizer, TransferConfig
from tunedprior.beliefs import get_belief
from tunedprior.beliefs.reweighted import ReweightedBelief
from tunedprior.beliefs.uninformed import CONSTANT
from tunedprior.kernels.sections import KernelStack
from tunedprior.model_averaging.average import Average
from tunedprior.model_averaging.hypotheses import NOISES, Processes, build_hypotheses
from tunedprior.numerics.linalg import cholesky, compute_log_evidence
from tunedprior.source_data.matching import read_old_data
from tunedprior.space.search_space import Space
from tunedprior.weight_prior.pretraining import pretrain_or_warn

_COMMAND = "python -m benchmarks reweighted"
ON_FUNCTIONS = Study("reweighted", FunctionJob, on_function, _COMMAND)
#: How many random results there are of a pair, old rows and settings of its pool.
COUNTS = (6, 12, 24)
_POOL, _SEEDS = 160, range(1)
WITHOUT_ACKLEY = [name for name in PAPER if name != "Ackley"]  # whose optimum sits at the origin of monomials


@dataclass(frozen=True)
class CorpusJob:
    """A pair of the corpus, and the seed of its rows and results."""

    problem: str
    seed: int


@torch.no_grad()
def compute_evidence(corpus: str, job: CorpusJob) -> list[float]:
    """log p(D)/|D| of the default, then of the one kernel, for each number of results; nan where nothing is learnt."""
    pair = subsample(read_any_pair(Path(corpus), job.problem), job.seed, _POOL)
    transfer = TransferConfig(ReweightedBelief.name)
    average = Optimizer(pair.space, pair.old, pair.direction, transfer=transfer, seed=job.seed).surrogate
    space = Space.parse(pair.space)
    table = read_old_data(pair.old, space, direction=pair.direction)
    alone = pretrain_or_warn(table, space, seed=job.seed)
    if not isinstance(average, Average) or average.axes is None or not average.sources or alone is None:
        return [np.nan] * (2 * len(COUNTS))
    beliefs = [get_belief(ReweightedBelief.name)]
    many = build_hypotheses(average.sources, average.axes, beliefs, alone=True)
    X = average.box.to_kernel_inputs(average.box.encode(pair.pool))
    kernel, own = alone.make_kernel(), alone.to_kernel_inputs(alone.box.encode(pair.pool))
    size = float(kernel(own, diag=True).mean())
    noises = torch.tensor(NOISES, dtype=torch.float64)
    one = Processes(
        KernelStack(own.new_zeros(0, own.shape[1]), (kernel,), (size,)),
        torch.ones(len(noises), 1, dtype=torch.float64),
        noises,
        CONSTANT,
    )
    same, certainty = torch.zeros(len(noises), dtype=torch.float64), torch.full_like(noises, beliefs[0].certainty)
    y = torch.tensor(pair.responses if pair.direction == "maximize" else -pair.responses)
    order = torch.as_tensor(np.random.default_rng(job.seed).permutation(len(X)))
    return [
        _weigh(processes, inputs[order[:count]], y[order[:count]], log_prior.log_softmax(0), certainties)
        for processes, inputs, log_prior, certainties in (
            (many.processes, X, many.log_prior, many.certainty),
            (one, own, same, certainty),
        )
        for count in COUNTS
    ]


def _weigh(
    processes: Processes, x: torch.Tensor, y: torch.Tensor, log_prior: torch.Tensor, certainty: torch.Tensor
) -> float:
    """log Σ_h p(h) p(y | h) for each result, of the standardised results."""
    y = (y - y.mean()) / y.std().clamp_min(1e-12)
    factor = cholesky(processes.add_noise_(processes.compute_covariance(x, x)))
    white = torch.linalg.solve_triangular(factor, y.expand(len(factor), -1)[..., None], upper=False)
    each = compute_log_evidence(factor.diagonal(dim1=-2, dim2=-1), white, certainty) - len(y) / 2 * log(2 * pi)
    return float(torch.logsumexp(log_prior + each, 0)) / len(y)


def function_jobs(seeds: Sequence[int], smoke: bool = False) -> list[FunctionJob]:
    """The default on every function and seed."""
    size = SMOKE if smoke else FULL
    names = (*PAPER, *SHIFTED)
    return [
        FunctionJob(name, FLIPPED, REWEIGHTED, seed, size.evaluations, size.pool) for seed in seeds for name in names
    ]


def compare_on_functions(results: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Mean regret over that of the standard process, by function and in groups, of the default and of one kernel."""
    regrets = mean_regrets(results, after=len(SPACE) + 1)
    seeds = sorted(set(regrets.columns))
    groups = {name: [name] for name in (*PAPER, *SHIFTED)} | {
        "the six": list(PAPER),
        "without Ackley": WITHOUT_ACKLEY,
        "shifted copies": list(SHIFTED),
    }
    found: dict[str, dict[str, str]] = {}
    for name, functions in groups.items():
        found[name] = {}
        for method in (REWEIGHTED, TUNED_PRIOR):
            own, base = (
                regrets.loc[[(one, FLIPPED, each) for one in functions], seeds].to_numpy()
                for each in (method, BASELINE)
            )
            found[name][method] = marked(paired_ratio(own, base, least=LEAST_REGRET))
    return found


def function_tables(results: pd.DataFrame) -> dict[str, str]:
    """The table of `compare_on_functions`; results hold those of as-printed with the same seeds."""
    found = pd.DataFrame.from_dict(compare_on_functions(results), orient="index", columns=[REWEIGHTED, TUNED_PRIOR])
    found.index.name = "function"
    return {"reweighted functions": markdown(found)}


def read_with_rivals(results: pd.DataFrame) -> pd.DataFrame:
    """The default's results, and those of the standard process and of one kernel on the same seeds and functions."""
    others = read_results("as_printed")
    others = others[others["method"].isin([BASELINE, TUNED_PRIOR]) & others["seed"].isin(results["seed"].unique())]
    return pd.concat([others, results], ignore_index=True)


def compute_gains(results: pd.DataFrame) -> pd.DataFrame:
    """By pair and number of results: what the default's log evidence for each result is above that of one kernel."""
    wide = results.pivot(index=["problem", "seed"], columns="step", values="value").dropna()
    gains = pd.DataFrame({count: wide[i + 1] - wide[len(COUNTS) + i + 1] for i, count in enumerate(COUNTS)})
    gains["family"] = gains.index.get_level_values("problem").str.partition("__").get_level_values(0)
    return gains


def corpus_tables(results: pd.DataFrame) -> dict[str, str]:
    """The gain of each family, its mean over pairs and seeds."""
    means = compute_gains(results).groupby("family")[list(COUNTS)].mean()
    means = means.loc[[one for one in (*CHOSEN_ON, *CHECKED_ON) if one in means.index]]
    means.insert(0, "role", ["chosen on" if one in CHOSEN_ON else "checked on" for one in means.index])
    means["mean"] = means[list(COUNTS)].mean(axis=1)
    shown = means.apply(lambda column: column if column.name == "role" else column.map("{:+.2f}".format))
    shown.columns = [f"{one} results" if one in COUNTS else str(one) for one in shown.columns]
    return {"reweighted corpus": markdown(shown)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--corpus", metavar="DIR", help="evidence on a folder of pairs named FAMILY__NAME")
    parser.add_argument("--workers", type=int, metavar="N", help="jobs at a time; one for each core by default")
    parser.add_argument("--smoke", action="store_true", help="one seed, a few evaluations, in a temporary folder")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the table."""
    folder, docs = RESULTS, DOCS
    if arguments.smoke:
        folder = docs = Path(tempfile.mkdtemp(prefix="tunedprior-"))
    if arguments.corpus is None:
        seeds = [CONFIRMING[0]] if arguments.smoke else list(CONFIRMING)
        results = run_all(ON_FUNCTIONS, function_jobs(seeds, arguments.smoke), folder, arguments.workers)
        written = {} if arguments.smoke else function_tables(read_with_rivals(results))
    else:
        names = [
            path.name for one in (*CHOSEN_ON, *CHECKED_ON) for path in sorted(Path(arguments.corpus).glob(f"{one}__*"))
        ]
        jobs = [CorpusJob(name, seed) for seed in _SEEDS for name in names][: 1 if arguments.smoke else None]
        study = Study(
            "reweighted_corpus", CorpusJob, partial(compute_evidence, arguments.corpus), f"{_COMMAND} --corpus DIR"
        )
        written = corpus_tables(run_all(study, jobs, folder, arguments.workers))
    if written:
        write_tables(docs / "experiments.md", written)
    print("\n\n".join(written.values()))
