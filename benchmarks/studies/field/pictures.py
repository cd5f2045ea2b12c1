"""The pictures of docs/field.md: who differs from whom, regret over trials, ours and BoTorch in each contest."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

from benchmarks.comparison import LEAST_REGRET
from benchmarks.peers.by_name import BOTORCH, OURS, OURS_PLAIN
from benchmarks.problems.pairs import CHOSEN_ON
from benchmarks.studies.field.measures import Key, Ranks, contests_of, over_budget, ranks, versus
from benchmarks.studies.field.words import told

_OURS, _LOST, _OTHER = "#0072b2", "#d55e00", "#333333"
#: Colours of the lines that are named, in their order; ours, then ours without old data, then the others.
_COLOURS = (_OURS, "#56b4e9", "#333333", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
_OTHERS_NAMED = 4
_MOST_NAMED = 30  # contests that have a line of their own
_BAND = "shaded: 95 % of a bootstrap over contests"


def draw_ranks(found: Ranks, title: str, path: Path) -> None:
    """Peers at their average ranks, the best on the left; a bar joins those that do not differ."""
    average = found.average
    half = (len(average) + 1) // 2
    bars = found.joined()
    low, high = int(np.floor(average.min())), int(np.ceil(average.max()))
    width, first_name = max(high - low, 1), -0.9 - 0.35 * len(bars)
    deepest = first_name - half + 1
    figure = Figure(figsize=(9, 0.26 * (2.6 - deepest) + 0.5), layout="constrained")
    axes = figure.subplots()
    axes.plot([low, high], [0, 0], color="black", linewidth=1)
    for rank in range(low, high + 1):
        axes.plot([rank, rank], [0, 0.18], color="black", linewidth=1)
        axes.text(rank, 0.3, str(rank), ha="center", va="bottom", fontsize=8)
    axes.plot([low, low + found.critical_difference], [1.75, 1.75], color="black", linewidth=1.6, marker="|")
    axes.text(low + found.critical_difference + 0.01 * width, 1.75,
              f" critical difference {found.critical_difference:.2f}", va="center", fontsize=8)  # fmt: skip
    for place, (peer, rank) in enumerate(average.items()):
        on_left = place < half
        depth = first_name - (place if on_left else len(average) - 1 - place)
        side = low - 0.04 * width if on_left else high + 0.04 * width
        colour = _OURS if peer in (OURS, OURS_PLAIN) else _OTHER
        axes.plot([rank, rank, side], [0, depth, depth], color=colour, linewidth=1.6 if peer == OURS else 0.8)
        said = f"{peer}  {rank:.2f} " if on_left else f" {rank:.2f}  {peer}"
        axes.text(side, depth, said, ha="right" if on_left else "left", va="center", fontsize=9, color=colour,
                  fontweight="bold" if peer == OURS else "normal")  # fmt: skip
    for place, (best, worst) in enumerate(bars):
        ends = average[best] - 0.006 * width, average[worst] + 0.006 * width
        axes.plot(ends, [-0.45 - 0.35 * place] * 2, color="black", linewidth=3.2, solid_capstyle="butt")
    axes.set(xlim=(low - 0.5 * width, high + 0.5 * width), ylim=(deepest - 0.6, 2.2))
    axes.set_title(title, loc="left", fontsize=10)
    axes.axis("off")
    _save(figure, path)


def draw_trials(found: pd.DataFrame, contests: Sequence[Key], title: str, path: Path) -> None:
    """Mean regret after each trial, over contests of the mean over seeds, for peers that took part in all of them.

    At most seven lines have names: ours, with and without old data, BoTorch, and the best of the others. Two have a
    band, the middle 95 % of a bootstrap over contests: more would hide each other.
    """
    by_contest = mean_curves(found, contests)
    named = [peer for peer in named_peers(over_budget(found), contests) if peer in by_contest]  # or it failed
    figure = Figure(figsize=(8.2, 4.4), layout="constrained")
    axes = figure.subplots()
    for peer, rows in by_contest.items():
        if peer not in named:
            axes.plot(rows.columns, rows.mean().clip(lower=LEAST_REGRET), color="0.82", linewidth=0.8, zorder=1)
    for peer, colour in zip(named, _COLOURS, strict=False):
        rows, ours = by_contest[peer], peer == OURS
        if peer in (OURS, BOTORCH):
            low, high = _band(rows.to_numpy())
            axes.fill_between(rows.columns, low, high, color=colour, alpha=0.14, linewidth=0, zorder=2)
        axes.plot(rows.columns, rows.mean().clip(lower=LEAST_REGRET), color=colour, linewidth=2.4 if ours else 1.4,
                  label=peer, zorder=4 if ours else 3)  # fmt: skip
    left = len(by_contest) - len(named)
    axes.plot([], [], color="0.82", linewidth=0.8, label=f"{left} other peers" if left > 1 else "another peer")
    axes.set(yscale="log", xlabel="trials", ylabel="simple regret, % of the range (mean; log scale)")
    steps = next(iter(by_contest.values())).columns
    axes.set(xlim=(1, max(steps)), xticks=[1, *range(5, max(steps) + 1, 5)])
    _as_percentages(axes)
    axes.grid(alpha=0.25)
    handles, labels = axes.get_legend_handles_labels()
    shown = slice(None) if left else slice(-1)
    figure.legend(handles[shown], labels[shown], loc="outside right center", frameon=False, fontsize=9)
    axes.set_title(title, loc="left", fontsize=10)
    _save(figure, path)


def draw_contests(regrets: pd.DataFrame, contests: Sequence[Key], title: str, path: Path) -> None:
    """Ours over BoTorch in each contest, sorted, with 95 % intervals; what we lose is in another colour.

    Over the best peer of each contest it would be over whoever was lucky there: with few seeds, often random search.
    """
    compared = versus(regrets, OURS, BOTORCH, contests)
    ratios = {} if compared is None else compared.each
    figure = Figure(figsize=(8.2, 0.27 * len(ratios) + 1.3), layout="constrained")
    axes = figure.subplots()
    names = []
    for place, key in enumerate(sorted(ratios, key=lambda one: ratios[one].middle)):
        middle, low, high = ratios[key]
        colour = _OURS if middle <= 1 else _LOST
        axes.plot([low, high], [place, place], color=colour, linewidth=1.6, alpha=0.7)
        filled = low > 1 or high < 1  # sure
        axes.plot(middle, place, "o", color=colour, markersize=6, markerfacecolor=colour if filled else "white")
        names.append(f"{told(key)}{' *' if key.problem in CHOSEN_ON else ''}")
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xscale="log", ylim=(-0.7, len(names) - 0.3), yticks=range(len(names)))
    axes.set_yticklabels(names, fontsize=8)
    axes.set_xlabel("our mean regret over BoTorch's, which sees no old data (log scale)\n"
                    "left of 1: ours is better; hollow: the 95 % interval holds 1; *: chose our numbers",
                    fontsize=9)  # fmt: skip
    axes.xaxis.set_major_locator(LogLocator(10, (1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title(title, loc="left", fontsize=10)
    _save(figure, path)


def mean_curves(found: pd.DataFrame, contests: Sequence[Key]) -> dict[str, pd.DataFrame]:
    """The mean over finished seeds: for each peer that took part in all contests, these by trials."""
    finished = found[np.isfinite(found.iloc[:, 0])]
    means = finished.groupby(level=[*range(4), "peer"]).mean()
    peers = means.index.get_level_values("peer").unique()
    places = {peer: [(*key, peer) for key in contests] for peer in peers}
    whole = {peer: means.loc[some] for peer, some in places.items() if all(one in means.index for one in some)}
    return {peer: rows.dropna(axis="columns") for peer, rows in whole.items()}


def named_peers(regrets: pd.DataFrame, contests: Sequence[Key]) -> list[str]:
    """Ours, ours without old data, BoTorch, and the four others of the best average rank, where they took part."""
    ranked = ranks(regrets, contests)
    average = [] if ranked is None else list(ranked.average.index)
    always = [peer for peer in (OURS, OURS_PLAIN, BOTORCH) if peer in average]
    return always + [peer for peer in average if peer not in always][:_OTHERS_NAMED]


def every_picture(found: pd.DataFrame, parts: dict[str, list[Key]], folder: Path) -> list[Path]:
    """Of each part of the comparison as PNGs; their paths. Contests by name, if they are not many."""
    regrets, made = over_budget(found), []
    ours = set(contests_of(regrets, OURS))
    for part, every in parts.items():
        contests = [key for key in every if key in ours]
        ranked = ranks(regrets, contests) if contests else None
        if ranked is None:
            continue
        in_ranks, over_trials, by_contest = (
            folder / f"field_{part}_{name}.png" for name in ("ranks", "trials", "contests")
        )
        draw_ranks(ranked, f"Average rank in {len(contests)} contests ({part}); 1 is best", in_ranks)
        draw_trials(found, contests, f"Regret over trials, {len(contests)} contests ({part}); {_BAND}", over_trials)
        made += [in_ranks, over_trials]
        if len(contests) <= _MOST_NAMED:
            draw_contests(regrets, contests, f"Ours against BoTorch ({part})", by_contest)
            made.append(by_contest)
    return made


def _band(rows: np.ndarray) -> np.ndarray:
    """Quantiles of the mean over contests that are drawn with replacement."""
    drawn = np.random.default_rng(0).integers(len(rows), size=(1000, len(rows)))
    return np.quantile(rows[drawn].mean(axis=1), [0.025, 0.975], axis=0).clip(min=LEAST_REGRET)


def _as_percentages(axes: Axes) -> None:
    axes.yaxis.set_major_locator(LogLocator(10, (1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(lambda value, _place: f"{100 * value:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.spines[["top", "right"]].set_visible(False)


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=120, pil_kwargs={"optimize": True}, metadata={"Software": None})
