"""Measure what old data is worth: how much of the new search space it covers, and how well it predicts itself.

Whether it can help is tested by short simulated campaigns on one half of it, with and without the other half.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int64
from numpy import ndarray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from scipy.spatial import cKDTree

from tunedprior.campaign.loop import simulate
from tunedprior.campaign.optimizer import Optimizer
from tunedprior.goals.goal import Goal, Target
from tunedprior.source_data.matching import OldTable
from tunedprior.source_data.relations import RegressionData, Spectrum, tune_weights
from tunedprior.space.encoding import Box
from tunedprior.space.parameters import Categorical, Numeric, Parameter
from tunedprior.space.search_space import Setting, Space

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
_MOST_PAIRED = 10  # inputs that are looked at in pairs; of more the most important


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
    first = sorted(range(len(names)), key=lambda k: -totals[names[k]])[:_MOST_PAIRED]
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


#: Trials of a campaign, and how often it is begun anew.
TRIALS, REPEATS = 8, 5
_LEAST_IN_HALF, _MOST_IN_HALF = 10, 80  # rows
_DRAWS = 200
_RESPONSE = "response"


@dataclass(frozen=True)
class Rehearsal:
    """Simulated campaigns on the settings of one half of old data, with and without the other half as old data.

    Attributes:
        trials: How many settings each campaign tried.
        repeats: How many campaigns there were of each kind.
        with_old: Mean simple regret after each trial with old data: 0 is the best setting of that half, 1 its worst.
        without: Simple regret after each trial without old data.
        at_random: Simple regret after each trial for settings drawn at random.
        better: The number of campaigns whose mean simple regret was smaller with old data.
    """

    trials: int
    repeats: int
    with_old: tuple[float, ...]
    without: tuple[float, ...]
    at_random: tuple[float, ...]
    better: int

    @property
    def ratio(self) -> float:
        """Mean simple regret with old data over that without."""
        return float(np.mean(self.with_old)) / max(float(np.mean(self.without)), 1e-12)

    @property
    def trials_to_match(self) -> int | None:
        """After how many trials the campaign with old data equals the final result without; None if never."""
        return next((k for k, missed in enumerate(self.with_old, 1) if missed <= self.without[-1] + 1e-12), None)


def run_rehearsal(
    old: OldTable, space: Space, direction: Goal, seed: int, advance: Callable[[], object] = lambda: None
) -> Rehearsal | None:
    """Run the simulated campaigns; None for too few settings or a constant response.

    Args:
        old: What was read.
        space: What may be set; the campaigns are among old settings.
        direction: Which way is better, or a target.
        seed: Of the halves.
        advance: Called after each campaign.
    """
    names = [one.name for one in space.parameters if one.name not in old.absent]
    table = old.settings[names].assign(**{_RESPONSE: old.response})
    every: pd.DataFrame = table.groupby(names, sort=False, dropna=False)[_RESPONSE].mean().reset_index()
    if len(every) < 2 * _LEAST_IN_HALF or np.ptp(every[_RESPONSE]) == 0:
        return None
    varying = [one for one in space.parameters if one.name in names and every[one.name].nunique(dropna=False) > 1]
    here = {one.name: _make_distribution(one, every[one.name]) for one in varying}
    if not here:
        return None
    curves: dict[str, list[Float64[ndarray, " t"]]] = {"with": [], "without": [], "random": []}
    for repeat in range(REPEATS):
        rng = np.random.default_rng([seed, repeat])
        order = rng.permutation(len(every))
        half = min(len(every) // 2, _MOST_IN_HALF)
        first, pool = (every.iloc[rows].reset_index(drop=True) for rows in (order[:half], order[half : 2 * half]))
        responses = pool[_RESPONSE].to_numpy(dtype=np.float64)
        if np.ptp(_compute_distances(responses, direction)) == 0 or np.ptp(first[_RESPONSE]) == 0:
            continue
        for kind, old_half in (("with", first), ("without", None)):
            found = _run_campaign(here, old_half, pool, direction, repeat)
            curves[kind].append(_compute_regrets(found, responses, direction))
            advance()
        regrets = _compute_regrets(responses, responses, direction)
        draws = np.array([rng.permutation(regrets)[:TRIALS] for _ in range(_DRAWS)])
        curves["random"].append(np.minimum.accumulate(draws, axis=1).mean(0))
    if not curves["with"]:
        return None
    trials = min(len(one) for some in curves.values() for one in some)
    mean = {name: tuple(np.mean([one[:trials] for one in some], axis=0).tolist()) for name, some in curves.items()}
    better = sum(bool(one.mean() < other.mean()) for one, other in zip(curves["with"], curves["without"], strict=True))
    return Rehearsal(trials, len(curves["with"]), mean["with"], mean["without"], mean["random"], better)


def _make_distribution(one: Parameter, column: "pd.Series[Any]") -> BaseDistribution:
    """Make the distribution that old values span."""
    if isinstance(one, Categorical):
        return CategoricalDistribution(list(dict.fromkeys(map(str, column))))
    return FloatDistribution(float(column.min()), float(column.max()), log=one.log)


def _compute_regrets(
    response: Float64[ndarray, " n"], pool: Float64[ndarray, " m"], direction: Goal
) -> Float64[ndarray, " n"]:
    """Simple regret of each response: 0 at the best of the pool's responses, 1 at their worst."""
    there = _compute_distances(pool, direction)
    regrets: Float64[ndarray, " n"] = (_compute_distances(response, direction) - there.min()) / np.ptp(there)
    return regrets


def _compute_distances(response: Float64[ndarray, " n"], direction: Goal) -> Float64[ndarray, " n"]:
    if isinstance(direction, Target):
        return np.maximum(np.maximum(direction.low - response, response - direction.upper), 0.0)
    return -response if direction == "maximize" else response


def _run_campaign(
    space: Mapping[str, BaseDistribution], first: pd.DataFrame | None, pool: pd.DataFrame, direction: Goal, seed: int
) -> Float64[ndarray, " t"]:
    """The best response after each trial among the settings of the pool."""
    names = list(space)
    pool = _select_columns(pool, space).drop_duplicates(names).reset_index(drop=True)
    responses = dict(zip(pool[names].itertuples(index=False, name=None), pool[_RESPONSE], strict=True))

    def respond(setting: Setting) -> float:
        return float(responses[tuple(setting[name] for name in names)])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what old data is like is said elsewhere
        old = None if first is None else _select_columns(first, space)
        optimizer = Optimizer(dict(space), old, direction, seed=seed, target=_RESPONSE)
        return np.array(simulate(optimizer, respond, min(TRIALS, len(pool)), candidates=pool[names]))


def _select_columns(table: pd.DataFrame, space: Mapping[str, BaseDistribution]) -> pd.DataFrame:
    """The settings and the response alone, categories as text."""
    columns = {
        name: table[name].map(str) if isinstance(one, CategoricalDistribution) else table[name].astype(float)
        for name, one in space.items()
    }
    return pd.DataFrame({**columns, _RESPONSE: table[_RESPONSE]})
