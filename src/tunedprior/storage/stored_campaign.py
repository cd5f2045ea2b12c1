"""A campaign in a database: its arguments, its fitted source models, and its history as an Optuna study.

The journal is authoritative. A change is decided on the history that was read, and its entries are appended in one
transaction if nobody else appended meanwhile; otherwise it is decided again. Optuna's own trials are updated
afterwards, for its pictures and dashboards; if a program ends before that, the next writer updates them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import is_
from secrets import token_hex

import msgspec
import optuna
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from tunedprior.checks import format_list, format_value
from tunedprior.errors import FileFormatError, InputError, StorageError
from tunedprior.goals.goals import Goals
from tunedprior.history.trials import History, Trial
from tunedprior.models.surrogate import Surrogate
from tunedprior.space.search_space import Space
from tunedprior.storage import blobs, databases
from tunedprior.storage.blobs import are_compatible, decode_surrogates, encode_surrogates
from tunedprior.storage.databases import get_storage, get_storage_id
from tunedprior.storage.entry_log import (
    ConflictError,
    DamagedError,
    DatabaseLog,
    ReorderedError,
    ReplacedError,
    TruncatedError,
    make_entry_log,
)
from tunedprior.storage.journal import (
    ADOPT,
    JournalEntry,
    Ledger,
    Numbers,
    decode_entry,
    describe_missing_entries,
    get_utc_now,
    list_changed_trials,
)
from tunedprior.storage.saved_campaign import (
    VERSION,
    SavedCampaign,
    decode_campaign,
    encode_campaign,
    encode_content,
)
from tunedprior.storage.study_trials import (
    RESERVED,
    from_optuna_trial,
    get_completion_key,
    make_reservation,
    to_optuna_attributes,
    to_optuna_directions,
    to_optuna_parameters,
    to_optuna_state,
    to_optuna_values,
)
from tunedprior.suggestion.config import CampaignConfig
from tunedprior.suggestion.suggester import Suggester

# How a campaign of before the journal kept corrections: as attributes of the study.
_CORRECTION = "tunedprior correction of trial "
# How many numbers are left out at once, as each is a trial of Optuna's.
_MOST_SKIPPED = 1000
# What a storage that does not do its work raises.
_FAILURES = (StorageInternalError, SQLAlchemyError, OSError)


class StudyRecord:
    """A store in an Optuna study, which is read at every access.

    Args:
        study: The study that holds it.
        space: What may be set.
        goals: What is wanted.
        mark: Called before the first entry that is written into a campaign of an older form, so that programs that know
            of no other refuse it from then on.
    """

    is_shared = True

    def __init__(self, study: Study, space: Space, goals: Goals, mark: Callable[[], None] | None = None) -> None:
        self.study, self._space, self._goals, self._mark = study, space, goals, mark
        self._log = make_entry_log(study)
        self._ledger = self._make_ledger()
        self._last = History()
        self._read_as: object = None
        self._known: dict[tuple[object, ...], Trial | None] = {}
        #: Numbers that were reserved for trials and not used.
        self._reserved: list[int] = []

    def _make_ledger(self) -> Ledger:
        return Ledger(self._space, self._where, may_tie=not isinstance(self._log, DatabaseLog))

    @property
    def _where(self) -> str:
        return f"the campaign {self.study.study_name!r}"

    # -- reading ---------------------------------------------------------------------------------------

    @property
    def history(self) -> History:
        """The present history; the same object while nothing changes."""
        try:
            return self._read()
        except _FAILURES as error:
            raise StorageError(f"{describe_failure(error)} It could not be read; try again.") from error

    @property
    def journal(self) -> Sequence[JournalEntry]:
        """Every change of every trial, in the order of writing."""
        _ = self.history
        return tuple(self._ledger.entries)

    @property
    def history_and_journal(self) -> tuple[History, Sequence[JournalEntry]]:
        """The history and its journal, with entries for changes that only Optuna's trials have."""
        history, entries = self.history, list(self._ledger.entries)
        others = [*self._list_unjournaled(), *(one for one in history.pending if one.id not in self._ledger)]
        entries += [
            JournalEntry(number, None, "", ADOPT, self._ledger.get_trial(one.id), one)
            for number, one in enumerate(others, len(entries) + 1)
        ]
        return history, entries

    def _list_unjournaled(self) -> list[Trial]:
        """Results that came with Optuna's own means, or from before there was a journal, and have no entry yet."""
        told = (*self._last.told, *self._last.set_aside)
        return [one for one in told if (known := self._ledger.get_trial(one.id)) is None or known.is_pending]

    def _read(self) -> History:
        try:
            frozen = self.study.get_trials(deepcopy=False)
        except KeyError as error:
            raise StorageError(
                f"The campaign {self.study.study_name!r} is no longer in its storage: somebody deleted it."
            ) from error
        self._read_entries()  # after the trials: of what is in both, entries are the newer
        others = [one for one in frozen if self._is_only_in_optuna(one)]
        corrections = self._read_corrections() if any(one.state.is_finished() for one in others) else {}
        read_as = (self._ledger.sequence, tuple(_make_version_key(one, corrections) for one in others))
        if read_as != self._read_as:
            found = [self._get_trial(one, corrections) for one in sorted(others, key=get_completion_key)]
            now = self._ledger.build_history(one for one in found if one is not None)
            self._last, self._read_as = _keep_results(self._last, now), read_as
        return self._last

    def _read_entries(self) -> None:
        """Apply the journal entries since the last read to the ledger; all of them if earlier ones have moved."""
        with self._convert_log_errors():
            try:
                new = self._log.read(self._ledger.sequence)
            except ReorderedError:
                self._ledger = self._make_ledger()
                new = self._log.read(0)
        for _, text in new:
            self._ledger.apply(decode_entry(text, self._where))

    @contextmanager
    def _convert_log_errors(self) -> Iterator[None]:
        """A `FileFormatError` for a journal whose end is not what was written."""
        try:
            yield
        except TruncatedError as error:
            raise FileFormatError(describe_missing_entries(self._where, error.first, error.last)) from error
        except ReplacedError as error:
            raise FileFormatError(
                f"The journal of {self._where} is damaged at entry {error.args[0]}: it is not the one that was written "
                "last. Go on from a copy of before."
            ) from error
        except DamagedError as error:
            raise FileFormatError(
                f"The journal of {self._where} is damaged: {error}. Go on from a copy of before."
            ) from error

    def _is_only_in_optuna(self, frozen: FrozenTrial) -> bool:
        """Whether a trial has no entry, or was suggested here and told with Optuna's own means."""
        number = frozen.number + 1
        if number not in self._ledger and RESERVED in frozen.system_attrs:
            if frozen.state == TrialState.COMPLETE:  # which only an entry of the journal made it
                raise FileFormatError(
                    f"The journal of {self._where} is damaged: it has no entry of trial "
                    f"{number}, which has a result. Go on from a copy of before."
                )
            return False
        if number not in self._ledger:
            return True
        return frozen.state.is_finished() and self._ledger.is_only_suggested(number)

    def _read_corrections(self) -> dict[int, str]:
        found = self.study.user_attrs
        return {
            int(name.removeprefix(_CORRECTION)): str(text)
            for name, text in found.items()
            if name.startswith(_CORRECTION)
        }

    def _get_trial(self, frozen: FrozenTrial, corrections: dict[int, str]) -> Trial | None:
        """As it was read before, if it has not changed since."""
        version = _make_version_key(frozen, corrections)
        if version not in self._known:
            self._known[version] = from_optuna_trial(
                frozen, self._space, self._goals, corrections.get(frozen.number + 1)
            )
        return self._known[version]

    # -- writing ---------------------------------------------------------------------------------------

    def commit(self, before: History, after: History, action: str, who: str = "") -> Numbers:
        """Append the changes between two histories to the journal, all or none."""
        changes = list_changed_trials(before, after)
        if before is not self._last:
            raise ConflictError
        if not changes:
            return {}
        try:
            if self._mark is not None:
                self._mark()
                self._mark = None
            numbers = self._reserve([trial for old, trial in changes if old is None], action == ADOPT)
        except _FAILURES as error:
            raise _make_storage_error(error) from error
        changed = [trial if old else replace(trial, id=numbers[trial.id]) for old, trial in changes]
        try:
            self._append(changed, action, who)
        except ConflictError:
            self._reserved += numbers.values()
            raise
        self._update_optuna()
        return numbers

    def _reserve(self, trials: Sequence[Trial], as_they_are: bool) -> Numbers:
        """Numbers for new trials, which nobody sees before there is an entry of them; their own, if that can be."""
        storage, numbers = get_storage(self.study), dict[int, int]()
        for trial in sorted(trials, key=lambda one: one.id):
            number = self._reserved.pop(0) if self._reserved else 0
            while not number:
                made = storage.create_new_trial(
                    get_storage_id(self.study), make_reservation(trial, self._space, self._goals)
                )
                number = storage.get_trial(made).number + 1
                if as_they_are and number < trial.id <= number + _MOST_SKIPPED:
                    storage.set_trial_state_values(made, TrialState.FAIL)
                    number = 0
            numbers[trial.id] = number
        return numbers

    def _append(self, changed: Sequence[Trial], action: str, who: str) -> None:
        """Append entries of these trials, after some of those that are known by Optuna alone, in one transaction."""
        ledger, act = self._ledger, token_hex(8)
        now = get_utc_now()
        new = [JournalEntry(0, None, "", ADOPT, None, one, act) for one in self._list_unjournaled()]
        new += [JournalEntry(0, now, who, action, None, one, act) for one in changed]
        entries = ledger.encode_entries(replace(one, sequence=ledger.sequence + k) for k, one in enumerate(new, 1))
        try:
            with self._convert_log_errors():
                self._log.append(ledger.sequence, [msgspec.json.encode(one).decode() for one in entries])
        except _FAILURES as error:
            if not self._is_appended(act, error):
                raise _make_storage_error(error) from error
        with suppress(*_FAILURES):  # they are there; whoever reads next reads them
            self._read_entries()
        if ledger.has_refused(act):
            raise ConflictError

    def _is_appended(self, act: str, error: Exception) -> bool:
        """Return whether entries were appended although the storage reported an error."""
        try:
            self._read_entries()
        except _FAILURES:
            raise StorageError(
                f"{describe_failure(error)} Whether it was recorded could not be found out, as the storage does not "
                "answer. Look at the history before you send it again."
            ) from error
        return self._ledger.has_act(act)

    def _update_optuna(self) -> None:
        """Have Optuna's trials say what the journal does, as far as they run; for its pictures and dashboards.

        A failure is no matter: nothing of the campaign is read from them, and whoever writes next tries again.
        """
        with suppress(*_FAILURES):
            for frozen in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING, TrialState.WAITING)):
                trial = self._ledger.get_trial(frozen.number + 1)
                if trial is not None:
                    with suppress(UpdateFinishedTrialError):  # another program was faster to do the same
                        self._write(trial, frozen)

    def _write(self, trial: Trial, frozen: FrozenTrial) -> None:
        storage, at = get_storage(self.study), get_storage_id(frozen)
        user, system = to_optuna_attributes(trial, self._space, self._goals)
        if any(frozen.system_attrs.get(name) != value for name, value in system.items()):
            params, distributions = to_optuna_parameters(trial.setting, self._space)
            for name, value in params.items():
                storage.set_trial_param(at, name, distributions[name].to_internal_repr(value), distributions[name])
            for name, value in system.items():
                storage.set_trial_system_attr(at, name, value)
            for name, value in user.items():
                storage.set_trial_user_attr(at, name, value)
        state = to_optuna_state(trial, self._goals)
        if state != TrialState.RUNNING:
            values = to_optuna_values(trial, self._goals) if state == TrialState.COMPLETE else None
            storage.set_trial_state_values(at, state, values)


def _make_version_key(frozen: FrozenTrial, corrections: dict[int, str]) -> tuple[object, ...]:
    """What changes whenever a trial does."""
    running = "" if frozen.state.is_finished() else repr((frozen.params, frozen.system_attrs))
    return frozen.number, frozen.state, running, corrections.get(frozen.number + 1)


def _keep_results(last: History, now: History) -> History:
    """The history as it is now, with the results of before if they are the same: models are made for those."""
    same = len(last.told) == len(now.told) and all(map(is_, last.told, now.told))
    return replace(now, told=last.told) if same else now


def _make_storage_error(error: Exception) -> StorageError:
    return StorageError(f"{describe_failure(error)} Nothing was recorded or changed; send it again.")


def describe_failure(error: Exception) -> str:
    """Describe an error of the database in one sentence."""
    cause = error.__cause__ if isinstance(error, StorageInternalError) and error.__cause__ else error
    first = str(getattr(cause, "orig", None) or cause).strip().splitlines() or [type(cause).__name__]
    return f"The campaign's storage failed ({first[0].rstrip('.')})."


#: The name of a campaign that was given none.
UNNAMED = "campaign"
_ARGUMENTS, _LEARNT = "campaign", "learnt"
# What is said of the configuration beside it: the version of the form that it and the trials have.
_FORM = "form"


@dataclass(frozen=True, eq=False)
class StoredCampaign:
    """A campaign in a database.

    Attributes:
        study: The study that holds it.
        saved: What it was made with.
    """

    study: Study
    saved: SavedCampaign

    @classmethod
    def find(cls, storage: str | BaseStorage, name: str) -> "StoredCampaign | None":
        """The campaign of this name; None if there is none."""
        study = databases.find_study(databases.open_storage(storage), name)
        data = None if study is None else blobs.load_blob(study, _ARGUMENTS)
        if study is None or data is None:
            return None
        return cls(study, decode_campaign(data, f"The study {name!r}"))

    @property
    def where(self) -> str:
        """What it is called in messages."""
        return f"The study {self.study.study_name!r}"

    def load_surrogates(self, config: CampaignConfig) -> dict[str, Surrogate] | None:
        """Return the fitted source models by response; None if there are none that fit."""
        data = blobs.load_blob(self.study, _LEARNT)
        found = {} if data is None else decode_surrogates(data)
        if not found:
            return None
        if not are_compatible(found, config.space, config.goals):
            raise FileFormatError(f"What {self.study.study_name!r} learnt from old data does not fit to its space.")
        return found


def refuse_other_campaign(config: CampaignConfig, stored: CampaignConfig, name: str) -> None:
    """Raise an `InputError` if the results of a stored campaign are not those of this one."""
    what = config.find_difference(stored)
    if what:
        raise InputError(
            f"The storage has a campaign {name!r} with another {what}. Give this one another name=, or open that one "
            f"with Optimizer.load(storage, name={name!r})."
        )


def open_record(
    storage: str | BaseStorage,
    name: str,
    suggester: Suggester,
    config: CampaignConfig,
    replace_surrogates: bool,
) -> StudyRecord:
    """Open the record of a campaign in a storage, and create the campaign if it is missing.

    Args:
        storage: The storage, or its URL.
        name: What the campaign is called.
        suggester: What makes suggestions.
        config: What it was made with.
        replace_surrogates: Whether to store the surrogates again, since old data was passed again.
    """
    goals, wanted = suggester.goals, to_optuna_directions(suggester.goals)
    database = databases.open_storage(storage)
    # To make one that is there writes too, for a moment, and not everybody may.
    study = databases.find_study(database, name) or databases.find_or_make_study(database, name, wanted)
    there = [one.name.lower() for one in study.directions]
    if there != wanted:
        raise InputError(
            f"The storage has a study {name!r} with the directions {format_list(there)}; this campaign has "
            f"{format_list(wanted)}. Give another name=."
        )
    if blobs.get_blob_description(study, _ARGUMENTS) is None or replace_surrogates:
        surrogates = {goals.main.name: suggester.surrogate, **suggester.other_surrogates}
        sources = [one.name for one in config.transfer.sources]
        if sources:
            blobs.save_blob(study, _LEARNT, encode_surrogates(surrogates), {"sources": sources})
        blobs.save_blob(study, _ARGUMENTS, encode_campaign(config), {_FORM: VERSION})
    is_older = (blobs.get_blob_description(study, _ARGUMENTS) or {}).get(_FORM, 1) < VERSION
    return StudyRecord(study, suggester.space, goals, partial(_upgrade_format_version, study) if is_older else None)


def _upgrade_format_version(study: Study) -> None:
    """Have older programs refuse the campaign: they would not see what is written from now on, or break its chain."""
    data = blobs.load_blob(study, _ARGUMENTS)
    if data is not None:
        saved = decode_campaign(data, f"The study {study.study_name!r}")
        blobs.save_blob(study, _ARGUMENTS, encode_content(saved), {_FORM: VERSION})


def load_campaign(storage: str | BaseStorage, name: str | None) -> StoredCampaign:
    """Return the campaign of this name, or the only one; an `InputError` lists those there are."""
    opened = databases.open_storage(storage)
    names = optuna.get_all_study_names(opened)
    campaigns = {one: found for one in names if (found := StoredCampaign.find(opened, one)) is not None}
    wanted = next(iter(campaigns), None) if name is None and len(campaigns) == 1 else name
    if wanted not in campaigns:
        there = format_list(map(repr, campaigns)) if campaigns else "none"
        asked = "" if name is None else f"; got {format_value(name)}"
        raise InputError(
            f"name must be that of a campaign in the storage, of which there are {there}{asked}.",
            typed=f"Say which campaign is meant with --name; there are {there}{asked}.",
        )
    return campaigns[wanted]
