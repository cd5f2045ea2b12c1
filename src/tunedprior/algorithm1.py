"""Algorithm 1 of the paper, tuned-prior Bayesian optimisation, as something to ask and to tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, nan
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import torch
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition import AcquisitionChoice, Situation, make_acquisition
from tunedprior.box import Box, as_table
from tunedprior.errors import InputError
from tunedprior.kernels import FreeKernel
from tunedprior.maximise import Lattice, is_among, maximise
from tunedprior.models import believing, standard_model, tuned_prior_model
from tunedprior.pretrain import pretrain_or_warn
from tunedprior.seeding import seeded
from tunedprior.space import Description, Setting, Space
from tunedprior.validation import Numbers
from tunedprior.weight_prior import WeightPrior


@dataclass(frozen=True)
class Trial:
    """A setting and what came of it; `value` is NaN for a failed run."""

    setting: Setting
    value: float

    @property
    def failed(self) -> bool:
        """Whether the run gave no value."""
        return isnan(self.value)


class Optimizer:
    """Suggests the next experiment, from what was told so far and from old data that is related.

    Suggestions depend on the arguments and on what was told, in order, and on nothing else: a campaign rebuilt from
    its `history` goes on as if it had never stopped.

    Args:
        space: Parameter names and their Optuna distributions, `(low, high)`, or a list of values.
        auxiliary: Old data (a table, the path of a CSV file, or a `WeightPrior` learnt before); None: none.
        direction: Whether the response is to be maximised or minimised.
        acquisition: `"ei"` (expected improvement), `"ucb"` (GP-UCB), or any BoTorch acquisition class.
        seed: Makes suggestions repeatable.
        target: The old data's response column.
        beta: GP-UCB's schedule: `"brochu"`, `"srinivas"` (finite spaces), or a number.
        noise_std: The measurement noise, as a standard deviation in the response's units, where it is known; 0 for
            an exact response. Learnt when left out.
        initial: How many points of a Sobol design come before the model; one more than there are parameters when left
            out. Observations that are told before asking replace them.
        kernel: The free kernel that learns from old data. Default: `SquaredExponential`.
        ard: Whether that kernel has one length-scale per input.

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
    ) -> None:
        if direction not in ("maximize", "minimize"):
            raise InputError(f"direction must be 'maximize' or 'minimize'; got {direction!r}.")
        if noise_std is not None and not (isfinite(noise_std) and noise_std >= 0):
            raise InputError(f"noise_std must be a finite number, 0 or more; got {noise_std!r}.")
        if initial is not None and initial < 1:
            raise InputError(f"initial must be 1 or more; got {initial}.")
        self.space = Space.parse(space)
        self.direction = direction
        self.acquisition = acquisition
        self.beta = beta
        self.seed = seed
        self.noise_std = noise_std
        if isinstance(auxiliary, WeightPrior):
            _check_prior(auxiliary, self.space)
            self.prior: WeightPrior | None = auxiliary
        elif auxiliary is not None:
            self.prior = pretrain_or_warn(auxiliary, self.space, kernel, ard, target, direction, seed)
        else:
            self.prior = None
        self._box = Box.around(self.space) if self.prior is None else self.prior.box
        self._lattice = Lattice.of(self.space, self._box)
        self._initial = len(self.space.parameters) + 1 if initial is None else initial
        self._trials: list[Trial] = []
        self._pending: list[Setting] = []
        self._model: SingleTaskGP | None = None

    # -- telling -------------------------------------------------------------------------------------

    def tell(
        self,
        setting: Setting | Sequence[Setting] | pd.DataFrame,
        value: Numbers | None = None,
        failed: bool = False,
    ) -> None:
        """Say what came of one setting, or of several at once.

        A run that gave no value has the value NaN, or `failed=True`. Settings need not have been asked for, and need
        not lie on the grid: say what was actually run. Either everything is taken, or nothing and an `InputError`.
        """
        table = as_table(setting, self.space.names)
        self._box.codes(table)  # refuses what lies outside
        values = _values(value, failed, len(table))
        for row, response in zip(table.to_dict("records"), values, strict=True):
            told = self._as_given(row)
            self._trials.append(Trial(told, response))
            self._pending = [waiting for waiting in self._pending if waiting != told]
        self._model = None

    def _as_given(self, told: Mapping[Any, Any]) -> Setting:
        """With the space's own objects for categories, and grid values as such, however a table stored them."""
        return {parameter.name: parameter.recognise(told[parameter.name]) for parameter in self.space.parameters}

    @property
    def history(self) -> pd.DataFrame:
        """Every trial in order: the settings, `y` (NaN for a failed run) and `state`."""
        table = pd.DataFrame([trial.setting for trial in self._trials], columns=list(self.space.names))
        table["y"] = [trial.value for trial in self._trials]
        table["state"] = ["failed" if trial.failed else "complete" for trial in self._trials]
        return table

    @property
    def pending(self) -> list[Setting]:
        """Settings asked for and not yet told."""
        return list(self._pending)

    def cancel(self, setting: Setting) -> None:
        """Forget a pending setting that will not be run."""
        if setting not in self._pending:
            raise InputError(f"Only a pending setting can be cancelled; {setting} is not among {self._pending}.")
        self._pending.remove(setting)

    @property
    def best(self) -> Trial | None:
        """The best trial so far; None while there is no value."""
        told = [trial for trial in self._trials if not trial.failed]
        return max(told, key=lambda trial: self._sign * trial.value, default=None)

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
        asked = []
        for _ in range(1 if n is None else n):
            asked.append(self._next(pool))
            self._pending.append(asked[-1])
        return asked if n is not None else asked[0]

    def predict(self, settings: Setting | Sequence[Setting] | pd.DataFrame) -> pd.DataFrame:
        """What the model expects: `mean` and `std` (its uncertainty, without measurement noise) for each setting."""
        if not self._trials:
            raise InputError("There is nothing to predict from yet. Tell at least one result first.")
        table = as_table(settings, self.space.names)
        model = self._fitted()
        with torch.no_grad(), seeded(0):
            posterior = model.posterior(self._box.codes(table))
            mean, std = self._sign * posterior.mean.squeeze(-1), posterior.variance.squeeze(-1).sqrt()
        return pd.DataFrame({"mean": mean.numpy(), "std": std.numpy()})

    @property
    def _sign(self) -> float:
        return 1.0 if self.direction == "maximize" else -1.0

    def _next(self, pool: list[Setting] | None) -> Setting:
        taken = [trial.setting for trial in self._trials] + self._pending
        # Without a single result there is no model to ask, however many points are already under way.
        design = self._design(pool, self._initial if self._trials else max(self._initial, len(taken) + 1))
        if all(setting in design for setting in taken):
            waiting = [setting for setting in design if setting not in taken]
            if waiting or not self._trials:
                return waiting[0] if waiting else design[0]
        return self._best_by_model(pool)

    def _design(self, pool: list[Setting] | None, count: int) -> list[Setting]:
        """The Sobol points to begin with; from a pool, the candidates nearest to them."""
        sobol = self.space.sobol(count, self.seed)
        if pool is None:
            return sobol
        wanted, offered = self._inputs(sobol), self._inputs(pool)
        chosen: list[int] = []
        for distances in torch.cdist(wanted, offered):
            distances[chosen] = torch.inf
            if len(chosen) < len(pool):
                chosen.append(int(distances.argmin()))
        return [pool[row] for row in chosen]

    def _best_by_model(self, pool: list[Setting] | None) -> Setting:
        observed = self._box.codes([trial.setting for trial in self._trials])
        pending = self._box.codes(self._pending)
        choices = None if pool is None else self._box.codes(pool)
        # Repeating a setting can pay only where the noise is known not to be zero.
        avoid = pending if self.noise_std else torch.cat([observed, pending])
        seed = self._child_seed(1 + len(self._pending))
        num_choices = self.space.size if pool is None else len(pool)
        with seeded(seed):
            model: Model = self._fitted()
            y = self._responses()
            situation = Situation(
                float(y.max()), observed, len(self._trials) + 1, len(self._box.axes), num_choices, seed
            )
            if len(pending):
                model = believing(self._fitted(), pending)
            acquisition = make_acquisition(self.acquisition, model, situation, self.beta)
            found = maximise(acquisition, self._lattice, avoid, choices)
            if pool is not None and choices is not None:
                return pool[int(((choices - found) ** 2).sum(-1).argmin())]
            setting = self._box.settings(found[None], self.space)[0]
            codes = self._box.codes([setting])
            if is_among(codes, avoid)[0]:  # rounding, or a flat acquisition, led back to a known setting
                fresh = self.space.sobol(len(avoid) + 256, seed)
                found = maximise(acquisition, self._lattice, avoid, self._box.codes(fresh))
                setting = self._box.settings(found[None], self.space)[0]
        return setting

    def _responses(self) -> Float[Tensor, "n 1"]:
        """Larger is better; failed runs count as the worst response so far, which keeps the model away from them."""
        y = self._sign * np.array([trial.value for trial in self._trials], dtype=np.float64)
        y[np.isnan(y)] = 0.0 if np.isnan(y).all() else np.nanmin(y)
        return torch.as_tensor(y)[:, None]

    def _fitted(self) -> SingleTaskGP:
        if self._model is None:
            codes = self._box.codes([trial.setting for trial in self._trials])
            with seeded(self._child_seed(0)):
                if self.prior is None:
                    self._model = standard_model(self._box, codes, self._responses(), self.noise_std)
                else:
                    self._model = tuned_prior_model(self.prior, codes, self._responses(), self.noise_std)
        return self._model

    def _child_seed(self, purpose: int) -> int:
        """A seed of its own for each step and purpose, the same whenever that step comes round again."""
        return int(np.random.SeedSequence([self.seed, len(self._trials), purpose]).generate_state(1)[0])

    def _inputs(self, settings: Sequence[Setting]) -> Float[Tensor, "n d"]:
        return self._box.inputs(self._box.codes(settings))

    def _pool(self, candidates: pd.DataFrame | Sequence[Setting]) -> list[Setting]:
        table = as_table(candidates, self.space.names)
        if len(table) == 0:
            raise InputError("candidates must hold at least one setting; got none.")
        self._box.codes(table)
        return [self._as_given(row) for row in table.to_dict("records")]


def _check_prior(prior: WeightPrior, space: Space) -> None:
    if not prior.box.covers(space):
        raise InputError(
            f"The weight prior was learnt for {prior.box.names} and does not cover this search space ({space.names}, "
            "its order, scales and bounds). Learn it again with pretrain(old, space)."
        )
    if prior.vanishes:
        raise InputError("The weight prior's kernel vanishes; it says nothing. Optimise without it.")


def _values(value: Numbers | None, failed: bool, count: int) -> list[float]:
    if failed:
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
    return values
