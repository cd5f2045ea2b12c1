"""What it costs to share a prior without the rows it was learnt from.

    python -m benchmarks sharing --pairs FOLDER [--smoke]

Measured pairs, settings from a pool, with the same prior as it was learnt and without its rows: the mean regret over 20
trials. Beside it, no old data, which is what there is without sharing.
"""

import argparse
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.comparison import LEAST_REGRET, over_problems
from benchmarks.problems.pairs import PAIRS, read_pair, subsample
from benchmarks.results import RESULTS
from benchmarks.runner import Study, run_all
from benchmarks.tables import markdown, with_interval
from tunedprior import Optimizer, TransferConfig, pretrain
from tunedprior.campaign import simulate
from tunedprior.errors import ExhaustedWarning, OldDataWarning

FULL, ANONYMOUS, NOTHING = SHARED = ("as learnt", "without rows", "no old data")
PRIORS = ("average", "reweighted")
_TRIALS, _SEEDS = 20, 2
# The pairs that the process with the re-weighted kernel is tried on, which takes much longer: three inputs each.
_SMALL = ("storm_solo_coloc", "storm_coloc_wc_rs", "storm_c1_c3_lat", "storm_c1thr_c3lat_flip")


@dataclass(frozen=True)
class SharingJob:
    """A campaign on a pair, with what is shared of its old data."""

    problem: str
    shared: str
    prior: str
    seed: int
    trials: int


def regret(folder: Path, job: SharingJob) -> list[float]:
    """Regret after each trial, as a share of the range of the pool."""
    pair = subsample(read_pair(folder, job.problem), job.seed)
    options: dict[str, Any] = {"direction": pair.direction, "seed": job.seed}
    with warnings.catch_warnings():
        for kind in (OldDataWarning, ExhaustedWarning):
            warnings.simplefilter("ignore", kind)
        if job.shared != NOTHING:
            prior = pretrain(pair.old, pair.space, direction=pair.direction, seed=job.seed)
            options |= {
                "old_data": prior.drop_rows() if job.shared == ANONYMOUS else prior,
                "transfer": TransferConfig(job.prior),
            }
        optimizer = Optimizer(pair.space, **options)
        known = dict(zip(map(_key, pair.pool.to_dict("records")), pair.responses.tolist(), strict=True))
        found = simulate(optimizer, lambda setting: known[_key(setting)], job.trials, candidates=pair.pool)
    return pair.regret(found)


def _key(setting: Any) -> tuple[Any, ...]:
    return tuple(setting.values())


def study(folder: Path) -> Study[SharingJob]:
    """The campaigns on the pairs of a folder."""
    return Study("sharing", SharingJob, partial(regret, folder), "python -m benchmarks sharing --pairs FOLDER")


def tables(results: pd.DataFrame) -> dict[str, str]:
    """Mean regret without rows, and without old data, over that with the prior as it was learnt."""
    mean = results.groupby(["prior", "shared", "problem", "seed"])["value"].mean().unstack("seed")
    rows = {}
    for prior in PRIORS:
        full = mean.loc[prior, FULL]
        row = {}
        for shared in (ANONYMOUS, NOTHING):
            # Without old data there is nothing for a prior to differ in.
            other = mean.loc[PRIORS[0] if shared == NOTHING else prior, shared].loc[full.index]
            each = other.mean(axis=1).clip(lower=LEAST_REGRET) / full.mean(axis=1).clip(lower=LEAST_REGRET)
            together = with_interval(over_problems(each.tolist()))
            row |= {shared: together, f"{shared}: the pair that loses most": f"{each.max():.2f}"}
        rows[f"`prior={prior!r}`"] = row
    return {"sharing": markdown(pd.DataFrame.from_dict(rows, orient="index").rename_axis("regret over that as learnt"))}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--pairs", type=Path, required=True, help="the folder of measured pairs")
    parser.add_argument("--smoke", action="store_true", help="two pairs, one seed, four trials, nothing stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the table."""
    names, seeds, trials = (PAIRS[:2], 1, 4) if arguments.smoke else (PAIRS, _SEEDS, _TRIALS)
    jobs = [
        SharingJob(name, shared, prior, seed, trials)
        for seed in range(seeds)
        for name in names
        for prior in PRIORS
        for shared in SHARED
        if prior == PRIORS[0] or (shared != NOTHING and (name in _SMALL or arguments.smoke))
    ]
    found = tables(run_all(study(arguments.pairs), jobs, None if arguments.smoke else RESULTS))
    print(found["sharing"])
