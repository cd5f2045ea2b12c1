"""Check how settings and response of old data belong together: shifted rows, changes of sign, changes of unit.

The checks compare each response with its leave-one-out prediction by kernel ridge regression, in closed form.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int64
from numpy import ndarray

from tunedprior.source_data.findings import Fault, Sheet, join_places
from tunedprior.source_data.matching import OldTable
from tunedprior.source_data.number_checks import find_mixed_units
from tunedprior.space.encoding import Box

#: Length-scales that are tried, for inputs in [-1, 1]; each is multiplied by √d.
LENGTHSCALES = (0.15, 0.3, 0.6, 1.2, 2.4)
#: Noise variances that are tried, for responses of variance 1.
NOISES = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)
# What makes a difference clear: this part of the squared error, and so many standard deviations.
_LESS = 0.75
SURE = 2.8
# What the weight of an input is multiplied with in turn, and the least part of the error that is worth a change.
_TIMES = (0.0, 0.3, 0.6, 1.7, 3.0)
_WORTH_IT = 0.002


@dataclass(frozen=True, eq=False)
class LeaveOneOutFit:
    """Leave-one-out predictions of kernel ridge regression, and the hyperparameters that were chosen.

    Attributes:
        expected: The predictions, on the response's own scale.
        lengthscale: The length-scale that predicted best.
        noise: The noise variance that predicted best, for responses of variance 1.
        unexplained: Mean squared error of the predictions over the variance of the response.
    """

    expected: Float64[ndarray, " n"]
    lengthscale: float
    noise: float
    unexplained: float


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigendecomposition of a kernel matrix, with which many responses can be fitted at little cost."""

    points: Float64[ndarray, "n d"]
    lengthscale: float
    values: Float64[ndarray, " n"]
    vectors: Float64[ndarray, "n n"]

    @classmethod
    def from_points(cls, points: Float64[ndarray, "n d"], lengthscale: float) -> "Spectrum":
        """Decompose 1 + exp(-|x - x'|²/2ℓ²); the 1 stands for the unknown mean."""
        values, vectors = np.linalg.eigh(_compute_covariances(points, points, lengthscale))
        return cls(points, lengthscale, np.maximum(values, 0.0), vectors)

    def predict_left_out(self, response: Float64[ndarray, " n"]) -> LeaveOneOutFit:
        """Predict each row from all others, with the noise of the least leave-one-out error.

        With K = UΛUᵀ, α = U(Λ + σ²)⁻¹Uᵀy and c_i = [U(Λ + σ²)⁻¹Uᵀ]_ii, the error at row i is α_i / c_i.
        """
        centre, scale = float(response.mean()), float(response.std()) or 1.0
        y = (response - centre) / scale
        inverse = 1.0 / (self.values[:, None] + np.array(NOISES))
        errors = (self.vectors @ (inverse * (self.vectors.T @ y)[:, None])) / (self.vectors**2 @ inverse)
        squares = (errors**2).mean(0)
        best = int(squares.argmin())
        expected = centre + scale * (y - errors[:, best])
        return LeaveOneOutFit(expected, self.lengthscale, NOISES[best], float(squares[best]))

    def predict(
        self, response: Float64[ndarray, " n"], noise: float, at: Float64[ndarray, "m d"]
    ) -> Float64[ndarray, " m"]:
        """Predict the response at other points."""
        centre = float(response.mean())
        along = self.vectors.T @ (response - centre) / (self.values + noise)
        expected: Float64[ndarray, " m"] = centre + _compute_covariances(at, self.points, self.lengthscale) @ (
            self.vectors @ along
        )
        return expected


def predict_left_out(points: Float64[ndarray, "n d"], response: Float64[ndarray, " n"]) -> LeaveOneOutFit:
    """Predict each row from all others, with the length-scale and noise of the least leave-one-out error."""
    lengthscales = np.array(LENGTHSCALES) * np.sqrt(max(1, points.shape[1]))
    fits = (Spectrum.from_points(points, float(one)).predict_left_out(response) for one in lengthscales)
    return min(fits, key=lambda found: found.unexplained)


def _compute_covariances(
    one: Float64[ndarray, "n d"], other: Float64[ndarray, "m d"], lengthscale: float
) -> Float64[ndarray, "n m"]:
    squares = (one**2).sum(1)[:, None] + (other**2).sum(1)[None, :] - 2 * one @ other.T
    found: Float64[ndarray, "n m"] = 1.0 + np.exp(-np.maximum(squares, 0.0) / (2 * lengthscale**2))
    return found


def tune_weights(
    points: Float64[ndarray, "n d"], of_group: Int64[ndarray, " d"], response: Float64[ndarray, " n"], sweeps: int = 2
) -> Float64[ndarray, " d"]:
    """Choose a weight for each input (one over its length-scale), equal for the inputs of a group.

    From the best common length-scale on, one group after the other is made more or less important, or is left out, as
    long as that lessens the leave-one-out error.
    """
    groups = np.unique(of_group)
    start = 1.0 / predict_left_out(points, response).lengthscale
    weights, best = np.full(len(groups), start), np.inf
    for sweep in range(sweeps):
        for place in range(len(groups)):
            for times in _TIMES if sweep or place else (1.0, *_TIMES):
                tried = weights.copy()
                tried[place] *= times
                error = Spectrum.from_points(points * tried[of_group], 1.0).predict_left_out(response).unexplained
                if error < best * (1 - _WORTH_IT):
                    best, weights = error, tried
    found: Float64[ndarray, " d"] = weights[of_group]
    return found


def is_clearly_better(
    new: LeaveOneOutFit,
    old: LeaveOneOutFit,
    one: Float64[ndarray, " n"],
    other: Float64[ndarray, " n"],
    deviations: float = SURE,
) -> bool:
    """Whether predictions `new` of the response `one` err clearly less than predictions `old` of the response `other`.

    Each error counts in units of its response's standard deviation. Their squares must be less by a quarter, and their
    sizes in pairs by so many standard deviations of Wilcoxon's rank sum: a few rows far off do not decide.
    """
    if new.unexplained > _LESS * old.unexplained:
        return False
    errors = [np.abs(found.expected - told) / (told.std() or 1.0) for found, told in ((new, one), (old, other))]
    gains, count = errors[1] - errors[0], len(one)
    ranks = 1.0 + np.argsort(np.argsort(np.abs(gains), kind="stable"), kind="stable")
    usual = count * (count + 1) / 4
    deviation = np.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    return bool(ranks[gains > 0].sum() > usual + deviations * deviation)


_SHIFTS = (1, -1, 2, -2)
_LEAST_ROWS = 20
_MOST_ROWS = 500
_ROWS_FOR_COLUMNS = 250
_ROWS_TO_TUNE = 150
_SURE_OF_A_COLUMN = 3.5  # standard deviations: there are many columns to try
_BETWEEN_CHOICES = np.sqrt(8.0)
_WIDE = 20.0  # a response whose largest value is so many times its least may be one to take logarithms of


@dataclass(frozen=True, eq=False)
class RegressionData:
    """The usable rows of old data as points and responses.

    Attributes:
        points: In [-1, 1]; two categories are 1 apart.
        response: A number for each, or ±1.
        labels: Whether it is labels.
        parameter_names: For each column of the points, the parameter that it belongs to.
    """

    points: Float64[ndarray, "n d"]
    response: Float64[ndarray, " n"]
    labels: bool
    parameter_names: tuple[str, ...]

    @classmethod
    def from_old_data(cls, old: OldTable, space: Any) -> "RegressionData":
        """Encode the settings of old data as points."""
        box = Box.enclose(space, old.settings)
        points = box.to_kernel_inputs(box.encode(old.settings)).numpy()
        names = tuple(axis.name for axis in box.axes for _ in range(axis.width))
        units = [_BETWEEN_CHOICES if axis.choices is not None else 1.0 for axis in box.axes for _ in range(axis.width)]
        return cls(points / np.array(units), old.response, old.labels, names)

    def compute_unexplained_share(self, seed: int) -> float | None:
        """Return the share of the response's variance that settings do not explain, or None."""
        return self.predict_left_out(self.response, seed)[0].unexplained if self.can_be_compared else None

    @property
    def groups(self) -> Int64[ndarray, " d"]:
        """For each column of the points the number of its parameter."""
        names = tuple(dict.fromkeys(self.parameter_names))
        return np.array([names.index(name) for name in self.parameter_names], dtype=np.int64)

    def draw_rows(self, most: int, seed: int) -> Int64[ndarray, " k"]:
        """Draw at most `most` rows at random, in their order."""
        return np.sort(np.random.default_rng(seed).permutation(len(self.response))[:most])

    def predict_left_out(
        self, response: Float64[ndarray, " n"], seed: int
    ) -> tuple[LeaveOneOutFit, Float64[ndarray, " k"]]:
        """Predict each of at most `_MOST_ROWS` random rows from the others; return that fit, and their responses.

        The weights of the inputs are tuned on at most `_ROWS_TO_TUNE` of these rows.

        Args:
            response: A number for each row of the points, such as the response shifted by a row.
            seed: The seed of the choice of rows.
        """
        few, many = self.draw_rows(_ROWS_TO_TUNE, seed), self.draw_rows(_MOST_ROWS, seed)
        weights = tune_weights(self.points[few], self.groups, response[few])
        return Spectrum.from_points(self.points[many] * weights, 1.0).predict_left_out(response[many]), response[many]

    @property
    def can_be_compared(self) -> bool:
        """Return whether there are enough rows, and the settings and the response vary."""
        return len(self.response) >= _LEAST_ROWS and self.points.shape[1] > 0 and bool(np.ptp(self.response) > 0)

    def choose_response_scale(self, seed: int) -> Float64[ndarray, " n"]:
        """Return the response, or its logarithm if that is predicted better."""
        response = self.response
        if self.labels or response.min() <= 0 or response.max() < _WIDE * response.min():
            return response
        plain, logarithms = (self.predict_left_out(one, seed)[0].unexplained for one in (response, np.log(response)))
        return np.log(response) if logarithms < plain else response


def find_slipped_rows(sheet: Sheet, related: RegressionData, seed: int) -> list[Fault]:
    """Find a response or column that fits the others clearly better when shifted by a row or two.

    Args:
        sheet: The table.
        related: The rows that can be used, in their order.
        seed: Of the choice of rows, where there are many.
    """
    if not related.can_be_compared:
        return []
    response = related.choose_response_scale(seed)
    as_it_is, told = related.predict_left_out(response, seed)
    found = {step: related.predict_left_out(np.roll(response, step), seed) for step in _SHIFTS}
    step = min(found, key=lambda one: found[one][0].unexplained)
    moved, told_then = found[step]
    if is_clearly_better(moved, as_it_is, told_then, told):
        return [_make_slipped_fault(sheet.target, step, as_it_is, moved, "The response")]
    return _find_slipped_column(related, response, seed)


def _find_slipped_column(related: RegressionData, response: Float64[ndarray, " n"], seed: int) -> list[Fault]:
    if len(set(related.parameter_names)) < 2:
        return []
    rows = related.draw_rows(_ROWS_FOR_COLUMNS, seed)
    names = np.array(related.parameter_names)
    found = {
        (name, step): predict_left_out(
            np.where(names == name, np.roll(related.points, step, axis=0), related.points)[rows], response[rows]
        )
        for name in dict.fromkeys(related.parameter_names)
        for step in (1, -1)
    }
    name, step = min(found, key=lambda one: found[one].unexplained)
    as_it_is, moved = predict_left_out(related.points[rows], response[rows]), found[name, step]
    if not is_clearly_better(moved, as_it_is, response[rows], response[rows], _SURE_OF_A_COLUMN):
        return []
    return [_make_slipped_fault(name, step, as_it_is, moved, "The setting")]


def _make_slipped_fault(name: str, step: int, as_it_is: LeaveOneOutFit, moved: LeaveOneOutFit, what: str) -> Fault:
    count = "a row" if abs(step) == 1 else f"{abs(step)} rows"
    away = "up" if step > 0 else "down"
    said = (
        f"{what} {name!r} seems to stand {count} too far {away}: moved back, the settings explain "
        f"{max(0.0, 1 - moved.unexplained):.0%} of the response's variance, and as it is "
        f"{max(0.0, 1 - as_it_is.unexplained):.0%}."
    )
    remedy = "Compare a few rows with the notebook; a cell was inserted or deleted, or the column was sorted by itself."
    return Fault("shifted rows", (name,), (), said, remedy)


def find_changing_response(sheet: Sheet, related: RegressionData, places_of: tuple[str, ...], seed: int) -> list[Fault]:
    """Find a response whose sign or unit differs in some of the rows.

    Args:
        sheet: The table.
        related: The rows that can be used.
        places_of: Returns the places of rows in the table.
        seed: Of the choice of rows, where there are many.
    """
    response = related.response
    if related.labels or not related.can_be_compared:
        return []
    negative = response < 0
    odd = negative if 2 * negative.sum() <= len(response) else response > 0
    if odd.sum() > 1:
        gain = _describe_gain(related, response, np.where(odd, -response, response), seed)
        if gain is not None:
            where = _select_places(places_of, odd)
            said = (
                f"The response {sheet.target!r} has the other sign in {int(odd.sum())} of {len(response)} rows "
                f"({join_places(where)}). With one sign throughout, {gain}."
            )
            return [Fault("sign of the response", (sheet.target,), where, said, "Give all results the same sign.")]
    found = find_mixed_units(response) if (response > 0).all() else None
    if found is None:
        return []
    gain = _describe_gain(related, np.log(response), np.log(found.convert_units(response)), seed)
    if gain is None:
        return []
    where = _select_places(places_of, found.rows)
    said = (
        f"The response {sheet.target!r} is in other units in {int(found.rows.sum())} of {len(response)} rows "
        f"({join_places(where)}): {found.words}. Converted, {gain}."
    )
    return [Fault("units of the response", (sheet.target,), where, said, "Convert these results.")]


def _describe_gain(
    related: RegressionData, response: Float64[ndarray, " n"], mended: Float64[ndarray, " n"], seed: int
) -> str | None:
    """Describe how much better the corrected response is explained; None if it is not clearly better."""
    (before, told), (after, told_then) = (
        related.predict_left_out(response, seed),
        related.predict_left_out(mended, seed),
    )
    if not is_clearly_better(after, before, told_then, told):
        return None
    return (
        f"the settings explain {max(0.0, 1 - after.unexplained):.0%} of its variance, and as it is "
        f"{max(0.0, 1 - before.unexplained):.0%}"
    )


def _select_places(places_of: tuple[str, ...], rows: Bool[ndarray, " n"]) -> tuple[str, ...]:
    return tuple(place for place, chosen in zip(places_of, rows, strict=True) if chosen)


def estimate_replicate_noise(sheet: Sheet) -> float | None:
    """Return the standard deviation among results of equal settings; None without repeats."""
    values = pd.Series(sheet.get_measured_values(sheet.target))
    groups = values.groupby(sheet.setting_numbers)
    freedom = (groups.count() - 1).clip(lower=0).sum()
    if freedom < 3:
        return None
    return float(np.sqrt(((values - groups.transform("mean")) ** 2).sum() / freedom))
