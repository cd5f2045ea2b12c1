"""The study of the command line: what it would notice, and its tables."""

import pytest

from benchmarks.results import Run, long_table
from benchmarks.studies.shell.command import kill_table, seconds_table
from benchmarks.studies.shell.kills import KillJob, Ledger
from benchmarks.studies.shell.seconds import SecondsJob


@pytest.mark.parametrize(
    ("there", "verdict"),
    [
        ({1: 0.5, 2: 0.7}, (0, 0)),
        ({1: 0.5, 2: 0.7, 3: 0.9}, (0, 0)),  # of a command that was killed: it may be there
        ({1: 0.5}, (1, 0)),
        ({1: 0.5, 2: 0.8}, (1, 1)),
        ({1: 0.5, 2: 0.7, 3: 0.7}, (0, 1)),
        ({1: 0.5, 2: 0.7, 3: 0.9, 4: 0.9}, (0, 1)),
    ],
)
def test_what_is_lost_or_doubled_is_noticed(there: dict[int, float], verdict: tuple[int, int]) -> None:
    assert Ledger({1: 0.5, 2: 0.7}, {0.9}).verdict(there) == verdict


def test_tables() -> None:
    kills = long_table([Run(KillJob(seed), (20.0, 30.0, 12.0, 1.0, seed, 0.0, 0.0), 1.0) for seed in range(2)])
    assert kill_table(kills).splitlines()[-1] == "| all campaigns | 2 | 40 | 60 | 24 | 2 | 1 | 0 | 0 |"
    seconds = long_table([Run(SecondsJob(0, repeats=2), (6.0, 2.0, 3.0, 1.0), 1.0)])
    assert "3.00" in seconds_table(seconds)
    assert "**no**" in seconds_table(seconds)
