"""Learn a weight prior from old data that does not fit into memory: many Parquet files, read in three passes.

The passes add up a sample of the rows, their ranges, and normal equations. Each sum has a method `merge`; each pass is
a function of some pieces, which can be sent to a worker with its other arguments.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float64, Int64, UInt64

from tunedprior.checks import check_positive_integer, warn
from tunedprior.errors import NothingToLearnError, OldDataWarning
from tunedprior.kernels import FreeKernel
from tunedprior.machines.feature_ridge import FeatureFit, FeatureMap, NormalEquations
from tunedprior.numerics.chunking import SumT, sum_as_tree
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.source_data.matching import OldTable, read_old_data
from tunedprior.source_data.rows import LeftOut, RowRules, UsableRows
from tunedprior.source_data.training_set import MOST_ROWS_WITH_ALPHA, TrainingSet
from tunedprior.space.encoding import Box
from tunedprior.space.parameters import Categorical, Description
from tunedprior.space.search_space import Space
from tunedprior.tables.content import ReadTable
from tunedprior.tables.reading import RowGroup, group_into_tasks, list_row_groups
from tunedprior.weight_prior.pretraining import LearningOptions, choose_kernel, learn_weight_prior
from tunedprior.weight_prior.prior import WeightPrior

Pieces = Sequence[RowGroup]


def _read_good_rows(rules: RowRules, pieces: Pieces) -> Iterator[tuple[int, UsableRows]]:
    """Read the usable rows of some pieces, table by table, each with the number of its first row among all rows."""
    for piece in pieces:
        for begun, table in piece.read_batches(rules.columns):
            yield (
                piece.first + begun,
                rules.select_usable_rows(table, Path(piece.path).name, piece.first_in_file + begun),
            )


@dataclass(frozen=True, eq=False)
class SampledRows:
    """A random sample: the `most` rows with the least keys, whoever reads which rows.

    Attributes:
        most: The largest number of rows.
        keys: The keys of these rows.
        rows: The rows; the index has their numbers among all.
    """

    most: int
    keys: UInt64[np.ndarray, " k"]
    rows: pd.DataFrame

    def merge(self, other: "SampledRows") -> "SampledRows":
        """The rows of both with the least keys."""
        keys, rows = np.concatenate([self.keys, other.keys]), pd.concat([self.rows, other.rows])
        least = np.argsort(keys, kind="stable")[: self.most]
        return replace(self, keys=keys[least], rows=rows.iloc[least])


def draw_sample(pieces: Pieces, rules: RowRules, most: int, seed: int) -> SampledRows:
    """The first pass: a sample of the complete rows of these pieces."""
    found: SampledRows | None = None
    for first, good in _read_good_rows(rules, pieces):
        numbers = first + np.flatnonzero(good.kept)
        keys = _compute_row_keys(numbers, seed)
        table = good.settings.assign(**{rules.target: good.response}).set_index(numbers)
        if found is None:
            found = SampledRows(most, keys[:0], table[:0])
        bound = np.inf if len(found.keys) < most else found.keys.max()
        some = keys < bound  # of many rows hardly any
        if some.any():
            found = found.merge(SampledRows(most, keys[some], table[some]))
    assert found is not None  # a task has a piece, and a piece has rows
    return found


def _compute_row_keys(numbers: Int64[np.ndarray, " n"], seed: int) -> UInt64[np.ndarray, " n"]:
    """A pseudo-random key for each row number: the mixing function of SplitMix64."""
    x = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x ^= np.random.SeedSequence(seed).generate_state(1, np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    mixed: UInt64[np.ndarray, " n"] = x ^ (x >> np.uint64(31))
    return mixed


@dataclass(frozen=True, eq=False)
class Ranges:
    """The least and the largest value of each number, the counts of each category, and the rows that were left out."""

    low: Float64[np.ndarray, " k"]
    high: Float64[np.ndarray, " k"]
    categories: tuple[Counter[Any], ...]
    used: int = 0
    left_out: LeftOut = field(default_factory=LeftOut)

    def merge(self, other: "Ranges") -> "Ranges":
        """The ranges of the rows of both."""
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


def measure_ranges(pieces: Pieces, rules: RowRules) -> Ranges:
    """The second pass: ranges of these pieces, under the rules inferred from the sample."""
    width = len(rules.space.parameters)
    found = Ranges(np.full(width, np.inf), np.full(width, -np.inf), (Counter(),) * width)
    for _, good in _read_good_rows(rules, pieces):
        low, high = found.low.copy(), found.high.copy()
        categories: list[Counter[Any]] = [Counter() for _ in range(width)]
        for k, parameter in enumerate(rules.space.parameters):
            column = good.settings[parameter.name]
            if isinstance(parameter, Categorical):
                categories[k] = Counter(column.value_counts().to_dict())
            elif len(column):
                low[k], high[k] = column.min(), column.max()
        found = found.merge(Ranges(low, high, tuple(categories), len(good.settings), good.left_out))
    return found


def sum_equations(
    pieces: Pieces, rules: RowRules, box: Box, reach: float, moments: tuple[float, float], features: FeatureMap
) -> NormalEquations:
    """The third pass: normal equations of these pieces; `moments` are the responses' shift and scale."""
    nothing = torch.zeros(0, box.num_inputs, dtype=torch.float64)
    found = NormalEquations.from_rows(features, nothing, nothing.sum(1))
    for _, good in _read_good_rows(rules, pieces):
        if len(good.settings):
            points = reach * box.to_kernel_inputs(box.encode(good.settings))
            found = found.add_rows(points, (torch.as_tensor(good.response) - moments[0]) / moments[1])
    return found


#: A folder, a pattern, or the names of files.
Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
# Rows that everything but the sums is chosen on: more than the selection of λ and the kernel looks at.
_SAMPLE = 60_000
# Rows of a task: a second of work or a minute, by the number of features. As much is lost where a worker goes away.
_TASK = 250_000


@runtime_checkable
class TaskSummer(Protocol):
    """A function that computes the sums of all tasks and merges them as `sum_as_tree` does."""

    def __call__(self, measure: Callable[[Pieces], SumT], tasks: Sequence[Pieces]) -> SumT:
        """The sum of measure(task) over all tasks."""
        ...


def sum_in_process(measure: Callable[[Pieces], SumT], tasks: Sequence[Pieces]) -> SumT:
    """Compute the tasks one after the other."""
    return sum_as_tree(map(measure, tasks))


def pretrain_partitions(
    old_data: Source,
    space: Mapping[str, Description] | Space,
    kernel: FreeKernel | None = None,
    ard: bool = False,
    *,
    target: str = "y",
    lam_bounds: tuple[float, float] | None = None,
    centred: bool = True,
    rows_with_alpha: int = MOST_ROWS_WITH_ALPHA,
    most_features: int = 2048,
    sample_rows: int = _SAMPLE,
    rows_per_task: int = _TASK,
    seed: int = 0,
    summing: TaskSummer = sum_in_process,
) -> WeightPrior:
    """g(x) = ŵᵀφ(x) with (Σ_j φ(a_j)φ(a_j)ᵀ + λI) ŵ = Σ_j φ(a_j)y_j, the sums being over rows in many Parquet files.

    The same as `pretrain` of one table with all rows, as far as `sample_rows` has all of them; else the kernel, λ and
    the features are chosen on a random sample of that size, and the fit is of all rows. No more than a few thousand
    rows are in memory at once. Three passes are made: for the sample, the ranges and the normal equations. Each is a
    sum, of which the tasks are parts; parts are added in a fixed order. The leave-one-out error is that of the sample's
    rows, in the fit of all.

    Rows are judged one by one, so some things are stricter than in `pretrain`. Columns must have the parameters' names.
    Rows with a blank setting are left out, not filled in. Responses are numbers (1 and 0 are pass and fail), so a run
    that failed has none. A column of which a part is in other units may be an error.

    Args:
        old_data: A folder of Parquet files, a pattern such as "old/*.parquet", or a list of files.
        space: The search space, as for `Optimizer`.
        kernel: A free kernel, as for `pretrain`.
        ard: One length-scale per input, instead of one for all.
        target: The column that holds the response.
        lam_bounds: Search interval of λ, as for `pretrain`.
        centred: Whether the mean of numeric responses (of the sample) is subtracted before they are scaled.
        rows_with_alpha: As for `pretrain`: what has no more different settings is learnt from the sample alone.
        most_features: Upper bound on features p. Time grows with p² for each row, and a partial sum takes 8p² bytes.
        sample_rows: Rows of the sample.
        rows_per_task: Rows of a task, about. The answer depends on it by rounding alone.
        seed: The seed of the sample, of random subsets of it, and of the random restarts for `ard`.
        summing: Who computes the sums; `tunedprior.integrations.dask.pretrain_on_dask` has workers do it.

    Raises:
        NothingToLearnError: If no row can be used, or the response never varies.
    """
    space = Space.parse(space)
    options = LearningOptions(
        kernel,
        ard,
        lam_bounds=lam_bounds,
        centred=centred,
        rows_with_alpha=rows_with_alpha,
        seed=seed,
        most_features=check_positive_integer(most_features, "most_features"),
    )
    rules = RowRules(space, target)
    tasks = group_into_tasks(
        list_row_groups(old_data, rules.columns), check_positive_integer(rows_per_task, "rows_per_task")
    )
    if not tasks:
        raise NothingToLearnError("Old data is empty: there are no rows to learn from.")
    most = check_positive_integer(sample_rows, "sample_rows")
    sampled = summing(partial(draw_sample, rules=rules, most=most, seed=options.seed), tasks)
    rules, data = _learn_row_rules(sampled, space, target)
    ranges = summing(partial(measure_ranges, rules=rules), tasks)
    _warn_of_rows_left_out(ranges)
    box = Box.enclose(space, ranges.make_columns(rules))

    def fit_partitions(feature_map: FeatureMap, lam: float, chosen_on: TrainingSet) -> tuple[FeatureFit, float]:
        reach, moments = choose_kernel(options)[1], (chosen_on.shift, chosen_on.scale)
        equations = partial(sum_equations, rules=rules, box=box, reach=reach, moments=moments, features=feature_map)
        fit = summing(equations, tasks).solve(lam)
        return fit, fit.compute_loo_error(chosen_on.points, chosen_on.response)

    with isolate_computation():
        return learn_weight_prior(data, space, options, fit_partitions, box)


def _learn_row_rules(sampled: SampledRows, space: Space, target: str) -> tuple[RowRules, OldTable]:
    """Infer the rules for all rows from the sample; return them with the sample's usable rows, in their order."""
    sample = sampled.rows.sort_index()
    if sample.empty:
        raise NothingToLearnError(f"Old data has no row that can be used: in each, a setting or {target!r} is blank.")
    rules = RowRules.infer_rules(space, target, sample)
    good = rules.select_usable_rows(sample, "the sample")
    numbers = sample.index[good.kept]
    table = good.settings.assign(**{target: good.response})
    data = read_old_data(ReadTable(table, "the sample", (), numbers), space, target)
    return replace(rules, labels=data.labels), data


def _warn_of_rows_left_out(ranges: Ranges) -> None:
    if ranges.left_out:
        of = [f"{column!r} is {reason} in {count:,}" for (column, reason), count in sorted(ranges.left_out.items())]
        gone = ranges.left_out.total()
        warn(
            f"Old data has {ranges.used + gone:,} rows, {gone:,} of which are left out: {'; '.join(of)}.",
            OldDataWarning,
        )
