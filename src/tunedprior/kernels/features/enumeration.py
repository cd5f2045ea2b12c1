"""Enumeration of all multi-indices, those with the largest features first."""

from collections.abc import Iterator
from itertools import count
from math import comb
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from numpy import ndarray
from torch import Tensor

from tunedprior.kernels.features.multi_index import list_multi_indices
from tunedprior.kernels.free_kernel import FreeKernel, Product

#: Upper bound on the number of multi-indices enumerated; more would take too long.
MOST_LOOKED_AT = 2**19
#: The highest power of one input.
MOST_POWERS = 1024
_POWERS = 32  # the highest power at first, doubled as needed
#: Rounding error of a sum, relative to the sum of its absolute terms.
ROUNDING = 1e-14
_SLACK = 1e-9
_STEP = np.log(10)  # between the features of one batch and the next, as a log-ratio
_LEAST_LOG_SIZE = -300.0  # relative to the largest, for each input


def enumerate_best_first(
    base: FreeKernel, anchors: Product, means: Float[Tensor, "d q"] | None = None, negligible: float = ROUNDING
) -> Iterator[Int[Tensor, "p d"]]:
    """All multi-indices in batches, by decreasing Π_d E_A[φ_{i_d}²], the mean over anchors A; failing that by degree.

    If `means` are given (log of the mean squares over the box, per input and power), by the product with these. Powers
    of one input whose mean square is far below a negligible share of the largest are left out.
    """
    num_inputs, device = anchors.points.shape[-1], anchors.points.device
    least, before, step = np.inf, np.inf, _STEP
    if base.compute_log_factors(0) is not None:
        sizes = _compute_log_sizes(base, anchors, negligible)
        if means is not None:
            sizes = sizes + means[:, : sizes.shape[1]].cpu().numpy()
        least = sizes.max(1).sum()
    end = least + _LEAST_LOG_SIZE * num_inputs
    while end < least < np.inf and step > _STEP / 10:
        found = _find_large_sums(sizes, least - step - _SLACK)  # slack: sums round differently
        if found is None:  # too many: with many inputs, many features are of equal size
            step /= 2
            continue
        (indices, logs), least = found, least - step
        yield torch.as_tensor(indices[(logs >= least) & (logs < before)]).to(device)
        before = least
    if before == np.inf:
        yield from (shell.to(device) for shell in _enumerate_by_degree(num_inputs))


def _enumerate_by_degree(num_inputs: int) -> Iterator[Int[Tensor, "p d"]]:
    """Batches of all multi-indices of degree 0, 1, 2, …, up to `MOST_LOOKED_AT` in total."""
    for degree in count():
        if comb(num_inputs + degree, degree) > MOST_LOOKED_AT or degree > MOST_POWERS:
            return
        yield list_multi_indices(num_inputs, degree)[comb(num_inputs + degree - 1, num_inputs) if degree else 0 :]


def _compute_log_sizes(base: FreeKernel, anchors: Product, negligible: float = ROUNDING) -> Float64[ndarray, "d k"]:
    """log of the mean of φ_k² over the anchors, per input and power k, up to a power where it is negligible."""
    highest, (x, envelope) = _POWERS, (anchors.points, base.evaluate_input_log_envelopes(anchors.points))
    while True:
        logs = torch.special.xlogy(torch.arange(highest + 1).to(x), x.abs()[..., None]) + envelope[..., None]  # a d k
        factors: Any = base.compute_log_factors(highest)
        sizes = (2 * logs).logsumexp(0) - np.log(len(x)) + factors.to(x)
        if (sizes[:, -2:].amax(1) - sizes.amax(1) < np.log(negligible) - 10).all() or highest >= MOST_POWERS:
            found: Float64[ndarray, "d k"] = sizes.cpu().numpy()
            return found
        highest *= 2


def _find_large_sums(
    sizes: Float64[ndarray, "d k"], least: float
) -> tuple[Int[ndarray, "p d"], Float64[ndarray, " p"]] | None:
    """All i with Σ_d sizes[d, i_d] ≥ least, and these sums; None if there are too many.

    Branch and bound, input by input: a partial sum is dropped if even the largest rest would not reach `least`.
    """
    order = np.argsort(-sizes, axis=1)
    falling = np.take_along_axis(sizes, order, axis=1)
    rest = falling[:, 0].sum() - falling[:, 0].cumsum()
    sums, steps = np.zeros(1), []
    most = MOST_LOOKED_AT * 8 // max(8, len(sizes))  # the cost of an index grows with the number of inputs
    for column, (powers, values) in enumerate(zip(order, falling, strict=True)):
        fitting = np.searchsorted(-values, sums + rest[column] - least, side="right")
        if fitting.sum() > most:
            return None
        parent = np.repeat(np.arange(len(sums)), fitting)
        place = np.arange(len(parent)) - np.repeat(fitting.cumsum() - fitting, fitting)
        sums = sums[parent] + values[place]
        steps.append((parent, powers[place]))
    indices, row = np.empty((len(sums), len(sizes)), dtype=np.int64), np.arange(len(sums))
    for column, (parent, power) in reversed(list(enumerate(steps))):
        indices[:, column], row = power[row], parent[row]
    return indices, sums
