"""Cells of old settings that nobody filled in: what they were, judged by the most similar rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int64
from numpy import ndarray

from tunedprior.problem.parameters import Categorical, Numeric, Parameter

#: How many of the most similar rows a value is taken from.
NEIGHBOURS = 5
# Similar rows are looked for among so many, evenly spread over the table; further ones are hardly more similar.
_MOST_DONORS = 1000
_AT_ONCE = 50  # rows that are compared with all donors at a time: as many as stay in the cache
# Standardised responses count up to here: a mistyped one must not be farther away than numbers reach.
_FARTHEST = 10.0


def choose_stand_in(parameter: Parameter) -> Any:
    """The value for a column that old data lacks: the middle of the range on its scale, or the first choice."""
    return parameter.choices[0] if isinstance(parameter, Categorical) else parameter.compute_quantile(0.5)


def count_needed_values(parameter: Parameter) -> int:
    """How many values of a column must be known for the others to be filled in."""
    return 1 if isinstance(parameter, Categorical) else 2


def impute_cells(
    settings: pd.DataFrame,
    unknown: Bool[ndarray, "n k"],
    parameters: Sequence[Parameter],
    response: Float64[ndarray, " n"],
    typical: Bool[ndarray, " n"],
) -> pd.DataFrame:
    """The settings with a value in each unknown cell: the mean of the most similar rows, or their commonest category.

    How far apart two rows are is the mean squared difference over the columns that both have: numbers in units of the
    search space's range and on its scale, categories 0 or 1, and the standardised response. Similar rows are looked for
    among the complete ones, or if these are few among all in which the column is known. Of rows that are equally
    similar the first count. Values that are filled in play no part in filling in others.

    Args:
        settings: One column for each parameter; whatever stands in unknown cells is not looked at.
        unknown: Which cells are unknown.
        parameters: The parameters, in the columns' order.
        response: What came of each row.
        typical: The rows whose responses say what mean and spread are usual.
    """
    known = ~unknown
    columns = [_compute_coordinates(settings[one.name], known[:, k], one) for k, one in enumerate(parameters)]
    rows = np.stack([*columns, _standardise_responses(response, typical)], axis=1)
    categories = np.array([isinstance(one, Categorical) for one in parameters] + [False])
    complete = known.all(axis=1)
    found = settings.copy()
    for k, parameter in enumerate(parameters):
        blank = np.flatnonzero(unknown[:, k])
        if len(blank) == 0:
            continue
        donors = _thin_rows(np.flatnonzero(complete if complete.sum() >= NEIGHBOURS else known[:, k]))
        similar = donors[_find_nearest_donors(rows[blank], rows[donors], categories)]
        if isinstance(parameter, Categorical):
            cells = settings[parameter.name].to_numpy(dtype=object, copy=True)
            cells[blank] = cells[_find_commonest_rows(similar, columns[k])]
        else:
            cells = settings[parameter.name].to_numpy(dtype=np.float64, copy=True)
            cells[blank] = _compute_means(cells[similar], parameter)
        found[parameter.name] = pd.Series(cells, index=settings.index, dtype=cells.dtype)
    return found


def _compute_coordinates(
    column: "pd.Series[Any]", known: Bool[ndarray, " n"], parameter: Parameter
) -> Float64[ndarray, " n"]:
    """Numbers as parts of the range, categories as numbers of their own; NaN where the cell is unknown."""
    found = np.full(len(column), np.nan)
    if isinstance(parameter, Categorical):
        codes, distinct = pd.factorize(column[known].astype(object), use_na_sentinel=False)
        meant: dict[Any, int] = {}  # "AIR" and "air" are one
        same = [meant.setdefault(parameter.recognise(value), len(meant)) for value in distinct]
        found[known] = np.array(same, dtype=np.float64)[codes]
        return found
    values = _scale_values(column.to_numpy(dtype=np.float64)[known], parameter)
    width = parameter.scale(parameter.high) - parameter.scale(parameter.low)
    found[known] = (values - parameter.scale(parameter.low)) / (width or float(np.ptp(values)) or 1.0)
    return found


def _standardise_responses(response: Float64[ndarray, " n"], typical: Bool[ndarray, " n"]) -> Float64[ndarray, " n"]:
    """Responses with mean 0 and variance 1 among the typical ones; 0 if these do not vary."""
    part = response / (float(np.abs(response[typical]).max()) or 1.0)  # first, so that nothing is too large to square
    spread = float(part[typical].std())
    if not spread > 1e-12:
        return np.zeros(len(response))
    found: Float64[ndarray, " n"] = np.clip((part - part[typical].mean()) / spread, -_FARTHEST, _FARTHEST)
    return found


def _thin_rows(rows: Int64[ndarray, " n"]) -> Int64[ndarray, " m"]:
    """All of the rows, or as many as are looked through."""
    if len(rows) <= _MOST_DONORS:
        return rows
    return rows[np.linspace(0, len(rows) - 1, _MOST_DONORS).astype(np.int64)]


def _find_nearest_donors(
    rows: Float64[ndarray, "b k"], donors: Float64[ndarray, "m k"], categories: Bool[ndarray, " k"]
) -> Int64[ndarray, "b five"]:
    """For each row its nearest donors, the nearest first."""
    count = min(NEIGHBOURS, len(donors))
    found = np.empty((len(rows), count), dtype=np.int64)
    for first in range(0, len(rows), _AT_ONCE):
        part = rows[first : first + _AT_ONCE]
        total, shared = np.zeros((len(part), len(donors))), np.zeros((len(part), len(donors)))
        for k, is_category in enumerate(categories):
            gap = part[:, k, None] - donors[:, k]
            both = ~np.isnan(gap)
            shared += both
            total += np.where(both, (gap != 0) if is_category else gap**2, 0.0)
        distance = total / shared  # the response is always shared
        for position in range(count):  # the least of them one by one: of equal ones the first
            nearest = distance.argmin(axis=1)
            found[first : first + _AT_ONCE, position] = nearest
            distance[np.arange(len(part)), nearest] = np.inf
    return found


def _find_commonest_rows(similar: Int64[ndarray, "b five"], codes: Float64[ndarray, " n"]) -> Int64[ndarray, " b"]:
    """In each line the first row with the commonest category; of equally common ones, the most similar row's."""
    theirs = codes[similar]
    times = (theirs[:, :, None] == theirs[:, None, :]).sum(axis=2)
    rows: Int64[ndarray, " b"] = similar[np.arange(len(similar)), times.argmax(axis=1)]
    return rows


def _compute_means(values: Float64[ndarray, "b five"], parameter: Numeric) -> list[float]:
    """The mean of each line on the parameter's scale, without the digits in which computers differ."""
    means = _scale_values(values, parameter).mean(axis=1)
    return [float(f"{value:.12g}") for value in (np.exp(means) if parameter.log else means)]


def _scale_values(values: Float64[ndarray, "*shape"], parameter: Numeric) -> Float64[ndarray, "*shape"]:
    return np.log(values) if parameter.log else values
