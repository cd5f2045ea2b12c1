"""The words and numbers that cells of the comparison's tables have."""

from collections.abc import Sequence

import pandas as pd

from benchmarks.comparison import Estimate
from benchmarks.peers.by_name import ALL_PEERS
from benchmarks.problems.pairs import MEASURED, ROWS
from benchmarks.studies.field.measures import Key
from benchmarks.tables import marked

#: What a cell has where there is nothing to say.
NOTHING = "–"


def told(key: Key) -> str:
    """A contest in words: what it shares with most contests is left unsaid."""
    said = [key.problem]
    said += [key.old] if key.old != MEASURED else []
    said += [f"{key.rows} rows"] if key.rows != ROWS else []
    said += [f"noise {key.noise:g}"] if key.noise else []
    return ", ".join(said)


def peers_in(regrets: pd.DataFrame) -> list[str]:
    """Those that there are results of, in the project's order."""
    known = set(regrets.index.get_level_values("peer"))
    return [peer for peer in ALL_PEERS if peer in known]


def ratio(value: Estimate) -> str:
    """With its interval and the marks of `marked`; of one seed of one contest there is no interval."""
    return marked(value) if value.low < value.high else f"{value.middle:.2f}"


def short(value: Estimate) -> str:
    """With the marks of `marked`, without the interval."""
    return marked(value).split(" ")[0]


def between(counts: Sequence[int]) -> str:
    """The least and the largest of some numbers, or the one that they all are."""
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low}–{high}"


def number_of_seeds(counts: Sequence[int]) -> str:
    """How many seeds contests have."""
    said = between(counts)
    return f"{said} seed" if said == "1" else f"{said} seeds"
