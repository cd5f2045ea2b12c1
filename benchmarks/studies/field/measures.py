"""What the comparison's runs say: regrets by contest, ratios in pairs of seeds, ranks.

A contest is a problem with one kind and number of old rows and one noise. Peers without old data run once for each
problem and noise; their runs count in every contest there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, studentized_range

from benchmarks.comparison import LEAST_REGRET, Estimate
from benchmarks.peers.by_name import ALL_PEERS

#: The fields of a job that a contest has.
CONTEST = ["problem", "old", "rows", "noise"]
#: What a failed run counts as where it cannot be left out: nothing good was found.
WORST = 1.0
_RESAMPLES = 2000
_LEVEL = 0.95


class Key(NamedTuple):
    """Which contest."""

    problem: str
    old: str
    rows: int
    noise: float


def curves(results: pd.DataFrame) -> pd.DataFrame:
    """Regret after each trial (columns) of each contest, peer and seed (rows); infinite in a run that failed."""
    told = results.assign(old=results["old"].fillna(""))
    rows = told.set_index([*CONTEST, "peer", "seed", "step"])["value"]
    wide = rows.fillna(np.inf).unstack("step")  # a peer that was given fewer trials has no value in later columns
    wide[np.isinf(wide).any(axis=1)] = np.inf
    return _in_every_contest(wide)


def _in_every_contest(wide: pd.DataFrame) -> pd.DataFrame:
    """The runs without old data, once for each contest of their problem and noise."""
    runs = wide.reset_index()
    with_old, without = runs[runs["old"] != ""], runs[runs["old"] == ""]
    contests = with_old[CONTEST].drop_duplicates()
    repeated = without.drop(columns=["old", "rows"]).merge(contests, on=["problem", "noise"])
    together = pd.concat([with_old, repeated], ignore_index=True).set_index([*CONTEST, "peer", "seed"]).sort_index()
    return together.set_axis(together.columns.astype(int), axis="columns")


def without_controls(found: pd.DataFrame) -> pd.DataFrame:
    """The runs of peers that have a place of their own."""
    return found[[not ALL_PEERS[peer].control for peer in found.index.get_level_values("peer")]]


def over_budget(found: pd.DataFrame) -> pd.DataFrame:
    """The mean over trials of each run's regret: rows are contests and peers, columns seeds."""
    return found.mean(axis=1).unstack("seed")


def after(found: pd.DataFrame, trials: int) -> pd.DataFrame:
    """Each run's regret after so many trials, in the same form."""
    return found[trials].unstack("seed")


def contests_of(regrets: pd.DataFrame, peer: str) -> list[Key]:
    """Where a peer took part, whether it failed there or not."""
    if peer not in regrets.index.get_level_values("peer"):
        return []
    return [Key(*key) for key in regrets.xs(peer, level="peer").index]


def seeds_of(regrets: pd.DataFrame, key: Key, peer: str) -> pd.Series:
    """A peer's regret by seed, in a contest where it took part."""
    return regrets.loc[(*key, peer)].dropna()


@dataclass(frozen=True)
class Versus:
    """One peer over another, on the contests and seeds that both finished. Below 1 the first is better.

    Attributes:
        ratio: The geometric mean over contests of the ratio of mean regrets.
        each: The ratio of each contest.
        seeds: How many seeds each contest's ratio has.
    """

    ratio: Estimate
    each: dict[Key, Estimate]
    seeds: dict[Key, int]

    @property
    def worst(self) -> Key:
        """The contest that is worst for the first of the two."""
        return max(self.each, key=lambda key: self.each[key].middle)

    @property
    def median(self) -> float:
        """Of the contests' ratios: unlike their geometric mean, it does not hang on a few that are far from 1."""
        return float(np.median([one.middle for one in self.each.values()]))

    @property
    def better(self) -> float:
        """The share of contests in which the first is better; one that is equal counts half."""
        return float(np.mean([0.5 * (one.middle < 1) + 0.5 * (one.middle <= 1) for one in self.each.values()]))


def versus(regrets: pd.DataFrame, own: str, other: str, contests: Sequence[Key]) -> Versus | None:
    """The first peer over the second; None where they share no seed of any of the contests.

    Seeds in which either failed are left out: a failure is counted where it happened, and makes nobody's ratio better.
    """
    contests = sorted(contests)  # intervals do not depend on the order
    rows = [_rows_of(regrets, peer, contests) for peer in (own, other)]
    values = np.stack(rows, axis=1)  # contests, the one and the other, seeds
    finished = np.isfinite(values).all(axis=1)
    met = [place for place in range(len(contests)) if finished[place].any()]
    if not met:
        return None
    drawn = {contests[place]: _log_ratios(values[place][:, finished[place]]) for place in met}
    seeds = {contests[place]: int(finished[place].sum()) for place in met}
    each = {key: _estimate(log_ratios) for key, log_ratios in drawn.items()}
    return Versus(_estimate(_over_contests(list(drawn.values()))), each, seeds)


def _rows_of(regrets: pd.DataFrame, peer: str, contests: Sequence[Key]) -> np.ndarray:
    """A peer's regrets by contest and seed; NaN where it was not run."""
    rows, values = np.full((len(contests), regrets.shape[1]), np.nan), regrets.to_numpy()
    for place, contest in enumerate(contests):
        if (*contest, peer) in regrets.index:
            rows[place] = values[regrets.index.get_loc((*contest, peer))]
    return rows


def _log_ratios(values: np.ndarray) -> np.ndarray:
    """log(mean own / mean other): of all seeds, then of seeds drawn with replacement; at least `LEAST_REGRET`."""
    seeds = values.shape[-1]
    own, other = np.log(np.maximum(values @ _drawn(seeds) / seeds, LEAST_REGRET))
    return own - other


def _over_contests(log_ratios: Sequence[np.ndarray]) -> np.ndarray:
    """The mean over contests: of all of them, then of contests drawn with replacement, each with all its seeds.

    So the interval speaks of other problems of the same sorts. That contests have few seeds is in it: their ratios
    scatter the more. Of one contest, seeds are drawn.
    """
    count, middles = len(log_ratios), np.array([one[0] for one in log_ratios])
    if count == 1:
        return log_ratios[0]
    often = np.random.default_rng(1).multinomial(count, np.full(count, 1 / count), _RESAMPLES)
    return np.append(middles.mean(), often @ middles / count)


@cache
def _drawn(seeds: int) -> np.ndarray:
    """How often each seed (rows) counts: once, in the first column; as often as it is drawn, in the others."""
    often = np.random.default_rng(0).multinomial(seeds, np.full(seeds, 1 / seeds), _RESAMPLES)
    return np.vstack([np.ones(seeds), often]).T


def _estimate(log_ratios: np.ndarray) -> Estimate:
    low, high = np.quantile(log_ratios[1:], [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Estimate(*np.exp([log_ratios[0], low, high]).tolist())


def trials_to_reach(found: pd.DataFrame, own: str, other: str, contests: Sequence[Key]) -> dict[Key, float]:
    """The first trial after which the one's mean regret is the other's at the end; infinite where it never is."""
    needed = {}
    for key in contests:
        if (*key, own) not in found.index or (*key, other) not in found.index:
            continue
        mine, theirs = (found.loc[(*key, peer)].replace(np.inf, np.nan).dropna(how="all") for peer in (own, other))
        seeds = mine.index.intersection(theirs.index)
        if len(seeds):
            reached = mine.loc[seeds].mean() <= theirs.loc[seeds].mean().dropna().iloc[-1]
            needed[key] = float(reached.idxmax()) if reached.any() else np.inf
    return needed


@dataclass(frozen=True)
class Ranks:
    """Of peers that took part in the same contests.

    Attributes:
        table: The rank (1: least regret) of each peer (columns) in each contest (rows).
        p_value: Friedman's, for the hypothesis that no peer differs from another; NaN for fewer than three peers.
        critical_difference: Nemenyi's: average ranks that are further apart differ at the 5 % level.
        seeds: How many seeds the ranks in each contest come from.
    """

    table: pd.DataFrame
    p_value: float
    critical_difference: float
    seeds: tuple[int, ...] = ()

    @property
    def average(self) -> pd.Series:
        """Over contests, the best peer first."""
        return self.table.mean().sort_values(kind="stable")

    def joined(self) -> list[tuple[str, str]]:
        """First and last of each largest group of peers, best first, whose ranks do not differ."""
        average = self.average
        found: list[tuple[int, int]] = []
        for first in range(len(average)):
            last = int(np.flatnonzero(average <= average.iloc[first] + self.critical_difference)[-1])
            if last > first and (not found or last > found[-1][1]):
                found.append((first, last))
        return [(average.index[first], average.index[last]) for first, last in found]


def ranks(regrets: pd.DataFrame, contests: Sequence[Key]) -> Ranks | None:
    """Ranks of mean regrets, on the seeds that all have; ties share theirs. None without two peers or contests.

    Only peers that took part in all of the contests; a failed run has regret 1, so that whoever always fails is last.
    """
    peers = [peer for peer in ALL_PEERS if set(contests) <= set(contests_of(regrets, peer))]
    rows, seeds = {}, []
    for key in contests:
        some = regrets.loc[[(*key, peer) for peer in peers]].dropna(axis="columns").clip(upper=WORST)
        if some.shape[1]:
            rows[key] = some.mean(axis=1).rank().to_numpy()
            seeds.append(some.shape[1])
    if len(rows) < 2 or len(peers) < 2:
        return None
    index = pd.MultiIndex.from_tuples(rows, names=CONTEST)
    table = pd.DataFrame(np.array(list(rows.values())), index=index, columns=peers)
    return Ranks(table, _friedman(table), critical_difference(len(peers), len(table)), tuple(seeds))


def critical_difference(peers: int, contests: int) -> float:
    """q · √(k (k + 1) / 6 N), with q the 95 % quantile of the studentised range of k peers over √2 (Nemenyi)."""
    quantile = studentized_range.ppf(_LEVEL, peers, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(peers * (peers + 1) / (6 * contests)))


def _friedman(table: pd.DataFrame) -> float:
    if table.shape[1] < 3 or (table.nunique(axis=1) == 1).all():  # all the same everywhere: nothing to divide by
        return np.nan
    return float(friedmanchisquare(*table.to_numpy().T).pvalue)
