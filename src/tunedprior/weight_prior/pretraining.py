"""The first half of Algorithm 1: learn a weight prior over features from old data."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import (
    check_flag,
    check_positive_integer,
    check_seed,
    format_list,
    format_value,
    refuse_other_types,
    warn,
)
from tunedprior.errors import InputError, NothingToLearnError, OldDataWarning
from tunedprior.kernels import FreeKernel, SquaredExponential
from tunedprior.kernels.explicit_features import OPEN_REACH, has_features
from tunedprior.kernels.free_kernel import refuse_other_kernels
from tunedprior.machines import (
    AlphaFit,
    FeatureFit,
    LeastSquares,
    Machine,
    PrunedLeastSquares,
    Selection,
    SupportVectorClassifier,
    select,
)
from tunedprior.machines.feature_ridge import FeatureMap, NormalEquations, make_accuracy_error, solve_exactly
from tunedprior.machines.selection import SUPPORT_VECTOR_LAMBDAS, refuse_other_bounds
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.source_data.matching import OldTable, read_old_data
from tunedprior.source_data.training_set import MOST_ROWS_WITH_ALPHA, TrainingSet
from tunedprior.space.encoding import Box
from tunedprior.space.parameters import Description
from tunedprior.space.search_space import Space
from tunedprior.weight_prior.prior import WeightPrior

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


#: From φ, λ and the rows that both were chosen on to the fit of all rows, and its leave-one-out error.
FitOfAll = Callable[[FeatureMap, float, TrainingSet], tuple[FeatureFit, float]]


@dataclass(frozen=True)
class LearningOptions:
    """The options of `pretrain`, and the upper bound on features."""

    kernel: FreeKernel | None = None
    ard: bool = False
    machine: Machine | None = None
    lam_bounds: tuple[float, float] | None = None
    centred: bool = True
    as_printed: bool = False
    rows_with_alpha: int = MOST_ROWS_WITH_ALPHA
    seed: int = 0
    most_features: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows_with_alpha", check_positive_integer(self.rows_with_alpha, "rows_with_alpha"))
        object.__setattr__(self, "seed", check_seed(self.seed))
        object.__setattr__(self, "ard", check_flag(self.ard, "ard"))
        if self.kernel is not None:
            refuse_other_kernels(self.kernel)
        if self.machine is not None:
            refuse_other_types(
                self.machine, Machine, "machine", "one of tunedprior.machines, such as LeastSquares(1.0)"
            )
        if self.lam_bounds is not None:
            refuse_other_bounds(self.lam_bounds)

    def make_training_set(self, rows: TrainingSet) -> TrainingSet:
        """The rows with the responses that the machine is trained on."""
        if self.as_printed:
            _warn_of_scale(rows)
            return rows
        scaled = rows.standardise_if_possible()
        if self.centred:
            return scaled
        return replace(scaled, response=scaled.response + scaled.shift / scaled.scale, shift=0.0)

    def get_lam_bounds(self, machine: Machine) -> tuple[float, float]:
        """The search interval of λ."""
        if self.lam_bounds is not None:
            return self.lam_bounds
        if not self.as_printed:
            return LAMBDAS
        return _LAMBDAS_AS_PRINTED if isinstance(machine, LeastSquares) else SUPPORT_VECTOR_LAMBDAS

    def choose_machine(self, labels: bool) -> Machine:
        """The default machine."""
        return SupportVectorClassifier(1.0, bias=not self.as_printed) if labels else LeastSquares(1.0)


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
            `SupportVectorClassifier` for labels. `PrunedLeastSquares(1.0, most=200)` learns from all of many rows, and
            gives an α to 200 of them.
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
            `as_printed` is its second half, `TransferConfig(prior="as printed")` both.
        rows_with_alpha: Up to so many different settings have an α each, at a cost that grows with their cube. More
            are fitted by least squares in explicit features, in one pass, at a cost linear in their number: the
            kernel's parameter and λ are selected on a sample of this size and confirmed on held-out rows. Machines
            without a primal form, and kernels with too many features, learn from a random subset, with a warning.
            As printed, more are fitted exactly, by α or in as many features as λ asks for; an `InputError` says so
            where neither is accurate. Repeated settings are averaged up to this number of different ones, and kept as
            separate rows beyond.
        seed: The seed of random subsets of rows, and of the random restarts for `ard`.
        device: The device of the pass over many rows, such as "cuda".

    Raises:
        NothingToLearnError: If there are fewer than two different settings, or a response that never varies.
        InputError: Also where many rows, as printed, cannot be fitted accurately (`machines.many_rows`).
    """
    space = Space.parse(space)
    options = LearningOptions(kernel, ard, machine, lam_bounds, centred, as_printed, rows_with_alpha, seed)
    _refuse_other_devices(device)
    data = read_old_data(old_data, space, target, direction)

    def fit_in_memory(feature_map: FeatureMap, lam: float, rows: TrainingSet) -> tuple[FeatureFit, float]:
        points, y = rows.points.to(device), rows.response.to(device)
        fit = NormalEquations.from_rows(feature_map, points, y).solve(lam)
        return fit, fit.compute_loo_error(points, y)

    with isolate_computation():
        return learn_weight_prior(data, space, options, fit_in_memory, device=device)


def choose_kernel(options: LearningOptions) -> tuple[FreeKernel, float]:
    """Choose the kernel that learns, and the part of [-1, 1] that it is defined on."""
    kernel = SquaredExponential() if options.kernel is None else options.kernel
    return kernel, OPEN_REACH if kernel.open_domain else 1.0


def learn_weight_prior(
    data: OldTable,
    space: Space,
    options: LearningOptions,
    fit_all: FitOfAll,
    box: Box | None = None,
    device: str = "cpu",
) -> WeightPrior:
    """Learn the `WeightPrior` of `pretrain`.

    Args:
        data: All old rows, or a sample of them on which everything but the last fit is chosen.
        space: The search space.
        options: The options.
        fit_all: Fits all rows in explicit features; it is called if there are too many rows for α.
        box: The box of all rows; the one around these, when left out.
        device: The device on which the kernel's parameter and λ are confirmed.
    """
    if data.absent:
        raise InputError(
            "Algorithm 1 takes all features from old data, so it must have every column; "
            f"{format_list(data.absent)} is missing or nearly empty. Use prior='average', which holds other beliefs "
            "too, or add the column."
        )
    box = box or Box.enclose(space, data.settings if len(data) else None)
    kernel, reach = choose_kernel(options)
    rows = options.make_training_set(
        TrainingSet.from_old_table(data, box, reach=reach, rows_with_alpha=options.rows_with_alpha)
    )
    few = rows.draw_subset(options.rows_with_alpha, options.seed)
    about: dict[str, Any] = {
        "anchors": few.points, "box": box, "reach": reach, "response_shift": rows.shift, "response_scale": rows.scale,
        "places": few.places,
    }  # fmt: skip
    choose = partial(select, kernel=kernel, X=few.points, y=few.response, ard=options.ard, seed=options.seed)
    pruned = options.machine if isinstance(options.machine, PrunedLeastSquares) else None
    by_squares, featured = isinstance(options.machine, LeastSquares | None), has_features(kernel, few.points.shape[1])
    if len(few) < len(rows) and by_squares and (pruned or featured):
        lambdas = options.get_lam_bounds(LeastSquares(1.0))
        chosen = choose(LeastSquares(1.0), lam_bounds=lambdas)
        best, lam = chosen.kernel.requires_grad_(False), chosen.machine.lam
        if featured:
            best, lam = confirm_kernel(chosen, rows.points.to(device), rows.response.to(device), lambdas, options.seed)
        if pruned:
            return _fit_pruned(replace(pruned, lam=lam), best.to("cpu"), rows, chosen.error, about)
        if options.as_printed:
            return _fit_all_as_printed(best.to("cpu"), lam, rows, about)
        feature_map = FeatureMap.from_largest_features(
            best, rows.points.to(device), options.most_features or _MOST_FEATURES
        )
        fit, error = fit_all(feature_map, lam, rows)
        if error <= _WORSE * chosen.error:
            return WeightPrior(fit.to("cpu"), machine="LeastSquares", error=error, **about)
    if len(few) < len(rows):
        warn(f"Old data has {len(rows):,} rows; learning from a random choice of {len(few)}.", OldDataWarning)
    machine = options.machine or options.choose_machine(data.labels)
    chosen = choose(machine, lam_bounds=options.get_lam_bounds(machine))
    if isinstance(chosen.machine, PrunedLeastSquares):
        return _fit_pruned(chosen.machine, chosen.kernel.requires_grad_(False), few, chosen.error, about)
    trained = chosen.machine.fit(chosen.kernel, few.points, few.response)
    fixed = AlphaFit(chosen.kernel.requires_grad_(False), few.points, trained.alpha, chosen.machine.lam)
    return WeightPrior(fixed, machine=type(machine).__name__, error=chosen.error, **about)


def _fit_pruned(
    machine: PrunedLeastSquares, kernel: FreeKernel, rows: TrainingSet, unpruned: float, about: dict[str, Any]
) -> WeightPrior:
    """Fit all rows with an α for some; a warning if a fit of fewer rows with an α each predicted better.

    Args:
        machine: The machine, with its λ.
        kernel: The kernel, its parameters fixed.
        rows: All rows.
        unpruned: The leave-one-out error of the rows that the kernel was chosen on, each with an α.
        about: The other fields of the prior.
    """
    fit, error = machine.fit_with_error(kernel, rows.points, rows.response)
    if error > _WORSE * unpruned:
        warn(
            f"Pruned to {len(fit.alpha)} rows, the fit predicts worse than one with an α for each row of a sample "
            f"(mean squared error {error:.3g} against {unpruned:.3g}). Raise most, or leave machine out.",
            OldDataWarning,
        )
    if fit.posterior is not None:
        about = about | {"anchors": fit.anchors, "places": ()}
    return WeightPrior(fit, machine=type(machine).__name__, error=error, **about)


def _fit_all_as_printed(kernel: FreeKernel, lam: float, rows: TrainingSet, about: dict[str, Any]) -> WeightPrior:
    """Fit all rows exactly; an `InputError` if the kernel is not accurate to a share of its mean variance."""
    fit, error = solve_exactly(kernel, rows.points, rows.response, lam)
    if isinstance(fit, AlphaFit):
        about = about | {"anchors": fit.anchors, "places": rows.places}
    prior = WeightPrior(fit, machine="LeastSquares", error=error, **about)
    try:
        by_features = getattr(prior.make_kernel(), "by_features", True)
    except InputError:  # rounding would spoil the sum over pairs of rows
        by_features = False
    if not by_features:
        raise make_accuracy_error(kernel, len(rows), lam)
    return prior


def _refuse_other_devices(device: Any) -> None:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, TypeError, AssertionError) as error:
        raise InputError(
            f"device must be one that PyTorch has here, such as 'cpu' or 'cuda'; got {format_value(device)}."
        ) from error


def confirm_kernel(
    chosen: Selection, points: Float[Tensor, "n d"], y: Float[Tensor, " n"], lam_bounds: tuple[float, float], seed: int
) -> tuple[FreeKernel, float]:
    """Compare the kernel and λ selected on a small sample with multiples of them, by the error on held-out rows."""
    order = torch.as_tensor(np.random.default_rng(seed).permutation(len(points))).to(points.device)
    held_out, training = order[: min(_HELD_OUT, len(points) // 5)], order[-min(_TRAINING, len(points) * 4 // 5) :]
    best = (float("inf"), chosen.kernel, chosen.machine.lam)
    for kernel in _make_nearby_kernels(deepcopy(chosen.kernel).to(points)):
        feature_map = FeatureMap.from_largest_features(kernel, points[training], _FEATURES_TO_CONFIRM)
        equations = NormalEquations.from_rows(feature_map, points[training], y[training])
        for factor in _LAMBDA_FACTORS:
            lam = min(max(factor * chosen.machine.lam, lam_bounds[0]), lam_bounds[1])
            error = equations.solve(lam).compute_error(points[held_out], y[held_out])
            best = min(best, (error, kernel, lam), key=lambda one: one[0])
    return best[1:]


def _make_nearby_kernels(kernel: FreeKernel) -> list[FreeKernel]:
    """The kernel itself, then copies with a somewhat smaller or larger tuned parameter, within its constraint."""
    found, name = [], kernel.tuned_parameter
    for factor in _PARAMETER_FACTORS if name else (1.0,):
        near = deepcopy(kernel).double().requires_grad_(False)
        if name:
            wanted = factor * getattr(near, name)
            if not getattr(near, f"raw_{name}_constraint").check(wanted):
                continue
            setattr(near, name, wanted)
        found.append(near)
    return found


def _warn_of_scale(rows: TrainingSet) -> None:
    """Warn of numeric responses far from order 1, as they are not scaled."""
    largest, (low, high) = float(rows.response.abs().max()), _ORDER_ONE
    if not rows.labels and largest > 0 and not low <= largest <= high:
        warn(
            f"Algorithm 1 as printed takes responses as they are, and the paper's lie in [0, 1]; the largest old one "
            f"here is {largest:.3g} in size. Bring old and new responses to [0, 1], or use prior='reweighted'.",
            OldDataWarning,
        )


def pretrain_or_warn(old_data: OldTable, space: Space, **options: Any) -> WeightPrior | None:
    """Learn a `WeightPrior` by `pretrain`; None, with a warning that gives the reason, if nothing can be learnt.

    Args:
        old_data: The old data, as it was read.
        space: The search space.
        **options: As for `pretrain`.
    """
    try:
        prior = pretrain(old_data, space, **options)
    except NothingToLearnError as error:
        warn(f"{error} Going on without old data.", OldDataWarning)
        return None
    return check_weight_prior(prior, space)


def check_weight_prior(prior: WeightPrior, space: Space) -> WeightPrior | None:
    """Check a prior: None, with a warning, if its kernel vanishes; an `InputError` if it is for another space."""
    if not prior.box.covers(space):
        raise InputError(
            f"The weight prior was learnt for {prior.box.names} and does not cover this search space ({space.names}, "
            "its order, scales and bounds). Learn it again with pretrain(old, space)."
        )
    if not prior.vanishes:
        if prior.dead_warning:
            warn(prior.dead_warning, OldDataWarning)
        return prior
    warn("The kernel learnt from old data vanishes. Going on without old data.", OldDataWarning)
    return None
