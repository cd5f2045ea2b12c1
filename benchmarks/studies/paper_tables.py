"""The tables of docs/experiments.md."""

from collections.abc import Mapping, Sequence

import pandas as pd

from benchmarks.comparison import mean_regrets, mean_values, paired_ratio, quartiles, ratio, tried
from benchmarks.methods.by_name import BASELINE, METHODS
from benchmarks.problems.fibre import space
from benchmarks.problems.functions import FAILURES, PAPER, SHIFTED
from benchmarks.problems.kinds import FLIPPED, KINDS, OTHER_KINDS
from benchmarks.tables import markdown, marked, median_and_quartiles, with_interval

_LEAST_MISS = 1e-3  # µm
_EVERY = (*PAPER, *SHIFTED, *FAILURES)
_CHOSE_THE_FLOOR = ("Ackley", "Styblinski-Tang", "Himmelblau")
#: What a mean over the paper's functions rests on.
_SPLIT = {
    "all six": PAPER,
    "without Ackley": [name for name in PAPER if name != "Ackley"],
    "the three that chose the floor under λ": _CHOSE_THE_FLOOR,
    "the three that did not": [name for name in PAPER if name not in _CHOSE_THE_FLOOR],
}


def function_tables(results: pd.DataFrame, first: int) -> dict[str, str]:
    """Ratios of regret by method and function, medians with quartiles, and ratios by kind of old data.

    Args:
        results: The long table of campaigns on functions.
        first: How many settings are the same for all methods, and do not count.
    """
    regrets = mean_regrets(results, first)

    def ratios(names: Sequence[str], together: bool) -> str:
        return of_groups({name: [name] for name in names} | ({"geometric mean": list(names)} if together else {}))

    def of_groups(groups: Mapping[str, Sequence[str]]) -> str:
        cells = {
            head: [marked(ratio(regrets, group, FLIPPED, method)) for method in METHODS]
            for head, group in groups.items()
        }
        return markdown(pd.DataFrame(cells, index=pd.Index(list(METHODS), name="method")))

    tables = {
        "ratios paper": ratios(PAPER, together=True),
        "ratios split": of_groups(_SPLIT),
        "ratios shifted": ratios(SHIFTED, together=True),
        "ratios failures": ratios(FAILURES, together=False),
        "kinds": _kinds(results, regrets),
    }
    evaluations = int(results["step"].max())
    flipped = results[results["kind"] == FLIPPED]
    for step in sorted({first + (evaluations - first) // 3, evaluations}):
        found = quartiles(flipped[flipped["step"] == step], ("method", "problem"))
        cells = {name: [median_and_quartiles(found.loc[method, name]) for method in METHODS] for name in _EVERY}
        tables[f"medians after {step}"] = markdown(pd.DataFrame(cells, index=pd.Index(list(METHODS), name="method")))
    return tables


def _kinds(results: pd.DataFrame, regrets: pd.DataFrame) -> str:
    """The same functions, methods and seeds for every kind."""
    names, methods, seeds = tried(results, OTHER_KINDS[0])
    cells = {
        method: [with_interval(ratio(regrets, names, kind, method, seeds)) for kind in KINDS] for method in methods
    }
    return markdown(pd.DataFrame(cells, index=pd.Index(list(KINDS), name="old data")))


def fibre_tables(results: pd.DataFrame, simulated: bool) -> dict[str, str]:
    """How far the best fibre is from the target, in µm: medians, quartiles, and the mean over the baseline's."""
    misses = results.assign(value=results["value"] ** 0.5)
    means = mean_values(misses, ["method"], after=len(space("B")) + 1)
    evaluations = int(results["step"].max())
    kind = "simulated" if simulated else "measured"
    cells = {}
    for step in sorted({step for step in (10, 20, evaluations) if step <= evaluations}):
        found = quartiles(misses[misses["step"] == step], ["method"])
        cells[f"after {step} experiments ({kind}), µm"] = [
            median_and_quartiles(found.loc[method], ".1f") for method in METHODS
        ]
    base = means.loc[[BASELINE]].to_numpy()
    cells[f"mean over {BASELINE}'s"] = [
        marked(paired_ratio(means.loc[[method]].to_numpy(), base, least=_LEAST_MISS)) for method in METHODS
    ]
    return {f"fibre {kind}": markdown(pd.DataFrame(cells, index=pd.Index(list(METHODS), name="method")))}
