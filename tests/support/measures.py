"""What the documents' claims are made of: ratios by name, from the stored results."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from support.prose import Value
from support.stored import (
    AVERAGE,
    FAILURES,
    KIND_FUNCTIONS,
    KINDS,
    MORE,
    PAIRS,
    PAPER,
    RESULTS,
    RIVAL,
    SHIFTED,
    STANDARD,
    TUNED,
    Estimate,
    curves,
    ratio,
    runs,
    speed,
)

README, PACKAGE = "README.md", "PACKAGE.md"
ALGORITHM1, BELIEFS = "docs/algorithm1.md", "docs/beliefs.md"
EXPERIMENTS, PERFORMANCE = "docs/experiments.md", "docs/performance.md"
START, FIELD, IDEAS = "docs/index.md", "docs/field.md", "docs/ideas.md"
TRANSFER, MEASURED = "docs/transfer.md", "docs/measured.md"
FIELD_TABLES, TRANSFER_TABLES = "docs/tables_field.md", "docs/tables_transfer.md"
EXPERIMENTS_TABLES, SPEED_TABLES = "docs/tables_experiments.md", "docs/tables_speed.md"
WHEN_NOT, FAQ = "docs/when_not.md", "docs/faq.md"
REGRET = "docs/regret.md"
DOCUMENTS = (
    README, PACKAGE, START, WHEN_NOT, FAQ, FIELD, IDEAS, ALGORITHM1, BELIEFS, EXPERIMENTS, PERFORMANCE, TRANSFER,
    MEASURED, FIELD_TABLES, TRANSFER_TABLES, EXPERIMENTS_TABLES, SPEED_TABLES, REGRET,
)  # fmt: skip
ALL = (*PAPER, *SHIFTED, *FAILURES, *MORE)
FIVE = range(5)

flipped = partial(ratio, "functions", kind="flipped", method=TUNED)
over_rival = partial(ratio, "functions", kind="flipped", method=AVERAGE, to=RIVAL)


def of_kind(kind: str, method: str, to: str = STANDARD) -> Estimate:
    """On the four functions and five seeds that all kinds were run with."""
    return ratio("functions", KIND_FUNCTIONS, kind, method, to=to, seeds=FIVE)


def over_all_kinds() -> float:
    """The average's regret over the rival's: geometric mean over kinds."""
    return float(np.exp(np.mean([np.log(of_kind(kind, AVERAGE, RIVAL).middle) for kind in KINDS])))


def worst(kind: str) -> float:
    """The average's largest ratio on one function."""
    return max(ratio("beliefs", [problem], kind, AVERAGE).middle for problem in ALL)


def on_pairs(method: str) -> list[float]:
    """A method's ratio on each of the measured pairs."""
    return [ratio("beliefs_pairs", [pair], "measured", method).middle for pair in PAIRS]


def over_pairs(method: str, pairs: Sequence[str] = PAIRS) -> float:
    """Its geometric mean over pairs."""
    return ratio("beliefs_pairs", pairs, "measured", method).middle


def course_on_pairs(method: str) -> pd.Series:
    """A method's mean regret after each step, over pairs of the mean over seeds, in per cent of the range."""
    table = curves("beliefs_pairs")
    own = table[(table["method"] == method) & table["problem"].isin(PAIRS)]
    return 100 * own.groupby(["step", "problem"])["value"].mean().groupby("step").mean()


def falls_behind(method: str, other: str) -> float:
    """The first step from which on its mean regret on the pairs is larger than the other's, to the end."""
    behind = course_on_pairs(method) > course_on_pairs(other)
    return float(behind[~behind].index.max() + 1)


def wiggles_of_levi() -> float:
    """How much of Levi's range on [-10, 10]² is what a bowl leaves, in per cent."""
    x, y = np.meshgrid(*[np.linspace(-10, 10, 2001)] * 2)
    bowl = (x - 1) ** 2 + (y - 1) ** 2
    sines = [np.sin(times * np.pi * one) ** 2 for times, one in ((3, x), (3, y), (2, y))]
    rest = sines[0] + (x - 1) ** 2 * sines[1] + (y - 1) ** 2 * sines[2]
    return 100 * float(np.ptp(rest) / np.ptp(bowl + rest))


def suggestion(rows: int) -> float:
    """With so many old rows, in ms."""
    (found,) = [row["suggestion"] for row in speed("old-rows") if row["old"] == rows]
    return 1000 * found


def repeated() -> list[Value]:
    """How many stored campaigns gave the same curve, and of how many."""
    found = pd.read_csv(RESULTS / "repeat.csv")
    return [float((found["difference"] <= 1e-6).sum()), float(len(found))]


def repeated_otherwise(method: str) -> list[float]:
    """How many campaigns of a method gave another curve, and how far these are from the stored ones: least and most."""
    found = pd.read_csv(RESULTS / "repeat.csv")
    other = found[(found["difference"] > 1e-6) & (found["method"] == method)]
    assert set(other["study"]) == {"beliefs_continuous"}
    return [float(len(other)), other["difference"].min(), other["difference"].max()]


def mean_seconds(study: str, method: str) -> float:
    """Of a campaign, on the seeds that the rival was run with."""
    found = runs(study)
    seeds = found[found["method"] == RIVAL]["seed"]
    return found[(found["method"] == method) & found["seed"].isin(seeds)]["seconds"].mean()
