"""`Suggester`: suggestions as a pure function of a history, pending settings and a seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import Any

import torch
from botorch.acquisition import AcquisitionFunction
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.functions import (
    AcquisitionContext,
    check_acquisition,
    make_acquisition,
)
from tunedprior.acquisition.optimisation import EncodedSpace, is_among, is_near, maximize
from tunedprior.checks import format_value, warn
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
from tunedprior.suggestion.config import CampaignConfig, SearchConfig
from tunedprior.suggestion.first_settings import (
    FirstSettings,
    compute_default_initial,
    compute_design_position,
    is_designed,
)
from tunedprior.suggestion.priors import make_plain_surrogate, make_surrogates
from tunedprior.suggestion.response_models import (
    FittedModels,
    ModelFitter,
    ResponseModel,
    evaluate_cost,
    standardise_costs,
)
from tunedprior.weight_prior.sources import LoadedSource

# How many more settings than known ones are drawn where the search led back to a known one.
_FRESH = 256
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
        search: How suggestions are searched for.
        other_surrogates: The surrogates of further responses, by name, in the box of the first; by default the first.
        num_opening: The number of first settings that old data proposes.
        initial: The number of settings that the initial design extends over, as the search has it or by default.
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
    search: SearchConfig = field(default_factory=SearchConfig)
    other_surrogates: Mapping[str, Surrogate] = field(default_factory=dict)
    num_opening: int = field(init=False, repr=False)
    initial: int = field(init=False, repr=False)
    own_box: Box = field(init=False, repr=False)
    encoded_space: EncodedSpace = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check_goals()
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
        object.__setattr__(self, "initial", self.search.initial or default)
        check_acquisition(self.search.acquisition, self.surrogate, self.encoded_space, self.search.beta)

    @classmethod
    def from_config(
        cls, config: CampaignConfig, old: Mapping[str, Mapping[str, LoadedSource]] | None = None
    ) -> "Suggester":
        """Learn from old data as configured; `old` has the old data sets of each response, as `read_sources` gives."""
        if config.search.model is not None:
            return cls(config.space, config.search.model, config.goals, config.search)
        none: dict[str, Mapping[str, LoadedSource]] = {one.name: {} for one in config.goals.responses}
        return cls.from_surrogates(config, make_surrogates(config, none | dict(old or {})))

    @classmethod
    def from_surrogates(cls, config: CampaignConfig, learnt: Mapping[str, Surrogate]) -> "Suggester":
        """Make suggestions with what was learnt before, by response."""
        others = dict(learnt)
        main = others.pop(config.goals.main.name)
        return cls(config.space, main, config.goals, config.search, others)

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
        early = is_designed(position, self.num_opening, self.initial)
        nothing = not any(
            one.select_measured(history.told) for one in self.goals.responses
        ) and not self._can_learn_failures(history)
        return (early and all(trial.is_suggestion for trial in history.told)) or nothing

    def fit(self, history: History, seed: int = 0, previous: FittedModels | None = None) -> FittedModels:
        """Fit the models to a history; `previous`, the models of a shorter one, saves time and changes nothing."""
        fitted = self._fitting.fit(history, seed, previous)
        return fitted if self.search.cost is None else replace(fitted, cost=self._known_cost)

    def drop_old_data(self) -> "Suggester":
        """This suggester with the process without old data in place of its surrogate."""
        plain, most = make_plain_surrogate(self.space), compute_default_initial(len(self.space.parameters), 0)
        others = dict.fromkeys(self.other_surrogates, plain)
        search = replace(self.search, initial=min(self.initial, most))
        return replace(self, surrogate=plain, other_surrogates=others, search=search)

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
        return FirstSettings(self.space, self.goals.objectives, models, self.search.design, self.encoded_space)

    @cached_property
    def _fitting(self) -> ModelFitter:
        surrogates = {self.objective.name: self.surrogate, **self.other_surrogates}
        return ModelFitter(self.goals, surrogates, self.space, self.search)

    def _can_learn_failures(self, history: History) -> bool:
        """Whether a history without a single value can be fitted: all runs failed, and failures count."""
        return bool(len(history)) and (not self.search.learns_failures or any(one.failed for one in history.told))

    @cached_property
    def _known_cost(self) -> ResponseModel | None:
        """A model of the known cost function, on a logarithmic scale; None if all settings cost the same."""
        assert self.search.cost is not None
        costs = [(setting, evaluate_cost(self.search.cost, setting)) for setting in self.space.sobol(_COSTED, 0)]
        if len({value for _, value in costs}) == 1:
            return None
        observations = standardise_costs(costs, self.surrogate.box)
        plain = self._fitting.plain
        model, cache = plain.fit(observations)
        return ResponseModel(observations, model, plain, cache)

    def _check_goals(self) -> None:
        """Refuse goals that the model or the acquisition function does not support."""
        if not self.search.composes and (not self.goals.is_plain or self.search.cost is not None):
            raise InputError(
                "A target, several responses, requirements and cost take acquisition='ei'; got "
                f"{format_value(self.search.acquisition)}. Leave it out."
            )

    def _make_acquisition(
        self, fitted: FittedModels, pending_X: Float[Tensor, "p k"], num_choices: int | None, seed: int
    ) -> AcquisitionFunction | None:
        """The acquisition function, conditioned on pending settings; None if there is nothing to maximise yet."""
        composed = not self.goals.is_plain or fitted.success_model is not None or fitted.cost is not None
        if composed or (self.search.composes and fitted.models[fitted.main].components is None):
            return AcquisitionBuilder(self.goals, fitted, pending_X, seed).build_acquisition()
        model, observations = fitted.model, fitted.observations
        best = observations.y.max()
        if len(pending_X):
            model, expected = condition_on_pending(model, self.surrogate, observations, pending_X)
            best = expected.amax(-1).clamp_min(best)  # a setting is worth what it adds to those under way
        context = AcquisitionContext(
            best=best,
            X=torch.cat([observations.X, pending_X]),
            step=self._count_steps(fitted.history),
            num_inputs=len(self.surrogate.box.axes),
            num_choices=num_choices,
            seed=seed,
            bounds=self.encoded_space.bounds,
        )
        return make_acquisition(self.search.acquisition, model, context, self.search.beta)

    def _count_steps(self, history: History) -> int:
        """t of GP-UCB's β_t, counted from 1: over all trials; as printed, over those after the first, D_0.

        Algorithm 1 counts from 0, and only what its loop suggests. D_0 is what was recorded before the first
        suggestion, or else the initial design.
        """
        if not getattr(self.surrogate, "as_printed", False):
            return len(history) + 1
        recorded = sum(1 for _ in takewhile(lambda trial: not trial.is_suggestion, history.told))
        return max(len(history) - (recorded or self.initial), 0) + 1

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
        known = [*_list_tried_settings(history), *collect_settings(history.cancelled_trials), *pending]
        return encode_run_settings(known, self.surrogate.box)

    def _suggest_from_design(
        self, history: History, pending: Sequence[Setting], seed: int, pool: Pool | None
    ) -> Setting:
        """The setting of the initial design at this position."""
        position = self._compute_design_position(history, len(history) + len(pending) + len(history.set_aside))
        found = self._first_settings.choose_setting(position, self._encode_known_settings(history, pending), seed, pool)
        return found if pool is not None else self.space.round_for_people(found)

    def _compute_design_position(self, history: History, position: int) -> int:
        substitutes = sum(trial.substitute for trial in (*history.told, *history.pending))
        return compute_design_position(position, substitutes, self.num_opening, self.initial)

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
        tried = encode_run_settings(_list_tried_settings(history), box)
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


def _list_tried_settings(history: History) -> list[Setting]:
    """The settings that were run, and suggestions that were run a little otherwise, such as with fewer digits."""
    meant = [one.suggested for one in history.told if one.suggested is not None and one.suggested != one.setting]
    return [*collect_settings(history.told), *meant]
