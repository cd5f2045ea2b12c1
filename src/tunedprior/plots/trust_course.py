"""Trust in old data, after each result."""

from tunedprior.errors import InputError
from tunedprior.insight.trust import Trust
from tunedprior.plots.pictures import SERIES, Curve, Panel, Picture, Scale


def build_trust_picture(found: Trust | dict[str, Trust]) -> Picture:
    """For each response a panel, in it a line for each old data set; what the figures come to, in words."""
    by_response = found if isinstance(found, dict) else {"": found}
    if not by_response:
        raise InputError("A picture of trust needs old data; this campaign has none that is used.")
    if all(len(one.history) < 2 for one in by_response.values()):
        raise InputError("A picture of trust needs a result, and nothing was told yet that worked. Tell at least one.")
    names = list(dict.fromkeys(name for one in by_response.values() for name in one.relations["old data"]))
    colours = {name: SERIES[number % len(SERIES)] for number, name in enumerate(names)}
    panels = tuple(_build_trust_panel(one, response, colours) for response, one in by_response.items())
    said = tuple(
        f"{response}: {sentence}" if response else sentence
        for response, one in by_response.items()
        for sentence in one.sentences
    )
    return Picture("Trust in old data", panels, columns=2 if len(panels) > 1 else 1, sentences=said)


def _build_trust_panel(trust: Trust, response: str, colours: dict[str, str]) -> Panel:
    names = list(trust.relations["old data"])
    counts = tuple(float(one) for one in trust.history.index)
    layers = tuple(Curve(name, counts, _get_trust_column(trust, name, len(names) > 1), colours[name]) for name in names)
    x = Scale("results", ends=(-0.3, max(counts) + 0.3), whole=True)
    return Panel(x, Scale("trust (share explained)", ends=(-0.03, 1.03)), layers, response)


def _get_trust_column(trust: Trust, name: str, several: bool) -> tuple[float, ...]:
    column = trust.history[f"{name}: trust" if several else "trust"]
    return tuple(float(one) for one in column)
