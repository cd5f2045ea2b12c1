"""Algorithm 1's first half for old data that does not fit into memory: many Parquet files, read in pieces."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from tunedprior.algorithm1.partition_sums import (
    EquationPass,
    Pieces,
    RangePass,
    Ranges,
    SampledRows,
    SamplePass,
    ScaledRows,
)
from tunedprior.algorithm1.pretraining import LearningOptions, choose_kernel, learn_weight_prior
from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.checks import check_positive_integer, warn
from tunedprior.errors import NothingToLearnError, OldDataWarning
from tunedprior.files.content import ReadTable
from tunedprior.files.partitions import group_into_tasks, list_row_groups
from tunedprior.kernels import FreeKernel
from tunedprior.machines.streamed import FeatureFit, FeatureMap
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.numerics.tree_sums import SumT, sum_as_tree
from tunedprior.problem.box import Box
from tunedprior.problem.old_data import OldTable, read_old_data
from tunedprior.problem.parameters import Description
from tunedprior.problem.row_rules import RowRules
from tunedprior.problem.space import Space
from tunedprior.problem.training_set import MOST_ROWS_WITH_ALPHA, TrainingSet

#: A folder, a pattern, or the names of files.
Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
# Rows that everything but the sums is chosen on: more than the selection of λ and the kernel looks at.
_SAMPLE = 60_000
# Rows of a task: a second of work or a minute, by the number of features. As much is lost where a worker goes away.
_TASK = 250_000


@runtime_checkable
class TaskSummer(Protocol):
    """Who computes the sums of all tasks, and merges them as `sum_as_tree` would."""

    def __call__(self, measure: Callable[[Pieces], SumT], tasks: Sequence[Pieces]) -> SumT:
        """The sum of measure(task) over all tasks."""
        ...


def sum_in_process(measure: Callable[[Pieces], SumT], tasks: Sequence[Pieces]) -> SumT:
    """One task after the other."""
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
    how = LearningOptions(
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
    sampled = summing(SamplePass(rules, check_positive_integer(sample_rows, "sample_rows"), how.seed), tasks)
    rules, data = _learn_row_rules(sampled, space, target)
    ranges = summing(RangePass(rules), tasks)
    _warn_of_rows_left_out(ranges)
    box = Box.enclose(space, ranges.make_columns(rules))

    def fit_partitions(feature_map: FeatureMap, lam: float, chosen_on: TrainingSet) -> tuple[FeatureFit, float]:
        rows = ScaledRows(rules, box, choose_kernel(how)[1], chosen_on.shift, chosen_on.scale)
        fit = summing(EquationPass(rows, feature_map), tasks).solve(lam)
        return fit, fit.compute_loo_error(chosen_on.points, chosen_on.response)

    with isolate_computation():
        return learn_weight_prior(data, space, how, fit_partitions, box)


def _learn_row_rules(sampled: SampledRows, space: Space, target: str) -> tuple[RowRules, OldTable]:
    """The rules for all rows that the sample teaches, and those of its rows that keep them, in their order."""
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
