"""Which constraint leaves nothing to set."""

from collections.abc import Sequence

import numpy as np

from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.problem.constraints import Constraint, LinearConstraint
from tunedprior.problem.feasible_settings import MOST_TRIES, FeasibleSettings
from tunedprior.problem.parameters import Parameter

_JUDGED = 1000  # settings that each constraint is asked about


def refuse_empty(feasible: FeasibleSettings) -> None:
    """An `InputError` if no setting satisfies the constraints, or a single one does, that says which are the reason."""
    _refuse_contradictions(feasible)
    everything = feasible.all_rows
    if _count_settings(feasible) == 0:
        raise InputError(_describe_reason(feasible))
    if everything is not None and len(everything) == 1:
        raise InputError(
            f"The constraints leave a single setting, {feasible.decode_rows(everything)[0]}, and nothing to optimise. "
            "Loosen one."
        )


def _refuse_contradictions(feasible: FeasibleSettings) -> None:
    """Of sums that cannot be met within the parameters' ranges, whatever else is asked for."""
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
    which = f"Without {' or '.join(repr(str(one)) for one in culprits)} there are some." if culprits else ""
    raise InputError(
        f"No setting satisfies the constraints {format_list(repr(str(one)) for one in linear)} at once. {which} "
        "Drop or "
        "loosen one.".replace("  ", " ")
    )


def _can_be_met(linear: Sequence[LinearConstraint], parameters: Sequence[Parameter]) -> bool:
    """Whether numbers within the parameters' ranges satisfy all sums, by linear programming."""
    from scipy.optimize import linprog  # takes as long to import as all of pandas

    rows = FeasibleSettings(tuple(parameters), tuple(linear)).rows
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
    """Which constraint is the reason that there is no setting, or rejects most."""
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
