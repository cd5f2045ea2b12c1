"""Figures of results, and files of figures that say which stored results they were drawn from."""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FormatStrFormatter, MaxNLocator, NullFormatter
from PIL import Image

from benchmarks.comparison import kinds_in_order, mean_regrets, problems_in_order, quartiles, ratio, tried
from benchmarks.methods.by_name import AVERAGE, BASELINE, METHODS
from benchmarks.problems.kinds import FLIPPED, KINDS, OTHER_KINDS

#: The entries of a PNG that say what it was drawn from: the files' names, and one digest of what was in them.
_SOURCE, _DIGEST = "Source", "Digest"

#: What is told apart in a panel, by name: the default, Algorithm 1, and rivals of each kind. No more than seven lines
#: can be; the others are grey, and the tables have them.
COLOURS = {
    "average-EI": "#0072b2",
    "TP-EI-BO": "black",
    "standard-EI": "#d55e00",
    "MTGP-EI (free sign)": "#cc79a7",
    "RGPE-EI": "#8c564b",
    "diffEI": "#009e73",
    "envEI": "#e69f00",
}
#: What they are called in a legend, where the method's name says too little.
_CALLED = {
    "average-EI": "average-EI (the default)",
    "TP-EI-BO": "TP-EI-BO (Algorithm 1)",
    "standard-EI": "standard-EI (no old data)",
}
_OURS = ("average-EI", "TP-EI-BO")
_GREY = "0.8"
_LEAST = 1e-4  # regret below this is drawn there: a pool's best setting leaves none, and a logarithm needs some


def draw_functions(results: pd.DataFrame, names: Sequence[str]) -> Figure:
    """Median simple regret with flipped old data; the quartiles of the default and of the standard process shaded.

    A function on which the median of no method ever moves has no panel: there is nothing to see.
    """
    visible = results[results["kind"] == FLIPPED].assign(value=lambda table: table["value"].clip(lower=_LEAST))
    found = quartiles(visible, ("problem", "method", "step"))
    names = [name for name in names if found.loc[name][0.5].nunique() > 1]
    rows = (len(names) + 1) // 2
    figure, panels = plt.subplots(rows, 2, figsize=(10, 3.1 * rows + 0.6), sharex=True, layout="constrained")
    for name, axes in zip(names, panels.flat, strict=False):
        for method in METHODS:
            _curve(axes, found.loc[name, method], method)
        axes.set_yscale("log")
        axes.set_title(name, loc="left", fontsize=11)
        axes.set(xlabel="evaluation", ylabel="regret, share of the range (median)")
        axes.tick_params(labelbottom=True)
    handles = _handles(panels.flat[0])
    if len(names) < panels.size:
        panels.flat[-1].set_axis_off()
        panels.flat[-1].legend(*handles, loc="center", frameon=False)
    else:
        figure.legend(*handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


def draw_fibre(results: pd.DataFrame, simulated: bool) -> Figure:
    """The least squared distance from the target, as the paper draws it."""
    found = quartiles(results, ("method", "step"))
    figure, axes = plt.subplots(figsize=(8, 5.6), layout="constrained")
    for method in METHODS:
        _curve(axes, found.loc[method], method)
    axes.set(xlabel="experiment on device B", ylabel="least squared distance from 500 µm, µm² (median)", yscale="log")
    axes.set_title("Short polymer fibres" + (" (simulation)" if simulated else ""), loc="left")
    figure.legend(*_handles(axes), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


def draw_kinds(results: pd.DataFrame, first: int) -> Figure:
    """Regret relative to the standard process, by kind of old data, with 95 % intervals."""
    regrets, (names, tried_ones, seeds) = mean_regrets(results, first), tried(results, OTHER_KINDS[0])
    methods = [method for method in COLOURS if method in tried_ones]
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    for offset, method in zip(np.linspace(-0.32, 0.32, len(methods)), methods, strict=True):
        values = np.array([ratio(regrets, names, kind, method, seeds) for kind in KINDS])
        errors = np.maximum([values[:, 0] - values[:, 1], values[:, 2] - values[:, 0]], 0)
        axes.errorbar(
            np.arange(len(KINDS)) + offset, values[:, 0], errors, fmt="o", markersize=5, elinewidth=1.2,
            label=_CALLED.get(method, method), color=COLOURS[method],
        )  # fmt: skip
    axes.axhline(1, color=COLOURS[BASELINE], linewidth=1.2, zorder=0, label=_CALLED[BASELINE])
    axes.set(yscale="log", ylabel="mean regret, relative to the standard process", xlabel="kind of old data")
    for between in np.arange(len(KINDS) - 1) + 0.5:
        axes.axvline(between, color="0.92", linewidth=1, zorder=0)
    axes.set_xticks(np.arange(len(KINDS)), [kind.replace(" ", "\n") for kind in KINDS])
    axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks([0.125, 0.25, 0.5, 1, 2, 4])
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure


def _curve(axes: Axes, found: pd.DataFrame, method: str) -> None:
    """Quartiles by step: the median as a line, the others shaded for the default and the standard process."""
    ours, named = method in _OURS, method in COLOURS
    axes.plot(
        found.index, found[0.5], color=COLOURS.get(method, _GREY), linewidth=2.4 if ours else 1.4 if named else 0.8,
        zorder=4 if ours else 3 if named else 1, label=_CALLED.get(method, method) if named else "_other",
    )  # fmt: skip
    if method in (AVERAGE, BASELINE):
        axes.fill_between(found.index, found[0.25], found[0.75], color=COLOURS[method], alpha=0.1, linewidth=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(found.index.min(), found.index.max())
    axes.spines[["top", "right"]].set_visible(False)


def _handles(axes: Axes) -> tuple[list[Artist], list[str]]:
    """What a legend shows: the methods in colours, in their order, and one line for all others."""
    shown = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    labels = [label for label in (_CALLED.get(method, method) for method in COLOURS) if label in shown]
    others = len(METHODS) - len(labels)
    grey = Line2D([], [], color=_GREY, linewidth=0.8)
    return [*(shown[label] for label in labels), grey], [*labels, f"{others} others (see the tables)"]


def draw_beliefs(results: pd.DataFrame) -> Figure:
    """A row for each kind of old data: a dot for every function, a bar at the geometric mean; the baseline is at 1."""
    regrets, kinds, names = mean_regrets(results), kinds_in_order(results), problems_in_order(results)
    figure, axes = plt.subplots(figsize=(8, 0.55 * len(kinds) + 1.4), layout="constrained")
    for row, kind in enumerate(kinds):
        ratios = [ratio(regrets, [name], kind, AVERAGE).middle for name in names]
        (dots,) = axes.plot(ratios, np.full(len(ratios), -row), "o", color="0.65", markersize=5, markeredgewidth=0)
        middle, low, high = ratio(regrets, names, kind, AVERAGE)
        axes.plot([low, high], [-row, -row], color=COLOURS[AVERAGE], linewidth=2)
        (bar,) = axes.plot(middle, -row, "|", color=COLOURS[AVERAGE], markersize=18, markeredgewidth=3)
    line = axes.axvline(1, color=COLOURS[BASELINE], linewidth=1.2)
    named = {
        "the default on one function": dots,
        "geometric mean, 95 % interval over seeds": bar,
        "the standard process": line,
    }
    figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    axes.set(xscale="log", yticks=range(0, -len(kinds), -1), ylim=(0.6 - len(kinds), 0.6))
    axes.set_yticklabels([f"old data: {kind}" for kind in kinds])
    axes.set_xlabel("mean regret, relative to the standard process (left is better)", fontsize=10)
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


def save(figure: Figure, path: Path, data: Sequence[Path], dpi: int = 120) -> None:
    """As a PNG that carries the names of the files it was drawn from, and their digest."""
    told = {_SOURCE: ", ".join(one.name for one in data), _DIGEST: digest_of(data), "Software": None}
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi, pil_kwargs={"optimize": True}, metadata=told)
    plt.close(figure)


def drawn_from(path: Path) -> tuple[str, str]:
    """The names of the files that a picture was drawn from, and their digest; empty where it does not say."""
    with Image.open(path) as image:
        return image.info.get(_SOURCE, ""), image.info.get(_DIGEST, "")


def digest_of(data: Sequence[Path]) -> str:
    """SHA-256 of the files' contents, one after the other, whichever way their lines end."""
    found = sha256()
    for one in data:
        found.update(one.read_bytes().replace(b"\r\n", b"\n"))
    return found.hexdigest()
