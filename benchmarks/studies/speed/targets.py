"""What was to be reached, and what was."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.studies.speed.cells import Row, readable, table_of


class Line(NamedTuple):
    """One target: what it is of, how much was wanted, how much was measured, and whether that is enough."""

    what: str
    target: str
    measured: str
    met: bool


def target_table(rows: Mapping[str, Sequence[Row]]) -> str:
    """A line for each target of the parts that there are results of."""
    found = [line for name, lines in _TARGETS.items() if name in rows for line in lines(rows[name])]
    columns = {head: lambda line, head=head: line[head] for head in ("what", "target", "measured")}
    met = {"met": lambda line: "yes" if line["met"] else "**no**"}
    return table_of(columns | met, [line._asdict() for line in found])


def _entry_target(rows: Sequence[Row]) -> list[Line]:
    faster, error = [row["faster"] for row in rows], max(row["error"] for row in rows)
    what = "a kernel entry, 200 old settings, 2 to 6 inputs, against the exact K₄ sum"
    measured = f"{min(faster):.0f} to {max(faster):,.0f} times, {error:.0e}"
    return [Line(what, "100 times faster, error 1e-6 or less", measured, min(faster) >= 100 and error <= 1e-6)]


def _suggestion_targets(rows: Sequence[Row]) -> list[Line]:
    lines = []
    for rival, most in (("GPSampler", 1.0), ("MultiTaskGP", 0.05)):
        ratios = [row["tunedprior"] / row[rival] for row in rows]
        what = f"a suggestion, 5 inputs, 50 observations, 200 old rows, against {rival}"
        measured = f"{median(ratios):.2g} ({min(ratios):.2g} to {max(ratios):.2g})"
        lines.append(Line(what, f"{most:g} of its time or less", measured, median(ratios) <= most))
    return lines


def _both_ratios(time: float, other: float, in_turns: float) -> tuple[str, float]:
    """The ratio of two times and the median of ratios in turns, and the worse of the two, which has to do."""
    ratio = time / other
    return f"{ratio:.2f} (median of ratios in turns: {in_turns:.2f})", max(ratio, in_turns)


def _old_rows_target(rows: Sequence[Row]) -> list[Line]:
    """Of the most rows, and of the number of rows that takes longest: two lines, unless they are the same."""
    lines = []
    for row in dict.fromkeys((len(rows) - 1, max(range(len(rows)), key=lambda place: rows[place]["suggestion"]))):
        told, worse = _both_ratios(rows[row]["suggestion"], rows[0]["suggestion"], rows[row]["ratio"])
        what = f"a suggestion with {rows[row]['old']:,} old rows against {rows[0]['old']}"
        lines.append(Line(what, "1.3 of the time or less", told, worse <= 1.3))
    return lines


def _pretraining_targets(rows: Sequence[Row]) -> list[Line]:
    lines = []
    for row in rows:
        if row["what"] != "pretrain":
            continue
        seconds, memory = (60, 24.0) if row["rows"] <= 100_000 else (600, 4.0)
        target = f"{seconds} s or less" + ("" if seconds == 60 else f", {memory:g} GiB or less")
        measured = f"{readable(row['seconds'])}, {row['peak']:.2f} GiB"
        met = row["seconds"] <= seconds and row["peak"] <= memory
        lines.append(Line(f"pre-training on {row['rows']:,} rows of {row['inputs']} inputs", target, measured, met))
    return lines


def _observation_targets(rows: Sequence[Row]) -> list[Line]:
    lines = []
    for key, sets in (("one", "one old data set"), ("ten", "ten old data sets")):
        measured = [row for row in rows if row[key] is not None]
        first, last = measured[0], measured[-1]
        quadratic, ratio = (last["observations"] / first["observations"]) ** 2, last[key] / first[key]
        what = f"a suggestion with {last['observations']:,} observations against {first['observations']}, {sets}"
        target = f"less than quadratic ({quadratic:.0f})"
        lines.append(Line(what, target, f"{ratio:.0f} times the time", ratio < quadratic))
        steepest = max((row for row in measured if row[f"{key}_step"] is not None), key=lambda row: row[f"{key}_step"])
        step = steepest[f"{key}_step"]
        what = f"a suggestion with 10 % more observations, {sets}, the largest ratio"
        told = f"{step:.2f} at {steepest['observations']:,}"
        lines.append(Line(what, "1.6 of the time or less", told, step <= 1.6))
        rival = last["GPSampler"]
        if rival is not None:
            what = f"a suggestion with {last['observations']:,} observations, {sets}, against GPSampler"
            ratio = last[key] / rival
            lines.append(Line(what, "1.5 of its time or less", f"{ratio:.2g}", ratio <= 1.5))
    return lines


def _campaign_target(rows: Sequence[Row]) -> list[Line]:
    most = max(row["seconds"] for row in rows)
    return [Line(f"a campaign of {rows[0]['steps']} steps in 2 inputs", "15 s or less", readable(most), most <= 15)]


def _batch_targets(rows: Sequence[Row]) -> list[Line]:
    lines = []
    for row in rows:
        most = _BATCH_SECONDS.get(row["observations"])
        if most is not None:
            before = row.get("before")
            told = readable(row["now"]) + ("" if before is None else f", {row['now'] / before:.2f} of the time before")
            what = f"eight suggestions at once with one under way, {row['observations']} observations"
            lines.append(Line(what, f"{most:g} s or less", told, row["now"] <= most))
    return lines


def _busy_targets(rows: Sequence[Row]) -> list[Line]:
    lines = []
    for row in rows:
        most = _MAKING_SECONDS.get(row["what"])
        told, worse = _both_ratios(row["busy"], row["idle"], row["ratio"])
        told += "" if most is None else f", {readable(row['idle'])} idle"
        target = "1.5 times the idle time or less" + ("" if most is None else f", which is {most:g} s or less")
        met = worse <= 1.5 and (most is None or row["idle"] <= most)
        lines.append(Line(f"{row['what']}, while one of two cores is busy", target, told, met))
    return lines


def _workers_target(rows: Sequence[Row]) -> list[Line]:
    equal = [row["equal"] for row in rows]
    told = "all are" if all(equal) else f"{equal.count(False)} of {len(equal)} differ"
    return [Line("suggestions of threads and processes that share a Suggester", "the same as alone", told, all(equal))]


def _import_target(rows: Sequence[Row]) -> list[Line]:
    told, worse = _both_ratios(rows[0]["tunedprior"], rows[0]["botorch"], rows[0]["ratio"])
    return [Line("importing the package", "less than twice botorch's time", told, worse < 2)]


# What a batch, and what making an optimiser, may take on two cores.
_BATCH_SECONDS = {50: 0.6, 200: 1.0, 500: 3.0}
_MAKING_SECONDS = {"an optimiser with 200 old rows": 0.3, "an optimiser with 2,000 old rows": 2.0}

_TARGETS: dict[str, Callable[[Sequence[Row]], list[Line]]] = {
    "entries": _entry_target,
    "suggestions": _suggestion_targets,
    "old-rows": _old_rows_target,
    "pretraining": _pretraining_targets,
    "observations": _observation_targets,
    "batches": _batch_targets,
    "busy": _busy_targets,
    "workers": _workers_target,
    "campaign": _campaign_target,
    "imports": _import_target,
}
