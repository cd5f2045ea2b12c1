"""A history kept in an Optuna study: nothing that was told is lost, and nobody's result is taken twice."""

import time
from collections.abc import Iterable

from optuna.exceptions import UpdateFinishedTrialError
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from tunedprior.campaign.study_trials import (
    AS_TOLD,
    as_text,
    attributes_of,
    parameters_of,
    state_of,
    template,
    told_at,
    trial_in,
    values_of,
)
from tunedprior.errors import InputError
from tunedprior.problem.aims import Aims
from tunedprior.problem.space import Setting, Space
from tunedprior.problem.trials import PENDING, History, Trial
from tunedprior.studies.access import id_of, id_of_number, storage_of

# Corrections of results that were told are attributes of the study, as Optuna changes no trial that has finished.
_CORRECTION = "tunedprior correction of trial "
# Seconds, within which somebody who told a trial has put right what others wrote over it.
_PAUSE = 0.2


class StudyRecord:
    """Reads the study each time it is asked for, and writes trial by trial; each is there or not, never in part."""

    is_shared = True

    def __init__(self, study: Study, space: Space, aims: Aims) -> None:
        self.study, self._space, self._aims = study, space, aims
        self._last = History()
        self._read_as: tuple[tuple[object, ...], ...] = ()
        self._known: dict[tuple[object, ...], Trial | None] = {}

    @property
    def history(self) -> History:
        """What is known by now, by whomever it was told; the same object while nothing changes."""
        return self._read()

    def _read(self) -> History:
        corrections = self._corrections()
        frozen = self.study.get_trials(deepcopy=False)
        read_as = tuple(_version(one, corrections) for one in frozen)
        if read_as != self._read_as:
            trials = [self._trial(one, corrections) for one in sorted(frozen, key=told_at)]
            self._last, self._read_as = _history(one for one in trials if one is not None), read_as
        return self._last

    def replace(self, history: History) -> dict[int, int]:
        """Write what is new, what was told of pending trials, and what was corrected.

        Whoever else was faster stays: an `InputError` if a trial was told by somebody else since.
        """
        before = {trial.id: trial for trial in self._last.trials}
        numbers: dict[int, int] = {}
        for trial in sorted(history.trials, key=lambda one: one.id not in before):
            old = before.get(trial.id)
            if old is None:
                numbers[trial.id] = self._add(trial)
            elif old != trial and old.is_pending:
                self._finish(trial)
            elif old != trial:
                self._correct(trial)
        self._read()  # again, with the numbers that the study gave
        return numbers

    def ask_instead(self, number: int, setting: Setting) -> None:
        """Change the setting of a pending trial, right after it was asked for."""
        trial = Trial(dict(setting), suggested=dict(setting), id=number, is_pending=True)
        self._write(trial, id_of_number(self.study, number - 1))
        self._read_as = ()

    def _add(self, trial: Trial) -> int:
        storage = storage_of(self.study)
        made = storage.create_new_trial(id_of(self.study), template_trial=template(trial, self._space, self._aims))
        return storage.get_trial(made).number + 1

    def _finish(self, trial: Trial) -> None:
        """Tell a pending trial; what it says counts from the moment that its state is set, and not before.

        Two may write at the same moment. Whoever sets the state is the one who told it; if the other one wrote last
        before that, it is put right as a correction.
        """
        storage, at = storage_of(self.study), id_of_number(self.study, trial.id - 1)
        state = state_of(trial, self._aims)
        try:
            self._write(trial, at)
            values = values_of(trial, self._aims) if state == TrialState.COMPLETE else None
            storage.set_trial_state_values(at, state, values)
            if storage.get_trial(at).system_attrs.get(AS_TOLD) != as_text(trial, self._space):
                self._correct(trial)
        except UpdateFinishedTrialError as error:
            time.sleep(_PAUSE)  # in which the other one puts right what was written over
            told = self._corrections().get(trial.id)
            now = trial_in(storage.get_trial(at), self._space, self._aims, told)
            raise InputError(
                f"Trial {trial.id} was told by somebody else meanwhile: {now}. Nothing was changed; amend it if it is "
                "wrong."
            ) from error

    def _write(self, trial: Trial, at: int) -> None:
        """All of a trial that runs, but its state."""
        storage = storage_of(self.study)
        params, distributions = parameters_of(trial.setting, self._space)
        for name, value in params.items():
            storage.set_trial_param(at, name, distributions[name].to_internal_repr(value), distributions[name])
        user, system = attributes_of(trial, self._space, self._aims)
        for name, value in system.items():
            storage.set_trial_system_attr(at, name, value)
        for name, value in user.items():
            storage.set_trial_user_attr(at, name, value)

    def _correct(self, trial: Trial) -> None:
        self.study.set_user_attr(f"{_CORRECTION}{trial.id}", as_text(trial, self._space))

    def _corrections(self) -> dict[int, str]:
        found = self.study.user_attrs
        return {
            int(name.removeprefix(_CORRECTION)): str(text)
            for name, text in found.items()
            if name.startswith(_CORRECTION)
        }

    def _trial(self, frozen: FrozenTrial, corrections: dict[int, str]) -> Trial | None:
        """As it was read before, if it has not changed since."""
        version = _version(frozen, corrections)
        if version not in self._known:
            self._known[version] = trial_in(frozen, self._space, self._aims, corrections.get(frozen.number + 1))
        return self._known[version]


def _version(frozen: FrozenTrial, corrections: dict[int, str]) -> tuple[object, ...]:
    """What changes whenever a trial does."""
    running = "" if frozen.state.is_finished() else repr((frozen.params, frozen.system_attrs))
    return frozen.number, frozen.state, running, corrections.get(frozen.number + 1)


def _history(trials: Iterable[Trial]) -> History:
    """Trials in the order they were told, each where it belongs."""
    found = list(trials)
    pending = sorted((one for one in found if one.state == PENDING), key=lambda one: one.id)
    aside = tuple(one for one in found if one.set_aside)
    return History(tuple(one for one in found if not one.is_pending and not one.set_aside), tuple(pending), aside)
