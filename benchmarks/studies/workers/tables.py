"""From what the study of workers measured to the tables of docs/tables_workers.md."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from benchmarks.comparison import LEAST_REGRET, Estimate, estimated, paired_ratio
from benchmarks.studies.goals.campaigns import side_by_side
from benchmarks.studies.speed.cells import readable
from benchmarks.studies.workers.at_once import OF_ASKING
from benchmarks.studies.workers.faults import OF_A_FAULT
from benchmarks.studies.workers.one_trial import LIMIT, MOST_MEMORY, OF_A_LARGE_STUDY, OF_A_PAIR
from benchmarks.studies.workers.samplers import METHODS
from benchmarks.studies.workers.scaling import WORKERS
from benchmarks.tables import markdown, with_interval

#: What is wanted: at most so much of the rival's time by trials, of its time for eight that ask at once, of one
#: worker's time by workers, and seconds for a trial of a large study.
TIMES = {50: 1.0, 200: 1.0, 1000: 1.5}
ASKS = 1.0
SCALING = {2: 0.55, 4: 0.30}
LARGE = 5.0
_NOTHING = "–"


def worker_tables(found: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Of every part that there are results of."""
    made = {
        "time": time_table,
        "asks": ask_table,
        "scaling": scaling_table,
        "faults": fault_table,
        "large": large_table,
    }
    return {name: make(found[name]) for name, make in made.items() if name in found and len(found[name])}


def median_ratio(own: np.ndarray, rival: np.ndarray) -> Estimate:
    """The median of the ratios of what belongs together, with the interval of a bootstrap."""
    return estimated(lambda ratios, axis: np.median(ratios, axis=axis), np.asarray(own) / np.asarray(rival))


def within(value: float, target: float | None) -> str:
    """Whether a target is met."""
    return _NOTHING if target is None else f"≤ {target:g}: {'yes' if round(value, 2) <= target else '**no**'}"


def time_table(results: pd.DataFrame) -> str:
    """Seconds of a trial, and the ratios of trials that took turns."""
    rows = {}
    for (method, rival, storage, trials), some in _groups(side_by_side(results, OF_A_PAIR), "storage", "trials"):
        ratio = median_ratio(some["own seconds"].to_numpy(), some["rival seconds"].to_numpy())
        rows[f"{storage}, {trials:,} trials"] = {
            method: readable(some["own seconds"].median()),
            rival if rival != method else f"{rival} again": readable(some["rival seconds"].median()),
            "ratio": with_interval(ratio),
            "wanted": within(ratio.middle, TIMES.get(trials)),
        }
    return _table(rows, "a trial")


def ask_table(results: pd.DataFrame) -> str:
    """Seconds until all have their settings, and how many settings differ at the least."""
    rows = {}
    for (method, rival, way, trials), some in _groups(side_by_side(results, OF_ASKING), "way", "trials"):
        again = rival if rival != method else f"{rival} again"
        ratio = median_ratio(some["own seconds"].to_numpy(), some["rival seconds"].to_numpy())
        rows[f"{way}, {trials:,} trials"] = {
            method: readable(some["own seconds"].median()),
            again: readable(some["rival seconds"].median()),
            "ratio": with_interval(ratio),
            "wanted": within(ratio.middle, ASKS),
            f"different: {method}": f"{some['own different'].min():.0f}",
            f"different: {again}": f"{some['rival different'].min():.0f}",
        }
    return _table(rows, "eight that ask")


def scaling_table(results: pd.DataFrame) -> str:
    """Wall time and mean regret over one worker's, in pairs of seeds."""
    walls = results[results["step"] == 1].pivot_table(index=["method", "workers"], columns="seed", values="value")
    later = results[results["step"] > 1]
    regrets = later.groupby(["method", "workers", "seed"])["value"].mean().unstack("seed")
    rows = {}
    for method in _in_order(set(results["method"])):
        for workers in sorted(set(results.loc[results["method"] == method, "workers"]), key=WORKERS.index):
            shared = pd.concat([walls.loc[[(method, workers), (method, 1)]]]).dropna(axis="columns").columns
            own, one = walls.loc[(method, workers), shared].to_numpy(), walls.loc[(method, 1), shared].to_numpy()
            ratio = median_ratio(own, one)
            compared = [regrets.loc[[(method, count)], shared].to_numpy() for count in (workers, 1)]
            rows[f"{method}, {workers}"] = {
                "in all": readable(float(np.median(own))),
                "of one worker's time": _NOTHING if workers == 1 else with_interval(ratio),
                "wanted": within(ratio.middle, SCALING.get(workers)),
                "mean regret": f"{compared[0].mean():.3f}",
                "of one worker's": _NOTHING if workers == 1 else with_interval(paired_ratio(*compared, LEAST_REGRET)),
            }
    return _table(rows, "sampler, workers")


def fault_table(results: pd.DataFrame) -> str:
    """Sums over all faults of a kind."""
    told = side_by_side(results, OF_A_FAULT)
    rows = {}
    for (method, loop, storage, fault), some in told.groupby(["method", "loop", "storage", "fault"], sort=False):
        rows[f"{method}, `{loop}`, {storage}, {fault}"] = (
            {
                "faults": len(some),
                "studies that went on": f"{(some['afterwards'] > 0).sum()}",
                "completed": f"{some['completed'].sum():.0f} of {some['trials'].sum()}",
            }
            | {name: f"{some[name].sum():.0f}" for name in ("lost", "doubled", "stuck", "unmeasured")}
            | {"workers that ended": f"{some['ended'].sum():.0f}"}
        )
    return _table(rows, "sampler, loop, database, fault")


def large_table(results: pd.DataFrame) -> str:
    """A new worker's first trial reads the whole study; the second does not."""
    told = side_by_side(results, OF_A_LARGE_STUDY)
    rows = {}
    for method in _in_order(set(told["method"])):
        some = told[told["method"] == method]
        rows[method] = {
            "trials": f"{some['trials'].iloc[0]:,}",
            "first trial, reading the study": _or_more(some["first"].median()),
            "next trial": _or_more(some["second"].median()),
            "wanted": within(float(some["second"].median()), LARGE),
            "memory before": f"{some['before'].median():,.0f} MiB",
            "most memory": _NOTHING if np.isinf(some["peak"]).any() else f"{some['peak'].max():,.0f} MiB",
        }
    return _table(rows, "sampler")


def _or_more(seconds: float) -> str:
    return f"more than {LIMIT:g} s or {MOST_MEMORY} GiB" if np.isinf(seconds) else readable(seconds)


def _groups(told: pd.DataFrame, *by: str) -> list[tuple[tuple, pd.DataFrame]]:
    return list(told.groupby(["method", "rival", *by], sort=False))


def _in_order(methods: set[str]) -> Sequence[str]:
    return [name for name in METHODS if name in methods]


def _table(rows: Mapping[str, Mapping[str, object]], name: str) -> str:
    return markdown(pd.DataFrame.from_dict(rows, orient="index").fillna(_NOTHING).rename_axis(index=name))
