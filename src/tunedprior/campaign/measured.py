"""What was measured in a run: a number, or several responses by name, with their noise and the run's cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any

import numpy as np
import pandas as pd

from tunedprior.campaign.values import as_result, column_of, flags_of, told_values
from tunedprior.checks import listed, shown
from tunedprior.errors import InputError
from tunedprior.problem.aims import Aims
from tunedprior.problem.cells import as_label, is_blank
from tunedprior.problem.objective import Objective
from tunedprior.problem.parameters import is_missing, is_number


@dataclass(frozen=True)
class Measured:
    """What came of one run; nothing, if it failed (fields as those of `Trial`)."""

    value: float = nan
    more: Mapping[str, float] = field(default_factory=dict)


def measured_of(value: Any, failed: Any, count: int, aims: Aims) -> list[Measured]:
    """For each of `count` settings; an `InputError` for what is no response."""
    if len(aims.responses) == 1 and not _is_by_name(value):
        found = [Measured(one) for one in told_values(value, failed, count)]
    else:
        flags = flags_of(failed, count)
        if count == 1 and isinstance(value, float) and isnan(value):
            return [Measured()]
        if value is None and not all(flags):
            raise InputError(_wanted(aims, "nothing"))
        rows = [{}] * count if value is None else _rows(value, aims)
        if len(rows) != count:
            raise InputError(f"tell needs the responses of each of the {count} settings; got {len(rows)}.")
        found = [_one(row, flag, aims) for row, flag in zip(rows, flags, strict=True)]
    for one in found:
        if not isnan(one.value):
            aims.main.refuse(one.value)
        for response in aims.others:
            if response.target in one.more:
                response.refuse(one.more[response.target])
    return found


def told_as_flags(value: Any, aims: Aims) -> list[Objective]:
    """The responses that are numbers and of which True or False is told."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return []
    if len(aims.responses) == 1 and not _is_by_name(value):
        rows: list[Mapping[Any, Any]] = [{aims.main.target: cell} for cell in column_of(value, "Values")]
    else:
        rows = _rows(value, aims)
    flags = {name for row in rows for name, cell in row.items() if isinstance(cell, bool | np.bool_)}
    return [one for one in aims.responses if one.target in flags and not one.labels]


def noises_of(noise_std: Any, count: int, aims: Aims) -> list[dict[str, float]]:
    """The noise of each response in each of `count` runs, by name; a single number is that of the first response."""
    return [_noise_of(one, aims) for one in _for_each(noise_std, count, "noise_std")]


def costs_told(cost: Any, count: int) -> list[float]:
    """What each of `count` runs cost; NaN where that was not told."""
    return [_cost_told(one) for one in _for_each(cost, count, "cost")]


def _for_each(given: Any, count: int, what: str) -> list[Any]:
    """One for each of `count` settings, from that or from one for all."""
    if not isinstance(given, list | tuple | np.ndarray | pd.Series):
        return [given] * count
    if len(given) != count:
        raise InputError(f"{what} must be one for all, or one for each of the {count} settings; got {len(given)}.")
    return list(given)


def _noise_of(noise_std: Any, aims: Aims) -> dict[str, float]:
    if is_missing(noise_std):
        return {}
    names = [one.target for one in aims.objectives]
    if not isinstance(noise_std, Mapping):
        if len(names) > 1:
            raise InputError(f"noise_std must be a dict by response ({listed(names)}); got {shown(noise_std)}.")
        noise_std = {names[0]: noise_std}
    unknown = [name for name in noise_std if name not in names]
    if unknown:
        raise InputError(f"noise_std names {listed(map(shown, unknown))}, and the responses are {listed(names)}.")
    return {name: number(one, f"noise_std of {name!r}", least=0.0) for name, one in noise_std.items()}


def _cost_told(cost: Any) -> float:
    if is_missing(cost):
        return nan
    if not is_number(cost) or not 0 < cost < float("inf"):
        raise InputError(f"cost must be a number above 0, as improvement is divided by it; got {shown(cost)}.")
    return float(cost)


def number(given: Any, what: str, least: float) -> float:
    """A finite number of at least this, or an `InputError`."""
    if not is_number(given) or not np.isfinite(given) or given < least:
        raise InputError(f"{what} must be a finite number, {least:g} or more; got {shown(given)}.")
    return float(given)


def _is_by_name(value: Any) -> bool:
    several = isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(one, Mapping) for one in value)
    return isinstance(value, Mapping) or several


def _rows(value: Any, aims: Aims) -> list[Mapping[Any, Any]]:
    if isinstance(value, pd.DataFrame):
        return list(value.to_dict("records"))
    if isinstance(value, pd.Series):
        return [dict(value)]
    if isinstance(value, Mapping):
        return [value]
    if isinstance(value, Sequence) and all(one is None or isinstance(one, Mapping | pd.Series) for one in value):
        return [{} if one is None else dict(one) for one in value]
    raise InputError(_wanted(aims, f"{type(value).__name__} {shown(value)}"))


def _wanted(aims: Aims, got: str) -> str:
    example = ", ".join(f"{one.target!r}: {'pass' if one.labels else '…'}" for one in aims.responses)
    return f"tell takes what was measured as a dict, {{{example}}}, of which some may be left out; got {got}."


def _one(row: Mapping[Any, Any], failed: bool, aims: Aims) -> Measured:
    names = [one.target for one in aims.responses]
    unknown = [name for name in row if name not in names]
    if unknown:
        raise InputError(
            f"The responses are {listed(names)}; got {listed(map(shown, unknown))}. Name it in objectives or "
            "requirements, or leave it out."
        )
    found = {one.target: _cell(row[one.target], one) for one in aims.responses if one.target in row}
    found = {name: value for name, value in found.items() if not isnan(value)}
    if failed and found:
        raise InputError(f"A run has responses ({listed(found)}), or it failed; got both. Leave one of them out.")
    if failed or (not found and all(name in row for name in names)):
        return Measured()
    if not found:
        raise InputError(_wanted(aims, "none of them") + " Tell a run that gave nothing with failed=True.")
    return Measured(found.pop(aims.main.target, nan), found)


def _cell(cell: Any, response: Objective) -> float:
    if is_missing(cell) or is_blank(cell):
        return nan
    try:
        return as_label(cell) if response.labels else as_result(cell)
    except InputError as error:
        raise InputError(f"{response.target!r}: {error}{'' if str(error).endswith('.') else '.'}") from None
