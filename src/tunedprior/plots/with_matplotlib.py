"""Render pictures as matplotlib figures, without using or changing matplotlib's global state."""

from textwrap import fill
from typing import Any

from tunedprior.checks import import_optional
from tunedprior.plots.pictures import (
    CIRCLE,
    CROSS,
    DIAMOND,
    GREY,
    LONGEST_TITLE,
    SQUARE,
    STAR,
    Band,
    Bars,
    Curve,
    Dots,
    Layer,
    Level,
    Panel,
    Picture,
    Scale,
    Shades,
    Zone,
    shorten,
)

_MARKERS = {CIRCLE: "o", DIAMOND: "D", CROSS: "x", STAR: "*", SQUARE: "s"}
_SIZES = {STAR: 11.0, CROSS: 6.0}
_SMALL, _TEXT = 7.5, 8.5
_LEAST_WIDTH = 5.2  # inches
_LONG = 6  # letters of a category from which names are turned
_MANY = 4  # categories likewise


def render_matplotlib(picture: Picture) -> Any:
    """The picture as a `matplotlib.figure.Figure`, which `savefig` writes and notebooks show."""
    figure_class = import_optional("matplotlib.figure", "plots").Figure
    keys = picture.list_legend_layers()
    width, panels_high = max(_LEAST_WIDTH, 2.6 * picture.across), 2.3 * picture.rows
    said = "\n".join(fill(_escape_dollars(one), int(width * 16)) for one in picture.list_captions())
    legend_columns = 2 if width < 7 else 4
    legend_high = 0.2 * (1 + len(keys) // legend_columns) if len(keys) > 1 else 0.0
    high = [0.4 + panels_high + legend_high, 0.1 + 0.155 * (1 + said.count("\n")) if said else 0.02]
    figure = figure_class(figsize=(width, sum(high)), dpi=110, layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=high)
    upper.suptitle(_escape_dollars(picture.title), fontsize=11, x=0.01, ha="left")
    axes_of = upper.subplots(picture.rows, picture.across, squeeze=False)
    for axes in axes_of.flat[len(picture.panels) :]:
        axes.set_visible(False)
    maps: dict[str, tuple[Any, list[Any]]] = {}
    handles: dict[str, Any] = {}
    for row, column, panel in picture.place_panels():
        axes = axes_of[row - 1, column - 1]
        _set_up_axes(axes, panel)
        for layer in panel.layers:
            drawn = _render_layer(axes, layer)
            handles.setdefault(layer.name, drawn)
            if isinstance(layer, Shades):
                axes.grid(visible=False)
                maps.setdefault(layer.name, (drawn, []))[1].append(axes)
    for name, (mesh, beside) in maps.items():
        bar = upper.colorbar(mesh, ax=beside, shrink=0.9)
        bar.set_label(_escape_dollars(shorten(name, LONGEST_TITLE)), fontsize=_TEXT)
        bar.ax.tick_params(labelsize=_SMALL)
    if len(keys) > 1:
        upper.legend(
            [handles[one.name] for one in keys],
            [_escape_dollars(one.name) for one in keys],
            loc="outside lower left",
            ncols=legend_columns,
            fontsize=_SMALL,
            frameon=False,
        )
    lower.text(0.01, 0.98, said, fontsize=_SMALL, va="top", color="#444444")
    return figure


def _set_up_axes(axes: Any, panel: Panel) -> None:
    _set_scale(axes.xaxis, panel.x, axes.set_xlim, axes.set_xscale, axes.set_xlabel)
    _set_scale(axes.yaxis, panel.y, axes.set_ylim, axes.set_yscale, axes.set_ylabel)
    labels = panel.x.ticks[1]
    axes.tick_params(labelsize=_SMALL)
    if len(labels) > _MANY or any(len(one) > _LONG for one in labels):
        axes.tick_params(axis="x", rotation=90 if len(labels) > 2 * _MANY else 45)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    if panel.title:
        axes.set_title(_escape_dollars(shorten(panel.title, LONGEST_TITLE)), fontsize=_TEXT, loc="left")


def _set_scale(axis: Any, scale: Scale, set_ends: Any, set_kind: Any, set_title: Any) -> None:
    if scale.log:
        set_kind("log")
    if scale.choices:
        places, labels = scale.ticks
        axis.set_ticks(places, [_escape_dollars(one) for one in labels])
    elif scale.marks:
        axis.set_ticks(scale.marks, [f"{one:g}" for one in scale.marks])
        axis.set_ticks([], minor=True)
    elif scale.whole:
        axis.set_major_locator(import_optional("matplotlib.ticker", "plots").MaxNLocator(integer=True, min_n_ticks=1))
    if scale.ends is not None:
        set_ends(*scale.ends)
    set_title(_escape_dollars(shorten(scale.title, LONGEST_TITLE)), fontsize=_TEXT)


def _render_layer(axes: Any, layer: Layer) -> Any:
    match layer:
        case Curve():
            drawing = "steps-post" if layer.stepped else "default"
            style = "--" if layer.dashed else "-"
            return axes.plot(layer.x, layer.y, style, color=layer.colour, linewidth=1.4, drawstyle=drawing)[0]
        case Band():
            return axes.fill_between(layer.x, layer.low, layer.high, color=layer.colour, alpha=0.3, linewidth=0)
        case Dots():
            return _render_dots(axes, layer)
        case Bars():
            return axes.barh(range(len(layer.lengths)), layer.lengths, height=0.65, color=layer.colour)
        case Level():
            return axes.axhline(layer.at, color=layer.colour, linestyle=(0, (4, 2)), linewidth=1.1)
        case Zone():
            return axes.axhspan(layer.low, layer.high, color=layer.colour, alpha=0.15, linewidth=0)
        case Shades():
            low, high = layer.ends
            return axes.pcolormesh(layer.x, layer.y, layer.z, shading="nearest", cmap="viridis", vmin=low, vmax=high)


def _render_dots(axes: Any, dots: Dots) -> Any:
    if dots.low:
        down = [y - low for y, low in zip(dots.y, dots.low, strict=True)]
        up = [high - y for y, high in zip(dots.y, dots.high, strict=True)]
        axes.errorbar(dots.x, dots.y, [down, up], fmt="none", ecolor=dots.colour, elinewidth=0.9, capsize=2, alpha=0.7)
    return axes.plot(
        dots.x,
        dots.y,
        _MARKERS[dots.shape],
        color=dots.colour,
        markerfacecolor="white" if dots.hollow else dots.colour,
        markeredgecolor=dots.colour if dots.shape != STAR else "white",
        markeredgewidth=1.6 if dots.shape == CROSS else 0.6 if dots.shape == STAR else 1.0,
        markersize=2.6 if dots.small else _SIZES.get(dots.shape, 4.6),
        linestyle="none",
        alpha=0.55 if dots.small and dots.colour == GREY else 1.0,
        zorder=3,
    )[0]


def _escape_dollars(text: str) -> str:
    """Escape dollars, between which matplotlib would read mathematics."""
    return text.replace("$", r"\$")
