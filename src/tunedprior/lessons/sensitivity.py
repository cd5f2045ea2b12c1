"""Which inputs a function depends on: Sobol indices by their definition, from what one input does at many settings."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.lessons.domains import Domain, Side

#: A function of the codes of settings.
Function = Callable[[Float[Tensor, "n k"]], Float[Tensor, " n"]]

_AT_ONCE = 4096  # settings
_HIGHEST_POWER = 6  # of polynomials in an input, where its part in an interaction is looked for
# Of two inputs that are bound: their products have so many powers each.
_HIGHEST_OF_PAIRS = 3
_ROUNDING = 1e-12
_NOTHING = float("nan")


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """How much of a function's variance, over a domain, is due to which inputs.

    Attributes:
        domain: Where.
        mean: The function's mean.
        variance: Its variance.
        first: var E[f | x_i] / var f for each side: what input i accounts for by itself. Of inputs that constraints
            bind, with all that moves along with it.
        total: E var[f | all but x_i] / var f for each side: what it accounts for by itself and together with others;
            NaN where inputs are bound, as an input that others determine would always get 0.
        pairs: The share of the variance that inputs i and j account for together and neither does by itself.
        curves: E[f | x_i] at the values at which each side is looked at.
    """

    domain: Domain
    mean: float
    variance: float
    first: Float[Tensor, " s"]
    total: Float[Tensor, " s"]
    pairs: Float[Tensor, "s s"]
    curves: tuple[Float[Tensor, " q"], ...]


def compute_sensitivity(function: Function, domain: Domain) -> Sensitivity:
    """Sobol indices of a function over a domain.

    Each input takes all its values at each setting of a sample, all others as they are. Means and variances along these
    curves are the conditional means and variances of the definition. An interaction of i and j is the part of the
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
    """f at each setting of the sample, with each value of one input."""
    moved = sample[:, None].repeat(1, len(side.codes), 1)
    moved[:, :, side.column] = side.codes
    found: Tensor = _evaluate_in_batches(function, moved.flatten(0, 1)).unflatten(0, (len(sample), len(side.codes)))
    return found


def _evaluate_in_batches(function: Function, codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
    with torch.no_grad():
        return torch.cat([function(some) for some in codes.split(_AT_ONCE)])


def _build_basis(side: Side, codes: Float[Tensor, " n"], highest: int) -> Float[Tensor, "n p"]:
    """Functions of one input at settings, orthonormal, without the constant: powers, or one for each category."""
    if side.is_category or len(side.codes) <= highest + 1:
        columns = (codes[:, None] - side.codes[1:]).abs() < 1e-9
        raw = columns.double()
    else:
        low, high = side.codes.min(), side.codes.max()
        scaled = (2 * codes - low - high) / (high - low)
        raw = torch.stack([scaled**power for power in range(1, highest + 1)], dim=1)
    return _orthonormalise(raw)


def _orthonormalise(raw: Float[Tensor, "n p"]) -> Float[Tensor, "n q"]:
    """Orthonormal columns that span the same as these, less their means."""
    left, sizes, _ = torch.linalg.svd(raw - raw.mean(0), full_matrices=False)
    found: Tensor = left[:, sizes > 1e-9 * sizes.max().clamp_min(1e-12)]
    return found


def _compute_explained_variance(
    basis: Float[Tensor, "n p"], values: Float[Tensor, "n q"], by_chance: bool = True
) -> Float[Tensor, " q"]:
    """The variance of each column that the basis explains; in a sample, less what it would explain by chance."""
    n, p = basis.shape
    found = (basis.mT @ values).square().sum(0) / n
    rest = values.var(0, correction=0) - found
    if not by_chance:
        return found
    real: Tensor = (found - p / max(1, n - p - 1) * rest).clamp_min(0.0)
    return real


def _compute_bound_sensitivity(function: Function, domain: Domain) -> Sensitivity:
    """The same where no input moves alone: by regression of f on each input, and on pairs, over allowed settings."""
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
    total = torch.full_like(first, _NOTHING)
    if _is_flat(variance, mean):
        return Sensitivity(domain, mean, 0.0, 0 * first, total, 0 * pairs, tuple(curves))
    return Sensitivity(
        domain, mean, variance, (first / variance).clamp_max(1.0), total, pairs / variance, tuple(curves)
    )


def _estimate_curve(side: Side, codes: Float[Tensor, " n"], values: Float[Tensor, " n"]) -> Float[Tensor, " q"]:
    """E[f | x_i] at the values at which a side is looked at: means at each, or a polynomial through all settings."""
    if side.is_category or len(side.codes) <= _HIGHEST_POWER + 1:
        near = ((codes[:, None] - side.codes).abs() < 1e-9).double()
        return (near.mT @ values) / near.sum(0).clamp_min(1.0)
    low, high = side.codes.min(), side.codes.max()
    power = torch.arange(_HIGHEST_POWER + 1, dtype=torch.float64)
    scaled = ((2 * one - low - high) / (high - low) for one in (codes, side.codes))
    at_settings, at_nodes = (one[:, None] ** power for one in scaled)
    found: Tensor = at_nodes @ torch.linalg.lstsq(at_settings, values[:, None]).solution[:, 0]
    return found
