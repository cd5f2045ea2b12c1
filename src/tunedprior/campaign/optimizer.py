"""Bayesian optimisation with help from old data, as something to ask and to tell."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import torch

from tunedprior.acquisition.functions import AcquisitionChoice
from tunedprior.acquisition.posterior import moments
from tunedprior.average.old_sets import OldData, named
from tunedprior.average.surrogate import Average
from tunedprior.campaign.priors import AVERAGE, surrogate_for
from tunedprior.campaign.shadow import Shadow, shadow_of
from tunedprior.campaign.suggester import Fitted, Suggester
from tunedprior.campaign.telling import Run, Suggestion, pending_trial
from tunedprior.checks import Numbers, renamed
from tunedprior.errors import InputError
from tunedprior.insight.trust import Trust, TrustSoFar
from tunedprior.kernels import FreeKernel
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import LARGE, computing
from tunedprior.problem.box import as_table
from tunedprior.problem.objective import Objective, codes_of_run
from tunedprior.problem.parameters import Description
from tunedprior.problem.space import Setting, Space
from tunedprior.problem.trials import Columns, History, Trial, from_table, settings_of, to_table

OptimizerT = TypeVar("OptimizerT", bound="Optimizer")


class Optimizer:
    """Suggests the next experiment, from what was told so far and from old data that is related.

    Suggestions depend on the arguments, on what was told, in order, and on what is pending, and on nothing else: an
    Optimizer that `resume`s a saved `history` goes on as if there had been no break. It is a thin front over a
    `Suggester`, which makes them, and a `History`, which keeps what was told.

    Args:
        space: Parameter names and their Optuna distributions, `(low, high)`, or a list of values.
        old_data: A table, the path of a CSV file, or a `WeightPrior` learnt before; several such as a list or by name;
            None: none.
        direction: Whether the response is to be maximised or minimised.
        acquisition: `"ei"` (expected improvement), `"ucb"` (GP-UCB), or any BoTorch acquisition class that
            docs/algorithm1.md lists.
        seed: Makes suggestions repeatable.
        target: The name of the response, in the old data and in the history.
        beta: GP-UCB's schedule: `"brochu"`, `"srinivas"` (finite spaces), `"fixed"` (4), or a number.
        noise_std: The measurement noise, as a standard deviation in the response's units, where it is known; 0 for
            an exact response. Learnt when left out.
        initial: How many points of a Sobol design come before the model; one more than there are parameters when left
            out. Observations that are told before asking replace them.
        prior: What to make of old data. `"average"` holds many beliefs and trusts each as far as observations bear it
            out; `"reweighted"` is the paper's Algorithm 1, and `"as printed"` is that to the letter; `"aligned"`,
            `"matched"` and `"uncertain"` are single beliefs (docs/beliefs.md); `"uninformed"` leaves old data aside.
        kernel: The free kernel that learns from old data. Default: `SquaredExponential`.
        ard: Whether the kernel of `"reweighted"` has one length-scale per input.
        model: How observations become a model, instead of all that is learnt from old data: a `Surrogate`, such as
            `TunedPrior(prior, unit_diagonal=True)` or one of your own.

    >>> opt = Optimizer({"temperature": (20.0, 90.0), "catalyst": ["A", "B"]}, direction="minimize", seed=1)
    >>> setting = opt.ask()
    >>> opt.tell(setting, 0.71)
    >>> opt.best.value
    0.71
    """

    @renamed("auxiliary", "old_data")
    def __init__(
        self,
        space: Mapping[str, Description] | Space,
        old_data: OldData | Sequence[OldData] | Mapping[str, OldData] | None = None,
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
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError(f"seed must be a whole number, 0 or more; got {seed!r}.")
        old = named(old_data)
        space, objective = Space.parse(space), Objective(target, direction, noise_std)
        if model is None:
            model = surrogate_for(
                prior, old, space, kernel=kernel, ard=ard, target=target, direction=direction, seed=seed
            )
        elif old or (prior, kernel, ard) != (AVERAGE, None, False):
            raise InputError(
                "Give either a model, or old data with prior, kernel and ard: a model brings what it learnt with it."
            )
        self._start(Suggester(space, model, objective, acquisition, beta, initial), int(seed))

    @classmethod
    def of(cls: type[OptimizerT], suggester: Suggester, seed: int = 0) -> OptimizerT:
        """An optimiser with a suggester that was made before: what it learnt from old data is not learnt again."""
        made = cls.__new__(cls)
        made._start(suggester, seed)
        return made

    def _start(self, suggester: Suggester, seed: int) -> None:
        self._suggester, self._seed = suggester, seed
        self._history = History()
        self._columns = Columns.of(suggester.space, suggester.objective.target)
        self._fitted: Fitted | None = None
        self._trust: TrustSoFar | None = None

    # -- what it was made with: for reading ------------------------------------------------------------

    @property
    def suggester(self) -> Suggester:
        """What makes the suggestions; it may be shared by any number of optimisers, threads and processes."""
        return self._suggester

    @property
    def surrogate(self) -> Surrogate:
        """What turns observations into a model: `Average`, `TunedPrior`, `Standard`, or the one that was given."""
        return self._suggester.surrogate

    @property
    def space(self) -> Space:
        """What may be set."""
        return self._suggester.space

    @property
    def target(self) -> str:
        """The name of the response."""
        return self._suggester.objective.target

    @property
    def direction(self) -> str:
        """Whether the response is to be maximised or minimised."""
        return self._suggester.objective.direction

    @property
    def noise_std(self) -> float | None:
        """The measurement noise, where it is known."""
        return self._suggester.objective.noise_std

    @property
    def acquisition(self) -> AcquisitionChoice:
        """What makes a setting worth trying."""
        return self._suggester.acquisition

    @property
    def beta(self) -> str | float:
        """GP-UCB's schedule."""
        return self._suggester.beta

    @property
    def seed(self) -> int:
        """What makes suggestions repeatable."""
        return self._seed

    # -- asking ----------------------------------------------------------------------------------------

    def ask(self, n: int | None = None, candidates: pd.DataFrame | Sequence[Setting] | None = None) -> Any:
        """The next setting to try, or with `n` a list of n to try side by side.

        Args:
            n: How many; None for one, not in a list.
            candidates: Pick from these settings only, such as a grid of feasible ones.
        """
        if n is not None and n < 1:
            raise InputError(f"n must be 1 or more; got {n}.")
        pool = None if candidates is None else self._suggester.pool(candidates)
        if pool is not None and n is not None and n > len(pool):
            raise InputError(f"{n} settings were asked for, and there are {len(pool)} candidates.")
        history, asked = self._history, []
        for _ in range(1 if n is None else n):
            under_way = settings_of(history.pending)
            fitted = None if self._suggester.is_designing(history, under_way) else self._model()
            setting = self._suggester.suggest(history, under_way, self._seed, pool, fitted)
            asked.append(Suggestion(setting, history.next_id))
            history = history.asked(setting)
        self._history = history  # all or nothing
        return asked if n is not None else asked[0]

    def shadow(self, setting: Setting, candidates: pd.DataFrame | Sequence[Setting] | None = None) -> Shadow:
        """What plain optimisation would have suggested instead of this pending setting, and how far apart they are.

        It is asked with all that was told by now, the same acquisition function and box, and what was already pending
        when this was asked for.
        """
        trial = pending_trial(setting, self._history)
        if trial is None:
            raise InputError(f"A shadow is that of a pending setting; {setting} is not among {self.pending}.")
        return shadow_of(self._suggester, self._history, trial, self._seed, candidates)

    # -- telling ---------------------------------------------------------------------------------------

    def tell(
        self,
        setting: Setting | Sequence[Setting] | pd.DataFrame,
        value: Numbers | None = None,
        failed: bool | Sequence[bool] = False,
        *,
        trial: int | None = None,
        note: str = "",
    ) -> None:
        """Say what came of one setting, or of several at once.

        A run that gave no value has the value NaN, or `failed=True`. Settings need not have been asked for, and need
        not lie on the grid: say what was actually run. What `ask` returned is recognised by its trial's number, changed
        or not; any other setting within 5 % of a pending suggestion counts as that one. Columns of a table that are no
        parameters are kept with the trial. Either everything is taken, or nothing and an `InputError`.

        Args:
            setting: What was run.
            value: What came of it.
            failed: Whether it gave no value.
            trial: The number of the suggestion that was run, where it is known.
            note: Whatever is to be kept with it.
        """
        run = Run.of(setting, value, failed, trial, note, self._columns)
        self._history = run.told_to(self._history, self.space, self.surrogate.box)  # all or nothing

    def resume(self: OptimizerT, history: pd.DataFrame) -> OptimizerT:
        """Go on from a saved `history` as if there had been no break; pending suggestions included."""
        if self._history != History():
            raise InputError("resume needs an Optimizer that was told nothing yet. Make a new one.")
        read = from_table(history, self._columns, self.space)
        codes_of_run(settings_of((*read.told, *read.pending)), self.surrogate.box)  # refuses what lies outside
        self._history = read
        return self

    def cancel(self, setting: Setting) -> None:
        """Forget a pending setting that will not be run."""
        trial = pending_trial(setting, self._history)
        if trial is None:
            raise InputError(f"Only a pending setting can be cancelled; {setting} is not among {self.pending}.")
        self._history = self._history.without(trial)

    # -- looking ---------------------------------------------------------------------------------------

    @property
    def history(self) -> pd.DataFrame:
        """Every trial in order, then what is pending; save it as a file, and `resume` goes on from there.

        The settings, the response (`y`, or what `target=` names; NaN for a failed run), `state` (complete, failed or
        pending), `asked`, whether the setting was a suggestion, and `trial`, its number. Notes, columns of your own and
        the settings that were asked for follow where there are any. A parameter may have any of these names; then the
        column's gets a `_` more.
        """
        return to_table(self._history, self._columns)

    @property
    def trials(self) -> History:
        """The history as a value: `told` and `pending` trials."""
        return self._history

    @property
    def pending(self) -> list[Setting]:
        """Settings asked for and not yet told."""
        return [Suggestion(trial.setting, trial.id) for trial in self._history.pending]

    @property
    def best(self) -> Trial | None:
        """The best trial so far; None while there is no value."""
        best = self._suggester.objective.best(self._history.told)
        return None if best is None else replace(best, setting=dict(best.setting))  # theirs to change

    def predict(self, settings: Setting | Sequence[Setting] | pd.DataFrame) -> pd.DataFrame:
        """What the model expects: `mean` and `std` (its uncertainty, without measurement noise) for each setting."""
        if not len(self._history):
            raise InputError("There is nothing to predict from yet. Tell at least one result first.")
        codes, fitted = codes_of_run(as_table(settings, self.space.names), self.surrogate.box), self._model()
        with computing(len(self._history) >= LARGE), torch.no_grad():
            mean, variance = moments(fitted.model, codes)
        told, sign = fitted.observations, self._suggester.objective.sign
        expected, std = told.shift + told.scale * mean.numpy(), told.scale * variance.sqrt().numpy()
        return pd.DataFrame({"mean": sign * expected, "std": std})

    @property
    def trust(self) -> Trust:
        """How much each belief about the old data is trusted by now, how the objective goes with it, and since when."""
        average = self.surrogate
        if not isinstance(average, Average) or average.alone:
            raise InputError(
                f"Trust is a matter of several beliefs, so it takes old data and prior='average'; this Optimizer has "
                f"the one model {type(average).__name__}."
            )
        so_far = self._trust or TrustSoFar(average, self._suggester.objective)
        self._trust = so_far.after(self._history.told)
        return self._trust.trust

    # -- how it is done --------------------------------------------------------------------------------

    def _model(self) -> Fitted:
        """The model of everything told, made once after each `tell`."""
        if self._fitted is None or self._fitted.history.told is not self._history.told:
            self._fitted = self._suggester.fit(self._history, self._seed, self._fitted)
        return self._fitted
