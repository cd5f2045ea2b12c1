"""Maximise an acquisition function over the allowed settings, with or without constraints.

With constraints: start at the best of many feasible settings; alternate between sequential quadratic programming along
the continuous parameters and steps to better neighbours in all others, until neither improves. In five continuous
spaces under linear constraints BoTorch's `optimize_acqf` finds the same maxima (within 0.05% in ten runs of each) in
1.7 to 3.5 s and this search in 0.04 to 0.12 s (`python -m benchmarks libraries --only polytopes`); conditions between
parameters and constraints that are functions have no counterpart there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np
import pandas as pd
import torch
from botorch.acquisition import AcquisitionFunction, AnalyticAcquisitionFunction
from botorch.optim import optimize_acqf, optimize_acqf_discrete_local_search, optimize_acqf_mixed_alternating
from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched
from botorch.optim.initializers import initialize_q_batch
from botorch.utils.sampling import draw_sobol_samples
from jaxtyping import Bool, Float, Float64
from scipy.optimize import NonlinearConstraint, minimize
from torch import Tensor

from tunedprior.acquisition.closed_form import ClosedFormAcquisition
from tunedprior.numerics.isolation import ENDED_EARLY, NEGATIVE_VARIANCE, OwnGenerator, derive_seed, silence_warnings
from tunedprior.space.encoding import Box
from tunedprior.space.feasibility import FeasibleSettings
from tunedprior.space.parameters import Categorical
from tunedprior.space.search_space import Setting, Space

_LISTED = 1_000  # a parameter with more values than this is treated as continuous, then rounded
_ENUMERATED = 10_000


@dataclass(frozen=True)
class ConstrainedSpace:
    """A search space with constraints, as the optimiser of acquisition functions needs it.

    Attributes:
        space: The search space.
        feasible: The settings that satisfy the constraints.
        box: How its settings are encoded.
        all_settings: All encoded settings that satisfy the constraints, if there are not too many.
    """

    space: Space
    feasible: FeasibleSettings
    box: Box
    all_settings: Float[Tensor, "n k"] | None

    @classmethod
    def from_space(cls, space: Space, box: Box) -> "ConstrainedSpace | None":
        """The value for a space in this box; None if the space has no constraints."""
        if space.feasible is None:
            return None
        few = space.feasible.all_rows is not None and len(space.feasible.all_rows) <= _ENUMERATED
        return cls(space, space.feasible, box, box.encode(space.list_settings()) if few else None)


@dataclass(frozen=True)
class EncodedSpace:
    """The allowed encoded settings: bounds of each parameter, the list of values if it has one, and constraints.

    Attributes:
        bounds: The least and the largest value of each parameter.
        values: By column, the values of each discrete number.
        categories: By column, the codes of each category.
        fixed: By column, the value of each parameter that has one.
        constrained: The space, if it has constraints.
        lists: The values of each parameter; None if one has no list of them.
    """

    bounds: Float[Tensor, "2 k"]
    values: dict[int, list[float]]
    categories: dict[int, list[float]]
    fixed: dict[int, float]
    constrained: ConstrainedSpace | None = None
    lists: list[Float[Tensor, " v"]] | None = None

    @classmethod
    def from_space(cls, space: Space, box: Box) -> "EncodedSpace":
        """Encode the allowed values of a search space."""
        bounds, values, categories, fixed, lists = [], {}, {}, {}, []
        for column, parameter in enumerate(space.parameters):
            listed = parameter.count is not None and parameter.count <= _LISTED
            if isinstance(parameter, Categorical):
                allowed = [float(code) for code in range(parameter.count)]
            else:
                ends = parameter.list_values() if listed else [parameter.low, parameter.high]
                allowed = sorted(box.axes[column].encode(pd.Series(ends, dtype=float)).tolist())
            bounds.append((allowed[0], allowed[-1]))
            lists.append(torch.tensor(allowed, dtype=torch.float64))
            if parameter.count == 1:
                fixed[column] = allowed[0]
            elif isinstance(parameter, Categorical):
                categories[column] = allowed
            elif listed:
                values[column] = allowed
        edges, constrained = torch.tensor(bounds, dtype=torch.float64).T, ConstrainedSpace.from_space(space, box)
        are_listed = len(values | categories | fixed) == len(bounds)
        return cls(edges, values, categories, fixed, constrained, lists if are_listed else None)

    @property
    def discrete(self) -> dict[int, list[float]]:
        """By column, the list of values of each parameter that has one."""
        return self.values | self.categories

    def list_settings(self) -> Float[Tensor, "n k"] | None:
        """All settings, if there are not too many."""
        if self.constrained is not None:
            return self.constrained.all_settings
        if self.lists is None or prod(len(values) for values in self.lists) > _ENUMERATED:
            return None
        return torch.cartesian_prod(*self.lists).reshape(-1, len(self.lists))


_SAME = 1e-9  # encoded settings closer than this are the same
#: Settings of a batch differ by more than this share of the search space's range in some parameter.
APART = 0.01
# Acquisition functions that look at a mean and a variance; others may have samples or fantasies of every member.
_CHEAP = (AnalyticAcquisitionFunction, ClosedFormAcquisition)
_MANY, _FEW = 1024, 16


def get_batch_size(acquisition: AcquisitionFunction) -> int:
    """The number of settings at which an acquisition function is evaluated at once."""
    return _MANY if isinstance(acquisition, _CHEAP) else _FEW


def mask_preferred(
    choices: Float[Tensor, "c k"],
    encoded_space: EncodedSpace,
    avoid: Float[Tensor, "n k"],
    pending: Float[Tensor, "p k"],
) -> Bool[Tensor, " c"]:
    """Which choices are neither known nor near a pending setting; if there are none, all unknown ones; or else all."""
    fresh = ~is_among(choices, avoid)
    apart = fresh & ~is_near(choices, pending, encoded_space)
    return apart if apart.any() else fresh if fresh.any() else ~fresh


@torch.no_grad()
def evaluate_acquisition(acquisition: AcquisitionFunction, X: Float[Tensor, "n 1 k"]) -> Float[Tensor, " n"]:
    """Evaluate the acquisition function at settings, in batches."""
    return torch.cat([acquisition(some) for some in X.split(get_batch_size(acquisition))])


def is_near(X: Float[Tensor, "n k"], others: Float[Tensor, "m k"], encoded_space: EncodedSpace) -> Bool[Tensor, " n"]:
    """For each row of X, whether one of the others has the same categories and is within 1 % of every range of it."""
    low, high = encoded_space.bounds
    reach = APART * (high - low)
    reach[list(encoded_space.categories)] = 0.0
    near: Tensor = ((X[:, None] - others).abs() <= reach + _SAME).all(-1).any(-1)
    return near


def is_among(X: Float[Tensor, "n k"], others: Float[Tensor, "m k"]) -> Bool[Tensor, " n"]:
    """For each row of X, whether it is among the others up to rounding."""
    return ((X[:, None] - others).abs() <= _SAME).all(-1).any(-1)


_SAMPLES = 512
_STARTS = 4
_MOST_ROUNDS = 12
_CLIMBED = 60  # iterations of each climb
_WIDTH = 0.1  # of steps to neighbours along a continuum at first, as a share of its range
_NARROWER = 0.4  # in each round
_PARTS_OF_THE_WAY = (1.0, 1 - 1e-6, 0.99, 0.9, 0.7, 0.5, 0.25, 0.1, 0.03)
_BETTER = 1e-9

#: Which encoded settings are preferred: those that are neither known nor near a pending one.
Prefer = Callable[[Float[Tensor, "c k"]], Bool[Tensor, " c"]]


def maximize_feasible(
    acquisition: AcquisitionFunction, encoded_space: EncodedSpace, prefer: Prefer, seed: int
) -> Float[Tensor, " k"]:
    """Maximise an acquisition function over the settings that satisfy the constraints."""
    assert encoded_space.constrained is not None
    search = _Search(acquisition, encoded_space, encoded_space.constrained)
    fewer = 1 if get_batch_size(acquisition) > _SAMPLES else 4  # where an evaluation takes long
    samples = encoded_space.constrained.space.sobol(_SAMPLES // fewer, seed)
    X = encoded_space.constrained.box.encode(samples)
    values = evaluate_acquisition(acquisition, X[:, None]).nan_to_num(nan=-torch.inf)
    starts = [samples[k] for k in values.argsort(descending=True)[: max(1, 2 * _STARTS // (fewer + 1))].tolist()]
    ends = [search.improve(start, derive_seed(seed, k)) for k, start in enumerate(starts)]
    found = torch.cat([encoded_space.constrained.box.encode(ends), X])
    values = evaluate_acquisition(acquisition, found[:, None]).nan_to_num(nan=-torch.inf)
    return found[int(values.masked_fill(~prefer(found), -torch.inf).argmax())]


@dataclass(frozen=True, eq=False)
class _Search:
    acquisition: AcquisitionFunction
    encoded_space: EncodedSpace
    constrained: ConstrainedSpace

    def improve(self, setting: Setting, seed: int) -> Setting:
        """Alternate between gradient steps and neighbours until neither improves the setting."""
        feasible = self.constrained.feasible
        best, width = setting, _WIDTH
        value = self._evaluate_settings([best])[0]
        has_lists = any(values is not None and len(values) > 1 for values in feasible.rows.values)
        stuck = False
        for round_ in range(_MOST_ROUNDS):
            before, options = value, [] if stuck else self._climb(best)
            if has_lists or feasible.rules:
                options += feasible.find_neighbours(best, width, derive_seed(seed, round_))
            if options:
                values = self._evaluate_settings(options)
                if values.max() > value:
                    best, value = options[int(values.argmax())], float(values.max())
            stuck = value <= before + _BETTER * max(1.0, abs(before))
            if stuck and (not feasible.rules or width < 1e-3):
                break
            width *= _NARROWER if stuck or has_lists else 1.0
        return best

    def _evaluate_settings(self, settings: list[Setting]) -> Float64[np.ndarray, " n"]:
        X = self.constrained.box.encode(settings)
        values = evaluate_acquisition(self.acquisition, X[:, None]).nan_to_num(nan=-torch.inf)
        return values.detach().double().numpy()

    def _climb(self, setting: Setting) -> list[Setting]:
        """Maximise along the continuous parameters; if that maximum is not allowed, stop on the way."""
        feasible = self.constrained.feasible
        row = feasible.rows.encode_setting(setting)
        columns = [
            k
            for k, parameter in enumerate(feasible.parameters)
            if parameter.count is None and not feasible.rows.are_pinned(row[None], k)[0]
        ]
        if not columns:
            return []
        start = self.constrained.box.encode([setting])[0]
        end = self._find_top(start, columns)
        for part in _PARTS_OF_THE_WAY:
            there = self.constrained.box.decode((start + part * (end - start))[None], self.constrained.space)[0]
            repaired = feasible.repair_setting(there)
            if repaired is not None:
                return [repaired]
        return []

    def _find_top(self, start: Float[Tensor, " k"], columns: list[int]) -> Float[Tensor, " k"]:
        def evaluate_negative_acquisition(point: Float64[np.ndarray, " c"]) -> tuple[float, Float64[np.ndarray, " c"]]:
            X = start.clone()
            X[columns] = torch.from_numpy(point)
            value, gradient = _evaluate_with_gradient(self.acquisition, X)
            return -value, -gradient[columns].numpy()

        low, high = (edge[columns].numpy() for edge in self.encoded_space.bounds)
        found = minimize(
            evaluate_negative_acquisition,
            start[columns].numpy().clip(low, high),
            jac=True,
            method="SLSQP",
            bounds=list(zip(low, high, strict=True)),
            constraints=self._make_scipy_constraints(start, columns),
            options={"maxiter": _CLIMBED, "ftol": 1e-10},
        )
        end = start.clone()
        if np.isfinite(found.x).all():
            end[columns] = torch.from_numpy(found.x.clip(low, high))
        return end

    def _make_scipy_constraints(self, start: Float[Tensor, " k"], columns: list[int]) -> list[Any]:
        """The linear constraints on these columns of an encoded setting, each divided by its range, for SciPy."""
        feasible = self.constrained.feasible
        axes = [self.constrained.box.axes[k] for k in columns]
        half = np.array([(axis.high - axis.low) / 2 for axis in axes])
        logarithmic = np.array([axis.log for axis in axes])
        setting = self.constrained.box.decode(start[None], self.constrained.space)[0]
        row = feasible.rows.encode_setting(setting)
        others = np.setdiff1d(np.arange(len(row)), columns)
        matrix = feasible.rows.matrix
        size = np.abs(matrix[:, columns] * half).max(1, initial=0.0)
        matrix, size, edges = matrix[size > 0], size[size > 0, None], feasible.rows.edges[:, size > 0]
        mine, rest = matrix[:, columns] / size, matrix[:, others] @ row[others]
        low, high = (edges - rest) / size.T

        def decode(point: Float64[np.ndarray, " c"]) -> Float64[np.ndarray, " c"]:
            return np.array([axis.decode(float(code)) for axis, code in zip(axes, point, strict=True)])

        # SciPy wants equalities apart from inequalities.
        return [
            NonlinearConstraint(
                lambda point, rows=mine[some]: rows @ decode(point),
                low[some],
                high[some],
                jac=lambda point, rows=mine[some]: rows * half * np.where(logarithmic, decode(point), 1.0),
            )
            for some in (low == high, low != high)
            if some.any()
        ]


def _evaluate_with_gradient(
    acquisition: AcquisitionFunction, X: Float[Tensor, " k"]
) -> tuple[float, Float[Tensor, " k"]]:
    if isinstance(acquisition, ClosedFormAcquisition):
        values, gradients = acquisition.evaluate_with_gradients(X[None])
        return float(values[0]), gradients[0]
    X = X.detach().clone().requires_grad_()
    value = acquisition(X[None, None]).sum()
    (gradient,) = torch.autograd.grad(value, X)
    return float(value.detach()), gradient.nan_to_num()


_RESTARTS = 8
_RAW_SAMPLES = 256
_MOST_VALUES = 1_000  # of a discrete parameter, that are tried one by one
_MOST_STEPS = 2000
_TRIES = 4  # with more raw samples each, before a flat acquisition function is taken for one


def maximize(
    acquisition: AcquisitionFunction,
    encoded_space: EncodedSpace,
    avoid: Float[Tensor, "n k"],
    seed: int,
    choices: Float[Tensor, "c k"] | None = None,
    pending: Float[Tensor, "p k"] | None = None,
) -> Float[Tensor, " k"]:
    """Maximise an acquisition function, if possible at a setting that is neither known nor near a pending one.

    Known settings are those to avoid. Near means within 1 % of every parameter's range. The search is over the given
    choices; or exhaustive, if the space has up to 10,000 settings; or a local search, if it has more; or multi-start
    gradient ascent, in turns with local search if some parameters are discrete. With constraints, see
    `maximize_feasible`.

    Args:
        acquisition: The acquisition function.
        encoded_space: The allowed settings.
        avoid: Encoded settings that are known.
        seed: The seed of the starting points.
        choices: Encoded settings to choose from; the whole space, when left out.
        pending: Encoded pending settings.
    """
    choices = encoded_space.list_settings() if choices is None else choices
    pending = avoid[:0] if pending is None else pending
    prefer = partial(mask_preferred, encoded_space=encoded_space, avoid=avoid, pending=pending)
    by_hand = isinstance(acquisition, ClosedFormAcquisition)
    if choices is not None:
        search = partial(_choose_best, choices=choices, prefer=prefer)
    elif encoded_space.constrained is not None:
        search = partial(maximize_feasible, encoded_space=encoded_space, prefer=prefer, seed=seed)
    elif by_hand and not encoded_space.discrete:
        search = partial(_climb_with_gradients, encoded_space=encoded_space, seed=seed, pending=pending)
    else:
        by_hand = False
        search = partial(_search_with_botorch, encoded_space=encoded_space, avoid=avoid, pending=pending)
    if by_hand:  # neither process-wide settings nor BoTorch's random numbers: any number of threads at once
        return search(acquisition)
    with silence_warnings(ENDED_EARLY, NEGATIVE_VARIANCE), OwnGenerator(seed):
        return search(acquisition)


def _choose_best(
    acquisition: AcquisitionFunction, choices: Float[Tensor, "c k"], prefer: Prefer
) -> Float[Tensor, " k"]:
    """The preferred choice with the largest acquisition value."""
    choices = choices[prefer(choices)]
    return choices[int(evaluate_acquisition(acquisition, choices[:, None]).argmax())]


def _search_with_botorch(
    acquisition: AcquisitionFunction,
    encoded_space: EncodedSpace,
    avoid: Float[Tensor, "n k"],
    pending: Float[Tensor, "p k"],
) -> Float[Tensor, " k"]:
    """Maximise with BoTorch's routines, in a space with continuous parameters or with too many settings to list."""
    fixed, at_once = encoded_space.fixed or None, get_batch_size(acquisition)
    if encoded_space.lists is not None:
        found, _ = optimize_acqf_discrete_local_search(
            acquisition, encoded_space.lists, q=1, num_restarts=_RESTARTS, raw_samples=_RAW_SAMPLES, X_avoid=avoid
        )
    elif not encoded_space.discrete:
        ends, values = optimize_acqf(
            acquisition, encoded_space.bounds, q=1, num_restarts=_RESTARTS, raw_samples=_RAW_SAMPLES,
            fixed_features=fixed, options={"batch_limit": _RESTARTS, "init_batch_limit": at_once},
            return_best_only=False,
        )  # fmt: skip
        assert values is not None  # None is for sequential optimisation of several points
        return _choose_best_apart(ends.squeeze(-2), values, pending, encoded_space)
    else:
        found, _ = optimize_acqf_mixed_alternating(
            acquisition,
            encoded_space.bounds,
            discrete_dims=encoded_space.values,
            cat_dims=encoded_space.categories,
            fixed_features=fixed,
            num_restarts=_RESTARTS,
            raw_samples=_RAW_SAMPLES,
            options={
                "init_batch_limit": at_once,
                "max_discrete_values": _MOST_VALUES,
                "maxiter_alternating": 16,
            },
        )
    return found[0]


def _climb_with_gradients(
    acquisition: ClosedFormAcquisition, encoded_space: EncodedSpace, seed: int, pending: Float[Tensor, "p k"]
) -> Float[Tensor, " k"]:
    """Maximise as `optimize_acqf` does, with the same starts and algorithm, but with analytic gradients."""

    def evaluate_negative_acquisition(
        X: Float64[np.ndarray, "b k"],
    ) -> tuple[Float64[np.ndarray, " b"], Float64[np.ndarray, "b k"]]:
        values, gradients = acquisition.evaluate_with_gradients(torch.from_numpy(X))
        return -values.numpy(), -gradients.numpy()

    starts = _draw_starts(acquisition, encoded_space, seed).squeeze(-2).numpy()
    ends, values, _ = fmin_l_bfgs_b_batched(  # type: ignore[no-untyped-call]  # BoTorch has no types for it
        evaluate_negative_acquisition, starts, encoded_space.bounds.T.tolist(), maxiter=_MOST_STEPS
    )
    low, high = encoded_space.bounds
    return _choose_best_apart(torch.from_numpy(ends).clamp(low, high), -torch.as_tensor(values), pending, encoded_space)


def _choose_best_apart(
    found: Float[Tensor, "r k"], values: Float[Tensor, " r"], pending: Float[Tensor, "p k"], encoded_space: EncodedSpace
) -> Float[Tensor, " k"]:
    """Of several maxima the largest one that is not near a pending setting; if all are near one, the largest."""
    values = values.nan_to_num(nan=-torch.inf, neginf=-torch.inf)
    near = is_near(found, pending, encoded_space)
    return found[int((values if near.all() else values.masked_fill(near, -torch.inf)).argmax())]


def _draw_starts(acquisition: AcquisitionFunction, encoded_space: EncodedSpace, seed: int) -> Float[Tensor, "r 1 k"]:
    """Draw what BoTorch's `gen_batch_initial_conditions` draws with this seed, without changing warning filters."""
    with OwnGenerator(seed):
        for factor in range(1, _TRIES + 1):
            samples = draw_sobol_samples(encoded_space.bounds, n=_RAW_SAMPLES * factor, q=1)
            for column, code in encoded_space.fixed.items():
                samples[..., column] = code
            values = evaluate_acquisition(acquisition, samples)
            if values.std() != 0:
                return initialize_q_batch(samples, values, _RESTARTS)[0]
        return samples[torch.randperm(len(samples))[:_RESTARTS]]
