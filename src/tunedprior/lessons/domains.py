"""Where a function is looked at to say which inputs matter: the settings of a search space, or of a box."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.problem.box import Axis, Box
from tunedprior.problem.parameters import Categorical, Numeric, Parameter
from tunedprior.problem.space import Space

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
        column: Its number among the codes.
        codes: At which values it is looked at, as codes.
        weights: What share of all settings each of them stands for.
        values: The same values, as people write them.
        is_category: Whether it is a category, whose values have no order.
    """

    name: str
    column: int
    codes: Float[Tensor, " q"]
    weights: Float[Tensor, " q"]
    values: tuple[Any, ...]
    is_category: bool


@dataclass(frozen=True, eq=False)
class Domain:
    """The inputs that vary, and settings that stand for all.

    Attributes:
        sides: The inputs that vary.
        sample: Settings spread over the domain, as codes.
        is_bound: Whether constraints tie inputs to each other, so that none can be changed while all others stay.
        is_whole: Whether the sample is every setting there is.
    """

    sides: tuple[Side, ...]
    sample: Float[Tensor, "n k"]
    is_bound: bool = False
    is_whole: bool = False

    @classmethod
    def from_space(cls, space: Space, box: Box) -> "Domain":
        """All settings that the space allows, each value of a parameter as likely as any other."""
        if space.feasible is not None:
            return cls._from_constrained_space(space, box)
        sides = [
            side
            for column, (parameter, axis) in enumerate(zip(space.parameters, box.axes, strict=True))
            if (side := _make_side(parameter, axis, column)) is not None
        ]
        if space.size is not None and space.size <= _MOST_SETTINGS:
            return cls(tuple(sides), box.encode(space.list_settings()), is_whole=True)
        columns = []
        for parameter, axis, share in zip(space.parameters, box.axes, _draw_sobol(len(box.axes)).T, strict=True):
            columns.append(_encode_values(axis, [parameter.compute_quantile(float(u)) for u in share]))
        return cls(tuple(sides), torch.stack(columns, dim=1))

    @classmethod
    def from_box(cls, box: Box) -> "Domain":
        """The whole box, evenly on the scale of each of its sides."""
        parameters = [_make_parameter(axis) for axis in box.axes]
        return cls.from_space(Space(tuple(parameters)), box)

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
            values = tuple(_decode_value(axis, parameter, code) for code in met.tolist())
            weights = counts.double() / counts.sum()
            sides.append(Side(axis.name, column, met, weights, values, axis.choices is not None))
        return cls(tuple(sides), sample, is_bound=True)


def _make_side(parameter: Parameter, axis: Axis, column: int) -> Side | None:
    """How a parameter is looked at on its own; None if it cannot change."""
    count = parameter.count
    if axis.width == 0 or count == 1:
        return None
    if count is not None and (count <= _MOST_VALUES or isinstance(parameter, Categorical)):
        values = parameter.list_values()
        weights = torch.full((len(values),), 1 / len(values), dtype=torch.float64)
    else:
        shares, weights = compute_clenshaw_curtis(_NODES)
        values = [parameter.compute_quantile(float(share)) for share in shares]
    codes = _encode_values(axis, values)
    return Side(axis.name, column, codes, weights, tuple(values), isinstance(parameter, Categorical))


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


def _draw_sobol(num_parameters: int) -> Float[Tensor, "n g"]:
    sobol = torch.quasirandom.SobolEngine(num_parameters, scramble=True, seed=0)
    return sobol.draw(_SETTINGS if num_parameters <= _FEW_INPUTS else _SETTINGS_OF_MANY, dtype=torch.float64)


def _encode_values(axis: Axis, values: Sequence[Any]) -> Float[Tensor, " n"]:
    column = pd.Series(values, dtype=object if axis.choices is not None else np.float64)
    return torch.as_tensor(axis.encode(column))


def _decode_value(axis: Axis, parameter: Parameter, code: float) -> Any:
    if isinstance(parameter, Categorical):
        return parameter.choices[round(code)]
    return parameter.find_nearest_value(axis.decode(code))


def _make_parameter(axis: Axis) -> Parameter:
    """The parameter that may take every value of a side of the box."""
    if axis.choices is not None:
        return Categorical(axis.name, axis.choices)
    ends = axis.decode(-1.0), axis.decode(1.0)
    return Numeric(axis.name, *ends, log=axis.log)
