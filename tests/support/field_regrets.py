"""Our regret over a peer's in the comparison with other tools, from the stored results alone."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from support.stored import LEAST, PAIRS, curves

#: The default after the settings that peers without old data begin with.
SHARED_START = "tunedprior, shared start"
_OURS, _ROWS = "tunedprior", 150  # contests that differ in the number of old rows alone are not counted
_CONTEST = ["problem", "old", "rows", "noise"]


@cache
def _regrets() -> pd.DataFrame:
    """The mean over trials of each run's regret, by contest, peer and seed; a run that failed has none."""
    table = curves("field")
    of_run = table.assign(old=table["old"].fillna("")).groupby([*_CONTEST, "peer", "seed"])["value"]
    return of_run.agg(lambda one: one.mean(skipna=False)).rename("regret").reset_index()


@cache
def _in_contests(peer: str) -> pd.DataFrame:
    """A peer's regrets in every contest that counts; what sees no old data was run once for all of it."""
    found = _regrets()
    own = found[found["peer"] == peer]
    if not (own["old"] == "").all():
        return own[own["rows"] == _ROWS]
    contests = found.loc[(found["peer"] == _OURS) & (found["rows"] == _ROWS), _CONTEST].drop_duplicates()
    return own.drop(columns=["old", "rows"]).merge(contests, on=["problem", "noise"])


@cache
def contest_ratios(peer: str, own: str = _OURS) -> pd.Series:
    """Mean regret over a peer's in each contest (problem, old, rows, noise), on the seeds that both have."""
    shared = [*_CONTEST, "seed"]
    ours, theirs = (_in_contests(one)[[*shared, "regret"]] for one in (own, peer))
    both = ours.merge(theirs, on=shared, suffixes=("", " of the peer")).dropna()
    means = both.groupby(_CONTEST)[["regret", "regret of the peer"]].mean().clip(lower=LEAST)
    return means["regret"] / means["regret of the peer"]


def on_pairs_alone(ratios: pd.Series, pairs: Sequence[str] = PAIRS) -> pd.Series:
    """Those of measured pairs with one old data set."""
    problem, old = (ratios.index.get_level_values(name) for name in ("problem", "old"))
    return ratios[problem.isin(pairs) & (old == "measured")]


def seeds_of(peer: str) -> set[int]:
    """How many seeds a peer has in a contest."""
    return set(_in_contests(peer).groupby(_CONTEST)["seed"].nunique())


@cache
def average_ranks() -> pd.Series:
    """Of peers that ran in every contest, by their mean regret there; the best first."""
    peers = [one for one in set(_regrets()["peer"]) if one != SHARED_START]
    means = pd.DataFrame({one: _in_contests(one).groupby(_CONTEST)["regret"].mean() for one in peers})
    return means.dropna(axis="columns").rank(axis=1).mean().sort_values()


def critical_difference(level: float = 3.164) -> float:
    """Nemenyi's of ten peers, with the 5 % quantile of his table."""
    ranks, contests = average_ranks(), len(contest_ratios("BoTorch"))
    assert len(ranks) == 10
    return float(level * np.sqrt(10 * 11 / (6 * contests)))
