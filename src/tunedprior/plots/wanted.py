"""Targets and limits of a response, as lines and stripes."""

from math import isinf

from tunedprior.plots.pictures import GREEN, RED, Layer, Level, Zone
from tunedprior.problem.aims import Goals
from tunedprior.problem.goals import Target
from tunedprior.problem.objective import Objective


def make_goal_lines(aims: Goals, response: Objective) -> list[Layer]:
    """What a response is to come close to, and the limits that are required of it."""
    found: list[Layer] = []
    wanted = response.direction
    if isinstance(wanted, Target) and wanted.low == wanted.upper:
        found.append(Level("target", wanted.low, GREEN))
    elif isinstance(wanted, Target):
        found.append(Zone("target", wanted.low, wanted.upper, GREEN))
    for one in aims.requirements:
        if one.response == response.name and not one.labels:
            ends = [end for end in (one.low, one.high) if not isinf(end) and (end > 0 or not response.log)]
            found += [Level("limit that is required", end, RED) for end in ends]
    return found


def format_goal(aims: Goals, response: Objective) -> str:
    """What is wanted of a response, in few words; nothing, if it is only required to be within limits."""
    if response not in aims.objectives:
        return "required"
    return f"target {response.direction}" if isinstance(response.direction, Target) else response.direction
