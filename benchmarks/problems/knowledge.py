"""What people know, as old data: made by fixed rules from the old table of a measured pair, never from the new one.

A patent claims ranges, a colleague remembers a few settings that were good or bad, and a handbook has one number for
each kind and level.
"""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pandas as pd
from optuna.distributions import CategoricalDistribution

from benchmarks.problems.pairs import Pair

#: A range for each number, a list for each category.
Ranges: TypeAlias = Mapping[str, tuple[float, float] | list[str]]

#: The part of the old rows whose ranges are claimed.
CLAIMED = 0.1
#: Rows drawn inside the claim, and as many from the whole space.
DRAWN = 30
#: Settings that a colleague remembers; one of them wrongly.
SKETCHED = 10
_LEVELS = 3
_GOOD, _BAD = "pass", "fail"


def make_claim(pair: Pair) -> Ranges:
    """What the best tenth of the old rows spans: the range of each number, the categories that occur."""
    ranked = pair.old.sort_values("y", ascending=pair.direction == "minimize", kind="stable")
    return _spanned(pair, ranked.head(max(2, round(CLAIMED * len(ranked)))))


def read_patent(pair: Pair, seed: int) -> pd.DataFrame:
    """Rows from a claim: some inside, as many from the whole space; what is inside passes, the rest is not claimed."""
    rng, claim = np.random.default_rng(seed), make_claim(pair)
    whole = {
        name: list(known.choices) if isinstance(known, CategoricalDistribution) else (known.low, known.high)
        for name, known in pair.space.items()
    }
    rows = pd.concat([_draw(ranges, rng) for ranges in (claim, whole)], ignore_index=True)
    return rows.assign(y=np.where(is_inside(claim, rows), _GOOD, _BAD))


def is_inside(claim: Ranges, settings: pd.DataFrame) -> np.ndarray:
    """For each setting whether it is within the claim in every parameter."""
    columns = [
        settings[name].between(*known) if isinstance(known, tuple) else settings[name].isin(known)
        for name, known in claim.items()
    ]
    return np.all(columns, axis=0)


def ask_colleague(pair: Pair, seed: int) -> pd.DataFrame:
    """Some old settings, good or bad by whether they were better than the median, one of them the wrong way round."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(len(pair.old), SKETCHED, replace=False))
    responses, median = pair.old["y"].to_numpy()[rows], pair.old["y"].median()
    good = responses > median if pair.direction == "maximize" else responses < median
    good[rng.integers(SKETCHED)] ^= True
    return pair.old.iloc[rows].reset_index(drop=True).assign(y=np.where(good, _GOOD, _BAD))


def look_up_handbook(pair: Pair) -> pd.DataFrame:
    """Mean old responses, to two digits, by one category and three levels of one number; other inputs are left out.

    The category is the one whose means vary most, the number the one with the largest rank correlation. Without
    categories there are the levels alone.
    """
    old = pair.old
    categories = [name for name, known in pair.space.items() if isinstance(known, CategoricalDistribution)]
    numbers = [name for name in pair.space if name not in categories]
    number = max(numbers, key=lambda name: abs(float(old[name].rank().corr(old["y"].rank()))))
    places = np.log(old[number]) if pair.space[number].log else old[number]
    by = sorted(categories, key=lambda name: -float(old.groupby(name)["y"].transform("mean").var()))[:1]
    level = pd.cut(places, _LEVELS, labels=False).rename("level")
    means = old.groupby([*by, level])[[number, "y"]].mean().reset_index().drop(columns="level")
    return means.assign(y=[float(f"{mean:.2g}") for mean in means["y"]])


def _spanned(pair: Pair, rows: pd.DataFrame) -> Ranges:
    return {
        name: sorted(set(rows[name]))
        if isinstance(known, CategoricalDistribution)
        else (float(rows[name].min()), float(rows[name].max()))
        for name, known in pair.space.items()
    }


def _draw(ranges: Ranges, rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(
        {
            name: rng.uniform(*known, DRAWN) if isinstance(known, tuple) else rng.choice(known, DRAWN)
            for name, known in ranges.items()
        }
    )
