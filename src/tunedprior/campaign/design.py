"""The first settings, before there is a model of the new process: an opening by old data, or a Sobol design."""

from math import sqrt
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.average.surrogate import Average
from tunedprior.checks import format_list, format_value
from tunedprior.errors import InputError
from tunedprior.models.surrogate import OpeningSurrogate, Surrogate
from tunedprior.problem.box import Box
from tunedprior.problem.goals import Target
from tunedprior.problem.objective import Objective

OLD_DATA, SOBOL = DESIGNS = ("old data", "sobol")
#: Settings to look for the most promising one among.
NUM_OFFERED = 1024
# Settings around the best one so far, and the standard deviation of their distances in each round of looking again.
_NUM_AROUND, WIDTHS = 256, (0.15, 0.03)
NUM_ROUNDS = len(WIDTHS)
# Settings of an opening are at least this part of the box's diagonal apart, where there are such.
_APART = 0.1
# Settings of the design that come after an opening, in turns with the model's; no more than there are parameters.
_IN_TURNS = 3


def check_design(design: Any) -> None:
    """Refuse what is no design, before anything is learnt for it."""
    if design not in DESIGNS:
        raise InputError(f"design must be one of {format_list(map(repr, DESIGNS))}; got {format_value(design)}.")


def is_designed(position: int, num_opening: int, initial: int) -> bool:
    """Whether the setting at this position is one of the design, and not the model's.

    After an opening, settings of the design and of the model take turns: old data may mislead, and what fits the few
    results so far is easily believed.
    """
    if position < num_opening:
        return True
    return position < initial and (num_opening == 0 or (position - num_opening) % 2 == 0)


def compute_design_position(position: int, substitutes: int, num_opening: int, initial: int) -> int:
    """The place among the first settings of what comes after `position` trials, of which so many are substitutes.

    Settings from elsewhere do as well as a design's, and stand for as many of these. They do not stand for the opening,
    which comes after them while the design lasts; later, results say more than old data alone.
    """
    suggested = position - substitutes
    return suggested if suggested < num_opening and position < initial else position


def compute_default_initial(num_parameters: int, num_opening: int) -> int:
    """Over how many settings a design extends: one more than there are parameters; with an opening, see `_IN_TURNS`."""
    return num_parameters + 1 if num_opening == 0 else num_opening + 2 * min(num_parameters, _IN_TURNS)


def evaluate_opening(
    surrogate: Surrogate, design: str, codes: Float[Tensor, "n k"], objective: Objective | None = None
) -> Float[Tensor, "m n"]:
    """How promising settings are, a row for each setting of the opening; no rows for a Sobol design."""
    if design != OLD_DATA or not isinstance(surrogate, OpeningSurrogate):
        return codes.new_zeros(0, len(codes))
    if objective is not None and isinstance(objective.direction, Target) and isinstance(surrogate, Average):
        ends = objective.direction.low, objective.direction.upper
        return surrogate.evaluate_opening_for_target(codes, *map(objective.scale_value, ends))
    return surrogate.evaluate_opening(codes)


def mask_near_known(
    known: Float[Tensor, "n k"], codes: Float[Tensor, "m k"], score: Float[Tensor, " m"], box: Box
) -> Float[Tensor, " m"]:
    """The score, without settings near known ones; where all are near, without those that are known."""
    if len(known) == 0:
        return score
    distance = torch.cdist(box.to_kernel_inputs(codes), box.to_kernel_inputs(known)).amin(1) / (2 * sqrt(len(box.axes)))
    for least in (_APART, 1e-9):
        if (distance > least).any():
            return score.where(distance > least, -torch.inf)
    return score


def draw_around(
    code: Float[Tensor, " k"], bounds: Float[Tensor, "2 k"], round_: int, seed: int
) -> Float[Tensor, "n k"]:
    """Codes at random around one, nearer in each round, within bounds."""
    generator = torch.Generator().manual_seed(seed + round_)
    steps = torch.randn(_NUM_AROUND, len(code), generator=generator, dtype=torch.float64)
    return (code + WIDTHS[round_] * (bounds[1] - bounds[0]) / 2 * steps).clamp(*bounds)
