"""Bayesian optimisation with help from old data, as something to ask and to tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

import numpy as np
import pandas as pd
import torch
from botorch.models.model import Model

from tunedprior.acquisition import AcquisitionChoice, Situation, check_choice, make_acquisition
from tunedprior.average import Average
from tunedprior.box import as_table
from tunedprior.errors import InputError
from tunedprior.kernels import FreeKernel
from tunedprior.knowledge import OldData, named
from tunedprior.maximise import Lattice, is_among, maximise
from tunedprior.priors import AVERAGE, make_surrogate
from tunedprior.record import Record
from tunedprior.seeding import seeded
from tunedprior.space import Description, Setting, Space
from tunedprior.surrogates import Observations, Standard, Surrogate, believing, moments
from tunedprior.threads import threads_for
from tunedprior.trust import Trust, trust
from tunedprior.validation import listed


@dataclass(frozen=True)
class Shadow:
    """What plain optimisation would have suggested instead.

    Attributes:
        setting: Its suggestion.
        distance: How far from it the real one is: 0 for the same, 1 from one corner of the box to the opposite one.
    """

    setting: Setting
    distance: float


class Optimizer(Record):
    """Suggests the next experiment, from what was told so far and from old data that is related.

    Suggestions depend on the arguments, on what was told, in order, and on what is pending, and on nothing else: an
    Optimizer that `resume`s a saved `history` goes on as if there had been no break.

    Args:
        space: Parameter names and their Optuna distributions, `(low, high)`, or a list of values.
        auxiliary: Old data (a table, the path of a CSV file, or a `WeightPrior` learnt before), or several such as a
            list or by name; None: none.
        direction: Whether the response is to be maximised or minimised.
        acquisition: `"ei"` (expected improvement), `"ucb"` (GP-UCB), or any BoTorch acquisition class.
        seed: Makes suggestions repeatable.
        target: The name of the response, in the old data and in the history.
        beta: GP-UCB's schedule: `"brochu"`, `"srinivas"` (finite spaces), `"fixed"` (4), or a number.
        noise_std: The measurement noise, as a standard deviation in the response's units, where it is known; 0 for
            an exact response. Learnt when left out.
        initial: How many points of a Sobol design come before the model; one more than there are parameters when left
            out. Observations that are told before asking replace them.
        prior: What to make of old data. `"average"` holds many beliefs and trusts each as far as observations bear it
            out; `"reweighted"` is the paper's Algorithm 1; `"aligned"`, `"matched"` and `"uncertain"` are single
            beliefs (docs/beliefs.md); `"uninformed"` leaves old data aside.
        kernel: The free kernel that learns from old data. Default: `SquaredExponential`.
        ard: Whether the kernel of `"reweighted"` has one length-scale per input.
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
        auxiliary: OldData | Sequence[OldData] | Mapping[str, OldData] | None = None,
        direction: str = "maximize",
        acquisition: AcquisitionChoice = "ei",
        seed: int = 0,
        *,
        target: str = "y",
        beta: str | float = "brochu",
        noise_std: float | None = None,
        initial: int | None = None,
        prior: str = AVERAGE,
        kernel: FreeKernel | None = None,
        ard: bool = False,
        model: Surrogate | None = None,
    ) -> None:
        check_choice(acquisition, beta)
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError(f"seed must be a whole number, 0 or more; got {seed!r}.")
        if noise_std is not None and not (isfinite(noise_std) and noise_std >= 0):
            raise InputError(f"noise_std must be a finite number, 0 or more; got {noise_std!r}.")
        if initial is not None and initial < 1:
            raise InputError(f"initial must be 1 or more; got {initial}.")
        super().__init__(Space.parse(space), target, direction, noise_std)
        self.acquisition = acquisition
        self.beta = beta
        self.seed = seed
        old = named(auxiliary)
        if model is None:
            self._surrogate = make_surrogate(
                prior, old, self.space, kernel=kernel, ard=ard, target=target, direction=direction, seed=seed
            )
        else:
            self._surrogate = self._checked(model, old)
        self._box = self._surrogate.box
        self._lattice = Lattice.of(self.space, self._box)
        self._initial = len(self.space.parameters) + 1 if initial is None else initial
        self._model: tuple[int, Model] | None = None

    def _checked(self, model: Surrogate, old: Mapping[str, OldData]) -> Surrogate:
        if old:
            raise InputError("Give either auxiliary data or a model: a model brings what it learnt with it.")
        if not model.box.covers(self.space):
            raise InputError(
                f"The model's box ({model.box.names}) does not hold this search space ({self.space.names}, its order, "
                "scales and bounds). Make it with Box.around(space, old_settings)."
            )
        return model

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
            mean, variance = moments(model, codes)
        expected, std = told.shift + told.scale * mean.numpy(), told.scale * variance.sqrt().numpy()
        return pd.DataFrame({"mean": self._sign * expected, "std": std})

    @property
    def surrogate(self) -> Surrogate:
        """What turns observations into a model: `Average`, `TunedPrior`, `Standard`, or the one that was given."""
        return self._surrogate

    @property
    def trust(self) -> Trust:
        """How much each belief about the old data is trusted by now, how the objective goes with it, and since when."""
        if not isinstance(self._surrogate, Average) or self._surrogate.alone:
            raise InputError(
                f"Trust is a matter of several beliefs, so it takes old data and prior='average'; this Optimizer has "
                f"the one model {type(self._surrogate).__name__}."
            )
        observed = [self._observations(count) for count in range(1, len(self._trials) + 1)]
        return trust(self._surrogate, observed, self._sign)

    def shadow(self, setting: Setting, candidates: pd.DataFrame | Sequence[Setting] | None = None) -> Shadow:
        """What plain optimisation would have suggested instead of this pending setting, and how far apart they are.

        It is asked with all that was told by now, the same acquisition function and box, and what was already pending
        when this was asked for.
        """
        if setting not in self._pending:
            raise InputError(f"A shadow is that of a pending setting; {setting} is not among {self._pending}.")
        plain = Optimizer(
            self.space, direction=self.direction, acquisition=self.acquisition, seed=self.seed, target=self.target,
            beta=self.beta, noise_std=self.noise_std, initial=self._initial, model=Standard(self._box),
        )  # fmt: skip
        plain._trials = list(self._trials)
        plain._pending = [dict(other) for other in self._pending[: self._pending.index(setting)]]
        instead = plain.ask(candidates=candidates)
        here, there = self._box.inputs(self._box.codes([setting, instead]))
        return Shadow(instead, float((here - there).norm() / (2 * sqrt(len(here)))))

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
        with seeded(seed), threads_for(len(observations.y)):
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

    def _fitted(self, observations: Observations) -> Model:
        """The model of everything told, made once after each `tell`."""
        if self._model is None or self._model[0] != len(self._trials):
            with seeded(self._child_seed(0)), threads_for(len(observations.y)):
                self._model = len(self._trials), self._surrogate(observations)
        return self._model[1]

    def _child_seed(self, purpose: int) -> int:
        """A seed of its own for each step and purpose, the same whenever that step comes round again."""
        return int(np.random.SeedSequence([self.seed, len(self._trials), purpose]).generate_state(1)[0])

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
