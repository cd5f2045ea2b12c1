"""Which results models are fitted to, where there are too many for all of them."""

from collections.abc import Sequence
from math import isnan

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.problem.aims import Goals
from tunedprior.problem.box import Box
from tunedprior.problem.objective import encode_run_settings
from tunedprior.problem.trials import Trial, collect_settings

#: Models are fitted to fewer than three times this many results: the latest, and this many in place of all before them.
BLOCK = 300
# The part of these that are the best of all before them.
_BEST = 0.25


def thin_trials(trials: Sequence[Trial], aims: Goals, box: Box) -> Sequence[Trial]:
    """The results that models are fitted to: all, as long as there are fewer than 3·`BLOCK`.

    Of more, the latest and `BLOCK` of those before them: the best, and others spread over the space. Which these are
    changes only once in `BLOCK` results, so that what was computed for a history helps with the next one.
    """
    if len(trials) < 3 * BLOCK:
        return trials
    early = BLOCK * ((len(trials) - BLOCK) // BLOCK)
    return [*_choose_representatives(trials[:early], aims, box), *trials[early:]]


def _choose_representatives(trials: Sequence[Trial], aims: Goals, box: Box) -> list[Trial]:
    """`BLOCK` of these trials, in order: the best of them, then always the one furthest from all that were chosen."""
    order = np.argsort([-_compute_worth(trial, aims) for trial in trials], kind="stable")
    chosen = [int(position) for position in order[: int(_BEST * BLOCK)]]
    codes = box.to_kernel_inputs(encode_run_settings(collect_settings(trials), box))
    distances = torch.cdist(codes, codes[chosen]).amin(-1)
    while len(chosen) < BLOCK:
        chosen.append(_find_furthest(distances, chosen))
        distances = torch.minimum(distances, (codes - codes[chosen[-1]]).norm(dim=-1))
    return [trials[position] for position in sorted(chosen)]


def _find_furthest(distances: Float[Tensor, " n"], chosen: Sequence[int]) -> int:
    """Where the distance is largest, among those that were not chosen: settings may repeat."""
    left = distances.clone()
    left[list(chosen)] = -1.0
    return int(left.argmax())


def _compute_worth(trial: Trial, aims: Goals) -> float:
    """The worth of a trial, or of several objectives their sum; -∞ where something is missing or not as required."""
    worth = sum(aims.compute_utilities(trial)) if aims.has_front else aims.compute_worth(trial)
    return -np.inf if isnan(worth) or not aims.is_met(trial) else worth
