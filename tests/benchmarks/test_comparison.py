"""Ratios and intervals against loops that share no code with them, and tables in documents."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.comparison import Estimate, estimated, mean_regrets, over_problems, quartiles, ratio, tried
from benchmarks.results import read_results
from benchmarks.tables import markdown, marked, with_interval, write_tables


def results(curves: dict[tuple[str, str], np.ndarray]) -> pd.DataFrame:
    """The long table of curves by problem and method, a row for each seed."""
    return pd.DataFrame(
        {"problem": problem, "kind": "flipped", "method": method, "seed": seed, "step": step + 1, "value": value}
        for (problem, method), table in curves.items()
        for (seed, step), value in np.ndenumerate(table)
    )


@pytest.fixture
def base() -> np.ndarray:
    return np.random.default_rng(0).uniform(0.5, 1.0, (12, 10))


def test_ratios_compare_in_pairs(base: np.ndarray) -> None:
    curves = {("Ackley", "standard-EI"): base, ("Ackley", "EI"): base / 2}
    curves |= {("Branin", "standard-EI"): base, ("Branin", "EI"): 2 * base}
    regrets = mean_regrets(results(curves), after=3)
    assert ratio(regrets, ["Ackley"], "flipped", "EI") == pytest.approx((0.5, 0.5, 0.5))
    assert ratio(regrets, ["Ackley", "Branin"], "flipped", "EI").middle == pytest.approx(1.0)  # ½ and 2
    assert ratio(regrets, ["Ackley"], "flipped", "standard-EI", seeds={0, 5}) == pytest.approx((1.0, 1.0, 1.0))


def test_intervals_over_problems_are_those_of_problems_drawn_again() -> None:
    found = over_problems([0.5, 2.0, 1.0])
    assert found.middle == pytest.approx(1.0)
    drawn = [[0.5, 2.0, 1.0][one] for one in range(3)]
    means = [math.prod((a, b, c)) ** (1 / 3) for a in drawn for b in drawn for c in drawn]
    assert found.low == pytest.approx(min(means))  # three times the best: 1 of 27, more than 2.5 %
    assert found.high == pytest.approx(max(means))


def test_seeds_that_only_one_side_has_do_not_count(base: np.ndarray) -> None:
    regrets = mean_regrets(results({("Ackley", "standard-EI"): base, ("Ackley", "EI"): base[:4] / 2}))
    assert ratio(regrets, ["Ackley"], "flipped", "EI") == pytest.approx((0.5, 0.5, 0.5))


def test_a_ratio_and_its_interval_by_loops(base: np.ndarray) -> None:
    other = np.random.default_rng(1).uniform(0.2, 0.9, (12, 10))
    found = ratio(
        mean_regrets(results({("Ackley", "standard-EI"): base, ("Ackley", "EI"): other}), 3),
        ["Ackley"],
        "flipped",
        "EI",
    )
    means = [[sum(row[3:]) / 7 for row in table.tolist()] for table in (other, base)]
    assert found.middle == pytest.approx(sum(means[0]) / sum(means[1]))
    resampled = []
    for picks in np.random.default_rng(0).integers(12, size=(2000, 12)).tolist():
        own, theirs = (sum(side[pick] for pick in picks) for side in means)
        resampled.append(math.log(own / theirs))
    low, high = (math.exp(value) for value in np.quantile(resampled, (0.025, 0.975)))
    assert (found.low, found.high) == pytest.approx((low, high))


def test_a_stored_ratio_by_loops() -> None:
    """eggholder with flipped data, from the rows of the stored table themselves."""
    sums = {"average-EI": 0.0, "standard-EI": 0.0}
    stored = read_results("beliefs")
    rows = stored[(stored["problem"] == "eggholder") & (stored["kind"] == "flipped")]
    for method, value in rows[["method", "value"]].itertuples(index=False):
        if method in sums:
            sums[method] += value
    found = ratio(mean_regrets(stored), ["eggholder"], "flipped", "average-EI")
    assert found.middle == pytest.approx(sums["average-EI"] / sums["standard-EI"])


def test_one_value_has_no_interval() -> None:
    assert estimated(np.median, np.array([3.0])) == (3.0, 3.0, 3.0)
    assert marked(Estimate(0.5, 0.5, 0.5)) == "0.50 (0.50–0.50)"
    assert marked(Estimate(0.5, 0.4, 0.6)) == "**0.50** (0.40–0.60)"
    assert marked(Estimate(1.5, 1.4, 1.6)) == "*1.50* (1.40–1.60)"
    assert with_interval(Estimate(1.0, 0.9, 1.1)) == "1.00 (0.90–1.10)"


def test_quartiles_and_what_was_tried(base: np.ndarray) -> None:
    table = results({("Branin", "standard-EI"): base, ("Ackley", "EI"): base})
    found = quartiles(table[table["step"] == 4], ["method"]).loc["EI"]
    assert found.tolist() == pytest.approx(np.quantile(base[:, 3], (0.25, 0.5, 0.75)).tolist())
    assert tried(table, "flipped") == (["Ackley", "Branin"], ["EI", "standard-EI"], set(range(12)))


def test_tables_replace_themselves(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("before\n<!-- table: a -->\nold\n<!-- end -->\nafter\n")
    write_tables(path, {"a": "new", "b": "other"})
    write_tables(path, {"a": "newer"})
    assert path.read_text() == (
        "before\n<!-- table: a -->\nnewer\n<!-- end -->\nafter\n\n<!-- table: b -->\nother\n<!-- end -->\n"
    )
    table = pd.DataFrame({"x": ["1", "2"]}, index=pd.Index(["p", "q"], name="row"))
    assert markdown(table) == "| row | x |\n| --- | --- |\n| p | 1 |\n| q | 2 |"
