"""`Snapshot`: a campaign at one moment, with its models; it is what pictures and reports read."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isinf
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.checks import refuse_other_types
from tunedprior.errors import InputError
from tunedprior.goals.goal import Target
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective, encode_run_settings
from tunedprior.history.trials import History, Trial
from tunedprior.numerics.isolation import silence_warnings
from tunedprior.plots.pictures import GREEN, RED, Layer, Level, Numbers, Zone
from tunedprior.space.parameters import Parameter
from tunedprior.space.search_space import Setting, Space
from tunedprior.suggestion.prediction import predict_interval
from tunedprior.suggestion.recommendation import Recommendation, recommend_setting
from tunedprior.suggestion.response_models import FittedModels
from tunedprior.suggestion.suggester import Suggester


def make_goal_lines(goals: Goals, response: Objective) -> list[Layer]:
    """Lines and stripes for the target and the required limits of a response."""
    found: list[Layer] = []
    wanted = response.direction
    if isinstance(wanted, Target) and wanted.low == wanted.upper:
        found.append(Level("target", wanted.low, GREEN))
    elif isinstance(wanted, Target):
        found.append(Zone("target", wanted.low, wanted.upper, GREEN))
    for one in goals.requirements:
        if one.response == response.name and not one.labels:
            ends = [end for end in (one.low, one.high) if not isinf(end) and (end > 0 or not response.log)]
            found += [Level("limit that is required", end, RED) for end in ends]
    return found


def format_goal(goals: Goals, response: Objective) -> str:
    """The goal of a response in few words; empty if it is only required to be within limits."""
    if response not in goals.objectives:
        return "required"
    return f"target {response.direction}" if isinstance(response.direction, Target) else response.direction


@dataclass(frozen=True)
class PredictedInterval:
    """The prediction of a response at settings: its mean, and the ends of a 95 % interval without noise."""

    mean: Numbers
    low: Numbers
    high: Numbers


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A campaign at one moment; it does not change while a picture is drawn.

    Attributes:
        suggester: The campaign's suggester.
        seed: The campaign's seed.
        history: The trials at this moment.
        previous_fit: The models of an earlier snapshot, from which fitting starts faster.
        baseline_suggestions: By number of results, what would have been suggested without old data after them, with the
            trials it was computed from; filled as it is asked for.
    """

    suggester: Suggester
    seed: int
    history: History
    previous_fit: FittedModels | None = None
    baseline_suggestions: dict[int, tuple[tuple[Trial, ...], Setting]] = field(default_factory=dict)

    @property
    def goals(self) -> Goals:
        """The goals of the campaign."""
        return self.suggester.goals

    @property
    def space(self) -> Space:
        """The search space."""
        return self.suggester.space

    @property
    def varying(self) -> list[Parameter]:
        """The parameters that can vary."""
        return [one for one in self.space.parameters if one.count != 1]

    def refuse_if_nothing_told(self, what: str) -> None:
        """Raise an `InputError` while no response was measured."""
        if not len(self.history):
            raise InputError(f"{what} needs a result, and nothing was told yet. Tell at least one.")
        if not any(one.select_measured(self.history.told) for one in self.goals.responses):
            raise InputError(f"{what} needs a result, and every run failed so far. Tell at least one that worked.")

    @cached_property
    def fitted(self) -> FittedModels:
        """The models of all results."""
        return self.suggester.fit(self.history, self.seed, self.previous_fit)

    @property
    def modelled(self) -> list[Objective]:
        """The measured responses that are numbers."""
        numeric = [one for one in self.goals.responses if not one.labels and one.select_measured(self.history.told)]
        return [one for one in numeric if one.name in self.fitted.models]

    def predict_interval(self, response: Objective, settings: Sequence[Setting]) -> PredictedInterval:
        """Predict a response at settings, in its units."""
        X = encode_run_settings(settings, self.fitted.box)
        return PredictedInterval(*map(tuple, predict_interval(self.fitted.models[response.name], response, X).tolist()))

    @cached_property
    def recommendation(self) -> Recommendation:
        """The recommended setting; an `InputError` where there is none."""
        self.refuse_if_nothing_told("A recommendation")
        if self.goals.main.name not in self.fitted.models:
            raise InputError(f"A recommendation needs a result of {self.goals.main.name!r}; none was measured yet.")
        return recommend_setting(self.suggester, self.fitted, self.seed)

    @cached_property
    def centre(self) -> Setting:
        """The setting whose values all inputs keep that are not varied in a picture."""
        return dict(self._centre[0])

    @property
    def centre_description(self) -> str:
        """Describe that setting."""
        return self._centre[1]

    @cached_property
    def _centre(self) -> tuple[Setting, str]:
        told = self.history.told
        if not self.goals.has_front and self.goals.main.select_measured(told):
            try:
                return self.recommendation.setting, "the recommended setting"
            except InputError:  # of models that do not say
                best = self.goals.find_best(told) or self.goals.main.find_best(told)
                assert best is not None
                return best.setting, f"trial {best.label}, the best so far"
        front = self.goals.find_front(told) if self.goals.has_front else []
        if not front:
            measured = self.suggester.keep_usable(told)
            return measured[-1].setting, f"trial {measured[-1].label}, the latest"
        utilities = np.array([self.goals.compute_utilities(one) for one in front])
        reach = np.ptp(utilities, axis=0)
        shares = (utilities - utilities.min(0)) / np.where(reach > 0, reach, 1.0)
        even = front[int(shares.min(1).argmax())]
        return even.setting, f"trial {even.label}, the most even trade-off of the front"

    def are_feasible(self, settings: Sequence[Setting]) -> Any:
        """Which settings satisfy the constraints."""
        return np.array([not self.space.find_violated(one) for one in settings], dtype=bool)


# Pictures of one optimiser share its models while nothing more is told.
_snapshots: WeakKeyDictionary[Optimizer, Snapshot] = WeakKeyDictionary()


def take_snapshot(optimizer: Optimizer) -> Snapshot:
    """Take a snapshot of a campaign, with a single look at its history."""
    refuse_other_types(optimizer, Optimizer, "opt", "an Optimizer")
    history, previous = optimizer.trials, _snapshots.get(optimizer)
    if previous is not None and previous.history is history:
        return previous
    before = None if previous is None else previous.__dict__.get("fitted")
    shared = {} if previous is None else previous.baseline_suggestions
    _snapshots[optimizer] = Snapshot(optimizer.suggester, optimizer.seed, history, before, shared)
    return _snapshots[optimizer]


def copy_optimizer(optimizer: Optimizer) -> Optimizer:
    """Copy an optimiser as it is now: later results do not reach the copy, and it changes nothing."""
    refuse_other_types(optimizer, Optimizer, "opt", "an Optimizer")
    with silence_warnings(""):  # odd results were noted when they were told
        return Optimizer.from_suggester(optimizer.suggester, optimizer.seed).resume(optimizer.trials)
