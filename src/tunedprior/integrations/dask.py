"""Learn from more rows than fit on one machine: the sums of Algorithm 1 over partitions, on Dask's workers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunedprior.checks import import_optional, refuse_other_types
from tunedprior.numerics.chunking import SumT, sum_promises_as_tree
from tunedprior.space.parameters import Description
from tunedprior.space.search_space import Space
from tunedprior.weight_prior.partitioned import Pieces, Source, pretrain_partitions
from tunedprior.weight_prior.prior import WeightPrior

import_optional("distributed", "dask")

from dask import delayed  # noqa: E402 (after the check, whose message names the extra)
from distributed import Client  # noqa: E402


@dataclass(frozen=True)
class DaskTreeSum:
    """Sums of tasks that Dask's workers compute and merge, in the order of `sum_as_tree`."""

    client: Client

    def __call__(self, measure: Callable[[Pieces], SumT], tasks: Sequence[Pieces]) -> SumT:
        """The sum of measure(task) over all tasks.

        It is one graph, which Dask orders depth first: sums are merged before further tasks are begun, so that each
        worker holds a few of them. The pass itself, with features or a fit, goes to the workers once.
        """
        shared = self.client.scatter(measure, hash=False)
        part, merge = delayed(_measure_task, pure=False), delayed(_merge_sums, pure=False)
        tree = sum_promises_as_tree([part(shared, task) for task in tasks], merge)
        found: SumT = self.client.compute(tree).result()
        return found


def pretrain_on_dask(
    old_data: Source, space: Mapping[str, Description] | Space, client: Client, **options: Any
) -> WeightPrior:
    """g(x) = ŵᵀφ(x) with (Σ_j φ(a_j)φ(a_j)ᵀ + λI) ŵ = Σ_j φ(a_j)y_j: `pretrain_partitions`, its sums on Dask's workers.

    Sums are merged in a fixed order: the answer depends neither on the number of workers, nor on which is done first.
    What a worker had computed before it went away is computed again by others.

    Args:
        old_data: A folder of Parquet files, a pattern, or a list of files; every worker must find them by that name.
        space: The search space, as for `Optimizer`.
        client: Of the cluster.
        **options: As for `pretrain_partitions`.

    >>> import tempfile
    >>> import numpy as np, pandas as pd
    >>> from tunedprior import Optimizer
    >>> x = np.random.default_rng(0).uniform(0, 1, (2000, 2))
    >>> old = pd.DataFrame(x, columns=["heat", "acid"]).assign(y=np.sin(3 * x[:, 0]) * x[:, 1])
    >>> with tempfile.TemporaryDirectory() as folder, Client(processes=False, dashboard_address=":0") as client:
    ...     for part in range(4):
    ...         old[part::4].to_parquet(f"{folder}/part{part}.parquet")
    ...     prior = pretrain_on_dask(folder, {"heat": (0.0, 1.0), "acid": (0.0, 1.0)}, client)
    >>> prior.error < 0.1
    True
    """
    refuse_other_types(client, Client, "client", "a dask.distributed.Client, such as Client(n_workers=4)")
    return pretrain_partitions(old_data, space, summing=DaskTreeSum(client), **options)


def _measure_task(measure: Callable[[Pieces], SumT], task: Pieces) -> SumT:
    return measure(task)


def _merge_sums(earlier: SumT, later: SumT) -> SumT:
    return earlier.merge(later)
