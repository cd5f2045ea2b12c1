"""The comparison with other tools by plain pandas: mean regrets of runs, contest by contest, on shared seeds."""

from functools import cache

import numpy as np
import pandas as pd

from benchmarks.results import RESULTS
from benchmarks.studies.field.jobs import BY_ROWS, CONTESTS, ON_PAIRS, Contest

_OURS, _LEAST = "tunedprior", 1e-3


@cache
def _regrets() -> pd.DataFrame:
    """The mean over trials of each run's regret; a run that failed has none."""
    values = pd.read_csv(RESULTS / "field.csv").groupby("run")["value"].agg(lambda one: one.mean(skipna=False))
    return pd.read_csv(RESULTS / "field_runs.csv").set_index("run").assign(regret=values)


def _of(contest: Contest, peer: str) -> pd.Series:
    """A peer's regrets in a contest by seed; those that see no old data have none named."""
    runs = _regrets()
    same = (runs["problem"] == contest.problem) & (runs["noise"] == contest.noise) & (runs["peer"] == peer)
    blind = runs["old"].isna() & (runs["rows"] == 0)
    told = (runs["old"] == contest.old) & (runs["rows"] == contest.rows)
    return runs[same & (blind | told)].set_index("seed")["regret"].dropna()


def _ratio(contest: Contest, peer: str) -> float:
    both = pd.concat([_of(contest, _OURS), _of(contest, peer)], axis=1, join="inner").mean().clip(lower=_LEAST)
    return float(both.iloc[0] / both.iloc[1])


def field_ratios(peer: str, pairs_alone: bool = False) -> list[float]:
    """Our mean regret over a peer's in each contest, but for those that differ in the number of old rows alone."""
    wanted = [one for one in CONTESTS if (one.part == ON_PAIRS if pairs_alone else one.part != BY_ROWS)]
    return [_ratio(one, peer) for one in wanted]


def field_ratio(peer: str, pairs_alone: bool = False) -> float:
    """Their geometric mean."""
    return float(np.exp(np.mean(np.log(field_ratios(peer, pairs_alone)))))
