"""The response in old data: numbers, or labels in any spelling."""

import numpy as np
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.problem.cells import NOT_PASSED, PASSED
from tunedprior.problem.goals import Goal, Target
from tunedprior.problem.old_rows import OldRows
from tunedprior.problem.suspicions import find_sentinels


def parse_response(
    rows: OldRows, target: str, told: Bool[ndarray, " n"], direction: Goal, better: str = ""
) -> tuple[Float64[ndarray, " n"], bool, str]:
    """The response as numbers or labels ±1, whether it is labels, and what it is in words.

    Args:
        rows: The table; rows without a response are no longer kept.
        target: The column of the response.
        told: Which rows have a response.
        direction: Which way is better, or a target.
        better: "maximize" or "minimize", where the source says which way was better in it.
    """
    column = rows.table[target]
    words = column.map(lambda value: str(value).strip().lower())
    passed, failed = words.isin(PASSED).to_numpy() & told, words.isin(NOT_PASSED).to_numpy() & told
    rows.leave_out("blank", target, ~told, "blank, which is taken for 'not measured', and left out")
    if len(column) and not told.any():
        found = f"{rows.what}'s response {target!r} is blank in every row."
        raise InputError(
            f"{found} Name the right column with target=.",
            typed=f"{found} Fill it in, or give the goal in the space file the name of the right column.",
        )
    if (passed | failed)[told].all():
        return np.where(passed, 1.0, -1.0), True, "pass and fail"
    values = rows.parse_numbers(column.where(~failed, np.nan), " Or say pass or fail in every row.")
    marked = find_sentinels(values)
    rows.leave_out("sentinel", target, marked, "taken to mean 'not measured' and left out", values)
    measured = told & ~failed & ~marked
    distinct = set(values[measured])
    if distinct in ({0.0, 1.0}, {-1.0, 1.0}):
        less = better == "minimize"  # a study that minimised what is 0 or 1 wanted 0
        good = values < 1 if less else values > 0
        return np.where(good, 1.0, -1.0), True, f"pass and fail{', of which the lower one passes' if less else ''}"
    if failed.any() and len(distinct) == 1:  # only success and failure are told apart
        return np.where(failed, -1.0, 1.0), True, "pass and fail"
    among = "numbers"
    if failed.any() and isinstance(direction, Target):
        rows.leave_out("failed", target, failed, "left out, as there is no worst of what is to meet a target")
    elif failed.any():
        worst = values[measured].min() if (better or direction) == "maximize" else values[measured].max()
        values[failed] = worst
        among = f"numbers, where failed runs ({int(failed.sum())}) count as the worst ({worst:g})"
    if better and not isinstance(direction, Target) and better != direction:
        among += f", of which {'more' if better == 'maximize' else 'less'} was better"
    return values, False, among


def compute_logarithms(rows: OldRows, target: str, response: Float64[ndarray, " n"]) -> Float64[ndarray, " n"]:
    """The logarithms of responses; those that have none are left out."""
    rows.leave_out("not positive", target, rows.kept & ~(response > 0), "0 or less, which has no logarithm: left out")
    return np.log(np.where(response > 0, response, 1.0))


def note_doubtful(rows: OldRows, target: str, doubtful: Bool[ndarray, " n"], response: Float64[ndarray, " n"]) -> None:
    """Say which responses lie so far from all others that they may be mistakes."""
    if doubtful.any():
        places, values = rows.list_places(doubtful), format_list(f"{value:g}" for value in response[doubtful])
        rest = response[rows.kept & ~doubtful]
        said = (
            f"{target!r} is {values} in {format_list(places)}, far from all others ({rest.min():g} to {rest.max():g}): "
            "old data is learnt from with and without it. Correct it if it is a mistake."
        )
        rows.note("isolated response", target, said, places)
