"""All multi-indices, those whose features are largest first."""

from collections.abc import Iterator
from itertools import count
from math import comb
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from numpy import ndarray
from torch import Tensor

from tunedprior.kernels.free_kernel import FreeKernel, Product
from tunedprior.kernels.multi_index import multi_indices

#: More multi-indices than this take too long to look at.
MOST_LOOKED_AT = 2**19
#: The highest power of one input.
MOST_POWERS = 1024
_POWERS = 32  # looked at to begin with
#: A sum is not known to better than this part of its terms.
ROUNDING = 1e-14
_SLACK = 1e-9
_STEP = np.log(10)  # how much smaller the features of each batch are
_LEAST_LOG_SIZE = -300.0  # of each input, below the largest


def best_first(
    base: FreeKernel, anchors: Product, means: Float[Tensor, "d q"] | None = None
) -> Iterator[Int[Tensor, "p d"]]:
    """All multi-indices in batches, those that promise most first: by Π_d E_A[φ_{i_d}²], or failing that by degree.

    Also by the means of their squares over the box, if these are given (as logarithms, input by input).
    """
    num_inputs, device = anchors.points.shape[-1], anchors.points.device
    least, before, step = np.inf, np.inf, _STEP
    if base._log_factors(0) is not None:
        sizes = _log_sizes(base, anchors)
        if means is not None:
            sizes = sizes + means[:, : sizes.shape[1]].cpu().numpy()
        least = sizes.max(1).sum()
    end = least + _LEAST_LOG_SIZE * num_inputs
    while end < least < np.inf and step > _STEP / 10:
        found = _at_least(sizes, least - step - _SLACK)  # sums round differently on the way
        if found is None:  # with many inputs, many features are of one size
            step /= 2
            continue
        (indices, logs), least = found, least - step
        yield torch.as_tensor(indices[(logs >= least) & (logs < before)]).to(device)
        before = least
    if before == np.inf:
        yield from (shell.to(device) for shell in _by_degree(num_inputs))


def _by_degree(num_inputs: int) -> Iterator[Int[Tensor, "p d"]]:
    """All multi-indices of degree 0, 1, 2, …, as far as there are not too many."""
    for degree in count():
        if comb(num_inputs + degree, degree) > MOST_LOOKED_AT or degree > MOST_POWERS:
            return
        yield multi_indices(num_inputs, degree)[comb(num_inputs + degree - 1, num_inputs) if degree else 0 :]


def _log_sizes(base: FreeKernel, anchors: Product) -> Float64[ndarray, "d k"]:
    """log of the mean of φ_k² over the anchors, input by input, up to the power where none is left."""
    highest, (x, envelope) = _POWERS, (anchors.points, base._log_envelopes(anchors.points))
    while True:
        logs = torch.special.xlogy(torch.arange(highest + 1).to(x), x.abs()[..., None]) + envelope[..., None]  # a d k
        factors: Any = base._log_factors(highest)
        sizes = (2 * logs).logsumexp(0) - np.log(len(x)) + factors.to(x)
        if (sizes[:, -2:].amax(1) - sizes.amax(1) < np.log(ROUNDING) - 10).all() or highest >= MOST_POWERS:
            found: Float64[ndarray, "d k"] = sizes.cpu().numpy()
            return found
        highest *= 2


def _at_least(
    sizes: Float64[ndarray, "d k"], least: float
) -> tuple[Int[ndarray, "p d"], Float64[ndarray, " p"]] | None:
    """All i with Σ_d sizes[d, i_d] ≥ least, and these sums: input by input, cut where no rest can make up for it.

    None if there are more than can be looked at.
    """
    order = np.argsort(-sizes, axis=1)
    falling = np.take_along_axis(sizes, order, axis=1)
    rest = falling[:, 0].sum() - falling[:, 0].cumsum()
    sums, steps = np.zeros(1), []
    most = MOST_LOOKED_AT * 8 // max(8, len(sizes))  # as every one of many inputs takes its time
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
