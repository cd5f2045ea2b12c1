"""The features with the largest weights, and the influence of each old row on what was learnt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.kernels import FreeKernel
from tunedprior.kernels.explicit_features import Features, has_features, select_relevant_features
from tunedprior.kernels.free_kernel import list_multi_indices
from tunedprior.machines.feature_ridge import FeatureFit
from tunedprior.machines.machine import AlphaFit, Fit
from tunedprior.numerics.linalg import cholesky
from tunedprior.space.encoding import Axis, Box
from tunedprior.space.search_space import Setting

# The share of the kernel's mean variance that features left out may make up.
_TOLERANCE = 1e-2
# Where too many features would be needed: all up to a degree, as many as this.
_MOST, _HIGHEST_DEGREE = 5000, 4
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
#: The feature without any input: the level.
LEVEL = "(level)"


class Monomial(NamedTuple):
    """One feature: its name, its learnt weight ŵ, and its share of the re-weighted kernel's variance."""

    name: str
    weight: float
    share: float


def rank_monomials(fit: Fit, box: Box, reach: float = 1.0) -> list[Monomial]:
    """Rank the features of a fit by their share of Σ_i ŵ_i² ϑ_i², on average over the box, largest first.

    ŵ_i² is the prior variance that the Theorem gives the coefficient of the feature ϑ_i. Features that are equal at
    every setting, such as odd powers of a category's inputs, which are ±1, count as one. Empty for kernels without
    explicit features.
    """
    kernel = fit.kernel
    if not isinstance(kernel, FreeKernel) or not has_features(kernel) or kernel.features_are_places:
        return []
    found = _compute_weights(fit, kernel)
    if found is None:
        return []
    indices, weights = found
    far = torch.full((indices.shape[1],), reach, dtype=torch.float64)
    logs = kernel.compute_log_mean_squares(int(indices.max()), far)
    sizes = weights.square() * logs[torch.arange(len(far)), indices].sum(-1).exp()
    whole = float(sizes.sum())
    if not whole > 0:
        return []
    merged: dict[tuple[str, ...], tuple[float, float, float]] = {}
    for index, weight, size in zip(indices.tolist(), weights.tolist(), sizes.tolist(), strict=True):
        name = _format_factors(index, box)
        share, strongest, of_it = merged.get(name, (0.0, 0.0, -1.0))
        merged[name] = (share + size, *((weight, size) if size > of_it else (strongest, of_it)))
    ordered = sorted(merged.items(), key=lambda item: -item[1][0])
    return [Monomial("·".join(name) or LEVEL, weight, share / whole) for name, (share, weight, _) in ordered]


def _compute_weights(fit: Fit, kernel: FreeKernel) -> tuple[Int[Tensor, "p d"], Float[Tensor, " p"]] | None:
    """The multi-indices of the features that matter, and ŵ_i of each."""
    if isinstance(fit, FeatureFit):
        return fit.feature_map.features.indices, fit.weights.double()
    if not isinstance(fit, AlphaFit):
        return None
    anchors, alpha = fit.anchors.double(), fit.alpha.double()
    with torch.no_grad():
        product = kernel.make_product(anchors)
        found = select_relevant_features(kernel, product, alpha[None], False, 0.0, _TOLERANCE)
        indices = _list_low_degrees(anchors.shape[1]) if found is None or len(found.indices) == 0 else found.indices
        features = Features(indices)
        phi = kernel.compute_weights_at(features.indices).to(anchors)[:, None] * features.evaluate_all(product)
    return features.indices, phi @ alpha


def _list_low_degrees(num_inputs: int) -> Int[Tensor, "p d"]:
    """The multi-indices of the powers up to the highest total degree of which there are not too many."""
    degree, found = 1, list_multi_indices(num_inputs, 1)
    while degree < _HIGHEST_DEGREE and len(more := list_multi_indices(num_inputs, degree + 1)) <= _MOST:
        degree, found = degree + 1, more
    return found


def _format_factors(index: Sequence[int], box: Box) -> tuple[str, ...]:
    """The factors of a monomial, such as "speed" and "conc²".

    The product of a category's inputs for some of its choices is ±1: it tells whether the category is one of these. All
    other choices tell the same.
    """
    found, first = [], 0
    for axis in box.axes:
        powers = index[first : first + axis.width]
        first += axis.width
        if axis.choices is None:
            name = f"(log {axis.name})" if axis.log else axis.name
            found += [name + (str(power).translate(_RAISED) if power > 1 else "") for power in powers if power]
            continue
        among = [choice for choice, power in zip(axis.choices, powers, strict=False) if power % 2]
        others = [choice for choice, power in zip(axis.choices, powers, strict=False) if not power % 2]
        if among and others:
            fewer = (
                among
                if (len(among), axis.choices[0] not in among) <= (len(others), axis.choices[0] in among)
                else others
            )
            found.append(f"[{axis.name} = {' or '.join(map(str, fewer))}]")
    return tuple(found)


#: The place of a setting that is no old row, but one of those that stand for rows that were left out.
WITHHELD = ""


@dataclass(frozen=True, eq=False)
class InfluentialRow:
    """One old setting that the fit was learnt from, with its influence.

    Attributes:
        number: Its position among the settings that were learnt from, from 0.
        setting: The setting, in the user's units.
        response: The measured response, in the old response's units; the mean of repeated measurements.
        influence: The root mean square, over the settings, of the change of ĝ if it were left out, in the same units.
    """

    number: int
    setting: Setting
    response: float
    influence: float


def rank_influential_rows(
    fits: Sequence[tuple[Fit, float]],
    sample: Float[Tensor, "n d"],
    box: Box,
    *,
    shift: float,
    unit: float,
    reach: float = 1.0,
    by_ridge: bool = True,
) -> list[InfluentialRow]:
    """Rank the old settings by their influence on fits that have an α for each, largest first.

    Without row j, ridge regression has α - α_j M_j/M_jj in place of α, where M = (K_A + λI)⁻¹; responses are Kα + λα.
    For other machines the influence is the size of α_j K₂(a_j, x), the row's own term, and only the sign of its
    response is known. Empty where there are no coefficients for rows.

    Args:
        fits: Fits with their weights; those with the same anchors as the last one count.
        sample: Kernel inputs over which changes are averaged.
        box: The map from settings to kernel inputs.
        shift: The number that was subtracted from the responses.
        unit: The number by which they were then divided.
        reach: The box is scaled onto [-reach, reach].
        by_ridge: Whether they are least-squares fits.
    """
    if not fits or not isinstance(fits[-1][0], AlphaFit):
        return []
    last = fits[-1][0]
    change = torch.zeros(len(sample), len(last.alpha), dtype=torch.float64)
    whole = 0.0
    with torch.no_grad():
        for fit, weight in fits:
            if not isinstance(fit, AlphaFit) or not torch.equal(fit.anchors, last.anchors):
                continue
            cross = fit.kernel(sample, fit.anchors).to_dense().double()
            whole += weight
            if not by_ridge:
                change += weight * cross * fit.alpha
                response = torch.where(fit.alpha == 0, torch.nan, fit.alpha.sign()).double()
                continue
            gram = fit.kernel(fit.anchors).to_dense().double()
            inverse = torch.cholesky_inverse(cholesky(gram + fit.lam * torch.eye(len(gram)).to(gram)))
            change += weight * (cross @ inverse) * (fit.alpha / inverse.diagonal())
            response = gram @ fit.alpha + fit.lam * fit.alpha + fit.bias
    influence = (change / whole).square().mean(0).sqrt()
    order = influence.argsort(descending=True, stable=True).tolist()
    settings = _decode_settings(last.anchors / reach, box)
    return [
        InfluentialRow(row, settings[row], shift + unit * float(response[row]), unit * float(influence[row]))
        for row in order
    ]


def are_withheld(places: Sequence[str]) -> bool:
    """Whether these are no old rows, because the prior was saved without its rows."""
    return len(places) > 0 and all(place == WITHHELD for place in places)


def _decode_settings(inputs: Float[Tensor, "n d"], box: Box) -> list[Setting]:
    """Decode kernel inputs in [-1, 1] into settings, in the user's units and rounded for reading."""
    found: list[Setting] = [{} for _ in inputs]
    for axis, columns in zip(box.axes, inputs.split([axis.width for axis in box.axes], dim=1), strict=True):
        for setting, codes in zip(found, columns.tolist(), strict=True):
            setting[axis.name] = _decode_value(axis, codes)
    return found


def _decode_value(axis: Axis, codes: list[float]) -> Any:
    """The value of a parameter by its kernel inputs, of which one that cannot vary has none."""
    if axis.choices is not None:
        return axis.choices[codes.index(max(codes))] if codes else axis.choices[0]
    return float(f"{axis.decode(codes[0] if codes else 0.0):.9g}")
