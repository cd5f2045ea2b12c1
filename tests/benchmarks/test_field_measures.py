"""What the comparison's runs say, of results that were made up so that the answers are known."""

from collections.abc import Sequence
from math import inf, nan
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from benchmarks.comparison import paired_ratio
from benchmarks.peers.by_name import ALL_PEERS, BOTORCH, OURS, OURS_PLAIN, OURS_SHARED, RANDOM, RANKING
from benchmarks.problems.pairs import CHECKED_ON, CHOSEN_ON
from benchmarks.studies.field.measures import (
    Key,
    Ranks,
    after,
    contests_of,
    critical_difference,
    curves,
    over_budget,
    ranks,
    trials_to_reach,
    versus,
)
from benchmarks.studies.field.pair_tables import each_pair, harm
from benchmarks.studies.field.pictures import figure_of, mean_curves, named_peers
from benchmarks.studies.field.tables import field_tables
from benchmarks.studies.field.words import told

CHOSE, CHECKED = CHOSEN_ON[0], CHECKED_ON[0]
FEW, MANY = Key(CHOSE, "measured", 20, 0.0), Key(CHOSE, "measured", 150, 0.0)
OTHER = Key(CHECKED, "measured", 150, 0.0)


def run(key: Key, peer: str, seed: int, values: Sequence[float]) -> pd.DataFrame:
    """One run as it is stored: without old data, its kind is an empty cell and its rows are 0."""
    old, rows = (key.old, key.rows) if ALL_PEERS[peer].uses_old else (nan, 0)
    return pd.DataFrame(
        {
            "problem": key.problem, "old": old, "rows": rows, "noise": key.noise, "peer": peer, "seed": seed,
            "trials": len(values), "step": range(1, len(values) + 1), "value": values,
        }
    )  # fmt: skip


@pytest.fixture
def results() -> pd.DataFrame:
    """Ours is twice as good as chance with 20 old rows, four times with 150, and half as good on another pair."""
    runs = []
    for seed in (300, 301):
        runs += [run(FEW, OURS, seed, [0.4, 0.2, 0.2, 0.0]), run(MANY, OURS, seed, [0.2, 0.1, 0.1, 0.0])]
        runs += [run(MANY, RANDOM, seed, [0.8, 0.4, 0.2, 0.2]), run(MANY, OURS_PLAIN, seed, [0.8, 0.2, 0.2, 0.0])]
        runs += [run(OTHER, OURS, seed, [0.8, 0.8, 0.8, 0.8]), run(OTHER, RANDOM, seed, [0.4] * 4)]
        runs += [run(OTHER, OURS_PLAIN, seed, [0.6] * 4)]
    runs += [run(OTHER, OURS, 302, [0.1] * 4), run(OTHER, RANDOM, 302, [nan] * 4)]
    return pd.concat(runs, ignore_index=True)


def test_runs_without_old_data_count_in_every_contest(results: pd.DataFrame) -> None:
    regrets = over_budget(curves(results))
    assert contests_of(regrets, RANDOM) == contests_of(regrets, OURS) == sorted([FEW, MANY, OTHER])
    assert regrets.loc[(*FEW, RANDOM), 300] == regrets.loc[(*MANY, RANDOM), 300] == pytest.approx(0.4)
    assert regrets.loc[(*FEW, OURS), 301] == pytest.approx(0.2)
    assert after(curves(results), 2).loc[(*MANY, RANDOM), 300] == 0.4
    assert regrets.loc[(*OTHER, RANDOM), 302] == inf  # it failed,
    assert np.isnan(regrets.loc[(*OTHER, OURS_PLAIN), 302])  # and this one was not run


def test_a_run_that_stopped_half_way_has_failed(results: pd.DataFrame) -> None:
    half = pd.concat([results, run(MANY, OURS, 305, [0.1, 0.1, nan, nan])])
    assert (curves(half).loc[(*MANY, OURS, 305)] == inf).all()


def test_ratios_are_of_the_seeds_that_both_finished(results: pd.DataFrame) -> None:
    regrets = over_budget(curves(results))
    found = versus(regrets, OURS, RANDOM, [FEW, MANY, OTHER])
    assert {key: one.middle for key, one in found.each.items()} == pytest.approx({FEW: 0.5, MANY: 0.25, OTHER: 2.0})
    assert found.ratio.middle == pytest.approx(0.25 ** (1 / 3))
    assert found.ratio[1:] == pytest.approx((0.25, 2.0))  # seeds are alike, but now and then one contest is drawn alone
    assert (found.worst, found.better, found.seeds[OTHER]) == (OTHER, pytest.approx(2 / 3), 2)
    assert versus(regrets, OURS, "nobody", [FEW]) is None
    assert versus(regrets, OURS, OURS, [FEW]).better == 0.5


def test_tiny_regrets_count_as_a_thousandth() -> None:
    found = pd.concat([run(MANY, OURS, 1, [0.0] * 2), run(MANY, RANDOM, 1, [0.002] * 2)])
    assert versus(over_budget(curves(found)), OURS, RANDOM, [MANY]).ratio.middle == pytest.approx(0.5)


def test_intervals_of_a_contest_are_those_of_other_studies_and_contests_may_have_seeds_of_their_own() -> None:
    rng = np.random.default_rng(0)
    own, base = rng.uniform(0.1, 0.5, (2, 12)), rng.uniform(0.1, 0.5, (2, 12))
    runs = [
        run(key, peer, seed, [values[place, seed]])
        for place, key in enumerate((MANY, OTHER))
        for peer, values in ((OURS, own), (RANDOM, base))
        for seed in range(12)
    ]
    regrets = over_budget(curves(pd.concat(runs)))
    alone, expected = versus(regrets, OURS, RANDOM, [MANY]).ratio, paired_ratio(own[:1], base[:1], least=1e-3)
    assert alone.middle == pytest.approx(expected.middle)
    assert alone[1:] == pytest.approx(expected[1:], rel=0.03)  # drawn otherwise
    both, expected = versus(regrets, OURS, RANDOM, [MANY, OTHER]).ratio, paired_ratio(own, base, least=1e-3)
    assert both.middle == pytest.approx(expected.middle)
    ratios = own.mean(axis=1) / base.mean(axis=1)
    assert both[1:] == pytest.approx((ratios.min(), ratios.max()))  # one contest alone in many draws
    fewer = [one for one in runs if one["problem"].iloc[0] == CHOSE or one["seed"].iloc[0] < 7]
    some = versus(over_budget(curves(pd.concat(fewer))), OURS, RANDOM, [MANY, OTHER])
    assert some.seeds == {MANY: 12, OTHER: 7}
    means = own[0].mean() / base[0].mean() * own[1, :7].mean() / base[1, :7].mean()
    assert some.ratio.middle == pytest.approx(np.sqrt(means))
    assert some.ratio.low < some.ratio.middle < some.ratio.high


def test_trials_to_reach_what_another_ended_with(results: pd.DataFrame) -> None:
    found = trials_to_reach(curves(results), OURS, RANDOM, [FEW, MANY, OTHER])
    assert found == {FEW: 2.0, MANY: 1.0, OTHER: inf}


def test_ranks_share_ties_and_a_failed_run_has_the_worst_regret(results: pd.DataFrame) -> None:
    found = ranks(over_budget(curves(results)), [FEW, MANY, OTHER])
    # Regrets with 20 rows: 0.2, 0.3, 0.4; with 150: 0.1, 0.3, 0.4; elsewhere, on the seeds of all: 0.8, 0.6, 0.4.
    assert found.table.to_numpy().tolist() == [[1, 2, 3], [1, 2, 3], [3, 2, 1]]
    assert found.average.to_dict() == pytest.approx({OURS: 5 / 3, OURS_PLAIN: 2.0, RANDOM: 7 / 3})
    failing = results.assign(value=results["value"].mask(results["peer"] == RANDOM))
    failing = failing.assign(value=failing["value"].mask(failing["peer"] == OURS_PLAIN, 1.0))
    assert ranks(over_budget(curves(failing)), [FEW, OTHER]).table.to_numpy().tolist() == [[1, 2.5, 2.5]] * 2
    assert ranks(over_budget(curves(results)), [FEW]) is None


def test_friedman_and_nemenyi_as_published() -> None:
    # Demšar (2006): q is 2.728 for five classifiers, 1.960 for two.
    assert critical_difference(5, 10) == pytest.approx(2.728 * np.sqrt(5 * 6 / 60), abs=2e-3)
    assert critical_difference(2, 6) == pytest.approx(1.960 * np.sqrt(2 * 3 / 36), abs=1e-3)
    keys = [Key(str(place), "same", 150, 0.0) for place in range(4)]
    places = {OURS: 0.1, OURS_PLAIN: 0.2, RANDOM: 0.3}
    runs = [run(key, peer, 1, [value]) for key in keys for peer, value in places.items()]
    found = ranks(over_budget(curves(pd.concat(runs))), keys)
    # 12/(4·3·4)·(4² + 8² + 12²) - 3·4·4 = 8, and P(χ² with 2 degrees > 8) = exp(-4).
    assert found.p_value == pytest.approx(np.exp(-4))


def test_bars_join_what_does_not_differ() -> None:
    table = pd.DataFrame([[1.0, 1.8, 2.5, 4.7]], columns=list("abcd"))
    assert Ranks(table, nan, 1.0).joined() == [("a", "b"), ("b", "c")]
    assert Ranks(table, nan, 1.6).joined() == [("a", "c")]
    assert Ranks(table, nan, 0.5).joined() == []


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]


def test_tables(results: pd.DataFrame) -> None:
    contests = [
        SimpleNamespace(part=part, **key._asdict()) for part, key in (("pairs", MANY), ("pairs", OTHER), ("rows", FEW))
    ]
    contests.append(SimpleNamespace(part="noise", problem="Branin", old="same", rows=150, noise=0.1))  # not run yet
    costs = [
        run(MANY, OURS, 1, [9.0, 1.0, 1.0, 400.0]).assign(run=0),
        run(OTHER, OURS, 1, [9.0, 1.0, 1.0, 401.0]).assign(run=1),
        run(MANY, RANDOM, 1, [0.65, 0.25, 0.25, 20.0]).assign(run=2),
        run(OTHER, RANDOM, 1, [nan]).assign(run=3),  # failed
        run(MANY, BOTORCH, 1, [2.0, 2.0, 300.0]).assign(run=4),
    ]
    found = field_tables(results, contests, pd.concat(costs))
    names = ("all", "pairs", "marks", "trials", "rows", "each pair", "cost")
    assert list(found) == [f"field {name}" for name in names]
    middle = f"{np.sqrt(0.25 * 2):.2f} (0.25–2.00)"
    assert rows(found["field pairs"])[2:] == [
        [OURS, "2.00", "–", "–", "–", "–", "2", "2–3", "0"],
        [OURS_PLAIN, "2.00", "0.67 (0.33–1.33)", "0.83", f"1.33 {CHECKED}", "50 %", "2", "2", "0"],
        [RANDOM, "2.00", middle, "1.12", f"2.00 {CHECKED}", "50 %", "2", "2", "1"],
    ]
    assert "3 peers in 2 contests, by the 2 seeds that all of them have" in found["field pairs"]
    assert rows(found["field trials"])[3] == [RANDOM, "1.00 (0.50–2.00)", middle, "more", "1 of 2"]
    assert rows(found["field rows"])[0] == ["ours over", "20 old rows", "150 old rows", "seeds"]
    assert rows(found["field rows"])[3] == [RANDOM, "0.50", "0.25", "2"]
    assert found["field rows"].endswith(f"On {CHOSE}.")
    each = rows(found["field each pair"])
    assert each[2:4] == [[CHOSE, "yes", "10.0", "0.33", "0.25"], [CHECKED, "no", "56.7", "1.33", "2.00"]]
    assert each[5] == ["geometric mean, those that chose", "", "", "0.33", "0.25"]
    assert rows(found["field cost"])[2:] == [
        [RANDOM, "no", "0.25", "0.61", "0.65", "20"],
        [OURS, "yes", "1", "9", "9", "401"],
        [BOTORCH, "yes", "2", "2", "2", "300"],
    ]
    assert [row[2:] for row in rows(found["field marks"])[2:]] == [
        [f"2.00; the best: {OURS}, 2.00", "yes"],
        [f"{middle}, {RANDOM}, 2 contests of 2 seeds", "no"],
        [f"1 s; the quickest other: {BOTORCH}, 2 s", "yes"],
    ]
    assert told(Key("Branin", "flipped", 20, 0.1)) == "Branin, flipped, 20 rows, noise 0.1"


def test_peers_that_met_ours_on_some_pairs_have_a_table_of_their_own(results: pd.DataFrame) -> None:
    absent = (results["peer"] == RANDOM) & (results["problem"] == CHECKED)
    found = each_pair(over_budget(curves(results[~absent])), [MANY, OTHER])
    assert rows(found["field each pair"])[0] == ["pair", "chose", "ours, % of the range", OURS_PLAIN]
    assert rows(found["field some pairs"])[2:] == [
        [CHOSE, "yes", "10.0", "0.25"],
        ["geometric mean, all", "", "", "0.25"],
    ]


def test_harm_is_told_of_every_peer_with_old_data_and_controls_stand_nowhere_else(results: pd.DataFrame) -> None:
    more = [run(key, BOTORCH, seed, [0.2] * 4) for key in (MANY, OTHER) for seed in (300, 301)]
    more += [run(MANY, RANKING, seed, [0.4] * 4) for seed in (300, 301)]  # met one pair alone
    more += [run(key, OURS_SHARED, 300, [0.1] * 4) for key in (MANY, OTHER)]
    together = pd.concat([results, *more])
    assert rows(harm(over_budget(curves(together)), [MANY, OTHER]))[2:] == [
        [OURS_SHARED, "0.50", "0.50", f"0.50 {CHOSE}", "0 of 2", "1"],
        [OURS, f"{np.sqrt(0.5 * 4):.2f} (0.50–4.00)", "2.25", f"4.00 {CHECKED}", "1 of 2", "2"],
        [RANKING, "2.00", "2.00", f"2.00 {CHOSE}", "1 of 1", "2"],
    ]
    contests = [SimpleNamespace(part="pairs", **key._asdict()) for key in (MANY, OTHER)]
    tables = field_tables(together, contests)
    assert [name for name, table in tables.items() if OURS_SHARED in table] == ["field harm"]


def test_intervals_do_not_depend_on_the_order_of_contests(results: pd.DataFrame) -> None:
    regrets = over_budget(curves(results))
    assert versus(regrets, OURS, RANDOM, [MANY, OTHER]) == versus(regrets, OURS, RANDOM, [OTHER, MANY])


def test_pictures_name_the_best_and_are_drawn(results: pd.DataFrame, tmp_path: Path) -> None:
    found = curves(results)
    regrets = over_budget(found)
    assert named_peers(regrets, [FEW, MANY, OTHER]) == [OURS, OURS_PLAIN, RANDOM]
    # Two finished runs of chance, three of ours: (0.8 + 0.8 + 0.1) / 3.
    assert mean_curves(found, [MANY, OTHER])[OURS][2].tolist() == pytest.approx([0.1, 1.7 / 3])
    assert mean_curves(found, [MANY, OTHER])[RANDOM][2].tolist() == pytest.approx([0.4, 0.4])
    unmet = Key("Branin", "same", 150, 0.0)
    for kind in ("ranks", "trials"):
        figure_of(found, kind, "pairs", [FEW, MANY, OTHER, unmet]).savefig(tmp_path / kind)
    assert len(list(tmp_path.iterdir())) == 2
    with pytest.raises(LookupError, match="no results of tunedprior beside BoTorch"):
        figure_of(found, "contests", "pairs", [FEW, MANY])
    with pytest.raises(LookupError, match="none in families"):
        figure_of(found, "ranks", "families", [unmet])
