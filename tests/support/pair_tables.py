"""What the tables of measured pairs are made of, from the stored results alone."""

import numpy as np

from support.stored import AVERAGE, OWN_START, PAIRS, PLAIN, SOBOL_START, STANDARD, curves, is_stored, runs

COMPARED = (OWN_START, AVERAGE, PLAIN)
#: Whether each table's results are there.
WITH_OLD_AND_WITHOUT = is_stored("beliefs_pairs", (*COMPARED, STANDARD), PAIRS)
FIRST = is_stored("beliefs_first", (OWN_START, SOBOL_START, STANDARD), PAIRS)
CALIBRATION = is_stored("calibration", (AVERAGE, PLAIN), PAIRS)
#: The tables that the page must have; results that are stored must be shown.
PAIR_TABLES = {
    "beliefs pairs",
    "beliefs pair rivals",
    "beliefs pair seconds",
    *(["beliefs first"] if is_stored("beliefs_first") else []),
    *(["beliefs calibration"] if is_stored("calibration") else []),
}


def most_shared(*methods: str) -> tuple[list[str], list[int]]:
    """The pairs and seeds with the most campaigns, where all methods were run with each of the seeds on each pair."""
    found = runs("beliefs_pairs")
    done = set(found[["problem", "method", "seed"]].itertuples(index=False, name=None))
    seeds = {
        pair: [seed for seed in sorted(set(found["seed"])) if all((pair, one, seed) in done for one in methods)]
        for pair in PAIRS
    }
    best: tuple[list[str], list[int]] = [], []
    for some in seeds.values():
        names = [pair for pair in PAIRS if set(some) <= set(seeds[pair])]
        if len(names) * len(some) > len(best[0]) * len(best[1]):
            best = names, some
    return best


def covered(method: str, pairs: tuple[str, ...] = PAIRS) -> float:
    """How many of the responses lay within their intervals, in per cent."""
    found = curves("calibration")
    values = found[(found["method"] == method) & found["problem"].isin(pairs)]["value"].to_numpy()
    assert set(values) <= {0.0, 1.0}
    return 100 * float(np.count_nonzero(values) / len(values))


def seconds(method: str) -> tuple[int, float, float]:
    """How many campaigns share pair and seed with the standard process, and the median seconds of both there."""
    found = runs("beliefs_pairs")
    own, base = (
        {(row.problem, row.seed): row.seconds for row in found[found["method"] == name].itertuples()}
        for name in (method, STANDARD)
    )
    both = sorted(set(own) & set(base))
    return len(both), float(np.median([own[job] for job in both])), float(np.median([base[job] for job in both]))
