"""From what `speed` measured to the tables of docs/performance.md."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

Parts = Mapping[str, Mapping[str, Any]]
Row = Mapping[str, Any]
Columns = Mapping[str, Callable[[Row], str]]

#: Of the H200's data sheet: float64 on tensor cores, and memory.
_CARD = {"flops": 67e12, "bytes_per_second": 4.8e12}


def speed_tables(parts: Parts) -> dict[str, str]:
    """Every table by its name."""
    rows = {name: part["rows"] for name, part in parts.items()}
    if "observations" in rows:
        first = rows["observations"][0]
        rows["observations"] = [row | {"first": first} for row in rows["observations"]]
    if "profile" in rows:
        rows["profile"] = [row | {"whole": rows["profile"][-1]["seconds"]} for row in rows["profile"]]
    for name in {"cuda-pretraining", "cuda-blocks"} & set(rows):
        rows[name] = [row | {"reached": rows["cuda-peaks"][0]} for row in rows[name]]
    tables = {name: _table(columns, rows[name]) for name, columns in _COLUMNS.items() if name in rows}
    return tables | {"targets": _targets(rows), "made on": _made_on(parts)}


def _table(columns: Columns, rows: Sequence[Row]) -> str:
    lines = [list(columns), ["---"] * len(columns), *([cell(row) for cell in columns.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def _number(name: str) -> Callable[[Row], str]:
    return lambda row: f"{row[name]:,}"


def _time(name: str) -> Callable[[Row], str]:
    return lambda row: _seconds(row[name])


def _gib(name: str) -> Callable[[Row], str]:
    return lambda row: f"{row[name]:.2f} GiB"


def _share(name: str, of: str) -> Callable[[Row], str]:
    """Of what the card reached in the same run, and of its data sheet."""
    return lambda row: f"{row[name] / row['reached'][of]:.0%} ({row[name] / _CARD[of]:.0%})"


def _ratio(rival: str) -> Callable[[Row], str]:
    return lambda row: f"{row['tunedprior'] / row[rival]:.2g}"


_COLUMNS: dict[str, Columns] = {
    "entries": {
        "inputs": _number("inputs"),
        "old data of": lambda row: row["function"],
        "ℓ": lambda row: f"{row['lengthscale']:.2f}",
        "features": lambda row: f"{row['features']:,}" if row["by_features"] else "none: exact sum",
        "search": _time("search"),
        "entry": _time("entry"),
        "exact entry": _time("exact_entry"),
        "times faster (least)": lambda row: f"{row['faster']:,.0f} ({row['faster_least']:,.0f})",
        "error": lambda row: f"{row['error']:.0e}",
        "in deviations": lambda row: f"{row['error_in_deviations']:.0e}",
    },
    "suggestions": {
        "seed": lambda row: str(row["seed"]),
        "tunedprior": _time("tunedprior"),
        "GPSampler": _time("GPSampler"),
        "MultiTaskGP": _time("MultiTaskGP"),
        "ratio to GPSampler": _ratio("GPSampler"),
        "ratio to MultiTaskGP": _ratio("MultiTaskGP"),
    },
    "old-rows": {
        "old rows": _number("old"),
        "to make the optimiser": _time("made"),
        "one suggestion": _time("suggestion"),
        "ratio": lambda row: f"{row['ratio']:.2f}",
    },
    "observations": {
        "observations": _number("observations"),
        "one suggestion": _time("suggestion"),
        "ratio": lambda row: f"{row['suggestion'] / row['first']['suggestion']:.1f}",
        "if it were quadratic": lambda row: f"{(row['observations'] / row['first']['observations']) ** 2:.0f}",
    },
    "campaign": {"seed": lambda row: str(row["seed"]), "steps": _number("steps"), "in all": _time("seconds")},
    "pretraining": {
        "what": lambda row: {"pretrain": "`pretrain`", "average": "the default prior"}[row["what"]],
        "rows": _number("rows"),
        "time": _time("seconds"),
        "peak memory": _gib("peak"),
        "of which before it began": _gib("table"),
    },
    "imports": {
        "`import tunedprior`": _time("tunedprior"),
        "`import botorch`": _time("botorch"),
        "ratio": lambda row: f"{row['ratio']:.2f}",
    },
    "profile": {
        "part of one suggestion": lambda row: row["stage"],
        "share": lambda row: f"{row['seconds'] / row['whole']:.0%}",
    },
    "cuda-pretraining": {
        "rows": _number("rows"),
        "features": _number("features"),
        "normal equations": _time("normal_equations"),
        "solution": _time("solve"),
        "leave-one-out": _time("leave_one_out"),
        "in all": _time("seconds"),
        "memory": _gib("peak_gib"),
        "of the arithmetic peak: normal equations": _share("normal_flops", "flops"),
        "leave-one-out ": _share("leave_one_out_flops", "flops"),
    },
    "cuda-blocks": {
        "inputs": _number("inputs"),
        "features": _number("features"),
        "1,000 blocks": _time("seconds"),
        "entry": _time("entry"),
        "of the arithmetic peak": _share("flops", "flops"),
        "of the bandwidth": _share("bytes_per_second", "bytes_per_second"),
    },
}


def _targets(rows: Mapping[str, Sequence[Row]]) -> str:
    """What was to be reached, and what was."""
    found = [line for name, lines in _TARGETS.items() if name in rows for line in lines(rows[name])]
    columns = {head: lambda row, at=at: row[at] for at, head in enumerate(("what", "target", "measured"))}
    return _table(columns | {"met": lambda row: "yes" if row[3] else "**no**"}, found)


Line = tuple[str, str, str, bool]


def _entry_target(rows: Sequence[Row]) -> list[Line]:
    faster, error = [row["faster"] for row in rows], max(row["error"] for row in rows)
    what = "a kernel entry, 200 old settings, 2 to 6 inputs, against the exact K₄ sum"
    measured = f"{min(faster):.0f} to {max(faster):,.0f} times, {error:.0e}"
    return [(what, "100 times faster, error 1e-6 or less", measured, min(faster) >= 100 and error <= 1e-6)]


def _suggestion_targets(rows: Sequence[Row]) -> list[Line]:
    lines = []
    for rival, most in (("GPSampler", 1.0), ("MultiTaskGP", 0.05)):
        ratios = [row["tunedprior"] / row[rival] for row in rows]
        what = f"a suggestion, 5 inputs, 50 observations, 200 old rows, against {rival}"
        measured = f"{median(ratios):.2g} ({min(ratios):.2g} to {max(ratios):.2g})"
        lines.append((what, f"{most:g} of its time or less", measured, median(ratios) <= most))
    return lines


def _old_rows_target(rows: Sequence[Row]) -> list[Line]:
    ratio = rows[-1]["ratio"]
    what = f"a suggestion with {rows[-1]['old']:,} old rows against {rows[0]['old']}"
    return [(what, "1.3 of the time or less", f"{ratio:.2f}", ratio <= 1.3)]


def _pretraining_targets(rows: Sequence[Row]) -> list[Line]:
    lines = []
    for row in rows:
        if row["what"] != "pretrain":
            continue
        seconds, memory = (60, 24.0) if row["rows"] <= 100_000 else (600, 4.0)
        target = f"{seconds} s or less" + ("" if seconds == 60 else f", {memory:g} GiB or less")
        measured = f"{_seconds(row['seconds'])}, {row['peak']:.2f} GiB"
        met = row["seconds"] <= seconds and row["peak"] <= memory
        lines.append((f"pre-training on {row['rows']:,} rows of {row['inputs']} inputs", target, measured, met))
    return lines


def _observations_target(rows: Sequence[Row]) -> list[Line]:
    first, last = rows[0], rows[-1]
    ratio, quadratic = last["suggestion"] / first["suggestion"], (last["observations"] / first["observations"]) ** 2
    what = f"a suggestion with {last['observations']:,} observations against {first['observations']}"
    return [(what, f"less than quadratic ({quadratic:.0f})", f"{ratio:.0f} times the time", ratio < quadratic)]


def _campaign_target(rows: Sequence[Row]) -> list[Line]:
    most = max(row["seconds"] for row in rows)
    return [(f"a campaign of {rows[0]['steps']} steps in 2 inputs", "15 s or less", _seconds(most), most <= 15)]


def _import_target(rows: Sequence[Row]) -> list[Line]:
    ratio = rows[0]["ratio"]
    return [("importing the package", "less than twice botorch's time", f"{ratio:.2f}", ratio < 2)]


_TARGETS: dict[str, Callable[[Sequence[Row]], list[Line]]] = {
    "entries": _entry_target,
    "suggestions": _suggestion_targets,
    "old-rows": _old_rows_target,
    "pretraining": _pretraining_targets,
    "observations": _observations_target,
    "campaign": _campaign_target,
    "imports": _import_target,
}


def _made_on(parts: Parts) -> str:
    """The machines and the software."""
    seen: dict[str, list[str]] = {}
    for name, part in parts.items():
        software = [f"{key} {value}" for key, value in part["on"].items() if key != "device"]
        described = ", ".join([part["on"]["device"], *software])
        seen.setdefault(described, []).append(name)
    return "\n".join(f"- {described}: {', '.join(names)}" for described, names in seen.items())
