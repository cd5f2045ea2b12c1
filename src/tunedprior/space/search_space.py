"""The search space: parameters, their constraints, and the settings that they allow."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tunedprior.checks import format_list, format_value
from tunedprior.errors import InputError
from tunedprior.space.constraints import Constraint, FunctionConstraint, parse_constraints
from tunedprior.space.feasibility import FeasibleSettings, refuse_empty
from tunedprior.space.parameters import Description, Numeric, Parameter, parse_parameter

# Sobol sequences have no more dimensions.
_MOST_PARAMETERS = 21_201

#: One setting of every parameter, by name.
Setting = dict[str, Any]


@dataclass(frozen=True)
class Space:
    """The parameters by name, and the constraints on them.

    Attributes:
        parameters: The parameters in order.
        constraints: The constraints; `add_constraints` parses them.

    >>> space = Space.parse({"angle": (10.0, 40.0), "speed": [98, 63, 48], "gas": ["air", "argon"]})
    >>> space.names, space.size
    (('angle', 'speed', 'gas'), None)
    >>> Space.parse({"a": (0, 10, 1), "b": (0, 10, 1)}).add_constraints("a + b == 10").size
    11
    """

    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...] = ()

    @classmethod
    def parse(cls, description: "Mapping[str, Description] | Space") -> "Space":
        """Make a space from names and `(low, high)`, `(low, high, step)`, `(low, high, "log")`, lists or distributions.

        A number of digits may follow `"log"`: settings are suggested with so many significant ones. A list of numbers
        is a set of ordered levels, a list of anything else a set of categories.
        """
        if isinstance(description, Space):
            return description
        if not isinstance(description, Mapping):
            raise InputError(
                'A search space is a dict of names and what each may be set to, such as {"speed": (10.0, 90.0)}; got '
                f"{type(description).__name__}. Old data is the argument after it."
            )
        if not description:
            raise InputError('A search space needs at least one parameter, such as {"speed": (10.0, 90.0)}.')
        space = cls(tuple(parse_parameter(name, given) for name, given in _check_names(description).items()))
        if space.size == 1:
            raise InputError("A search space needs a parameter that can change; every one given has a single value.")
        return space

    def add_constraints(self, constraints: Any) -> "Space":
        """Return the space with more constraints, in any form; an `InputError` if no setting is left."""
        space = self.add_constraints_unchecked(constraints)
        if space.feasible is not None:
            refuse_empty(space.feasible)
        return space

    def add_constraints_unchecked(self, constraints: Any) -> "Space":
        """Return the space with more constraints, in any form, even if no setting is left."""
        added = parse_constraints([*self.constraints, *_to_list(constraints)], self.parameters)
        return self if added == self.constraints else replace(self, constraints=added)

    @property
    def without_functions(self) -> "Space":
        """The space without the constraints that are functions."""
        return replace(
            self, constraints=tuple(one for one in self.constraints if not isinstance(one, FunctionConstraint))
        )

    @cached_property
    def feasible(self) -> FeasibleSettings | None:
        """The settings that satisfy the constraints; None if there are no constraints."""
        return FeasibleSettings(self.parameters, self.constraints) if self.constraints else None

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in order."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def size(self) -> int | None:
        """The number of settings; None if some parameter is continuous.

        With constraints those that satisfy them; where these are too many to list, all.
        """
        if self.feasible is not None and self.feasible.all_rows is not None:
            return len(self.feasible.all_rows)
        counts = [parameter.count for parameter in self.parameters]
        return None if None in counts else prod(count for count in counts if count is not None)

    def allows(self, setting: Setting) -> bool:
        """Return whether every value is allowed and all constraints hold."""
        return self.is_in_domain(setting) and not self.find_violated(setting)

    def is_in_domain(self, setting: Setting) -> bool:
        """Return whether every value is one that its parameter allows."""
        return all(parameter.allows(setting[parameter.name]) for parameter in self.parameters)

    def find_violated(self, setting: Setting) -> tuple[Constraint, ...]:
        """List the constraints that a setting violates."""
        as_offered = {parameter.name: parameter.recognise(setting[parameter.name]) for parameter in self.parameters}
        return tuple(constraint for constraint in self.constraints if not constraint.allows(as_offered))

    def round_for_people(self, setting: Setting) -> Setting:
        """Round a setting's numbers for people; unchanged where the constraints forbid the rounded ones."""
        rounded = {
            one.name: one.round_for_people(setting[one.name]) if isinstance(one, Numeric) else setting[one.name]
            for one in self.parameters
        }
        return setting if self.find_violated(rounded) else rounded

    def list_settings(self) -> list[Setting]:
        """List all settings of a finite space."""
        if self.feasible is not None:
            if self.feasible.all_rows is None:
                raise InputError(
                    "The settings that satisfy the constraints are too many to list. Use sobol(count, seed)."
                )
            return self.feasible.decode_rows(self.feasible.all_rows)
        return [
            dict(zip(self.names, values, strict=True))
            for values in product(*(p.list_values() for p in self.parameters))
        ]

    def sobol(self, count: int, seed: int) -> list[Setting]:
        """Return the first `count` distinct settings of a scrambled Sobol sequence, or all of a smaller space.

        With constraints, settings that are spread over what these leave.
        """
        if self.feasible is not None:
            return self.feasible.draw_spread_settings(count, seed)
        from scipy.stats import qmc  # takes as long to import as all of pandas

        engine = qmc.Sobol(len(self.parameters), scramble=True, rng=np.random.default_rng(seed))
        drawn = engine.random_base2(max(3, (4 * count).bit_length()))
        rows = (tuple(p.compute_quantile(float(u)) for p, u in zip(self.parameters, row, strict=True)) for row in drawn)
        found = list(dict.fromkeys(rows))
        if len(found) < count and self.size is not None:  # a small space: the sequence met some settings often
            found = list(dict.fromkeys([*found, *(tuple(setting.values()) for setting in self.list_settings())]))
        return [dict(zip(self.names, values, strict=True)) for values in found[:count]]


def _to_list(constraints: Any) -> list[Any]:
    if constraints is None:
        return []
    return list(constraints) if isinstance(constraints, list | tuple | set | frozenset) else [constraints]


def _check_names(description: Mapping[Any, Description]) -> dict[str, Description]:
    """Check that names are text, not blank, and distinct in files."""
    if len(description) > _MOST_PARAMETERS:
        raise InputError(f"A search space has {_MOST_PARAMETERS:,} parameters at most; got {len(description):,}.")
    wrong = [
        name
        for name in description
        if not isinstance(name, str | int | np.integer) or isinstance(name, bool) or not str(name).strip()
    ]
    if wrong:
        raise InputError(f"Parameters must have names, as text; got {format_list(map(format_value, wrong))}.")
    names = [str(name).strip() for name in description]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1] if len(set(names)) < len(names) else []
    if twice:
        raise InputError(
            f"Parameters must have different names; {format_list(map(repr, twice))} is there more than once."
        )
    return {str(name): given for name, given in description.items()}
