"""Which old rows carry what was learnt: by how much it would change without each of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.machines.fit import AlphaFit, Fit
from tunedprior.numerics.linalg import cholesky
from tunedprior.problem.box import Box
from tunedprior.problem.space import Setting

#: The place of a setting that is no old row, but one of those that stand for rows that were left out.
WITHHELD = ""


@dataclass(frozen=True, eq=False)
class InfluentialRow:
    """One old setting that was learnt from.

    Attributes:
        number: Its position among the settings that were learnt from, from 0.
        setting: It, in the user's units.
        response: What was measured there, in the old response's units; the mean of repeated measurements.
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
    middle: float,
    unit: float,
    reach: float = 1.0,
    by_ridge: bool = True,
) -> list[InfluentialRow]:
    """The old settings of fits with an α for each, with the influence of each, the largest first.

    Without row j ridge regression has α - α_j M_j/M_jj instead of α, where M = (K_A + λI)⁻¹; responses are Kα + λα.
    Of other machines the influence is the size of α_j K₂(a_j, x), the row's own part, and of the response no more is
    known than the sign of α_j. Empty where there are no coefficients for rows.

    Args:
        fits: Fits and the weight of each; those with the anchors of the last one count.
        sample: Kernel inputs over which changes are averaged.
        box: The map from settings to kernel inputs.
        middle: What was subtracted from the responses.
        unit: What they were then divided by.
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
            if not isinstance(fit, AlphaFit) or not _are_equal(fit.anchors, last.anchors):
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
    settings = decode_settings(last.anchors / reach, box)
    return [
        InfluentialRow(row, settings[row], middle + unit * float(response[row]), unit * float(influence[row]))
        for row in order
    ]


def are_withheld(places: Sequence[str]) -> bool:
    """Whether the settings are no old rows, but stand for rows that were left out."""
    return len(places) > 0 and all(place == WITHHELD for place in places)


def _are_equal(one: Float[Tensor, "a d"], other: Float[Tensor, "b d"]) -> bool:
    return one.shape == other.shape and bool((one == other).all())


def decode_settings(inputs: Float[Tensor, "n d"], box: Box) -> list[Setting]:
    """The settings that kernel inputs in [-1, 1] stand for, in the user's units and rounded as people write them."""
    found = []
    for row in inputs.tolist():
        setting: Setting = {}
        first = 0
        for axis in box.axes:
            own = row[first : first + axis.width]
            first += axis.width
            setting[axis.name] = _decode_value(axis.choices, own, axis.decode(own[0]) if own else axis.decode(0.0))
        found.append(setting)
    return found


def _decode_value(choices: tuple[Any, ...] | None, own: Sequence[float], number: float) -> Any:
    if choices is not None:
        return choices[max(range(len(own)), key=own.__getitem__)] if own else choices[0]
    return float(f"{number:.9g}")
