"""Convert between the trials of an Optuna study and those of a `History`."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import isfinite, isnan, nan
from statistics import median
from typing import Any

import msgspec
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from tunedprior.checks import warn
from tunedprior.errors import FileFormatError, StudyWarning
from tunedprior.goals.goal import MAXIMIZE, MINIMIZE, Requirement, Target
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective
from tunedprior.history.trials import CANCELLED, Trial, is_same_setting
from tunedprior.space.parameters import Categorical, Parameter, is_missing
from tunedprior.space.search_space import Setting, Space
from tunedprior.storage.converter import decode_trial, encode_trial

#: A trial's attribute with the parameters that were chosen for it, before the objective asks for them one by one.
CHOSEN = "tunedprior:chosen"
#: Its value while they are being chosen.
CHOOSING = "choosing"
#: A trial's attribute that says that its failure was told, and not found out because its worker fell silent.
FAILED = "tunedprior:failed"
#: A trial's attribute that says that somebody stopped it, which tells nothing of its setting.
INTERRUPTED = "tunedprior:interrupted"
#: What the name of a constraint's response begins with.
CONSTRAINT = "constraint "
_CONSTRAINTS = "constraints"
_FIXED = "fixed_params"
_FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)


def list_metric_names(study: Study) -> list[str]:
    """Return the study's metric names; without any, y, or y1, y2 and so on."""
    count = len(study.directions)
    # The studies that some pruners hand on have no metric names, and other programs may have kept something else there.
    named = getattr(study, "metric_names", None)
    if isinstance(named, list) and len({one for one in named if isinstance(one, str)}) == len(named) == count:
        return list(named)
    return ["y"] if count == 1 else [f"y{k}" for k in range(1, count + 1)]


def make_names_unique(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Rename responses that have the name of a parameter."""
    unlike: list[str] = []
    for name in names:
        while name in taken or name in unlike:
            name += "_"
        unlike.append(name)
    return unlike


def read_constraints(trial: FrozenTrial) -> dict[str, float]:
    """Return a trial's constraint values by name; the trial is feasible if none is above 0."""
    listed = trial.system_attrs.get(_CONSTRAINTS) or ()
    if not isinstance(listed, list | tuple):
        _warn_malformed(trial, _CONSTRAINTS)
        listed = ()
    prefix = f"{_CONSTRAINTS}:"
    found = {str(number): value for number, value in enumerate(listed)}
    found |= {key[len(prefix) :]: one for key, one in trial.system_attrs.items() if key.startswith(prefix)}
    wrong = [name for name, value in found.items() if not _is_number(value)]
    if wrong:
        _warn_malformed(trial, _CONSTRAINTS)
    return {name: float(value) for name, value in found.items() if name not in wrong and isfinite(value)}


def _is_number(value: object) -> bool:
    """Whether it is a number that a float can hold; NaN and infinity are."""
    return isinstance(value, float) or (type(value) is int and abs(value) <= sys.float_info.max)


def _warn_malformed(trial: FrozenTrial, attribute: str) -> None:
    """Warn of what somebody kept with a trial: the study goes on without it, for this worker and all others."""
    warn(
        f"Trial {trial.number} has an attribute {attribute!r} that makes no sense. It is left aside: the trial counts "
        "as one that another program put into the study.",
        StudyWarning,
    )


def make_constraint_name(name: str, taken: Sequence[str]) -> str:
    """Name the response of a constraint."""
    called = f"{CONSTRAINT}{name}"
    while called in taken:
        called += "_"
    return called


def infer_goals(
    study: Study, names: Sequence[str], constraints: Sequence[str], noise_std: Mapping[str, float]
) -> Goals:
    """Return the goals of a study, with a requirement for each constraint."""
    words = [MINIMIZE if one == StudyDirection.MINIMIZE else MAXIMIZE for one in study.directions]
    objectives = [
        Objective(name, word, noise_std.get(name), is_main=number == 0)
        for number, (name, word) in enumerate(zip(names, words, strict=True))
    ]
    return Goals(tuple(objectives), tuple(Requirement(name, high=0.0) for name in constraints))


def sort_finished(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Sort finished trials by the time at which they finished, in the same order for all workers."""
    finished = [trial for trial in trials if trial.state in _FINISHED and trial.datetime_complete is not None]
    return sorted(finished, key=lambda trial: (trial.datetime_complete, trial.number))


def convert_finished_trials(
    trials: Sequence[FrozenTrial],
    names: Sequence[str],
    goals: Goals,
    constraints: Mapping[str, str],
    distributions: Mapping[str, BaseDistribution],
    before: Sequence[Trial] = (),
) -> tuple[Trial, ...]:
    """Convert finished trials that have all of these parameters to results, in order.

    A run that failed counts as such if that was told. If its worker fell silent, nothing is known of its setting. One
    that failed before it asked for the last of these parameters has what was chosen for the others. A pruned trial
    counts with the last value that was reported, or with the median of all complete before it if that is worse; without
    any it failed.

    Args:
        trials: In the order in which they finished.
        names: The parameters.
        goals: What the study is after.
        constraints: What the response of each constraint is called.
        distributions: Those of the parameters now, for values that were chosen and not asked for.
        before: What was found for the same names, goals and constraints: it stays, as finished trials do.
    """
    complete: list[float] = []
    known = {trial.id: trial for trial in before}
    found = []
    for trial in trials:
        one = known.get(trial.number + 1)
        values = _read_values(trial, goals, complete) if one is None else [one.value]
        if trial.state == TrialState.COMPLETE and len(goals.objectives) == 1 and isfinite(values[0]):
            complete.append(values[0])
        if one is not None:
            found.append(one)
            continue
        known_of = {**distributions, **trial.distributions}
        setting = _find_told_setting(trial, names, known_of)
        if setting is None:
            continue
        more = dict(zip([each.name for each in goals.objectives[1:]], values[1:], strict=True))
        more |= {constraints[key]: value for key, value in read_constraints(trial).items() if key in constraints}
        measured = {name: value for name, value in more.items() if isfinite(value)}
        asked = CHOSEN in trial.system_attrs
        substitute = asked and is_substitute(trial, names, known_of)
        suggested = dict(setting) if asked else None
        found.append(
            Trial(
                setting,
                values[0],
                suggested,
                trial.number + 1,
                more=measured,
                substitute=substitute,
                stopped_early=trial.state == TrialState.PRUNED,
                study_number=trial.number,
            )
        )
    return tuple(found)


def _find_told_setting(
    trial: FrozenTrial, names: Sequence[str], distributions: Mapping[str, BaseDistribution]
) -> dict[str, Any] | None:
    """The setting that the trial's outcome belongs to; None if it tells nothing of these parameters."""
    if trial.state == TrialState.FAIL and FAILED not in trial.system_attrs:
        return None
    if _has_all(trial.params, names):
        return {name: trial.params[name] for name in names}
    if trial.state != TrialState.FAIL or not any(name in trial.params for name in names):
        return None
    return next(iter(read_settings([trial], names, distributions)), None)


def _read_values(trial: FrozenTrial, goals: Goals, complete: Sequence[float]) -> list[float]:
    """Return a value for each objective, NaN where it is no number."""
    values = list(trial.values or ()) if trial.state != TrialState.FAIL else []
    values = [value if isfinite(value) else nan for value in values]
    if trial.state == TrialState.PRUNED and values and complete:
        worse = max if goals.main.direction == MINIMIZE else min
        values = [worse(values[0], median(complete))]
    return values if len(values) == len(goals.objectives) else [nan] * len(goals.objectives)


def read_settings(
    trials: Sequence[FrozenTrial], names: Sequence[str], distributions: Mapping[str, BaseDistribution]
) -> list[dict[str, Any]]:
    """Return the settings of trials, with values that were chosen and not yet requested."""
    found = []
    for trial in trials:
        setting = read_setting(trial, distributions)
        if not _has_all(setting, names):
            continue
        if all(_is_value(setting[name], distributions.get(name)) for name in names):
            found.append({name: setting[name] for name in names})
        else:
            _warn_malformed(trial, _FIXED if _FIXED in trial.system_attrs else CHOSEN)
    return found


def read_setting(trial: FrozenTrial, distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """Return a trial's setting: its values, else those of `enqueue_trial`, else those chosen for it."""
    fixed = trial.system_attrs.get(_FIXED, {})
    if not isinstance(fixed, dict):
        _warn_malformed(trial, _FIXED)
        fixed = {}
    return {**_decode_chosen(trial, distributions), **fixed, **trial.params}


def is_substitute(trial: FrozenTrial, names: Sequence[str], distributions: Mapping[str, BaseDistribution]) -> bool:
    """Return whether a trial has other values than were chosen for it, or none were chosen."""
    setting, chosen = read_setting(trial, distributions), _decode_chosen(trial, distributions)
    return not is_same_setting({name: setting[name] for name in names}, {n: chosen[n] for n in names if n in chosen})


def _decode_chosen(trial: FrozenTrial, distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    chosen = trial.system_attrs.get(CHOSEN, CHOOSING)
    if chosen == CHOOSING:
        return {}
    try:
        stored = json.loads(chosen)
        known = {name: value for name, value in stored.items() if name in distributions}
        return {name: distributions[name].to_external_repr(value) for name, value in known.items()}
    except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError):
        _warn_malformed(trial, CHOSEN)
        return {}


def encode_setting(setting: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]) -> str:
    """Encode a chosen setting as an attribute's value."""
    return json.dumps({name: distributions[name].to_internal_repr(value) for name, value in setting.items()})


def _is_value(value: object, distribution: BaseDistribution | None) -> bool:
    """Whether a parameter with this distribution may have the value; its range may have changed since."""
    if isinstance(distribution, CategoricalDistribution):
        return any(type(value) is type(choice) and value == choice for choice in distribution.choices)
    return _is_number(value) and isfinite(value)  # type: ignore[arg-type]  # it is one


def _has_all(setting: Mapping[str, Any], names: Sequence[str]) -> bool:
    return all(name in setting for name in names)


#: The attribute that holds a trial as it was told.
AS_TOLD = "tunedprior:trial"
#: The attribute of a trial that counts from the moment on that the campaign's journal has it.
RESERVED = "tunedprior:reserved"
_PLAIN = (bool, int, float, str)


def to_optuna_directions(goals: Goals) -> list[str]:
    """Return Optuna's directions; a target becomes the distance to it, which is minimised."""
    return [MINIMIZE if isinstance(one.direction, Target) else one.direction for one in goals.objectives]


def to_optuna_values(trial: Trial, goals: Goals) -> list[float] | None:
    """Return Optuna's values; None if an objective was not measured."""
    found = []
    for one in goals.objectives:
        value = one.get_value(trial)
        found.append(-one.compute_utility(value) if isinstance(one.direction, Target) and not isnan(value) else value)
    return None if any(map(isnan, found)) else found


def to_optuna_state(trial: Trial, goals: Goals) -> TrialState:
    """Return Optuna's state; a run without all objectives is pruned."""
    if trial.is_pending:
        return TrialState.RUNNING
    if trial.failed or trial.set_aside == CANCELLED:
        return TrialState.FAIL
    return TrialState.PRUNED if to_optuna_values(trial, goals) is None else TrialState.COMPLETE


def to_optuna_parameters(setting: Setting, space: Space) -> tuple[dict[str, Any], dict[str, BaseDistribution]]:
    """Return a setting as Optuna's parameters and distributions, approximated where types do not fit."""
    both = {one.name: _to_optuna_parameter(one, setting[one.name]) for one in space.parameters}
    return {name: value for name, (value, _) in both.items()}, {name: one for name, (_, one) in both.items()}


def to_optuna_attributes(trial: Trial, space: Space, goals: Goals) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the user attributes for dashboards, and the system attributes."""
    user: dict[str, Any] = dict(trial.more) | {f"noise of {name}": one for name, one in trial.noise.items()}
    user |= {goals.main.name: trial.value} if isinstance(goals.main.direction, Target) else {}
    user |= {"note": trial.note} if trial.note else {}
    user |= {} if isnan(trial.cost) else {"cost": trial.cost}
    told = {
        name: goals.get_response(name).get_value(trial)
        for name in dict.fromkeys(one.response for one in goals.requirements)
    }
    required = {
        f"constraints:{one}": max(one.low - told[one.response], told[one.response] - one.high)
        for one in goals.requirements
        if not isnan(told[one.response])
    }
    return {name: one for name, one in user.items() if not is_missing(one)}, {
        AS_TOLD: encode_trial_json(trial, space)
    } | required


def encode_trial_json(trial: Trial, space: Space) -> str:
    """Return the whole trial as JSON, which `from_optuna_trial` reads."""
    return msgspec.json.encode(encode_trial(trial, space)).decode()


def make_reservation(trial: Trial, space: Space, goals: Goals) -> FrozenTrial:
    """Make a running trial that reserves a number in the study until the journal has its entry."""
    params, distributions = to_optuna_parameters(trial.setting, space)
    user, system = to_optuna_attributes(trial, space, goals)
    return create_trial(
        state=TrialState.RUNNING,
        params=params,
        distributions=distributions,
        user_attrs=user,
        system_attrs=system | {RESERVED: True},
    )


def from_optuna_trial(frozen: FrozenTrial, space: Space, goals: Goals, correction: str | None = None) -> Trial | None:
    """Convert an Optuna trial; None if it does not fit the space, or has not started.

    Args:
        frozen: Optuna's trial.
        space: What may be set.
        goals: What is wanted.
        correction: What `encode_trial_json` gave of the corrected trial, where it was corrected after it was told.
    """
    text = correction or frozen.system_attrs.get(AS_TOLD)
    number = frozen.number + 1
    if text is None:
        return _from_foreign_trial(frozen, space, goals)
    try:
        plain = msgspec.json.decode(text)
    except (msgspec.MsgspecError, TypeError, RecursionError) as error:
        raise FileFormatError(f"Trial {number} of the study is damaged: {error}.") from error
    told = decode_trial(plain, space, f"Trial {number} of the study is damaged")
    if frozen.state == TrialState.RUNNING:  # also if somebody was about to tell it when the program ended
        asked = told.suggested or told.setting
        return Trial(dict(asked), suggested=dict(asked), id=number, is_pending=True)
    if told.is_pending:  # it was told with Optuna's own means
        value, more = _read_optuna_values(frozen, goals)
        return Trial(told.setting, value, told.suggested, number, more=more)
    return replace(told, id=number)


def _from_foreign_trial(frozen: FrozenTrial, space: Space, goals: Goals) -> Trial | None:
    """A trial that a sampler or a person put into the study with Optuna's own means."""
    setting = read_setting(frozen, frozen.distributions)
    if frozen.state == TrialState.WAITING or any(name not in setting for name in space.names):
        return None
    own = {parameter.name: _match_choice(parameter, setting[parameter.name]) for parameter in space.parameters}
    suggested = dict(own) if CHOSEN in frozen.system_attrs or not frozen.state.is_finished() else None
    if not frozen.state.is_finished():
        return Trial(own, suggested=suggested, id=frozen.number + 1, is_pending=True)
    value, more = _read_optuna_values(frozen, goals)
    return Trial(own, value, suggested, frozen.number + 1, more=more)


def _read_optuna_values(frozen: FrozenTrial, goals: Goals) -> tuple[float, Mapping[str, float]]:
    """The first response and all others, as far as Optuna knows them; of one with a target it knows the distance."""
    values = frozen.values if frozen.state == TrialState.COMPLETE else None
    known = {
        one.name: value
        for one, value in zip(goals.objectives, values or (), strict=False)
        if not isinstance(one.direction, Target)
    }
    return known.pop(goals.main.name, nan), known


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
    """Return the sort key for the order in which results were recorded."""
    return frozen.datetime_complete or datetime.max, frozen.number
