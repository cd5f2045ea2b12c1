"""What knowledge from people is worth as old data: a handbook's table, a patent's ranges, a colleague's sketches.

    python -m benchmarks knowledge --pairs FOLDER [--smoke]

Measured pairs, settings from a pool. The knowledge is made by fixed rules from the old table alone (see
`benchmarks.problems.knowledge`); beside it are no old data and up to 150 rows of that table. The default optimiser,
with its own first settings: mean simple regret over 25 trials.
"""

import argparse
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.comparison import LEAST_REGRET, mean_values, paired_ratio
from benchmarks.problems.knowledge import ask_colleague, look_up_handbook, read_patent
from benchmarks.problems.pairs import IN_WORDS, Pair, read_pair, subsample
from benchmarks.results import RESULTS
from benchmarks.runner import Study, run_all
from benchmarks.tables import DOCS, markdown, marked, write_tables
from tunedprior import Optimizer
from tunedprior.campaign import simulate
from tunedprior.errors import ExhaustedWarning, OldDataWarning
from tunedprior.weight_prior.sources import UNKNOWN

#: Two pairs that chose nothing, two that chose numbers of the prior, and the one whose old response runs the other way.
NAMES = (
    "baumgartner_aniline_benzamide",
    "reizman_1_4",
    "lig_PI_GOPI",
    "lig_GOPI_GOQ",
    "storm_c1thr_c3lat_flip",
)
NOTHING, TABLE = "no old data", "the old table"
HANDBOOK, PATENT, SKETCHES, TOGETHER = "handbook", "patent", "sketches", "all three"
#: The same, with the optimiser told that the new response rises with what people call good.
SAME = "all three, same sign"
#: The columns of the table, in its order.
COMPARED = (HANDBOOK, PATENT, SKETCHES, TOGETHER, SAME, TABLE)
_TRIALS, _SEEDS = 25, range(100, 120)


@dataclass(frozen=True)
class KnowledgeJob:
    """A campaign on a pair, with what is known before it."""

    problem: str
    knowledge: str
    seed: int
    trials: int


def gather_old_data(pair: Pair, whole: Pair, job: KnowledgeJob) -> Any:
    """What the optimiser is given: people know the whole old table, a campaign that has it takes a part of the rows."""
    if job.knowledge in (NOTHING, TABLE):
        return pair.old if job.knowledge == TABLE else None
    known = {
        HANDBOOK: look_up_handbook(whole),
        PATENT: read_patent(whole, job.seed),
        SKETCHES: ask_colleague(whole, job.seed),
    }
    return known if job.knowledge in (TOGETHER, SAME) else known[job.knowledge]


def regret(folder: Path, job: KnowledgeJob) -> list[float]:
    """Simple regret after each trial, as a share of the range of the pool."""
    whole = read_pair(folder, job.problem)
    pair = subsample(whole, job.seed)
    responses = dict(zip(map(_key, pair.pool.to_dict("records")), pair.responses.tolist(), strict=True))
    with warnings.catch_warnings():
        for kind in (OldDataWarning, ExhaustedWarning):
            warnings.simplefilter("ignore", kind)
        old = gather_old_data(pair, whole, job)
        relation = "same" if job.knowledge == SAME else UNKNOWN
        optimizer = Optimizer(pair.space, old, direction=pair.direction, relation=relation, seed=job.seed)
        best = simulate(optimizer, lambda setting: responses[_key(setting)], job.trials, candidates=pair.pool)
    return pair.regret(best)


def _key(setting: Any) -> tuple[Any, ...]:
    return tuple(setting.values())


def study(folder: Path) -> Study[KnowledgeJob]:
    """The campaigns on the pairs of a folder."""
    return Study("knowledge", KnowledgeJob, partial(regret, folder), "python -m benchmarks knowledge --pairs FOLDER")


def tables(results: pd.DataFrame) -> dict[str, str]:
    """Mean regret over that without old data, by pair and knowledge; intervals over seeds."""
    means = mean_values(results, ("problem", "knowledge"))
    found = [name for name in NAMES if name in set(results["problem"])]
    cells = {
        told: [
            marked(paired_ratio(*(means.loc[[(name, one)]].to_numpy() for one in (told, NOTHING)), least=LEAST_REGRET))
            for name in found
        ]
        for told in COMPARED
    }
    return {"knowledge": markdown(pd.DataFrame(cells, index=pd.Index([IN_WORDS[name] for name in found], name="pair")))}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--pairs", type=Path, required=True, help="the folder of measured pairs")
    parser.add_argument("--smoke", action="store_true", help="one pair, one seed, four trials, nothing stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the table."""
    names, seeds, trials = (NAMES[:1], _SEEDS[:1], 4) if arguments.smoke else (NAMES, _SEEDS, _TRIALS)
    jobs = [
        KnowledgeJob(name, known, seed, trials) for seed in seeds for name in names for known in (NOTHING, *COMPARED)
    ]
    found = tables(run_all(study(arguments.pairs), jobs, None if arguments.smoke else RESULTS))
    print(found["knowledge"])
    if not arguments.smoke:
        write_tables(DOCS / "tutorial_knowledge.md", found)
