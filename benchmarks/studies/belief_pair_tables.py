"""The tables of docs/transfer.md that are about measured pairs."""

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from benchmarks.comparison import Estimate, mean_regrets, over_problems, problems_in_order, ratio
from benchmarks.methods.by_name import AVERAGE, BASELINE, OWN_START, PLAIN, RIVALS, SOBOL_START
from benchmarks.problems.pairs import CHECKED_ON, CHOSEN_ON, MEASURED
from benchmarks.tables import markdown, marked, with_interval

#: What is compared with the baseline on every pair, in the order of its columns.
_COMPARED = (OWN_START, AVERAGE, PLAIN)
_LEAST_SECONDS = 0.01  # as they are stored
_TRIALS = (1, 2, 3, 5, 10)
_TOGETHER, _CHOSE, _CHECKED = "geometric mean", "those that chose", "those that chose nothing"


def all_pair_tables(found: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """The tables of measured pairs that there are results for."""
    made = {
        "beliefs pairs": _made(_by_pair, found.get("pairs")),
        "beliefs pair rivals": _made(_beside_rivals, found.get("pairs")),
        "beliefs first": _made(_after_the_first_trials, found.get("first")),
        "beliefs calibration": _made(_coverage, found.get("calibration")),
        "beliefs pair seconds": _made(_seconds, found.get("pairs")),
    }
    return {name: table for name, table in made.items() if table is not None}


def _made(make: Callable[[pd.DataFrame], str | None], results: pd.DataFrame | None) -> str | None:
    return None if results is None else make(results)


def _by_pair(results: pd.DataFrame) -> str | None:
    """A row for each pair, then for all of them; only methods that were run on all pairs."""
    regrets, names = mean_regrets(results), problems_in_order(results)
    methods = [method for method in _COMPARED if _shared_seeds(regrets, names, [method, BASELINE])]
    if not methods:
        return None

    def over(some: Sequence[str], method: str) -> Estimate:
        return ratio(regrets, some, MEASURED, method, None, MEASURED)

    rows = [
        {"pair": name, "chose": "yes" if name in CHOSEN_ON else "no"}
        | {method: marked(over([name], method)) for method in methods}
        for name in names
    ]
    each = {method: {name: over([name], method) for name in names} for method in methods}
    rows += [
        {"pair": told, "chose": ""}
        | {method: marked(over_problems([each[method][name].middle for name in some])) for method in methods}
        for told, some in _groups(names).items()
    ]
    summaries: dict[str, Callable[[dict[str, Estimate]], str]] = {
        "median": lambda found: f"{np.median([one.middle for one in found.values()]):.2f}",
        "better than 1": lambda found: f"{sum(one.middle < 1 for one in found.values())} of {len(found)}",
        "worst": _worst,
    }
    rows += [
        {"pair": told, "chose": ""} | {method: said(each[method]) for method in methods}
        for told, said in summaries.items()
    ]
    return markdown(pd.DataFrame(rows).set_index("pair"))


def _worst(each: dict[str, Estimate]) -> str:
    name = max(each, key=lambda one: each[one].middle)
    return f"{marked(each[name])} {name}"


def _beside_rivals(results: pd.DataFrame) -> str | None:
    """Each rival beside the average, on the pairs and seeds that both and the baseline were run with."""
    regrets, rows = mean_regrets(results), []
    for rival in RIVALS:
        names, seeds = _largest_block(regrets, [rival, AVERAGE, BASELINE])
        if not names:
            continue
        row = {"rival": rival, "pairs": str(len(names)), "seeds": _told(seeds)}
        for method in (rival, AVERAGE):
            each = [ratio(regrets, [name], MEASURED, method, seeds, MEASURED).middle for name in names]
            heads = ("the rival", "its worst") if method == rival else (AVERAGE, "the average's worst")
            row |= {heads[0]: with_interval(over_problems(each)), heads[1]: f"{max(each):.2f}"}
        paired = [ratio(regrets, [name], MEASURED, AVERAGE, seeds, MEASURED, rival).middle for name in names]
        rows.append(row | {"average over rival": marked(over_problems(paired))})
    return markdown(pd.DataFrame(rows).set_index("rival")) if rows else None


def _after_the_first_trials(results: pd.DataFrame) -> str | None:
    """Mean regret after so many trials, where old data chooses the first settings, over that of other starts."""
    names, last = problems_in_order(results), int(results["step"].max())
    if not _shared_seeds(mean_regrets(results), names, [OWN_START, SOBOL_START, BASELINE]):
        return None
    trials = [trial for trial in _TRIALS if trial <= last]
    after = {trial: mean_regrets(results[results["step"] == trial]) for trial in trials}
    rows = [
        {"own start over": method, "pairs": told}
        | {
            f"after {trial}": marked(
                over_problems(
                    [ratio(after[trial], [one], MEASURED, OWN_START, None, MEASURED, method).middle for one in some]
                )
            )
            for trial in trials
        }
        for method in (SOBOL_START, BASELINE)
        for told, some in _groups(names, f"all {len(names)}", "").items()
    ]
    return markdown(pd.DataFrame(rows).set_index("own start over"))


def _coverage(results: pd.DataFrame) -> str | None:
    """How many of what was measured next lay in their intervals, by method, in per cent."""
    rows = []
    for method in (AVERAGE, PLAIN):
        own = results[results["method"] == method]
        if own.empty:
            continue
        each = own.groupby("problem")["value"].mean()
        checked = own[own["problem"].isin(CHECKED_ON)]
        rows.append(
            {
                "method": method,
                "cases": f"{len(own):,}",
                f"all {len(each)} pairs": _per_cent(own["value"].mean()),
                _CHECKED: _per_cent(checked["value"].mean()) if len(checked) else "–",
                "least": f"{_per_cent(each.min())} {each.idxmin()}",
                "largest": f"{_per_cent(each.max())} {each.idxmax()}",
            }
        )
    return markdown(pd.DataFrame(rows).set_index("method")) if rows else None


def _seconds(results: pd.DataFrame) -> str | None:
    """Of a campaign, by method, beside the baseline's on the same pairs and seeds."""
    runs = results.drop_duplicates("run").set_index(["problem", "seed"])
    of_method = {method: rows["seconds"] for method, rows in runs.groupby("method")}
    rows = []
    for method in (BASELINE, *_COMPARED, *RIVALS):
        if method not in of_method or BASELINE not in of_method:
            continue
        both = pd.concat([of_method[method], of_method[BASELINE]], axis="columns", join="inner")
        if both.empty:
            continue
        own, base = both.median().tolist()
        row = {"method": method, "campaigns": str(len(both)), "seconds": f"{own:.1f}"}
        rows.append(row | {f"{BASELINE} on the same": f"{base:.1f}", "ratio": f"{own / max(base, _LEAST_SECONDS):.2f}"})
    return markdown(pd.DataFrame(rows).set_index("method")) if rows else None


def _groups(names: Sequence[str], every: str = _TOGETHER, before: str = f"{_TOGETHER}, ") -> dict[str, list[str]]:
    """All pairs, then by whether they chose the prior's numbers; groups without a pair are left out."""
    groups = {
        every: list(names),
        f"{before}{_CHOSE}": [name for name in names if name in CHOSEN_ON],
        f"{before}{_CHECKED}": [name for name in names if name in CHECKED_ON],
    }
    return {told: some for told, some in groups.items() if some}


def _shared_seeds(regrets: pd.DataFrame, names: Sequence[str], methods: Sequence[str]) -> set[int]:
    """The seeds that all of the methods were run with on all of the pairs."""
    places = [(name, MEASURED, method) for name in names for method in methods]
    if not all(place in regrets.index for place in places):
        return set()
    return set(regrets.loc[places].dropna(axis="columns").columns)


def _largest_block(regrets: pd.DataFrame, methods: Sequence[str]) -> tuple[list[str], list[int]]:
    """The pairs and seeds with the most campaigns that all methods were run with, every seed on every pair."""
    shared = {name: _shared_seeds(regrets, [name], methods) for name in (*CHOSEN_ON, *CHECKED_ON)}
    blocks = [([name for name, has in shared.items() if seeds <= has], seeds) for seeds in shared.values() if seeds]
    names, seeds = max(blocks, key=lambda block: len(block[0]) * len(block[1]), default=([], set()))
    return names, sorted(seeds)


def _told(seeds: Collection[int]) -> str:
    """As the first to the last where none is missing between them."""
    low, high = min(seeds), max(seeds)
    whole = len(seeds) == high - low + 1
    return f"{len(seeds)} ({low} to {high})" if whole and low < high else f"{len(seeds)} ({_listed(seeds)})"


def _listed(seeds: Collection[int]) -> str:
    return ", ".join(map(str, sorted(seeds)))


def _per_cent(share: float) -> str:
    return f"{100 * share:.1f} %"
