"""A campaign that several people use at the same time: each result is recorded once, and none is lost."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from threading import RLock
from typing import Any

from optuna.study import Study
from sqlalchemy.exc import SQLAlchemyError

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.campaign.outlier_warnings import Spans, collect_old_spans
from tunedprior.errors import InputError, StorageError
from tunedprior.goals.goals import Goals
from tunedprior.history.table import HistoryColumns
from tunedprior.history.trials import COMPLETE, FAILED, WITHDRAWN, History, Trial, is_same_setting
from tunedprior.space.search_space import Space
from tunedprior.storage.journal import RECORD
from tunedprior.storage.stored_campaign import describe_failure
from tunedprior.web import idempotency
from tunedprior.web.entries import Entry, FormConflictError, NotFoundError

_IN_WORDS = {COMPLETE: "has a result", FAILED: "is recorded as failed", WITHDRAWN: "was taken back"}


@contextmanager
def _convert_database_errors() -> Iterator[None]:
    """A `StorageError` for what a database raises while a form is taken: it may be sent again, whatever came of it."""
    try:
        yield
    except SQLAlchemyError as error:
        raise StorageError(f"{describe_failure(error)} Send the form again: it counts once.") from error


class SharedCampaign:
    """A campaign for several threads and programs; changes by others are seen at once.

    Args:
        open_campaign: Opens the campaign. One optimiser keeps the record here, and is never busy for long.
    """

    def __init__(self, open_campaign: Callable[[], Optimizer]) -> None:
        self._keeper, self._lock = open_campaign(), RLock()
        if self._keeper.study is None:
            raise InputError("Only a campaign in a database can be served, such as campaign.db.")
        self.study: Study = self._keeper.study
        self.space: Space = self._keeper.space
        self.goals: Goals = self._keeper.suggester.goals
        self.old_spans: Spans = collect_old_spans(self._keeper.suggester)
        taken = {*HistoryColumns.from_space(self.space, self.goals).names, *(one.name for one in self.goals.responses)}
        #: The user's own columns that hold who told a result, and the form that a run came with.
        self.who, self.form = _find_free_name("who", taken), _find_free_name("entry form", taken)
        self._register = idempotency.make_register(self.study)

    @property
    def name(self) -> str:
        """The name of the campaign."""
        return self.study.study_name

    @property
    def trials(self) -> History:
        """The present history."""
        with self._lock:
            return self._keeper.trials

    def list_recording_times(self) -> dict[int, datetime]:
        """Return the local time at which each result was recorded, by trial number."""
        with self._lock:
            journal = self._keeper.journal
        known = journal[journal["action"].isin([RECORD]) & journal["time"].notna()]
        times = [time.to_pydatetime().astimezone() for time in known["time"]]
        return dict(zip(known["trial"], times, strict=True))

    def get_trial(self, number: int) -> Trial:
        """Return the trial with this number, in any state."""
        return select_trial(self.trials, number)

    # -- what people do --------------------------------------------------------------------------------

    @_convert_database_errors()
    def tell(self, number: int, entry: Entry, form_column: str = "") -> Trial:
        """Record the result of a suggestion, or of a cancelled one; repeating the form changes nothing."""
        with self._lock:
            now = self.get_trial(number)
            if now.is_awaited and form_column and self._register.get_outcome(form_column) is not None:
                return self._check_unchanged(now, entry)  # it was taken back since
            if now.is_awaited:
                try:
                    self._keeper.tell(
                        *self._convert_entry(entry), failed=entry.failed, trial=number, note=entry.note, who=entry.who
                    )
                except InputError:
                    now = self.get_trial(number)
                    if now.is_awaited:
                        raise
                else:
                    if form_column:
                        self._settle(form_column, number)
                    return self.get_trial(number)
            if not now.set_aside and entry.is_told_by(now, self.goals):
                return now
            raise FormConflictError(f"Trial {number} {_describe_state(now)} meanwhile. Nothing was changed.", now)

    @_convert_database_errors()
    def tell_unasked(self, form: str, entry: Entry) -> Trial:
        """Record the result of a run that was not suggested; repeating the form changes nothing.

        The form's number is kept with the result. So a form that is sent again finds its result whatever happened in
        between, also after a crash between writing and saying so.
        """
        if not idempotency.is_form_number(form):
            raise NotFoundError("This form has no number of its own. Open it anew, and type it in there.")
        known = self._find_form_trial(form)
        if known is not None:
            return self._check_unchanged(known, entry)
        with idempotency.acquire_claim(self._register, form) as settle:
            known = self._find_form_trial(form)  # whoever had the form before may have recorded it
            if known is not None:
                return self._check_unchanged(known, entry)
            if settle is None:
                raise FormConflictError(
                    "This form was sent a moment ago, and what it says is not in the campaign yet. Nothing was changed "
                    "now. Send it again in half a minute: it counts once, and then the page says what is there."
                )
            with self._lock:
                found = self._tell_form(form, entry)
            with suppress(SQLAlchemyError):  # the result is there, and has the form's number with it
                settle([found.id])
            return found

    def _tell_form(self, form: str, entry: Entry) -> Trial:
        setting, values = self._convert_entry(entry)
        try:
            self._keeper.tell({**setting, self.form: form}, values, failed=entry.failed, note=entry.note, who=entry.who)
            self._withdraw_twins(form)
        except Exception:  # it may have been written all the same
            found = self._find_form_trial(form)
            if found is None:
                raise
            return found
        found = self._find_form_trial(form)
        assert found is not None  # it was told just now
        return found

    def _check_unchanged(self, known: Trial, entry: Entry) -> Trial:
        """The trial that came of a form before; an `FormConflictError` if it no longer says what the form says."""
        before = f"This form was recorded before, as trial {known.id}"
        if known.is_pending or known.set_aside:
            raise FormConflictError(f"{before}, and taken back since. Nothing was changed.", known)
        if not entry.is_told_by(known, self.goals):
            raise FormConflictError(
                f"{before}, which says something else than the form does now. Nothing was changed. Correct trial "
                f"{known.id} if it is wrong, or open a new form for another run.",
                known,
            )
        return known

    def _withdraw_twins(self, form: str) -> None:
        """Withdraw all results of a form except the first.

        A claim does not keep another server off for ever: one that is held up for long counts as ended.
        """
        twins = sorted(one.id for one in self._keeper.trials.told if one.extra.get(self.form) == form)
        for number in twins[1:]:
            with suppress(InputError):  # the other server was faster to do so
                self._keeper.withdraw(number, "recorded twice")

    def _settle(self, form: str, number: int) -> None:
        """Remember a form that was acted upon, as far as that can be written."""
        with suppress(SQLAlchemyError), idempotency.acquire_claim(self._register, form, patience=0.0) as settle:
            if settle is not None:
                settle([number])

    def amend(self, number: int, version: str, entry: Entry) -> Trial:
        """Correct a result if it is still the version of the form; repeating the correction changes nothing."""
        with self._lock:
            now = self.get_trial(number)
            if now.is_pending or now.set_aside:
                raise FormConflictError(f"Trial {number} {_describe_state(now)}, so there is nothing to correct.", now)
            if entry.is_told_by(now, self.goals):
                return now
            if version != compute_version(now):
                raise FormConflictError(f"Trial {number} was corrected by somebody else meanwhile.", now)
            changes: dict[str, Any] = {"note": entry.note, "failed": entry.failed}
            if not entry.failed:
                blank = {one.name: None for one in self.goals.responses if one.name not in entry.values}
                changes["value"] = {**entry.values, **blank}
            if not is_same_setting(entry.setting, now.setting):
                changes["setting"] = entry.setting
            self._keeper.amend(number, **changes, who=entry.who)
            return self.get_trial(number)

    def cancel(self, number: int, who: str = "") -> Trial:
        """Cancel a suggestion; repeating it changes nothing."""
        with self._lock:
            if self.get_trial(number).is_pending:
                with suppress(InputError):  # somebody else was faster, as the next line finds out
                    self._keeper.cancel(number, who=who)
            now = self.get_trial(number)
            if not now.set_aside:
                raise FormConflictError(
                    f"Trial {number} {_describe_state(now)} meanwhile, so it was run after all.", now
                )
            return now

    def undo(self, number: int, who: str = "") -> Trial:
        """Undo the last result if it is still this one; return the trial to show next."""
        with self._lock:
            history = self.trials
            now = select_trial(history, number)
            if now.is_pending or now.set_aside == WITHDRAWN:
                return now
            if not history.told or history.told[-1].id != number:
                last = history.told[-1] if history.told else None
                raise FormConflictError(
                    f"Trial {number} is no longer what was told last. Take it back on its own page, if it is wrong.",
                    last,
                )
            self._keeper.undo(number, who=who)
            return self.get_trial(number)

    def withdraw(self, number: int, who: str = "") -> Trial:
        """Withdraw a result; repeating it changes nothing."""
        with self._lock:
            now = self.get_trial(number)
            if now.is_pending:
                raise FormConflictError(f"Nothing was told of trial {number} yet.", now)
            if not now.set_aside:
                self._keeper.withdraw(number, f"{now.note}; taken back" if now.note else "taken back", who=who)
            return self.get_trial(number)

    # -- how it is done --------------------------------------------------------------------------------

    def _convert_entry(self, entry: Entry) -> tuple[dict[str, Any], dict[str, float] | None]:
        who_column = {self.who: entry.who} if entry.who else {}
        return {**entry.setting, **who_column}, None if entry.failed else dict(entry.values)

    def _find_form_trial(self, form: str) -> Trial | None:
        """The trial that came of a form: that which has its number, or which the register names."""
        history = self.trials
        found = next((one for one in history.trials if one.extra.get(self.form) == form), None)
        if found is None:
            named = self._register.get_outcome(form) or ()
            found = next((one for one in history.trials if one.id in named), None)
        return found


def select_trial(history: History, number: int) -> Trial:
    """Return the trial with this number; raise a `NotFoundError` if there is none."""
    found = next((one for one in history.trials if one.id == number), None)
    if found is None:
        raise NotFoundError(f"There is no trial {number} in this campaign.")
    return found


def compute_version(what: Trial | History) -> str:
    """Return a digest that changes with the trial or the history."""
    trials = what.trials if isinstance(what, History) else (what,)
    text = repr(
        [
            (one.id, one.state, one.value, sorted(one.more.items()), one.note, one.setting, sorted(one.extra.items()))
            for one in trials
        ]
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _describe_state(trial: Trial) -> str:
    return _IN_WORDS.get(trial.state, f"is {trial.state}")


def _find_free_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
