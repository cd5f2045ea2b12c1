"""The pictures of docs/field.md: who differs from whom, regret over trials, ours and BoTorch in each contest."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FormatStrFormatter, LogLocator, NullFormatter

from benchmarks.comparison import LEAST_REGRET
from benchmarks.peers.by_name import BOTORCH, OURS, OURS_PLAIN
from benchmarks.problems.pairs import CHOSEN_ON, IN_WORDS
from benchmarks.studies.field.measures import Key, Ranks, contests_of, over_budget, ranks, versus
from benchmarks.studies.field.words import told

_OURS, _LOST, _OTHER = "#0072b2", "#d55e00", "#333333"
#: Colours of the lines that are named, in their order; ours, then ours without old data, then the others.
_COLOURS = (_OURS, "#56b4e9", "#333333", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
_OTHERS_NAMED = 4
_LEFT, _RIGHT = 0.08, 15.0  # a ratio below is an arrow
_BAND = "shaded: 95 % of a bootstrap over contests"


def draw_ranks(found: Ranks, title: str) -> Figure:
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
    return figure


def draw_trials(found: pd.DataFrame, contests: Sequence[Key], title: str) -> Figure:
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
    return figure


def draw_contests(regrets: pd.DataFrame, contests: Sequence[Key], title: str) -> Figure:
    """Ours over BoTorch in each contest, sorted, with 95 % intervals; what we lose is in another colour.

    Below them their geometric mean, with an interval over contests, and their median. Over the best peer of each
    contest it would be over whoever was lucky there: with few seeds, often random search. Names stand beside the
    intervals, so that the picture is narrow enough for a telephone.
    """
    compared = versus(regrets, OURS, BOTORCH, contests)
    if compared is None:
        raise LookupError(f"There are no results of {OURS} beside {BOTORCH}.")
    ratios = compared.each
    in_order = sorted(ratios, key=lambda one: -ratios[one].middle)
    figure = Figure(figsize=(4.6, 0.2 * len(ratios) + 1.9), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(_LEFT, 1, color=_OURS, alpha=0.07, linewidth=0)
    axes.axvspan(1, _RIGHT, color=_LOST, alpha=0.07, linewidth=0)
    for place, key in enumerate(in_order, start=3):
        middle, low, high = ratios[key]
        colour = _OURS if middle <= 1 else _LOST
        filled = low > 1 or high < 1  # sure
        face = colour if filled else "white"
        axes.plot([max(low, _LEFT), max(high, _LEFT)], [place, place], color=colour, linewidth=1.6, alpha=0.7)
        if middle < _LEFT:  # far off: an arrow, and the number
            axes.plot(_LEFT, place, "<", color=colour, markersize=6, clip_on=False)
            said = f"{middle:.3f}" if key.problem in CHOSEN_ON else f"{middle:.3f}, held out"
            axes.text(1.1 * _LEFT, place, said, va="center", fontsize=9, color=colour)
        else:
            marker = "o" if key.problem in CHOSEN_ON else "D"
            axes.plot(middle, place, marker, color=colour, markersize=5.4, markerfacecolor=face)
        won = middle <= 1
        beside = 1.08 * max(high, 1) if won else min(low, 1) / 1.08
        name = axes.text(beside, place, _named(key), va="center", ha="left" if won else "right", fontsize=9)
        name.set_in_layout(False)  # it may reach beyond the axes
    middle, low, high = compared.ratio
    axes.plot([low, high], [1, 1], color="black", linewidth=2.2)
    axes.plot(middle, 1, "s", color="black", markersize=7)
    axes.plot(compared.median, 0, "|", color="black", markersize=11, markeredgewidth=2.6)
    axes.text(1.08, 1, f"geometric mean {middle:.2f}", va="center", fontsize=9, fontweight="bold")
    axes.text(1.08, 0, f"median {compared.median:.2f}", va="center", fontsize=9, fontweight="bold")
    axes.axvline(1, color="black", linewidth=1)
    axes.axhline(1.9, color="0.6", linewidth=0.8)
    wins = sum(one.middle < 1 for one in ratios.values())
    top = len(ratios) + 3.4
    axes.text(0.97, top, f"better: {wins} of {len(ratios)}", ha="right", fontsize=10, color=_OURS, fontweight="bold")
    axes.text(1.04, top, f"worse: {len(ratios) - wins}", ha="left", fontsize=10, color=_LOST, fontweight="bold")
    axes.set(xscale="log", ylim=(-0.8, top + 0.9), yticks=[])
    axes.set_xlim(_LEFT, _RIGHT)
    axes.set_xlabel("simple regret over BoTorch's without old data (log scale)", fontsize=9.5)
    axes.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5]))
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(labelsize=9.5)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(_marks(), ["held out", "chose our settings", "95 % interval (seeds) holds 1"], ncols=3, frameon=False,
                  loc="outside lower center", fontsize=8.5, handletextpad=0.1, columnspacing=0.8)  # fmt: skip
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    return figure


def _named(key: Key) -> str:
    """What a contest is of; a measured pair by what was measured."""
    return IN_WORDS.get(key.problem) or told(key)


def _marks() -> list[Line2D]:
    """What a legend shows of pairs: held out, used to choose numbers of the prior, and not sure."""
    return [
        Line2D([], [], color=_OTHER, linestyle="", marker=marker, markersize=5.4, markerfacecolor=face)
        for marker, face in (("D", _OTHER), ("o", _OTHER), ("o", "white"))
    ]


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


def figure_of(found: pd.DataFrame, kind: str, part: str, every: Sequence[Key]) -> Figure:
    """One picture of a part of the comparison: ranks, trials or contests; of contests that have a result of ours."""
    regrets = over_budget(found)
    ours = set(contests_of(regrets, OURS))
    contests = [key for key in every if key in ours]
    if kind == "trials":
        return draw_trials(found, contests, f"Regret over trials, {len(contests)} contests ({part}); {_BAND}")
    if kind == "contests":
        return draw_contests(regrets, contests, f"Regret with old data, {len(contests)} measured pairs")
    ranked = ranks(regrets, contests)
    if ranked is None:
        raise LookupError(f"Ranks take two peers and two contests; there are none in {part}.")
    return draw_ranks(ranked, f"Average rank in {len(contests)} contests ({part}); 1 is best")


def _band(rows: np.ndarray) -> np.ndarray:
    """Quantiles of the mean over contests that are drawn with replacement."""
    drawn = np.random.default_rng(0).integers(len(rows), size=(1000, len(rows)))
    return np.quantile(rows[drawn].mean(axis=1), [0.025, 0.975], axis=0).clip(min=LEAST_REGRET)


def _as_percentages(axes: Axes) -> None:
    axes.yaxis.set_major_locator(LogLocator(10, (1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(lambda value, _place: f"{100 * value:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.spines[["top", "right"]].set_visible(False)
