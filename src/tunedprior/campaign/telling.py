"""What was run and what came of it, and which of the pending trials it was."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import pandas as pd
import torch

from tunedprior.checks import Numbers, listed
from tunedprior.errors import InputError
from tunedprior.problem.box import Box, as_table
from tunedprior.problem.objective import MEANT, codes_of_run
from tunedprior.problem.space import Setting, Space
from tunedprior.problem.trials import Columns, History, Trial, as_given, settings_of


class Suggestion(dict[str, Any]):
    """A setting to try that knows the number of its trial, so that what is told of it is not mistaken for another's."""

    def __init__(self, setting: Setting, trial: int, suggested: Setting | None = None) -> None:
        super().__init__(setting)
        self.trial = trial
        self.suggested = dict(setting if suggested is None else suggested)

    def __reduce__(self) -> tuple[Any, ...]:
        return Suggestion, (dict(self), self.trial, self.suggested)

    def trial_in(self, history: History) -> Trial | None:
        """The pending trial that this was suggested for, whatever was changed in it since."""
        return next(
            (trial for trial in history.pending if trial.id == self.trial and trial.suggested == self.suggested), None
        )


@dataclass(frozen=True)
class Run:
    """Settings that were run, in the order they are told.

    Attributes:
        settings: A table with the parameters' columns, and possibly more.
        values: Their responses; NaN for failed runs.
        suggestions: What `ask` returned, for settings that are that; None for others.
        numbers: The numbers of pending trials that the settings are said to be; None where nothing is said.
        must_be_pending: Whether a number that is not that of a pending trial is an error.
        extras: The user's own columns.
        note: Of all of them.
    """

    settings: pd.DataFrame
    values: list[float]
    suggestions: list[Suggestion | None]
    numbers: list[int | None]
    must_be_pending: bool
    extras: list[dict[str, Any]]
    note: str

    @classmethod
    def of(
        cls,
        setting: Setting | Sequence[Setting] | pd.DataFrame,
        value: Numbers | None,
        failed: bool | Sequence[bool],
        trial: int | None,
        note: str,
        columns: Columns,
    ) -> "Run":
        """From the arguments of `Optimizer.tell`."""
        table = as_table(setting, columns.parameters)
        count = len(table)
        numbers: list[int | None] = [trial] * count
        extras: list[dict[str, Any]] = [{}] * count
        suggestions: list[Suggestion | None] = [None] * count
        if isinstance(setting, pd.DataFrame):
            if columns.trial in setting.columns and trial is None:
                numbers = setting[columns.trial].tolist()
            names = columns.extra(setting.columns)
            extras = [{name: row[name] for name in names} for row in setting.to_dict("records")]
        else:
            each = [setting] if isinstance(setting, Mapping) else setting
            suggestions = [one if isinstance(one, Suggestion) else None for one in each]
        return cls(table, _values(value, failed, count), suggestions, numbers, trial is not None, extras, note)

    def told_to(self, history: History, space: Space, box: Box) -> History:
        """The history with these results, or an `InputError`."""
        codes = codes_of_run(self.settings, box)  # refuses what lies outside
        for row, told in enumerate(self.settings.to_dict("records")):
            setting = as_given(told, space)
            meant = self._named(row, history) or self._alike(row, setting, codes[row], history, box)
            history = history.with_result(setting, self.values[row], meant, self.note, self.extras[row])
        return history

    def _named(self, row: int, history: History) -> Trial | None:
        """The pending trial that the row names, or whose suggestion it is."""
        number, suggestion = self.numbers[row], self.suggestions[row]
        if number is None:
            return None if suggestion is None else suggestion.trial_in(history)
        pending = {trial.id: trial for trial in history.pending}
        if self.must_be_pending and number not in pending:
            raise InputError(
                f"trial must be the number of a pending one ({listed(pending) or 'there is none'}); got {number!r}."
            )
        return pending.get(number)

    def _alike(self, row: int, setting: Setting, codes: torch.Tensor, history: History, box: Box) -> Trial | None:
        """The pending trial with the same setting; for settings that `ask` did not return also one within 5 %."""
        same = next((trial for trial in history.pending if trial.setting == setting), None)
        if same is not None or self.suggestions[row] is not None or not history.pending:
            return same
        under_way = codes_of_run(settings_of(history.pending), box)
        distances = (under_way - codes).abs().amax(-1) / 2
        nearest = int(distances.argmin())
        return history.pending[nearest] if distances[nearest] <= MEANT else None


def pending_trial(setting: Setting, history: History) -> Trial | None:
    """The pending trial whose suggestion this is, or else one with the same setting."""
    of_it = setting.trial_in(history) if isinstance(setting, Suggestion) else None
    return of_it or next((trial for trial in history.pending if trial.setting == setting), None)


def _values(value: Numbers | None, failed: bool | Sequence[bool], count: int) -> list[float]:
    flags = np.broadcast_to(np.asarray(failed, dtype=bool), (count,)) if np.size(failed) in (1, count) else None
    if flags is None:
        raise InputError(f"failed must be one flag, or one for each of the {count} settings; got {np.size(failed)}.")
    if value is None and flags.all():
        return [nan] * count
    if value is None:
        raise InputError("tell needs a value for each setting, or failed=True.")
    try:
        values: list[float] = np.atleast_1d(np.asarray(value, dtype=np.float64)).tolist()
    except (TypeError, ValueError) as error:
        raise InputError(f"Values must be numbers, or NaN for a failed run; got {value!r}.") from error
    if len(values) != count:
        raise InputError(f"tell needs one value for each of the {count} settings; got {len(values)}.")
    infinite = [v for v in values if v in (float("inf"), float("-inf"))]
    if infinite:
        raise InputError(f"Values must be finite, or NaN for a failed run; got {infinite[0]}.")
    return [nan if flag else number for number, flag in zip(values, flags, strict=True)]
