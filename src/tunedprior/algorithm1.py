"""Algorithm 1 of the paper, tuned-prior Bayesian optimisation, as something to ask and to tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, isnan, nan
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import torch
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition import AcquisitionChoice, Situation, check_choice, make_acquisition
from tunedprior.box import Box, as_table
from tunedprior.errors import InputError
from tunedprior.kernels import FreeKernel
from tunedprior.maximise import Lattice, is_among, maximise
from tunedprior.pretrain import pretrain_or_warn, usable_or_warn
from tunedprior.seeding import seeded
from tunedprior.space import Description, Setting, Space
from tunedprior.surrogates import Observations, Standard, Surrogate, TunedPrior, believing
from tunedprior.validation import Numbers, listed
from tunedprior.weight_prior import WeightPrior

# What was run may differ from what was suggested by this share of a parameter's range, and still be that.
_MEANT = 0.05
# How far below the worst response a failed run counts, as a share of the range of responses.
_FAILURE = 0.2


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


class Optimizer:
    """Suggests the next experiment, from what was told so far and from old data that is related.

    Suggestions depend on the arguments, on what was told, in order, and on what is pending, and on nothing else: an
    Optimizer that `resume`s a saved `history` goes on as if there had been no break.

    Args:
        space: Parameter names and their Optuna distributions, `(low, high)`, or a list of values.
        auxiliary: Old data (a table, the path of a CSV file, or a `WeightPrior` learnt before); None: none.
        direction: Whether the response is to be maximised or minimised.
        acquisition: `"ei"` (expected improvement), `"ucb"` (GP-UCB), or any BoTorch acquisition class.
        seed: Makes suggestions repeatable.
        target: The name of the response, in the old data and in the history.
        beta: GP-UCB's schedule: `"brochu"`, `"srinivas"` (finite spaces), `"fixed"` (4), or a number.
        noise_std: The measurement noise, as a standard deviation in the response's units, where it is known; 0 for
            an exact response. Learnt when left out.
        initial: How many points of a Sobol design come before the model; one more than there are parameters when left
            out. Observations that are told before asking replace them.
        kernel: The free kernel that learns from old data. Default: `SquaredExponential`.
        ard: Whether that kernel has one length-scale per input.
        model: How observations become a model, instead of all that is learnt from `auxiliary`: a `Surrogate`, such as
            `TunedPrior(prior, unit_diagonal=True)` or one of your own.

    >>> opt = Optimizer({"temperature": (20.0, 90.0), "catalyst": ["A", "B"]}, direction="minimize", seed=1)
    >>> setting = opt.ask()
    >>> opt.tell(setting, 0.71)
    >>> opt.best.value
    0.71
    """

    def __init__(
        self,
        space: Mapping[str, Description] | Space,
        auxiliary: pd.DataFrame | str | PathLike[str] | WeightPrior | None = None,
        direction: str = "maximize",
        acquisition: AcquisitionChoice = "ei",
        seed: int = 0,
        *,
        target: str = "y",
        beta: str | float = "brochu",
        noise_std: float | None = None,
        initial: int | None = None,
        kernel: FreeKernel | None = None,
        ard: bool = False,
        model: Surrogate | None = None,
    ) -> None:
        check_choice(acquisition, beta)
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError(f"seed must be a whole number, 0 or more; got {seed!r}.")
        if direction not in ("maximize", "minimize"):
            raise InputError(f"direction must be 'maximize' or 'minimize'; got {direction!r}.")
        if noise_std is not None and not (isfinite(noise_std) and noise_std >= 0):
            raise InputError(f"noise_std must be a finite number, 0 or more; got {noise_std!r}.")
        if initial is not None and initial < 1:
            raise InputError(f"initial must be 1 or more; got {initial}.")
        self.space = Space.parse(space)
        taken = {target, "state", "asked"} & set(self.space.names)
        if taken:
            raise InputError(
                f"The history has columns for the response ({target!r}), 'state' and 'asked', so no parameter may be "
                f"called {listed(sorted(taken))}. Rename it, or the response with target=."
            )
        self.target = target
        self.direction = direction
        self.acquisition = acquisition
        self.beta = beta
        self.seed = seed
        self.noise_std = noise_std
        if isinstance(auxiliary, WeightPrior):
            self.prior = usable_or_warn(auxiliary, self.space)
        elif auxiliary is not None:
            self.prior = pretrain_or_warn(auxiliary, self.space, kernel, ard, target, direction, seed)
        else:
            self.prior = None
        self._surrogate = self._chosen(model)
        self._box = self._surrogate.box
        self._lattice = Lattice.of(self.space, self._box)
        self._initial = len(self.space.parameters) + 1 if initial is None else initial
        self._trials: list[Trial] = []
        self._pending: list[Setting] = []
        self._model: Model | None = None

    def _chosen(self, model: Surrogate | None) -> Surrogate:
        if model is None:
            return Standard(Box.around(self.space)) if self.prior is None else TunedPrior(self.prior)
        if self.prior is not None:
            raise InputError("Give either auxiliary data or a model: a model brings what it learnt with it.")
        if not model.box.covers(self.space):
            raise InputError(
                f"The model's box ({model.box.names}) does not hold this search space ({self.space.names}, its order, "
                "scales and bounds). Make it with Box.around(space, old_settings)."
            )
        return model

    # -- telling -------------------------------------------------------------------------------------

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
        self._model = None

    def resume(self, history: pd.DataFrame) -> "Optimizer":
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

    # -- asking --------------------------------------------------------------------------------------

    def ask(self, n: int | None = None, candidates: pd.DataFrame | Sequence[Setting] | None = None) -> Any:
        """The next setting to try, or with `n` a list of n to try side by side.

        Args:
            n: How many; None for one, not in a list.
            candidates: Pick from these settings only, such as a grid of feasible ones.
        """
        if n is not None and n < 1:
            raise InputError(f"n must be 1 or more; got {n}.")
        pool = None if candidates is None else self._pool(candidates)
        if pool is not None and n is not None and n > len(pool):
            raise InputError(f"{n} settings were asked for, and there are {len(pool)} candidates.")
        asked = []
        for _ in range(1 if n is None else n):
            asked.append(self._next(pool))
            self._pending.append(dict(asked[-1]))
        return asked if n is not None else asked[0]

    def predict(self, settings: Setting | Sequence[Setting] | pd.DataFrame) -> pd.DataFrame:
        """What the model expects: `mean` and `std` (its uncertainty, without measurement noise) for each setting."""
        if not self._trials:
            raise InputError("There is nothing to predict from yet. Tell at least one result first.")
        codes, told = self._codes(as_table(settings, self.space.names)), self._observations()
        model = self._fitted(told)
        with torch.no_grad(), seeded(0):
            posterior: Any = model.posterior(codes)  # BoTorch's own type does not promise a mean
            mean, std = posterior.mean.squeeze(-1).numpy(), posterior.variance.squeeze(-1).sqrt().numpy()
        return pd.DataFrame({"mean": self._sign * (told.shift + told.scale * mean), "std": told.scale * std})

    @property
    def _sign(self) -> float:
        return 1.0 if self.direction == "maximize" else -1.0

    def _next(self, pool: list[Setting] | None) -> Setting:
        taken = len(self._trials) + len(self._pending)
        # Observations that were not asked for replace the design. Without a single result there is no model to ask,
        # however many settings are already under way.
        designing = taken < self._initial and all(trial.asked for trial in self._trials)
        return self._design(taken, pool) if designing or not self._trials else self._best_by_model(pool)

    def _design(self, position: int, pool: list[Setting] | None) -> Setting:
        """The Sobol point to begin with at this position; from a pool, the untried candidate nearest to it."""
        sobol = self.space.sobol(position + 1, self.seed)
        wanted = sobol[position % len(sobol)]
        if pool is None:
            return wanted
        tried = self._codes([trial.setting for trial in self._trials] + self._pending)
        offered = self._box.codes(pool)
        distances = torch.cdist(self._box.inputs(self._box.codes([wanted])), self._box.inputs(offered))[0]
        fresh = ~is_among(offered, tried)
        return dict(pool[int(distances.where(fresh if fresh.any() else ~fresh, torch.inf).argmin())])

    def _best_by_model(self, pool: list[Setting] | None) -> Setting:
        observations = self._observations()
        pending = self._codes(self._pending)
        choices = None if pool is None else self._box.codes(pool)
        # Repeating a setting can pay only where the noise is known not to be zero.
        avoid = pending if self.noise_std else torch.cat([observations.codes, pending])
        seed = self._child_seed(1 + len(self._pending))
        num_choices = self.space.size if pool is None else len(pool)
        with seeded(seed):
            model = self._fitted(observations)
            if len(pending):
                model = believing(model, self._surrogate, observations, pending)
            best, step = float(observations.y.max()), len(self._trials) + 1
            situation = Situation(best, observations.codes, step, len(self._box.axes), num_choices, seed)
            acquisition = make_acquisition(self.acquisition, model, situation, self.beta)
            found = maximise(acquisition, self._lattice, avoid, choices)
            if pool is not None and choices is not None:
                return dict(pool[int(((choices - found) ** 2).sum(-1).argmin())])
            setting = self._box.settings(found[None], self.space)[0]
            codes = self._box.codes([setting])
            if is_among(codes, avoid)[0]:  # rounding, or a flat acquisition, led back to a known setting
                fresh = self.space.sobol(len(avoid) + 256, seed)
                found = maximise(acquisition, self._lattice, avoid, self._box.codes(fresh))
                setting = self._box.settings(found[None], self.space)[0]
        return setting

    def _observations(self) -> Observations:
        """Everything told, standardised.

        A failed run counts as a little worse than the worst response so far, which keeps the model away from it.
        """
        y = self._sign * np.array([trial.value for trial in self._trials], dtype=np.float64)
        size = float(np.nanmax(np.abs(y), initial=0.0)) or 1.0
        y = y / size  # first, so that neither 1e-300 nor 1e300 is squared
        told = y[~np.isnan(y)]
        worst, reach = (told.min(), np.ptp(told)) if len(told) else (0.0, 0.0)
        y[np.isnan(y)] = worst - (_FAILURE * reach if reach > 0 else 1.0)
        shift, scale = float(y.mean()), float(y.std())
        scale = scale if scale > 1e-12 else 1.0
        return Observations(
            codes=self._codes([trial.setting for trial in self._trials]),
            y=torch.as_tensor((y - shift) / scale)[:, None],
            noise_std=None if self.noise_std is None else self.noise_std / (size * scale),
            shift=size * shift,
            scale=size * scale,
        )

    def _fitted(self, observations: Observations) -> Model:
        """The model of everything told, made once after each `tell`."""
        if self._model is None:
            with seeded(self._child_seed(0)):
                self._model = self._surrogate(observations)
        return self._model

    def _child_seed(self, purpose: int) -> int:
        """A seed of its own for each step and purpose, the same whenever that step comes round again."""
        return int(np.random.SeedSequence([self.seed, len(self._trials), purpose]).generate_state(1)[0])

    def _codes(self, settings: pd.DataFrame | Sequence[Setting]) -> Float[Tensor, "n k"]:
        """Codes of settings that were run, which may lie a little outside."""
        return self._box.codes(settings, slack=2 * _MEANT)

    def _pool(self, candidates: pd.DataFrame | Sequence[Setting]) -> list[Setting]:
        table = as_table(candidates, self.space.names)
        if len(table) == 0:
            raise InputError("candidates must hold at least one setting; got none.")
        self._box.codes(table)
        pool = [self._as_given(row) for row in table.to_dict("records")]
        outside = [row for row, setting in enumerate(pool) if not self.space.allows(setting)]
        if outside:
            raise InputError(
                f"candidates must be settings of the search space; {len(outside)} of {len(pool)} are not "
                f"(rows {listed(outside)}, such as {pool[outside[0]]}). Drop them, or widen the space."
            )
        return pool


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
