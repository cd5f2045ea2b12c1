"""The figures of docs/beliefs.md that show trust, and what each belief holds possible."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import torch
from matplotlib.ticker import MaxNLocator

from benchmarks.figures import save

_DRAWS = ("#0072b2", "#009e73", "#56b4e9", "black")  # none like the old data's


def draw_trust(histories: Mapping[str, pd.DataFrame], path: Path) -> None:
    """A panel for each kind of old data: how probable each belief is after each observation, and trust as a line."""
    figure, panels = plt.subplots(2, (len(histories) + 1) // 2, figsize=(10, 5), sharey=True, layout="constrained")
    colours = {"aligned": "#9ecae1", "shape": "#fdd0a2", "uninformed": "0.92"}
    for (kind, history), axes in zip(histories.items(), panels.flat, strict=True):
        axes.stackplot(
            history.index, *(history[belief] for belief in colours), labels=list(colours), colors=list(colours.values())
        )
        axes.plot(history.index, history["trust"], label="trust", color="#d55e00", linewidth=2.4)
        axes.set_title(f"old data: {kind}", loc="left", fontsize=11)
        axes.set(xlim=(0, history.index.max()), ylim=(0, 1))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in panels[-1]:
        axes.set_xlabel("results told")
    for axes in panels[:, 0]:
        axes.set_ylabel("probability (areas), trust (line)")
    labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(*labels, loc="outside lower center", ncols=len(labels[0]), frameon=False)
    save(figure, path)


def draw_beliefs_held(
    grid: torch.Tensor,
    settings: torch.Tensor,
    response: torch.Tensor,
    draws: Mapping[str, torch.Tensor],
    path: Path,
) -> None:
    """The old data, then a panel for each belief about it: objectives that it holds possible."""
    figure, panels = plt.subplots(2, 3, figsize=(10, 5), sharex=True, layout="constrained")
    panels.flat[0].plot(settings, response, "o", color="#d55e00", markersize=4)
    panels.flat[0].set_title("the old data", loc="left", fontsize=11)
    for (belief, some), axes in zip(draws.items(), panels.flat[1:], strict=True):
        for line, colour in zip(some.T, _DRAWS, strict=True):
            axes.plot(grid, line, linewidth=1.4, color=colour)
        axes.set_title(belief, loc="left", fontsize=11)
        axes.axvspan(float(settings.min()), float(settings.max()), color="#d55e00", alpha=0.08, linewidth=0)
    for axes in panels.flat:
        axes.set_yticks([])
        axes.set_ylabel("response")
    for axes in panels[-1]:
        axes.set_xlabel("setting")
    save(figure, path)
