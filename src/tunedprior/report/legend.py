"""What a colour or a mark stands for, drawn small beside its name."""

from tunedprior.plots.pictures import CIRCLE, CROSS, DIAMOND, SQUARE, STAR, Band, Curve, Dots, Layer, Level, Zone

_MARKS = {
    CIRCLE: '<circle cx="12" cy="7" r="{size}"/>',
    DIAMOND: '<path d="M12 2 17 7 12 12 7 7Z"/>',
    CROSS: '<path d="M8 3 16 11M16 3 8 11" fill="none" stroke-width="2.5"/>',
    STAR: '<path d="M12 1 13.6 5.2 18 5.4 14.5 8.1 15.7 12.4 12 9.9 8.3 12.4 9.5 8.1 6 5.4 10.4 5.2Z"/>',
    SQUARE: '<path d="M8 3H16V11H8Z"/>',
}


def render_key_svg(layer: Layer) -> str:
    """A small drawing of a layer's colour and mark; it holds no text of anybody's."""
    if isinstance(layer, Dots):
        fill = "#ffffff" if layer.hollow else layer.colour
        mark = _MARKS[layer.shape].format(size=2.5 if layer.small else 4)
        inside = f'<g fill="{fill}" stroke="{layer.colour}" stroke-width="1.5">{mark}</g>'
    elif isinstance(layer, Band | Zone):
        inside = f'<rect x="0" y="1" width="24" height="12" fill="{layer.colour}" opacity="0.3"/>'
    elif isinstance(layer, Curve | Level):
        dashed = isinstance(layer, Level) or layer.dashed
        dashes = ' stroke-dasharray="5 3"' if dashed else ""
        inside = f'<path d="M0 7H24" stroke="{layer.colour}" stroke-width="2"{dashes}/>'
    else:
        inside = ""
    return f'<svg width="24" height="14" viewBox="0 0 24 14" aria-hidden="true">{inside}</svg>'
