"""Measure how much of the new search space old data covers, and how well it predicts itself."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float64, Int64
from numpy import ndarray
from scipy.spatial import cKDTree

from tunedprior.source_data.matching import OldTable
from tunedprior.source_data.relations import RegressionData, Spectrum, tune_weights
from tunedprior.space.encoding import Box
from tunedprior.space.parameters import Categorical, Numeric
from tunedprior.space.search_space import Space

_SAMPLES = 1024
#: An old row is near if, on average over the inputs (a root mean square), it is nearer than this part of a range.
NEAR = 0.15
_BINS = 10
# A gap is named if it is at least so much of the range.
_GAP = 0.2


@dataclass(frozen=True)
class Coverage:
    """How much of the search space old data covers.

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
    """Compare the settings of old data with the search space."""
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


#: Rows that are enough to tell; more take longer and say the same.
MOST_ROWS = 400
_LEAST_ROWS = 8
_FOLDS = 5
_ROWS_TO_TUNE = 150
_WIDE = 20.0
_FIT_SAMPLES = 512
_MOST_PAIRS = 45  # of inputs, for interactions; of more inputs the most important are taken


@dataclass(frozen=True)
class SelfPrediction:
    """How well one part of old data predicts another part.

    Attributes:
        rows: How many rows were predicted, each once.
        explained: The part of the response's variance that the predictions explain (R²); below 0 if the mean does
            better.
        error: The typical error, a root mean square: in the response's units, or a factor if `logarithm`; None for
            labels.
        correct: For labels the part of the rows that is predicted right, and that of the more frequent label.
        logarithm: Whether it is the logarithm that was predicted, as that works better.
        noise: The standard deviation among repeats of one setting; None if there are too few.
    """

    rows: int
    explained: float
    error: float | None
    correct: tuple[float, float] | None
    logarithm: bool
    noise: float | None


@dataclass(frozen=True)
class Influences:
    """How strongly a model of old data depends on each input and pair of inputs.

    Attributes:
        inputs: For each input the part of the fit's variance that is lost without it (a total Sobol index), the largest
            first. Interactions count for each of their inputs, so they may add up to more than 1.
        pairs: The part that two inputs make together and neither alone, the largest first.
    """

    inputs: dict[str, float]
    pairs: dict[tuple[str, str], float]


def compute_self_prediction(related: RegressionData, noise: float | None, seed: int) -> SelfPrediction | None:
    """Predict each fifth of the rows from the others; None for too few rows or a constant response."""
    rows = related.draw_rows(MOST_ROWS, seed)
    points, response = related.points[rows], related.response[rows]
    if len(rows) < _LEAST_ROWS or points.shape[1] == 0 or np.ptp(response) == 0:
        return None
    groups = related.groups
    expected = _predict_folds(points, groups, response, seed)
    logarithm = False
    if not related.labels and response.min() > 0 and response.max() > _WIDE * response.min():
        in_logarithms = _predict_folds(points, groups, np.log(response), seed)
        if _compute_r_squared(in_logarithms, np.log(response)) > _compute_r_squared(expected, response):
            expected, response, logarithm = in_logarithms, np.log(response), True
    error = float(np.sqrt(np.mean((expected - response) ** 2)))
    correct = None
    if related.labels:
        right = float(np.mean(np.sign(expected) == response))
        correct = right, max(float(np.mean(response > 0)), float(np.mean(response < 0)))
    return SelfPrediction(
        len(rows),
        _compute_r_squared(expected, response),
        None if related.labels else (float(np.exp(error)) if logarithm else error),
        correct,
        logarithm,
        noise,
    )


def compute_influences(related: RegressionData, logarithm: bool, seed: int) -> Influences:
    """Compute total and pairwise Sobol indices of a model of old data by exchanging inputs between rows.

    Total indices are T_i = E[(g(x) - g(x with i exchanged))²]/2V. What i and j do together is
    E[(g(x) - g(with i) - g(with j) + g(with both))²]/4V.
    """
    rows = related.draw_rows(MOST_ROWS, seed)
    points, response = related.points[rows], related.response[rows]
    names = tuple(dict.fromkeys(related.parameter_names))
    if len(rows) < _LEAST_ROWS or not names or np.ptp(response) == 0:
        return Influences({}, {})
    response = np.log(response) if logarithm else response
    groups = related.groups
    weights = tune_weights(points[:_ROWS_TO_TUNE], groups, response[:_ROWS_TO_TUNE])
    spectrum = Spectrum.from_points(points * weights, 1.0)
    noise = spectrum.predict_left_out(response).noise
    rng = np.random.default_rng(seed)
    here, there = (points[rng.integers(len(points), size=_FIT_SAMPLES)] for _ in range(2))

    def predict_exchanged(*exchanged: int) -> Float64[ndarray, " s"]:
        mixed = np.where(np.isin(groups, exchanged), there, here)
        return spectrum.predict(response, noise, mixed * weights)

    base = predict_exchanged()
    variance = float(base.var()) or 1.0
    single = [predict_exchanged(k) for k in range(len(names))]
    totals = {
        name: min(1.0, float(np.mean((base - one) ** 2) / (2 * variance)))
        for name, one in zip(names, single, strict=True)
    }
    first = sorted(range(len(names)), key=lambda k: -totals[names[k]])[: _count_paired_inputs(_MOST_PAIRS)]
    pairs = {
        (names[i], names[j]): float(
            np.mean((base - single[i] - single[j] + predict_exchanged(i, j)) ** 2) / (4 * variance)
        )
        for i, j in combinations(sorted(first), 2)
    }
    return Influences(
        dict(sorted(totals.items(), key=lambda item: -item[1])), dict(sorted(pairs.items(), key=lambda item: -item[1]))
    )


def _predict_folds(
    points: Float64[ndarray, "n d"], groups: Int64[ndarray, " d"], response: Float64[ndarray, " n"], seed: int
) -> Float64[ndarray, " n"]:
    """Every row as it is expected from the folds that it is not in; length-scales are chosen without it, too."""
    folds = np.random.default_rng(seed).permutation(len(response)) % min(_FOLDS, len(response))
    expected = np.empty(len(response))
    for fold in range(folds.max() + 1):
        train, test = folds != fold, folds == fold
        known, told = points[train], response[train]
        if np.ptp(told) == 0:
            expected[test] = told[0]
            continue
        weights = tune_weights(known[:_ROWS_TO_TUNE], groups, told[:_ROWS_TO_TUNE])
        spectrum = Spectrum.from_points(known * weights, 1.0)
        expected[test] = spectrum.predict(told, spectrum.predict_left_out(told).noise, points[test] * weights)
    return expected


def _compute_r_squared(expected: Float64[ndarray, " n"], response: Float64[ndarray, " n"]) -> float:
    return 1.0 - float(np.mean((expected - response) ** 2) / response.var())


def _count_paired_inputs(pairs: int) -> int:
    return int((1 + np.sqrt(1 + 8 * pairs)) / 2)
