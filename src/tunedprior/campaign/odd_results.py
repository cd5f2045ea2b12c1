"""Results that look like slips: a number that stands for "not measured", or one far from all others."""

from collections.abc import Sequence

import numpy as np

from tunedprior.checks import listed, warn
from tunedprior.errors import OddResultWarning
from tunedprior.problem.aims import Aims
from tunedprior.problem.objective import Objective
from tunedprior.problem.suspicions import isolated, sentinels
from tunedprior.problem.trials import Trial

_ENOUGH = 5  # results, to tell what is far from them
_FAR = 30.0  # times their range: few results are no measure of what is possible


def warn_of_odd_results(before: Sequence[Trial], new: Sequence[Trial], aims: Aims) -> None:
    """Name those of the new results that look like slips; they are taken all the same."""
    for said in slips_among(before, new, aims):
        warn(
            f"{said} If it is a slip, or was not measured, amend the trial or take it back.",
            OddResultWarning,
        )


def slips_among(before: Sequence[Trial], new: Sequence[Trial], aims: Aims) -> list[str]:
    """A sentence for each response in which some of the new results look like slips."""
    return [said for one in aims.responses if not one.labels and (said := _odd_in(one, before, new))]


def _odd_in(response: Objective, before: Sequence[Trial], new: Sequence[Trial]) -> str:
    complete = response.told((*before, *new))
    if not complete or not response.told(new):
        return ""
    values = np.array([response.value_of(trial) for trial in complete], dtype=np.float64)
    size = float(np.abs(values).max()) or 1.0  # divided by for a start: neither 1e-300 nor 1e300 is squared or summed
    far = isolated(values / size, _FAR) if len(values) > _ENOUGH else np.zeros(len(values), dtype=bool)
    odd = far | sentinels(values)
    fresh = {trial.id for trial in new}
    found = [trial for trial, is_odd in zip(complete, odd, strict=True) if is_odd and trial.id in fresh]
    said = listed(f"{response.value_of(trial):g} (trial {trial.id})" for trial in found)
    return f"A result is far from all others: {said}." if found else ""
