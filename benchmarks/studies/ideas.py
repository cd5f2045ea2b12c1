"""What old data adds to three results: an old machine's waste, and a new machine's yield.

    python -m benchmarks ideas [--out DIR]

Stores what the first picture of docs/ideas.md is drawn from (`make pictures`): `ideas.csv` has the old records, and for
the model without them and with them what is expected at each temperature, and the temperature it would try next. The
new machine's yield runs the other way, in other units and at slightly other temperatures. The second picture there is
of the campaigns of `python -m benchmarks trust`.
"""

import argparse
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.results import RESULTS, replace_file
from tunedprior import Optimizer

SPACE = {"temperature": (20.0, 100.0)}
GRID = pd.DataFrame({"temperature": np.linspace(20, 100, 161)})
#: The temperatures that were tried on the new machine.
TRIED = (24.0, 40.0, 56.0)
#: Kinds of old data, and what they are called here.
KINDS = {
    "same": "the same process",
    "flipped": "upside down",
    "shifted": "best settings elsewhere",
    "binary labels": "pass or fail only",
    "pure noise": "nothing but noise",
}
_OLD, _WITHOUT, _WITH = "the old machine", "without old data", "with old data"
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#555555")
_BLUE, _GREY = "#0072b2", "#555555"


def new_yield(temperature: np.ndarray) -> np.ndarray:
    """What the new machine would give, in per cent: two peaks, the second of them higher."""
    first = np.exp(-(((temperature - 38) / 9) ** 2))
    return 20 + 30 * first + 60 * np.exp(-(((temperature - 72) / 10) ** 2))


def old_records(seed: int = 0) -> pd.DataFrame:
    """What the old machine threw away, in grams: much where the new one's yield is low; its thermometer is 2 °C off."""
    rng = np.random.default_rng(seed)
    temperature = np.linspace(20, 100, 24)
    waste = 7 - 0.05 * new_yield(temperature + 2) + rng.normal(0, 0.1, len(temperature))
    return pd.DataFrame({"temperature": temperature, "waste": waste})


def models() -> dict[str, Optimizer]:
    """The same three results, without old data and with it."""
    old = old_records().rename(columns={"waste": "y"})
    found = {
        _WITHOUT: Optimizer(SPACE, direction="maximize", seed=0),
        _WITH: Optimizer(SPACE, old, direction="maximize", seed=0),
    }
    for opt in found.values():
        opt.tell([{"temperature": one} for one in TRIED], new_yield(np.array(TRIED)))
    return found


def expectations() -> pd.DataFrame:
    """The old records, then what each model expects (mean, std) at each temperature, and what it would try next."""
    parts = [old_records().rename(columns={"waste": "mean"}).assign(of=_OLD)]
    for name, opt in models().items():
        following = opt.ask()["temperature"]
        parts.append(pd.concat([GRID, opt.predict(GRID)[["mean", "std"]]], axis=1).assign(of=name, next=following))
    return pd.concat(parts)[["of", "temperature", "mean", "std", "next"]].round(4)


def draw_learning(stored: pd.DataFrame) -> Figure:
    """The old records, then what is expected of the new machine after three results; the next setting of each."""
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.3), layout="constrained")
    old = stored[stored["of"] == _OLD]
    panels[0].plot(old["temperature"], old["mean"], "o", color="#d55e00", markersize=4)
    panels[0].set_title(f"{_OLD}: {len(old)} records", loc="left", fontsize=11)
    panels[0].set(ylabel="waste (g)")
    for axes, name in zip(panels[1:], (_WITHOUT, _WITH), strict=True):
        _expected(axes, stored[stored["of"] == name])
        axes.set_title(f"the new machine, {name}", loc="left", fontsize=11)
    for axes in panels:
        axes.set(xlabel="temperature (°C)", xlim=(17, 103))
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[1:]:
        axes.set(ylabel="yield (%)", ylim=(-10, 115))
    figure.legend(
        *panels[1].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=9
    )
    return figure


def draw_how_it_works(stored: pd.DataFrame) -> Figure:
    """The same in two panels, narrow enough for a telephone: old records, then both models of the new machine."""
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(4.6, 5.4), height_ratios=(2, 3), sharex=True, layout="constrained"
    )
    old = stored[stored["of"] == _OLD]
    above.plot(old["temperature"], old["mean"], "o", color="#d55e00", markersize=4.5)
    above.set_title("1  Old machine: waste, 24 records", loc="left", fontsize=11)
    above.set(ylabel="waste (g)")
    for name, colour, label in ((_WITHOUT, _GREY, "model without old data"), (_WITH, _BLUE, "model with old data")):
        found = stored[stored["of"] == name]
        heat, following = found["temperature"], found["next"].iloc[0]
        below.plot(heat, found["mean"], color=colour, linewidth=2.2 if name == _WITH else 1.6, label=label)
        if name == _WITH:
            low, high = (found["mean"] + sign * 1.96 * found["std"] for sign in (-1, 1))
            below.fill_between(heat, low, high, color=colour, alpha=0.13, linewidth=0, label="its 95 % interval")
        below.axvline(following, color=colour, linewidth=1.6, linestyle=":")
        below.text(following - 1, 113, "next", color=colour, ha="right", va="top", fontsize=10)
    below.plot(heat, new_yield(heat.to_numpy()), "--", color="black", linewidth=1, label="truth, unknown to both")
    below.plot(TRIED, new_yield(np.array(TRIED)), "o", color="black", markersize=6, label="results so far")
    below.set_title("2  New machine: yield, three results", loc="left", fontsize=11)
    below.set(xlabel="temperature (°C)", ylabel="yield (%)", xlim=(17, 103), ylim=(-10, 118))
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=9.5)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def _expected(axes: Axes, found: pd.DataFrame) -> None:
    """What the model expects, the truth, what was measured, and what it would try next."""
    heat = found["temperature"]
    low, high = (found["mean"] + sign * 1.96 * found["std"] for sign in (-1, 1))
    axes.fill_between(heat, low, high, color=_BLUE, alpha=0.18, linewidth=0, label="95 % interval")
    axes.plot(heat, found["mean"], color=_BLUE, linewidth=2, label="expected")
    axes.plot(heat, new_yield(heat.to_numpy()), "--", color=_GREY, linewidth=1.2, label="the truth, unknown to it")
    axes.plot(TRIED, new_yield(np.array(TRIED)), "o", color="black", markersize=6, label="measured")
    axes.axvline(found["next"].iloc[0], color="#009e73", linewidth=1.6, linestyle=":", label="suggested next")


def draw_trust_lines(stored: pd.DataFrame) -> Figure:
    """Trust after each result, a line for each kind of old data, named at its end."""
    histories = {kind: stored[stored["kind"] == kind].set_index("results")["trust"] for kind in KINDS}
    figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
    ends = _apart([float(history.iloc[-1]) for history in histories.values()])
    for (kind, history), colour, end in zip(histories.items(), _COLOURS, ends, strict=True):
        # The first two are the same line, and both should be seen.
        axes.plot(history.index, history, "--" if kind == "flipped" else "-", color=colour, linewidth=2.2)
        axes.annotate(f" {KINDS[kind]}", (history.index[-1], end), color=colour, va="center", annotation_clip=False)
    axes.set(xlabel="results on the new machine", ylabel="trust in the old data", ylim=(-0.02, 1))
    axes.set_xlim(0, max(history.index[-1] for history in histories.values()))
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _apart(heights: list[float], least: float = 0.06) -> list[float]:
    """The heights, in their order, moved up until each is clear of the one below."""
    moved = list(heights)
    order = np.argsort(heights, kind="stable")
    for below, above in pairwise(order):
        moved[above] = max(moved[above], moved[below] + least)
    return moved


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--out", type=Path, default=RESULTS, help="where results go, instead of into the project")


def main(arguments: argparse.Namespace) -> None:
    """Store what is expected."""
    found = expectations()
    following = found.dropna(subset="next").groupby("of", sort=False)["next"].first()
    print(", ".join(f"{name}: {temperature:.1f} °C is next" for name, temperature in following.items()))
    replace_file(arguments.out / "ideas.csv", found.to_csv(index=False))
    print(f"Results are in {arguments.out}; `make pictures` draws them.")
