"""`Trial` and `History`: immutable values of what was suggested, run and measured."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan, nan
from typing import Any

from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.space.parameters import is_missing
from tunedprior.space.search_space import Setting, Space

COMPLETE, FAILED, PENDING = "complete", "failed", "pending"
#: Why a trial was set aside: it was never run, or its result is not to be believed.
CANCELLED, WITHDRAWN = "cancelled", "withdrawn"

_RECORD = "tunedprior record CAMPAIGN --trial {} name=value"


@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """A setting and its result.

    Attributes:
        setting: The setting that was run, or is to be run.
        value: The response; NaN for a failed run and while it is pending. Of several responses, the first.
        suggested: The suggested setting, which may differ a little from the one that was run; None if none was.
        id: Its number in the history; given when the setting is suggested, and never changed.
        is_pending: Whether it was suggested and has no result yet.
        note: The user's note.
        extra: The user's own columns, by name.
        set_aside: `"cancelled"` or `"withdrawn"` for one that no longer counts; empty for all others.
        more: All other measured responses, by name; +1 and -1 for pass and fail.
        noise: The standard deviation of a response's noise in this trial, by name, where it was told.
        cost: The cost of the run; NaN if it was not told.
        substitute: Whether its setting took the place of a suggestion: drawn at random, as the parameters were not yet
            known, or fixed by somebody.
        stopped_early: Whether it was stopped before its end, as Optuna prunes trials. The model learns from its value,
            which is no result: it is never the best.
        study_number: Its number in the Optuna study that it comes from, which counts from 0; None for all others.
    """

    setting: Setting
    value: float = nan
    suggested: Setting | None = None
    id: int = 0
    is_pending: bool = False
    note: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    set_aside: str = ""
    more: Mapping[str, float] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)
    cost: float = nan
    substitute: bool = False
    stopped_early: bool = False
    study_number: int | None = None

    __hash__ = None  # type: ignore[assignment]  # settings are dicts

    def __eq__(self, other: object) -> bool:
        """Equality of all fields, where NaN equals NaN."""
        if not isinstance(other, Trial):
            return NotImplemented
        return all(_is_same(mine, vars(other)[name]) for name, mine in vars(self).items())

    @property
    def is_suggestion(self) -> bool:
        """Whether it was a suggestion."""
        return self.suggested is not None

    @property
    def is_awaited(self) -> bool:
        """Whether it may still get a result: it is pending, or was cancelled and may be run after all."""
        return self.is_pending or self.set_aside == CANCELLED

    @property
    def failed(self) -> bool:
        """Whether the run gave no value at all."""
        nothing = isnan(self.value) and not self.more
        return nothing and not self.is_pending and self.set_aside != CANCELLED

    @property
    def label(self) -> str:
        """Its number, for messages; with that of the study it comes from."""
        return str(self.id) if self.study_number is None else f"{self.id} (Optuna's {self.study_number})"

    @property
    def state(self) -> str:
        """`"complete"`, `"failed"`, `"pending"`, `"cancelled"` or `"withdrawn"`."""
        return self.set_aside or (PENDING if self.is_pending else FAILED if self.failed else COMPLETE)

    def __repr__(self) -> str:
        told = [*([] if isnan(self.value) else [f"{self.value:.6g}"]), *(f"{n}={v:.6g}" for n, v in self.more.items())]
        value = f" {', '.join(told)}" if told else ""
        note = f" ({self.note})" if self.note else ""
        return f"<Trial {self.label}: {format_setting(self.setting)}: {self.state}{value}{note}>"


@dataclass(frozen=True, repr=False)
class History:
    """The trials of a campaign: those with results, pending ones, and those that were set aside.

    Attributes:
        told: Trials with results, in the order of recording.
        pending: Suggested trials without results, in the order of suggestion.
        set_aside: Cancelled suggestions and withdrawn results. No model uses them.
    """

    told: tuple[Trial, ...] = ()
    pending: tuple[Trial, ...] = ()
    set_aside: tuple[Trial, ...] = ()

    def __len__(self) -> int:
        return len(self.told)

    def __iter__(self) -> Iterator[Trial]:
        """Those told, which `len` counts."""
        return iter(self.told)

    def __repr__(self) -> str:
        aside = f", {len(self.set_aside)} set aside" if self.set_aside else ""
        return f"<History: {len(self.told)} told, {len(self.pending)} pending{aside}>"

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials: told, pending, set aside."""
        return (*self.told, *self.pending, *self.set_aside)

    @property
    def cancelled_trials(self) -> tuple[Trial, ...]:
        """Suggestions that were cancelled; they are not suggested again."""
        return tuple(trial for trial in self.set_aside if trial.set_aside == CANCELLED)

    @property
    def awaited(self) -> tuple[Trial, ...]:
        """Trials that may still get a result: pending ones, and cancelled ones, which may be run after all."""
        return tuple(trial for trial in self.trials if trial.is_awaited)

    @property
    def next_id(self) -> int:
        """The number of the next trial; no number is used twice, not even that of a trial that was set aside."""
        return 1 + max((trial.id for trial in self.trials), default=0)

    def keep_first(self, count: int) -> "History":
        """The first `count` results, with nothing pending or set aside."""
        return History(self.told[:count])

    def append_pending(self, setting: Setting, substitute: bool = False) -> "History":
        """This history with one more pending setting; see `Trial.substitute`."""
        trial = Trial(dict(setting), suggested=dict(setting), id=self.next_id, is_pending=True, substitute=substitute)
        return replace(self, pending=(*self.pending, trial))

    def append_all_pending(self, settings: Sequence[Setting]) -> "History":
        """This history with these settings pending."""
        history = self
        for setting in settings:
            history = history.append_pending(setting)
        return history

    def append_result(
        self,
        setting: Setting,
        value: float,
        of: Trial | None = None,
        note: str = "",
        extra: Mapping[str, Any] | None = None,
        **measured: Any,
    ) -> "History":
        """This history with one more result; `of` is its suggestion (one of `awaited`), or None.

        Further measurements are given as fields of `Trial`: `more`, `noise`, `cost`.
        """
        number, suggested = (self.next_id, None) if of is None else (of.id, of.suggested)
        measured["substitute"] = of is not None and of.substitute
        trial = Trial(dict(setting), value, suggested, number, note=note, extra=dict(extra or {}), **measured)
        return History(
            (*self.told, trial),
            tuple(other for other in self.pending if other is not of),
            tuple(other for other in self.set_aside if other is not of),
        )

    def cancel_trial(self, trial: Trial) -> "History":
        """This history with a pending trial set aside, because it will not be run."""
        aside = replace(trial, is_pending=False, set_aside=CANCELLED)
        pending = tuple(other for other in self.pending if other is not trial)
        return replace(self, pending=pending, set_aside=(*self.set_aside, aside))

    def withdraw_result(self, trial: Trial, note: str = "") -> "History":
        """This history with a result set aside, its value kept."""
        aside = replace(trial, set_aside=WITHDRAWN, note=note or trial.note)
        told = tuple(other for other in self.told if other is not trial)
        return replace(self, told=told, set_aside=(*self.set_aside, aside))

    def reopen_trial(self, trial: Trial) -> "History":
        """This history with a suggestion pending again, under its number, as if it had no result."""
        asked = dict(trial.suggested or trial.setting)
        again = Trial(asked, suggested=dict(asked), id=trial.id, is_pending=True, substitute=trial.substitute)
        pending = tuple(sorted((*self.pending, again), key=lambda one: one.id))
        return replace(self, told=tuple(other for other in self.told if other is not trial), pending=pending)

    def restore_trial(self, before: Trial) -> "History":
        """This history with a trial as it was before it was cancelled, corrected or withdrawn.

        A corrected result keeps its place; all others come last.
        """
        aside = tuple(one for one in self.set_aside if one.id != before.id)
        if before.is_pending:
            return History(self.told, tuple(sorted((*self.pending, before), key=lambda one: one.id)), aside)
        if len(aside) < len(self.set_aside):
            return History((*self.told, before), self.pending, aside)
        return replace(self, told=tuple(before if one.id == before.id else one for one in self.told))

    def amend_result(self, trial: Trial, **changes: Any) -> "History":
        """This history with a result corrected, in its place; `changes` are fields of `Trial`."""
        corrected = replace(trial, **changes)
        return replace(self, told=tuple(corrected if other is trial else other for other in self.told))

    def get_result(self, number: int) -> Trial:
        """The result with this number; an `InputError` says what is known of it otherwise."""
        found = {trial.id: trial for trial in self.told}
        if number in found:
            return found[number]
        if any(trial.id == number for trial in self.pending):
            raise InputError(
                f"Nothing was told of trial {number} yet, so there is nothing to correct. Use tell.",
                typed=f"Trial {number} has no result yet, so there is nothing to correct. Record it: "
                f"{_RECORD.format(number)}",
            )
        aside = next((trial for trial in self.set_aside if trial.id == number), None)
        if aside is not None and aside.set_aside == CANCELLED:
            none = f"Trial {number} was cancelled and has no result. If it was run after all, "
            raise InputError(
                f"{none}tell its result with trial={number}.", typed=f"{none}record it: {_RECORD.format(number)}"
            )
        if aside is not None:
            gone = f"The result of trial {number} was withdrawn. "
            raise InputError(
                f"{gone}Tell it again, as a run of its own; or undo, if that was done last.",
                typed=f"{gone}Record it again, as a run of its own; or undo, if that was done last.",
            )
        none = f"There is no result with the number {number}. "
        known = f"There are {format_list(found)}." if found else ""
        raise InputError(f"{none}{known or 'Nothing was told yet.'}", typed=f"{none}{known or 'There is none yet.'}")


def recognise_setting(row: Mapping[Any, Any], space: Space) -> Setting:
    """Convert a table's row to a setting, with the space's own objects for categories and grid values."""
    return {parameter.name: parameter.recognise(row[parameter.name]) for parameter in space.parameters}


def collect_settings(trials: Sequence[Trial]) -> list[Setting]:
    """The settings of some trials, in order."""
    return [trial.setting for trial in trials]


def is_same_setting(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    """Whether two settings are equal, where NaN (which may be a category) equals NaN."""
    return _is_same(one, other)


def format_setting(setting: Mapping[str, Any]) -> str:
    """Format a setting in words."""
    return ", ".join(f"{name}={_format_short(value)}" for name, value in setting.items())


def _format_short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_is_same(value, other[name]) for name, value in one.items())
    if is_missing(one) and is_missing(other):
        return type(one) is type(other)
    try:
        return bool(one == other)
    except ValueError:  # an array among the user's own columns
        return one is other
