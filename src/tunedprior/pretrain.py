"""The first half of Algorithm 1: learn from old data which features matter."""

import warnings
from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.auxiliary import read_auxiliary
from tunedprior.box import Box
from tunedprior.errors import AuxiliaryDataWarning, InputError, NothingToLearnError
from tunedprior.kernels import FreeKernel, SquaredExponential
from tunedprior.kernels.search import OPEN_REACH, has_features
from tunedprior.machines import LeastSquares, Machine, Selection, SupportVectorClassifier, select
from tunedprior.machines.primal import FeatureMap, NormalEquations, PrimalFit
from tunedprior.space import Description, Space
from tunedprior.validation import few_or_all, sample_of_rows, whole
from tunedprior.weight_prior import WeightPrior

# Explicit features of data with too many rows for α: for the fit, and for finding out which parameters suit it.
_MOST_FEATURES, _FEATURES_TO_CONFIRM = 2048, 512
_TRAINING, _HELD_OUT = 20_000, 10_000  # rows for the latter
_PARAMETER_FACTORS = (1.0, 0.5, 2**-0.5, 2**0.5, 2.0)
_LAMBDA_FACTORS = (1.0, 0.1, 0.3, 3.0, 10.0)
# How much larger the error of all rows in features may be than that of a few with α, before these are preferred.
_WORSE = 1.05


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
    rows_with_alpha: int = 500,
    seed: int = 0,
    device: str = "cpu",
) -> WeightPrior:
    """Train a machine on old data and keep what it learnt: g(x) = Σ_j α_j K₂(a_j, x), or ŵᵀφ(x) if there are many rows.

    Args:
        auxiliary: Old data: a table, or the path of a CSV file, with a column per parameter and the response.
        space: What may be set on the new device, as for `Optimizer`.
        kernel: A free kernel; its parameter and λ are chosen by leave-one-out error. Default: `SquaredExponential`.
        ard: One length-scale per input, instead of one for all.
        machine: The machine to train. Default: `LeastSquares` for numbers and for many rows,
            `SupportVectorClassifier` for labels.
        target: The column that holds the response.
        direction: Which way is better; a failed old run counts as the worst response there was.
        lam_bounds: Where to look for λ. Old responses are scaled to variance 1, so the default grants that at least
            1 % of it is not signal. An exact response would drive λ to zero, and the Theorem's prior |v_i|/τ_i would
            then favour the highest powers, where τ_i is least and the data says least (docs/algorithm1.md has figures).
        rows_with_alpha: Up to so many different settings each has an α, at a cost that grows with their cube. More are
            learnt from by least squares in explicit features, in one pass, at a cost that grows with their number: the
            kernel's parameter and λ are chosen on a sample of this size and confirmed on held-out rows. Machines
            without such a form, and kernels with too many features, learn from a random choice, with a warning.
            Repeated settings are averaged up to this number of different ones, and taken one by one beyond.
        seed: Of random choices of rows, and of the random restarts that `ard` uses.
        device: Where the pass over many rows is made, such as "cuda".

    Raises:
        NothingToLearnError: If there are fewer than two different settings, or a response that never varies.
    """
    space, rows_with_alpha = Space.parse(space), whole(rows_with_alpha, "rows_with_alpha")
    data = read_auxiliary(auxiliary, space, target, direction)
    if len(data) == 0:
        raise NothingToLearnError("Old data is empty: there are no rows to learn from.")
    box = Box.around(space, data.settings)
    kernel = SquaredExponential() if kernel is None else kernel
    reach = OPEN_REACH if kernel.open_domain else 1.0
    inputs = reach * box.inputs(box.codes(data.settings))
    points, response = few_or_all(inputs, data.response, data.labels, rows_with_alpha)
    if len(points) == 0:
        raise NothingToLearnError("Old data contradicts itself: every setting passed as often as it failed.")
    shift, scale = (0.0, 1.0) if data.labels else (float(response.mean()), float(response.std(correction=0)))
    scaled = (response - shift) / (scale if scale > 0 else 1.0)
    about: dict[str, Any] = {"box": box, "reach": reach, "response_shift": shift, "response_scale": scale}
    few, response_of_few = sample_of_rows(points, scaled, data.labels, rows_with_alpha, seed)
    choose = partial(select, kernel=kernel, X=few, y=response_of_few, ard=ard, lam_bounds=lam_bounds, seed=seed)
    if len(few) < len(points) and isinstance(machine, LeastSquares | None) and has_features(kernel):
        chosen = choose(LeastSquares(1.0))
        fit, error = _fit_without_alpha(chosen, points.to(device), scaled.to(device), lam_bounds, seed)
        if error <= _WORSE * chosen.error:
            fit = fit.to("cpu")
            nothing = points.new_zeros(0)
            return WeightPrior(fit.map.kernel, few, nothing, fit.lam, "LeastSquares", error, **about, fit=fit)
    if len(few) < len(points):
        message = f"Old data has {len(points):,} rows; learning from a random choice of {len(few)}."
        warnings.warn(message, AuxiliaryDataWarning, stacklevel=2)
    machine = machine or (SupportVectorClassifier(1.0, bias=True) if data.labels else LeastSquares(1.0))
    chosen = choose(machine)
    trained = chosen.machine.fit(chosen.kernel, few, response_of_few)
    base, lam, kind = chosen.kernel.requires_grad_(False), chosen.machine.lam, type(machine).__name__
    return WeightPrior(base, few, trained.alpha, lam, kind, chosen.error, **about)


def _fit_without_alpha(
    chosen: Selection, points: Float[Tensor, "n d"], y: Float[Tensor, " n"], lam_bounds: tuple[float, float], seed: int
) -> tuple[PrimalFit, float]:
    """Least squares in features, on all rows, and its leave-one-out error.

    The kernel's parameter and λ are those of a small sample, or a multiple of them that predicts held-out rows better.
    """
    order = torch.as_tensor(np.random.default_rng(seed).permutation(len(points))).to(points.device)
    held_out, training = order[: min(_HELD_OUT, len(points) // 5)], order[-min(_TRAINING, len(points) * 4 // 5) :]
    best = (float("inf"), chosen.kernel, chosen.machine.lam)
    for kernel in _nearby(deepcopy(chosen.kernel).to(points)):
        feature_map = FeatureMap.of(kernel, points[training], _FEATURES_TO_CONFIRM)
        equations = NormalEquations.of(feature_map, points[training], y[training])
        for factor in _LAMBDA_FACTORS:
            lam = min(max(factor * chosen.machine.lam, lam_bounds[0]), lam_bounds[1])
            error = equations.solve(lam).error(points[held_out], y[held_out])
            best = min(best, (error, kernel, lam), key=lambda one: one[0])
    _, kernel, lam = best
    fit = NormalEquations.of(FeatureMap.of(kernel, points, _MOST_FEATURES), points, y).solve(lam)
    return fit, fit.leave_one_out_error(points, y)


def _nearby(kernel: FreeKernel) -> list[FreeKernel]:
    """The kernel itself first, then with its parameter somewhat smaller and larger."""
    found = []
    for factor in _PARAMETER_FACTORS if kernel.tuned_parameter else (1.0,):
        near = deepcopy(kernel).double().requires_grad_(False)
        if near.tuned_parameter:
            setattr(near, near.tuned_parameter, factor * getattr(near, near.tuned_parameter))
        found.append(near)
    return found


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
