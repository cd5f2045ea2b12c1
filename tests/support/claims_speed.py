"""Sentences about speed and scale with figures in them, and what the stored results say.

Of scale the figures are those of the tables, which tests/benchmarks/test_scale_study.py holds against the results.
"""

import re
from itertools import pairwise
from statistics import median

from support.cells import tables
from support.measures import PERFORMANCE, suggestion
from support.prose import Claim, Value
from support.stored import speed


def shown(table: str, column: str, row: int = -1) -> float:
    """The first number of a cell."""
    head, rows = tables(PERFORMANCE)[table]
    found = re.match(r"[\d,.]+", rows[row][head.index(column)])
    assert found is not None
    return float(found.group().replace(",", ""))


def times_faster() -> list[Value]:
    """A kernel entry beside the exact sum, the least and the most."""
    found = [row["faster"] for row in speed("entries")]
    assert found[-1] == min(found)
    assert speed("entries")[-1]["inputs"] == 6
    return [min(found), max(found)]


def steepest(name: str) -> float:
    """The largest ratio of the times of one line of observations and the line before."""
    times = [row[name] for row in speed("observations") if row[name] is not None]
    return max(after / before for before, after in pairwise(times))


def with_most_observations(name: str) -> float:
    """Over GPSampler's time."""
    (row,) = [row for row in speed("observations") if row["observations"] == 1000]
    return float(row[name] / row["GPSampler"])


def hours_of_a_core(features: int) -> Value:
    """For 10⁹ rows, from what a row costs with 256 features; said in tens."""
    hours = (features / 256) ** 2 * shown("billion", "equations, a row", 0) * 1e-6 * 1e9 / 3600
    return hours - 5, hours + 5


CLAIMS_SPEED = [
    Claim(
        PERFORMANCE,
        "A suggestion in five inputs takes {107} to {156} ms with two hundred old rows, on two cores; in a run of its "
        "own, on a quieter machine, it took {80} ms with a million.",
        lambda: [
            *(1000 * extreme(row["tunedprior"] for row in speed("suggestions")) for extreme in (min, max)),
            suggestion(1_000_000),
        ],
    ),
    Claim(
        PERFORMANCE,
        "it takes {1.74} times as long as with 200.",
        lambda: [suggestion(500) / suggestion(200)],
    ),
    Claim(PERFORMANCE, "Entries are {37} to {3,665} times [faster] than the exact sum", times_faster),
    Claim(
        PERFORMANCE,
        "learns from 10⁷ rows with 2,048 features in {4.99} s.",
        lambda: [speed("cuda-pretraining")[-1]["seconds"]],
    ),
    Claim(
        PERFORMANCE,
        "10⁸ rows with 64 features took one pass {284} s, and four workers [{290} s] with {0.65} GiB each.",
        lambda: [shown("rows", "one pass"), shown("rows", "4 workers"), shown("rows", "largest worker")],
    ),
    Claim(
        PERFORMANCE,
        "10⁹ rows with 256 features are {3.4} h of a core, with 2,048 features up to {210} hours (extrapolated).",
        lambda: [shown("billion", "10⁹ rows on one core", 0), hours_of_a_core(2048)],
    ),
    Claim(
        PERFORMANCE,
        "{2.42} µs a row with 64 and {11.9} µs with 256",
        lambda: [shown("billion", "equations, a row", row) for row in (1, 0)],
    ),
    Claim(
        PERFORMANCE,
        "a suggestion with [100 of them] takes {12.6} s and {1.39} GiB.",
        lambda: [shown("sets", "a suggestion"), shown("sets", "most memory")],
    ),
    Claim(
        PERFORMANCE,
        "with [100 inputs] a suggestion takes {2.13} s. Knowledge ends first: the share of variance left unexplained "
        "is {0.47}",
        lambda: [shown("inputs", "a suggestion"), shown("inputs", "error")],
    ),
    Claim(
        PERFORMANCE,
        "After [10⁵ results] a suggestion takes {6.3} s.",
        lambda: [shown("trials", "after one more result")],
    ),
    Claim(
        PERFORMANCE,
        "with [999 settings under way] a suggestion takes {6.32} s",
        lambda: [shown("pending", "a suggestion")],
    ),
    Claim(
        PERFORMANCE,
        "A kernel entry in six inputs is {37} times faster than the exact sum",
        lambda: times_faster()[:1],
    ),
    Claim(
        PERFORMANCE,
        "A suggestion takes {0.071} of MultiTaskGP's time, where 0.05 was the target, and with 500 old rows {1.74} "
        "times that with 200.",
        lambda: [
            median(row["tunedprior"] / row["MultiTaskGP"] for row in speed("suggestions")),
            suggestion(500) / suggestion(200),
        ],
    ),
    Claim(
        PERFORMANCE,
        "Its time jumps by {1.65} at 237 results, where hypotheses begin to be left out, and with ten old data sets by "
        "{1.77} at 616. With 1,000 results and ten old data sets it takes {1.6} times GPSampler's time.",
        lambda: [steepest("one"), steepest("ten"), with_most_observations("ten")],
    ),
    Claim(
        PERFORMANCE,
        "Eight suggestions at once take {819} ms after 50 results and {1.51} s after 200.",
        lambda: [1000 * speed("batches")[0]["now"], speed("batches")[1]["now"]],
    ),
    Claim(
        PERFORMANCE,
        "Making an optimiser takes {495} ms with 200 old rows and {2.34} s with 2,000.",
        lambda: [1000 * speed("busy")[0]["idle"], speed("busy")[1]["idle"]],
    ),
]
