"""The goals of a campaign: one or several objectives, requirements, and a preference among trade-offs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan
from typing import Any

import numpy as np
import pandas as pd

from tunedprior.checks import check_positive, format_list, format_value, suggest_name
from tunedprior.errors import InputError
from tunedprior.goals.goal import NO_LIMITS, Goal, Requirement, Target, check_goal, format_goal, parse_limits
from tunedprior.goals.objective import Objective
from tunedprior.goals.observations import Observations, WorseDirection
from tunedprior.history.trials import Trial
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space


@dataclass(frozen=True)
class Goals:
    """The objectives and requirements of a campaign.

    Attributes:
        objectives: The responses to be optimised; the first is the trials' `value`.
        requirements: Conditions that results must meet.
        weights: The worth of one unit of each objective, if the user has such a preference.
        bounds: For each objective, the least utility that is of interest, if the user has such a preference.

    >>> goals = Goals((Objective("yield"), Objective("cost", "minimize", is_main=False)))
    >>> [trial.value for trial in goals.find_front([Trial({}, 0.8, more={"cost": 3.0}), Trial({}, 0.7,
    ...     more={"cost": 4.0})])]
    [0.8]
    """

    objectives: tuple[Objective, ...] = (Objective(),)
    requirements: tuple[Requirement, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    bounds: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def parse(
        cls,
        direction: Goal | None = None,
        objectives: "Mapping[str, Goal] | Goals | None" = None,
        *,
        target: str | None = None,
        requirements: Mapping[str, Any] | None = None,
        preference: Mapping[str, Any] | None = None,
        noise_std: float | Mapping[str, float] | None = None,
        log: bool | Collection[str] = False,
        limits: Any = None,
    ) -> "Goals":
        """Make the goals from what people write; an `InputError` if they are none.

        Args:
            direction: The goal of the response: `"maximize"`, `"minimize"`, or a value or range to come close to,
                `Target(500.0)` or `Target(480.0, 520.0)`.
            objectives: Several responses and the goal of each, by name, instead of a direction.
            target: The name of the response that the direction is for; `"y"`, when left out.
            requirements: Conditions that results must meet, by response: `">= 0.95"`, `"<= 3"`, `(low, high)`, or
                `"pass"` for a response that is pass or fail.
            preference: The worth of a unit of each of several objectives, by name; or the least of interest, such as
                `{"yield": ">= 0.5"}`. Without it, the whole Pareto front is searched for.
            noise_std: The standard deviation of the measurement noise, where it is known; of several by name.
            log: Whether the logarithm of the response is modelled; of several responses, the names of those.
            limits: The least and the largest possible response: `(0, 100)`, `">= 0"` or `"<= 100"`; of several by name.

        >>> Goals.parse("maximize", target="yield", limits=(0, 100)).main.limits
        (0.0, 100.0)
        """
        if isinstance(direction, pd.DataFrame):
            raise InputError(
                "direction must be 'maximize' or 'minimize'; got a table. Old data is the argument before it: "
                "Optimizer(space, old_data, direction)."
            )
        if isinstance(objectives, Goals):
            if any(one is not None for one in (direction, target, requirements, preference, noise_std, limits)) or log:
                raise InputError("Goals say all of what is wanted: leave out direction, target and the rest.")
            return objectives
        named = _name_objectives(direction, objectives, target)
        if requirements is not None and not isinstance(requirements, Mapping):
            raise InputError(
                "requirements is a dict of responses and what is required of each, such as "
                f'{{"purity": ">= 0.95", "works": "pass"}}; got {format_value(requirements)}.'
            )
        required = tuple(Requirement.parse(name, given) for name, given in (requirements or {}).items())
        label = next((one.response for one in required if one.labels and one.response in named), None)
        if label is not None:
            raise InputError(
                f"{label!r} is an objective, so it is a number and cannot be required to pass. Name another."
            )
        names = list(named)
        noise, logs = _broadcast_to_objectives(noise_std, names, "noise_std"), _select_log_objectives(log, names)
        ends = {
            name: parse_limits(name, given) for name, given in _broadcast_to_objectives(limits, names, "limits").items()
        }
        made = tuple(
            Objective(
                name, goal, noise.get(name), name in logs, is_main=position == 0, limits=ends.get(name, NO_LIMITS)
            )
            for position, (name, goal) in enumerate(named.items())
        )
        goals = Goals(made, required)
        return goals if preference is None else _apply_preference(goals, preference)

    @property
    def main(self) -> Objective:
        """The first objective."""
        return self.objectives[0]

    @property
    def others(self) -> tuple[Objective, ...]:
        """All responses but the first: further objectives, then responses that are only required."""
        named = {one.name for one in self.objectives}
        required = [one for one in self.requirements if one.response not in named]
        return (
            *self.objectives[1:],
            *(Objective(one.response, labels=one.labels, is_main=False) for one in required),
        )

    @property
    def responses(self) -> tuple[Objective, ...]:
        """All responses."""
        return (self.main, *self.others)

    @property
    def has_front(self) -> bool:
        """Whether there are several objectives without weights, so that the best trials form a Pareto front."""
        return len(self.objectives) > 1 and not self.weights

    @property
    def is_plain(self) -> bool:
        """Whether there is a single response to maximise or minimise, without requirements."""
        return len(self.responses) == 1 and not self.requirements and not isinstance(self.main.direction, Target)

    def get_response(self, name: str) -> Objective:
        """The response of this name."""
        return next(one for one in self.responses if one.name == name)

    def is_met(self, trial: Trial) -> bool:
        """Whether a trial meets all requirements; a missing measurement does not."""
        return all(one.is_met(self.get_response(one.response).get_value(trial)) for one in self.requirements)

    def make_observations(
        self, response: Objective, trials: Sequence[Trial], box: Box, failures: bool = False
    ) -> Observations:
        """The trials as training data for the model of one response (see `Objective.make_observations`)."""
        return response.make_observations(trials, box, failures, self._get_worse_direction(response, trials))

    def find_far_worse(self, trials: Sequence[Trial], box: Box) -> dict[str, list[Trial]]:
        """By response, the trials that are so far worse than all others that models count them as merely worse."""
        each = {
            one.name: one.find_far_worse(trials, box, self._get_worse_direction(one, trials)) for one in self.responses
        }
        return {name: found for name, found in each.items() if found}

    def _get_worse_direction(self, response: Objective, trials: Sequence[Trial]) -> WorseDirection:
        """The direction in which a response gets worse, with the ends of its requirements, bounds and preference."""
        name = response.name
        ends = [end for one in self.requirements if one.response == name for end in (one.low, one.high)]
        if name in self.bounds:
            ends.append(response.sign * self.bounds[name])
        if self.weights.get(name):
            ends += self._compute_outweighing_values(response, trials)
        only_required = all(one.name != name for one in self.objectives)
        return response.get_worse_direction([end for end in ends if isfinite(end)], only_required)

    def _compute_outweighing_values(self, response: Objective, trials: Sequence[Trial]) -> list[float]:
        """The value of a response so bad that the best of all other objectives does not compensate for it.

        The best is compared with the median. A result that counts as merely worse must not be worth more than a typical
        one.
        """
        complete = [found for trial in trials if not any(map(isnan, found := self.compute_utilities(trial)))]
        if not complete:
            return []
        utilities = np.array(complete)
        gains = utilities.max(0) - np.median(utilities, axis=0)
        own = [one.name for one in self.objectives].index(response.name)
        others = [self.weights.get(one.name, 0.0) * gain for one, gain in zip(self.objectives, gains, strict=True)]
        least = utilities[:, own].max() - (sum(others) - others[own]) / self.weights[response.name]
        if isinstance(response.direction, Target):
            return [response.direction.low + least, response.direction.upper - least]
        return [response.sign * least]

    def compute_utilities(self, trial: Trial) -> list[float]:
        """The utility of each objective in a trial (more is better); NaN where it was not measured."""
        return [_compute_utility(one, one.get_value(trial)) for one in self.objectives]

    def compute_worth(self, trial: Trial) -> float:
        """The utility of a trial as a single number: of the objective, or the weighted sum of several."""
        weights = [self.weights.get(one.name, 0.0) if self.weights else 1.0 for one in self.objectives]
        return sum(weight * one for weight, one in zip(weights, self.compute_utilities(trial), strict=True) if weight)

    def select_feasible(self, trials: Sequence[Trial]) -> list[Trial]:
        """Select the trials with a result of every objective that meet all requirements."""
        ended = [one for one in trials if not one.stopped_early]
        return [one for one in ended if self.is_met(one) and not any(map(isnan, self.compute_utilities(one)))]

    def find_best(self, trials: Sequence[Trial]) -> Trial | None:
        """The best trial that meets all requirements; None if there is none."""
        if self.has_front:
            raise InputError(
                f"There are {len(self.objectives)} objectives "
                f"({format_list(one.name for one in self.objectives)}), so no "
                "single trial is best. opt.front has the best trade-offs; or say what a unit of each is worth: "
                "Goals.parse(…, preference={…})."
            )
        return max(self.select_feasible(trials), key=self.compute_worth, default=None)

    def find_front(self, trials: Sequence[Trial]) -> list[Trial]:
        """The Pareto front: trials that no other trial dominates."""
        useful = self.select_feasible(trials)
        if not useful:
            return []
        kept = is_non_dominated(np.array([self.compute_utilities(one) for one in useful]))
        return [one for one, is_kept in zip(useful, kept, strict=True) if is_kept]

    def describe(self) -> str:
        """Describe the goals in words, such as "maximize yield, minimize cost, where purity >= 0.95"."""
        wanted = ", ".join(format_goal(one.direction, one.name) for one in self.objectives)
        return wanted + (f", where {', '.join(map(str, self.requirements))}" if self.requirements else "")


def is_non_dominated(utilities: Any) -> Any:
    """Which rows no other row dominates: at least as good everywhere and better somewhere."""
    better = (utilities[:, None] >= utilities[None]).all(-1) & (utilities[:, None] > utilities[None]).any(-1)
    return ~better.any(0)


def _compute_utility(one: Objective, value: float) -> float:
    return value if isnan(value) else one.compute_utility(value)


def _name_objectives(direction: Any, objectives: Any, target: Any) -> dict[str, Goal]:
    """The goal of each response by name, from a direction or from several objectives."""
    if objectives is None:
        if direction is None:
            raise InputError(
                "Say what is wanted of the response: direction='maximize', 'minimize', or Target(500.0) for a value to "
                "come close to. There is no default, as the wrong one costs a campaign."
            )
        if target is not None and not isinstance(target, str):
            raise InputError(f"target must be the name of the response, as text; got {target!r}.")
        return {"y" if target is None else target: direction}
    if (target, direction) != (None, None):
        raise InputError("Give either objectives, or a target and its direction; got both.")
    if not isinstance(objectives, Mapping) or not objectives:
        raise InputError(
            "objectives is a dict of responses and what is wanted of each, such as "
            f'{{"yield": "maximize", "cost": "minimize"}}; got {format_value(objectives)}.'
        )
    for name, goal in objectives.items():
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"Objectives are by the name of the response, as text; got {format_value(name)}.")
        check_goal(goal, f"What is wanted of {name!r}")
    return dict(objectives)


def refuse_names_of_parameters(goals: Goals, space: Space) -> None:
    """Raise an `InputError` if one of several responses has the name of a parameter."""
    names = [one.name for one in goals.responses]
    wrong = [name for name in names if name in space.names] if len(names) > 1 else []
    if wrong:
        raise InputError(f"{format_list(wrong)} is a parameter, so it cannot be a response too. Rename one of them.")


def _apply_preference(goals: Goals, preference: Any) -> Goals:
    """The goals with a preference: weights from numbers, bounds from text such as ">= 0.5"."""
    names = [one.name for one in goals.objectives]
    if not isinstance(preference, Mapping) or not preference or len(names) < 2:
        raise InputError(
            "preference is for several objectives, by name: what a unit of each is worth, such as "
            f'{{"yield": 100.0, "cost": 1.0}}, or what is of interest, such as {{"yield": ">= 0.5"}}; got '
            f"{format_value(preference)} for {format_list(names)}."
        )
    unknown = [name for name in preference if name not in names]
    if unknown:
        raise InputError(
            f"preference names {format_list(map(format_value, unknown))}, and the objectives are {format_list(names)}."
            f"{suggest_name(unknown, names)}"
        )
    texts = {name: one for name, one in preference.items() if isinstance(one, str)}
    if texts and len(texts) < len(preference):
        raise InputError("A preference is either by weights or by bounds; got both.")
    if not texts:
        for name, weight in preference.items():
            check_positive(weight, f"The weight of {name!r}")
        logs = [one.name for one in goals.objectives if one.log]
        if logs:
            raise InputError(f"A weight is of a unit of a response, and {format_list(logs)} is on a logarithmic scale.")
        return Goals(goals.objectives, goals.requirements, dict(preference))
    bounds = {}
    for name, text in texts.items():
        objective, bound = goals.get_response(name), Requirement.parse(name, text)
        if isinstance(objective.direction, Target):
            raise InputError(f"{name!r} has a target, so a bound says nothing of it. Require a range instead.")
        wanted = bound.low if objective.sign > 0 else bound.high
        if not np.isfinite(wanted):
            raise InputError(
                f"To {objective.direction} {name!r}, its bound is the worst that is of interest; got {text!r}."
            )
        bounds[name] = objective.compute_utility(wanted)
    return Goals(goals.objectives, goals.requirements, bounds=bounds)


def _broadcast_to_objectives(given: Any, names: Sequence[str], what: str) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        if given is not None and len(names) > 1:
            raise InputError(
                f"{what} must be a dict by response, as there are {format_list(names)}; got {format_value(given)}."
            )
        return {} if given is None else dict.fromkeys(names, given)
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InputError(
            f"{what} names {format_list(map(format_value, unknown))}, and the objectives are {format_list(names)}."
            f"{suggest_name(unknown, names)}"
        )
    return dict(given)


def _select_log_objectives(log: Any, names: Sequence[str]) -> Collection[str]:
    if isinstance(log, bool | np.bool_):
        return names if log else ()
    each = [log] if isinstance(log, str) else list(log) if isinstance(log, Collection) else None
    if each is None or any(name not in names for name in each):
        raise InputError(
            f"log must be True, False or names of objectives ({format_list(names)}); got {format_value(log)}."
        )
    return each
