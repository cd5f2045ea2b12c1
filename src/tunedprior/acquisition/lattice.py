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
class Constrained:
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
    def of(cls, space: Space, box: Box) -> "Constrained | None":
        """For this space in this box; None if it has no constraints."""
        if space.feasible is None:
            return None
        few = space.feasible.listed is not None and len(space.feasible.listed) <= _ENUMERATED
        return cls(space, space.feasible, box, box.codes(space.every_setting()) if few else None)


@dataclass(frozen=True)
class Lattice:
    """The allowed codes: bounds for every parameter, the list of values for those that have one, and constraints."""

    bounds: Float[Tensor, "2 k"]
    values: dict[int, list[float]]
    categories: dict[int, list[float]]
    fixed: dict[int, float]
    constrained: "Constrained | None" = None

    @classmethod
    def of(cls, space: Space, box: Box) -> "Lattice":
        """The space's allowed values as codes."""
        bounds, values, categories, fixed = [], {}, {}, {}
        for column, parameter in enumerate(space.parameters):
            listed = parameter.count is not None and parameter.count <= _LISTED
            if isinstance(parameter, Categorical):
                allowed = [float(code) for code in range(parameter.count)]
            else:
                ends = parameter.values() if listed else [parameter.low, parameter.high]
                allowed = sorted(box.axes[column].codes(pd.Series(ends, dtype=float)).tolist())
            bounds.append((allowed[0], allowed[-1]))
            if parameter.count == 1:
                fixed[column] = allowed[0]
            elif isinstance(parameter, Categorical):
                categories[column] = allowed
            elif listed:
                values[column] = allowed
        edges = torch.tensor(bounds, dtype=torch.float64).T
        return cls(edges, values, categories, fixed, Constrained.of(space, box))

    @property
    def discrete(self) -> dict[int, list[float]]:
        """Every parameter that has a list of values to choose from."""
        return self.values | self.categories

    def every(self) -> Float[Tensor, "n k"] | None:
        """All settings, if there are not too many."""
        if self.constrained is not None:
            return self.constrained.every
        lists = self.lists()
        if lists is None or torch.tensor([len(codes) for codes in lists], dtype=torch.float64).prod() > _ENUMERATED:
            return None
        return torch.cartesian_prod(*lists).reshape(-1, len(lists))

    def lists(self) -> list[Float[Tensor, " v"]] | None:
        """The values of each parameter; None if one has no list of them."""
        each = self.discrete | {column: [code] for column, code in self.fixed.items()}
        if len(each) < self.bounds.shape[1]:
            return None
        return [torch.tensor(each[column], dtype=torch.float64) for column in range(len(each))]
