"""`TrialRecorder`, the part of `Optimizer` that records trials: tell, record, amend, withdraw, cancel, undo, resume."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from math import isnan, nan
from os import PathLike
from threading import RLock
from typing import Any, TypeVar, cast

import pandas as pd

from tunedprior.campaign.outlier_warnings import warn_of_flags, warn_of_odd_results
from tunedprior.campaign.recording import (
    RecordReport,
    ResultSheet,
    UndoReport,
    drop_campaign_column,
    refuse_other_sheets,
    refuse_other_units,
)
from tunedprior.checks import check_flag, format_list, format_value, warn
from tunedprior.errors import InputError, OddResultWarning, StorageError
from tunedprior.goals.goal import DIRECTIONS, format_goal
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import encode_run_settings
from tunedprior.history.parsing import (
    Measurement,
    Run,
    RunResult,
    Suggestion,
    check_note,
    get_pending_trial,
    get_trial_number,
    list_boolean_responses,
    parse_measurements,
    refuse_dates,
)
from tunedprior.history.table import HistoryColumns, make_history_table, parse_history
from tunedprior.history.trials import History, Trial, collect_settings, is_same_setting, recognise_setting
from tunedprior.space.parameters import is_missing
from tunedprior.space.search_space import Setting
from tunedprior.storage.entry_log import ConflictError
from tunedprior.storage.file_guard import Provenance
from tunedprior.storage.journal import (
    ADOPT,
    AMEND,
    CANCEL,
    RECORD,
    UNDO,
    WITHDRAW,
    Numbers,
    Record,
    build_journal_table,
    list_changed_trials,
    list_changes_in_force,
    refuse_text,
)
from tunedprior.storage.saved_campaign import derive_study_id
from tunedprior.suggestion.suggester import Suggester
from tunedprior.tables import read_table

TrialRecorderT = TypeVar("TrialRecorderT", bound="TrialRecorder")
MethodT = TypeVar("MethodT", bound=Callable[..., Any])
# How often a change is decided on anew because others changed something meanwhile.
_MOST_CONFLICTS = 1000


def lock_method(method: MethodT) -> MethodT:
    """Decorate a method to hold the object's `_lock`; such methods may call each other."""

    @wraps(method)
    def call_locked(self: Any, *arguments: Any, **options: Any) -> Any:
        with self._lock:
            return method(self, *arguments, **options)

    return cast(MethodT, call_locked)


class TrialRecorder:
    """The recorded trials of an `Optimizer`. If a method raises an error, the record stays as it was."""

    _suggester: Suggester
    _record: Record
    _columns: HistoryColumns
    _made_with: Provenance
    _lock: RLock

    @property
    def id(self) -> str:
        """The campaign's unique identifier: sheets of suggestions carry it, and copies of a file share it."""
        study = getattr(self._record, "study", None)
        return self._made_with.id or ("" if study is None else derive_study_id(study))

    @property
    def _history(self) -> History:
        return self._record.history

    def _commit(self, decide: Callable[[History], History], action: str, who: str) -> tuple[History, History, Numbers]:
        """Append a change to the journal; decide anew if somebody else changed the history meanwhile.

        Returns the histories before and after, and the numbers that new trials of the latter were given.

        Args:
            decide: From the present history to the changed one; an `InputError` if the change is impossible.
            action: The action, as the journal calls it.
            who: The person who made the change.
        """
        who = _check_person(who)
        for _ in range(_MOST_CONFLICTS):
            before = self._history
            after = decide(before)
            refuse_text((trial for _, trial in list_changed_trials(before, after)), who)
            try:
                return before, after, self._record.commit(before, after, action, who)
            except ConflictError:
                continue
        raise StorageError("Others change the campaign all the time. Nothing was recorded or changed; send it again.")

    def __getstate__(self) -> dict[str, Any]:
        return {name: one for name, one in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())

    # -- telling ---------------------------------------------------------------------------------------

    @lock_method
    def tell(
        self,
        setting: Setting | Sequence[Setting] | pd.DataFrame | pd.Series,
        value: RunResult | None = None,
        failed: bool | Sequence[bool] = False,
        *,
        trial: int | Suggestion | Trial | None = None,
        note: str = "",
        noise_std: float | Sequence[float] | Mapping[str, float] | None = None,
        cost: float | Sequence[float] | None = None,
        who: str = "",
    ) -> None:
        """Record the results of one setting or of several.

        A failed run has the value NaN, or `failed=True`. A setting need not have been suggested, and need not lie on
        the grid: give what was actually run. A setting that `ask` returned is recognised by its trial's number, changed
        or not; any other setting within 5 % of a pending suggestion counts as that one. A setting with another category
        or further off is a trial of its own, and the suggestion stays `pending`, unless `trial=` names it. Columns of a
        table that are no parameters are kept with the trial. Either all results are recorded, or none and an
        `InputError` is raised.

        Args:
            setting: The setting that was run, or several.
            value: The result: a number, or a column with one for each setting. Of several responses a dict by name
                (some may be left out), a list of such dicts, or a table.
            failed: Whether the run gave no value.
            trial: The number of the suggestion that was run, where it is known.
            note: A note to keep with the trial.
            noise_std: The standard deviation of the noise of these values, or one for each setting; of several
                responses by name. For values whose noise is known in particular.
            cost: The cost of each run, one for all or one for each. Once costs are recorded, suggestions maximise the
                improvement per unit of cost.
            who: The person who records it, for the journal.
        """
        run = Run.parse(setting, value, failed, trial, note, self._columns, self._suggester.goals, noise_std, cost)

        def decide(history: History) -> History:
            if self._record.is_shared:
                run.refuse_told_before(history)
            return run.append_to(history, self._suggester.space, self._suggester.own_box)

        before, after, _ = self._commit(decide, RECORD, who)
        new = after.told[len(before) :]
        if again := run.find_repeats(before):
            warn(
                f"Trial {format_list(one.id for one in again)} was told already, so this is kept as another run "
                "of the same "
                "setting. If it was to be corrected, undo this and amend the trial; for a replicate, tell "
                "dict(setting).",
                OddResultWarning,
            )
        warn_of_flags(after.told, list_boolean_responses(value, self._suggester.goals), self._suggester)
        warn_of_odd_results(before.told, new, self._suggester)

    @lock_method
    def record(
        self, results: Any, *, as_run: bool = False, skip_recorded: bool = False, own: bool = True, who: str = ""
    ) -> RecordReport:
        """Record a table of suggestions with results filled in; all rows, or none and an `InputError`.

        A row is recognised by its trial's number; a row without one is a run that nobody suggested; a row without a
        result stays open. The `InputError` names each wrong row and the reason: a setting outside of the space, or far
        from the suggestion of that number (another category, or a number more than a quarter of the range away); a
        trial with a result already; a cell that is no number. A sheet written for another campaign is refused; one
        without a campaign's id is accepted.

        Args:
            results: A table, or a file with one (CSV in any dialect, Excel).
            as_run: Whether settings are accepted as they are, on the grid or not, near the suggestion or not.
            skip_recorded: Whether rows with a result that is recorded already are skipped.
            own: Whether rows without a trial's number are accepted, as runs that nobody suggested.
            who: The person who records it, for the journal.
        """
        columns = self._columns
        read = read_table(results, (columns.campaign, *columns.names), "The table of results")
        refuse_other_sheets(read, columns)
        refuse_other_units(read, self._made_with.old_sources)
        read = drop_campaign_column(
            read.format_percentages((columns.response, *columns.others.values())), columns.campaign, self.id
        )
        suggester = self._suggester
        recorded = RecordReport(())

        def decide(history: History) -> History:
            nonlocal recorded
            sheet = ResultSheet(self._columns, suggester.space, suggester.own_box, history, as_run, skip_recorded, own)
            run, recorded = sheet.read(read, self._direction)
            return history if run is None else run.append_to(history, suggester.space, suggester.own_box)

        before, after, numbers = self._commit(decide, RECORD, who)
        told = tuple(replace(one, id=numbers.get(one.id, one.id)) for one in after.told[len(before) :])
        warn_of_odd_results(before.told, told, suggester)
        return replace(recorded, trials=told) if told else recorded

    @lock_method
    def undo(self, trial: int | Suggestion | Trial | None = None, *, who: str = "") -> UndoReport:
        """Undo the last change: a result, a correction, a withdrawal or a cancellation, whoever made it.

        When a result is undone, its suggestion is pending again under its number; a run that nobody suggested is
        withdrawn. In all other cases the trial is as it was before. Calling it again undoes the change before. The
        journal keeps all entries.

        Args:
            trial: Undo the result of this trial instead, with all its corrections: its number in `history`, or the
                trial.
            who: The person who undoes it, for the journal.
        """
        last, action = Trial({}), RECORD

        def decide(history: History) -> History:
            nonlocal last, action
            if trial is not None:
                last, action = self._find_result(trial, history), RECORD
                return _take_back(last, history)
            in_force = list_changes_in_force(self._record.history_and_journal[1])
            if not in_force:
                raise InputError("Nothing was told yet, so there is nothing to take back.")
            last, before, action = in_force[-1].after, in_force[-1].before, in_force[-1].action
            if action in (RECORD, ADOPT) or before is None:
                action = RECORD
                return _take_back(history.get_result(last.id), history)
            return history.restore_trial(before)

        _, after, _ = self._commit(decide, UNDO, who)
        return UndoReport(last, action, next(one for one in after.trials if one.id == last.id))

    @property
    @lock_method
    def undo_count(self) -> int:
        """The number of changes that `undo` can undo."""
        return len(list_changes_in_force(self._record.history_and_journal[1]))

    @lock_method
    def amend(
        self,
        trial: int | Suggestion | Trial,
        value: RunResult | None = None,
        *,
        failed: bool = False,
        setting: Setting | None = None,
        note: str | None = None,
        who: str = "",
    ) -> None:
        """Correct a recorded result; it keeps its number and place, and what is left out stays as it was.

        The journal keeps the earlier values.

        Args:
            trial: Its number in `history`, or the trial.
            value: The right value; of several responses a dict of those to correct.
            failed: Whether it gave no value after all.
            setting: The setting that was really run; parameters that are left out stay as they were.
            note: The new note.
            who: The person who corrects it, for the journal.
        """

        def decide(history: History) -> History:
            wrong = self._find_result(trial, history)
            return history.amend_result(wrong, **self._collect_corrections(wrong, value, failed, setting, note))

        _, after, _ = self._commit(decide, AMEND, who)
        if value is not None:
            right = after.get_result(get_trial_number(trial))
            warn_of_flags(after.told, list_boolean_responses(value, self._suggester.goals), self._suggester)
            warn_of_odd_results([one for one in after.told if one.id != right.id], [right], self._suggester)

    def _collect_corrections(
        self, wrong: Trial, value: RunResult | None, failed: bool, setting: Setting | None, note: str | None
    ) -> dict[str, Any]:
        """The fields of a trial to correct, with their new values."""
        if value is None and not failed and setting is None and note is None:
            raise InputError("amend needs the right value, setting or note, or failed=True; got none of them.")
        if value is not None and check_flag(failed, "failed"):
            raise InputError("A result has a value, or it failed; got both. Leave one of them out.")
        changes: dict[str, Any] = {} if note is None else {"note": check_note(note)}
        if value is not None or failed:
            changes |= _correct_responses(wrong, value, failed, self._suggester.goals)
        if setting is not None:
            if not isinstance(setting, Mapping | pd.Series) or not len(setting):
                raise InputError(
                    f"setting must be a dict of what was really run, such as {{{self._columns.parameters[0]!r}: …}}; "
                    f"got {type(setting).__name__} {format_value(setting)}."
                )
            run = {**wrong.setting, **dict(setting)}
            unknown = [name for name in run if name not in self._columns.parameters]
            if unknown:
                raise InputError(f"Parameters are {format_list(self._columns.parameters)}; got {format_list(unknown)}.")
            refuse_dates(pd.DataFrame([run], dtype=object), self._suggester.space)
            encode_run_settings([run], self._suggester.own_box)  # refuses what lies outside
            changes["setting"] = recognise_setting(run, self._suggester.space)
        return changes

    @lock_method
    def withdraw(self, trial: int | Suggestion | Trial, note: str = "", *, who: str = "") -> None:
        """Set a result aside: it stays in `history` with the state "withdrawn" and counts for nothing else.

        Args:
            trial: Its number in `history`, or the trial.
            note: The reason; it replaces the trial's note.
            who: The person who withdraws it, for the journal.
        """
        reason = check_note(note)
        self._commit(lambda history: history.withdraw_result(self._find_result(trial, history), reason), WITHDRAW, who)

    @lock_method
    def cancel(self, setting: Setting | int | Trial | Sequence[Setting | int | Trial], *, who: str = "") -> None:
        """Set aside pending settings that will not be run; `history` calls them "cancelled"."""

        def decide(history: History) -> History:
            for one in setting if isinstance(setting, list | tuple) else [setting]:
                trial = get_pending_trial(
                    one, history, self._suggester.space, "Only a pending setting can be cancelled"
                )
                history = history.cancel_trial(trial)
            return history

        self._commit(decide, CANCEL, who)

    @lock_method
    def resume(self: TrialRecorderT, history: pd.DataFrame | str | PathLike[str] | History) -> TrialRecorderT:
        """Continue from a saved `history` (a table or a file) with its pending suggestions.

        Results filled in since then are recorded: values beside pending rows, and rows of results at the end. If a row
        contradicts the campaign, an `InputError` names it and nothing is recorded.
        """
        if self._history != History():
            raise InputError("resume needs an Optimizer that was told nothing yet. Make a new one.")
        if isinstance(history, History):
            encode_run_settings(
                collect_settings(history.trials), self._suggester.surrogate.box
            )  # refuses what lies outside
        else:
            box = self._suggester.own_box
            columns = self._columns
            responses = (columns.response, *columns.others.values())
            read = read_table(history, columns.names, "The history").format_percentages(responses)
            history = parse_history(
                read.table,
                columns,
                self._suggester.space,
                read.format_place,
                self._direction,
                lambda settings: encode_run_settings(settings, box),
            )
        _, told, _ = self._commit(lambda _: history, ADOPT, "")
        warn_of_odd_results((), told.told, self._suggester)
        return self

    # -- looking ---------------------------------------------------------------------------------------

    @property
    @lock_method
    def journal(self) -> pd.DataFrame:
        """Every change of every trial in the order of writing: who changed what, when, and the earlier values.

        `sequence`, the number of the entry; `time`, in UTC; `who`, where it is known; `action`: suggest, record, amend,
        withdraw, undo, cancel, or adopt for trials from before or from elsewhere; `trial`, its number; `before` and
        `after`: the changed fields of the trial, by name. Entries are never changed.
        """
        return build_journal_table(self._record.journal, self._suggester.goals)

    @property
    @lock_method
    def history(self) -> pd.DataFrame:
        """All trials as a table: told ones in order, then pending ones, then those set aside; see `resume`.

        The settings; the response (`y`, or the name given as `target=`; NaN for a failed run); `state` (complete,
        failed, pending, cancelled or withdrawn); `asked`, whether the setting was suggested; `trial`, its number; and
        `direction`. Where there are any, notes, columns of your own and the suggested settings follow. If a parameter
        has one of these names, the column's name gets a `_` at its end.
        """
        return make_history_table(self._history, self._columns, self._direction)

    @property
    @lock_method
    def front(self) -> pd.DataFrame:
        """The Pareto front so far, as rows of `history`; of a single objective, the best trial.

        These are the trials that meet all requirements and that no other trial dominates.
        """
        kept = self._suggester.goals.find_front(self._history.told)
        return make_history_table(History(tuple(kept)), self._columns, self._direction)

    @property
    @lock_method
    def trials(self) -> History:
        """The history as a value, with `told`, `pending` and `set_aside` trials."""
        return self._history

    @property
    @lock_method
    def pending(self) -> list[Setting]:
        """Settings that were suggested and have no result yet."""
        return [Suggestion(trial.setting, trial.id) for trial in self._history.pending]

    @property
    @lock_method
    def best(self) -> Trial | None:
        """The best trial so far that meets all requirements; None while there is none.

        With several objectives there is a `front` instead, unless a preference gives each a weight.
        """
        best = self._suggester.goals.find_best(self._history.told)
        return None if best is None else replace(best, setting=dict(best.setting))  # theirs to change

    @property
    def _direction(self) -> str:
        """The goals in words, as the history holds them, to recognise the history of another campaign."""
        goals = self._suggester.goals
        words = [format_goal(one.direction, one.name) for one in goals.objectives]
        return str(goals.main.direction) if goals.main.direction in DIRECTIONS and len(words) == 1 else ", ".join(words)

    def _find_result(self, trial: int | Suggestion | Trial, history: History) -> Trial:
        found = history.get_result(get_trial_number(trial))
        if isinstance(trial, Suggestion) and not is_same_setting(trial.suggested, found.suggested):
            raise InputError(f"Trial {found.id} is not what this suggestion was made for. Give the trial's number.")
        return found


def _take_back(result: Trial, history: History) -> History:
    """The history without a result: its suggestion is pending again; a run that nobody suggested is withdrawn."""
    if result.suggested is not None:
        return history.reopen_trial(result)
    return history.withdraw_result(result, f"{result.note}; taken back" if result.note else "taken back")


def _correct_responses(wrong: Trial, value: Any, failed: bool, goals: Goals) -> dict[str, Any]:
    """The responses of a trial with some of them corrected; NaN removes a value."""
    if failed or not isinstance(value, Mapping):
        right = parse_measurements(value, failed, 1, goals)[0]
        return {"value": right.value, "more": dict(right.more)}
    taken_back = [name for name, cell in value.items() if is_missing(cell)]
    filled = {name: cell for name, cell in value.items() if name not in taken_back}
    right = parse_measurements(filled, False, 1, goals)[0] if filled else Measurement()
    first = nan if goals.main.name in taken_back else wrong.value if isnan(right.value) else right.value
    more = {**wrong.more, **right.more}
    return {"value": first, "more": {name: one for name, one in more.items() if name not in taken_back}}


def _check_person(who: str) -> str:
    """Check that the name of a person is text."""
    if not isinstance(who, str):
        raise InputError(f"who must be the name of a person, as text; got {type(who).__name__} {format_value(who)}.")
    return who.strip()
