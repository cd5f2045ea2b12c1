"""Search spaces that a study defines while it runs: parameters in groups, each group with its own model.

Workers that choose at the same time take turns, so that no two choose the same setting. A trial states that its
parameters are being chosen, and later which values were chosen. A worker waits until trials with lower numbers have
chosen, and treats their settings as pending. It waits for a limited time, since the other worker may be gone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic, sleep
from typing import Any

from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from tunedprior.acquisition.functions import AcquisitionChoice
from tunedprior.acquisition.optimisation import is_near
from tunedprior.errors import InputError
from tunedprior.goals.objective import encode_run_settings
from tunedprior.history.trials import History, Trial, collect_settings
from tunedprior.integrations.optuna.source_studies import SourceLearner
from tunedprior.space.encoding import Box
from tunedprior.space.parameters import Numeric
from tunedprior.space.search_space import Setting, Space
from tunedprior.storage.databases import set_trial_attribute
from tunedprior.storage.study_trials import (
    CHOOSING,
    CHOSEN,
    convert_finished_trials,
    infer_goals,
    is_substitute,
    make_constraint_name,
    read_constraints,
    read_settings,
    sort_finished,
)
from tunedprior.suggestion.config import SearchConfig
from tunedprior.suggestion.response_models import FittedModels
from tunedprior.suggestion.suggester import Suggester

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
            main = surrogates.pop(goals.main.name)
            suggester = Suggester(space, main, goals, SearchConfig(acquisition), surrogates)
        made_of = _make_trials_key(trials, distributions, objectives)
        return cls(suggester, _keep_in_box(results, suggester) if outside else results, made_for, made_of)

    def is_current(
        self, trials: Sequence[FrozenTrial], distributions: Distributions, objectives: Sequence[str]
    ) -> bool:
        """Return whether no trial has finished, and nothing else has changed, since this was built."""
        return self.trials_key == _make_trials_key(trials, distributions, objectives)

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


def _keep_in_box(results: tuple[Trial, ...], suggester: Suggester) -> tuple[Trial, ...]:
    """Return the results within the box of the model, which may be smaller than the present ranges."""
    return tuple(trial for trial in results if _is_in_box(suggester.surrogate.box, trial))


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
