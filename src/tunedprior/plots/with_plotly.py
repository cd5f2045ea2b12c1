"""Render pictures as Plotly figures, and panels as input of Plotly's JavaScript."""

from html import escape
from math import log10
from textwrap import wrap
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

_SYMBOLS = {CIRCLE: "circle", DIAMOND: "diamond", CROSS: "x", STAR: "star", SQUARE: "square"}
_SIZES = {STAR: 13, CROSS: 9}
_FONT = {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 12, "color": "#222222"}
_WIDE, _SAID = 90, 105  # letters in a line: of a note under the mouse, and of a sentence below
_ROOM = 20  # letters of categories that have room side by side
# Heights in pixels: of a row of panels, of what is above and below them, and of a line of text.
_ROW, _ABOVE, _BELOW, _LINE = 280, 70, 60, 17


def render_plotly(picture: Picture) -> Any:
    """Render the picture as a `plotly.graph_objects.Figure`."""
    figure = import_optional("plotly.subplots", "plots").make_subplots(
        rows=picture.rows,
        cols=picture.across,
        subplot_titles=[_escape_html(shorten(panel.title, LONGEST_TITLE)) for panel in picture.panels],
        horizontal_spacing=0.28 / picture.across,
        vertical_spacing=0.32 / picture.rows if picture.rows > 1 else 0.0,
    )
    named: set[str] = set()
    rows_of: dict[str, int] = {}
    for row, column, panel in picture.place_panels():
        for layer in panel.layers:
            trace = _encode_layer(layer, panel)
            trace["showlegend"] = bool(trace.get("showlegend")) and layer.name not in named
            if isinstance(layer, Shades):
                middle = 1 - (rows_of.setdefault(layer.name, row) - 0.5) / picture.rows
                trace["showscale"] = layer.name not in named
                trace["colorbar"] |= {"y": middle, "len": 0.9 / picture.rows}
            figure.add_trace(trace, row=row, col=column)
            named.add(layer.name)
        figure.update_xaxes(_encode_axis(panel.x, True), row=row, col=column)
        figure.update_yaxes(_encode_axis(panel.y, False), row=row, col=column)
    said = [line for sentence in picture.list_captions() for line in wrap(sentence, _SAID)]
    plot, keys = _ROW * picture.rows, len(picture.list_legend_layers())
    legend = 22 * (1 + keys // (2 + picture.across)) if keys > 1 else 0
    figure.update_layout(
        title={"text": _escape_html(picture.title), "x": 0.01, "xanchor": "left", "font": {"size": 16}},
        font=_FONT,
        template="none",
        height=plot + _ABOVE + _BELOW + legend + _LINE * len(said),
        margin={"l": 70, "r": 20, "t": _ABOVE, "b": _BELOW + legend + _LINE * len(said)},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": -_BELOW / plot, "yanchor": "top"},
        showlegend=keys > 1,
        hovermode="closest",
    )
    figure.update_annotations(font_size=12)
    if said:
        figure.add_annotation(
            text="<br>".join(map(_escape_html, said)),
            showarrow=False,
            align="left",
            x=0,
            y=0,
            xref="paper",
            yref="paper",
            xanchor="left",
            yanchor="top",
            yshift=-(_BELOW + legend),
            font={"size": 11, "color": "#444444"},
        )
    return figure


def encode_panel(panel: Panel) -> dict[str, Any]:
    """Encode one panel as the `data` and `layout` of a plot of its own, without a legend."""
    traces = [_encode_layer(layer, panel) | {"showlegend": False} for layer in panel.layers]
    layout: dict[str, Any] = {
        "xaxis": _encode_axis(panel.x, True),
        "yaxis": _encode_axis(panel.y, False),
        "font": _FONT,
        "margin": {"l": 62, "r": 12, "t": 30 if panel.title else 10, "b": 50},
        "hovermode": "closest",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "autosize": True,
    }
    if panel.title:
        title = shorten(panel.title, LONGEST_TITLE)
        layout["title"] = {"text": _escape_html(title), "x": 0.01, "xanchor": "left", "font": {"size": 13}, "y": 0.98}
    return {"data": traces, "layout": layout}


def _encode_layer(layer: Layer, panel: Panel) -> dict[str, Any]:
    """Encode a layer of the panel as a trace."""
    name, ends = _escape_html(layer.name), list(panel.x.ends or (0.0, 1.0))
    shared: dict[str, Any] = {"type": "scatter", "name": name, "legendgroup": name, "showlegend": bool(name)}
    match layer:
        case Bars():
            return _encode_bars(layer, panel)
        case Shades():
            return _encode_shades(layer, panel)
        case Dots():
            return shared | _encode_dots(layer)
        case Curve():
            line = {"color": layer.colour, "width": 2, "dash": "dash" if layer.dashed else "solid"}
            line["shape"] = "hv" if layer.stepped else "linear"
            points = {"x": list(layer.x), "y": _encode_numbers(layer.y)}
            return shared | {"mode": "lines", **points, "line": line, "hoverinfo": "y"}
        case Level():
            line = {"color": layer.colour, "width": 1.5, "dash": "dash"}
            return shared | {"mode": "lines", "x": ends, "y": [layer.at] * 2, "line": line, "hoverinfo": "name"}
        case Band():
            around = [*layer.x, *reversed(layer.x)], [*layer.low, *reversed(layer.high)]
            return shared | _encode_fill(*around, layer.colour, 0.28)
        case Zone():
            around = [*ends, *reversed(ends)], [layer.low] * 2 + [layer.high] * 2
            return shared | _encode_fill(*around, layer.colour, 0.15)


def _encode_bars(bars: Bars, panel: Panel) -> dict[str, Any]:
    said = [f"{_escape_html(name)}: {one:.3g}" for name, one in zip(panel.y.choices, bars.lengths, strict=True)]
    return {
        "type": "bar", "orientation": "h", "x": list(bars.lengths), "y": list(range(len(bars.lengths))),
        "marker": {"color": bars.colour}, "hovertext": said, "hoverinfo": "text", "width": 0.65,
    }  # fmt: skip


def _encode_fill(x: list[float], y: list[float], colour: str, alpha: float) -> dict[str, Any]:
    fill = {"fill": "toself", "fillcolor": _format_rgba(colour, alpha), "line": {"width": 0}, "hoverinfo": "skip"}
    return {"mode": "lines", "x": x, "y": y, **fill}


def _encode_dots(dots: Dots) -> dict[str, Any]:
    found: dict[str, Any] = {
        "mode": "markers",
        "x": _encode_numbers(dots.x),
        "y": _encode_numbers(dots.y),
        "marker": {
            "color": dots.colour,
            "symbol": _SYMBOLS[dots.shape] + ("-open" if dots.hollow else ""),
            "size": 5 if dots.small else _SIZES.get(dots.shape, 8),
            "opacity": 0.55 if dots.small and dots.colour == GREY else 1.0,
            "line": {"width": 1.5 if dots.hollow else 1, "color": dots.colour if dots.hollow else "white"},
        },
        "hovertext": _format_hover_texts(dots),
        "hoverinfo": "text",
    }
    if dots.low:
        error = {"type": "data", "symmetric": False, "color": _format_rgba(dots.colour, 0.7), "thickness": 1.2}
        error["array"] = [high - y for y, high in zip(dots.y, dots.high, strict=True)]
        error["arrayminus"] = [y - low for y, low in zip(dots.y, dots.low, strict=True)]
        found["error_y"] = error | {"width": 3}
    return found


def _format_hover_texts(dots: Dots) -> list[str]:
    """The text of each point under the mouse: its value, interval and note."""
    found = []
    for number, y in enumerate(dots.y):
        lines = [f"{dots.name}: {y:.5g}" if dots.name else f"{y:.5g}"]
        if dots.low:
            lines[0] += f" ({dots.low[number]:.5g} to {dots.high[number]:.5g})"
        lines += wrap(dots.notes[number], _WIDE) if dots.notes else []
        found.append("<br>".join(map(_escape_html, lines)))
    return found


def _encode_shades(shades: Shades, panel: Panel) -> dict[str, Any]:
    smooth = not panel.x.choices and not panel.y.choices and min(len(shades.x), len(shades.y)) > 2
    found: dict[str, Any] = {
        "type": "contour" if smooth else "heatmap",
        "x": list(shades.x),
        "y": list(shades.y),
        "z": [_encode_numbers(row) for row in shades.z],
        "colorscale": "Viridis",
        "zmin": shades.ends[0],
        "zmax": shades.ends[1],
        "hovertemplate": f"{_escape_html(shades.name)}: %{{z:.5g}}<extra></extra>",
        "colorbar": {
            "thickness": 12,
            "title": {"text": _escape_html(shorten(shades.name, LONGEST_TITLE)), "side": "right"},
            "outlinewidth": 0,
        },
    }
    if smooth:
        found |= {"contours": {"coloring": "heatmap"}, "line": {"width": 0.5, "color": "rgba(255,255,255,0.6)"}}
    return found


def _encode_axis(scale: Scale, across: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "title": {"text": _escape_html(shorten(scale.title, LONGEST_TITLE)), "standoff": 8},
        "automargin": True,
        "gridcolor": "#e6e6e6",
        "linecolor": "#888888",
        "showline": True,
        "zeroline": False,
        "ticks": "outside",
        "ticklen": 4,
    }
    if scale.log:
        found |= {"type": "log", "exponentformat": "power"}
    if scale.choices:
        places, labels = scale.ticks
        found |= {"tickvals": list(places), "ticktext": [_escape_html(one) for one in labels]}
        if scale.full_names:
            found["tickfont"] = {"size": 10}
        if across and sum(map(len, labels)) > _ROOM:
            found["tickangle"] = -45  # of its own accord Plotly leaves some out
    elif scale.marks:
        found |= {"tickvals": list(scale.marks), "ticktext": [f"{one:g}" for one in scale.marks]}
    elif scale.whole:
        found |= {"tickformat": "d"} | ({"dtick": 1} if scale.ends and scale.ends[1] - scale.ends[0] < 8 else {})
    if scale.ends is not None:
        found["range"] = [log10(one) for one in scale.ends] if scale.log else list(scale.ends)
    return found


def _encode_numbers(values: Any) -> list[float | None]:
    """Numbers as JSON values; NaN is null, and interrupts a line."""
    return [None if one != one else float(one) for one in values]


def _format_rgba(colour: str, alpha: float) -> str:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"


def _escape_html(text: str) -> str:
    """Escape text, some of which Plotly would read as HTML."""
    return escape(text, quote=False)
