"""`TrialRecorder`, the part of `Optimizer` that records trials: tell, record, amend, withdraw, cancel, undo, resume."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from math import isnan, nan
from os import PathLike
from typing import Any

import pandas as pd
from optuna.study import Study

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
from tunedprior.goals.objective import Objective, encode_run_settings
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
from tunedprior.history.table import HistoryColumns, parse_history
from tunedprior.history.trials import History, Trial, collect_settings, is_same_setting, recognise_setting
from tunedprior.space.parameters import is_missing
from tunedprior.space.search_space import Setting
from tunedprior.storage.entry_log import ConflictError
from tunedprior.storage.identifiers import derive_study_id
from tunedprior.storage.journal import (
    ADOPT,
    AMEND,
    CANCEL,
    RECORD,
    SUGGEST,
    UNDO,
    WITHDRAW,
    JournalEntry,
    Numbers,
    Record,
    build_journal_table,
    list_changed_trials,
    list_changes_in_force,
    refuse_text,
)
from tunedprior.storage.stored_campaign import StudyRecord
from tunedprior.suggestion.config import CampaignConfig
from tunedprior.suggestion.suggester import Suggester
from tunedprior.tables import read_table

# How often a change is decided on anew because others changed something meanwhile.
_MOST_CONFLICTS = 1000
# How often a suggestion is made again because somebody else was given the same at the same moment.
_MOST_ROUNDS = 100


class TrialRecorder:
    """Records what becomes of trials: each change is decided on the present history and appended to the journal.

    If a method raises an error, the record stays as it was. `Optimizer` documents the methods that have its names.

    Args:
        suggester: What makes suggestions, with the space and the goals.
        config: What the campaign was made with.
        store: Where history and journal are kept.
    """

    def __init__(self, suggester: Suggester, config: CampaignConfig, store: Record) -> None:
        self.suggester, self.config, self.store = suggester, config, store
        self.columns = HistoryColumns.from_space(suggester.space, suggester.goals)

    @property
    def id(self) -> str:
        """The campaign's identifier."""
        return self.config.id or ("" if self.study is None else derive_study_id(self.study))

    @property
    def study(self) -> Study | None:
        """The Optuna study that holds the campaign; None without a storage."""
        return self.store.study if isinstance(self.store, StudyRecord) else None

    @property
    def history(self) -> History:
        """The present history."""
        return self.store.history

    @property
    def journal(self) -> pd.DataFrame:
        """Every change of every trial, as a table."""
        return build_journal_table(self.store.journal, self.suggester.goals)

    @property
    def direction(self) -> str:
        """The goals in words, as a table of the history holds them, to recognise that of another campaign."""
        goals = self.suggester.goals
        words = [format_goal(one.direction, one.name) for one in goals.objectives]
        return str(goals.main.direction) if goals.main.direction in DIRECTIONS and len(words) == 1 else ", ".join(words)

    @property
    def changes_in_force(self) -> list[JournalEntry]:
        """The changes by people that nobody has undone, in order."""
        return list_changes_in_force(self.store.history_and_journal[1])

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
            before = self.history
            after = decide(before)
            refuse_text((trial for _, trial in list_changed_trials(before, after)), who)
            try:
                return before, after, self.store.commit(before, after, action, who)
            except ConflictError:
                continue
        raise StorageError("Others change the campaign all the time. Nothing was recorded or changed; send it again.")

    def append_suggestions(
        self,
        before: History,
        settings: list[Setting],
        replace_taken: Callable[[list[Setting], History, History], list[Setting]],
    ) -> list[Suggestion]:
        """Record suggestions that were chosen for a history, all or none.

        Args:
            before: The history.
            settings: The suggestions.
            replace_taken: Called with the settings, the history they were chosen for and the present one, if somebody
                else wrote meanwhile; gives the settings to record instead.
        """
        for round_ in count():
            after = before.append_all_pending(settings)
            try:
                numbers = self.store.commit(before, after, SUGGEST)
            except ConflictError:
                known, before = before, self.history
                if round_ < _MOST_ROUNDS:
                    settings = replace_taken(settings, known, before)
            else:
                new = after.pending[len(before.pending) :]
                return [Suggestion(one.setting, numbers.get(one.id, one.id)) for one in new]
        raise AssertionError

    def record_run(self, run: Run, flags: Sequence[Objective], who: str = "") -> None:
        """Record the results of a run, all or none.

        Args:
            run: The settings with their results.
            flags: The responses whose results were True or False.
            who: The person who records it.
        """

        def decide(history: History) -> History:
            if self.store.is_shared:
                run.refuse_told_before(history)
            return run.append_to(history, self.suggester.space, self.suggester.own_box)

        before, after, _ = self._commit(decide, RECORD, who)
        if again := run.find_repeats(before):
            warn(
                f"Trial {format_list(one.id for one in again)} was told already, so this is kept as another run of the "
                "same setting. If it was to be corrected, undo this and amend the trial; for a replicate, tell "
                "dict(setting).",
                OddResultWarning,
            )
        warn_of_flags(after.told, flags, self.suggester)
        warn_of_odd_results(before.told, after.told[len(before) :], self.suggester)

    def record_table(
        self,
        results: Any,
        *,
        as_run: bool = False,
        skip_recorded: bool = False,
        own: bool = True,
        beyond_limits: bool = False,
        who: str = "",
    ) -> RecordReport:
        """Record a table of suggestions with results filled in; all rows, or none."""
        columns = self.columns
        read = read_table(results, (columns.campaign, *columns.names), "The table of results")
        refuse_other_sheets(read, columns)
        refuse_other_units(read, self.config.transfer.sources)
        read = drop_campaign_column(
            read.format_percentages((columns.response, *columns.others.values())), columns.campaign, self.id
        )
        suggester = self.suggester
        recorded = RecordReport(())

        def decide(history: History) -> History:
            nonlocal recorded
            sheet = ResultSheet(
                self.columns,
                suggester.space,
                suggester.own_box,
                history,
                as_run,
                skip_recorded,
                own,
                beyond_limits,
                suggester.goals,
            )
            run, recorded = sheet.read(read, self.direction)
            return history if run is None else run.append_to(history, suggester.space, suggester.own_box)

        before, after, numbers = self._commit(decide, RECORD, who)
        told = tuple(replace(one, id=numbers.get(one.id, one.id)) for one in after.told[len(before) :])
        warn_of_odd_results(before.told, told, suggester)
        return replace(recorded, trials=told) if told else recorded

    def undo(self, trial: int | Suggestion | Trial | None = None, *, who: str = "") -> UndoReport:
        """Undo the last change, whoever made it, or the result of a trial with all its corrections."""
        last, action, act = Trial({}), RECORD, ""

        def decide(history: History) -> History:
            nonlocal last, action, act
            if trial is not None:
                last, action = self._find_result(trial, history), RECORD
                return _take_back(last, history)
            in_force = self.changes_in_force
            if not in_force:
                raise InputError("Nothing was told yet, so there is nothing to take back.")
            last, before, action = in_force[-1].after, in_force[-1].before, in_force[-1].action
            act = in_force[-1].act
            if action in (RECORD, ADOPT) or before is None:
                action = RECORD
                return _take_back(history.get_result(last.id), history)
            return history.restore_trial(before)

        _, after, _ = self._commit(decide, UNDO, who)
        together = sum(bool(act) and one.act == act for one in self.changes_in_force)
        return UndoReport(last, action, next(one for one in after.trials if one.id == last.id), together)

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
        """Correct a recorded result; what is None stays as it was."""

        def decide(history: History) -> History:
            wrong = self._find_result(trial, history)
            return history.amend_result(wrong, **self._collect_corrections(wrong, value, failed, setting, note))

        _, after, _ = self._commit(decide, AMEND, who)
        if value is not None:
            right = after.get_result(get_trial_number(trial))
            warn_of_flags(after.told, list_boolean_responses(value, self.suggester.goals), self.suggester)
            warn_of_odd_results([one for one in after.told if one.id != right.id], [right], self.suggester)

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
            changes |= _correct_responses(wrong, value, failed, self.suggester.goals)
        if setting is not None:
            if not isinstance(setting, Mapping | pd.Series) or not len(setting):
                raise InputError(
                    f"setting must be a dict of what was really run, such as {{{self.columns.parameters[0]!r}: …}}; "
                    f"got {type(setting).__name__} {format_value(setting)}."
                )
            run = {**wrong.setting, **dict(setting)}
            unknown = [name for name in run if name not in self.columns.parameters]
            if unknown:
                raise InputError(f"Parameters are {format_list(self.columns.parameters)}; got {format_list(unknown)}.")
            refuse_dates(pd.DataFrame([run], dtype=object), self.suggester.space)
            encode_run_settings([run], self.suggester.own_box)  # refuses what lies outside
            changes["setting"] = recognise_setting(run, self.suggester.space)
        return changes

    def withdraw(self, trial: int | Suggestion | Trial, note: str = "", *, who: str = "") -> None:
        """Set a result aside."""
        reason = check_note(note)
        self._commit(lambda history: history.withdraw_result(self._find_result(trial, history), reason), WITHDRAW, who)

    def cancel(self, setting: Setting | int | Trial | Sequence[Setting | int | Trial], *, who: str = "") -> None:
        """Set aside pending settings that will not be run."""

        def decide(history: History) -> History:
            for one in setting if isinstance(setting, list | tuple) else [setting]:
                trial = get_pending_trial(one, history, self.suggester.space, "Only a pending setting can be cancelled")
                history = history.cancel_trial(trial)
            return history

        self._commit(decide, CANCEL, who)

    def resume(self, history: pd.DataFrame | str | PathLike[str] | History) -> None:
        """Continue from a history, which is adopted as a whole."""
        if self.history != History():
            raise InputError("resume needs an Optimizer that was told nothing yet. Make a new one.")
        if isinstance(history, History):
            encode_run_settings(
                collect_settings(history.trials), self.suggester.surrogate.box
            )  # refuses what lies outside
        else:
            box = self.suggester.own_box
            columns = self.columns
            responses = (columns.response, *columns.others.values())
            read = read_table(history, columns.names, "The history").format_percentages(responses)
            history = parse_history(
                read.table,
                columns,
                self.suggester.space,
                read.format_place,
                self.direction,
                lambda settings: encode_run_settings(settings, box),
            )
        _, told, _ = self._commit(lambda _: history, ADOPT, "")
        warn_of_odd_results((), told.told, self.suggester)

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
