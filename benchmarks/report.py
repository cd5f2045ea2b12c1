"""Tables of the results, written into the documents between marks, so that they can be made again and compared."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.fibre import space
from benchmarks.functions import FAILURES, MORE, PAPER, SHIFTED
from benchmarks.methods import AVERAGE, BASELINE, METHODS, RIVAL
from benchmarks.old_data import KINDS
from benchmarks.pairs import PAIRS

Results = Mapping[tuple, Sequence[float]]
_RESAMPLES = 2000
_LEAST_REGRET = 1e-3  # of the range: smaller mean regrets are all the same to us, and to the logarithm
_FLIPPED = "flipped"
OTHER_KINDS = [kind for kind in KINDS if kind != _FLIPPED]
MEASURED = "measured"
#: What the average over beliefs should reach: geometric mean over functions, worst function.
TARGETS = dict.fromkeys(("flipped", "same", "squared", "noisy flip"), (0.45, 1.05)) | {
    "shifted": (0.75, 1.15),
    "binary labels": (0.85, 1.15),
    "another function": (1.00, 1.15),
    "pure noise": (1.00, 1.15),
}


def curves(results: Results, *key: str, seeds: Collection[int] | None = None) -> np.ndarray:
    """All runs whose job begins with the key (and has one of the seeds), a row for each seed in order."""
    found = {job[len(key)]: run for job, run in results.items() if job[: len(key)] == key}
    return np.array([found[seed] for seed in sorted(found) if seeds is None or seed in seeds])


def tried(results: Results, kind: str) -> tuple[list[str], list[str], set[int]]:
    """The functions, methods and seeds that there are results of, for one kind of old data."""
    jobs = [job for job in results if job[1] == kind]
    names, methods = ({job[place] for job in jobs} for place in (0, 2))
    ordered = [name for name in (*PAPER, *SHIFTED, *FAILURES) if name in names]
    return ordered, [method for method in METHODS if method in methods], {job[3] for job in jobs}


def ratio(
    results: Results, names: Sequence[str], kind: str, method: str, first: int, seeds: Collection[int] | None = None
) -> tuple[float, float, float]:
    """Mean regret after the first settings over the baseline's: the geometric mean over functions, and its interval.

    The baseline sees no old data, so it has runs of one kind only.
    """
    own = [curves(results, name, kind, method, seeds=seeds)[:, first:] for name in names]
    base = [curves(results, name, _FLIPPED, BASELINE, seeds=seeds)[:, first:] for name in names]
    return paired_ratio(own, base, least=_LEAST_REGRET)


def paired_ratio(own: list[np.ndarray], base: list[np.ndarray], least: float = 0.0) -> tuple[float, float, float]:
    """The geometric mean of mean(own)/mean(base), with 95 % of a bootstrap over seeds (rows).

    Seeds are drawn in pairs and alike for all functions, as they share old settings, pools and first settings.
    """
    picks = np.random.default_rng(0).integers(len(own[0]), size=(_RESAMPLES, len(own[0])))
    logs, spread = [], []
    for mine, theirs in zip(own, base, strict=True):
        mine, theirs = mine.mean(1), theirs.mean(1)
        logs.append(_log(mine.mean(), least) - _log(theirs.mean(), least))
        spread.append(_log(mine[picks].mean(1), least) - _log(theirs[picks].mean(1), least))
    low, high = np.quantile(np.mean(spread, axis=0), (0.025, 0.975))
    return tuple(float(np.exp(value)) for value in (np.mean(logs), low, high))


def _log(value: np.ndarray, least: float) -> np.ndarray:
    return np.log(np.maximum(value, least))


def function_tables(results: Results, first: int) -> dict[str, str]:
    """Ratios of regret by method and function, medians with quartiles, and ratios by kind of old data."""

    def ratios(names: Sequence[str], together: bool) -> str:
        groups = [[name] for name in names] + ([list(names)] if together else [])
        return _table(
            ["method", *names] + (["geometric mean"] if together else []),
            METHODS,
            lambda method: [_marked(ratio(results, group, _FLIPPED, method, first)) for group in groups],
        )

    tables = {
        "ratios paper": ratios(PAPER, together=True),
        "ratios shifted": ratios(SHIFTED, together=True),
        "ratios failures": ratios(FAILURES, together=False),
        "kinds": _kinds(results, first),
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
    return tables


def _kinds(results: Results, first: int) -> str:
    """The same functions, methods and seeds for every kind."""
    names, methods, seeds = tried(results, OTHER_KINDS[0])
    return _table(
        ["old data", *methods],
        KINDS,
        lambda kind: [_with_interval(ratio(results, names, kind, method, first, seeds)) for method in methods],
    )


def fibre_tables(results: Results, simulated: bool) -> dict[str, str]:
    """How far the best fibre is from the target, in µm: medians, quartiles, and the mean over the baseline's."""
    misses = {method: np.sqrt(curves(results, method)) for method in METHODS}
    evaluations, first = len(next(iter(results.values()))), len(space("B")) + 1
    steps = sorted({step for step in (10, 20, evaluations) if step <= evaluations})
    kind = "simulated" if simulated else "measured"
    head = ["method", *(f"after {step} experiments ({kind}), µm" for step in steps), f"mean over {BASELINE}'s"]
    return {
        f"fibre {kind}": _table(
            head,
            METHODS,
            lambda method: [
                *(_quartiles(misses[method][:, step - 1], ".1f") for step in steps),
                _marked(paired_ratio([misses[method][:, first:]], [misses[BASELINE][:, first:]], least=1e-3)),
            ],
        )
    }


def belief_tables(found: Mapping[str, Results]) -> dict[str, str]:
    """What `python -m benchmarks beliefs` shows, for those of its parts that were run."""
    tables: dict[str, str] = {}
    if "functions" in found:
        tables |= _belief_functions(found["functions"])
    if "continuous" in found:
        tables["beliefs continuous"] = _belief_ratios(found["continuous"])
    if "pairs" in found:
        tables["beliefs pairs"] = _belief_pairs(found["pairs"])
    return tables


def _belief_functions(results: Results) -> dict[str, str]:
    kinds = [kind for kind in KINDS if any(job[1] == kind for job in results)]
    names = _in_order(results)
    # The rival has been run on some functions and seeds only; there the two are compared.
    some = [name for name in names if any(job[0] == name and job[2] == RIVAL for job in results)]
    few = {job[3] for job in results if job[2] == RIVAL}
    both = {kind: [ratio(results, some, kind, method, 0, few)[0] for method in (AVERAGE, RIVAL)] for kind in kinds}
    both["all kinds"] = np.exp(np.log(list(both.values())).mean(0)).tolist()

    def summary(kind: str) -> list[str]:
        if kind not in TARGETS:
            return ["", "", "", *(f"{value:.2f}" for value in both[kind])]
        middle, worst = TARGETS[kind]
        return [
            _with_interval(ratio(results, names, kind, AVERAGE, 0)),
            _worst(results, names, kind),
            f"≤ {middle:.2f} / {worst:.2f}",
            *(f"{value:.2f}" for value in both[kind]),
        ]

    head = ["old data", "geometric mean over functions (95 %)", "worst function", "target"]
    head += [f"{method}, {len(some)} functions, seeds: {len(few)}" for method in (AVERAGE, RIVAL)]
    return {"beliefs kinds": _table(head, both, summary), "beliefs functions": _belief_ratios(results)}


def _belief_ratios(results: Results) -> str:
    """A row for each function, a column for each kind."""
    kinds = [kind for kind in KINDS if any(job[1] == kind and job[2] == AVERAGE for job in results)]
    names = _in_order(results)
    rows = {name: [name] for name in names} | {"geometric mean": names}
    return _table(
        ["function", *kinds],
        rows,
        lambda row: [_marked(ratio(results, rows[row], kind, AVERAGE, 0)) for kind in kinds],
    )


def _belief_pairs(results: Results) -> str:
    names = _in_order(results)
    rows = {name: [name] for name in names} | {"geometric mean": names}
    few = {job[3] for job in results if job[2] == RIVAL}

    def cells(row: str) -> list[str]:
        every, some = (_pair_ratio(results, rows[row], AVERAGE, seeds) for seeds in (None, few))
        return [_marked(every), f"{some[0]:.2f}", f"{_pair_ratio(results, rows[row], RIVAL, few)[0]:.2f}"]

    head = ["pair", AVERAGE, *(f"{method}, seeds: {len(few)}" for method in (AVERAGE, RIVAL))]
    return _table(head, rows, cells)


def _pair_ratio(
    results: Results, names: Sequence[str], method: str, seeds: Collection[int] | None
) -> tuple[float, float, float]:
    own, base = (
        [curves(results, name, MEASURED, which, seeds=seeds) for name in names] for which in (method, BASELINE)
    )
    return paired_ratio(own, base, least=_LEAST_REGRET)


def _in_order(results: Results) -> list[str]:
    """The functions or pairs there are results of."""
    found = {job[0] for job in results}
    return [name for name in (*PAPER, *SHIFTED, *FAILURES, *MORE, *PAIRS) if name in found]


def _worst(results: Results, names: Sequence[str], kind: str) -> str:
    ratios = {name: ratio(results, [name], kind, AVERAGE, 0) for name in names}
    name = max(ratios, key=lambda one: ratios[one][0])
    return f"{_with_interval(ratios[name])} {name}"


def _table(head: Sequence[str], rows: Sequence[str] | Mapping[str, object], cells: Callable[[str], list[str]]) -> str:
    lines = [head, ["---"] * len(head), *([row, *cells(row)] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _with_interval(value: tuple[float, float, float]) -> str:
    middle, low, high = value
    return f"{middle:.2f} ({low:.2f}–{high:.2f})"


def _marked(value: tuple[float, float, float]) -> str:
    """In bold where the whole interval is better than the baseline, slanted where it is worse."""
    middle, low, high = value
    sure = low < high  # one seed has no interval
    mark = "**" if sure and high < 1 else "*" if sure and low > 1 else ""
    return f"{mark}{middle:.2f}{mark} ({low:.2f}–{high:.2f})"


def median_and_interval(values: Sequence[float], seed: int = 0) -> str:
    """The median, with a 95 % bootstrap interval."""
    rng = np.random.default_rng(seed)
    medians = np.median(rng.choice(values, (_RESAMPLES, len(values))), axis=1)
    return f"{np.median(values):.4f} ({np.quantile(medians, 0.025):.4f} to {np.quantile(medians, 0.975):.4f})"


def _quartiles(values: np.ndarray, form: str = ".3f") -> str:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return f"{middle:{form}} ({low:{form}}–{high:{form}})"


def write_tables(path: Path, tables: Mapping[str, str]) -> None:
    """Each table between its marks; a document that lacks the marks (or a new one) gets them at its end."""
    text = path.read_text() if path.exists() else ""
    for name, table in tables.items():
        block = f"<!-- table: {name} -->\n{table}\n<!-- end -->"
        found = re.compile(rf"<!-- table: {re.escape(name)} -->\n.*?<!-- end -->", re.DOTALL)
        text = found.sub(lambda _match, block=block: block, text) if found.search(text) else f"{text}\n{block}\n"
    path.write_text(text)
