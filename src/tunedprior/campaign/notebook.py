"""What was told, what is pending and what was set aside: the part of an optimiser that keeps the record."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan, nan
from os import PathLike
from typing import Any, TypeVar

import pandas as pd

from tunedprior.campaign.measured import Measured, measured_of
from tunedprior.campaign.odd_results import warn_of_odd_results
from tunedprior.campaign.recording import Recorded, ResultSheet, Undone
from tunedprior.campaign.records import Record
from tunedprior.campaign.suggester import Suggester
from tunedprior.campaign.telling import Run, Suggestion, Told, as_note, number_of, pending_trial, refuse_dates
from tunedprior.checks import flag, listed, shown
from tunedprior.errors import InputError
from tunedprior.files import read_table
from tunedprior.problem.aims import Aims
from tunedprior.problem.goals import DIRECTIONS, goal_in_words
from tunedprior.problem.history_reading import from_table
from tunedprior.problem.history_table import Columns, to_table
from tunedprior.problem.objective import codes_of_run
from tunedprior.problem.parameters import is_missing
from tunedprior.problem.space import Setting
from tunedprior.problem.trials import History, Trial, as_given, same_setting, settings_of

NotebookT = TypeVar("NotebookT", bound="Notebook")


class Notebook:
    """What an `Optimizer` was told. Whatever goes wrong, what was told before stays as it was."""

    _suggester: Suggester
    _record: Record
    _columns: Columns

    @property
    def _history(self) -> History:
        return self._record.history

    @_history.setter
    def _history(self, history: History) -> None:
        self._record.replace(history)

    # -- telling ---------------------------------------------------------------------------------------

    def tell(
        self,
        setting: Setting | Sequence[Setting] | pd.DataFrame | pd.Series,
        value: Told | None = None,
        failed: bool | Sequence[bool] = False,
        *,
        trial: int | Suggestion | Trial | None = None,
        note: str = "",
        noise_std: float | Sequence[float] | Mapping[str, float] | None = None,
        cost: float | Sequence[float] | None = None,
    ) -> None:
        """Say what came of one setting, or of several at once.

        A run that gave no value has the value NaN, or `failed=True`. Settings need not have been asked for, and need
        not lie on the grid: say what was actually run. What `ask` returned is recognised by its trial's number, changed
        or not; any other setting within 5 % of a pending suggestion counts as that one. A run of another category, or
        further off, is taken as one that nobody asked for, and the suggestion stays `pending`; `trial=` says that it
        was that one all the same. Columns of a table that are no parameters are kept with the trial. Either everything
        is taken, or nothing and an `InputError`.

        Args:
            setting: What was run.
            value: What came of it: a number, or one for each setting in one column. Of several responses a dict by
                name, of which some may be left out, or a list of such dicts or a table.
            failed: Whether it gave no value.
            trial: The number of the suggestion that was run, where it is known.
            note: Whatever is to be kept with it.
            noise_std: The standard deviation of the noise in these values, where it is known of these in particular, or
                one for each setting; of several responses by name.
            cost: What each of these runs cost, one for all or for each. Once costs are told, suggestions are for
                improvement per unit of it.
        """
        run = Run.of(setting, value, failed, trial, note, self._columns, self._suggester.aims, noise_std, cost)
        before = self._history
        if self._record.is_shared:
            run.refuse_told_before(before)
        self._history = run.told_to(before, self._suggester.space, self._suggester.own_box)  # or nothing
        warn_of_odd_results(before.told, self._history.told[len(before) :], self._suggester)

    def record(self, results: Any, *, as_run: bool = False, skip_recorded: bool = False, own: bool = True) -> Recorded:
        """Take a table of suggestions with results filled in, as people keep one; whole, or not at all.

        Rows are recognised by their trial's number, and rows without one are runs of people's own; what is still blank
        stays open. An `InputError` names each row that cannot be taken and why: a setting that the space does not
        offer, or that is far from what was suggested under its number (another category, or a number more than a
        quarter of the range away), a trial that is recorded already, a cell that is no number.

        Args:
            results: A table, or a file with one (CSV in any dialect, Excel).
            as_run: Whether settings are taken as they are, on the grid or not, near the suggestion or not.
            skip_recorded: Whether rows that are recorded already, with the same results, are passed over.
            own: Whether rows without a trial's number are taken, as runs that nobody suggested.
        """
        read = read_table(results, self._columns.names, "The table of results")
        suggester, before = self._suggester, self._history
        sheet = ResultSheet(self._columns, suggester.space, suggester.own_box, before, as_run, skip_recorded, own)
        run, recorded = sheet.read(read, self._direction)
        if run is None:
            return recorded
        history = run.told_to(before, suggester.space, suggester.own_box)
        numbers = self._record.replace(history)
        told = tuple(replace(one, id=numbers.get(one.id, one.id)) for one in history.told[len(before) :])
        warn_of_odd_results(before.told, told, suggester)
        return replace(recorded, trials=told)

    def undo(self, trial: int | Suggestion | Trial | None = None) -> Undone:
        """Take back a result: it is withdrawn, and the suggestion that it was of is open again.

        Args:
            trial: Its number in `history`, or the trial; the one that was told last, when left out.
        """
        before = self._history
        if not before.told:
            raise InputError("Nothing was told yet, so there is nothing to take back.")
        last = before.told[-1] if trial is None else self._told_as(trial)
        history = before.withdrawn(last, f"{last.note}; taken back" if last.note else "taken back")
        number = history.next_id
        if last.suggested is not None:
            history = history.asked(last.suggested)
        numbers = self._record.replace(history)
        again = None if last.suggested is None else Suggestion(last.suggested, numbers.get(number, number))
        return Undone(last, again)

    def amend(
        self,
        trial: int | Suggestion | Trial,
        value: Told | None = None,
        *,
        failed: bool = False,
        setting: Setting | None = None,
        note: str | None = None,
    ) -> None:
        """Correct a result that was told; it keeps its number and its place, and what is left out stays as it was.

        Args:
            trial: Its number in `history`, or the trial.
            value: The right value; of several responses a dict of those that are to be corrected.
            failed: Whether it gave no value after all.
            setting: What was really run; parameters that are left out stay as they were.
            note: What is to be kept with it instead.
        """
        wrong = self._told_as(trial)
        if value is None and not failed and setting is None and note is None:
            raise InputError("amend needs the right value, setting or note, or failed=True; got none of them.")
        if value is not None and flag(failed, "failed"):
            raise InputError("A result has a value, or it failed; got both. Leave one of them out.")
        changes: dict[str, Any] = {} if note is None else {"note": as_note(note)}
        if value is not None or failed:
            changes |= _corrected(wrong, value, failed, self._suggester.aims)
        if setting is not None:
            if not isinstance(setting, Mapping | pd.Series) or not len(setting):
                raise InputError(
                    f"setting must be a dict of what was really run, such as {{{self._columns.parameters[0]!r}: …}}; "
                    f"got {type(setting).__name__} {shown(setting)}."
                )
            run = {**wrong.setting, **dict(setting)}
            unknown = [name for name in run if name not in self._columns.parameters]
            if unknown:
                raise InputError(f"Parameters are {listed(self._columns.parameters)}; got {listed(unknown)}.")
            refuse_dates(pd.DataFrame([run], dtype=object), self._suggester.space)
            codes_of_run([run], self._suggester.own_box)  # refuses what lies outside
            changes["setting"] = as_given(run, self._suggester.space)
        self._history = self._history.amended(wrong, **changes)

    def withdraw(self, trial: int | Suggestion | Trial, note: str = "") -> None:
        """Set a result aside: it stays in `history` with the state "withdrawn", and counts for nothing else.

        Args:
            trial: Its number in `history`, or the trial.
            note: Why; it replaces the note that was told.
        """
        self._history = self._history.withdrawn(self._told_as(trial), as_note(note))

    def cancel(self, setting: Setting | int | Trial | Sequence[Setting | int | Trial]) -> None:
        """Set aside a pending setting that will not be run, or several of them; `history` calls them "cancelled"."""
        history = self._history
        for one in setting if isinstance(setting, list | tuple) else [setting]:
            trial = pending_trial(one, history, self._suggester.space, "Only a pending setting can be cancelled")
            history = history.cancelled(trial)
        self._history = history  # all or nothing

    def resume(self: NotebookT, history: pd.DataFrame | str | PathLike[str] | History) -> NotebookT:
        """Go on from a saved `history`, a table or a file, as if there had been no break; pending suggestions included.

        Whatever was filled in since is taken: values beside pending rows, and rows of results at the end. Whatever
        contradicts is refused, line by line, and then nothing is taken.
        """
        if self._history != History():
            raise InputError("resume needs an Optimizer that was told nothing yet. Make a new one.")
        if isinstance(history, History):
            codes_of_run(settings_of(history.trials), self._suggester.surrogate.box)  # refuses what lies outside
            self._history = history
        else:
            box = self._suggester.own_box
            read = read_table(history, self._columns.names, "The history")
            self._history = from_table(
                read.table,
                self._columns,
                self._suggester.space,
                read.where,
                self._direction,
                lambda settings: codes_of_run(settings, box),
            )
        warn_of_odd_results((), self._history.told, self._suggester)
        return self

    # -- looking ---------------------------------------------------------------------------------------

    @property
    def history(self) -> pd.DataFrame:
        """Every trial in order, then what is pending, then what was set aside; `resume` goes on from a saved one.

        The settings, the response (`y`, or what `target=` names; NaN for a failed run), `state` (complete, failed,
        pending, cancelled or withdrawn), `asked`, whether the setting was a suggestion, `trial`, its number, and
        `direction`. Notes, columns of your own and the settings that were asked for follow where there are any. A
        parameter may have any of these names; then the column's gets a `_` more.
        """
        return to_table(self._history, self._columns, self._direction)

    @property
    def front(self) -> pd.DataFrame:
        """The best trade-offs so far, as rows of `history`; of one objective, the best trial.

        They are the trials that meet what is required, and that no other trial is better than in one objective without
        being worse in another.
        """
        kept = self._suggester.aims.front(self._history.told)
        return to_table(History(tuple(kept)), self._columns, self._direction)

    @property
    def trials(self) -> History:
        """The history as a value: `told`, `pending` and `set_aside` trials."""
        return self._history

    @property
    def pending(self) -> list[Setting]:
        """Settings asked for and not yet told."""
        return [Suggestion(trial.setting, trial.id) for trial in self._history.pending]

    @property
    def best(self) -> Trial | None:
        """The best trial so far that meets what is required; None while there is none.

        Of several objectives there is a `front`, unless a preference says what a unit of each is worth.
        """
        best = self._suggester.aims.best(self._history.told)
        return None if best is None else replace(best, setting=dict(best.setting))  # theirs to change

    @property
    def _direction(self) -> str:
        """What the history says was wanted, so that it is not taken for that of another campaign."""
        aims = self._suggester.aims
        words = [goal_in_words(one.direction, one.target) for one in aims.objectives]
        return str(aims.main.direction) if aims.main.direction in DIRECTIONS and len(words) == 1 else ", ".join(words)

    def _told_as(self, trial: int | Suggestion | Trial) -> Trial:
        found = self._history.told_as(number_of(trial))
        if isinstance(trial, Suggestion) and not same_setting(trial.suggested, found.suggested):
            raise InputError(f"Trial {found.id} is not what this suggestion was made for. Give the trial's number.")
        return found


def _corrected(wrong: Trial, value: Any, failed: bool, aims: Aims) -> dict[str, Any]:
    """The responses of a trial with some of them corrected; NaN takes one back that was told."""
    if failed or not isinstance(value, Mapping):
        right = measured_of(value, failed, 1, aims)[0]
        return {"value": right.value, "more": dict(right.more)}
    taken_back = [name for name, cell in value.items() if is_missing(cell)]
    filled = {name: cell for name, cell in value.items() if name not in taken_back}
    right = measured_of(filled, False, 1, aims)[0] if filled else Measured()
    first = nan if aims.main.target in taken_back else wrong.value if isnan(right.value) else right.value
    more = {**wrong.more, **right.more}
    return {"value": first, "more": {name: one for name, one in more.items() if name not in taken_back}}
