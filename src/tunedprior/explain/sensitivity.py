"""Sensitivity analysis: Sobol indices of a function over a search space or a box.

They are computed by their definition, from the function along each input at many settings.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.space.encoding import Axis, Box, decode_value
from tunedprior.space.parameters import Categorical, Numeric, Parameter
from tunedprior.space.search_space import Space

# Settings that stand for all, of up to so many inputs and of more; with constraints each is used only once.
_SETTINGS, _FEW_INPUTS, _SETTINGS_OF_MANY, _BOUND_SETTINGS = 256, 4, 128, 1024
# Values of an input at which it is looked at; grids and levels of up to `_MOST_VALUES` are taken whole.
_NODES = 11
_MOST_VALUES = 24
# Spaces of up to so many settings are taken whole.
_MOST_SETTINGS = 512


@dataclass(frozen=True, eq=False)
class Side:
    """One input that varies.

    Attributes:
        name: The parameter's name.
        column: Its column in encoded settings.
        grid: The encoded values at which the function is evaluated.
        weights: The share of all settings that each of these values stands for.
        values: The same values, in the user's units.
        is_category: Whether it is a category, whose values have no order.
    """

    name: str
    column: int
    grid: Float[Tensor, " q"]
    weights: Float[Tensor, " q"]
    values: tuple[Any, ...]
    is_category: bool


@dataclass(frozen=True, eq=False)
class Domain:
    """The inputs that vary, and a sample of settings.

    Attributes:
        sides: The inputs that vary.
        sample: Encoded settings spread over the domain.
        is_bound: Whether constraints link inputs, so that none can be changed while all others stay.
        is_whole: Whether the sample is every setting there is.
    """

    sides: tuple[Side, ...]
    sample: Float[Tensor, "n k"]
    is_bound: bool = False
    is_whole: bool = False

    @classmethod
    def from_space(cls, space: Space, box: Box) -> "Domain":
        """The domain of all allowed settings, with each value of a parameter equally likely."""
        if space.feasible is not None:
            return cls._from_constrained_space(space, box)
        sides = [
            _make_side(parameter, axis, column)
            for column, (parameter, axis) in enumerate(zip(space.parameters, box.axes, strict=True))
            if axis.width > 0 and parameter.count != 1
        ]
        if space.size is not None and space.size <= _MOST_SETTINGS:
            return cls(tuple(sides), box.encode(space.list_settings()), is_whole=True)
        sobol = torch.quasirandom.SobolEngine(len(box.axes), scramble=True, seed=0)
        shares = sobol.draw(_SETTINGS if len(box.axes) <= _FEW_INPUTS else _SETTINGS_OF_MANY, dtype=torch.float64)
        columns = [
            _encode_values(axis, [parameter.compute_quantile(u) for u in share])
            for parameter, axis, share in zip(space.parameters, box.axes, shares.T.tolist(), strict=True)
        ]
        return cls(tuple(sides), torch.stack(columns, dim=1))

    @classmethod
    def from_box(cls, box: Box) -> "Domain":
        """The domain of the whole box, uniform on the scale of each side."""
        parameters = tuple(
            Numeric(axis.name, axis.decode(-1.0), axis.decode(1.0), log=axis.log)
            if axis.choices is None
            else Categorical(axis.name, axis.choices)
            for axis in box.axes
        )
        return cls.from_space(Space(parameters), box)

    @classmethod
    def _from_constrained_space(cls, space: Space, box: Box) -> "Domain":
        assert space.feasible is not None
        rows = space.feasible.all_rows
        if rows is None:
            rows = space.feasible.draw_rows(_BOUND_SETTINGS, 0)
        if len(rows) > 2 * _BOUND_SETTINGS:
            rows = rows[np.random.default_rng(0).permutation(len(rows))[:_BOUND_SETTINGS]]
        settings = space.feasible.decode_rows(rows)
        sample, sides = box.encode(settings), []
        for column, (parameter, axis) in enumerate(zip(space.parameters, box.axes, strict=True)):
            met, counts = sample[:, column].unique(return_counts=True)
            if axis.width == 0 or len(met) < 2:
                continue
            if len(met) > _MOST_VALUES:  # a continuum: as many settings between one value and the next
                met = sample[:, column].quantile(torch.linspace(0, 1, _NODES, dtype=torch.float64)).unique()
                counts = torch.ones(len(met))
            values = tuple(decode_value(parameter, axis, code) for code in met.tolist())
            weights = counts.double() / counts.sum()
            sides.append(Side(axis.name, column, met, weights, values, axis.choices is not None))
        return cls(tuple(sides), sample, is_bound=True)


def _make_side(parameter: Parameter, axis: Axis, column: int) -> Side:
    """The grid of values of one parameter that varies."""
    count = parameter.count
    if count is not None and (count <= _MOST_VALUES or isinstance(parameter, Categorical)):
        values = parameter.list_values()
        weights = torch.full((len(values),), 1 / len(values), dtype=torch.float64)
    else:
        shares, weights = compute_clenshaw_curtis(_NODES)
        values = [parameter.compute_quantile(float(share)) for share in shares]
    grid = _encode_values(axis, values)
    return Side(axis.name, column, grid, weights, tuple(values), isinstance(parameter, Categorical))


def compute_clenshaw_curtis(count: int) -> tuple[Float[Tensor, " q"], Float[Tensor, " q"]]:
    """Nodes in [0, 1], its ends among them, and weights that integrate polynomials of degree count - 1 exactly.

    >>> nodes, weights = compute_clenshaw_curtis(5)
    >>> round(float(weights @ nodes**4), 12)
    0.2
    """
    nodes = -torch.cos(torch.pi * torch.arange(count, dtype=torch.float64) / (count - 1))
    powers = torch.arange(count, dtype=torch.float64)
    chebyshev = torch.cos(powers[:, None] * torch.arccos(nodes.clamp(-1, 1)))
    integrals = torch.where(powers % 2 == 0, 2 / (1 - powers**2), torch.zeros_like(powers))
    return (nodes + 1) / 2, torch.linalg.solve(chebyshev, integrals) / 2


def _encode_values(axis: Axis, values: Sequence[Any]) -> Float[Tensor, " n"]:
    column = pd.Series(values, dtype=object if axis.choices is not None else np.float64)
    return torch.as_tensor(axis.encode(column))


#: A function of encoded settings.
Function = Callable[[Float[Tensor, "n k"]], Float[Tensor, " n"]]

_AT_ONCE = 4096  # settings
_HIGHEST_POWER = 6  # of polynomials in an input, where its part in an interaction is looked for
# Of two inputs that are bound: their products have so many powers each.
_HIGHEST_OF_PAIRS = 3
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The shares of a function's variance over a domain that its inputs explain.

    Attributes:
        domain: The domain.
        mean: The function's mean.
        variance: Its variance.
        first: var E[f | x_i] / var f for each side: first-order Sobol indices. Where constraints link inputs, with all
            that varies along with the input.
        total: E var[f | all but x_i] / var f for each side: total Sobol indices; NaN where inputs are linked, as an
            input that others determine would always get 0.
        pairs: Second-order Sobol indices: the share of the variance that inputs i and j explain together and neither
            explains by itself.
        curves: E[f | x_i] on the grid of each side.
    """

    domain: Domain
    mean: float
    variance: float
    first: Float[Tensor, " s"]
    total: Float[Tensor, " s"]
    pairs: Float[Tensor, "s s"]
    curves: tuple[Float[Tensor, " q"], ...]


def compute_sensitivity(function: Function, domain: Domain) -> Sensitivity:
    """Compute the Sobol indices of a function over a domain.

    Each input takes all its values at each setting of a sample, with all others unchanged. Means and variances along
    these curves are the conditional means and variances of the definition. An interaction of i and j is the part of the
    curves of i, less their mean and their level, that x_j explains.
    """
    if domain.is_bound:
        return _compute_bound_sensitivity(function, domain)
    sides, sample = domain.sides, domain.sample
    count = len(sides)
    if count == 0:
        nothing = torch.zeros(0, dtype=torch.float64)
        return Sensitivity(
            domain, float(_evaluate_in_batches(function, sample[:1])), 0.0, nothing, nothing, nothing[:, None], ()
        )
    tables = [_evaluate_along_side(function, sample, side) for side in sides]
    means = torch.stack([(table @ side.weights).mean() for table, side in zip(tables, sides, strict=True)])
    squares = [
        ((table - mean).square() @ side.weights).mean() for table, mean, side in zip(tables, means, sides, strict=True)
    ]
    variance = float(torch.stack(squares).mean())
    curves = tuple(table.mean(0) for table in tables)
    pairs = torch.zeros(count, count, dtype=torch.float64)
    first, total = torch.zeros(count, dtype=torch.float64), torch.zeros(count, dtype=torch.float64)
    whole = domain.is_whole
    bases = [_build_basis(side, sample[:, side.column], len(sample) if whole else _HIGHEST_POWER) for side in sides]
    for i, (side, table, curve) in enumerate(zip(sides, tables, curves, strict=True)):
        level = table @ side.weights
        first[i] = side.weights @ (curve - side.weights @ curve).square()
        total[i] = ((table - level[:, None]).square() @ side.weights).mean()
        together = table - level[:, None] - curve + side.weights @ curve
        for j in range(count):
            if j != i:
                pairs[i, j] = side.weights @ _compute_explained_variance(bases[j], together, by_chance=not whole)
    if _is_flat(variance, float(means.mean())):
        return Sensitivity(domain, float(means.mean()), 0.0, 0 * first, 0 * total, 0 * pairs, curves)
    first, total, pairs = first / variance, total / variance, (pairs + pairs.T) / (2 * variance)
    # By itself no input accounts for more than in all, and a pair for no more than what either does with others.
    total = torch.maximum(total, first).clamp(0.0, 1.0)
    most = (total - first).clamp_min(0.0)
    pairs = pairs.minimum(most[:, None]).minimum(most[None])
    return Sensitivity(domain, float(means.mean()), variance, first.clamp(0.0, 1.0), total, pairs, curves)


def _is_flat(variance: float, mean: float) -> bool:
    """Whether a function varies by no more than rounding."""
    return not variance > (_ROUNDING * mean) ** 2


def _evaluate_along_side(function: Function, sample: Float[Tensor, "n k"], side: Side) -> Float[Tensor, "n q"]:
    """f at each setting of the sample, with each grid value of one input."""
    moved = sample[:, None].repeat(1, len(side.grid), 1)
    moved[:, :, side.column] = side.grid
    found: Tensor = _evaluate_in_batches(function, moved.flatten(0, 1)).unflatten(0, (len(sample), len(side.grid)))
    return found


def _evaluate_in_batches(function: Function, X: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    with torch.no_grad():
        return torch.cat([function(some) for some in X.split(_AT_ONCE)])


def _build_basis(side: Side, x: Float[Tensor, " n"], highest: int) -> Float[Tensor, "n p"]:
    """Orthonormal functions of one input at settings, without the constant: powers, or one for each category."""
    if side.is_category or len(side.grid) <= highest + 1:
        columns = (x[:, None] - side.grid[1:]).abs() < 1e-9
        raw = columns.double()
    else:
        low, high = side.grid.min(), side.grid.max()
        scaled = (2 * x - low - high) / (high - low)
        raw = torch.stack([scaled**power for power in range(1, highest + 1)], dim=1)
    return _orthonormalise(raw)


def _orthonormalise(raw: Float[Tensor, "n p"]) -> Float[Tensor, "n q"]:
    """Orthonormal columns that span the centred columns."""
    left, sizes, _ = torch.linalg.svd(raw - raw.mean(0), full_matrices=False)
    found: Tensor = left[:, sizes > 1e-9 * sizes.max().clamp_min(1e-12)]
    return found


def _compute_explained_variance(
    basis: Float[Tensor, "n p"], values: Float[Tensor, "n q"], by_chance: bool = True
) -> Float[Tensor, " q"]:
    """The variance of each column that the basis explains; for a sample, less what it would explain by chance."""
    n, p = basis.shape
    found = (basis.mT @ values).square().sum(0) / n
    rest = values.var(0, correction=0) - found
    if not by_chance:
        return found
    real: Tensor = (found - p / max(1, n - p - 1) * rest).clamp_min(0.0)
    return real


def _compute_bound_sensitivity(function: Function, domain: Domain) -> Sensitivity:
    """Sobol indices with linked inputs: by regression of f on each input and each pair, over allowed settings."""
    sides, sample = domain.sides, domain.sample
    values, count = _evaluate_in_batches(function, sample), len(domain.sides)
    mean, variance = float(values.mean()), float(values.var(correction=0))
    centred = (values - mean)[:, None]
    first, pairs = torch.zeros(count, dtype=torch.float64), torch.zeros(count, count, dtype=torch.float64)
    curves, bases = [], []
    for i, side in enumerate(sides):
        basis = _build_basis(side, sample[:, side.column], _HIGHEST_POWER)
        first[i] = _compute_explained_variance(basis, centred)[0]
        curves.append(mean + _estimate_curve(side, sample[:, side.column], centred[:, 0]))
        bases.append(_build_basis(side, sample[:, side.column], _HIGHEST_OF_PAIRS))
    for i in range(count):
        for j in range(i):
            alone = _orthonormalise(torch.cat([bases[i], bases[j]], dim=1))
            products = (bases[i][:, :, None] * bases[j][:, None, :]).flatten(1)
            left = products - products.mean(0)
            left = left - alone @ (alone.mT @ left)
            pairs[i, j] = pairs[j, i] = _compute_explained_variance(
                _orthonormalise(left), centred - alone @ (alone.mT @ centred)
            )[0]
    total = torch.full_like(first, torch.nan)
    if _is_flat(variance, mean):
        return Sensitivity(domain, mean, 0.0, 0 * first, total, 0 * pairs, tuple(curves))
    return Sensitivity(
        domain, mean, variance, (first / variance).clamp_max(1.0), total, pairs / variance, tuple(curves)
    )


def _estimate_curve(side: Side, x: Float[Tensor, " n"], values: Float[Tensor, " n"]) -> Float[Tensor, " q"]:
    """E[f | x_i] on the grid of a side: the mean at each value, or a polynomial fitted to all settings."""
    if side.is_category or len(side.grid) <= _HIGHEST_POWER + 1:
        near = ((x[:, None] - side.grid).abs() < 1e-9).double()
        return (near.mT @ values) / near.sum(0).clamp_min(1.0)
    low, high = side.grid.min(), side.grid.max()
    power = torch.arange(_HIGHEST_POWER + 1, dtype=torch.float64)
    scaled = ((2 * one - low - high) / (high - low) for one in (x, side.grid))
    at_settings, at_nodes = (one[:, None] ** power for one in scaled)
    found: Tensor = at_nodes @ torch.linalg.lstsq(at_settings, values[:, None]).solution[:, 0]
    return found
