"""Pictures of a campaign, for people who write Python; each is drawn by Plotly or by matplotlib."""

from typing import Any

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.checks import check_positive_integer, format_list, format_value
from tunedprior.errors import InputError
from tunedprior.plots.effects_pictures import build_effects_picture, build_interactions_picture, build_old_data_picture
from tunedprior.plots.pictures import Picture
from tunedprior.plots.progress_pictures import build_front_picture, build_progress_picture, build_trust_picture
from tunedprior.plots.snapshot import take_snapshot

PLOTLY, MATPLOTLIB = BACKENDS = ("plotly", "matplotlib")
#: For how many suggestions the shadow is worked out; each takes a fifth of a second or more.
BASELINE_COUNT = 25


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
    return render_picture(build_progress_picture(take_snapshot(opt), parse_baseline_count(shadow), bar), backend)


def effects(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """What the model expects along each input, with 95 % intervals, all other inputs held at the recommended setting.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    return render_picture(build_effects_picture(take_snapshot(opt)), backend)


def interactions(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """The two pairs of inputs that act together most strongly, as maps of what the model expects.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    return render_picture(build_interactions_picture(take_snapshot(opt)), backend)


def trust(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """The share of the response's variance that each old data set explains, after each result, and that in words.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    take_snapshot(opt)  # refuses what is no optimiser
    return render_picture(build_trust_picture(opt.trust), backend)


def front(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """The best trade-offs between objectives, what is worse, and what does not meet the requirements.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    return render_picture(build_front_picture(take_snapshot(opt)), backend)


def old_data(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """What the old data taught: how much each input matters, and the old response along it.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    return render_picture(build_old_data_picture(take_snapshot(opt)), backend)


def parse_baseline_count(shadow: bool | int) -> int:
    """Of how many suggestions the shadow is worked out."""
    if isinstance(shadow, bool):
        return BASELINE_COUNT if shadow else 0
    return check_positive_integer(shadow, "shadow") if shadow != 0 else 0


def render_picture(picture: Picture, backend: str) -> Any:
    """The picture as a figure of one of the two packages."""
    if backend == PLOTLY:
        from tunedprior.plots.with_plotly import render_plotly

        return render_plotly(picture)
    if backend == MATPLOTLIB:
        from tunedprior.plots.with_matplotlib import render_matplotlib

        return render_matplotlib(picture)
    raise InputError(f"backend must be one of {format_list(map(repr, BACKENDS))}; got {format_value(backend)}.")
