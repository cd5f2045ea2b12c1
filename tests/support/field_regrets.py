"""Our regret over a peer's in the comparison with other tools, from the stored results alone."""

from functools import cache

import numpy as np
import pandas as pd

from tests.support.stored import LEAST, PAIRS, curves

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


def field_ratios(peer: str, pairs_alone: bool = False, own: str = _OURS) -> list[float]:
    """Our mean regret over a peer's in each contest, on the seeds that both have."""
    found = _regrets()
    ours = found[(found["peer"] == own) & (found["rows"] == _ROWS)]
    if pairs_alone:
        ours = ours[ours["problem"].isin(PAIRS) & (ours["old"] == "measured")]
    theirs = found[found["peer"] == peer]
    blind = (theirs["old"] == "").all()  # one that sees no old data was run once for all of it
    shared = [*(["problem", "noise"] if blind else _CONTEST), "seed"]
    both = ours.merge(theirs[[*shared, "regret"]], on=shared, suffixes=("", " of the peer")).dropna()
    means = both.groupby(_CONTEST)[["regret", "regret of the peer"]].mean().clip(lower=LEAST)
    return (means["regret"] / means["regret of the peer"]).tolist()


def field_ratio(peer: str, pairs_alone: bool = False, own: str = _OURS) -> float:
    """Their geometric mean."""
    return float(np.exp(np.mean(np.log(field_ratios(peer, pairs_alone, own)))))
