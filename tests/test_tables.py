"""Every cell of the documents' tables, computed from the stored results without the code that wrote them."""

import numpy as np
import pytest

from support.cells import marked_agrees, methods_in, tables, unmarked_agrees, wrong_cells
from support.field_regrets import SHARED_START, contest_ratios, on_pairs_alone
from support.pair_tables import PAIR_TABLES
from support.prose import agrees
from support.stored import (
    AVERAGE,
    CHECKED_PAIRS,
    CHOSE_THE_FLOOR,
    FAILURES,
    KIND_FUNCTIONS,
    KINDS,
    MORE,
    PAPER,
    RIVAL,
    SHIFTED,
    STANDARD,
    curves,
    demo,
    fibre_ratio,
    median,
    model_loss,
    model_ratio,
    over_problems,
    ratio,
    runs,
)
from tunedprior.beliefs import list_beliefs

EXPERIMENTS, BELIEFS, TRANSFER = "docs/experiments.md", "docs/beliefs.md", "docs/transfer.md"
ALL = (*PAPER, *SHIFTED, *FAILURES, *MORE)
TOGETHER = "geometric mean"
TARGETS = dict.fromkeys(("flipped", "same", "squared", "noisy flip"), "≤ 0.45 / 1.05") | {
    "shifted": "≤ 0.75 / 1.15", "binary labels": "≤ 0.85 / 1.15", "another function": "≤ 1.00 / 1.15",
    "pure noise": "≤ 1.00 / 1.15",
}  # fmt: skip


#: Tables of measurements that a test below computes, and tables of words.
CHECKED = {
    "docs/algorithm1.md": {
        "function | evaluations", "least λ | Ackley", "after trial | 5",
        "pruning", "pruning times", "pruning campaigns",
    },
    BELIEFS: set(),
    TRANSFER: {f"beliefs {name}" for name in ("kinds", "functions", "continuous", "rival")} | PAIR_TABLES,
    EXPERIMENTS: {
        *(f"ratios {name}" for name in ("paper", "split", "shifted", "failures")), "kinds", "fibre simulated",
        "medians after 10", "medians after 25",
        "experiment 1", "experiment 1, by function", "experiment 1, ranks", "reweighted functions", "reweighted corpus",
        *(f"as printed, {name}" for name in ("choosing seeds", "confirming seeds", "shifted")),
    },
}  # fmt: skip
OF_WORDS = {
    " | as the paper has it",
    "class | why",
    "belief | f has the kernel",
    "name | model",
    "`opt.trust.` | what it has",
}


@pytest.mark.parametrize("document", CHECKED)
def test_every_table_is_checked(document: str) -> None:
    assert set(tables(document)) - OF_WORDS == CHECKED[document]


def test_beliefs_are_those_of_the_code_with_their_prior_probabilities() -> None:
    head, rows = tables(BELIEFS)["belief | f has the kernel"]
    assert head[2] == "prior"
    said = {row[0].strip("`"): row[2] for row in rows}
    assert said == {one.name: f"{one.mass:.2f}" if one.in_default_average else "–" for one in list_beliefs()}
    assert [name for name, prior in said.items() if prior != "–"] == list(said)[:3]  # the default's come first


@pytest.mark.parametrize(("name", "problems"), [("paper", PAPER), ("shifted", SHIFTED), ("failures", FAILURES)])
def test_ratios_of_every_method_on_every_function(name: str, problems: tuple[str, ...]) -> None:
    methods = methods_in(EXPERIMENTS, f"ratios {name}")
    of_kind = runs("functions").query("kind == 'flipped'")
    assert sorted(methods) == sorted(set(of_kind["method"]))
    assert {AVERAGE, RIVAL, STANDARD} <= set(methods)
    groups = {problem: [problem] for problem in problems} | {TOGETHER: list(problems)}
    expected = {
        method: {head: ratio("functions", group, "flipped", method) for head, group in groups.items()}
        for method in methods
    }
    assert wrong_cells(EXPERIMENTS, f"ratios {name}", expected) == []


def test_what_the_geometric_means_rest_on() -> None:
    groups = {
        "all six": PAPER,
        "without Ackley": [name for name in PAPER if name != "Ackley"],
        "the three that chose the floor under λ": CHOSE_THE_FLOOR,
        "the three that did not": [name for name in PAPER if name not in CHOSE_THE_FLOOR],
    }
    expected = {
        method: {head: ratio("functions", group, "flipped", method) for head, group in groups.items()}
        for method in methods_in(EXPERIMENTS, "ratios paper")
    }
    assert wrong_cells(EXPERIMENTS, "ratios split", expected) == []


def test_ratios_by_kind_of_old_data() -> None:
    head, rows = tables(EXPERIMENTS)["kinds"]
    assert {AVERAGE, RIVAL} <= set(head)
    assert [row[0] for row in rows] == list(KINDS)
    for kind, *cells in rows:
        for method, cell in zip(head[1:], cells, strict=True):
            estimate = ratio("functions", KIND_FUNCTIONS, kind, method, seeds=range(5))
            assert unmarked_agrees(cell, estimate), (kind, method, cell)


@pytest.mark.parametrize("step", [10, 25])
def test_medians_and_quartiles(step: int) -> None:
    found = curves("functions").query("kind == 'flipped' and step == @step")
    values = found.groupby(["method", "problem"])["value"].apply(np.array)
    head, rows = tables(EXPERIMENTS)[f"medians after {step}"]
    assert head[1:] == [*PAPER, *SHIFTED, *FAILURES]
    for method, *cells in rows:
        for problem, cell in zip(head[1:], cells, strict=True):
            quartiles = np.quantile(values[method, problem], [0.5, 0.25, 0.75])
            assert cell == "{:.3f} ({:.3f}–{:.3f})".format(*quartiles), (method, problem)


def test_fibres() -> None:
    table = curves("fibre")
    head, rows = tables(EXPERIMENTS)["fibre simulated"]
    assert sorted(row[0] for row in rows) == sorted(set(table["method"]))
    assert [column.split()[1] for column in head[1:4]] == ["10", "20", "30"]
    for method, *cells, mean in rows:
        for step, cell in zip((10, 20, 30), cells, strict=True):
            values = table.query("method == @method and step == @step")["value"].to_numpy() ** 0.5
            assert cell == "{:.1f} ({:.1f}–{:.1f})".format(*np.quantile(values, [0.5, 0.25, 0.75])), (method, step)
        assert marked_agrees(mean, fibre_ratio(method)), (method, mean)


@pytest.mark.parametrize(("name", "study"), [("functions", "beliefs"), ("continuous", "beliefs_continuous")])
def test_the_average_on_every_function(name: str, study: str) -> None:
    head = tables(TRANSFER)[f"beliefs {name}"][0]
    found = set(runs(study)["problem"])
    problems = [problem for problem in ALL if problem in found]
    groups = {problem: [problem] for problem in problems} | {TOGETHER: problems}
    expected = {row: {kind: ratio(study, group, kind, AVERAGE) for kind in head[1:]} for row, group in groups.items()}
    assert wrong_cells(TRANSFER, f"beliefs {name}", expected) == []


def test_the_average_by_kind() -> None:
    some = ALL[::2]
    products = {AVERAGE: 1.0, RIVAL: 1.0}
    *rows, last = tables(TRANSFER)["beliefs kinds"][1]
    assert [row[0] for row in rows] == list(KINDS)
    for kind, together, worst, target, ours, theirs in rows:
        assert unmarked_agrees(together, ratio("beliefs", ALL, kind, AVERAGE)), kind
        each = {problem: ratio("beliefs", [problem], kind, AVERAGE) for problem in ALL}
        cell, problem = worst.split(") ", 1)
        assert problem == max(each, key=lambda one: each[one].middle)
        assert unmarked_agrees(f"{cell})", each[problem]), (kind, worst)
        assert target == TARGETS[kind]
        for method, printed in ((AVERAGE, ours), (RIVAL, theirs)):
            value = ratio("beliefs", some, kind, method, seeds=[100]).middle
            products[method] *= value
            assert agrees(printed, value), (kind, method)
    assert last[:4] == ["all kinds", "", "", ""]
    for printed, product in zip(last[4:], products.values(), strict=True):
        assert agrees(printed, product ** (1 / len(KINDS)))


def test_the_average_beside_its_strongest_rival() -> None:
    groups = {
        "the paper's six": PAPER, "shifted copies": SHIFTED, "all 10": (*PAPER, *SHIFTED, *FAILURES),
        ", ".join(KIND_FUNCTIONS): KIND_FUNCTIONS,
    }  # fmt: skip
    rows = tables(TRANSFER)["beliefs rival"][1]
    assert [row[0] for row in rows] == ["flipped"] * 4 + list(KINDS)
    for kind, functions, told, ours, theirs, over in rows:
        first, last = map(int, told.split(" to "))
        seeds = range(first, last + 1)
        assert unmarked_agrees(ours, ratio("functions", groups[functions], kind, AVERAGE, seeds=seeds)), (kind, told)
        assert unmarked_agrees(theirs, ratio("functions", groups[functions], kind, RIVAL, seeds=seeds)), (kind, told)
        paired = ratio("functions", groups[functions], kind, AVERAGE, to=RIVAL, seeds=seeds)
        assert marked_agrees(over, paired), (kind, functions, told, over)


def test_the_headline_of_the_comparison() -> None:
    """Ours over BoTorch without old data, every trial counted, with intervals over contests."""
    table = tables("docs/field.md")["field headline"]
    every, shared = contest_ratios("BoTorch"), contest_ratios("BoTorch", SHARED_START)
    problem, old, noise = (every.index.get_level_values(name) for name in ("problem", "old", "noise"))
    on_functions, unrelated = problem.isin(("Branin", "Hartmann-3", "Hartmann-6")), old.isin(KINDS[6:])
    expected = {
        "measured pairs": on_pairs_alone(every),
        "measured pairs, those held out": on_pairs_alone(every, CHECKED_PAIRS),
        "measured pairs, after BoTorch's own first settings": on_pairs_alone(shared),
        "tuning of scikit-learn's models": every[problem.str.contains(" on ") & (old != "several")],
        "functions, related old data": every[on_functions & ~unrelated & (noise == 0)],
        "functions, unrelated old data": every[on_functions & unrelated & (noise == 0)],
        "functions, with noise": every[noise > 0],
        "several old data sets": every[old == "several"],
        "all contests": every,
    }
    assert [len(one) for one in expected.values()] == [23, 11, 23, 8, 12, 6, 6, 6, 61]
    assert [row[0] for row in table[1]] == list(expected)
    for name, mean, median_contest, better, worst in table[1]:
        found = expected[name]
        assert marked_agrees(mean, over_problems(found.to_list())), (name, mean)
        assert agrees(median_contest, float(found.median())), name
        assert better == f"{(found < 1).sum()} of {len(found)}"
        number, contest = worst.split(" ", 1)
        assert agrees(number.strip("*"), float(found.max())), name
        assert contest.startswith(found.idxmax()[0]), name


def test_flipped_data_over_the_whole_square() -> None:
    found = curves("flipped")
    for problem, step, *cells in tables("docs/algorithm1.md")["function | evaluations"][1]:
        for with_old, cell in zip((False, True), cells, strict=True):
            of_seeds = found[found["seed"].isin(range(100, 120)) & (found["with_old"] == with_old)]
            rows = of_seeds[(of_seeds["problem"] == problem) & (of_seeds["step"] == int(step))]
            printed = cell.replace("(", "").replace(")", "").replace(" to ", " ").split()
            estimate = median(rows["value"].to_numpy())
            values = (estimate.middle, estimate.low, estimate.high)
            assert all(agrees(one, value) for one, value in zip(printed, values, strict=True)), (problem, step, cell)
            # A resampled median is one of few numbers, and the ends of its interval are among them.
            assert all(np.abs(estimate.draws - float(one)).min() < 1e-4 for one in printed), (problem, step, cell)


def test_the_floor_under_lambda() -> None:
    found = curves("lambda_floor")
    head, rows = tables("docs/algorithm1.md")["least λ | Ackley"]
    assert len(rows) == 5
    for told, *cells in rows:
        for problem, cell in zip(head[1:], cells, strict=True):
            of_floor = found["floor"].isna() if told == "no old data" else found["floor"] == float(told.strip("*"))
            assert agrees(cell, found[of_floor & (found["problem"] == problem)]["value"].mean()), (told, problem)


def test_the_demonstration() -> None:
    head, rows = tables("docs/algorithm1.md")["after trial | 5"]
    for (_, *cells), (prior, with_old) in zip(
        rows, (("average", True), ("reweighted", True), ("average", False)), strict=True
    ):
        found = demo(prior, with_old)
        assert sorted(set(found["seed"])) == list(range(8))
        for trial, cell in zip(map(int, head[1:]), cells, strict=True):
            assert agrees(cell, found[found["trial"] == trial]["distance"].mean()), (prior, with_old, trial)


def test_every_goal_with_every_model() -> None:
    """Mean losses, and their ratios to those of random search."""
    document, random, problems = "docs/tables_goals.md", "random search", ["Branin", "Hartmann-3"]
    assert set(runs("models").groupby(["goal", "model", "problem"])["seed"].nunique()) == {10}
    head, rows = tables(document)["models losses"]
    goals = [row[0] for row in rows]
    assert sorted(goals) == sorted(set(runs("models")["goal"]))
    assert sorted(head[1:]) == sorted(set(runs("models")["model"]))
    for goal, *cells in rows:
        for model, cell in zip(head[1:], cells, strict=True):
            assert unmarked_agrees(cell, model_loss(goal, problems, model)), (goal, model, cell)
    models = tables(document)["models ratios"][0][1:]
    assert {*models, random} == set(head[1:])
    groups = {f"{goal}, {problem}": ([goal], [problem]) for goal in goals for problem in problems}
    groups |= {f"{TOGETHER}, {problem}": (goals, [problem]) for problem in problems} | {TOGETHER: (goals, problems)}
    expected = {told: {model: model_ratio(*group, model, random) for model in models} for told, group in groups.items()}
    assert wrong_cells(document, "models ratios", expected) == []
