"""The first half of Algorithm 1: learn from old data which features matter."""

import warnings
from collections.abc import Mapping
from os import PathLike

import numpy as np
import pandas as pd

from tunedprior.auxiliary import AuxiliaryData, read_auxiliary
from tunedprior.box import Box
from tunedprior.errors import AuxiliaryDataWarning, InputError, NothingToLearnError
from tunedprior.kernels import FreeKernel, SquaredExponential
from tunedprior.machines import LeastSquares, Machine, SupportVectorClassifier, select
from tunedprior.space import Description, Space
from tunedprior.validation import average_replicates
from tunedprior.weight_prior import WeightPrior

# LogRatio has poles at ±1; this much of the way there it is still tame.
_OPEN_REACH = 0.95


def pretrain(
    auxiliary: pd.DataFrame | str | PathLike[str],
    space: Mapping[str, Description] | Space,
    kernel: FreeKernel | None = None,
    ard: bool = False,
    *,
    machine: Machine | None = None,
    target: str = "y",
    direction: str = "maximize",
    lam_bounds: tuple[float, float] = (1e-2, 10.0),
    max_rows: int = 500,
    seed: int = 0,
) -> WeightPrior:
    """Train a machine on old data and keep α: g(x) = Σ_j α_j K₂(a_j, x).

    Args:
        auxiliary: Old data: a table, or the path of a CSV file, with a column per parameter and the response.
        space: What may be set on the new device, as for `Optimizer`.
        kernel: A free kernel; its parameter and λ are chosen by leave-one-out error. Default: `SquaredExponential`.
        ard: One length-scale per input, instead of one for all.
        machine: The machine to train. Default: `LeastSquares` for numbers, `SupportVectorClassifier` for labels.
        target: The column that holds the response.
        direction: Which way is better; a failed old run counts as the worst response there was.
        lam_bounds: Where to look for λ. Old responses are scaled to variance 1, so the default grants that at least
            1 % of it is not signal. An exact response would drive λ to zero, and the Theorem's prior |v_i|/τ_i would
            then favour the highest powers, where τ_i is least and the data says least (docs/algorithm1.md has figures).
        max_rows: Learn from a random choice of this many rows when there are more, with a warning: the cost of the
            exact kernel grows with their square.
        seed: Of that choice, and of the random restarts that `ard` uses.

    Raises:
        NothingToLearnError: If there are fewer than two different settings, or a response that never varies.
    """
    space = Space.parse(space)
    data = read_auxiliary(auxiliary, space, target, direction)
    if len(data) == 0:
        raise NothingToLearnError("Old data is empty: there are no rows to learn from.")
    box = Box.around(space, data.settings)
    kernel = SquaredExponential() if kernel is None else kernel
    reach = _OPEN_REACH if kernel.open_domain else 1.0
    machine = machine or (SupportVectorClassifier(1.0, bias=True) if data.labels else LeastSquares(1.0))
    data = at_most(data, max_rows, seed)
    points, response = average_replicates(reach * box.inputs(box.codes(data.settings)), data.response, data.labels)
    if len(points) == 0:
        raise NothingToLearnError("Old data contradicts itself: every setting passed as often as it failed.")
    shift, scale = (0.0, 1.0) if data.labels else (float(response.mean()), float(response.std(correction=0)))
    scaled = (response - shift) / (scale if scale > 0 else 1.0)
    chosen = select(machine, kernel, points, scaled, ard=ard, lam_bounds=lam_bounds, seed=seed)
    trained = chosen.machine.fit(chosen.kernel, points, scaled)
    return WeightPrior(
        base=chosen.kernel.requires_grad_(False),
        anchors=points,
        alpha=trained.alpha,
        lam=chosen.machine.lam,
        machine=type(machine).__name__,
        error=chosen.error,
        box=box,
        reach=reach,
        response_shift=shift,
        response_scale=scale,
    )


def pretrain_or_warn(
    auxiliary: pd.DataFrame | str | PathLike[str],
    space: Space,
    kernel: FreeKernel | None,
    ard: bool,
    target: str,
    direction: str,
    seed: int,
) -> WeightPrior | None:
    """A prior that says something, or None and a warning that says why plain optimisation goes on without."""
    try:
        prior = pretrain(auxiliary, space, kernel, ard, target=target, direction=direction, seed=seed)
    except NothingToLearnError as error:
        reason = str(error)
    else:
        return usable_or_warn(prior, space)
    warnings.warn(f"{reason} Going on without old data.", AuxiliaryDataWarning, stacklevel=3)
    return None


def usable_or_warn(prior: WeightPrior, space: Space) -> WeightPrior | None:
    """The prior, or None and a warning if its kernel vanishes; one made for another space is an error."""
    if not prior.box.covers(space):
        raise InputError(
            f"The weight prior was learnt for {prior.box.names} and does not cover this search space ({space.names}, "
            "its order, scales and bounds). Learn it again with pretrain(old, space)."
        )
    if not prior.vanishes:
        return prior
    message = "The kernel learnt from old data vanishes. Going on without old data."
    warnings.warn(message, AuxiliaryDataWarning, stacklevel=4)
    return None


def at_most(data: AuxiliaryData, count: int, seed: int) -> AuxiliaryData:
    """A random choice of the rows, with a warning, if there are more than `count`."""
    if len(data) <= count:
        return data
    message = f"Old data has {len(data):,} rows; learning from {count} of them, chosen at random."
    warnings.warn(message, AuxiliaryDataWarning, stacklevel=3)
    rows = np.sort(np.random.default_rng(seed).choice(len(data), count, replace=False))
    return AuxiliaryData(data.settings.iloc[rows].reset_index(drop=True), data.response[rows], data.labels)
