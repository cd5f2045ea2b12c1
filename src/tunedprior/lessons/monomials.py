"""The paper's view of what was learnt: the features with the largest weights, in the columns' own names."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.kernels import FreeKernel
from tunedprior.kernels.features.certificate import has_features, select_relevant_features
from tunedprior.kernels.features.explicit import Features
from tunedprior.kernels.features.multi_index import list_multi_indices
from tunedprior.machines.fit import AlphaFit, Fit
from tunedprior.machines.streamed import FeatureFit
from tunedprior.problem.box import Box

# The share of the kernel's mean variance that features left out may make up.
_TOLERANCE = 1e-2
# Where too many features would be needed: all up to a degree, as many as this.
_MOST, _HIGHEST_DEGREE = 5000, 4
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
#: The feature without any input: the level.
LEVEL = "(level)"


class Monomial(NamedTuple):
    """One feature: its name, the weight ŵ learnt for it, and its share of the re-weighted kernel's variance."""

    name: str
    weight: float
    share: float


def rank_monomials(fit: Fit, box: Box, reach: float = 1.0) -> list[Monomial]:
    """The features of a fit by their share of Σ_i ŵ_i² ϑ_i², on average over the box, the largest first.

    ŵ_i² is the prior variance that the Theorem gives the coefficient of the feature ϑ_i. Features that are
    the same for every setting, such as odd powers of a category's inputs, which are ±1, count as one. Empty for kernels
    without explicit features.
    """
    kernel = fit.kernel
    if not isinstance(kernel, FreeKernel) or not has_features(kernel):
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
    """The multi-indices of the features that matter, and ŵ_i for each."""
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
    degree, found = 1, list_multi_indices(num_inputs, 1)
    while degree < _HIGHEST_DEGREE and len(more := list_multi_indices(num_inputs, degree + 1)) <= _MOST:
        degree, found = degree + 1, more
    return found


def _format_factors(index: Sequence[int], box: Box) -> tuple[str, ...]:
    """The factors of a monomial, such as "speed" and "conc²".

    The product of a category's inputs for some of its choices is ±1, and says whether it is one of these; all other
    choices say the same.
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
