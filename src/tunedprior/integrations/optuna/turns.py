"""Workers that choose at the same time take turns, so that no two choose the same setting.

A trial says that its parameters are being chosen, and then which were chosen. Who chooses waits until trials with lower
numbers have done so, and accounts for their choices as for settings under way. Nobody waits for long: the worker may be
gone.
"""

from collections.abc import Sequence
from time import monotonic, sleep

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from tunedprior.studies.access import set_trial_attribute
from tunedprior.studies.histories import CHOOSING, CHOSEN

# Seconds between two looks, for each trial to wait for, and after which a worker is taken to be gone. Whoever looks
# takes a database's time from those who choose.
_PAUSE, _PATIENCE = 0.1, 10.0


class Turns:
    """Whose turn it is to choose, among processes; threads of one process have a lock."""

    def __init__(self) -> None:
        self._gone: set[int] = set()
        self._own: set[int] = set()

    def begin(self, study: Study, trial: FrozenTrial) -> None:
        """Say that this trial's parameters are being chosen."""
        self._own.add(trial.number)
        set_trial_attribute(study, trial, CHOSEN, CHOOSING)

    def end(self, study: Study, trial: FrozenTrial, chosen: str) -> None:
        """Say which were chosen."""
        set_trial_attribute(study, trial, CHOSEN, chosen)

    def wait(self, study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
        """All other trials, once those of other processes with lower numbers have chosen."""
        until = monotonic() + _PATIENCE
        while True:
            others = drop_trial(trial, study.get_trials(deepcopy=False))
            running = [one for one in others if one.state == TrialState.RUNNING and one.number < trial.number]
            before = {one.number for one in running if one.system_attrs.get(CHOSEN) == CHOOSING}
            if not before - self._gone - self._own:
                return others
            if monotonic() > until:
                self._gone |= before
            sleep(_PAUSE * len(before - self._own))


def list_choices(trials: Sequence[FrozenTrial]) -> dict[int, str]:
    """What is known by now of each trial, by its number: what was chosen for it, or that it has finished."""
    return {
        one.number: one.state.name if one.state.is_finished() else repr((one.system_attrs.get(CHOSEN), one.params))
        for one in trials
    }


def drop_trial(trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """All of these trials but this one."""
    return [one for one in trials if one.number != trial.number]
