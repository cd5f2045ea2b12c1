"""A method against the baseline: ratios of mean regret in pairs of seeds, with bootstrap intervals."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import bootstrap

from benchmarks.methods.by_name import AVERAGE, BASELINE, METHODS
from benchmarks.problems.functions import FAILURES, MORE, PAPER, SHIFTED
from benchmarks.problems.kinds import FLIPPED, KINDS
from benchmarks.problems.pairs import PAIRS

_RESAMPLES = 2000
#: Of the range: smaller mean regrets are all the same to us, and to the logarithm.
LEAST_REGRET = 1e-3
#: The kind of old data that the baseline was run with; it sees none, so one kind is enough.
BASELINE_KIND = FLIPPED


class Estimate(NamedTuple):
    """A number with its 95 % interval."""

    middle: float
    low: float
    high: float


def mean_values(results: pd.DataFrame, by: Sequence[str], after: int = 0) -> pd.DataFrame:
    """The mean of each run's values over the steps after the first few; rows by fields, a column for each seed."""
    later = results[results["step"] > after]
    return later.groupby([*by, "seed"], sort=True)["value"].mean().unstack("seed")


def mean_regrets(results: pd.DataFrame, after: int = 0) -> pd.DataFrame:
    """The mean regret of each run, by problem, kind and method."""
    return mean_values(results, ("problem", "kind", "method"), after)


def ratio(
    regrets: pd.DataFrame,
    names: Sequence[str],
    kind: str,
    method: str,
    seeds: Collection[int] | None = None,
    baseline_kind: str = BASELINE_KIND,
    baseline: str = BASELINE,
) -> Estimate:
    """Mean regret over the baseline's: the geometric mean over problems, on the seeds that both were run with."""
    own = _rows_of(regrets, [(name, kind, method) for name in names])
    base = _rows_of(regrets, [(name, baseline_kind, baseline) for name in names])
    shared = ~np.isnan([*own, *base]).any(axis=0)
    if seeds is not None:
        shared &= regrets.columns.isin(list(seeds))
    return paired_ratio(own[:, shared], base[:, shared], least=LEAST_REGRET)


def _rows_of(table: pd.DataFrame, keys: list[tuple[str, ...]]) -> np.ndarray:
    """The rows of a table that have these keys, one for each."""
    return table.to_numpy()[[table.index.get_loc(key) for key in keys]]


def paired_ratio(own: np.ndarray, base: np.ndarray, least: float) -> Estimate:
    """The geometric mean over rows of mean(own)/mean(base), with 95 % of a bootstrap over seeds (columns).

    Means below `least` count as that. Seeds are drawn in pairs and alike for all rows, as problems share old settings,
    pools and first settings.
    """

    def log_ratio(*rows: np.ndarray, axis: int) -> np.ndarray:
        means = np.log(np.maximum([row.mean(axis=axis) for row in rows], least))
        return (means[: len(own)] - means[len(own) :]).mean(axis=0)

    return Estimate(*np.exp(estimated(log_ratio, *own, *base)).tolist())


def over_problems(ratios: Sequence[float]) -> Estimate:
    """The geometric mean of problems' ratios, with 95 % of a bootstrap over problems: it speaks of others like them."""

    def mean(logs: np.ndarray, axis: int) -> np.ndarray:
        return logs.mean(axis=axis)

    return Estimate(*np.exp(estimated(mean, np.log(ratios))).tolist())


def estimated(statistic: Callable[..., np.ndarray], *samples: np.ndarray) -> Estimate:
    """The statistic of samples that belong together, and its 95 % bootstrap interval; of one value, that alone."""
    middle = float(statistic(*samples, axis=-1))
    if len(samples[0]) == 1:
        return Estimate(middle, middle, middle)
    found = bootstrap(
        samples, statistic, paired=True, n_resamples=_RESAMPLES, method="percentile", rng=np.random.default_rng(0)
    )
    return Estimate(middle, *map(float, found.confidence_interval))


def tried(results: pd.DataFrame, kind: str) -> tuple[list[str], list[str], set[int]]:
    """The problems, methods and seeds that there are results of, for one kind of old data."""
    of_kind = results[results["kind"] == kind]
    methods = set(of_kind["method"])
    return problems_in_order(of_kind), [method for method in METHODS if method in methods], {*of_kind["seed"]}


def problems_in_order(results: pd.DataFrame) -> list[str]:
    """The functions or pairs there are results of."""
    found = set(results["problem"])
    return [name for name in (*PAPER, *SHIFTED, *FAILURES, *MORE, *PAIRS) if name in found]


def kinds_in_order(results: pd.DataFrame) -> list[str]:
    """The kinds of old data that the average was given."""
    found = set(results.loc[results["method"] == AVERAGE, "kind"])
    return [kind for kind in KINDS if kind in found]


def quartiles(results: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Quartiles of the values of each group: columns 0.25, 0.5 and 0.75."""
    return results.groupby(list(by), sort=False)["value"].quantile([0.25, 0.5, 0.75]).unstack()
