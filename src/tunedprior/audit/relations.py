"""What the settings say of the response: rows that slipped against each other, a sign or a unit that changes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int64
from numpy import ndarray

from tunedprior.audit.faults import Fault, places
from tunedprior.audit.ridge import LeftOut, Ridge, is_clearly_better
from tunedprior.audit.sheet import Sheet
from tunedprior.problem.box import Box
from tunedprior.problem.mixed_units import mixed_units
from tunedprior.problem.old_data import OldTable

_SHIFTS = (1, -1, 2, -2)
_LEAST_ROWS = 20
_MOST_ROWS = 500
_ROWS_FOR_COLUMNS = 250
_BETWEEN_CHOICES = np.sqrt(8.0)
_WIDE = 20.0  # a response whose largest value is so many times its least may be one to take logarithms of


@dataclass(frozen=True, eq=False)
class Related:
    """Settings as points, and the response, of the rows that can be used.

    Attributes:
        points: In [-1, 1]; two categories are 1 apart.
        response: A number for each, or ±1.
        labels: Whether it is labels.
        of_parameter: Which parameter each column of the points belongs to.
    """

    points: Float64[ndarray, "n d"]
    response: Float64[ndarray, " n"]
    labels: bool
    of_parameter: tuple[str, ...]

    @classmethod
    def of(cls, old: OldTable, space: Any) -> "Related":
        """From old data that was read."""
        box = Box.around(space, old.settings)
        points = box.inputs(box.codes(old.settings)).numpy()
        names = tuple(axis.name for axis in box.axes for _ in range(axis.width))
        units = [_BETWEEN_CHOICES if axis.choices is not None else 1.0 for axis in box.axes for _ in range(axis.width)]
        return cls(points / np.array(units), old.response, old.labels, names)

    def unexplained(self, seed: int) -> float | None:
        """The part of the response's variance that the settings do not predict; None if that cannot be told."""
        if len(self.response) < _LEAST_ROWS or self.points.shape[1] == 0 or np.ptp(self.response) == 0:
            return None
        rows = self.rows(_MOST_ROWS, seed)
        return Ridge(self.points[rows]).left_out(self.response[rows]).unexplained

    def rows(self, most: int, seed: int) -> Int64[ndarray, " k"]:
        """At most so many rows, drawn at random, in order."""
        return np.sort(np.random.default_rng(seed).permutation(len(self.response))[:most])


def scaled(response: Float64[ndarray, " n"], ridge: Ridge, rows: Int64[ndarray, " k"]) -> tuple[ndarray, LeftOut, bool]:
    """The response or its logarithm, whichever is predicted better, with the predictions; whether it is the latter."""
    plain = ridge.left_out(response[rows])
    if response.min() <= 0 or response.max() < _WIDE * response.min():
        return response, plain, False
    logarithms = np.log(response)
    found = ridge.left_out(logarithms[rows])
    return (logarithms, found, True) if found.unexplained < plain.unexplained else (response, plain, False)


def slipped(sheet: Sheet, related: Related, where: tuple[str, ...], seed: int) -> list[Fault]:
    """A response, or a column, that predicts or is predicted clearly better when it is moved by a row or two.

    Args:
        sheet: The table.
        related: The rows that can be used, in their order.
        where: Where they stand.
        seed: Of the choice of rows, where there are many.
    """
    if len(related.response) < _LEAST_ROWS or related.points.shape[1] == 0 or np.ptp(related.response) == 0:
        return []
    rows = related.rows(_MOST_ROWS, seed)
    ridge = Ridge(related.points[rows])
    response, as_it_is, _ = scaled(related.response, ridge, rows)
    found = {step: ridge.left_out(np.roll(response, step)[rows]) for step in _SHIFTS}
    step = min(found, key=lambda one: found[one].unexplained)
    if is_clearly_better(found[step], as_it_is, np.roll(response, step)[rows], response[rows]):
        return [_slipped_fault(sheet.target, step, as_it_is, found[step], "The response")]
    return _slipped_column(related, response, seed)


def _slipped_column(related: Related, response: Float64[ndarray, " n"], seed: int) -> list[Fault]:
    rows = related.rows(_ROWS_FOR_COLUMNS, seed)
    as_it_is = Ridge(related.points[rows]).left_out(response[rows])
    best: tuple[float, str, int, LeftOut] | None = None
    names = tuple(dict.fromkeys(related.of_parameter))
    if len(names) < 2:
        return []
    for name in names:
        own = np.array([one == name for one in related.of_parameter])
        for step in (1, -1):
            moved = np.where(own, np.roll(related.points, step, axis=0), related.points)
            found = Ridge(moved[rows]).left_out(response[rows])
            if best is None or found.unexplained < best[0]:
                best = found.unexplained, name, step, found
    if best is None or not is_clearly_better(best[3], as_it_is, response[rows], response[rows]):
        return []
    return [_slipped_fault(best[1], best[2], as_it_is, best[3], "The setting")]


def _slipped_fault(name: str, step: int, as_it_is: LeftOut, moved: LeftOut, what: str) -> Fault:
    count = "a row" if abs(step) == 1 else f"{abs(step)} rows"
    away = "up" if step > 0 else "down"
    said = (
        f"{what} {name!r} seems to stand {count} too far {away}: moved back, the settings explain "
        f"{max(0.0, 1 - moved.unexplained):.0%} of the response's variance, and as it is "
        f"{max(0.0, 1 - as_it_is.unexplained):.0%}."
    )
    remedy = "Compare a few rows with the notebook; a cell was inserted or deleted, or the column was sorted by itself."
    return Fault("shifted rows", (name,), (), said, remedy)


def changing_response(sheet: Sheet, related: Related, places_of: tuple[str, ...], seed: int) -> list[Fault]:
    """A response whose sign, or whose unit, is another one in some of the rows, as the settings show."""
    response = related.response
    if related.labels or len(response) < _LEAST_ROWS or related.points.shape[1] == 0 or np.ptp(response) == 0:
        return []
    rows = related.rows(_MOST_ROWS, seed)
    ridge = Ridge(related.points[rows])
    faults = _changing_sign(sheet, response, ridge, rows, places_of)
    found = mixed_units(response)
    if faults or found is None or (response <= 0).any() or found.offset:
        return faults
    logs, mended = np.log(response), np.log(found.mended(response))
    before, after = ridge.left_out(logs[rows]), ridge.left_out(mended[rows])
    if not is_clearly_better(after, before, mended[rows], logs[rows]):
        return []
    where = _chosen(places_of, found.rows)
    said = (
        f"The response {sheet.target!r} is in other units in {int(found.rows.sum())} of {len(response)} rows "
        f"({places(where)}): {found.words}. Converted, the settings explain {max(0.0, 1 - after.unexplained):.0%} of "
        f"it, and as it is {max(0.0, 1 - before.unexplained):.0%}."
    )
    return [Fault("units of the response", (sheet.target,), where, said, "Convert these results.")]


def _changing_sign(
    sheet: Sheet,
    response: Float64[ndarray, " n"],
    ridge: Ridge,
    rows: Int64[ndarray, " k"],
    places_of: tuple[str, ...],
) -> list[Fault]:
    negative = response < 0
    odd = negative if 2 * negative.sum() <= len(response) else response > 0
    if odd.sum() < 2:
        return []
    same = np.where(odd, -response, response)
    before, after = ridge.left_out(response[rows]), ridge.left_out(same[rows])
    if not is_clearly_better(after, before, same[rows], response[rows]):
        return []
    where = _chosen(places_of, odd)
    said = (
        f"The response {sheet.target!r} has the other sign in {int(odd.sum())} of {len(response)} rows "
        f"({places(where)}). With one sign throughout, the settings explain {max(0.0, 1 - after.unexplained):.0%} of "
        f"it, and as it is {max(0.0, 1 - before.unexplained):.0%}."
    )
    return [Fault("sign of the response", (sheet.target,), where, said, "Give all results the same sign.")]


def _chosen(places_of: tuple[str, ...], rows: Bool[ndarray, " n"]) -> tuple[str, ...]:
    return tuple(place for place, chosen in zip(places_of, rows, strict=True) if chosen)


def replicate_noise(sheet: Sheet) -> float | None:
    """The standard deviation among results of the same settings; None if there are no repeats."""
    names = [one.name for one in sheet.parameters]
    values = pd.Series(sheet.measured(sheet.target))
    groups = values.groupby(sheet.table[names].astype(str).agg("\x1f".join, axis=1).to_numpy())
    freedom = (groups.count() - 1).clip(lower=0).sum()
    if freedom < 3:
        return None
    return float(np.sqrt(((values - groups.transform("mean")) ** 2).sum() / freedom))
