"""Every cell of the tables of measured pairs, computed from the stored results without the code that wrote them."""

import numpy as np
import pytest

from support.cells import marked_agrees, tables, unmarked_agrees
from support.pair_tables import (
    CALIBRATION,
    COMPARED,
    FIRST,
    WITH_OLD_AND_WITHOUT,
    covered,
    most_shared,
    seconds,
)
from support.prose import agrees
from support.stored import (
    AVERAGE,
    CHECKED_PAIRS,
    CHOSEN_PAIRS,
    OWN_START,
    PAIRS,
    PLAIN,
    RIVALS,
    SOBOL_START,
    STANDARD,
    curves,
    over_problems,
    ratio,
    runs,
)

PAGE = "docs/transfer.md"
STUDY, KIND = "beliefs_pairs", "measured"
GROUPS = {
    "geometric mean": PAIRS,
    "geometric mean, those that chose": CHOSEN_PAIRS,
    "geometric mean, those that chose nothing": CHECKED_PAIRS,
}


@pytest.mark.skipif(not WITH_OLD_AND_WITHOUT, reason="not all methods have been run on all pairs yet")
def test_every_pair() -> None:
    head, rows = tables(PAGE)["beliefs pairs"]
    assert head == ["pair", "chose", *COMPARED]
    assert [row[:2] for row in rows] == [
        *([pair, "yes" if pair in CHOSEN_PAIRS else "no"] for pair in PAIRS),
        *([name, ""] for name in (*GROUPS, "median", "better than 1", "worst")),
    ]
    for place, method in enumerate(COMPARED, start=2):
        each = {pair: ratio(STUDY, [pair], KIND, method) for pair in PAIRS}
        cells = {row[0]: row[place] for row in rows}
        for pair, estimate in each.items():
            assert marked_agrees(cells[pair], estimate), (pair, method, cells[pair])
        for name, some in GROUPS.items():
            together = over_problems([each[pair].middle for pair in some])
            assert marked_agrees(cells[name], together), (name, method, cells[name])
        middles = [one.middle for one in each.values()]
        assert agrees(cells["median"], float(np.median(middles))), method
        assert cells["better than 1"] == f"{sum(one < 1 for one in middles)} of {len(PAIRS)}"
        number, pair = cells["worst"].split(") ")
        assert pair == max(each, key=lambda one: each[one].middle)
        assert marked_agrees(f"{number})", each[pair]), (method, cells["worst"])


def test_rivals_on_the_pairs() -> None:
    rows = tables(PAGE)["beliefs pair rivals"][1]
    assert [row[0] for row in rows] == [rival for rival in RIVALS if rival in set(runs(STUDY)["method"])]
    for rival, pairs, told, *cells, over in rows:
        names, seeds = most_shared(rival, AVERAGE, STANDARD)
        assert int(pairs) == len(names)
        assert told.split()[0] == str(len(seeds))
        assert str(seeds[0]) in told
        assert str(seeds[-1]) in told
        for method, together, worst in ((rival, *cells[:2]), (AVERAGE, *cells[2:])):
            each = [ratio(STUDY, [name], KIND, method, seeds=seeds).middle for name in names]
            assert unmarked_agrees(together, over_problems(each)), (rival, method)
            assert agrees(worst, max(each)), (rival, method)
        paired = [ratio(STUDY, [name], KIND, AVERAGE, to=rival, seeds=seeds).middle for name in names]
        assert marked_agrees(over, over_problems(paired)), (rival, over)


@pytest.mark.skipif(not FIRST, reason="the first trials have not been run on all pairs yet")
def test_the_first_trials() -> None:
    head, rows = tables(PAGE)["beliefs first"]
    assert head == ["own start over", "pairs", *(f"after {trial}" for trial in (1, 2, 3, 5, 10))]
    groups = {f"all {len(PAIRS)}": PAIRS, "those that chose": CHOSEN_PAIRS, "those that chose nothing": CHECKED_PAIRS}
    assert [row[:2] for row in rows] == [[method, name] for method in (SOBOL_START, STANDARD) for name in groups]
    for method, name, *cells in rows:
        for trial, cell in zip((1, 2, 3, 5, 10), cells, strict=True):
            each = [
                ratio("beliefs_first", [pair], KIND, OWN_START, to=method, step=trial).middle for pair in groups[name]
            ]
            assert marked_agrees(cell, over_problems(each)), (method, name, trial, cell)


@pytest.mark.skipif(not CALIBRATION, reason="intervals have not been held against results on all pairs yet")
def test_intervals() -> None:
    head, rows = tables(PAGE)["beliefs calibration"]
    assert head == ["method", "cases", f"all {len(PAIRS)} pairs", "those that chose nothing", "least", "largest"]
    assert [row[0] for row in rows] == [AVERAGE, PLAIN]
    for method, cases, every, checked, *ends in rows:
        assert int(cases.replace(",", "")) == (curves("calibration")["method"] == method).sum()
        assert agrees(every.removesuffix(" %"), covered(method))
        assert agrees(checked.removesuffix(" %"), covered(method, CHECKED_PAIRS))
        each = {pair: covered(method, (pair,)) for pair in PAIRS}
        for cell, end in zip(ends, (min(each.values()), max(each.values())), strict=True):
            share, pair = cell.split(" % ")
            assert each[pair] == end
            assert agrees(share, end)


def test_seconds() -> None:
    rows = tables(PAGE)["beliefs pair seconds"][1]
    there = set(runs(STUDY)["method"])
    assert [row[0] for row in rows] == [one for one in (STANDARD, *COMPARED, *RIVALS) if one in there]
    for method, campaigns, own, base, times in rows:
        count, ours, theirs = seconds(method)
        assert int(campaigns) == count
        assert agrees(own, ours)
        assert agrees(base, theirs)
        assert agrees(times, ours / theirs)
