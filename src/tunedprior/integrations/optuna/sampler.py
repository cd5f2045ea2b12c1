"""The Optuna sampler `TunedPriorSampler`, which learns from old data.

Search spaces may be defined while a study runs: parameters come in groups, each group with its own model.

Workers that choose at the same time take turns, so that no two choose the same setting. A trial states that its
parameters are being chosen, and later which values were chosen. A worker waits until trials with lower numbers have
chosen, and treats their settings as pending. It waits for a limited time, since the other worker may be gone.
"""

import json
import logging
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, prod
from secrets import randbits
from threading import RLock
from time import monotonic, sleep
from typing import Any
from zlib import crc32

import numpy as np
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from tunedprior.acquisition.functions import AcquisitionChoice
from tunedprior.acquisition.optimisation import is_near
from tunedprior.campaign import Optimizer
from tunedprior.campaign.outlier_warnings import describe_far_worse
from tunedprior.checks import check_flag, check_seed, format_list, format_value
from tunedprior.errors import ExhaustedWarning, InputError
from tunedprior.goals.objective import Objective, encode_run_settings
from tunedprior.history.trials import History, Trial, collect_settings
from tunedprior.integrations.optuna.source_studies import SourceLearner
from tunedprior.numerics.isolation import derive_seed
from tunedprior.space.encoding import Box
from tunedprior.space.parameters import Numeric, parse_parameter
from tunedprior.space.search_space import Setting, Space
from tunedprior.storage.databases import requeue_trial, set_trial_attribute
from tunedprior.storage.study_trials import (
    CHOOSING,
    CHOSEN,
    FAILED,
    INTERRUPTED,
    convert_finished_trials,
    encode_setting,
    infer_goals,
    is_substitute,
    list_metric_names,
    make_constraint_name,
    make_names_unique,
    read_constraints,
    read_settings,
    sort_finished,
)
from tunedprior.suggestion.config import AVERAGE, CampaignConfig, SearchConfig, TransferConfig
from tunedprior.suggestion.response_models import FittedModels
from tunedprior.suggestion.suggester import Suggester
from tunedprior.weight_prior.sources import UNKNOWN, name_sources, parse_relations

Distributions = Mapping[str, BaseDistribution]
# Where nothing but so many failures is known, what they asked for is all that is asked for.
_ENOUGH_FAILURES = 3


def get_latest_distributions(trials: Sequence[FrozenTrial], given: Distributions) -> dict[str, BaseDistribution]:
    """Return each parameter's distribution in the last trial that has it."""
    found: dict[str, BaseDistribution] = {}
    for trial in reversed(trials):
        for name, distribution in trial.distributions.items():
            found.setdefault(name, distribution)
    return {**given, **found}


def group_parameters(trials: Sequence[FrozenTrial], given: Distributions) -> list[tuple[str, ...]]:
    """Partition the parameters into the coarsest groups of which every trial has all or none.

    In a space with branches, what is common to all branches is one group, and what belongs to one of them is another.

    A trial that failed may have stopped before it asked for everything, so it only tells of parameters that no other
    has, and of these it tells nothing if another that failed had more. Where several failed and nothing else is known,
    what they had is a group of its own among what is given.
    """
    sets = {False: set[frozenset[str]](), True: set[frozenset[str]]()}
    for trial in trials:
        sets[trial.state == TrialState.FAIL].add(frozenset(trial.distributions))
    known = {*sets[False], frozenset(given)}
    nothing_else = not sets[False] and len(trials) >= _ENOUGH_FAILURES
    failed = {names.difference(*(sets[False] if nothing_else else known)) for names in sets[True]}
    longest = [names for names in failed if not any(names < other for other in failed)]
    return find_coarsest_partition([*known, *longest])


def find_coarsest_partition(sets: Iterable[frozenset[str]]) -> list[tuple[str, ...]]:
    """Return the coarsest partition of which each given set is a union of parts.

    >>> find_coarsest_partition([frozenset("xy"), frozenset("xz")])
    [('x',), ('y',), ('z',)]
    """
    parts: list[frozenset[str]] = []
    for names in sets:
        rest = names.difference(*parts)
        parts = [part for old in parts for part in (old & names, old - names) if part] + ([rest] if rest else [])
    return sorted(tuple(sorted(part)) for part in parts)


# Seconds between two looks, for each trial to wait for, and after which a worker is taken to be gone. Whoever looks
# takes a database's time from those who choose.
_PAUSE, _PATIENCE = 0.1, 10.0


class Turns:
    """The order in which processes choose settings; threads of one process use a lock."""

    def __init__(self) -> None:
        self._gone: set[int] = set()
        self._own: set[int] = set()

    def begin(self, study: Study, trial: FrozenTrial) -> None:
        """Announce that this trial's parameters are being chosen."""
        self._own.add(trial.number)
        set_trial_attribute(study, trial, CHOSEN, CHOOSING)

    def end(self, study: Study, trial: FrozenTrial, chosen: str) -> None:
        """Announce which values were chosen."""
        set_trial_attribute(study, trial, CHOSEN, chosen)

    def wait(self, study: Study, trial: FrozenTrial) -> list[FrozenTrial]:
        """Wait for trials of other processes with lower numbers to choose; return all other trials."""
        until = monotonic() + _PATIENCE
        while True:
            others = drop_trial(trial, study.get_trials(deepcopy=False))
            running = [one for one in others if one.state == TrialState.RUNNING and one.number < trial.number]
            before = {one.number for one in running if one.system_attrs.get(CHOSEN) == CHOOSING}
            if not before - self._gone - self._own:
                return others
            if monotonic() > until:
                self._gone |= before
            sleep(_PAUSE * len(before - self._own))


def list_choices(trials: Sequence[FrozenTrial]) -> dict[int, str]:
    """Return, by trial number, what was chosen for each trial, or that it has finished."""
    return {
        one.number: one.state.name if one.state.is_finished() else repr((one.system_attrs.get(CHOSEN), one.params))
        for one in trials
    }


def drop_trial(trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Return the trials without one of them."""
    return [one for one in trials if one.number != trial.number]


@dataclass(frozen=True, eq=False)
class GroupModel:
    """The results of a group of parameters, and the models fitted to them.

    Attributes:
        suggester: What makes suggestions.
        results: Results, in the order in which trials finished.
        suggester_key: What the suggester was made for; it serves as long as that stays.
        trials_key: How many trials had finished, the parameters, and what the study's values are called.
        fitted: The models of these results; None while there is nothing to fit.
    """

    suggester: Suggester
    results: tuple[Trial, ...]
    suggester_key: tuple[Any, ...]
    trials_key: tuple[Any, ...]
    fitted: FittedModels | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return self.suggester.space.names

    @classmethod
    def from_trials(
        cls,
        study: Study,
        trials: Sequence[FrozenTrial],
        distributions: Distributions,
        objectives: Sequence[str],
        noise_std: Mapping[str, float],
        acquisition: AcquisitionChoice,
        source_learner: SourceLearner,
        before: "GroupModel | None",
    ) -> "GroupModel":
        """Build the group from all trials, reusing an earlier state of it.

        Args:
            study: The study.
            trials: All of its trials.
            distributions: The parameters.
            objectives: What the study's values are called.
            noise_std: The noise of each, where it is known.
            acquisition: As for `Optimizer`.
            source_learner: Old data, and what to make of it.
            before: What was made of this group before.
        """
        space = Space.parse(distributions)
        finished = sort_finished(trials)
        keys = sorted({key for trial in finished for key in read_constraints(trial)})
        taken = [*space.names, *objectives]
        constraints = {key: make_constraint_name(key, taken) for key in keys}
        goals = infer_goals(study, objectives, list(constraints.values()), noise_std)
        same = before is not None and (before.suggester.space, before.suggester.goals) == (space, goals)
        known = before.results if same and before is not None else ()
        results = convert_finished_trials(finished, space.names, goals, constraints, distributions, known)
        outside = [trial.setting for trial in results if not _is_within_ranges(trial.setting, space)]
        ends = _find_extremes(outside, space)
        made_for = (space, goals, ends)
        if before is not None and before.suggester_key == made_for:
            suggester = before.suggester
        else:
            everything = {name for trial in finished for name in trial.distributions} <= set(space.names)
            surrogates = source_learner.learn_surrogates(study, space, goals, constraints, ends, everything)
            config = CampaignConfig(space, goals, search=SearchConfig(acquisition))
            suggester = Suggester.from_surrogates(config, surrogates)
        made_of = _make_trials_key(trials, distributions, objectives)
        if outside:  # the box of the model may be smaller than the ranges that these were chosen from
            results = tuple(trial for trial in results if _is_in_box(suggester.surrogate.box, trial))
        return cls(suggester, results, made_for, made_of)

    def fit_models(self, seed: int, before: "GroupModel | None") -> "GroupModel":
        """Return the group with models fitted to its results, starting from earlier ones."""
        found = History(self.results)
        if not self.results or self.suggester.is_designing(found, ()):
            return self
        old = before.fitted if before is not None and before.suggester is self.suggester else None
        if old is not None and old.history.told == self.results:
            return replace(self, fitted=old)
        return replace(self, fitted=self.suggester.fit(found, seed, old))

    def build_history(self, trials: Sequence[FrozenTrial], distributions: Distributions) -> History:
        """Build the history of results and pending settings."""
        found = History(self.results)
        for trial in trials:
            for setting in self._list_settings([trial], distributions) if trial.state == TrialState.RUNNING else ():
                found = found.append_pending(setting, is_substitute(trial, self.names, distributions))
        return found

    def suggest(self, trials: Sequence[FrozenTrial], distributions: Distributions, seed: int) -> Setting:
        """Suggest the next setting, with running trials as pending."""
        found = self.build_history(trials, distributions)
        fitted = self.fitted
        if fitted is None and not self.suggester.is_designing(found, collect_settings(found.pending)):
            fitted = self.suggester.fit(found, seed)
        setting = self.suggester.suggest(found, collect_settings(found.pending), seed, fitted=fitted)
        return {name: _convert_to_optuna(value, distributions[name]) for name, value in setting.items()}

    def is_near(self, setting: Setting, trials: Sequence[FrozenTrial], distributions: Distributions) -> bool:
        """Return whether one of these trials has the same setting or nearly the same."""
        box, others = self.suggester.surrogate.box, self._list_settings(trials, distributions)
        found = is_near(
            encode_run_settings([setting], box), encode_run_settings(others, box), self.suggester.encoded_space
        )
        return bool(found[0])

    @property
    def is_exhausted(self) -> bool:
        """Return whether every setting was tried."""
        size = self.suggester.space.size
        return size is not None and len({repr(sorted(one.setting.items())) for one in self.results}) >= size

    def _list_settings(self, trials: Sequence[FrozenTrial], distributions: Distributions) -> list[Setting]:
        settings = read_settings(trials, self.names, distributions)
        return [one for one in settings if _is_within_ranges(one, self.suggester.space)]


def _make_trials_key(
    trials: Sequence[FrozenTrial], distributions: Distributions, objectives: Sequence[str]
) -> tuple[Any, ...]:
    return sum(trial.state.is_finished() for trial in trials), dict(distributions), tuple(objectives)


def _is_within_ranges(setting: Setting, space: Space) -> bool:
    return all(
        parameter.low <= setting[parameter.name] <= parameter.high
        for parameter in space.parameters
        if isinstance(parameter, Numeric)
    )


def _find_extremes(outside: Sequence[Setting], space: Space) -> tuple[Setting, ...]:
    """Two settings between which all of these lie; none if there are none."""
    if not outside:
        return ()
    numbers = [parameter.name for parameter in space.parameters if isinstance(parameter, Numeric)]
    return tuple(
        {**outside[0], **{name: pick(one[name] for one in outside) for name in numbers}} for pick in (min, max)
    )


def _is_in_box(box: Box, trial: Trial) -> bool:
    try:
        encode_run_settings([trial.setting], box)
    except InputError:
        return False
    return True


def _convert_to_optuna(value: Any, distribution: BaseDistribution) -> Any:
    if isinstance(distribution, IntDistribution):
        return int(value)
    return float(value) if isinstance(distribution, FloatDistribution) else value


_log = logging.getLogger(__name__)
# How often a choice is made again because another worker made the same one at the same moment.
_MOST_ROUNDS = 3
_WITH_RESULTS = (TrialState.COMPLETE, TrialState.PRUNED)
_FINISHED = (*_WITH_RESULTS, TrialState.FAIL)  # a trial that failed tells what there is to set, too


class TunedPriorSampler(BaseSampler):
    """Suggests parameters as `tunedprior.Optimizer` does, for an Optuna study, with help from old data.

    Any number of workers may share a study. They account for what the others are running and do not repeat it, whatever
    their seeds. What was learnt from old data is kept with the study: workers that do not have the old files go on with
    it, and so does a sampler that is given no old data at all.

    Parameters that only some trials have are suggested in groups that always come together. A run that failed tells the
    model so, unless its worker fell silent. A pruned trial counts with the last value that it reported.

    Args:
        old_data: As for `Optimizer`: a table, a file with one, a `WeightPrior` or its file; or another study, the name
            of one in the same storage, or a URL (`"sqlite:///old.db#name"`); several as a list or by name.
        target: The response's name in old tables; of several objectives all names, in order. By default the study's
            metric names, or `"y"`. A sampler with one name is for studies with one objective alone.
        prior: As for `Optimizer`.
        relation: As for `Optimizer`: `"same"`, `"opposite"` or `"unknown"`, or a dict by the names of old data sets.
        seed: Makes suggestions repeatable; random when left out. Workers may have the same one or different ones.
        search_space: The parameters, where they are known beforehand: then old data helps from the first trial on.
            Otherwise the first trial, which says what there is to set, is at random, and old data helps from the second
            on.
        constraints_func: As for Optuna's own samplers: values of a finished trial, of which none is above 0 if it will
            do. `trial.set_constraint` needs none.
        noise_std: The measurement noise where it is known; 0 for an exact objective; of several objectives by name.
        acquisition: As for `Optimizer`.
        stop_when_exhausted: Whether to stop the study when every setting of a finite space was tried, as `GridSampler`
            does. Otherwise settings repeat.
        artifact_store: Where to keep what was learnt from old data, if not in the study's attributes.

    >>> import optuna, pandas
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> old = pandas.DataFrame({"x": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0], "y": [3.0, 2.0, 1.5, 1.0, 1.4, 2.0]})
    >>> study = optuna.create_study(sampler=TunedPriorSampler(old, seed=1))
    >>> study.optimize(lambda trial: (trial.suggest_float("x", 0.0, 1.0) - 0.6) ** 2, n_trials=6)
    >>> abs(study.best_params["x"] - 0.6) < 0.02
    True
    """

    def __init__(
        self,
        old_data: Any = None,
        *,
        target: str | Sequence[str] | None = None,
        prior: str = AVERAGE,
        relation: str | Mapping[str, str] = UNKNOWN,
        seed: int | None = None,
        search_space: Distributions | None = None,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        noise_std: float | Mapping[str, float] | None = None,
        acquisition: AcquisitionChoice = "ei",
        stop_when_exhausted: bool = False,
        artifact_store: Any = None,
    ) -> None:
        TransferConfig(prior), SearchConfig(acquisition)  # refuse what is none
        for one in noise_std.values() if isinstance(noise_std, Mapping) else [noise_std]:
            Objective(noise_std=one)
        parse_relations(relation, name_sources(old_data))  # refuses what is none
        self._search_space = _parse_search_space(search_space)
        self._target = _parse_target(target)
        self._seed = randbits(31) if seed is None else check_seed(seed)
        self._teaching = SourceLearner(old_data, prior, relation, self._seed, artifact_store)
        self._constraints_func = constraints_func
        self._noise_std = noise_std
        self._acquisition = acquisition
        self._stops = check_flag(stop_when_exhausted, "stop_when_exhausted")
        self._reset_caches()

    def _reset_caches(self) -> None:
        """Begin without anything that was computed before."""
        self._lock, self._turns = RLock(), Turns()
        self._models: dict[tuple[str, tuple[str, ...]], GroupModel] = {}  # by study and parameters
        self._metric_names: dict[str, list[str]] = {}
        self._checked: set[str] = set()  # studies for which old data will do, as far as is known
        self._said_unknown: set[str] = set()  # the same, whose old data may have none of the parameters
        self._said_exhausted = False
        self._said_far_worse: set[str] = set()  # of which responses

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without locks and models, which every process makes for itself."""
        hidden = {"_lock", "_turns", "_models", "_metric_names", "_checked"}
        hidden |= {"_said_unknown", "_said_exhausted", "_said_far_worse"}
        return {name: one for name, one in vars(self).items() if name not in hidden}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._reset_caches()

    # -- what Optuna calls -----------------------------------------------------------------------------

    def reseed_rng(self) -> None:
        """Do nothing: random draws for a trial depend on its number, which no other trial has."""

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Raise an error for unusable old data before a trial, not within every trial.

        Whether it has the parameters is checked as soon as these are known: before the first trial with
        `search_space`, otherwise before the second. The trial then waits, with whatever was queued for it, until
        somebody asks again.
        """
        if study.study_name in self._checked:
            return
        trials = study.get_trials(deepcopy=False)
        space = self._find_search_space([one for one in trials if one.state in _FINISHED])
        try:
            if not any(one.state in _FINISHED for one in trials):
                self._teaching.check_old_data(study, self._list_objective_names(study, ()))
            if space:
                with self._lock:
                    self._fit_groups(study, trials, space, self._list_objective_names(study, tuple(space)))
        except InputError:
            requeue_trial(study, trial)
            raise
        if space:
            self._checked.add(study.study_name)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:  # noqa: ARG002
        """Return the parameters of all trials, with the ranges of the last trial that had each."""
        self._refuse_other_objectives(study)
        return self._find_search_space(study.get_trials(deepcopy=False, states=_FINISHED))

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Suggest the next setting, group by group."""
        names = self._list_objective_names(study, tuple(search_space))
        if not search_space:
            self._turns.end(study, trial, json.dumps({}))
            return {}
        self._turns.begin(study, trial)
        with self._lock:  # what takes longest, while others may still be choosing
            self._fit_groups(study, study.get_trials(deepcopy=False), search_space, names)
        for _ in range(_MOST_ROUNDS):
            with self._lock:
                trials = self._turns.wait(study, trial)
                accounted = list_choices(trials)
                models = self._fit_groups(study, trials, search_space, names)
                each = [(model, self._suggest_setting(model, trials, search_space)) for model in models]
                chosen = {name: value for _, setting in each for name, value in setting.items()}
                self._turns.end(study, trial, encode_setting(chosen, search_space))
            now = drop_trial(trial, study.get_trials(deepcopy=False))
            new = [one for one in now if accounted.get(one.number) != list_choices([one])[one.number]]
            if not any(model.is_near(setting, new, search_space) for model, setting in each):
                break
        self._warn_if_exhausted(models)
        self._warn_if_far_worse(models)
        return chosen

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Draw a random value for a parameter that is new or whose range has changed."""
        self._refuse_other_objectives(study)
        self._warn_if_unknown_to_old_data(study, [*trial.params, param_name])
        seed = derive_seed(self._seed, trial.number, crc32(param_name.encode()))
        u = np.random.default_rng(seed).random()
        value = parse_parameter(param_name, param_distribution).compute_quantile(u)
        return _convert_to_optuna(value, param_distribution)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,  # noqa: ARG002
    ) -> None:
        """Store the constraint values of a trial, and whether it failed."""
        if state == TrialState.FAIL:
            if INTERRUPTED not in trial.system_attrs:
                set_trial_attribute(study, trial, FAILED, True)
        elif self._constraints_func is not None and state in _WITH_RESULTS:
            set_trial_attribute(study, trial, "constraints", _parse_constraint_values(self._constraints_func(trial)))
        if self._stops and self._is_space_exhausted(study, trial):
            try:
                study.stop()
            except RuntimeError:  # not inside of optimize, where whoever asks may stop by themselves
                _log.info("Every setting of the search space was tried.")

    # -- what users may look at ------------------------------------------------------------------------

    def optimizer(self, study: Study) -> Optimizer:
        """Return an `Optimizer` with the study's results, for predictions, recommendations and trust.

        Of parameters in several groups, it is that of the largest one.
        """
        with self._lock:
            space = self._find_search_space(study.get_trials(deepcopy=False, states=_FINISHED))
            if not space:
                raise InputError("The study has no trials yet, so it is not known what there is to set.")
            trials = study.get_trials(deepcopy=False)
            models = self._fit_groups(study, trials, space, self._list_objective_names(study, tuple(space)))
            model = max(models, key=lambda one: len(one.names))
            return Optimizer.from_suggester(model.suggester, self._seed).resume(model.build_history([], space))

    # -- how it is done --------------------------------------------------------------------------------

    def _find_search_space(self, finished: Sequence[FrozenTrial]) -> dict[str, BaseDistribution]:
        """The parameters that are known, by name, without those that have one value alone."""
        found = get_latest_distributions(finished, self._search_space)
        return {name: one for name, one in sorted(found.items()) if not one.single()}

    def _warn_if_unknown_to_old_data(self, study: Study, names: Sequence[str]) -> None:
        """Warn, while the first trial asks for its parameters, that old data has none of them so far."""
        if study.study_name in self._checked or study.study_name in self._said_unknown:
            return
        self._said_unknown.add(study.study_name)
        columns = self._teaching.find_other_columns(study, names)
        if columns is not None:
            _log.warning(
                f"Old data has no column for {format_list(names)}, which this trial begins with (there are "
                f"{format_list(columns)}). If it has none for any parameter, the next trial is refused. Give the "
                "parameters as search_space=, and old data is checked before the first trial."
            )

    def _list_objective_names(self, study: Study, parameters: Sequence[str]) -> list[str]:
        """List the names of the study's values."""
        self._refuse_other_objectives(study)
        if self._target is not None:
            return list(self._target)
        if study.study_name not in self._metric_names:
            self._metric_names[study.study_name] = list_metric_names(study)
        return make_names_unique(self._metric_names[study.study_name], [*parameters, *self._search_space])

    def _refuse_other_objectives(self, study: Study) -> None:
        """An `InputError` if the study's objectives are not as many as the user named."""
        if self._target is not None and len(self._target) != len(study.directions):
            raise InputError(
                f"target names {len(self._target)} objective(s), {format_list(self._target)}; the study has "
                f"{len(study.directions)}. Name each of them, or leave target out."
            )

    def _suggest_setting(
        self, model: GroupModel, trials: Sequence[FrozenTrial], search_space: Distributions
    ) -> Setting:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExhaustedWarning)  # which is said in Optuna's way
            return model.suggest(trials, search_space, self._seed)

    def _fit_groups(
        self, study: Study, trials: Sequence[FrozenTrial], search_space: Distributions, names: Sequence[str]
    ) -> list[GroupModel]:
        """Models of all groups of these parameters, fitted to what these trials told."""
        finished = [one for one in trials if one.state in _FINISHED]
        groups = group_parameters(finished, self._search_space)
        wanted = [tuple(name for name in group if name in search_space) for group in groups]
        new = tuple(sorted(set(search_space).difference(*wanted)))
        found = []
        for group in [*wanted, new]:
            if group:
                space = {name: search_space[name] for name in group}
                before = self._models.get((study.study_name, group))
                if before is not None and before.trials_key == _make_trials_key(trials, space, names):
                    found.append(before)  # no trial has finished since, and nothing else has changed
                    continue
                noise = self._noise_std
                by_name = dict(noise) if isinstance(noise, Mapping) else {} if noise is None else {names[0]: noise}
                model = GroupModel.from_trials(
                    study, trials, space, names, by_name, self._acquisition, self._teaching, before
                )
                model = model.fit_models(self._seed, before)
                self._models[study.study_name, group] = model
                found.append(model)
        return found

    def _is_space_exhausted(self, study: Study, trial: FrozenTrial) -> bool:
        """Return whether nothing is left to try after this trial."""
        trials = study.get_trials(deepcopy=False, states=(*_FINISHED, TrialState.RUNNING))
        settings = {json.dumps(one.params, sort_keys=True, default=str) for one in trials if one.params}
        size = prod(parse_parameter(name, one).count or inf for name, one in trial.distributions.items())
        return len(settings) >= size and all(set(one.params) == set(trial.params) for one in trials if one.params)

    def _warn_if_exhausted(self, models: Sequence[GroupModel]) -> None:
        if not self._said_exhausted and len(models) == 1 and models[0].is_exhausted:
            self._said_exhausted = True
            _log.warning("Every setting of the search space was tried: what is suggested now repeats.")

    def _warn_if_far_worse(self, models: Sequence[GroupModel]) -> None:
        for model in models:
            goals, box = model.suggester.goals, model.suggester.surrogate.box
            for name, trials in goals.find_far_worse(model.results, box).items():
                if name not in self._said_far_worse:
                    self._said_far_worse.add(name)
                    numbered = [replace(trial, id=trial.id - 1) for trial in trials]  # as Optuna counts
                    _log.warning(describe_far_worse(goals.get_response(name), numbered, "fail the trial"))


def _parse_search_space(given: Distributions | None) -> dict[str, BaseDistribution]:
    if given is None:
        return {}
    wrong = [name for name, one in given.items() if not isinstance(one, BaseDistribution)]
    if wrong:
        raise InputError(
            f"search_space must be a dict of Optuna distributions, such as FloatDistribution(0.0, 1.0); "
            f"{format_list(wrong)} is not. Write them as trial.suggest_… would have them."
        )
    return dict(given)


def _parse_target(given: Any) -> tuple[str, ...] | None:
    if given is None or isinstance(given, str):
        return None if given is None else (given,)
    names = tuple(given)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InputError(
            f"target must be the name of the response, or different names in order; got {format_value(given)}."
        )
    return names


def _parse_constraint_values(given: Any) -> list[float]:
    values = [float(one) for one in given]
    if any(map(isnan, values)):
        raise InputError("constraints_func must give numbers; got NaN. Give a number above 0 for what will not do.")
    return values
