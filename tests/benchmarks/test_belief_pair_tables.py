"""Tables of measured pairs, of results that were made up so that the answers are known."""

from collections.abc import Callable

import pandas as pd

from benchmarks.methods.by_name import AVERAGE, BASELINE, OWN_START, PLAIN, RIVALS, SOBOL_START
from benchmarks.problems.pairs import CHECKED_ON, CHOSEN_ON
from benchmarks.studies.belief_pair_tables import all_pair_tables

CHOSE, CHECKED = CHOSEN_ON[0], CHECKED_ON[0]


def made_up(value: Callable[[str, str, int], float], runs: list[tuple[str, str, int]], steps: int = 2) -> pd.DataFrame:
    """The long table of runs (pair, method, seed) whose value is the same after every step."""
    return pd.DataFrame(
        {
            "run": run, "problem": pair, "kind": "measured", "method": method, "seed": seed,
            "seconds": float(len(method)), "step": step, "value": value(pair, method, step),
        }
        for run, (pair, method, seed) in enumerate(runs)
        for step in range(1, steps + 1)
    )  # fmt: skip


def runs_of(methods: tuple[str, ...], seeds: range, pairs: tuple[str, ...] = (CHOSE, CHECKED)) -> list:
    return [(pair, method, seed) for pair in pairs for method in methods for seed in seeds]


REGRET = {BASELINE: 0.4, OWN_START: 0.1, AVERAGE: 0.2, PLAIN: 0.3, RIVALS[0]: 0.1, RIVALS[1]: 0.8}


def regret(pair: str, method: str, _step: int) -> float:
    """On the pair that chose nothing, ours has twice the share of the baseline's regret that it has on the other."""
    return REGRET[method] * (2 if pair == CHECKED and method in (OWN_START, AVERAGE, PLAIN) else 1)


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_a_row_for_each_pair_and_for_all_of_them() -> None:
    table = made_up(regret, runs_of((BASELINE, OWN_START, AVERAGE, PLAIN), range(100, 103)))
    head, _, *body = rows(all_pair_tables({"pairs": table})["beliefs pairs"])
    assert head == ["pair", "chose", OWN_START, AVERAGE, PLAIN]
    assert [[row[0], row[1], row[2].split()[0], row[4].split()[0]] for row in body] == [
        [CHOSE, "yes", "0.25", "0.75"],
        [CHECKED, "no", "0.50", "1.50"],
        ["geometric mean", "", "**0.35**", "1.06"],
        ["geometric mean, those that chose", "", "0.25", "0.75"],
        ["geometric mean, those that chose nothing", "", "0.50", "1.50"],
        ["median", "", "0.38", "1.12"],
        ["better than 1", "", "2", "1"],
        ["worst", "", "0.50", "1.50"],
    ]
    assert body[2][2] == "**0.35** (0.25–0.50)"  # over pairs: either, or both
    assert body[-1][2] == f"0.50 (0.50–0.50) {CHECKED}"


def test_a_method_that_is_not_done_is_left_out() -> None:
    done = runs_of((BASELINE, AVERAGE), range(100, 102))
    table = made_up(regret, [*done, (CHOSE, PLAIN, 100)])
    assert rows(all_pair_tables({"pairs": table})["beliefs pairs"])[0] == ["pair", "chose", AVERAGE]
    assert "beliefs pairs" not in all_pair_tables({"pairs": table[table["method"] == BASELINE]})
    assert all_pair_tables({}) == {}


def test_rivals_are_compared_where_they_were_run() -> None:
    ours = runs_of((BASELINE, AVERAGE), range(100, 120), CHOSEN_ON[:4])
    whole = runs_of((RIVALS[0],), range(100, 104), CHOSEN_ON[:2])
    begun = [(CHOSEN_ON[2], RIVALS[0], 100), *runs_of((RIVALS[1],), range(100, 101), CHOSEN_ON[:3])]
    found = rows(all_pair_tables({"pairs": made_up(regret, ours + whole + begun)})["beliefs pair rivals"])[2:]
    ahead, behind = (
        [RIVALS[0], "2", "4 (100 to 103)", "0.25 (0.25–0.25)", "0.25", "0.50 (0.50–0.50)", "0.50", "2.00 (2.00–2.00)"],
        [RIVALS[1], "3", "1 (100)", "2.00 (2.00–2.00)", "2.00", "0.50 (0.50–0.50)", "0.50", "0.25 (0.25–0.25)"],
    )
    assert found == [ahead, behind]


def test_the_first_trials_are_compared_one_by_one() -> None:
    def falling(_pair: str, method: str, step: int) -> float:
        return {OWN_START: 0.6 / step, SOBOL_START: 0.6, BASELINE: 1.2}[method]

    table = made_up(falling, runs_of((OWN_START, SOBOL_START, BASELINE), range(100, 102)), steps=3)
    head, _, *body = rows(all_pair_tables({"first": table})["beliefs first"])
    assert head == ["own start over", "pairs", "after 1", "after 2", "after 3"]
    assert [row[1] for row in body] == ["all 2", "those that chose", "those that chose nothing"] * 2
    shares = [[cell.split()[0] for cell in row[2:]] for row in body]
    assert shares == [["1.00", "0.50", "0.33"]] * 3 + [["0.50", "0.25", "0.17"]] * 3


def test_coverage_is_a_share_of_cases() -> None:
    def inside(pair: str, method: str, step: int) -> float:
        return float(step > 1 or (pair == CHOSE and method == PLAIN))

    table = made_up(inside, runs_of((AVERAGE, PLAIN), range(100, 103)), steps=4)
    assert rows(all_pair_tables({"calibration": table})["beliefs calibration"])[2:] == [
        [AVERAGE, "24", "75.0 %", "75.0 %", f"75.0 % {CHOSE}", f"75.0 % {CHOSE}"],
        [PLAIN, "24", "87.5 %", "75.0 %", f"75.0 % {CHECKED}", f"100.0 % {CHOSE}"],
    ]


def test_seconds_are_compared_on_the_same_campaigns() -> None:
    table = made_up(regret, [*runs_of((BASELINE,), range(100, 104)), (CHOSE, PLAIN, 100), (CHECKED, PLAIN, 150)])
    table.loc[(table["method"] == BASELINE) & (table["seed"] > 100), "seconds"] = 99.0
    assert rows(all_pair_tables({"pairs": table})["beliefs pair seconds"])[2:] == [
        [BASELINE, "8", "99.0", "99.0", "1.00"],
        [PLAIN, "1", "8.0", "11.0", "0.73"],
    ]
