"""Acquisition functions at settings, and which of these are known or near one that is under way."""

import torch
from botorch.acquisition import AcquisitionFunction, AnalyticAcquisitionFunction
from jaxtyping import Bool, Float
from torch import Tensor

from tunedprior.acquisition.lattice import EncodedSpace
from tunedprior.average.acquisition import MixtureAcquisition

_SAME = 1e-9  # codes closer than this are the same setting
#: Settings of a batch differ by more than this share of the search space's range in some parameter.
APART = 0.01
# Acquisition functions that look at a mean and a variance; others may have samples or fantasies of every member.
_CHEAP = (AnalyticAcquisitionFunction, MixtureAcquisition)
_MANY, _FEW = 1024, 16


def get_batch_size(acquisition: AcquisitionFunction) -> int:
    """How many settings an acquisition function is given at a time."""
    return _MANY if isinstance(acquisition, _CHEAP) else _FEW


def mask_preferred(
    choices: Float[Tensor, "c k"], lattice: EncodedSpace, avoid: Float[Tensor, "n k"], pending: Float[Tensor, "p k"]
) -> Bool[Tensor, " c"]:
    """Which choices are neither known nor near a pending one; if none, those not known; if none, all."""
    fresh = ~is_among(choices, avoid)
    apart = fresh & ~is_near(choices, pending, lattice)
    return apart if apart.any() else fresh if fresh.any() else ~fresh


@torch.no_grad()
def evaluate_acquisition(acquisition: AcquisitionFunction, codes: Float[Tensor, "n 1 k"]) -> Float[Tensor, " n"]:
    """The acquisition function's values at settings, a few of them at a time."""
    return torch.cat([acquisition(some) for some in codes.split(get_batch_size(acquisition))])


def is_near(codes: Float[Tensor, "n k"], others: Float[Tensor, "m k"], lattice: EncodedSpace) -> Bool[Tensor, " n"]:
    """For each row of codes, whether it is within 1 % of every range (and has the same categories) as one of others."""
    low, high = lattice.bounds
    reach = APART * (high - low)
    reach[list(lattice.categories)] = 0.0
    near: Tensor = ((codes[:, None] - others).abs() <= reach + _SAME).all(-1).any(-1)
    return near


def is_among(codes: Float[Tensor, "n k"], others: Float[Tensor, "m k"]) -> Bool[Tensor, " n"]:
    """For each row of codes, whether it is among the others up to rounding."""
    return ((codes[:, None] - others).abs() <= _SAME).all(-1).any(-1)
