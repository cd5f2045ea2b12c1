"""Figures in the paper's layout: one panel per function, ours in black."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, MaxNLocator, NullFormatter

from benchmarks.comparison import kinds_in_order, mean_regrets, problems_in_order, quartiles, ratio, tried
from benchmarks.methods.by_name import AVERAGE, METHODS
from benchmarks.problems.kinds import FLIPPED, KINDS, OTHER_KINDS

mpl.rcParams["svg.hashsalt"] = "tunedprior"  # the same picture is the same file

#: One colour per family; ours in black.
COLOURS = {
    "leave-one-out GP": "tab:orange",
    "standard GP": "tab:red",
    "ARD": "tab:olive",
    "DT-MKL": "tab:green",
    "envGP": "tab:cyan",
    "diffGP": "tab:blue",
    "tuned prior": "black",
    "tuned prior, unit diagonal": "black",
    "average over beliefs": "gold",
    "multi-task GP, free sign": "tab:purple",
    "multi-task GP, BoTorch": "tab:pink",
    "RGPE": "tab:brown",
}
_LEAST = 1e-4  # regret below this is drawn there: a pool's best setting leaves none, and a logarithm needs some


def draw_functions(results: pd.DataFrame, names: Sequence[str], path: Path) -> None:
    """Median simple regret with flipped old data; the quartiles of ours and of the standard process shaded."""
    visible = results[results["kind"] == FLIPPED].assign(value=lambda table: table["value"].clip(lower=_LEAST))
    found = quartiles(visible, ("problem", "method", "step"))
    rows = (len(names) + 1) // 2
    figure, panels = plt.subplots(rows, 2, figsize=(10, 3.1 * rows + 1.2), sharex=True, layout="constrained")
    for name, axes in zip(names, panels.flat, strict=False):
        for method in METHODS:
            _curve(axes, found.loc[name, method], method)
        axes.set_yscale("log")
        axes.set_title(name, loc="left", fontsize=11)
    for axes in panels[-1]:
        axes.set_xlabel("evaluation")
    for axes in panels[:, 0]:
        axes.set_ylabel("simple regret (median)")
    _legend(figure, panels.flat[0])
    save(figure, path)


def draw_fibre(results: pd.DataFrame, simulated: bool, path: Path) -> None:
    """The least squared distance from the target, as the paper draws it."""
    found = quartiles(results, ("method", "step"))
    figure, axes = plt.subplots(figsize=(8, 5.6), layout="constrained")
    for method in METHODS:
        _curve(axes, found.loc[method], method)
    axes.set(xlabel="experiment on device B", ylabel="least squared distance from 500 µm, µm² (median)", yscale="log")
    axes.set_title("Short polymer fibres" + (" (simulation)" if simulated else ""), loc="left")
    _legend(figure, axes)
    save(figure, path)


def draw_kinds(results: pd.DataFrame, first: int, path: Path) -> None:
    """Regret relative to the standard process, by kind of old data, with 95 % intervals."""
    regrets, (names, methods, seeds) = mean_regrets(results, first), tried(results, OTHER_KINDS[0])
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    for offset, method in zip(np.linspace(-0.32, 0.32, len(methods)), methods, strict=True):
        values = np.array([ratio(regrets, names, kind, method, seeds) for kind in KINDS])
        errors = np.maximum([values[:, 0] - values[:, 1], values[:, 2] - values[:, 0]], 0)
        axes.errorbar(
            np.arange(len(KINDS)) + offset, values[:, 0], errors, fmt="o", markersize=5, elinewidth=1.2, label=method,
            color=COLOURS[METHODS[method].family],
            markerfacecolor="white" if "unit diagonal" in method else None,
        )  # fmt: skip
    axes.axhline(1, color="0.6", linewidth=1, zorder=0)
    axes.set(yscale="log", ylabel="mean regret, relative to the standard process")
    axes.set_xticks(np.arange(len(KINDS)), [kind.replace(" ", "\n") for kind in KINDS])
    axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks([0.25, 0.5, 1, 2, 4])
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    save(figure, path)


def _curve(axes: Axes, found: pd.DataFrame, method: str) -> None:
    """Quartiles by step: the median as a line, the others shaded for ours and the standard process."""
    family, acquisition = METHODS[method].family, METHODS[method].acquisition
    ours = family == "tuned prior"
    axes.plot(
        found.index, found[0.5], color=COLOURS[family], linestyle=_style(method),
        linewidth=2.2 if ours else 1.1, zorder=3 if ours else 2, label=method,
    )  # fmt: skip
    if acquisition == "ei" and family in ("tuned prior", "standard GP"):
        axes.fill_between(found.index, found[0.25], found[0.75], color=COLOURS[family], alpha=0.12, linewidth=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(left=1)
    axes.spines[["top", "right"]].set_visible(False)


def _style(method: str) -> str:
    """Solid for EI, dashed for GP-UCB; dotted for ours with unit diagonal."""
    ei = METHODS[method].acquisition == "ei"
    if METHODS[method].family == "tuned prior, unit diagonal":
        return ":" if ei else "-."
    return "-" if ei else "--"


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)


def save(figure: Figure, path: Path) -> None:
    """As a picture and as a drawing."""
    figure.savefig(path.with_suffix(".png"), dpi=130)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    plt.close(figure)


def draw_beliefs(results: pd.DataFrame, path: Path) -> None:
    """A row for each kind of old data: a dot for every function, a bar at the geometric mean; the baseline is at 1."""
    regrets, kinds, names = mean_regrets(results), kinds_in_order(results), problems_in_order(results)
    figure, axes = plt.subplots(figsize=(8, 0.55 * len(kinds) + 1.4), layout="constrained")
    for row, kind in enumerate(kinds):
        ratios = [ratio(regrets, [name], kind, AVERAGE).middle for name in names]
        axes.plot(ratios, np.full(len(ratios), -row), "o", color="black", alpha=0.35, markersize=5, markeredgewidth=0)
        middle, low, high = ratio(regrets, names, kind, AVERAGE)
        axes.plot([low, high], [-row, -row], color="tab:red", linewidth=2)
        axes.plot(middle, -row, "|", color="tab:red", markersize=18, markeredgewidth=3)
    axes.axvline(1, color="grey", linewidth=0.8)
    axes.set(xscale="log", yticks=range(0, -len(kinds), -1), ylim=(0.6 - len(kinds), 0.6))
    axes.set_yticklabels(kinds)
    axes.set_xlabel("mean regret over the standard process's (left is better)")
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.spines[["top", "right", "left"]].set_visible(False)
    save(figure, path)
