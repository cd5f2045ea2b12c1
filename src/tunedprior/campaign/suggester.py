"""Suggestions as a pure function of a history, pending settings and a seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from botorch.acquisition import AcquisitionFunction
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.evaluation import is_among, is_near
from tunedprior.acquisition.functions import AcquisitionChoice, Situation, check_choice, make_acquisition
from tunedprior.acquisition.lattice import Lattice
from tunedprior.acquisition.posterior import believing
from tunedprior.acquisition.rehearsal import rehearse
from tunedprior.acquisition.search import maximize
from tunedprior.average.surrogate import Average
from tunedprior.campaign.composing import Composing
from tunedprior.campaign.design import OLD_DATA, check_design, default_initial, is_designed, place
from tunedprior.campaign.first_settings import FirstSettings
from tunedprior.campaign.fitted import Cost, Fitted, Fitting, Part, cost_observations, cost_of
from tunedprior.campaign.pool import Pool, pool_of
from tunedprior.checks import listed, shown, warn, whole
from tunedprior.errors import ExhaustedWarning, InputError
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import LARGE, child_seed, computing
from tunedprior.problem.aims import Aims
from tunedprior.problem.box import Box
from tunedprior.problem.objective import Objective, codes_of_run
from tunedprior.problem.space import Setting, Space
from tunedprior.problem.trials import History, Trial, settings_of

# How many more settings than known ones are drawn where the search led back to a known one.
_FRESH = 256
#: What a failed run counts as: learnt as such, by the probability that a run works; or a little worse than the worst.
LEARNT, WORST = FAILURES = ("learnt", "worst")
# Settings at which a known cost is looked at, to have a smooth model of it.
_COSTED = 128


@dataclass(frozen=True, eq=False)
class Suggester:
    """Suggests the next setting to try.

    It is a value: nothing in it ever changes, what was learnt from old data is in its surrogate, and it can be pickled.
    Any number of threads and processes may use one and the same, each with a history of its own.

    Attributes:
        space: What may be set.
        surrogate: How observations of the first response become a model.
        aims: What is wanted of the responses.
        acquisition: As for `Optimizer`.
        beta: As for `Optimizer`.
        initial: Over how many settings the design extends. Without an opening they are all of the design, one more than
            there are parameters when left out; after an opening, the design's and the model's take turns.
        others: How observations of further responses become models, by name; with the box of the first.
        failures: `"learnt"` or `"worst"`: what a failed run counts as; the former for averages alone.
        cost: What a setting costs, where it is known beforehand.
        design: `"old data"`: the surrogate's opening comes first, if it has one, then a Sobol design; or `"sobol"`.
        num_opening: The number of settings in the surrogate's opening.
        own_box: The box of the search space alone, which says what lies outside of it and what is near.
        lattice: The allowed settings, made from the space.

    >>> space = Space.parse({"x": (0.0, 1.0)})
    >>> suggester = Suggester(space, Average.plain(space))
    >>> history = History().asked({"x": 0.25}).with_result({"x": 0.25}, 1.0)
    >>> suggester.suggest(history, seed=1) == suggester.suggest(history, seed=1)
    True
    """

    space: Space
    surrogate: Surrogate
    aims: Aims = field(default_factory=Aims)
    acquisition: AcquisitionChoice = "ei"
    beta: str | float = "brochu"
    initial: int | None = None
    design: str = OLD_DATA
    others: Mapping[str, Surrogate] = field(default_factory=dict)
    failures: str = LEARNT
    cost: Cost | None = None
    num_opening: int = field(init=False, repr=False)
    own_box: Box = field(init=False, repr=False)
    lattice: Lattice = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_choice(self.acquisition, self.beta)
        check_design(self.design)
        self._check_aims()
        initial = None if self.initial is None else whole(self.initial, "initial")
        if not self.surrogate.box.covers(self.space):
            raise InputError(
                f"The model's box ({self.surrogate.box.names}) does not hold this search space ({self.space.names}, "
                "its order, scales and bounds). Make it with Box.around(space, old_settings)."
            )
        object.__setattr__(self, "own_box", Box.around(self.space))
        object.__setattr__(self, "lattice", Lattice.of(self.space, self.surrogate.box))
        object.__setattr__(self, "num_opening", self._first.num_opening)
        default = default_initial(len(self.space.parameters), self.num_opening)
        object.__setattr__(self, "initial", default if initial is None else initial)
        rehearse(self.acquisition, self.surrogate, self.lattice, self.beta)

    def suggest(
        self,
        history: History,
        pending: Sequence[Setting] | None = None,
        seed: int = 0,
        candidates: Any = None,
        fitted: Fitted | None = None,
    ) -> Setting:
        """The next setting to try; it depends on the arguments and on nothing else.

        Args:
            history: What was told.
            pending: Settings that are under way; those of the history when left out.
            seed: Makes the suggestion repeatable.
            candidates: Pick from these settings only.
            fitted: What `fit` gave for this history and seed, where it is at hand. It saves time, and changes nothing.
        """
        under_way = settings_of(history.pending) if pending is None else list(pending)
        pool = None if candidates is None else self.pool(candidates)
        self._warn_if_exhausted(history, under_way, pool)
        if self.is_designing(history, under_way):
            return self._designed(history, under_way, seed, pool)
        if fitted is None or fitted.history.told != history.told:
            fitted = self.fit(history, seed)
        return self._chosen(history, fitted, under_way, seed, pool)

    def is_designing(self, history: History, pending: Sequence[Setting]) -> bool:
        """Whether the next setting is one of the design that comes before the model.

        Observations that were not asked for replace the design; what substitutes do, `place` says. Without a single
        result there is no model to ask, however many settings are already under way.
        """
        position = self._place(history, len(history) + len(pending))
        early = is_designed(position, self.num_opening, self.initial or 1)
        nothing = not any(one.told(history.told) for one in self.aims.responses) and not self._learns(history)
        return (early and all(trial.asked for trial in history.told)) or nothing

    def fit(self, history: History, seed: int = 0, before: Fitted | None = None) -> Fitted:
        """The models of everything told; faster with what `fit` gave for the same history less some results."""
        fitted = self._fitting.fit(history, seed, before)
        return fitted if self.cost is None else replace(fitted, cost=self._known_cost)

    def plain(self) -> "Suggester":
        """This suggester with the process that knows no old data instead of its surrogate."""
        plain, most = Average.plain(self.space), default_initial(len(self.space.parameters), 0)
        others = dict.fromkeys(self.others, plain)
        return replace(self, surrogate=plain, others=others, initial=min(self.initial or most, most))

    def usable(self, trials: Sequence[Trial]) -> list[Trial]:
        """Trials that gave something at settings that satisfy the constraints; if none does, wherever they were."""
        gave = [trial for trial in trials if not trial.failed]
        return [trial for trial in gave if not self.space.violated(trial.setting)] or gave

    @property
    def objective(self) -> Objective:
        """What is wanted of the first response."""
        return self.aims.main

    @cached_property
    def _first(self) -> FirstSettings:
        models = tuple(self.others.get(one.target, self.surrogate) for one in self.aims.objectives)
        return FirstSettings(self.space, self.aims.objectives, models, self.design, self.lattice)

    @cached_property
    def _fitting(self) -> Fitting:
        box = self.surrogate.box
        composes = isinstance(self.surrogate, Average) and self.acquisition == "ei"
        surrogates = {self.objective.target: self.surrogate, **self.others}
        plain = Average(box, (), axes=box.kernel_axes(self.space))
        return Fitting(self.aims, surrogates, plain, composes, composes and self.failures == LEARNT, self.cost)

    def _learns(self, history: History) -> bool:
        """Whether there are results without a single value that say something all the same."""
        return bool(len(history)) and (not self._fitting.learns_failures or any(one.failed for one in history.told))

    @cached_property
    def _known_cost(self) -> Part | None:
        """The model of what settings are known to cost; None if all cost the same."""
        assert self.cost is not None
        costs = [(setting, cost_of(self.cost, setting)) for setting in self.space.sobol(_COSTED, 0)]
        if len({value for _, value in costs}) == 1:
            return None
        observations = cost_observations(costs, self.surrogate.box)
        return Part(observations, *self._fitting.plain.fit(observations))

    def _check_aims(self) -> None:
        """Refuse aims that the model or the acquisition function is not for."""
        if self.failures not in FAILURES:
            raise InputError(f"failures must be one of {listed(map(repr, FAILURES))}; got {shown(self.failures)}.")
        if self.cost is not None and not callable(self.cost):
            raise InputError(f"cost must be a function of a setting; got {type(self.cost).__name__}.")
        if self.aims.is_plain and self.cost is None:
            return
        if not isinstance(self.surrogate, Average) or self.acquisition != "ei":
            what = "acquisition='ei'" if isinstance(self.surrogate, Average) else "prior='average'"
            raise InputError(
                f"A target, several responses, requirements and cost take prior='average' and acquisition='ei'; this "
                f"is not {what}. Leave it out."
            )
        lacking = [one.target for one in self.aims.others if one.target not in self.others]
        if lacking:
            raise InputError(f"Every response needs a model; {listed(lacking)} has none. Give others={{…}}.")

    def _acquisition(
        self, fitted: Fitted, under_way: Float[Tensor, "p k"], num_choices: int | None, seed: int
    ) -> AcquisitionFunction | None:
        """What is to be made as large as possible, pending settings accounted for; None if there is nothing yet."""
        if not self.aims.is_plain or fitted.works is not None or fitted.cost is not None:
            return Composing(self.aims, fitted, under_way).acquisition()
        model, observations = fitted.model, fitted.observations
        best = observations.y.max()
        if len(under_way):
            model, expected = believing(model, self.surrogate, observations, under_way)
            best = expected.amax(-1).clamp_min(best)  # a setting is worth what it adds to those under way
        situation = Situation(
            best=best,
            codes=torch.cat([observations.codes, under_way]),
            step=len(fitted.history) + 1,
            num_inputs=len(self.surrogate.box.axes),
            num_choices=num_choices,
            seed=seed,
            bounds=self.lattice.bounds,
        )
        return make_acquisition(self.acquisition, model, situation, self.beta)

    def pool(self, candidates: Any) -> Pool:
        """Candidates as different settings of the space, or an `InputError` that says which are not."""
        return candidates if isinstance(candidates, Pool) else pool_of(candidates, self.space, self.own_box)

    def _warn_if_exhausted(self, history: History, pending: Sequence[Setting], pool: Pool | None) -> None:
        """Say that there is nothing left that was not tried; where the noise is known, repeating is no surprise."""
        count = self.space.size if pool is None else len(pool)
        if count is None or self.objective.noise_std or len(history.trials) + len(pending) < count:
            return
        choices = self.lattice.every() if pool is None else self.surrogate.box.codes(pool.settings)
        if choices is None:
            return
        if is_among(choices, self._known(history, pending)).all():
            what = f"All {len(choices)} {'settings of the search space' if pool is None else 'candidates'}"
            said = f"{what} were tried, are under way or were cancelled: what is suggested now repeats."
            warn(said, ExhaustedWarning)

    def _known(self, history: History, pending: Sequence[Setting]) -> Float[Tensor, "n k"]:
        """Codes of settings that were tried, are under way or were cancelled."""
        tried = [*settings_of(history.told), *settings_of(history.cancelled_ones), *pending]
        return codes_of_run(tried, self.surrogate.box)

    def _designed(self, history: History, pending: Sequence[Setting], seed: int, pool: Pool | None) -> Setting:
        """The setting of the design at this position."""
        position = self._place(history, len(history) + len(pending) + len(history.set_aside))
        found = self._first.at(position, self._known(history, pending), seed, pool)
        return found if pool is not None else self.space.round_for_people(found)

    def _place(self, history: History, position: int) -> int:
        substitutes = sum(trial.substitute for trial in (*history.told, *history.pending))
        return place(position, substitutes, self.num_opening, self.initial or 1)

    def setting_at(self, codes: Float[Tensor, " k"]) -> Setting:
        """The allowed setting at codes that were found among allowed ones, but for rounding."""
        setting = self.surrogate.box.settings(codes[None], self.space)[0]
        if self.space.feasible is None or self.space.allows(setting):
            return self.space.round_for_people(setting)
        settled = self.space.feasible.settled(setting)
        if settled is not None:
            return self.space.round_for_people(settled)
        codes_of_some = self.surrogate.box.codes(some := self.space.sobol(_FRESH, 0))
        return some[int(((codes_of_some - codes) ** 2).sum(-1).argmin())]

    def _chosen(
        self, history: History, fitted: Fitted, pending: Sequence[Setting], seed: int, pool: Pool | None
    ) -> Setting:
        """The setting with the largest acquisition value under the fitted model, pending settings accounted for."""
        box, steps = self.surrogate.box, len(fitted.history)
        under_way = codes_of_run(pending, box)
        choices = None if pool is None else box.codes(pool.settings)
        # Repeating a setting can pay only where the noise is known not to be zero.
        again = codes_of_run(settings_of(history.cancelled_ones), box)
        tried = codes_of_run(settings_of(history.told), box)
        avoid = torch.cat([again, under_way] if self.objective.noise_std else [tried, again, under_way])
        seed = child_seed(seed, steps, 1 + len(pending))
        with computing(steps >= LARGE):
            num_choices = self.space.size if pool is None else len(pool.settings)
            acquisition = self._acquisition(fitted, under_way, num_choices, seed)
            if acquisition is None:
                return self._designed(history, pending, seed, pool)
            found = maximize(acquisition, self.lattice, avoid, seed, choices, under_way)
            if pool is not None and choices is not None:
                return dict(pool.settings[int(((choices - found) ** 2).sum(-1).argmin())])
            setting = self.setting_at(found)
            at = box.codes([setting])
            if is_among(at, avoid)[0] or is_near(at, under_way, self.lattice)[0]:
                # Rounding, or an acquisition function that is flat or has a single peak, led to a known setting.
                fresh = self.space.sobol(len(avoid) + _FRESH, seed)
                found = maximize(acquisition, self.lattice, avoid, seed, box.codes(fresh), under_way)
                setting = self.setting_at(found)
        return setting
