"""The search space for the optimiser of acquisition functions: bounds, lists of values and constraints."""

from dataclasses import dataclass
from math import prod

import pandas as pd
import torch
from botorch.acquisition import AcquisitionFunction, AnalyticAcquisitionFunction
from jaxtyping import Bool, Float
from torch import Tensor

from tunedprior.acquisition.closed_form import ClosedFormAcquisition
from tunedprior.space.encoding import Box
from tunedprior.space.feasibility import FeasibleSettings
from tunedprior.space.parameters import Categorical
from tunedprior.space.search_space import Space

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
