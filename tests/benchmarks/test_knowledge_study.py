"""Knowledge from people as old data: the rules against answers by hand, the study in small, its table as stored."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

from benchmarks.problems.knowledge import DRAWN, SKETCHED, ask_colleague, look_up_handbook, make_claim, read_patent
from benchmarks.problems.pairs import CHECKED_ON, IN_WORDS, Pair
from benchmarks.studies import knowledge
from support.cells import marked_agrees, tables
from support.stored import curves, knowledge_ratio


@pytest.fixture
def pair() -> Pair:
    """Twenty old rows: the response rises with heat, and B is 100 better than A; flow and the vessel are irrelevant."""
    rows = [(heat, number % 3, "AB"[number % 2], "xy"[number // 10]) for number, heat in enumerate(range(0, 100, 5))]
    old = pd.DataFrame(rows, columns=["heat", "flow", "catalyst", "vessel"])
    old = old.assign(y=old["heat"] + 100.0 * (old["catalyst"] == "B"))
    return Pair(
        name="invented",
        space={
            "heat": FloatDistribution(-50.0, 150.0),
            "flow": FloatDistribution(0.0, 2.0),
            "catalyst": CategoricalDistribution(["A", "B", "C"]),
            "vessel": CategoricalDistribution(["x", "y"]),
        },
        old=old,
        pool=old.drop(columns="y"),
        responses=old["y"].to_numpy(),
        direction="maximize",
        origin="invented here",
        licence="none",
    )


def test_a_claim_is_what_the_best_tenth_spans(pair: Pair) -> None:
    # The best two of twenty: heat 95 (row 19, flow 1) and 85 (row 17, flow 2), both with B in vessel y.
    assert make_claim(pair) == {"heat": (85.0, 95.0), "flow": (1.0, 2.0), "catalyst": ["B"], "vessel": ["y"]}
    # The least two: heat 0 (row 0, flow 0) and 10 (row 2, flow 2), both with A in vessel x.
    lowest = make_claim(replace(pair, direction="minimize"))
    assert lowest == {"heat": (0.0, 10.0), "flow": (0.0, 2.0), "catalyst": ["A"], "vessel": ["x"]}


def test_what_is_inside_a_claim_passes_and_nothing_else(pair: Pair) -> None:
    rows = read_patent(pair, seed=0)
    assert len(rows) == 2 * DRAWN
    for row in rows.to_dict("records"):
        inside = 85 <= row["heat"] <= 95 and 1 <= row["flow"] <= 2 and (row["catalyst"], row["vessel"]) == ("B", "y")
        assert row["y"] == ("pass" if inside else "fail")
    assert set(rows["y"][:DRAWN]) == {"pass"}
    anywhere = rows[DRAWN:]
    assert anywhere["heat"].min() < 0 < 100 < anywhere["heat"].max()
    assert set(anywhere["catalyst"]) == {"A", "B", "C"}
    assert not rows.equals(read_patent(pair, seed=1))


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_colleague_is_wrong_once(pair: Pair, direction: str) -> None:
    for seed in range(5):
        rows = ask_colleague(replace(pair, direction=direction), seed)
        known = rows.drop(columns="y").merge(pair.old)["y"]  # settings are all different
        better = known > 92.5 if direction == "maximize" else known < 92.5  # between 90 and 95 is the median
        assert len(rows) == SKETCHED
        assert ((rows["y"] == "pass") != better).sum() == 1


def test_a_handbook_has_means_of_what_matters_most(pair: Pair) -> None:
    table = look_up_handbook(pair)
    assert list(table) == ["catalyst", "heat", "y"]
    # Thirds of 0 to 95: up to 30, up to 60, above. A has 0, 10, 20, 30; 40, 50, 60; 70, 80, 90, and B the others.
    assert table["heat"].tolist() == [15, 50, 80, 15, 45, 80]
    assert table["y"].tolist() == [15, 50, 80, 120, 140, 180]  # 115 and 145 have three digits


def test_a_handbook_without_categories_has_levels_alone(pair: Pair) -> None:
    numbers = {name: pair.space[name] for name in ("heat", "flow")}
    table = look_up_handbook(replace(pair, space=numbers, old=pair.old[["heat", "flow"]].assign(y=pair.old["heat"])))
    assert table.to_dict("list") == {"heat": [15.0, 47.5, 80.0], "y": [15.0, 48.0, 80.0]}


def test_people_know_nothing_of_the_new_table(pair: Pair) -> None:
    other = replace(pair, pool=pair.pool[::-1], responses=-pair.responses)
    for knows in (look_up_handbook, lambda one: read_patent(one, 3), lambda one: ask_colleague(one, 3)):
        pd.testing.assert_frame_equal(knows(pair), knows(other))


def write_pair(folder: Path, name: str) -> None:
    """Two tables of the same invented response."""
    random = np.random.default_rng(0)
    (folder / name).mkdir()
    for file, rows in (("source", 30), ("target", 20)):
        table = pd.DataFrame({"a": random.uniform(0, 1, rows), "b": random.choice(["k", "l"], rows)})
        table.assign(y=np.sin(3 * table["a"]) + (table["b"] == "l")).to_csv(folder / name / f"{file}.csv", index=False)
    facts = {"inputs": ["a", "b"], "categorical": ["b"], "goal": "max", "origin": "invented here", "licence": "none"}
    (folder / name / "meta.json").write_text(json.dumps(facts))


@pytest.mark.parametrize("known", [knowledge.NOTHING, *knowledge.COMPARED])
@pytest.mark.usefixtures("short_search")
def test_a_campaign_with_what_people_know(tmp_path: Path, known: str) -> None:
    name = knowledge.NAMES[0]
    write_pair(tmp_path, name)
    curve = knowledge.regret(tmp_path, knowledge.KnowledgeJob(name, known, seed=0, trials=3))
    assert len(curve) == 3
    assert 0 <= curve[-1] <= curve[0] <= 1


def test_the_table_is_that_of_the_stored_results() -> None:
    results = curves("knowledge")
    assert (results.groupby(["problem", "knowledge"])["seed"].nunique() == 20).all()
    head, rows = tables("docs/tutorial_knowledge.md")["knowledge"]
    assert head[1:] == list(knowledge.COMPARED)
    assert [row[0] for row in rows] == [IN_WORDS[name] for name in knowledge.NAMES]
    for name, (_, *cells) in zip(knowledge.NAMES, rows, strict=True):
        for known, cell in zip(knowledge.COMPARED, cells, strict=True):
            assert marked_agrees(cell, knowledge_ratio(name, known, to=knowledge.NOTHING)), (name, known, cell)


def test_the_page_concludes_what_the_table_shows() -> None:
    three = (knowledge.HANDBOOK, knowledge.PATENT, knowledge.SKETCHES)
    middle = {
        (name, known): knowledge_ratio(name, known, to=knowledge.NOTHING)
        for name in knowledge.NAMES
        for known in knowledge.COMPARED
    }
    amide, suzuki, *graphene, reversed_pair = knowledge.NAMES
    alone_or_together = (*three, knowledge.TOGETHER, knowledge.SAME)
    assert all(middle[name, one].middle <= 0.805 for name in graphene for one in alone_or_together)
    assert all(middle[name, one].low[0] < 1 < middle[name, one].high[1] for name in (amide, suzuki) for one in three)
    assert middle[reversed_pair, knowledge.PATENT].middle == pytest.approx(1.2, abs=0.05)
    assert middle[reversed_pair, knowledge.PATENT].low[1] < 1
    assert max(middle, key=lambda one: middle[one].middle) == (reversed_pair, knowledge.TABLE)
    assert max(alone_or_together, key=lambda one: middle[amide, one].middle) == knowledge.HANDBOOK
    for name in knowledge.NAMES:
        assert middle[name, knowledge.TOGETHER].middle > min(middle[name, one].middle for one in three) - 0.005
    assert sum(middle[name, knowledge.TABLE].middle < 0.51 for name in knowledge.NAMES) == 2


def test_which_pairs_chose_numbers_of_the_prior() -> None:
    assert [name in CHECKED_ON for name in knowledge.NAMES] == [True, True, False, False, False]  # as the study says
