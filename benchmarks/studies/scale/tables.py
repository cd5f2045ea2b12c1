"""From what the study of scale measured to the tables of docs/performance.md."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from benchmarks.studies.goals.campaigns import side_by_side
from benchmarks.studies.scale.growing import OF_INPUTS, OF_MAKING, OF_PENDING, OF_TRIALS
from benchmarks.studies.scale.many_rows import OF_ROWS
from benchmarks.studies.speed.cells import readable
from benchmarks.tables import markdown

#: How far the answers of one pass and of the tree may be apart, relative to the largest.
WANTED = 1e-9


def scale_tables(found: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Of every part that there are results of."""
    tables = {name: TABLES[name](results) for name, results in found.items() if len(results)}
    if len(found.get("rows", ())):
        tables["billion"] = billion_table(found["rows"])
    return tables


def rows_table(results: pd.DataFrame) -> str:
    """One pass and the tree, side by side."""
    rows = {}
    for job in side_by_side(results, OF_ROWS).sort_values(["rows", "features"]).to_dict("records"):
        apart = job["predictions"]
        rows[f"{job['rows']:,}, {job['inputs']} inputs, {job['features kept']:,.0f} features"] = {
            "on disk": f"{job['gigabytes']:.2g} GB",
            "one pass": readable(job["one: in all"]),
            f"{job['workers']} workers": readable(job["tree: in all"]),
            "ratio": f"{job['tree: in all'] / job['one: in all']:.2f}",
            "of processors: one pass": readable(job["one: busy"]),
            "all workers": readable(job["tree: busy"]),
            "memory: one pass": _gib(job["one: most"]),
            "largest worker": f"{_gib(job['tree: most'])} ({_gib(job['tree: before'])} when it began)",
            "predictions differ by": f"{apart:.0e}",
            "wanted": f"≤ {WANTED:.0e}: {'yes' if apart <= WANTED else '**no**'}",
            "weights differ by": f"{job['weights']:.0e}",
        }
    return _table(rows, "rows")


def billion_table(results: pd.DataFrame) -> str:
    """What 10⁹ rows would take: the passes of one process, row by row, and what does not depend on rows."""
    rows = {}
    told = side_by_side(results, OF_ROWS).sort_values("rows").groupby("features kept", sort=True).tail(1)
    for job in told.to_dict("records"):
        passes = {name: job[f"one: {name}"] / job["rows"] for name in ("sample", "ranges", "equations")}
        fixed = job["one: in all"] - job["rows"] * sum(passes.values())
        busy = (job["tree: busy"] - fixed) / job["rows"]  # the process that chooses is counted among the workers
        rows[f"{job['inputs']} inputs, {job['features kept']:,.0f} features"] = {
            "from": f"{job['rows']:,} rows",
            **{f"{name}, a row": readable(seconds) for name, seconds in passes.items()},
            "choosing, once": readable(fixed),
            "10⁹ rows on one core": _long(1e9 * sum(passes.values()) + fixed),
            "of processors in the tree": _long(1e9 * busy),
            "on 64 cores": _long(1e9 * busy / 64 + fixed),
        }
    return _table(rows, "fit")


def sets_table(results: pd.DataFrame) -> str:
    """Making an optimiser, and a suggestion."""
    told = side_by_side(results, OF_MAKING).sort_values("sets")
    return _table({f"{job['sets']:,}": _made(job) for job in told.to_dict("records")}, "old data sets")


def inputs_table(results: pd.DataFrame) -> str:
    """The same, and what becomes of rows that are too many for a coefficient each."""
    rows = {}
    for job in side_by_side(results, OF_INPUTS).sort_values("inputs").to_dict("records"):
        kept = "features" if job["by features"] else "500 rows"
        rows[f"{job['inputs']:,}"] = _made(job) | {
            "`pretrain`, 2,000 rows": readable(job["many rows"]),
            "which is a fit of": kept,
            "variance that its features miss": "–" if np.isnan(job["missing"]) else f"{job['missing']:.1%}",
            "error": f"{job['error']:.2f}",
        }
    return _table(rows, "inputs")


def trials_table(results: pd.DataFrame) -> str:
    """A suggestion from nothing, and the next one."""
    rows = {}
    for job in side_by_side(results, OF_TRIALS).sort_values("trials").to_dict("records"):
        rows[f"{job['trials']:,}"] = {
            "results that models see": f"{job['used']:,.0f}",
            "first suggestion": readable(job["first"]),
            "after one more result": readable(job["next"]),
            "adding that result": readable(job["telling"]),
            "most memory": _gib(job["most"]),
        }
    return _table(rows, "results")


def pending_table(results: pd.DataFrame) -> str:
    """A suggestion beside others that are under way."""
    told = side_by_side(results, OF_PENDING).sort_values("pending")
    alone = told["suggestion"].iloc[0]
    rows = {
        f"{job['pending']:,}": {
            "a suggestion": readable(job["suggestion"]),
            "ratio to the first line": f"{job['suggestion'] / alone:.2f}",
            "most memory": _gib(job["most"]),
        }
        for job in told.to_dict("records")
    }
    return _table(rows, "settings under way")


TABLES: dict[str, Callable[[pd.DataFrame], str]] = {
    "rows": rows_table,
    "sets": sets_table,
    "inputs": inputs_table,
    "trials": trials_table,
    "pending": pending_table,
}


def _made(job: Mapping[str, float]) -> dict[str, str]:
    return {
        "to make the optimiser": readable(job["making"]),
        "a suggestion": readable(job["suggestion"]),
        "processes in the average": f"{job['processes']:,.0f}",
        "most memory": _gib(job["most"]),
    }


def _gib(size: float) -> str:
    return f"{size:.2f} GiB"


def _long(seconds: float) -> str:
    return f"{seconds / 3600:.2g} h" if seconds >= 3600 else f"{seconds / 60:.2g} min"


def _table(rows: Mapping[str, Mapping[str, object]], name: str) -> str:
    return markdown(pd.DataFrame.from_dict(rows, orient="index").rename_axis(index=name))
