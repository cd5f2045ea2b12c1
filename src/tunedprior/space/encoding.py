"""The box that contains the search space and the old data, and the encoding of settings on [-1, 1]."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import MOST_CHOICES, format_list, format_value, suggest_name
from tunedprior.errors import InputError
from tunedprior.numerics.stationary import Axes
from tunedprior.space.parameters import Categorical, Numeric, Parameter, find_choice_index
from tunedprior.space.search_space import Setting, Space

# A setting may miss the edge of the box by rounding.
_SLACK = 1e-9
# The distance of two choices of a category: two of its inputs differ by 2.
_BETWEEN_CHOICES = sqrt(8.0)
# Old categories that the space does not offer take an input each, up to so many; the rest of them share one.
_MOST_UNSEEN = 8
_UNSEEN = "other old ones"


@dataclass(frozen=True)
class Axis:
    """One axis of the box: numbers from `low` to `high`, or the `choices` of a category."""

    name: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    choices: tuple[Any, ...] | None = None

    @property
    def width(self) -> int:
        """The number of kernel inputs: one per choice of a category, one for a varying number, none for a constant."""
        if self.choices is not None:
            return len(self.choices) if len(self.choices) > 1 else 0
        return int(self.high > self.low)

    def encode(self, column: "pd.Series[Any]", slack: float = _SLACK) -> Float[np.ndarray, " n"]:
        """Map numbers onto [-1, 1], and categories onto their position among the choices.

        Numbers up to `slack` beyond the ends count as the ends.
        """
        if self.choices is not None:
            return self._encode_categories(column)
        try:
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"{self.name!r} must be numbers; got {format_list(dict.fromkeys(map(format_value, column)))}."
            ) from error
        if np.isnan(values).any():
            rows = format_list(np.flatnonzero(np.isnan(values)))
            raise InputError(f"Every setting needs a number for {self.name!r}; rows {rows} have none.")
        if self.log and (values <= 0).any():
            rows = format_list(np.flatnonzero(values <= 0))
            raise InputError(f"{self.name!r} has a logarithmic scale, so it must be above 0; rows {rows} are not.")
        scaled = np.log(values) if self.log else values
        if self.width == 0:
            codes = np.where(np.abs(scaled - self.low) <= _SLACK * max(1.0, abs(self.low)), 0.0, np.inf)
        else:
            codes = (2 * scaled - self.low - self.high) / (self.high - self.low)
        outside = ~(np.abs(codes) <= 1 + slack)
        if outside.any():
            low, high = (np.exp(self.low), np.exp(self.high)) if self.log else (self.low, self.high)
            raise InputError(
                f"{self.name!r} must lie between {low:g} and {high:g}; {int(outside.sum())} of {len(values)} values "
                f"do not (such as {format_list(f'{value:g}' for value in np.unique(values[outside]))}). "
                "If the unit is right, widen the search space."
            )
        return np.clip(codes, -1.0, 1.0)

    def decode(self, code: float) -> float:
        """Return the number that a code in [-1, 1] stands for."""
        scaled = (self.low + self.high + code * (self.high - self.low)) / 2
        return float(np.exp(scaled)) if self.log else scaled

    def _encode_categories(self, column: "pd.Series[Any]") -> Float[np.ndarray, " n"]:
        choices = self.choices or ()
        try:
            number, distinct = pd.factorize(column, use_na_sentinel=False)
        except TypeError as error:  # lists, dicts, arrays
            cells = format_list(dict.fromkeys(map(format_value, column)))
            raise InputError(
                f"{self.name!r} must be one of {format_list(choices, MOST_CHOICES)}; got {cells}."
            ) from error
        positions = [find_choice_index(value, choices) for value in distinct]
        if _UNSEEN in choices:
            positions = [choices.index(_UNSEEN) if position is None else position for position in positions]
        unknown = [value for value, position in zip(distinct, positions, strict=True) if position is None]
        if unknown:
            raise InputError(
                f"{self.name!r} must be one of {format_list(choices, MOST_CHOICES)}; got "
                f"{format_list(map(format_value, unknown))}."
            )
        return np.array(positions, dtype=np.float64)[number]


@dataclass(frozen=True)
class Box:
    """The axes of all parameters, in the order of the space.

    An encoded setting is a row x of X with one number per parameter; acquisition functions are maximised over it. Its
    kernel inputs are the same numbers, with each category spread over as many ±1 inputs as it has choices.
    """

    axes: tuple[Axis, ...]

    @classmethod
    def enclose(cls, space: Space, old: "pd.DataFrame | Mapping[str, pd.Series[Any]] | None" = None) -> "Box":
        """Make the smallest box that contains the space and every row of the old data (a table, or its columns)."""
        return cls(
            tuple(_make_axis(parameter, None if old is None else old[parameter.name]) for parameter in space.parameters)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in order."""
        return tuple(axis.name for axis in self.axes)

    @property
    def num_inputs(self) -> int:
        """d, the number of kernel inputs of a setting."""
        return sum(axis.width for axis in self.axes)

    def encode(self, settings: pd.DataFrame | Sequence[Setting], slack: float = _SLACK) -> Float[Tensor, "n k"]:
        """Encode settings, one number per parameter and row; an `InputError` names what does not fit."""
        if len(settings) == 0:
            return torch.zeros(0, len(self.axes), dtype=torch.float64)
        table = to_settings_table(settings, self.names)
        return torch.as_tensor(np.stack([axis.encode(table[axis.name], slack) for axis in self.axes], axis=1))

    def to_kernel_inputs(self, X: Float[Tensor, "*batch k"]) -> Float[Tensor, "*batch d"]:
        """Map encoded settings X to kernel inputs in [-1, 1], one-hot (±1) for categories; differentiable."""
        parts = []
        for column, axis in enumerate(self.axes):
            code = X[..., column, None]
            if axis.choices is None:
                parts.append(code[..., : axis.width])
            elif axis.width:
                positions = torch.arange(axis.width, device=X.device)
                parts.append(torch.where(code.round() == positions, 1.0, -1.0).to(X))
        return torch.cat(parts, dim=-1)

    def pull_back_gradient(self, by_inputs: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch k"]:
        """Convert derivatives by kernel inputs to derivatives by X (0 for categories)."""
        by_settings = by_inputs.new_zeros(*by_inputs.shape[:-1], len(self.axes))
        first = 0
        for column, axis in enumerate(self.axes):
            if axis.choices is None and axis.width:
                by_settings[..., column] = by_inputs[..., first]
            first += axis.width
        return by_settings

    def decode(self, X: Float[Tensor, "n k"], space: Space) -> list[Setting]:
        """Return the allowed setting nearest to each row of X."""
        return [
            {
                parameter.name: decode_value(parameter, axis, code)
                for code, axis, parameter in zip(row, self.axes, space.parameters, strict=True)
            }
            for row in X.tolist()
        ]

    def make_kernel_axes(self, space: Space) -> Axes:
        """Return the parameter of each kernel input, and the unit of length-scales along it.

        For numbers the unit is the part of the range that the search space takes up: what does not come from old data,
        which may reach beyond the space, has the space's scale. For categories it makes two choices 1 apart, half as
        far as the ends of a number.
        """
        of_input: list[int] = []
        units: list[float] = []
        for axis, parameter in zip(self.axes, space.parameters, strict=True):
            unit = _BETWEEN_CHOICES
            if isinstance(parameter, Numeric):
                unit = 1.0
                if axis.width and parameter.low < parameter.high:
                    unit = (parameter.scale(parameter.high) - parameter.scale(parameter.low)) / (axis.high - axis.low)
            if axis.width:
                of_input += [of_input[-1] + 1 if of_input else 0] * axis.width
                units += [unit] * axis.width
        return Axes(torch.tensor(of_input, dtype=torch.int64), torch.tensor(units, dtype=torch.float64))

    def covers(self, space: Space) -> bool:
        """Return whether the box contains every setting of the space."""
        return self.names == space.names and all(map(_is_within_axis, space.parameters, self.axes))


def decode_value(parameter: Parameter, axis: Axis, code: float) -> Any:
    """Return the parameter's value nearest to a code, which is a number in [-1, 1] or a category's position."""
    if isinstance(parameter, Categorical):
        return parameter.choices[min(max(round(code), 0), parameter.count - 1)]
    return parameter.find_nearest_value(axis.decode(code))


def to_settings_table(
    settings: pd.DataFrame | Sequence[Setting] | Mapping[str, Any], names: Sequence[str]
) -> pd.DataFrame:
    """Return settings as a table with one column per name and rows from 0; missing names are an error."""
    if isinstance(settings, Mapping | pd.Series):
        settings = [dict(settings)]
    if not isinstance(settings, pd.DataFrame | Sequence) or isinstance(settings, str | bytes):
        raise InputError(
            f"Settings must be a dict of {format_list(names)}, a list of such dicts, or a table; got "
            f"{type(settings).__name__} {format_value(settings)}."
        )
    if isinstance(settings, pd.DataFrame):
        table = settings.reset_index(drop=True)
    else:
        wrong = [one for one in settings if not isinstance(one, Mapping | pd.Series)]
        if wrong:
            raise InputError(
                f"Each setting must be a dict of {format_list(names)}; got {type(wrong[0]).__name__} "
                f"{format_value(wrong[0])}."
            )
        # As objects, or a table would turn 1 beside 0.5 into 1.0 and None into NaN.
        table = pd.DataFrame(list(map(_unwrap_tensors, settings)), dtype=object)
    twice = [name for name in names if list(table.columns).count(name) > 1]
    if twice:
        raise InputError(
            f"Settings must name {format_list(names)} once; there are several columns {format_list(twice)}."
        )
    missing = [name for name in names if name not in table.columns]
    if missing and len(table):
        others = [name for name in table.columns if name not in names]
        meant = suggest_name(others, missing)
        if meant:
            meant = f" There is {format_list(map(format_value, others))}.{meant}"
        raise InputError(f"Settings must name {format_list(names)}; {format_list(missing)} is missing.{meant}")
    return table.reindex(columns=list(names))


def _unwrap_tensors(setting: Any) -> dict[Any, Any]:
    """Return the setting as a dict with numbers in place of tensors of one element."""
    return {
        name: cell.item() if isinstance(cell, Tensor) and cell.ndim == 0 else cell for name, cell in setting.items()
    }


def _make_axis(parameter: Parameter, old: "pd.Series[Any] | None") -> Axis:
    if isinstance(parameter, Categorical):
        return Axis(
            parameter.name, choices=parameter.choices + (() if old is None else _list_unseen_choices(old, parameter))
        )
    edges = [parameter.low, parameter.high]
    if old is not None:
        edges += [float(old.min()), float(old.max())]
        if parameter.log and min(edges) <= 0:
            raise InputError(
                f"{parameter.name!r} has a logarithmic scale, so old values must be above 0; "
                f"the least is {min(edges):g}."
            )
    return Axis(parameter.name, parameter.scale(min(edges)), parameter.scale(max(edges)), parameter.log)


def _list_unseen_choices(old: "pd.Series[Any]", parameter: Categorical) -> tuple[str, ...]:
    """The most frequent old categories that the space does not offer, and one for all others."""
    extra = [str(value) for value in old.value_counts().index if find_choice_index(value, parameter.choices) is None]
    return tuple(extra) if len(extra) <= _MOST_UNSEEN else (*extra[: _MOST_UNSEEN - 1], _UNSEEN)


def _is_within_axis(parameter: Parameter, axis: Axis) -> bool:
    if isinstance(parameter, Categorical):
        return axis.choices is not None and axis.choices[: parameter.count] == parameter.choices
    same_kind = axis.choices is None and axis.log == parameter.log
    return same_kind and axis.low <= parameter.scale(parameter.low) <= parameter.scale(parameter.high) <= axis.high
