"""Find settings that satisfy all constraints: list them, draw them, or find neighbours of a given one.

If no setting satisfies the constraints, say which constraint is the reason.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float64
from numpy import ndarray

from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.space.constraints import Constraint, FunctionConstraint, LinearConstraint, OnlyWhen
from tunedprior.space.feasible_rows import FeasibleRows, RowSampler
from tunedprior.space.parameters import Categorical, Parameter

_DRAWN = 1024  # rows at a time
_MOST_DRAWS = 16
#: How many rows are drawn before what was found is all there is.
MOST_TRIES = _MOST_DRAWS * _DRAWN
# So many draws of a space that functions leave nearly nothing of, then so many walks from what was found.
_BEFORE_WALKING, _MOST_WALKS = 4, 200
_SPREAD, _OF_THESE = 128, 8  # settings that keep away from those before, each one of so many
_STEPS = (1, 2, 5)  # along a grid, to a neighbour
_MOST_OTHERS = 12  # values of a parameter that are tried next to a setting
_AROUND = 48  # neighbours along the continuous parameters


@dataclass(frozen=True, eq=False)
class FeasibleSettings:
    """The settings that satisfy all constraints.

    Attributes:
        parameters: The parameters.
        constraints: The constraints on settings.
    """

    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...]

    @cached_property
    def rows(self) -> FeasibleRows:
        """The rows that satisfy all constraints except functions."""
        linear = tuple(one for one in self.constraints if isinstance(one, LinearConstraint))
        return FeasibleRows(
            self.parameters, linear, tuple(one for one in self.constraints if isinstance(one, OnlyWhen))
        )

    @cached_property
    def rules(self) -> tuple[FunctionConstraint, ...]:
        """The constraints that are functions."""
        return tuple(one for one in self.constraints if isinstance(one, FunctionConstraint))

    @cached_property
    def all_rows(self) -> Float64[ndarray, "n k"] | None:
        """The rows of all settings; None if there are infinitely or too many."""
        rows = self.rows.list_rows()
        return None if rows is None else self._keep_allowed(rows)

    def decode_rows(self, rows: Iterable[Float64[ndarray, " k"]]) -> list[dict[str, Any]]:
        """Convert rows to settings."""
        return [self.rows.decode_row(row) for row in rows]

    def draw_spread_settings(self, count: int, seed: int) -> list[dict[str, Any]]:
        """Draw settings, the first ones far apart from each other; fewer if there are fewer."""
        if self.all_rows is not None:
            rows = self.all_rows[np.random.default_rng(seed).permutation(len(self.all_rows))]
        else:
            # At least so many: then the first ones are the same however many are wanted.
            rows = self.draw_rows(max(count, _DRAWN // 4), seed)
        return self.decode_rows(rows[self._order_by_spread(rows)][:count])

    def draw_rows(self, count: int, seed: int) -> Float64[ndarray, "n k"]:
        """Draw different rows at random, at least `count` if so many are found."""
        from scipy.stats import qmc  # takes as long to import as all of pandas

        random = np.random.default_rng(seed)
        engine = qmc.Sobol(len(self.parameters), scramble=True, rng=random)
        found = np.zeros((0, len(self.parameters)))
        for tries in range(_MOST_DRAWS):
            rows = self._keep_allowed(RowSampler(self.rows).draw_rows(engine.random(_DRAWN), random))
            rows = rows[random.permutation(len(rows))]
            found = _drop_duplicates(np.concatenate([found, rows]))
            if len(found) >= count:
                return found
            if self.rules and len(found) and tries >= _BEFORE_WALKING:
                return self._walk_from(found, count, random)
        return found

    def _walk_from(
        self, rows: Float64[ndarray, "n k"], count: int, random: np.random.Generator
    ) -> Float64[ndarray, "m k"]:
        """Draw more rows by steps from those found, for functions that reject nearly everything."""
        width = 0.5
        for _ in range(_MOST_WALKS):
            start = self.rows.decode_row(rows[random.integers(len(rows))])
            more = [
                self.rows.encode_setting(one) for one in self.find_neighbours(start, width, int(random.integers(2**31)))
            ]
            width = min(0.5, width * (1.5 if len(more) > _AROUND // 4 else 0.5))
            if more:
                rows = _drop_duplicates(np.concatenate([rows, np.stack(more)]))
            if len(rows) >= count:
                break
        return rows

    def repair_setting(self, setting: dict[str, Any]) -> dict[str, Any] | None:
        """Move a setting as little as needed to satisfy all constraints; None if that fails."""
        row = self.rows.repair_row(self.rows.encode_setting(setting))
        return None if row is None or not len(self._keep_allowed(row[None])) else self.rows.decode_row(row)

    def find_neighbours(self, setting: dict[str, Any], width: float, seed: int) -> list[dict[str, Any]]:
        """List settings near a given one, which differ in one value or two, or by a small step.

        Args:
            setting: The given setting.
            width: The standard deviation of steps along a continuum, as a share of its range.
            seed: Seed of the random steps.
        """
        row, random = self.rows.encode_setting(setting), np.random.default_rng(seed)
        moved = [
            *self._change_one_value(row, random),
            *self._exchange_two_values(row),
            *self._perturb_continuous(row, width, random),
        ]
        repaired = [one for one in map(self.rows.repair_row, moved) if one is not None]
        if not repaired:
            return []
        rows = self._keep_allowed(_drop_duplicates(np.stack(repaired)))
        return self.decode_rows(rows[(rows != row).any(1)])

    def _keep_allowed(self, rows: Float64[ndarray, "n k"]) -> Float64[ndarray, "m k"]:
        """Return the rows that no function rejects."""
        if not self.rules:
            return rows
        return rows[[all(rule.allows(self.rows.decode_row(row)) for rule in self.rules) for row in rows]]

    def _order_by_spread(self, rows: Float64[ndarray, "n k"]) -> list[int]:
        """An order in which the first rows keep away from those before them, whatever comes after."""
        units = self._scale_to_units(rows)
        nearest = np.full(len(rows), np.inf)
        chosen: list[int] = []
        for first in range(0, min(len(rows), _SPREAD * _OF_THESE), _OF_THESE):
            some = np.arange(first, min(first + _OF_THESE, len(rows)))
            if chosen:
                nearest[some] = np.linalg.norm(units[some, None] - units[chosen], axis=-1).min(1)
            chosen.append(int(some[nearest[some].argmax()]))
        return [*chosen, *(k for k in range(len(rows)) if k not in set(chosen))]

    def _scale_to_units(self, rows: Float64[ndarray, "n k"]) -> Float64[ndarray, "n u"]:
        """Coordinates in which ranges have the length 1, and so are different categories apart."""
        parts = []
        for column, parameter in zip(rows.T, self.parameters, strict=True):
            if isinstance(parameter, Categorical):
                parts.append((column[:, None] == np.arange(parameter.count)) / np.sqrt(2.0))
            elif parameter.high > parameter.low:
                low, high = parameter.scale(parameter.low), parameter.scale(parameter.high)
                scaled = np.log(column) if parameter.log else column
                parts.append(((scaled - low) / (high - low))[:, None])
        return np.hstack(parts)

    def _change_one_value(
        self, row: Float64[ndarray, " k"], random: np.random.Generator
    ) -> Iterable[Float64[ndarray, " k"]]:
        """The row with another value in one column that has a list of them."""
        for column, values in enumerate(self.rows.values):
            if values is None:
                continue
            others = values[values != row[column]]
            if len(others) > _MOST_OTHERS:
                ranked = others[np.abs(others - row[column]).argsort(kind="stable")]
                others = np.concatenate([ranked[:4], random.choice(ranked[4:], _MOST_OTHERS - 4, replace=False)])
            for value in others:
                yield _replace_values(row, [column], [value])

    def _exchange_two_values(self, row: Float64[ndarray, " k"]) -> Iterable[Float64[ndarray, " k"]]:
        """The row with one number on a grid changed, and another so that a sum stays what it is."""
        stepped = [k for k, v in enumerate(self.rows.values) if v is not None and (self.rows.matrix[:, k] != 0).any()]
        for coefficients in self.rows.matrix:
            for one in stepped:
                values = self.rows.values[one]
                assert values is not None
                at = int(np.abs(values - row[one]).argmin())
                for step in (sign * size for size in _STEPS for sign in (1, -1)):
                    if coefficients[one] == 0 or not 0 <= at + step < len(values):
                        continue
                    change = coefficients[one] * (values[at + step] - values[at])
                    for other in stepped:
                        if other != one and coefficients[other] != 0:
                            yield _replace_values(
                                row, [one, other], [values[at + step], row[other] - change / coefficients[other]]
                            )

    def _perturb_continuous(
        self, row: Float64[ndarray, " k"], width: float, random: np.random.Generator
    ) -> Iterable[Float64[ndarray, " k"]]:
        """The row moved at random along all columns without a list, on the scale of each."""
        columns = [k for k, values in enumerate(self.rows.values) if values is None]
        for _ in range(_AROUND if columns else 0):
            moved = []
            for k, step in zip(columns, width * random.standard_normal(len(columns)), strict=True):
                one = self.parameters[k]
                assert not isinstance(one, Categorical)
                low, high = one.scale(one.low), one.scale(one.high)
                moved.append(one.unscale(min(max(one.scale(float(row[k])) + step * (high - low), low), high)))
            yield _replace_values(row, columns, moved)


def _replace_values(
    row: Float64[ndarray, " k"], columns: Sequence[int], values: Sequence[float]
) -> Float64[ndarray, " k"]:
    row = row.copy()
    row[list(columns)] = values
    return row


def _drop_duplicates(rows: Float64[ndarray, "n k"]) -> Float64[ndarray, "m k"]:
    """Keep the first of equal rows."""
    _, first = np.unique(rows, axis=0, return_index=True)
    return rows[np.sort(first)]


_JUDGED = 1000  # settings that each constraint is asked about


def refuse_empty(feasible: FeasibleSettings) -> None:
    """Raise an `InputError` if the constraints allow no setting or only one, naming the constraint at fault."""
    _refuse_contradictions(feasible)
    if _count_settings(feasible) == 0:
        raise InputError(_describe_reason(feasible))
    everything = feasible.all_rows
    if everything is not None and len(everything) == 1:
        raise InputError(
            f"The constraints leave a single setting, {feasible.decode_rows(everything)[0]}, and nothing to optimise. "
            "Loosen one."
        )


def _refuse_contradictions(feasible: FeasibleSettings) -> None:
    """Raise an `InputError` for linear constraints that no point of the ranges satisfies."""
    linear = feasible.rows.linear
    for one in linear:
        ends = [
            (one.coefficients[p.name] * p.low, one.coefficients[p.name] * p.high)
            for p in feasible.parameters
            if p.name in one.coefficients and not hasattr(p, "choices")
        ]
        least, most = sum(map(min, ends)), sum(map(max, ends))
        if least > one.high + one.rounding or most < one.low - one.rounding:
            raise InputError(
                f"No setting satisfies {str(one)!r}: within the parameters' ranges its left side lies between "
                f"{least:g} and {most:g}. Change the constraint or the ranges."
            )
    if len(linear) < 2 or _can_be_met(linear, feasible.parameters):
        return
    culprits = [
        one for one in linear if _can_be_met([other for other in linear if other is not one], feasible.parameters)
    ]
    which = f"Without {' or '.join(repr(str(one)) for one in culprits)} there are some. " if culprits else ""
    raise InputError(
        f"No setting satisfies the constraints {format_list(repr(str(one)) for one in linear)} at once. {which}Drop or "
        "loosen one."
    )


def _can_be_met(linear: Sequence[LinearConstraint], parameters: Sequence[Parameter]) -> bool:
    """Return whether some point of the ranges satisfies all linear constraints, by linear programming."""
    from scipy.optimize import linprog  # takes as long to import as all of pandas

    rows = FeasibleRows(tuple(parameters), tuple(linear), ())
    low, high = rows.edges
    found = linprog(
        np.zeros(len(parameters)),
        A_ub=np.concatenate([rows.matrix[np.isfinite(high)], -rows.matrix[np.isfinite(low)]]),
        b_ub=np.concatenate([(high + rows.slacks)[np.isfinite(high)], (rows.slacks - low)[np.isfinite(low)]]),
        bounds=list(zip(*rows.bounds.tolist(), strict=True)),
        method="highs",
    )
    return bool(found.status != 2)


def _describe_reason(feasible: FeasibleSettings) -> str:
    """Name the constraints that leave no setting, or the share that each rejects."""
    if feasible.all_rows is not None:
        needless = [one for one in feasible.constraints if _count_settings(_drop_constraint(feasible, one)) > 0]
        said = f"Without {' or '.join(repr(str(one)) for one in needless)} there are some. " if needless else ""
        return f"No setting satisfies all constraints. {said}Drop or loosen one."
    free = FeasibleSettings(feasible.parameters, ())
    settings = free.decode_rows(free.draw_rows(_JUDGED, 0)[:_JUDGED])
    shares = [(np.mean([not one.allows(setting) for setting in settings]), str(one)) for one in feasible.constraints]
    said = format_list(f"{name!r} rejects {share:.1%}" for share, name in sorted(shares, reverse=True))
    return (
        f"No setting was found that satisfies all constraints, in {MOST_TRIES:,} tries. Of {len(settings):,} settings "
        f"of the ranges alone, {said}. Loosen the constraints, or narrow the ranges to where settings are allowed."
    )


def _drop_constraint(feasible: FeasibleSettings, constraint: Constraint) -> FeasibleSettings:
    return FeasibleSettings(
        feasible.parameters, tuple(other for other in feasible.constraints if other is not constraint)
    )


def _count_settings(feasible: FeasibleSettings) -> int:
    everything = feasible.all_rows
    return len(feasible.draw_rows(1, 0)) if everything is None else len(everything)
