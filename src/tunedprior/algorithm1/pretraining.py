"""The first half of Algorithm 1: learn from old data which features matter."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.checks import flag, listed, refuse_other_types, renamed, seeded, shown, warn, whole
from tunedprior.errors import InputError, NothingToLearnError, OldDataWarning
from tunedprior.kernels import FreeKernel, SquaredExponential
from tunedprior.kernels.features.certificate import OPEN_REACH, has_features
from tunedprior.kernels.free_kernel import refuse_other_kernels
from tunedprior.machines import AlphaFit, FeatureFit, LeastSquares, Machine, Selection, SupportVectorClassifier, select
from tunedprior.machines.selection import SUPPORT_VECTOR_LAMBDAS, refuse_other_bounds
from tunedprior.machines.streamed import FeatureMap, NormalEquations
from tunedprior.numerics.isolation import computing
from tunedprior.problem.box import Box
from tunedprior.problem.old_data import OldTable, read_old_data
from tunedprior.problem.parameters import Description
from tunedprior.problem.space import Space
from tunedprior.problem.training_set import MOST_ROWS_WITH_ALPHA, TrainingSet

# Upper bounds on explicit features, of data with too many rows for α: in the fit, and in the selection of parameters.
_MOST_FEATURES, _FEATURES_TO_CONFIRM = 2048, 512
_TRAINING, _HELD_OUT = 20_000, 10_000  # rows for that selection
_PARAMETER_FACTORS = (1.0, 0.5, 2**-0.5, 2**0.5, 2.0)
_LAMBDA_FACTORS = (1.0, 0.1, 0.3, 3.0, 10.0)
#: Search interval of λ, for responses of variance 1: at least 1 % of it is noise (see docs/algorithm1.md).
LAMBDAS = (1e-2, 10.0)
# The same for least squares as printed, where nothing but rounding is a floor: with a λ below 1e-8 it shows in α.
_LAMBDAS_AS_PRINTED = (1e-8, 100.0)
# Responses as printed should be of order 1, as the paper's are, for that interval and the kernel's amplitude.
_ORDER_ONE = (0.1, 10.0)
# A fit of all rows in features is kept if its error is at most so many times that of a fit of a subset with α.
_WORSE = 1.05


@dataclass(frozen=True)
class _How:
    """What is done to the responses, and between which bounds λ is searched for; attributes as for `pretrain`."""

    centred: bool
    as_printed: bool
    lam_bounds: tuple[float, float] | None

    def training_set(self, rows: TrainingSet) -> TrainingSet:
        """The rows with the responses that the machine is trained on."""
        if self.as_printed:
            _check_order_one(rows)
            return rows
        scaled = rows.scaled()
        if self.centred:
            return scaled
        return replace(scaled, response=scaled.response + scaled.shift / scaled.scale, shift=0.0)

    def lambdas(self, machine: Machine) -> tuple[float, float]:
        """The search interval of λ."""
        if self.lam_bounds is not None:
            return self.lam_bounds
        if not self.as_printed:
            return LAMBDAS
        return _LAMBDAS_AS_PRINTED if isinstance(machine, LeastSquares) else SUPPORT_VECTOR_LAMBDAS

    def machine_for(self, labels: bool) -> Machine:
        """The machine, where the user names none."""
        return SupportVectorClassifier(1.0, bias=not self.as_printed) if labels else LeastSquares(1.0)


@renamed("auxiliary", "old_data")
def pretrain(
    old_data: Any,
    space: Mapping[str, Description] | Space,
    kernel: FreeKernel | None = None,
    ard: bool = False,
    *,
    machine: Machine | None = None,
    target: str = "y",
    direction: str = "maximize",
    lam_bounds: tuple[float, float] | None = None,
    centred: bool = True,
    as_printed: bool = False,
    rows_with_alpha: int = MOST_ROWS_WITH_ALPHA,
    seed: int = 0,
    device: str = "cpu",
) -> WeightPrior:
    """g(x) = Σ_j α_j K₂(a_j, x), or ŵᵀφ(x) if there are many rows, learnt from old data by a machine.

    Args:
        old_data: A table with a column per parameter and the response, or the path of a file with one.
        space: The search space, as for `Optimizer`.
        kernel: A free kernel; its parameter and λ are chosen by leave-one-out error. Default: `SquaredExponential`.
        ard: One length-scale per input, instead of one for all.
        machine: The machine to train. Default: `LeastSquares` for numbers and for many rows,
            `SupportVectorClassifier` for labels.
        target: The column that holds the response.
        direction: Which way is better; a failed old run counts as the worst response there was.
        lam_bounds: Search interval of λ. Default: 0.01 to 10. Old responses are scaled to variance 1, so that assumes
            that at least 1 % of it is noise. An exact response would drive λ to zero, and the Theorem's prior |v_i|/τ_i
            would then favour the highest powers, where τ_i is smallest and least determined by data (see
            docs/algorithm1.md). As printed: 1e-8 to 100, for support vector machines 1e-3 to 10.
        centred: Whether the mean of numeric responses is subtracted before they are scaled. Without it g must rise to
            their level from zero, and the features that carry the level get a wide prior too.
        as_printed: Algorithm 1 to the letter: numeric responses are neither centred nor scaled (the paper has them in
            [0, 1]: bring yours there), λ has no floor, and labels train a machine without a bias. `TunedPrior` with
            `as_printed` is its second half, `Optimizer(prior="as printed")` both.
        rows_with_alpha: Up to so many different settings have an α each, at a cost that grows with their cube. More
            are fitted by least squares in explicit features, in one pass, at a cost linear in their number: the
            kernel's parameter and λ are selected on a sample of this size and confirmed on held-out rows. Machines
            without a primal form, and kernels with too many features, learn from a random subset, with a warning.
            Repeated settings are averaged up to this number of different ones, and kept as separate rows beyond.
        seed: The seed of random subsets of rows, and of the random restarts for `ard`.
        device: The device of the pass over many rows, such as "cuda".

    Raises:
        NothingToLearnError: If there are fewer than two different settings, or a response that never varies.
    """
    space, rows_with_alpha = Space.parse(space), whole(rows_with_alpha, "rows_with_alpha")
    seed, ard = seeded(seed), flag(ard, "ard")
    if kernel is not None:
        refuse_other_kernels(kernel)
    if machine is not None:
        refuse_other_types(machine, Machine, "machine", "one of tunedprior.machines, such as LeastSquares(1.0)")
    if lam_bounds is not None:
        refuse_other_bounds(lam_bounds)
    _refuse_other_devices(device)
    data = read_old_data(old_data, space, target, direction)
    with computing():
        how = _How(centred and not as_printed, as_printed, lam_bounds)
        return _learnt(data, space, kernel, ard, machine, how, rows_with_alpha, seed, device)


def _learnt(
    data: OldTable,
    space: Space,
    kernel: FreeKernel | None,
    ard: bool,
    machine: Machine | None,
    how: _How,
    rows_with_alpha: int,
    seed: int,
    device: str,
) -> WeightPrior:
    """The `WeightPrior` of `pretrain`, from a table that was read already."""
    if data.absent:
        raise InputError(
            "Algorithm 1 takes all features from old data, so it must have every column; "
            f"{listed(data.absent)} is missing or nearly empty. Use prior='average', which holds other beliefs "
            "too, or add the column."
        )
    box = Box.around(space, data.settings if len(data) else None)
    kernel = SquaredExponential() if kernel is None else kernel
    reach = OPEN_REACH if kernel.open_domain else 1.0
    every = how.training_set(TrainingSet.of(data, box, reach=reach, rows_with_alpha=rows_with_alpha))
    few = every.subset(rows_with_alpha, seed)
    about: dict[str, Any] = {
        "anchors": few.points, "box": box, "reach": reach, "response_shift": every.shift, "response_scale": every.scale,
        "places": few.places,
    }  # fmt: skip
    choose = partial(select, kernel=kernel, X=few.points, y=few.response, ard=ard, seed=seed)
    if len(few) < len(every) and isinstance(machine, LeastSquares | None) and has_features(kernel):
        lambdas = how.lambdas(LeastSquares(1.0))
        chosen = choose(LeastSquares(1.0), lam_bounds=lambdas)
        fit, error = _fit_without_alpha(chosen, every.points.to(device), every.response.to(device), lambdas, seed)
        if error <= _WORSE * chosen.error:
            return WeightPrior(fit.to("cpu"), machine="LeastSquares", error=error, **about)
    if len(few) < len(every):
        warn(f"Old data has {len(every):,} rows; learning from a random choice of {len(few)}.", OldDataWarning)
    machine = machine or how.machine_for(data.labels)
    chosen = choose(machine, lam_bounds=how.lambdas(machine))
    trained = chosen.machine.fit(chosen.kernel, few.points, few.response)
    fixed = AlphaFit(chosen.kernel.requires_grad_(False), few.points, trained.alpha, chosen.machine.lam)
    return WeightPrior(fixed, machine=type(machine).__name__, error=chosen.error, **about)


def _refuse_other_devices(device: Any) -> None:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, TypeError, AssertionError) as error:
        raise InputError(
            f"device must be one that PyTorch has here, such as 'cpu' or 'cuda'; got {shown(device)}."
        ) from error


def _fit_without_alpha(
    chosen: Selection, points: Float[Tensor, "n d"], y: Float[Tensor, " n"], lam_bounds: tuple[float, float], seed: int
) -> tuple[FeatureFit, float]:
    """The least-squares fit of all rows in explicit features, and its leave-one-out error.

    The kernel's parameter and λ are those selected on a small sample, or multiples with a smaller held-out error.
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
    """The kernel itself, then copies with a somewhat smaller or larger tuned parameter."""
    found = []
    for factor in _PARAMETER_FACTORS if kernel.tuned_parameter else (1.0,):
        near = deepcopy(kernel).double().requires_grad_(False)
        if near.tuned_parameter:
            setattr(near, near.tuned_parameter, factor * getattr(near, near.tuned_parameter))
        found.append(near)
    return found


def _check_order_one(rows: TrainingSet) -> None:
    """Warn of numeric responses that are far from order 1, as these are trained on as they are."""
    largest, (low, high) = float(rows.response.abs().max()), _ORDER_ONE
    if not rows.labels and largest > 0 and not low <= largest <= high:
        warn(
            f"Algorithm 1 as printed takes responses as they are, and the paper's lie in [0, 1]; the largest old one "
            f"here is {largest:.3g} in size. Bring old and new responses to [0, 1], or use prior='reweighted'.",
            OldDataWarning,
        )


def pretrain_or_warn(old_data: OldTable, space: Space, **options: Any) -> WeightPrior | None:
    """The `WeightPrior` learnt by `pretrain`; None, with a warning that gives the reason, if nothing can be learnt.

    Args:
        old_data: What was read.
        space: The search space.
        **options: As for `pretrain`.
    """
    try:
        prior = pretrain(old_data, space, **options)
    except NothingToLearnError as error:
        warn(f"{error} Going on without old data.", OldDataWarning)
        return None
    return usable_or_warn(prior, space)


def usable_or_warn(prior: WeightPrior, space: Space) -> WeightPrior | None:
    """The prior itself; None, with a warning, if its kernel vanishes; an `InputError` if it is for another space."""
    if not prior.box.covers(space):
        raise InputError(
            f"The weight prior was learnt for {prior.box.names} and does not cover this search space ({space.names}, "
            "its order, scales and bounds). Learn it again with pretrain(old, space)."
        )
    if not prior.vanishes:
        return prior
    warn("The kernel learnt from old data vanishes. Going on without old data.", OldDataWarning)
    return None
