"""The tables of docs/performance.md, computed from the stored times without the code that wrote them."""

from itertools import pairwise
from statistics import median

import pytest

from support.cells import tables, time_agrees
from support.prose import agrees
from support.stored import speed

PERFORMANCE = "docs/performance.md"
#: Checked by tests/benchmarks/test_scale_study.py.
SCALE = ("rows", "billion", "pending", "trials", "sets", "inputs")
CARD = {"flops": 67e12, "bytes_per_second": 4.8e12}


def test_times_of_suggestions() -> None:
    for row, stored in zip(tables(PERFORMANCE)["suggestions"][1], speed("suggestions"), strict=True):
        times = [stored[name] for name in ("tunedprior", "GPSampler", "MultiTaskGP")]
        assert all(time_agrees(cell, value) for cell, value in zip(row[1:4], times, strict=True))
        assert [float(cell) for cell in row[4:]] == pytest.approx([times[0] / times[1], times[0] / times[2]], rel=0.06)


@pytest.mark.parametrize(
    ("part", "own", "other"),
    [
        ("old-rows", "suggestion", None),
        ("batches", "now", "before"),
        ("busy", "busy", "idle"),
        ("imports", "tunedprior", "botorch"),
    ],
)
def test_ratios_of_times_are_those_of_the_times_shown(part: str, own: str, other: str | None) -> None:
    stored = speed(part)
    _, rows = tables(PERFORMANCE)[part]
    for row, measured in zip(rows, stored, strict=True):
        base = stored[0][own] if other is None else measured[other]
        assert agrees(row[-2], measured[own] / base), row
        assert agrees(row[-1], measured["ratio"]), row
        assert part != "old-rows" or time_agrees(row[1], measured["made"]), row
        assert any(time_agrees(cell, measured[own]) for cell in row), row
        assert other is None or any(time_agrees(cell, base) for cell in row), row


def test_times_with_more_observations() -> None:
    before: dict[str, float] = {}
    for row, stored in zip(tables(PERFORMANCE)["observations"][1], speed("observations"), strict=True):
        assert int(row[0].replace(",", "")) == stored["observations"]
        for name, place in (("one", 1), ("ten", 3)):
            assert time_agrees(row[place], stored[name])
            if stored[name] is not None and name in before:
                assert agrees(row[place + 1], stored[name] / before[name]), row
            before |= {} if stored[name] is None else {name: stored[name]}
        assert time_agrees(row[5], stored["GPSampler"])


def test_times_of_learning_and_of_campaigns() -> None:
    for row, stored in zip(tables(PERFORMANCE)["pretraining"][1], speed("pretraining"), strict=True):
        assert time_agrees(row[2], stored["seconds"])
        assert agrees(row[3].removesuffix(" GiB"), stored["peak"])
        assert agrees(row[4].removesuffix(" GiB"), stored["table"])
    for row, stored in zip(tables(PERFORMANCE)["campaign"][1], speed("campaign"), strict=True):
        assert time_agrees(row[2], stored["seconds"])
    for row, stored in zip(tables(PERFORMANCE)["entries"][1], speed("entries"), strict=True):
        assert agrees(row[2], stored["lengthscale"])
        assert time_agrees(row[4], stored["search"])
        assert row[8:] == [f"{stored[name]:.0e}" for name in ("error", "error_in_deviations")]
        assert time_agrees(row[5], stored["entry"])
        assert time_agrees(row[6], stored["exact_entry"])
        assert int(row[3].replace(",", "")) == stored["features"]
        # The median of several ratios, printed with the least of them; the times shown are medians by themselves.
        assert float(row[7].split()[0].replace(",", "")) == pytest.approx(
            stored["exact_entry"] / stored["entry"], rel=0.06
        )
    whole = speed("profile")[-1]["seconds"]
    for row, stored in zip(tables(PERFORMANCE)["profile"][1], speed("profile"), strict=True):
        assert agrees(row[1].removesuffix("%"), 100 * stored["seconds"] / whole)


def share_agrees(cell: str, value: float, of: str) -> bool:
    """Of what the card reached in the same run, and in brackets of its data sheet."""
    reached, sheet = cell.removesuffix("%)").split("% (")
    return agrees(reached, 100 * value / speed("cuda-peaks")[0][of]) and agrees(sheet, 100 * value / CARD[of])


def test_times_on_a_gpu() -> None:
    for row, stored in zip(tables(PERFORMANCE)["cuda-pretraining"][1], speed("cuda-pretraining"), strict=True):
        names = ("normal_equations", "solve", "leave_one_out", "seconds")
        assert all(time_agrees(cell, stored[name]) for cell, name in zip(row[2:6], names, strict=True))
        assert agrees(row[6].removesuffix(" GiB"), stored["peak_gib"])
        assert share_agrees(row[7], stored["normal_flops"], "flops")
        assert share_agrees(row[8], stored["leave_one_out_flops"], "flops")
    for row, stored in zip(tables(PERFORMANCE)["cuda-blocks"][1], speed("cuda-blocks"), strict=True):
        assert time_agrees(row[2], stored["seconds"])
        assert time_agrees(row[3], stored["entry"])
        assert share_agrees(row[4], stored["flops"], "flops")
        assert share_agrees(row[5], stored["bytes_per_second"], "bytes_per_second")


def test_workers() -> None:
    for row, stored in zip(tables(PERFORMANCE)["workers"][1], speed("workers"), strict=True):
        assert time_agrees(row[3], stored["seconds"])
        assert row[4] == ("yes" if stored["equal"] else "**no**")


def targets() -> dict[str, tuple[str, bool]]:
    """What begins each line of the targets, what it should say of what was measured, and whether that is enough."""
    entries, made = speed("entries"), {row["rows"]: row for row in speed("pretraining") if row["what"] == "pretrain"}
    faster = [row["faster"] for row in entries]
    error = max(row["error"] for row in entries)
    found = {"a kernel entry": (f"{min(faster):.0f} to {max(faster):,.0f} times, {error:.0e}", min(faster) >= 100)}
    for rival, most in (("GPSampler", 1), ("MultiTaskGP", 0.05)):
        each = [row["tunedprior"] / row[rival] for row in speed("suggestions")]
        told = f"{median(each):.2g} ({min(each):.2g} to {max(each):.2g})"
        found[f"a suggestion, 5 inputs, 50 observations, 200 old rows, against {rival}"] = told, median(each) <= most
    old = {row["old"]: row for row in speed("old-rows")}
    for count in (1_000_000, 500):
        both = old[count]["suggestion"] / old[200]["suggestion"], old[count]["ratio"]
        told = "{:.2f} (median of ratios in turns: {:.2f})".format(*both)
        found[f"a suggestion with {count:,} old rows"] = told, max(both) <= 1.3
    for rows, most in ((100_000, 60), (1_000_000, 600)):
        seconds = made[rows]["seconds"]
        found[f"pre-training on {rows:,}"] = f"{seconds:.3g} s, {made[rows]['peak']:.2f} GiB", seconds <= most
    for name, sets in (("one", "one old data set"), ("ten", "ten old data sets")):
        times = {row["observations"]: row[name] for row in speed("observations") if row[name] is not None}
        counts = list(times)
        growth = times[1000] / times[100]
        found[f"a suggestion with 1,000 observations against 100, {sets}"] = (
            f"{growth:.0f} times the time",
            growth < 100,
        )
        steps = {b: times[b] / times[a] for a, b in pairwise(counts)}
        steepest = max(steps, key=lambda count: steps[count])
        told = f"{steps[steepest]:.2f} at {steepest}"
        found[f"a suggestion with 10 % more observations, {sets}"] = told, steps[steepest] <= 1.6
        (rival,) = [row["GPSampler"] for row in speed("observations") if row["observations"] == 1000]
        told = f"{times[1000] / rival:.2g}"
        found[f"a suggestion with 1,000 observations, {sets}"] = told, times[1000] / rival <= 1.5
    for row, most in zip(speed("batches"), (0.6, 1, 3), strict=True):
        now = f"{1000 * row['now']:.3g} ms" if row["now"] < 1 else f"{row['now']:.3g} s"
        told = f"{now}, {row['now'] / row['before']:.2f} of the time before"
        found[f"eight suggestions at once with one under way, {row['observations']}"] = told, row["now"] <= most
    for row, most in zip(speed("busy"), (0.3, 2, None), strict=True):
        both = row["busy"] / row["idle"], row["ratio"]
        idle = f"{1000 * row['idle']:.3g} ms" if row["idle"] < 1 else f"{row['idle']:.3g} s"
        told = "{:.2f} (median of ratios in turns: {:.2f})".format(*both) + ("" if most is None else f", {idle} idle")
        found[f"{row['what']}, while"] = told, max(both) <= 1.5 and (most is None or row["idle"] <= most)
    found["suggestions of threads"] = "all are", all(row["equal"] for row in speed("workers"))
    longest = max(row["seconds"] for row in speed("campaign"))
    found["a campaign of 50 steps"] = f"{longest:.3g} s", longest <= 15
    imports = speed("imports")[0]
    both = imports["tunedprior"] / imports["botorch"], imports["ratio"]
    found["importing the package"] = "{:.2f} (median of ratios in turns: {:.2f})".format(*both), max(both) < 2
    return found


def test_targets() -> None:
    rows = tables(PERFORMANCE)["targets"][1]
    expected = targets()
    assert len(rows) == len(expected)
    for (what, _, measured, met), (begins, (told, enough)) in zip(rows, expected.items(), strict=True):
        assert what.startswith(begins)
        assert (measured, met) == (told, "yes" if enough else "**no**"), what


def test_every_table_is_checked() -> None:
    assert set(tables(PERFORMANCE)) == {
        "targets", "entries", "pretraining", "suggestions", "profile", "imports", "old-rows", "observations", "batches",
        "busy", "workers", "campaign", "cuda-pretraining", "cuda-blocks", *SCALE,
    }  # fmt: skip
