"""How much of the new space old data has seen."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from numpy import ndarray
from scipy.spatial import cKDTree

from tunedprior.problem.box import Box
from tunedprior.problem.old_data import OldTable
from tunedprior.problem.parameters import Categorical, Numeric
from tunedprior.problem.space import Space

_SAMPLES = 1024
#: An old row is near if, on average over the inputs (a root mean square), it is nearer than this part of a range.
NEAR = 0.15
_BINS = 10
# A gap is named if it is at least so much of the range.
_GAP = 0.2


@dataclass(frozen=True)
class Coverage:
    """What old data has seen of the space.

    Attributes:
        share: The part of the space that has an old row nearby.
        inside: The part of the old rows that lie in the space.
        inputs: For each input the part of its range (or of its choices) that has old values.
        gaps: For each input in words what old data has not seen; inputs without a gap are left out.
    """

    share: float
    inside: float
    inputs: dict[str, float]
    gaps: dict[str, str]


def compute_coverage(old: OldTable, space: Space, seed: int) -> Coverage:
    """Compare the settings of old data with those of the space."""
    kept = Space(tuple(one for one in space.parameters if one.name not in old.absent), ())
    inputs: dict[str, float] = {}
    gaps: dict[str, str] = {}
    inside = np.ones(len(old), dtype=bool)
    for one in kept.parameters:
        column = old.settings[one.name]
        if isinstance(one, Categorical):
            here = {one.recognise(value) for value in column}
            unseen = [choice for choice in one.choices if choice not in here]
            inputs[one.name] = 1 - len(unseen) / one.count
            if unseen:
                gaps[one.name] = f"no {', '.join(map(repr, unseen[:5]))}{', …' if len(unseen) > 5 else ''}"
            inside &= np.array([one.allows(value) for value in column], dtype=bool)
            continue
        values = column.to_numpy(dtype=np.float64)
        inside &= (values >= one.low) & (values <= one.high)
        inputs[one.name], gap = _compute_input_coverage(values, one)
        if gap:
            gaps[one.name] = gap
    return Coverage(_compute_covered_share(old, space, seed), float(inside.mean()) if len(old) else 0.0, inputs, gaps)


def _compute_covered_share(old: OldTable, space: Space, seed: int) -> float:
    if len(old) == 0:
        return 0.0
    box = Box.enclose(space)
    wide = Box.enclose(space, old.settings)
    units = []
    for narrow, axis, parameter in zip(box.axes, wide.axes, space.parameters, strict=True):
        # Two choices are one range apart; a range is that of the space, not that of old data.
        if isinstance(parameter, Categorical):
            units += [1 / np.sqrt(8.0)] * axis.width
        else:
            part = (narrow.high - narrow.low) / (axis.high - axis.low) if axis.high > axis.low else 1.0
            units += [0.5 / (part or 1.0) if parameter.name not in old.absent else 0.0] * axis.width
    if not units:
        return 1.0
    count = sum(
        axis.width > 0 for axis, one in zip(wide.axes, space.parameters, strict=True) if one.name not in old.absent
    )
    asked = wide.to_kernel_inputs(wide.encode(space.sobol(_SAMPLES, seed))).numpy() * units
    seen = wide.to_kernel_inputs(wide.encode(old.settings)).numpy() * units
    distances, _ = cKDTree(seen).query(asked)
    return float((distances / np.sqrt(max(1, count)) <= NEAR).mean())


def _compute_input_coverage(values: Float64[ndarray, " n"], one: Numeric) -> tuple[float, str]:
    """The part of a range that has old values in it, and words for the widest part that has none."""
    if one.count is not None and one.count <= _BINS:
        levels = np.array(one.list_values(), dtype=np.float64)
        seen = np.isclose(levels[:, None], values[None, :]).any(1) if len(values) else np.zeros(len(levels), dtype=bool)
        unseen = [f"{level:g}" for level in levels[~seen]]
        return float(seen.mean()), f"nothing at {', '.join(unseen[:5])}" if unseen else ""
    low, high = one.scale(one.low), one.scale(one.high)
    if high <= low:
        return 1.0, ""
    scaled = np.log(values) if one.log else values
    inside = np.sort(scaled[(scaled >= low) & (scaled <= high)])
    edges = np.concatenate([[low], inside, [high]])
    widths = np.diff(edges) / (high - low)
    widest = int(widths.argmax())
    count = np.histogram(inside, bins=_BINS, range=(low, high))[0]
    distinct = len(np.unique(inside))
    covered = float((count > 0).mean()) if distinct > _BINS else float(1 - widths[widths > _GAP].sum())
    if widths[widest] < _GAP or (distinct <= _BINS and 0 < widest < len(widths) - 1):
        return covered, ""
    first, last = one.unscale(edges[widest]), one.unscale(edges[widest + 1])
    return covered, f"nothing between {first:.4g} and {last:.4g}"
