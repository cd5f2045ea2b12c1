"""The public functions that draw pictures of a campaign, with Plotly or matplotlib."""

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
    """Draw the result of each trial, the best so far, and the shadow: what would have been suggested without old data.

    The suggestions without old data were never run: the model's prediction of them is drawn, with its 95 % interval.

    Args:
        opt: The campaign.
        shadow: Whether to draw the shadow, or for how many of the latest suggestions.
        backend: `"plotly"` (default: it shows the setting and the note of a point under the mouse) or `"matplotlib"`.
        bar: Whether to show a progress bar while the shadow is computed.
    """
    return render_picture(build_progress_picture(take_snapshot(opt), parse_baseline_count(shadow), bar), backend)


def effects(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """Draw the predicted response along each input, with 95 % intervals, all others at the recommended setting.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    return render_picture(build_effects_picture(take_snapshot(opt)), backend)


def interactions(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """Draw the two pairs of inputs with the strongest interaction, as maps of the predicted response.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    return render_picture(build_interactions_picture(take_snapshot(opt)), backend)


def trust(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """Draw the share of the response's variance that each old data set explains, after each result.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    take_snapshot(opt)  # refuses what is no optimiser
    return render_picture(build_trust_picture(opt.trust), backend)


def front(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """Draw the Pareto front, dominated results, and results that do not meet the requirements.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    return render_picture(build_front_picture(take_snapshot(opt)), backend)


def old_data(opt: Optimizer, *, backend: str = PLOTLY) -> Any:
    """Draw what was learnt from old data: the importance of each input, and the old response along it.

    Args:
        opt: The campaign.
        backend: As for `progress`.
    """
    return render_picture(build_old_data_picture(take_snapshot(opt)), backend)


def parse_baseline_count(shadow: bool | int) -> int:
    """The number of suggestions for which the shadow is computed."""
    if isinstance(shadow, bool):
        return BASELINE_COUNT if shadow else 0
    return check_positive_integer(shadow, "shadow") if shadow != 0 else 0


def render_picture(picture: Picture, backend: str) -> Any:
    """Render the picture with one of the two packages."""
    if backend == PLOTLY:
        from tunedprior.plots.with_plotly import render_plotly

        return render_plotly(picture)
    if backend == MATPLOTLIB:
        from tunedprior.plots.with_matplotlib import render_matplotlib

        return render_matplotlib(picture)
    raise InputError(f"backend must be one of {format_list(map(repr, BACKENDS))}; got {format_value(backend)}.")
