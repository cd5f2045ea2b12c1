"""The tables of docs/transfer.md."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from benchmarks.comparison import kinds_in_order, mean_regrets, problems_in_order, ratio, tried
from benchmarks.methods.by_name import AVERAGE, RIVAL
from benchmarks.problems.functions import PAPER, SHIFTED
from benchmarks.problems.kinds import FLIPPED, KINDS, OTHER_KINDS
from benchmarks.studies.belief_pair_tables import all_pair_tables
from benchmarks.tables import markdown, marked, with_interval

_TOGETHER = "geometric mean"
#: The prior's numbers were chosen on seeds below this.
FIRST_FREE_SEED = 10
#: What the average over beliefs should reach: geometric mean over functions, worst function.
TARGETS = dict.fromkeys(("flipped", "same", "squared", "noisy flip"), (0.45, 1.05)) | {
    "shifted": (0.75, 1.15),
    "binary labels": (0.85, 1.15),
    "another function": (1.00, 1.15),
    "pure noise": (1.00, 1.15),
}


def all_belief_tables(found: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """What `python -m benchmarks beliefs` shows, for those of its parts that were run."""
    tables: dict[str, str] = {}
    if "functions" in found:
        tables["beliefs kinds"] = _by_kind(found["functions"])
        tables["beliefs functions"] = _by_function(found["functions"])
    if "continuous" in found:
        tables["beliefs continuous"] = _by_function(found["continuous"])
    tables |= all_pair_tables(found)
    if "experiments" in found:
        tables["beliefs rival"] = _against_the_rival(found["experiments"], first=3)
    return tables


def _against_the_rival(results: pd.DataFrame, first: int) -> str:
    """The average beside the multi-task process and divided by it, in the paper's experiments, where both were run."""
    regrets = mean_regrets(results, first)
    every, _, seeds = tried(results, FLIPPED)
    some, _, few = tried(results, OTHER_KINDS[0])
    late = {seed for seed in seeds if seed >= FIRST_FREE_SEED}
    groups = [
        (FLIPPED, "the paper's six", PAPER, seeds),
        (FLIPPED, "shifted copies", SHIFTED, seeds),
        (FLIPPED, f"all {len(every)}", every, seeds),
        (FLIPPED, f"all {len(every)}", every, late),
        *((kind, ", ".join(some), some, few) for kind in KINDS),
    ]
    rows = [
        {
            "old data": kind,
            "functions": told,
            "seeds": f"{min(which)} to {max(which)}",
            **{method: with_interval(ratio(regrets, names, kind, method, which)) for method in (AVERAGE, RIVAL)},
            f"{AVERAGE} over {RIVAL}": marked(ratio(regrets, names, kind, AVERAGE, which, kind, RIVAL)),
        }
        for kind, told, names, which in groups
    ]
    return markdown(pd.DataFrame(rows).set_index("old data"))


def _by_kind(results: pd.DataFrame) -> str:
    regrets, names, kinds = mean_regrets(results), problems_in_order(results), kinds_in_order(results)
    # The rival has been run on some functions and seeds only; there the two are compared.
    of_rival = results[results["method"] == RIVAL]
    some, few = problems_in_order(of_rival), set(of_rival["seed"])
    both = {method: [ratio(regrets, some, kind, method, few).middle for kind in kinds] for method in (AVERAGE, RIVAL)}
    cells = {
        "geometric mean over functions (95 %)": [with_interval(ratio(regrets, names, kind, AVERAGE)) for kind in kinds],
        "worst function": [_worst(regrets, names, kind) for kind in kinds],
        "target": ["≤ {:.2f} / {:.2f}".format(*TARGETS[kind]) for kind in kinds],
    }
    table = pd.DataFrame(cells, index=pd.Index(kinds, name="old data")).reindex([*kinds, "all kinds"], fill_value="")
    for method, ratios in both.items():
        every = [*ratios, float(np.exp(np.log(ratios).mean()))]
        table[f"{method}, {len(some)} functions, seeds: {len(few)}"] = [f"{value:.2f}" for value in every]
    return markdown(table)


def _worst(regrets: pd.DataFrame, names: Sequence[str], kind: str) -> str:
    ratios = {name: ratio(regrets, [name], kind, AVERAGE) for name in names}
    name = max(ratios, key=lambda one: ratios[one].middle)
    return f"{with_interval(ratios[name])} {name}"


def _by_function(results: pd.DataFrame) -> str:
    """A row for each function, a column for each kind."""
    regrets, rows = mean_regrets(results), _each_and_all(results)
    cells = {
        kind: [marked(ratio(regrets, names, kind, AVERAGE)) for names in rows.values()]
        for kind in kinds_in_order(results)
    }
    return markdown(pd.DataFrame(cells, index=pd.Index(list(rows), name="function")))


def _each_and_all(results: pd.DataFrame) -> dict[str, list[str]]:
    names = problems_in_order(results)
    return {name: [name] for name in names} | {_TOGETHER: names}
