"""Trials as Optuna has them: for its pictures and dashboards, with all that it has no place for in an attribute."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from math import isnan, nan
from typing import Any

import msgspec
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from tunedprior.campaign.loaded import decode_trial
from tunedprior.campaign.saved import encode_trial
from tunedprior.campaign.saved_form import SavedTrial
from tunedprior.errors import FileFormatError
from tunedprior.problem.aims import Goals
from tunedprior.problem.goals import MINIMIZE, Target
from tunedprior.problem.parameters import Categorical, Parameter, is_missing
from tunedprior.problem.space import Setting, Space
from tunedprior.problem.trials import CANCELLED, Trial
from tunedprior.studies.histories import CHOSEN, read_setting

#: The attribute that holds a trial as it was told.
AS_TOLD = "tunedprior:trial"
#: The attribute of a trial that counts from the moment on that the campaign's journal has it.
RESERVED = "tunedprior:reserved"
_PLAIN = (bool, int, float, str)


def to_optuna_directions(aims: Goals) -> list[str]:
    """Optuna's directions; a response with a target is shown by its distance to that, which is to be small."""
    return [MINIMIZE if isinstance(one.direction, Target) else one.direction for one in aims.objectives]


def to_optuna_values(trial: Trial, aims: Goals) -> list[float] | None:
    """Optuna's values; None if an objective was not measured."""
    found = []
    for one in aims.objectives:
        value = one.get_value(trial)
        found.append(-one.compute_utility(value) if isinstance(one.direction, Target) and not isnan(value) else value)
    return None if any(map(isnan, found)) else found


def to_optuna_state(trial: Trial, aims: Goals) -> TrialState:
    """Optuna's state; a run of which not all objectives were measured is shown as pruned."""
    if trial.is_pending:
        return TrialState.RUNNING
    if trial.failed or trial.set_aside == CANCELLED:
        return TrialState.FAIL
    return TrialState.PRUNED if to_optuna_values(trial, aims) is None else TrialState.COMPLETE


def to_optuna_parameters(setting: Setting, space: Space) -> tuple[dict[str, Any], dict[str, BaseDistribution]]:
    """A setting and its distributions; what does not fit Optuna's types is shown by what is nearest to it."""
    both = {one.name: _to_optuna_parameter(one, setting[one.name]) for one in space.parameters}
    return {name: value for name, (value, _) in both.items()}, {name: one for name, (_, one) in both.items()}


def to_optuna_attributes(trial: Trial, space: Space, aims: Goals) -> tuple[dict[str, Any], dict[str, Any]]:
    """The user's attributes, which dashboards show, and those of the system."""
    user: dict[str, Any] = dict(trial.more) | {f"noise of {name}": one for name, one in trial.noise.items()}
    user |= {aims.main.name: trial.value} if isinstance(aims.main.direction, Target) else {}
    user |= {"note": trial.note} if trial.note else {}
    user |= {} if isnan(trial.cost) else {"cost": trial.cost}
    told = {
        name: aims.get_response(name).get_value(trial)
        for name in dict.fromkeys(one.response for one in aims.requirements)
    }
    required = {
        f"constraints:{one}": max(one.low - told[one.response], told[one.response] - one.high)
        for one in aims.requirements
        if not isnan(told[one.response])
    }
    return {name: one for name, one in user.items() if not is_missing(one)}, {
        AS_TOLD: encode_trial_json(trial, space)
    } | required


def encode_trial_json(trial: Trial, space: Space) -> str:
    """The whole trial, for `from_optuna_trial`."""
    return msgspec.json.encode(encode_trial(trial, space)).decode()


def make_reservation(trial: Trial, space: Space, aims: Goals) -> FrozenTrial:
    """A trial that runs, to be put into a study so that it has a number; nobody sees it before the journal has it."""
    params, distributions = to_optuna_parameters(trial.setting, space)
    user, system = to_optuna_attributes(trial, space, aims)
    return create_trial(
        state=TrialState.RUNNING,
        params=params,
        distributions=distributions,
        user_attrs=user,
        system_attrs=system | {RESERVED: True},
    )


def from_optuna_trial(frozen: FrozenTrial, space: Space, aims: Goals, correction: str | None = None) -> Trial | None:
    """A trial of a study, whoever put it there; None for one that is none of this space, or not under way yet.

    Args:
        frozen: Optuna's trial.
        space: What may be set.
        aims: What is wanted.
        correction: What `encode_trial_json` gave of the corrected trial, where it was corrected after it was told.
    """
    text = correction or frozen.system_attrs.get(AS_TOLD)
    number = frozen.number + 1
    if text is None:
        return _from_foreign_trial(frozen, space, aims)
    try:
        told = decode_trial(msgspec.json.decode(text, type=SavedTrial), space)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError) as error:
        raise FileFormatError(f"Trial {number} of the study is damaged: {error}.") from error
    if frozen.state == TrialState.RUNNING:  # also if somebody was about to tell it when the program ended
        asked = told.suggested or told.setting
        return Trial(dict(asked), suggested=dict(asked), id=number, is_pending=True)
    if told.is_pending:  # it was told with Optuna's own means
        value, more = _read_optuna_values(frozen, aims)
        return Trial(told.setting, value, told.suggested, number, more=more)
    return replace(told, id=number)


def _from_foreign_trial(frozen: FrozenTrial, space: Space, aims: Goals) -> Trial | None:
    """A trial that a sampler or a person put into the study with Optuna's own means."""
    setting = read_setting(frozen, frozen.distributions)
    if frozen.state == TrialState.WAITING or any(name not in setting for name in space.names):
        return None
    own = {parameter.name: _match_choice(parameter, setting[parameter.name]) for parameter in space.parameters}
    suggested = dict(own) if CHOSEN in frozen.system_attrs or not frozen.state.is_finished() else None
    if not frozen.state.is_finished():
        return Trial(own, suggested=suggested, id=frozen.number + 1, is_pending=True)
    value, more = _read_optuna_values(frozen, aims)
    return Trial(own, value, suggested, frozen.number + 1, more=more)


def _read_optuna_values(frozen: FrozenTrial, aims: Goals) -> tuple[float, Mapping[str, float]]:
    """The first response and all others, as far as Optuna knows them; of one with a target it knows the distance."""
    values = frozen.values if frozen.state == TrialState.COMPLETE else None
    known = {
        one.name: value
        for one, value in zip(aims.objectives, values or (), strict=False)
        if not isinstance(one.direction, Target)
    }
    return known.pop(aims.main.name, nan), known


def _match_choice(parameter: Parameter, value: Any) -> Any:
    """The choice that is shown by this text; numbers are themselves."""
    if isinstance(parameter, Categorical) and value not in parameter.choices:
        return next((choice for choice in parameter.choices if str(choice) == value), value)
    return value


def _to_optuna_parameter(parameter: Parameter, value: Any) -> tuple[Any, BaseDistribution]:
    if isinstance(parameter, Categorical):
        plain = all(
            choice is None or (type(choice) in _PLAIN and not is_missing(choice)) for choice in parameter.choices
        )
        choices = parameter.choices if plain else tuple(map(str, parameter.choices))
        return value if plain else str(value), CategoricalDistribution(choices)
    low, high = parameter.low, parameter.high
    near = min(max(value, low), high)
    if parameter.integer:
        return round(near), IntDistribution(int(low), int(high), log=parameter.log)
    return float(near), FloatDistribution(float(low), float(high), log=parameter.log)


def get_completion_key(frozen: FrozenTrial) -> tuple[datetime, int]:
    """By which trials are put into the order in which they were told."""
    return frozen.datetime_complete or datetime.max, frozen.number
