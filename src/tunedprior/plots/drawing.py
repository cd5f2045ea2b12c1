"""Pictures of a campaign, for people who write Python; each is drawn by Plotly or by matplotlib."""

from typing import Any

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.checks import listed, shown, whole
from tunedprior.errors import InputError
from tunedprior.plots.effect_curves import effects_picture
from tunedprior.plots.old_lessons import learnt_picture
from tunedprior.plots.over_trials import progress_picture
from tunedprior.plots.pair_effects import interactions_picture
from tunedprior.plots.pictures import Picture
from tunedprior.plots.standing import standing_of
from tunedprior.plots.trade_offs import front_picture
from tunedprior.plots.trust_course import trust_picture

PLOTLY, MATPLOTLIB = BACKENDS = ("plotly", "matplotlib")
#: For how many suggestions the shadow is worked out; each takes a fifth of a second or more.
SHADOWED = 25


def progress(opt: Optimizer, *, shadow: bool | int = True, backend: str = PLOTLY, bar: bool = False) -> Any:
    """What came of each trial, the best so far, and the shadow: what plain optimisation would have suggested instead.

    The plain suggestions were never run, so what the present model expects of them is drawn, with its 95 % interval.

    Args:
        opt: The campaign.
        shadow: Whether to draw the shadow, or of how many of the latest suggestions.
        backend: `"plotly"` (default: it shows the setting and the note of a point under the mouse) or `"matplotlib"`.
        bar: Whether to show a progress bar while the shadow is worked out.

    Returns:
        A Plotly or matplotlib figure.
    """
    return drawn(progress_picture(standing_of(opt), shadows(shadow), bar), backend)


def effects(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """What the model expects along each input, with 95 % intervals, all other inputs held at the recommended setting.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    return drawn(effects_picture(standing_of(opt)), backend)


def interactions(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """The two pairs of inputs that act together most strongly, as maps of what the model expects.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    return drawn(interactions_picture(standing_of(opt)), backend)


def trust(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """The share of the response's variance that each old data set explains, after each result, and that in words.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    standing_of(opt)  # refuses what is no optimiser
    return drawn(trust_picture(opt.trust), backend)


def front(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """The best trade-offs between objectives, what is worse, and what does not meet the requirements.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    return drawn(front_picture(standing_of(opt)), backend)


def learnt(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """What the old data taught: how much each input matters, and the old response along it.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    return drawn(learnt_picture(standing_of(opt)), backend)


def shadows(shadow: bool | int) -> int:
    """Of how many suggestions the shadow is worked out."""
    if isinstance(shadow, bool):
        return SHADOWED if shadow else 0
    return whole(shadow, "shadow") if shadow != 0 else 0


def drawn(picture: Picture, backend: str) -> Any:
    """The picture as a figure of one of the two packages."""
    if backend == PLOTLY:
        from tunedprior.plots.with_plotly import plotly_figure

        return plotly_figure(picture)
    if backend == MATPLOTLIB:
        from tunedprior.plots.with_matplotlib import matplotlib_figure

        return matplotlib_figure(picture)
    raise InputError(f"backend must be one of {listed(map(repr, BACKENDS))}; got {shown(backend)}.")
