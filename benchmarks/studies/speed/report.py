"""From what `speed` measured to the tables of docs/performance.md."""

from collections.abc import Mapping
from typing import Any

from benchmarks.studies.speed.cells import (
    Columns,
    decimal,
    gib,
    number,
    ratio_of,
    ratio_to,
    share,
    table_of,
    text,
    time_of,
)
from benchmarks.studies.speed.targets import target_table

Parts = Mapping[str, Mapping[str, Any]]
# Times are medians over repetitions in which the sides took turns; the median of their ratios is another number.
_IN_TURNS = "median of ratios in turns"

COLUMNS: dict[str, Columns] = {
    "entries": {
        "inputs": number("inputs"),
        "old data of": text("function"),
        "ℓ": decimal("lengthscale"),
        "features": lambda row: f"{row['features']:,}" if row["by_features"] else "none: exact sum",
        "search": time_of("search"),
        "entry": time_of("entry"),
        "exact entry": time_of("exact_entry"),
        "times faster (least)": lambda row: f"{row['faster']:,.0f} ({row['faster_least']:,.0f})",
        "error": lambda row: f"{row['error']:.0e}",
        "in deviations": lambda row: f"{row['error_in_deviations']:.0e}",
    },
    "suggestions": {
        "seed": text("seed"),
        "tunedprior": time_of("tunedprior"),
        "GPSampler": time_of("GPSampler"),
        "MultiTaskGP": time_of("MultiTaskGP"),
        "ratio to GPSampler": ratio_to("GPSampler"),
        "ratio to MultiTaskGP": ratio_to("MultiTaskGP"),
    },
    "old-rows": {
        "old rows": number("old"),
        "to make the optimiser": time_of("made"),
        "one suggestion": time_of("suggestion"),
        "ratio of the times": ratio_of("suggestion", "with_fewest"),
        _IN_TURNS: decimal("ratio"),
    },
    "observations": {
        "observations": number("observations"),
        "one old data set": time_of("one"),
        "ratio to the line before": decimal("one_step"),
        "ten old data sets": time_of("ten"),
        "ratio to the line before ": decimal("ten_step"),
        "GPSampler": time_of("GPSampler"),
    },
    "batches": {
        "observations": number("observations"),
        "a batch of eight": time_of("now"),
        "in the older version": time_of("before"),
        "ratio of the times": ratio_of("now", "before"),
        _IN_TURNS: decimal("ratio"),
    },
    "busy": {
        "what": text("what"),
        "on an idle machine": time_of("idle"),
        "with one core busy": time_of("busy"),
        "ratio of the times": ratio_of("busy", "idle"),
        _IN_TURNS: decimal("ratio"),
    },
    "workers": {
        "campaigns": number("campaigns"),
        "steps of each": number("steps"),
        "run": text("way"),
        "in all": time_of("seconds"),
        "the same suggestions": lambda row: "yes" if row["equal"] else "**no**",
    },
    "campaign": {"seed": text("seed"), "steps": number("steps"), "in all": time_of("seconds")},
    "pretraining": {
        "what": lambda row: {"pretrain": "`pretrain`", "average": "the default prior"}[row["what"]],
        "rows": number("rows"),
        "time": time_of("seconds"),
        "peak memory": gib("peak"),
        "of which before it began": gib("table"),
    },
    "imports": {
        "`import tunedprior`": time_of("tunedprior"),
        "`import botorch`": time_of("botorch"),
        "ratio of the times": ratio_of("tunedprior", "botorch"),
        _IN_TURNS: decimal("ratio"),
    },
    "profile": {
        "part of one suggestion": text("stage"),
        "share": lambda row: f"{row['seconds'] / row['whole']:.0%}",
    },
    "cuda-pretraining": {
        "rows": number("rows"),
        "features": number("features"),
        "normal equations": time_of("normal_equations"),
        "solution": time_of("solve"),
        "leave-one-out": time_of("leave_one_out"),
        "in all": time_of("seconds"),
        "memory": gib("peak_gib"),
        "of the arithmetic peak: normal equations": share("normal_flops", "flops"),
        "leave-one-out ": share("leave_one_out_flops", "flops"),
    },
    "cuda-blocks": {
        "inputs": number("inputs"),
        "features": number("features"),
        "1,000 blocks": time_of("seconds"),
        "entry": time_of("entry"),
        "of the arithmetic peak": share("flops", "flops"),
        "of the bandwidth": share("bytes_per_second", "bytes_per_second"),
    },
}


def speed_tables(parts: Parts) -> dict[str, str]:
    """Every table by its name."""
    rows = {name: part["rows"] for name, part in parts.items()}
    if "profile" in rows:
        rows["profile"] = [row | {"whole": rows["profile"][-1]["seconds"]} for row in rows["profile"]]
    if "old-rows" in rows:
        rows["old-rows"] = [row | {"with_fewest": rows["old-rows"][0]["suggestion"]} for row in rows["old-rows"]]
    for name in {"cuda-pretraining", "cuda-blocks"} & set(rows):
        rows[name] = [row | {"reached": rows["cuda-peaks"][0]} for row in rows[name]]
    tables = {name: table_of(columns, rows[name]) for name, columns in COLUMNS.items() if name in rows}
    return tables | {"targets": target_table(rows), "made on": _made_on(parts)}


def _made_on(parts: Parts) -> str:
    """The machines and the software."""
    seen: dict[str, list[str]] = {}
    for name, part in parts.items():
        software = [f"{key} {value}" for key, value in part["on"].items() if key != "device"]
        described = ", ".join([part["on"]["device"], *software])
        seen.setdefault(described, []).append(name)
    return "\n".join(f"- {described}: {', '.join(names)}" for described, names in seen.items())
