"""What passes over partitioned old data add up: a sample of the rows, their ranges, and normal equations.

Each sum has a method `merge`; each pass is a value that can be sent to a worker, and called there with some pieces.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Float64, Int64, UInt64
from numpy import ndarray
from torch import Tensor

from tunedprior.files.partitions import RowGroup
from tunedprior.machines.streamed import FeatureMap, NormalEquations
from tunedprior.problem.box import Box
from tunedprior.problem.parameters import Categorical
from tunedprior.problem.row_rules import LeftOut, RowRules, UsableRows

Pieces = Sequence[RowGroup]


def _read_good_rows(rules: RowRules, pieces: Pieces) -> Iterator[tuple[int, UsableRows]]:
    """The good rows of some pieces, a table at a time, each after the number of its first row among all."""
    for piece in pieces:
        for begun, table in piece.read_batches(rules.columns):
            yield (
                piece.first + begun,
                rules.select_usable_rows(table, Path(piece.path).name, piece.first_in_file + begun),
            )


@dataclass(frozen=True, eq=False)
class SampledRows:
    """The `most` rows whose numbers have the least keys: a random choice that does not depend on who reads which rows.

    Attributes:
        most: How many there may be.
        keys: Of these rows.
        rows: The rows; the index has their numbers among all.
    """

    most: int
    keys: UInt64[ndarray, " k"]
    rows: pd.DataFrame

    def merge(self, other: "SampledRows") -> "SampledRows":
        """Those of both that have the least keys."""
        keys, rows = np.concatenate([self.keys, other.keys]), pd.concat([self.rows, other.rows])
        least = np.argsort(keys, kind="stable")[: self.most]
        return replace(self, keys=keys[least], rows=rows.iloc[least])


@dataclass(frozen=True)
class SamplePass:
    """The first pass: a sample of the rows in which every cell says something."""

    rules: RowRules
    most: int
    seed: int

    def __call__(self, pieces: Pieces) -> SampledRows:
        """The sample of these pieces."""
        found: SampledRows | None = None
        for first, good in _read_good_rows(self.rules, pieces):
            numbers = first + np.flatnonzero(good.kept)
            keys = _compute_row_keys(numbers, self.seed)
            table = good.settings.assign(**{self.rules.target: good.response}).set_index(numbers)
            if found is None:
                found = SampledRows(self.most, keys[:0], table[:0])
            bound = np.inf if len(found.keys) < self.most else found.keys.max()
            some = keys < bound  # of many rows hardly any
            if some.any():
                found = found.merge(SampledRows(self.most, keys[some], table[some]))
        assert found is not None  # a task has a piece, and a piece has rows
        return found


def _compute_row_keys(numbers: Int64[ndarray, " n"], seed: int) -> UInt64[ndarray, " n"]:
    """A key for each row number, as good as drawn at random: the mixing function of SplitMix64."""
    x = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x ^= np.random.SeedSequence(seed).generate_state(1, np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    mixed: UInt64[ndarray, " n"] = x ^ (x >> np.uint64(31))
    return mixed


@dataclass(frozen=True, eq=False)
class Ranges:
    """The least and the largest value of each number, how often there is each category, and what was left out."""

    low: Float64[ndarray, " k"]
    high: Float64[ndarray, " k"]
    categories: tuple[Counter[Any], ...]
    used: int = 0
    left_out: LeftOut = field(default_factory=LeftOut)

    def merge(self, other: "Ranges") -> "Ranges":
        """Those of the rows of both."""
        return Ranges(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            tuple(one + more for one, more in zip(self.categories, other.categories, strict=True)),
            self.used + other.used,
            self.left_out + other.left_out,
        )

    def make_columns(self, rules: RowRules) -> "dict[str, pd.Series[Any]]":
        """Columns with the same ranges, and categories in the same order when the commonest come first."""
        found: dict[str, pd.Series[Any]] = {}
        for parameter, low, high, seen in zip(
            rules.space.parameters, self.low, self.high, self.categories, strict=True
        ):
            order = [value for value, _ in sorted(seen.items(), key=lambda one: (one[1], str(one[0])))]
            often = [value for times, value in enumerate(order, 1) for _ in range(times)]
            found[parameter.name] = pd.Series(often if isinstance(parameter, Categorical) else [low, high])
        return found


@dataclass(frozen=True)
class RangePass:
    """The second pass: ranges, under the rules that the sample taught."""

    rules: RowRules

    def __call__(self, pieces: Pieces) -> Ranges:
        """The ranges of these pieces."""
        width = len(self.rules.space.parameters)
        found = Ranges(np.full(width, np.inf), np.full(width, -np.inf), (Counter(),) * width)
        for _, good in _read_good_rows(self.rules, pieces):
            low, high = found.low.copy(), found.high.copy()
            categories: list[Counter[Any]] = [Counter() for _ in range(width)]
            for k, parameter in enumerate(self.rules.space.parameters):
                column = good.settings[parameter.name]
                if isinstance(parameter, Categorical):
                    categories[k] = Counter(column.value_counts().to_dict())
                elif len(column):
                    low[k], high[k] = column.min(), column.max()
            found = found.merge(Ranges(low, high, tuple(categories), len(good.settings), good.left_out))
        return found


@dataclass(frozen=True)
class ScaledRows:
    """From good rows to kernel inputs and scaled responses."""

    rules: RowRules
    box: Box
    reach: float
    shift: float
    scale: float

    def __call__(self, pieces: Pieces) -> Iterator[tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]]:
        """Of these pieces, a table at a time."""
        for _, good in _read_good_rows(self.rules, pieces):
            if len(good.settings):
                inputs = self.reach * self.box.to_kernel_inputs(self.box.encode(good.settings))
                yield inputs, (torch.as_tensor(good.response) - self.shift) / self.scale


@dataclass(frozen=True)
class EquationPass:
    """The third pass: normal equations."""

    rows: ScaledRows
    features: FeatureMap

    def __call__(self, pieces: Pieces) -> NormalEquations:
        """Those of these pieces, in one pass."""
        nothing = torch.zeros(0, self.rows.box.num_inputs, dtype=torch.float64)
        found = NormalEquations.from_rows(self.features, nothing, nothing.sum(1))
        for points, y in self.rows(pieces):
            found = found.add_rows(points, y)
        return found
