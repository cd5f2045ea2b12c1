"""`Suggester`: suggestions as a pure function of a history, pending settings and a seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from botorch.acquisition import AcquisitionFunction
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.encoded_space import EncodedSpace, is_among, is_near
from tunedprior.acquisition.functions import (
    AcquisitionChoice,
    AcquisitionContext,
    check_acquisition,
    check_choice,
    make_acquisition,
)
from tunedprior.acquisition.optimisation import maximize
from tunedprior.checks import check_positive_integer, format_list, format_value, warn
from tunedprior.errors import ExhaustedWarning, InputError
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective, encode_run_settings
from tunedprior.history.trials import History, Trial, collect_settings
from tunedprior.models.posterior import condition_on_pending
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import LARGE, derive_seed, isolate_computation
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Setting, Space
from tunedprior.suggestion.candidates import Pool, parse_candidates
from tunedprior.suggestion.composing import AcquisitionBuilder
from tunedprior.suggestion.first_settings import (
    OLD_DATA,
    FirstSettings,
    check_design,
    compute_default_initial,
    compute_design_position,
    is_designed,
)
from tunedprior.suggestion.priors import make_plain_surrogate
from tunedprior.suggestion.response_models import (
    Cost,
    FittedModels,
    ModelFitter,
    ResponseModel,
    evaluate_cost,
    standardise_costs,
)

# How many more settings than known ones are drawn where the search led back to a known one.
_FRESH = 256
#: What a failed run counts as: learnt as such, by the probability that a run works; or a little worse than the worst.
LEARNT, WORST = FAILURES = ("learnt", "worst")
# Settings at which a known cost is looked at, to have a smooth model of it.
_COSTED = 128


@dataclass(frozen=True, eq=False)
class Suggester:
    """Suggests the next setting to try.

    It is an immutable value and can be pickled. What was learnt from old data is in its surrogate. Any number of
    threads and processes may share one, each with a history of its own.

    Attributes:
        space: The search space.
        surrogate: The function from observations of the first response to a model.
        goals: Objectives and requirements of the campaign.
        acquisition: As for `Optimizer`.
        beta: As for `Optimizer`.
        initial: The number of settings that the initial design extends over. Without old data they all belong to the
            design, by default one more than there are parameters; with old data the design and the model take turns.
        other_surrogates: The surrogates of further responses, by name, in the box of the first; by default the first.
        failures: What a failed run counts as: `"learnt"` (failures have a model of their own, with acquisition="ei") or
            `"worst"` (a bad value).
        cost: The function that gives the cost of a setting, where it is known beforehand.
        design: `"old data"` (the settings that old data proposes, then a Sobol design) or `"sobol"`.
        num_opening: The number of first settings that old data proposes.
        own_box: The box of the search space without old data, by which settings are outside of it or near each other.
        encoded_space: The allowed settings as points, made from the space.

    >>> space = Space.parse({"x": (0.0, 1.0)})
    >>> suggester = Suggester(space, make_plain_surrogate(space))
    >>> history = History().append_pending({"x": 0.25}).append_result({"x": 0.25}, 1.0)
    >>> suggester.suggest(history, seed=1) == suggester.suggest(history, seed=1)
    True
    """

    space: Space
    surrogate: Surrogate
    goals: Goals = field(default_factory=Goals)
    acquisition: AcquisitionChoice = "ei"
    beta: str | float = "brochu"
    initial: int | None = None
    design: str = OLD_DATA
    other_surrogates: Mapping[str, Surrogate] = field(default_factory=dict)
    failures: str = LEARNT
    cost: Cost | None = None
    num_opening: int = field(init=False, repr=False)
    own_box: Box = field(init=False, repr=False)
    encoded_space: EncodedSpace = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_choice(self.acquisition, self.beta)
        check_design(self.design)
        self._check_goals()
        initial = None if self.initial is None else check_positive_integer(self.initial, "initial")
        if not self.surrogate.box.covers(self.space):
            raise InputError(
                f"The model's box ({self.surrogate.box.names}) does not hold this search space ({self.space.names}, "
                "its order, scales and bounds). Make it with Box.enclose(space, old_settings)."
            )
        others = {one.name: self.other_surrogates.get(one.name, self.surrogate) for one in self.goals.others}
        object.__setattr__(self, "other_surrogates", others)
        object.__setattr__(self, "own_box", Box.enclose(self.space))
        object.__setattr__(self, "encoded_space", EncodedSpace.from_space(self.space, self.surrogate.box))
        object.__setattr__(self, "num_opening", self._first_settings.num_opening)
        default = compute_default_initial(len(self.space.parameters), self.num_opening)
        object.__setattr__(self, "initial", default if initial is None else initial)
        check_acquisition(self.acquisition, self.surrogate, self.encoded_space, self.beta)

    def suggest(
        self,
        history: History,
        pending: Sequence[Setting] | None = None,
        seed: int = 0,
        candidates: Any = None,
        fitted: FittedModels | None = None,
    ) -> Setting:
        """Suggest the next setting to try; it depends on the arguments and on nothing else.

        Args:
            history: The trials of the campaign.
            pending: Settings that are running; those of the history when left out.
            seed: Makes the suggestion repeatable.
            candidates: Choose among these settings only.
            fitted: The result of `fit` for this history and seed, where it is at hand. It saves time and changes
                nothing.
        """
        pending_settings = collect_settings(history.pending) if pending is None else list(pending)
        pool = None if candidates is None else self.parse_candidates(candidates)
        self._warn_if_exhausted(history, pending_settings, pool)
        if self.is_designing(history, pending_settings):
            return self._suggest_from_design(history, pending_settings, seed, pool)
        if fitted is None or fitted.history.told != history.told:
            fitted = self.fit(history, seed)
        return self._suggest_from_model(history, fitted, pending_settings, seed, pool)

    def is_designing(self, history: History, pending: Sequence[Setting]) -> bool:
        """Whether the next setting belongs to the initial design, before the model.

        Results at other settings replace points of the design (see `compute_design_position`). Without a single result
        there is no model, however many settings are pending.
        """
        position = self._compute_design_position(history, len(history) + len(pending))
        early = is_designed(position, self.num_opening, self.initial or 1)
        nothing = not any(
            one.select_measured(history.told) for one in self.goals.responses
        ) and not self._can_learn_failures(history)
        return (early and all(trial.is_suggestion for trial in history.told)) or nothing

    def fit(self, history: History, seed: int = 0, previous: FittedModels | None = None) -> FittedModels:
        """Fit the models to a history; `previous`, the models of a shorter one, saves time and changes nothing."""
        fitted = self._fitting.fit(history, seed, previous)
        return fitted if self.cost is None else replace(fitted, cost=self._known_cost)

    def drop_old_data(self) -> "Suggester":
        """This suggester with the process without old data in place of its surrogate."""
        plain, most = make_plain_surrogate(self.space), compute_default_initial(len(self.space.parameters), 0)
        others = dict.fromkeys(self.other_surrogates, plain)
        return replace(self, surrogate=plain, other_surrogates=others, initial=min(self.initial or most, most))

    def keep_usable(self, trials: Sequence[Trial]) -> list[Trial]:
        """Keep trials with a value whose setting satisfies the constraints; if there are none, all with a value."""
        gave = [trial for trial in trials if not trial.failed]
        return [trial for trial in gave if not self.space.find_violated(trial.setting)] or gave

    @property
    def objective(self) -> Objective:
        """The first objective."""
        return self.goals.main

    @cached_property
    def _first_settings(self) -> FirstSettings:
        models = tuple(self.other_surrogates.get(one.name, self.surrogate) for one in self.goals.objectives)
        return FirstSettings(self.space, self.goals.objectives, models, self.design, self.encoded_space)

    @cached_property
    def _fitting(self) -> ModelFitter:
        composes = self.acquisition == "ei"
        surrogates = {self.objective.name: self.surrogate, **self.other_surrogates}
        return ModelFitter(
            self.goals, surrogates, self.space, composes, composes and self.failures == LEARNT, self.cost
        )

    def _can_learn_failures(self, history: History) -> bool:
        """Whether a history without a single value can be fitted: all runs failed, and failures count."""
        return bool(len(history)) and (not self._fitting.learns_failures or any(one.failed for one in history.told))

    @cached_property
    def _known_cost(self) -> ResponseModel | None:
        """A model of the known cost function, on a logarithmic scale; None if all settings cost the same."""
        assert self.cost is not None
        costs = [(setting, evaluate_cost(self.cost, setting)) for setting in self.space.sobol(_COSTED, 0)]
        if len({value for _, value in costs}) == 1:
            return None
        observations = standardise_costs(costs, self.surrogate.box)
        plain = self._fitting.plain
        model, cache = plain.fit(observations)
        return ResponseModel(observations, model, plain, cache)

    def _check_goals(self) -> None:
        """Refuse goals that the model or the acquisition function does not support."""
        if self.failures not in FAILURES:
            raise InputError(
                f"failures must be one of {format_list(map(repr, FAILURES))}; got {format_value(self.failures)}."
            )
        if self.cost is not None and not callable(self.cost):
            raise InputError(f"cost must be a function of a setting; got {type(self.cost).__name__}.")
        if self.goals.is_plain and self.cost is None:
            return
        if self.acquisition != "ei":
            raise InputError(
                "A target, several responses, requirements and cost take acquisition='ei'; got "
                f"{format_value(self.acquisition)}. Leave it out."
            )

    def _make_acquisition(
        self, fitted: FittedModels, pending_X: Float[Tensor, "p k"], num_choices: int | None, seed: int
    ) -> AcquisitionFunction | None:
        """The acquisition function, conditioned on pending settings; None if there is nothing to maximise yet."""
        composed = not self.goals.is_plain or fitted.success_model is not None or fitted.cost is not None
        if composed or (self.acquisition == "ei" and fitted.models[fitted.main].components is None):
            return AcquisitionBuilder(self.goals, fitted, pending_X, seed).build_acquisition()
        model, observations = fitted.model, fitted.observations
        best = observations.y.max()
        if len(pending_X):
            model, expected = condition_on_pending(model, self.surrogate, observations, pending_X)
            best = expected.amax(-1).clamp_min(best)  # a setting is worth what it adds to those under way
        context = AcquisitionContext(
            best=best,
            X=torch.cat([observations.X, pending_X]),
            step=len(fitted.history) + 1,
            num_inputs=len(self.surrogate.box.axes),
            num_choices=num_choices,
            seed=seed,
            bounds=self.encoded_space.bounds,
        )
        return make_acquisition(self.acquisition, model, context, self.beta)

    def parse_candidates(self, candidates: Any) -> Pool:
        """Parse candidates; an `InputError` says which of them are no settings of the space."""
        return candidates if isinstance(candidates, Pool) else parse_candidates(candidates, self.space, self.own_box)

    def _warn_if_exhausted(self, history: History, pending: Sequence[Setting], pool: Pool | None) -> None:
        """Warn that every setting was tried; not where the noise is known, as repeating is then expected."""
        count = self.space.size if pool is None else len(pool)
        if count is None or self.objective.noise_std or len(history.trials) + len(pending) < count:
            return
        choices = self.encoded_space.list_settings() if pool is None else self.surrogate.box.encode(pool.settings)
        if choices is None:
            return
        if is_among(choices, self._encode_known_settings(history, pending)).all():
            what = f"All {len(choices)} {'settings of the search space' if pool is None else 'candidates'}"
            said = f"{what} were tried, are under way or were cancelled: what is suggested now repeats."
            warn(said, ExhaustedWarning)

    def _encode_known_settings(self, history: History, pending: Sequence[Setting]) -> Float[Tensor, "n k"]:
        """The encoded settings that were tried, are pending or were cancelled."""
        tried = [*collect_settings(history.told), *collect_settings(history.cancelled_trials), *pending]
        return encode_run_settings(tried, self.surrogate.box)

    def _suggest_from_design(
        self, history: History, pending: Sequence[Setting], seed: int, pool: Pool | None
    ) -> Setting:
        """The setting of the initial design at this position."""
        position = self._compute_design_position(history, len(history) + len(pending) + len(history.set_aside))
        found = self._first_settings.choose_setting(position, self._encode_known_settings(history, pending), seed, pool)
        return found if pool is not None else self.space.round_for_people(found)

    def _compute_design_position(self, history: History, position: int) -> int:
        substitutes = sum(trial.substitute for trial in (*history.told, *history.pending))
        return compute_design_position(position, substitutes, self.num_opening, self.initial or 1)

    def decode_setting(self, X: Float[Tensor, " k"]) -> Setting:
        """The allowed setting for an encoded one; rounding may have moved it out of the constraints."""
        setting = self.surrogate.box.decode(X[None], self.space)[0]
        if self.space.feasible is None or self.space.allows(setting):
            return self.space.round_for_people(setting)
        repaired = self.space.feasible.repair_setting(setting)
        if repaired is not None:
            return self.space.round_for_people(repaired)
        candidates = self.surrogate.box.encode(some := self.space.sobol(_FRESH, 0))
        return some[int(((candidates - X) ** 2).sum(-1).argmin())]

    def _suggest_from_model(
        self, history: History, fitted: FittedModels, pending: Sequence[Setting], seed: int, pool: Pool | None
    ) -> Setting:
        """Maximise the acquisition function of the fitted model, conditioned on pending settings."""
        box, steps = self.surrogate.box, len(fitted.history)
        pending_X = encode_run_settings(pending, box)
        choices = None if pool is None else box.encode(pool.settings)
        # Repeating a setting can pay only where the noise is known not to be zero.
        again = encode_run_settings(collect_settings(history.cancelled_trials), box)
        tried = encode_run_settings(collect_settings(history.told), box)
        avoid = torch.cat([again, pending_X] if self.objective.noise_std else [tried, again, pending_X])
        seed = derive_seed(seed, steps, 1 + len(pending))
        with isolate_computation(steps >= LARGE):
            num_choices = self.space.size if pool is None else len(pool.settings)
            acquisition = self._make_acquisition(fitted, pending_X, num_choices, seed)
            if acquisition is None:
                return self._suggest_from_design(history, pending, seed, pool)
            found = maximize(acquisition, self.encoded_space, avoid, seed, choices, pending_X)
            if pool is not None and choices is not None:
                return dict(pool.settings[int(((choices - found) ** 2).sum(-1).argmin())])
            setting = self.decode_setting(found)
            at = box.encode([setting])
            if is_among(at, avoid)[0] or is_near(at, pending_X, self.encoded_space)[0]:
                # Rounding, or an acquisition function that is flat or has a single peak, led to a known setting.
                fresh = self.space.sobol(len(avoid) + _FRESH, seed)
                found = maximize(acquisition, self.encoded_space, avoid, seed, box.encode(fresh), pending_X)
                setting = self.decode_setting(found)
        return setting
