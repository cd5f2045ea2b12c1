"""What was measured in a run: a number, or several responses by name, with their noise and the run's cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any

import numpy as np
import pandas as pd

from tunedprior.campaign.values import list_cells, parse_failed_flags, parse_outcome, parse_outcomes
from tunedprior.checks import format_list, format_value
from tunedprior.errors import InputError
from tunedprior.problem.aims import Goals
from tunedprior.problem.cells import is_empty_cell, parse_label
from tunedprior.problem.objective import Objective
from tunedprior.problem.parameters import is_missing, is_number


@dataclass(frozen=True)
class Measurement:
    """What came of one run; nothing, if it failed (fields as those of `Trial`)."""

    value: float = nan
    more: Mapping[str, float] = field(default_factory=dict)


def parse_measurements(value: Any, failed: Any, count: int, aims: Goals) -> list[Measurement]:
    """For each of `count` settings; an `InputError` for what is no response."""
    if len(aims.responses) == 1 and not _is_by_name(value):
        found = [Measurement(one) for one in parse_outcomes(value, failed, count)]
    else:
        flags = parse_failed_flags(failed, count)
        if count == 1 and isinstance(value, float) and isnan(value):
            return [Measurement()]
        if value is None and not all(flags):
            raise InputError(_describe_expected_form(aims, "nothing"))
        rows = [{}] * count if value is None else _convert_to_rows(value, aims)
        if len(rows) != count:
            raise InputError(f"tell needs the responses of each of the {count} settings; got {len(rows)}.")
        found = [_parse_row(row, flag, aims) for row, flag in zip(rows, flags, strict=True)]
    for one in found:
        if not isnan(one.value):
            aims.main.refuse_impossible_value(one.value)
        for response in aims.others:
            if response.name in one.more:
                response.refuse_impossible_value(one.more[response.name])
    return found


def list_boolean_responses(value: Any, aims: Goals) -> list[Objective]:
    """The responses that are numbers and of which True or False is told."""
    if value is None or (isinstance(value, float) and isnan(value)):
        return []
    if len(aims.responses) == 1 and not _is_by_name(value):
        rows: list[Mapping[Any, Any]] = [{aims.main.name: cell} for cell in list_cells(value, "Values")]
    else:
        rows = _convert_to_rows(value, aims)
    flags = {name for row in rows for name, cell in row.items() if isinstance(cell, bool | np.bool_)}
    return [one for one in aims.responses if one.name in flags and not one.labels]


def parse_noises(noise_std: Any, count: int, aims: Goals) -> list[dict[str, float]]:
    """The noise of each response in each of `count` runs, by name; a single number is that of the first response."""
    return [_parse_noise(one, aims) for one in _broadcast_to_runs(noise_std, count, "noise_std")]


def parse_costs(cost: Any, count: int) -> list[float]:
    """What each of `count` runs cost; NaN where that was not told."""
    return [_parse_cost(one) for one in _broadcast_to_runs(cost, count, "cost")]


def _broadcast_to_runs(given: Any, count: int, what: str) -> list[Any]:
    """One for each of `count` settings, from that or from one for all."""
    if not isinstance(given, list | tuple | np.ndarray | pd.Series):
        return [given] * count
    if len(given) != count:
        raise InputError(f"{what} must be one for all, or one for each of the {count} settings; got {len(given)}.")
    return list(given)


def _parse_noise(noise_std: Any, aims: Goals) -> dict[str, float]:
    if is_missing(noise_std):
        return {}
    names = [one.name for one in aims.objectives]
    if not isinstance(noise_std, Mapping):
        if len(names) > 1:
            raise InputError(
                f"noise_std must be a dict by response ({format_list(names)}); got {format_value(noise_std)}."
            )
        noise_std = {names[0]: noise_std}
    unknown = [name for name in noise_std if name not in names]
    if unknown:
        raise InputError(
            f"noise_std names {format_list(map(format_value, unknown))}, and the responses are {format_list(names)}."
        )
    return {name: check_number(one, f"noise_std of {name!r}", least=0.0) for name, one in noise_std.items()}


def _parse_cost(cost: Any) -> float:
    if is_missing(cost):
        return nan
    if not is_number(cost) or not 0 < cost < float("inf"):
        raise InputError(f"cost must be a number above 0, as improvement is divided by it; got {format_value(cost)}.")
    return float(cost)


def check_number(given: Any, what: str, least: float) -> float:
    """A finite number of at least this, or an `InputError`."""
    if not is_number(given) or not np.isfinite(given) or given < least:
        raise InputError(f"{what} must be a finite number, {least:g} or more; got {format_value(given)}.")
    return float(given)


def _is_by_name(value: Any) -> bool:
    several = isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(one, Mapping) for one in value)
    return isinstance(value, Mapping) or several


def _convert_to_rows(value: Any, aims: Goals) -> list[Mapping[Any, Any]]:
    if isinstance(value, pd.DataFrame):
        return list(value.to_dict("records"))
    if isinstance(value, pd.Series):
        return [dict(value)]
    if isinstance(value, Mapping):
        return [value]
    if isinstance(value, Sequence) and all(one is None or isinstance(one, Mapping | pd.Series) for one in value):
        return [{} if one is None else dict(one) for one in value]
    raise InputError(_describe_expected_form(aims, f"{type(value).__name__} {format_value(value)}"))


def _describe_expected_form(aims: Goals, got: str) -> str:
    example = ", ".join(f"{one.name!r}: {'pass' if one.labels else '…'}" for one in aims.responses)
    return f"tell takes what was measured as a dict, {{{example}}}, of which some may be left out; got {got}."


def _parse_row(row: Mapping[Any, Any], failed: bool, aims: Goals) -> Measurement:
    names = [one.name for one in aims.responses]
    unknown = [name for name in row if name not in names]
    if unknown:
        raise InputError(
            f"The responses are {format_list(names)}; got {format_list(map(format_value, unknown))}. Name it in "
            "objectives or "
            "requirements, or leave it out."
        )
    found = {one.name: _parse_cell(row[one.name], one) for one in aims.responses if one.name in row}
    found = {name: value for name, value in found.items() if not isnan(value)}
    if failed and found:
        raise InputError(f"A run has responses ({format_list(found)}), or it failed; got both. Leave one of them out.")
    if failed or (not found and all(name in row for name in names)):
        return Measurement()
    if not found:
        raise InputError(
            _describe_expected_form(aims, "none of them") + " Tell a run that gave nothing with failed=True."
        )
    return Measurement(found.pop(aims.main.name, nan), found)


def _parse_cell(cell: Any, response: Objective) -> float:
    if is_missing(cell) or is_empty_cell(cell):
        return nan
    try:
        return parse_label(cell) if response.labels else parse_outcome(cell)
    except InputError as error:
        raise InputError(f"{response.name!r}: {error}{'' if str(error).endswith('.') else '.'}") from None
