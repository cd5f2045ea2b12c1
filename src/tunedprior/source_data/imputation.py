"""Fill in missing cells of old settings from the most similar rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int64
from numpy import ndarray

from tunedprior.checks import format_list
from tunedprior.source_data.rows import OldRows
from tunedprior.space.parameters import Categorical, Numeric, Parameter

#: How many of the most similar rows a value is taken from.
NEIGHBOURS = 5
# Similar rows are looked for among so many, evenly spread over the table; further ones are hardly more similar.
_MOST_DONORS = 1000
_AT_ONCE = 50  # rows that are compared with all donors at a time: as many as stay in the cache
# Standardised responses count up to here: a mistyped one must not be farther away than numbers reach.
_FARTHEST = 10.0


def choose_stand_in(parameter: Parameter) -> Any:
    """Return a value for a column that old data lacks: the middle of the scaled range, or the first choice."""
    return parameter.choices[0] if isinstance(parameter, Categorical) else parameter.compute_quantile(0.5)


def impute_cells(
    settings: pd.DataFrame,
    unknown: Bool[ndarray, "n k"],
    parameters: Sequence[Parameter],
    response: Float64[ndarray, " n"],
    typical: Bool[ndarray, " n"],
) -> pd.DataFrame:
    """Fill in unknown cells: the mean of the most similar rows, or their most frequent category.

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
    """Return all rows, or `_MOST_DONORS` of them at even steps."""
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


class OldGaps:
    """The missing cells of old settings: blank ones, and numbers that stand for "not measured"."""

    def __init__(self, rows: OldRows) -> None:
        self._rows = rows
        self._parameters: dict[str, Parameter] = {}
        self._unknown: dict[str, Bool[ndarray, " n"]] = {}
        self._marks: dict[str, Float64[ndarray, " n"]] = {}

    def add(
        self, parameter: Parameter, unknown: Bool[ndarray, " n"], marks: Float64[ndarray, " n"] | None = None
    ) -> None:
        """Register the missing cells of a column, with the number that marks each as missing (NaN if it is blank)."""
        self._parameters[parameter.name], self._unknown[parameter.name] = parameter, unknown
        self._marks[parameter.name] = np.full(len(unknown), np.nan) if marks is None else marks

    def get_gaps(self, name: str) -> Bool[ndarray, " n"]:
        """Return which cells of a column are missing."""
        return self._unknown[name]

    def leave_out_blank_rows(self) -> None:
        """Drop rows in which every setting is missing."""
        rows, unknown = self._rows, list(self._unknown.values())
        blank = np.all(unknown, axis=0) & rows.kept if unknown else np.zeros(len(rows.kept), dtype=bool)
        if len(unknown) == 1:
            self._leave_out(next(iter(self._unknown)))
        elif blank.any():
            places = rows.list_places(blank)
            said = f"Every setting is blank in {int(blank.sum())} of {len(blank)} rows, which are left out: "
            rows.note("blank", "", said + f"{format_list(places)}.", places)
            rows.kept &= ~blank

    def set_aside_columns(self, has_response: Bool[ndarray, " n"]) -> tuple[str, ...]:
        """Treat columns as absent that lack more than half of their values in rows with a response."""
        rows = self._rows.kept & has_response
        mostly = [name for name, unknown in self._unknown.items() if 2 * (unknown & rows).sum() > rows.sum()]
        for name in mostly:
            blank = self._unknown.pop(name) & rows
            said = (
                f"{name!r} is {self._describe_gaps(name, blank)} in {int(blank.sum())} of {int(rows.sum())} "
                "rows, too many "
                f"to fill in: what old data says is taken to hold for every {name!r}."
            )
            self._rows.note("absent", name, said)
        return tuple(mostly)

    def leave_out_unfillable(self) -> None:
        """Drop rows with a missing cell in a column that has too few values to impute it."""
        left = list(self._unknown)
        while left:
            name = left.pop(0)
            gaps, known = self._unknown[name] & self._rows.kept, ~self._unknown[name] & self._rows.kept
            needed = 1 if isinstance(self._parameters[name], Categorical) else 2
            if gaps.any() and known.sum() < needed:
                self._leave_out(name)
                left = list(self._unknown)  # once more, as less is known of the other columns now

    def fill_gaps(
        self, settings: pd.DataFrame, response: Float64[ndarray, " n"], typical: Bool[ndarray, " n"]
    ) -> pd.DataFrame:
        """Impute the missing cells of the kept rows; return the settings, and a sentence for each such column.

        Args:
            settings: All rows; gaps in rows that are not kept remain.
            response: What came of each row.
            typical: The rows whose responses are not doubtful.
        """
        kept = self._rows.kept
        gaps = {name: unknown & kept for name, unknown in self._unknown.items() if (unknown & kept).any()}
        if not gaps:
            return settings
        for name, blank in gaps.items():
            places = self._rows.list_places(blank)
            said = (
                f"{name!r} is {self._describe_gaps(name, blank)} in {int(blank.sum())} of {len(blank)} rows "
                f"({format_list(places)}): filled in from the most similar rows."
            )
            self._rows.note(self._get_finding_kind(name, blank), name, said, places)
        unknown = np.stack([self._unknown[name][kept] for name in self._unknown], axis=1)
        parameters: Sequence[Parameter] = [self._parameters[name] for name in self._unknown]
        found = impute_cells(settings[kept], unknown, parameters, response[kept], typical[kept])
        return found.reindex(settings.index)

    def _leave_out(self, name: str) -> None:
        blank = self._unknown[name] & self._rows.kept
        said = f"{self._describe_gaps(name, blank)} and left out"
        self._rows.leave_out(self._get_finding_kind(name, blank), name, blank, said)

    def _get_finding_kind(self, name: str, rows: Bool[ndarray, " n"]) -> str:
        return "blank" if np.isnan(self._marks[name][rows]).all() else "sentinel"

    def _describe_gaps(self, name: str, rows: Bool[ndarray, " n"]) -> str:
        """Describe missing cells: "blank", or "'not measured' (-9999)"."""
        if self._get_finding_kind(name, rows) == "blank":
            return "blank"
        marks = self._marks[name][rows]
        values = format_list(f"{value:g}" for value in dict.fromkeys(marks[~np.isnan(marks)]))
        return f"{'blank or ' if np.isnan(marks).any() else ''}'not measured' ({values})"
