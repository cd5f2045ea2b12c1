"""The tables of docs/tables_goals.md."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.comparison import LEAST_REGRET, Estimate, estimated, mean_values, paired_ratio
from benchmarks.problems.several_responses import FUNCTIONS, POOLS
from benchmarks.studies.goals.campaigns import OF_A_BOUND, OF_A_MIXTURE, OF_ADVICE, WORTHWHILE, side_by_side
from benchmarks.studies.goals.jobs import (
    ALONE,
    ANY_MIXTURE,
    HYPERVOLUME,
    MEASURED_MIXTURE,
    OURS,
    SAMPLER,
    SQUARED,
    TARGETED,
)
from benchmarks.studies.speed.cells import number, ratio_of, table_of, time_of
from benchmarks.tables import markdown, marked, with_interval

_TOGETHER = "geometric mean"
_EVERY = "all"
#: Of the wanted length, µm.
NEAR = 10.0
_AS_GOOD = 1e-9
_BINS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)


def goal_tables(found: Mapping[str, pd.DataFrame], timed: Sequence[Mapping[str, Any]] = ()) -> dict[str, str]:
    """The table of each part that there are results of, by its name."""
    makers: dict[str, Callable[[pd.DataFrame], str | None]] = {
        "hypervolume": lambda results: _ratios(results, HYPERVOLUME, {"functions": FUNCTIONS, "measured": POOLS}),
        "constrained": lambda results: _ratios(results, SAMPLER, {}),
        "mixtures": _mixtures,
        "fibre": _fibre,
        "recommend": _recommend,
        "remaining": _remaining,
        "probability": _probability,
    }
    results = dict(found) | ({"probability": found["remaining"]} if "remaining" in found else {})
    made = {f"goals {name}": make(results[name]) for name, make in makers.items() if name in results}
    if timed:
        made["goals speed"] = _speed(timed)
    return {name: table for name, table in made.items() if table is not None}


def _ratios(results: pd.DataFrame, baseline: str, groups: Mapping[str, Sequence[str]]) -> str | None:
    """Mean regret over the baseline's: a row for each problem, for groups of them and for all."""
    regrets = mean_values(results, ("problem", "method"))
    problems = list(dict.fromkeys(results["problem"]))
    methods = [method for method in (OURS, ALONE) if all(_shared(regrets, [one], method, baseline) for one in problems)]
    if not methods:
        return None
    rows = {problem: [problem] for problem in problems}
    for told, members in groups.items():
        some = [problem for problem in problems if problem in members]
        rows |= {f"{_TOGETHER}, {told}": some} if 1 < len(some) < len(problems) else {}
    rows |= {_TOGETHER: problems} if len(problems) > 1 else {}
    cells = [
        {
            "problem": told,
            f"{baseline}: mean regret": _mean(regrets, some, baseline) if told in problems else "",
            "seeds": str(min(len(_shared(regrets, some, method, baseline)) for method in methods)),
        }
        | {f"{method} / {baseline}": marked(_ratio(regrets, some, method, baseline)) for method in methods}
        for told, some in rows.items()
    ]
    return markdown(pd.DataFrame(cells).set_index("problem"))


def _ratio(regrets: pd.DataFrame, problems: Sequence[str], method: str, baseline: str) -> Estimate:
    shared = _shared(regrets, problems, method, baseline)
    own, base = (regrets.loc[[(one, name) for one in problems], shared].to_numpy() for name in (method, baseline))
    return paired_ratio(own, base, least=LEAST_REGRET)


def _shared(regrets: pd.DataFrame, problems: Sequence[str], *methods: str) -> list[int]:
    """The seeds that all of the methods were run with on all of the problems."""
    places = [(problem, method) for problem in problems for method in methods]
    if not all(place in regrets.index for place in places):
        return []
    return regrets.loc[places].dropna(axis="columns").columns.tolist()


def _mean(regrets: pd.DataFrame, problems: Sequence[str], method: str) -> str:
    return f"{np.nanmean(regrets.loc[[(problem, method) for problem in problems]].to_numpy()):.3f}"


def _mixtures(results: pd.DataFrame) -> str | None:
    apart = side_by_side(results, OF_A_MIXTURE)
    regrets = mean_values(apart.rename(columns={"regret": "value"}), ("problem", "method"))
    problems = list(dict.fromkeys(results["problem"]))
    if not all(_shared(regrets, [problem], ANY_MIXTURE, MEASURED_MIXTURE) for problem in problems):
        return None
    rows = {problem: [problem] for problem in problems} | ({_TOGETHER: problems} if len(problems) > 1 else {})
    free = apart[apart["method"] == ANY_MIXTURE]
    cells = [
        {
            "pair": told,
            **{f"{method}: mean regret": _mean(regrets, some, method) for method in (MEASURED_MIXTURE, ANY_MIXTURE)},
            "any / measured": marked(_ratio(regrets, some, ANY_MIXTURE, MEASURED_MIXTURE)),
            "largest distance of a sum from 1": f"{free.loc[free['problem'].isin(some), 'deviation'].max():.0e}",
        }
        for told, some in rows.items()
    ]
    return markdown(pd.DataFrame(cells).set_index("pair"))


def _fibre(results: pd.DataFrame) -> str | None:
    """Trials until a fibre is near enough; a campaign without one counts as one trial more than it had."""
    last = int(results["step"].max())
    near = results[results["value"] <= NEAR].groupby(["method", "seed"])["step"].min()
    tried = results.groupby(["method", "seed"])["step"].max()
    trials = near.reindex(tried.index).fillna(last + 1).unstack("seed")
    if not {TARGETED, SQUARED} <= set(trials.index):
        return None
    both = trials.loc[[TARGETED, SQUARED]].dropna(axis="columns")
    targeted, squared = both.to_numpy()
    rows = [
        {
            "way": method,
            "campaigns": str(len(own)),
            f"mean trials until within {NEAR:g} µm (95 %)": with_interval(estimated(np.mean, own)),
            "median": f"{np.median(own):g}",
            "without one": str(int((own > last).sum())),
        }
        for method, own in ((TARGETED, targeted), (SQUARED, squared))
    ]
    fewer = estimated(np.mean, targeted - squared)
    difference = f"{fewer.middle:.2f} ({fewer.low:.2f} to {fewer.high:.2f})"
    paired = {"way": "difference, in pairs", "campaigns": str(len(targeted)), list(rows[0])[2]: difference}
    return markdown(pd.DataFrame([*rows, paired]).fillna("").set_index("way"))


def _recommend(results: pd.DataFrame) -> str:
    """How often the recommended setting is as good as the one measured best, or better, and by how much on average."""
    apart = side_by_side(results, OF_ADVICE)
    gain = apart["recommended"] - apart["best measured"]
    apart = apart.assign(held=(gain >= -_AS_GOOD).astype(float), gain=gain)
    groups = [*apart.groupby(["problem", "noise"], sort=False), *apart.groupby("noise"), (_EVERY, apart)]
    rows = []
    for key, own in groups:
        problem, noise = key if isinstance(key, tuple) and len(key) == 2 else (_EVERY, key)
        by_seed = own.groupby("seed")[["held", "gain"]].mean()
        rows.append(
            {
                "function": problem,
                "noise": noise if noise == _EVERY else f"{np.atleast_1d(noise)[0]:g}",
                "campaigns": str(len(own)),
                "as good or better (95 %)": with_interval(estimated(np.mean, by_seed["held"].to_numpy())),
                "mean gain": f"{by_seed['gain'].mean():.3f}",
            }
        )
    return markdown(pd.DataFrame(rows).set_index("function"))


def _remaining(results: pd.DataFrame) -> str:
    """How often the bound held, how wide it was, and how good the probability of a worthwhile gain is."""
    apart = side_by_side(results, OF_A_BOUND)
    apart = apart.assign(
        held=(apart["regret"] <= apart["bound"]).astype(float),
        wide=apart["bound"] / apart["regret"].clip(lower=LEAST_REGRET),
        truth=(apart["regret"] > WORTHWHILE).astype(float),
    )
    apart = apart.assign(error=(apart["probability"] - apart["truth"]) ** 2)
    rows = []
    for problem, own in [*apart.groupby("problem", sort=False), (_EVERY, apart)]:
        often = own["truth"].mean()
        rows.append(
            {
                "function": problem,
                "results": f"{len(own):,}",
                "bound held (95 %)": with_interval(estimated(np.mean, own.groupby("seed")["held"].mean().to_numpy())),
                "median of bound / regret": f"{own['wide'].median():.1f}",
                f"regret above {WORTHWHILE:g}": f"{often:.2f}",
                "Brier score": f"{own['error'].mean():.3f}",
                "Brier score of that share": f"{often * (1 - often):.3f}",
            }
        )
    return markdown(pd.DataFrame(rows).set_index("function"))


def _probability(results: pd.DataFrame) -> str:
    """The probability of a worthwhile gain beside how often there was one."""
    apart = side_by_side(results, OF_A_BOUND)
    within = pd.cut(apart["probability"], list(_BINS), include_lowest=True)
    rows = [
        {
            "told": f"{max(interval.left, 0.0):g} to {interval.right:g}",
            "results": f"{len(own):,}",
            "mean probability": f"{own['probability'].mean():.2f}",
            "share with such a gain": f"{(own['regret'] > WORTHWHILE).mean():.2f}",
        }
        for interval, own in apart.groupby(within, observed=True)
    ]
    return markdown(pd.DataFrame(rows).set_index("told"))


def _speed(rows: Sequence[Mapping[str, Any]]) -> str:
    columns = {"seed": lambda row: str(row["seed"]), "inputs": number("inputs"), "results": number("results")}
    columns |= {name: time_of(name) for name in (OURS, ALONE, SAMPLER)}
    columns |= {f"{name} / {SAMPLER}": ratio_of(name, SAMPLER) for name in (OURS, ALONE)}
    ratios = [median(row[name] / row[SAMPLER] for row in rows) for name in (OURS, ALONE)]
    last = ["median", *[""] * (len(columns) - 3), *(f"{ratio:.2f}" for ratio in ratios)]
    return f"{table_of(columns, list(rows))}\n| {' | '.join(last)} |"
