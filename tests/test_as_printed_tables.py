"""The tables of Algorithm 1 as printed, computed from the stored results without the code that wrote them."""

import pytest

from support import experiment1
from support.cells import marked_agrees, methods_in, tables, unmarked_agrees, wrong_cells
from support.claims_as_printed import AS_PRINTED, SETS, WITHOUT_ACKLEY, reweighted, variant
from support.stored import PAPER, SHIFTED, STANDARD, TUNED, curves, runs

EXPERIMENTS = "docs/experiments.md"


@pytest.mark.parametrize(("name", "seeds"), list(zip(("choosing", "confirming"), SETS, strict=True)))
def test_algorithm1_as_printed_and_what_differs_from_it(name: str, seeds: range) -> None:
    expected = {
        method: {problem: variant([problem], method, STANDARD, seeds) for problem in PAPER}
        | {
            "geometric mean": variant(PAPER, method, STANDARD, seeds),
            f"over {TUNED}": variant(PAPER, method, TUNED, seeds),
            "… without Ackley": variant(WITHOUT_ACKLEY, method, TUNED, seeds),
        }
        for method in methods_in(EXPERIMENTS, f"as printed, {name} seeds")
    }
    assert set(expected) == set(runs("as_printed")["method"]) - {STANDARD}
    assert wrong_cells(EXPERIMENTS, f"as printed, {name} seeds", expected) == []


def test_algorithm1_as_printed_on_shifted_copies() -> None:
    expected = {
        method: {
            head: estimate
            for name, seeds in zip(("choosing", "confirming"), SETS, strict=True)
            for head, estimate in (
                *((f"{problem}, {name}", variant([problem], method, STANDARD, seeds)) for problem in SHIFTED),
                (f"over {TUNED}, {name}", variant(SHIFTED, method, TUNED, seeds)),
            )
        }
        for method in methods_in(EXPERIMENTS, "as printed, shifted")
    }
    assert AS_PRINTED in expected
    assert wrong_cells(EXPERIMENTS, "as printed, shifted", expected) == []


def in_words(seeds: set[int]) -> str:
    """Seeds as a table has them."""
    words, ordered = "", sorted(seeds)
    for seed in ordered:
        if seed - 1 not in seeds:
            words += f", {seed}"
            if seed + 1 in seeds:
                words += f"–{next(end for end in ordered if end > seed and end + 1 not in seeds)}"
    return words.removeprefix(", ")


def test_experiment_1_with_the_papers_methods_as_it_states_them() -> None:
    head, rows = tables(EXPERIMENTS)["experiment 1"]
    assert head[:2] == ["method", "seeds"]
    assert {row[0] for row in rows} >= {AS_PRINTED, *experiment1.OF_THE_PAPER}
    assert {row[0] for row in rows} >= {f"{name} (as stated)" for name in ("EI", "GPUCB", "envEI", "diffGPUCB")}
    for method, seeds, *cells in rows:
        assert seeds == in_words(experiment1.seeds_of(method))
        for title, cell in zip(head[2:], cells, strict=True):
            base, _, but = title.removeprefix("over ").partition(", ")
            names = {"": PAPER, "without Ackley": WITHOUT_ACKLEY}[but]
            assert marked_agrees(cell, experiment1.over(method, base, names)), (method, title, cell)


def test_experiment_1_by_function() -> None:
    methods = methods_in(EXPERIMENTS, "experiment 1, by function")
    assert methods == methods_in(EXPERIMENTS, "experiment 1")
    expected = {method: {name: experiment1.over(method, names=[name]) for name in PAPER} for method in methods}
    assert wrong_cells(EXPERIMENTS, "experiment 1, by function", expected) == []


def test_ranks_among_the_papers_twelve_methods() -> None:
    head, rows = tables(EXPERIMENTS)["experiment 1, ranks"]
    assert [row[0] for row in rows] == list(experiment1.OF_THE_PAPER)
    for place, title in enumerate(head[1:], start=1):
        contest, seeds = title.removesuffix(")").split(" (")
        found, ranks = experiment1.ranks(contest)
        assert seeds == in_words(found)
        for row in rows:
            assert unmarked_agrees(row[place], ranks[row[0]]), (title, row)
        assert sum(one.middle for one in ranks.values()) == pytest.approx(78)


def test_the_reweighted_prior_on_functions() -> None:
    groups = {name: (name,) for name in (*PAPER, *SHIFTED)} | {
        "the six": tuple(PAPER),
        "without Ackley": WITHOUT_ACKLEY,
        "shifted copies": tuple(SHIFTED),
    }
    expected = {
        name: {"reweighted-EI": reweighted(*names), TUNED: variant(names, TUNED, STANDARD, SETS[1])}
        for name, names in groups.items()
    }
    assert wrong_cells(EXPERIMENTS, "reweighted functions", expected) == []


def test_the_reweighted_prior_on_the_corpus() -> None:
    found = curves("reweighted_corpus").pivot(index=["problem", "seed"], columns="step", values="value").dropna()
    of_family = found.groupby(lambda pair: pair[0].split("__")[0]).mean()
    head, rows = tables(EXPERIMENTS)["reweighted corpus"]
    assert head == ["family", "role", "6 results", "12 results", "24 results", "mean"]
    assert {row[0] for row in rows} == set(of_family.index)
    for family, _, *cells in rows:
        many = of_family.loc[family]
        gains = [many[step] - many[3 + step] for step in (1, 2, 3)]
        assert cells == [f"{gain:+.2f}" for gain in (*gains, sum(gains) / 3)], family
