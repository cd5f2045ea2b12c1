"""What was tried and what came of it: telling, the history, what is pending."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.box import Box, as_table
from tunedprior.errors import InputError
from tunedprior.space import Setting, Space
from tunedprior.surrogates import Observations
from tunedprior.validation import Numbers, listed

# What was run may differ from what was suggested by this share of a parameter's range, and still be that.
_MEANT = 0.05
# How far below the worst response a failed run counts, as a share of the range of responses.
_FAILURE = 0.2

RecordT = TypeVar("RecordT", bound="Record")


@dataclass(frozen=True)
class Trial:
    """A setting and what came of it; `value` is NaN for a failed run, `asked` says whether it was a suggestion."""

    setting: Setting
    value: float
    asked: bool = False

    @property
    def failed(self) -> bool:
        """Whether the run gave no value."""
        return isnan(self.value)


class Record:
    """Trials in the order they were told, and settings that were asked for and not told yet.

    Args:
        space: What may be set.
        target: The name of the response in the history.
        direction: Whether the response is to be maximised or minimised.
        noise_std: The measurement noise, where it is known.
    """

    _box: Box  # set by whoever knows the old data

    def __init__(self, space: Space, target: str, direction: str, noise_std: float | None) -> None:
        if direction not in ("maximize", "minimize"):
            raise InputError(f"direction must be 'maximize' or 'minimize'; got {direction!r}.")
        taken = {target, "state", "asked"} & set(space.names)
        if taken:
            raise InputError(
                f"The history has columns for the response ({target!r}), 'state' and 'asked', so no parameter may be "
                f"called {listed(sorted(taken))}. Rename it, or the response with target=."
            )
        self.space = space
        self.target = target
        self.direction = direction
        self.noise_std = noise_std
        self._trials: list[Trial] = []
        self._pending: list[Setting] = []

    def tell(
        self,
        setting: Setting | Sequence[Setting] | pd.DataFrame,
        value: Numbers | None = None,
        failed: bool | Sequence[bool] = False,
    ) -> None:
        """Say what came of one setting, or of several at once.

        A run that gave no value has the value NaN, or `failed=True`. Settings need not have been asked for, and need
        not lie on the grid: say what was actually run. One within 5 % of a pending suggestion counts as that one.
        Either everything is taken, or nothing and an `InputError`.
        """
        table = as_table(setting, self.space.names)
        self._codes(table)  # refuses what lies outside
        values = _values(value, failed, len(table))
        for row, response in zip(table.to_dict("records"), values, strict=True):
            told = self._as_given(row)
            self._trials.append(Trial(told, response, asked=self._retire(told)))

    def resume(self: RecordT, history: pd.DataFrame) -> RecordT:
        """Go on from a saved `history` as if there had been no break; pending suggestions included."""
        if self._trials or self._pending:
            raise InputError("resume needs an Optimizer that was told nothing yet. Make a new one.")
        missing = [name for name in (*self.space.names, self.target, "state", "asked") if name not in history.columns]
        if missing:
            raise InputError(f"A history has the columns that opt.history has; {listed(missing)} is missing.")
        self._codes(history)
        for row in history.to_dict("records"):
            if row["state"] == "pending":
                self._pending.append(self._as_given(row))
            else:
                self._trials.append(Trial(self._as_given(row), float(row[self.target]), bool(row["asked"])))
        return self

    def _retire(self, told: Setting) -> bool:
        """Take the suggestion that was meant off the pending list; False if there was none."""
        if told in self._pending:
            self._pending.remove(told)
            return True
        if not self._pending:
            return False
        distances = (self._codes(self._pending) - self._codes([told])).abs().amax(-1) / 2
        nearest = int(distances.argmin())
        if distances[nearest] > _MEANT:
            return False
        del self._pending[nearest]
        return True

    def _as_given(self, told: Mapping[Any, Any]) -> Setting:
        """With the space's own objects for categories, and grid values as such, however a table stored them."""
        return {parameter.name: parameter.recognise(told[parameter.name]) for parameter in self.space.parameters}

    @property
    def history(self) -> pd.DataFrame:
        """Every trial in order, then what is pending; save it as a file, and `resume` goes on from there.

        The settings, the response (`y`, or what `target=` names; NaN for a failed run), `state` (complete, failed or
        pending) and `asked`, whether the setting was a suggestion.
        """
        settings = [trial.setting for trial in self._trials] + self._pending
        table = pd.DataFrame(settings, columns=list(self.space.names))
        table[self.target] = np.array([trial.value for trial in self._trials] + [nan] * len(self._pending))
        states = ["failed" if trial.failed else "complete" for trial in self._trials]
        table["state"] = states + ["pending"] * len(self._pending)
        table["asked"] = [trial.asked for trial in self._trials] + [True] * len(self._pending)
        return table

    @property
    def pending(self) -> list[Setting]:
        """Settings asked for and not yet told."""
        return [dict(setting) for setting in self._pending]

    def cancel(self, setting: Setting) -> None:
        """Forget a pending setting that will not be run."""
        if setting not in self._pending:
            raise InputError(f"Only a pending setting can be cancelled; {setting} is not among {self._pending}.")
        self._pending.remove(setting)

    @property
    def best(self) -> Trial | None:
        """The best trial so far; None while there is no value."""
        told = [trial for trial in self._trials if not trial.failed]
        best = max(told, key=lambda trial: self._sign * trial.value, default=None)
        return None if best is None else replace(best, setting=dict(best.setting))

    @property
    def _sign(self) -> float:
        return 1.0 if self.direction == "maximize" else -1.0

    def _observations(self, count: int | None = None) -> Observations:
        """Everything told, or the first `count` of it, standardised.

        A failed run counts as a little worse than the worst response so far, which keeps the model away from it.
        """
        trials = self._trials[:count]
        y = self._sign * np.array([trial.value for trial in trials], dtype=np.float64)
        size = float(np.nanmax(np.abs(y), initial=0.0)) or 1.0
        y = y / size  # first, so that neither 1e-300 nor 1e300 is squared
        told = y[~np.isnan(y)]
        worst, reach = (told.min(), np.ptp(told)) if len(told) else (0.0, 0.0)
        y[np.isnan(y)] = worst - (_FAILURE * reach if reach > 0 else 1.0)
        shift, scale = float(y.mean()), float(y.std())
        scale = scale if scale > 1e-12 else 1.0
        return Observations(
            codes=self._codes([trial.setting for trial in trials]),
            y=torch.as_tensor((y - shift) / scale)[:, None],
            noise_std=None if self.noise_std is None else self.noise_std / (size * scale),
            shift=size * shift,
            scale=size * scale,
        )

    def _codes(self, settings: pd.DataFrame | Sequence[Setting]) -> Float[Tensor, "n k"]:
        """Codes of settings that were run, which may lie a little outside."""
        return self._box.codes(settings, slack=2 * _MEANT)


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
