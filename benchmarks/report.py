"""Tables of the results, written into the documents between marks, so that they can be made again and compared."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.functions import FAILURES, PAPER, SHIFTED
from benchmarks.methods import BASELINE, METHODS
from benchmarks.old_data import KINDS

Results = Mapping[tuple, Sequence[float]]
_RESAMPLES = 2000
_LEAST_REGRET = 1e-3
_FLIPPED = "flipped"


def curves(results: Results, *key: str) -> np.ndarray:
    """All runs whose job begins with the key, a row for each seed in order."""
    found = {job[len(key)]: run for job, run in results.items() if job[: len(key)] == key}
    return np.array([found[seed] for seed in sorted(found)])


def ratio(results: Results, names: Sequence[str], kind: str, method: str, first: int) -> tuple[float, float, float]:
    """Mean regret after the first settings over the baseline's: the geometric mean over functions, and its interval.

    That is 95 % of a bootstrap over seeds, in pairs. The baseline sees no old data, so it has runs of one kind only.
    """
    rng = np.random.default_rng(0)
    logs, spread = [], []
    for name in names:
        own, base = curves(results, name, kind, method), curves(results, name, _FLIPPED, BASELINE)
        own, base = own[:, first:].mean(1), base[: len(own), first:].mean(1)
        logs.append(_log_ratio(own.mean(), base.mean()))
        picks = rng.integers(len(own), size=(_RESAMPLES, len(own)))
        spread.append(_log_ratio(own[picks].mean(1), base[picks].mean(1)))
    low, high = np.quantile(np.mean(spread, axis=0), (0.025, 0.975))
    return tuple(float(np.exp(value)) for value in (np.mean(logs), low, high))


def _log_ratio(own: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Regrets below a thousandth of the range are all the same to us, and to the logarithm."""
    return np.log(np.maximum(own, _LEAST_REGRET)) - np.log(np.maximum(base, _LEAST_REGRET))


def function_tables(results: Results, first: int) -> dict[str, str]:
    """Ratios of regret by method and function, medians with quartiles, and ratios by kind of old data."""
    parts = {"paper": PAPER, "shifted": SHIFTED, "failures": FAILURES}
    tables = {
        f"ratios {part}": _table(
            ["method", *names, "geometric mean"],
            METHODS,
            lambda method, names=names: [
                _ratio_cell(ratio(results, some, _FLIPPED, method, first)) for some in (*([n] for n in names), names)
            ],
        )
        for part, names in parts.items()
    }
    evaluations = len(next(iter(results.values())))
    every = (*PAPER, *SHIFTED, *FAILURES)
    for step in sorted({first + (evaluations - first) // 3, evaluations}):
        tables[f"medians after {step}"] = _table(
            ["method", *every],
            METHODS,
            lambda method, step=step: [
                _quartiles(curves(results, name, _FLIPPED, method)[:, step - 1]) for name in every
            ],
        )
    tried = {(job[0], job[1], job[2]) for job in results}
    other = [kind for kind in KINDS if kind != _FLIPPED]
    names = [name for name in every if any((name, kind, method) in tried for kind in other for method in METHODS)]
    methods = [method for method in METHODS if any((name, other[0], method) in tried for name in names)]
    tables["kinds"] = _table(
        ["old data", *methods],
        KINDS,
        lambda kind: [_ratio_cell(ratio(results, names, kind, method, first)) for method in methods],
    )
    return tables


def fibre_tables(results: Results, simulated: bool) -> dict[str, str]:
    """How far the best fibre is from the target, in µm: median and quartiles."""
    evaluations = len(next(iter(results.values())))
    steps = sorted({step for step in (10, 20, evaluations) if step <= evaluations})
    kind = "simulated" if simulated else "measured"
    head = ["method", *(f"after {step} experiments ({kind}), µm" for step in steps)]
    return {
        f"fibre {kind}": _table(
            head, METHODS, lambda method: [_quartiles(np.sqrt(curves(results, method)[:, s - 1]), ".1f") for s in steps]
        )
    }


def _table(head: Sequence[str], rows: Sequence[str] | Mapping[str, object], cells: Callable[[str], list[str]]) -> str:
    lines = [head, ["---"] * len(head), *([row, *cells(row)] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _ratio_cell(value: tuple[float, float, float]) -> str:
    """In bold where the interval leaves no doubt that it is better than the baseline, slanted where worse."""
    middle, low, high = value
    sure = low < high  # one seed has no interval
    mark = "**" if sure and high < 1 else "*" if sure and low > 1 else ""
    return f"{mark}{middle:.2f}{mark} ({low:.2f}–{high:.2f})"


def _quartiles(values: np.ndarray, form: str = ".3f") -> str:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return f"{middle:{form}} ({low:{form}}–{high:{form}})"


def write_tables(path: Path, tables: Mapping[str, str]) -> None:
    """Each table between its marks; a document that lacks the marks (or a new one) gets them at its end."""
    text = path.read_text() if path.exists() else ""
    for name, table in tables.items():
        block = f"<!-- table: {name} -->\n{table}\n<!-- end -->"
        found = re.compile(rf"<!-- table: {re.escape(name)} -->\n.*?\n<!-- end -->", re.DOTALL)
        text = found.sub(lambda _match, block=block: block, text) if found.search(text) else f"{text}\n{block}\n"
    path.write_text(text)
