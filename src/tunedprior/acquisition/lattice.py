"""The search space as bounds and lists of codes."""

from dataclasses import dataclass

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.problem.box import Box
from tunedprior.problem.feasible_settings import FeasibleSettings
from tunedprior.problem.parameters import Categorical
from tunedprior.problem.space import Space

_LISTED = 1_000  # a parameter with more values than this is treated as continuous, then rounded
_ENUMERATED = 10_000


@dataclass(frozen=True)
class ConstrainedSpace:
    """What a search needs to know of a space with constraints.

    Attributes:
        space: It.
        feasible: Its settings that satisfy them.
        box: What its settings have codes in.
        every: The codes of all settings that satisfy the constraints, if there are not too many.
    """

    space: Space
    feasible: FeasibleSettings
    box: Box
    every: Float[Tensor, "n k"] | None

    @classmethod
    def from_space(cls, space: Space, box: Box) -> "ConstrainedSpace | None":
        """For this space in this box; None if it has no constraints."""
        if space.feasible is None:
            return None
        few = space.feasible.all_rows is not None and len(space.feasible.all_rows) <= _ENUMERATED
        return cls(space, space.feasible, box, box.encode(space.list_settings()) if few else None)


@dataclass(frozen=True)
class EncodedSpace:
    """The allowed codes: bounds for every parameter, the list of values for those that have one, and constraints."""

    bounds: Float[Tensor, "2 k"]
    values: dict[int, list[float]]
    categories: dict[int, list[float]]
    fixed: dict[int, float]
    constrained: "ConstrainedSpace | None" = None

    @classmethod
    def from_space(cls, space: Space, box: Box) -> "EncodedSpace":
        """The space's allowed values as codes."""
        bounds, values, categories, fixed = [], {}, {}, {}
        for column, parameter in enumerate(space.parameters):
            listed = parameter.count is not None and parameter.count <= _LISTED
            if isinstance(parameter, Categorical):
                allowed = [float(code) for code in range(parameter.count)]
            else:
                ends = parameter.list_values() if listed else [parameter.low, parameter.high]
                allowed = sorted(box.axes[column].encode(pd.Series(ends, dtype=float)).tolist())
            bounds.append((allowed[0], allowed[-1]))
            if parameter.count == 1:
                fixed[column] = allowed[0]
            elif isinstance(parameter, Categorical):
                categories[column] = allowed
            elif listed:
                values[column] = allowed
        edges = torch.tensor(bounds, dtype=torch.float64).T
        return cls(edges, values, categories, fixed, ConstrainedSpace.from_space(space, box))

    @property
    def discrete(self) -> dict[int, list[float]]:
        """Every parameter that has a list of values to choose from."""
        return self.values | self.categories

    def list_settings(self) -> Float[Tensor, "n k"] | None:
        """All settings, if there are not too many."""
        if self.constrained is not None:
            return self.constrained.every
        lists = self.list_values()
        if lists is None or torch.tensor([len(codes) for codes in lists], dtype=torch.float64).prod() > _ENUMERATED:
            return None
        return torch.cartesian_prod(*lists).reshape(-1, len(lists))

    def list_values(self) -> list[Float[Tensor, " v"]] | None:
        """The values of each parameter; None if one has no list of them."""
        each = self.discrete | {column: [code] for column, code in self.fixed.items()}
        if len(each) < self.bounds.shape[1]:
            return None
        return [torch.tensor(each[column], dtype=torch.float64) for column in range(len(each))]
