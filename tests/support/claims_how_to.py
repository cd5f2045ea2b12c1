"""Sentences of the how-tos, held against the tables of the appendices, which are held against the stored results."""

import re

from support.cells import tables
from support.prose import Claim

GOALS, WORKERS, SHARING, AUDIT = (f"docs/tables_{name}.md" for name in ("goals", "workers", "sharing", "audit"))


def cell(page: str, table: str, row: str, column: int) -> list[float]:
    """The numbers of a cell: a value, and its interval if it has one."""
    (found,) = [cells for cells in tables(page)[table][1] if cells[0].strip("`*") == row]
    return [float(one) for one in re.findall(r"\d+(?:\.\d+)?", found[column].replace(",", ""))]


def columns(page: str, table: str, row: str, *numbers: int) -> list[float]:
    """The first numbers of some cells of a row."""
    return [cell(page, table, row, number)[0] for number in numbers]


def spread(page: str, table: str, column: int) -> list[float]:
    """The least and the largest first number of a column."""
    found = [float(re.findall(r"\d+(?:\.\d+)?", cells[column])[0]) for cells in tables(page)[table][1]]
    return [min(found), max(found)]


CLAIMS_HOW_TO = [
    Claim(
        "docs/howto/constraints.md",
        "had {0.72} and {2.3} times the regret",
        lambda: [cell(GOALS, "goals mixtures", pair, 3)[0] for pair in ("photo_nodup", "oer_3496_3851")],
    ),
    Claim(
        "docs/howto/objectives.md",
        "(two seeds each): {0.57} times qLogNEHVI's regret with old data, {0.92} without.",
        lambda: columns(GOALS, "goals hypervolume", "geometric mean", 3, 4),
    ),
    Claim(
        "docs/howto/objectives.md",
        "within 10 µm of its target after {6} trials, by squared distance after {16}.",
        lambda: [cell(GOALS, "goals fibre", way, 2)[0] for way in ("target value", "squared by hand")],
    ),
    Claim(
        "docs/howto/failures.md",
        "{0.58} times that of Optuna's GPSampler with old data ({0.40} to {0.86}). Without, it was {0.95} times "
        "({0.53} to {1.72})",
        lambda: [
            *cell(GOALS, "goals constrained", "geometric mean", 3),
            *cell(GOALS, "goals constrained", "geometric mean", 4),
        ],
    ),
    Claim(
        "docs/howto/noise.md",
        "In {60} noisy campaigns",
        lambda: [float(row[2]) for row in tables(GOALS)["goals recommend"][1] if row[:2] == ["all", "all"]],
    ),
    Claim(
        "docs/howto/stopping.md",
        "It held in {0.89} of {260} cases instead of 0.95, and in {0.63} on Ackley's function",
        lambda: [
            *cell(GOALS, "goals remaining", "all", 2)[:1],
            *cell(GOALS, "goals remaining", "all", 1),
            *cell(GOALS, "goals remaining", "Ackley (shifted)", 2)[:1],
        ],
    ),
    Claim(
        "docs/howto/stopping.md",
        "where 0 to 0.05 was told, such a gain came in {0.22}",
        lambda: cell(GOALS, "goals probability", "0 to 0.05", 3),
    ),
    Claim(
        "docs/howto/sharing.md",
        "regret was {0.81} times that with the full prior ({0.51} to {1.08})",
        lambda: cell(SHARING, "sharing", "prior='average'", 1),
    ),
    Claim(
        "docs/howto/sharing.md",
        "on one pair {1.89} times. Without old data it was {1.56} times",
        lambda: columns(SHARING, "sharing", "prior='average'", 2, 3),
    ),
    Claim(
        "docs/howto/sharing.md",
        "unusually close in {2} to {7} % of 90 data sets, where chance gives 5 % ({50} to {100} % for the full file",
        lambda: [*spread(SHARING, "recovery", 2), *spread(SHARING, "recovery", 1)],
    ),
    Claim(
        "docs/howto/database.md",
        "A trial takes {1.4} to {1.7} times GPSampler's at 50 and 200 trials",
        lambda: [
            extreme(
                cell(WORKERS, "time", f"{where}, {trials} trials", 3)[0]
                for where in ("memory", "SQLite")
                for trials in (50, 200)
            )
            for extreme in (min, max)
        ],
    ),
    Claim(
        "docs/howto/database.md",
        "four had {4.7} times that of one",
        lambda: columns(WORKERS, "scaling", "tunedprior, 4", 5),
    ),
    Claim(
        "docs/howto/auditing.md",
        "It found {96} of {100} planted faults and blamed something else too in {2}.",
        lambda: [*cell(AUDIT, "spoiled", "all", 1), *columns(AUDIT, "spoiled", "all", 2)],
    ),
    Claim(
        "docs/howto/auditing.md",
        "It blamed nothing in {23} sound tables.",
        lambda: [float(sum(row[1] == "0" for row in tables(AUDIT)["clean"][1]))],
    ),
]
