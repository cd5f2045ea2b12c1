"""Make training sets from old data: distinct settings, scaled responses, and a subset of the rows if there are many."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.checks import Numbers, check_responses, check_table, format_list
from tunedprior.errors import InputError, NothingToLearnError
from tunedprior.source_data.matching import OldTable
from tunedprior.space.encoding import Box

#: Rows up to which each has a coefficient α of its own; the cost of learning grows with their cube.
MOST_ROWS_WITH_ALPHA = 500
_LEAST_SETTINGS = 2
# A response whose standard deviation is no larger, relative to its largest value, varies by rounding alone.
_FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Old settings as kernel inputs, and their responses, standardised or not.

    Attributes:
        points: Kernel inputs.
        response: (old response - shift)/scale, or labels ±1.
        labels: Whether the old responses are labels.
        shift: What was subtracted.
        scale: The divisor of the responses, applied after the shift.
        places: The place of each point's rows in their source; empty if unknown.
    """

    points: Float[Tensor, "a d"]
    response: Float[Tensor, " a"]
    labels: bool
    shift: float = 0.0
    scale: float = 1.0
    places: tuple[str, ...] = ()

    @classmethod
    def from_old_table(
        cls, data: OldTable, box: Box, *, reach: float = 1.0, rows_with_alpha: int = MOST_ROWS_WITH_ALPHA
    ) -> "TrainingSet":
        """Encode an old table; repeated settings are averaged, and responses are not yet scaled.

        Args:
            data: What was read.
            box: How settings become inputs in [-1, 1].
            reach: The part of [-1, 1] that the box is scaled onto.
            rows_with_alpha: Repeated settings are averaged up to this number of different ones. More are taken row by
                row: least squares can do so, and sorting millions of rows would cost more than it saves.
        """
        if len(data) == 0:
            left_out = "is empty: there are no rows" if data.report.rows == 0 else "has no row that can be used"
            raise NothingToLearnError(f"Old data {left_out} to learn from.")
        inputs = check_table(reach * box.to_kernel_inputs(box.encode(data.settings)), "Points")
        if len(torch.unique(inputs[: 10 * rows_with_alpha], dim=0)) > rows_with_alpha:
            return cls(inputs, check_responses(data.response, inputs, "Responses"), data.labels)
        points, response = average_replicates(inputs, data.response, data.labels)
        if len(points) == 0:
            raise NothingToLearnError("Old data contradicts itself: every setting passed as often as it failed.")
        return cls(points, response, data.labels, places=_group_places(inputs, points, data.places))

    def __len__(self) -> int:
        return len(self.points)

    def standardise(self) -> "TrainingSet":
        """Scale the responses to mean 0 and variance 1; raise `NothingToLearnError` if they are constant."""
        if len(self.points) < _LEAST_SETTINGS:
            raise NothingToLearnError(
                f"Old data needs {_LEAST_SETTINGS} different settings or more; it has {len(self.points)}."
            )
        if is_flat(self.response):
            raise NothingToLearnError("Old data's response never varies.")
        return self._standardise()

    def standardise_if_possible(self) -> "TrainingSet":
        """Standardise numeric responses; labels and constant responses stay as they are."""
        return self if self.labels or is_flat(self.response) else self._standardise()

    def draw_subset(self, most: int, seed: int) -> "TrainingSet":
        """Draw `most` rows at random and average repeated settings; keep all rows if there are fewer."""
        if len(self.points) <= most:
            return self
        rows = draw_row_numbers(len(self.points), most, seed)
        points, response = average_replicates(self.points[rows], self.response[rows], self.labels)
        return replace(self, points=points, response=response, places=())

    def _standardise(self) -> "TrainingSet":
        shift, scale = _compute_moments(self.response)
        return replace(self, response=(self.response - shift) / scale, shift=shift, scale=scale)


def is_flat(response: Float[Tensor, " n"]) -> bool:
    """Return whether responses vary by no more than rounding errors."""
    rounding = max(_FLAT, 4 * torch.finfo(response.dtype).eps)
    return not _compute_moments(response)[1] > rounding * float(response.abs().max())


def _compute_moments(response: Float[Tensor, " n"]) -> tuple[float, float]:
    """Mean and standard deviation."""
    size = float(response.abs().max()) or 1.0  # divided by first: neither 1e-300 nor 1e300 is squared
    part = response / size
    return size * float(part.mean()), size * float(part.std(correction=0))


def _group_places(
    inputs: Float[Tensor, "n d"], points: Float[Tensor, "a d"], places: tuple[str, ...]
) -> tuple[str, ...]:
    """For each point where its rows stand, such as "line 7" or "line 7, line 12"."""
    if not places:
        return ()
    found: dict[tuple[float, ...], list[str]] = {}
    for row, place in zip(inputs.tolist(), places, strict=True):
        found.setdefault(tuple(row), []).append(place)
    return tuple(format_list(found[tuple(row)]) for row in points.tolist())


def draw_row_numbers(count: int, most: int, seed: int) -> Int[Tensor, " k"]:
    """Draw up to `most` of the row numbers 0, …, count - 1, in ascending order."""
    return torch.as_tensor(np.random.default_rng(seed).permutation(count))[:most].sort().values


def average_replicates(
    X: Numbers, y: Numbers, labels: bool = False
) -> tuple[Float[Tensor, "k d"], Float[Tensor, " k"]]:
    """Average the responses at each distinct point, so that repeated measurements become one row.

    With `labels` it is the majority's label, and points with a tie are left out.

    >>> points, means = average_replicates([[0.0], [1.0], [0.0]], [1.0, 5.0, 3.0])
    >>> points.tolist(), means.tolist()
    ([[0.0], [1.0]], [2.0, 5.0])
    """
    X = check_table(X, "Points")
    y = check_responses(y, X, "Responses")
    distinct, row_of, counts = torch.unique(X, dim=0, return_inverse=True, return_counts=True)
    means = torch.zeros(len(distinct)).to(y).index_add(0, row_of, y) / counts
    if not labels:
        return distinct, means
    return distinct[means != 0], means[means != 0].sign()


def check_distinct_rows(
    X: Numbers, y: Numbers, num_inputs: int | None = None
) -> tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]:
    """Return X and y as tensors; raise an error unless points are distinct and finite and y varies."""
    X, y = check_varied_rows(X, y, num_inputs)
    _, row_of, counts = torch.unique(X, dim=0, return_inverse=True, return_counts=True)
    if (counts > 1).any():
        repeated = (counts[row_of] > 1).nonzero().flatten().tolist()
        raise InputError(
            f"Old settings must be distinct; {len(repeated)} of {X.shape[0]} rows repeat another "
            f"(rows {format_list(repeated)}). Merge repeated measurements with tunedprior.average_replicates(X, y) "
            "(labels=True for -1 and +1)."
        )
    return X, y


def check_varied_rows(
    X: Numbers, y: Numbers, num_inputs: int | None = None
) -> tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]:
    """Return X and y as tensors; raise an error unless there are two points or more, all finite, and y varies."""
    X = check_table(X, "Old settings", num_inputs=num_inputs)
    y = check_responses(y, X, "Old responses")
    if X.shape[0] == 1:
        raise NothingToLearnError("Old data must hold at least two points; got one. Optimise without it.")
    if is_flat(y):
        but = "" if (y == y[0]).all() else " but for rounding"
        raise NothingToLearnError(
            f"Old responses must vary; all {y.shape[0]} are {float(y[0]):g}{but}, so they say nothing "
            "about which features matter. Optimise without them."
        )
    return X, y
