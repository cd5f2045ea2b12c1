"""The model of one group of parameters: what was told of it, and what to suggest next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from tunedprior.acquisition.evaluation import is_near
from tunedprior.acquisition.functions import AcquisitionChoice
from tunedprior.campaign.fitted import Fitted
from tunedprior.campaign.suggester import Suggester
from tunedprior.errors import InputError
from tunedprior.integrations.optuna.groups import Distributions
from tunedprior.integrations.optuna.learning import Teaching
from tunedprior.problem.box import Box
from tunedprior.problem.objective import codes_of_run
from tunedprior.problem.parameters import Numeric
from tunedprior.problem.space import Setting, Space
from tunedprior.problem.trials import History, Trial, settings_of
from tunedprior.studies.histories import (
    aims_of_study,
    constraint_name,
    constraints_in,
    in_order,
    is_substitute,
    settings_in,
    told_of,
)


@dataclass(frozen=True, eq=False)
class GroupModel:
    """What is known of a group of parameters by now.

    Attributes:
        suggester: What makes suggestions.
        told: Results, in the order in which trials finished.
        made_for: What the suggester was made for; it serves as long as that stays.
        made_of: How many trials had finished, the parameters, and what the study's values are called.
        fitted: The models of these results; None while there is nothing to fit.
    """

    suggester: Suggester
    told: tuple[Trial, ...]
    made_for: tuple[Any, ...]
    made_of: tuple[Any, ...]
    fitted: Fitted | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters."""
        return self.suggester.space.names

    @classmethod
    def of(
        cls,
        study: Study,
        trials: Sequence[FrozenTrial],
        distributions: Distributions,
        objectives: Sequence[str],
        noise_std: Mapping[str, float],
        acquisition: AcquisitionChoice,
        teaching: Teaching,
        before: "GroupModel | None",
    ) -> "GroupModel":
        """The group by all trials so far; faster with what was made of it before.

        Args:
            study: The study.
            trials: All of its trials.
            distributions: The parameters.
            objectives: What the study's values are called.
            noise_std: The noise of each, where it is known.
            acquisition: As for `Optimizer`.
            teaching: Old data, and what to make of it.
            before: What was made of this group before.
        """
        space = Space.parse(distributions)
        finished = in_order(trials)
        keys = sorted({key for trial in finished for key in constraints_in(trial)})
        taken = [*space.names, *objectives]
        constraints = {key: constraint_name(key, taken) for key in keys}
        aims = aims_of_study(study, objectives, list(constraints.values()), noise_std)
        same = before is not None and (before.suggester.space, before.suggester.aims) == (space, aims)
        known = before.told if same and before is not None else ()
        told = told_of(finished, space.names, aims, constraints, distributions, known)
        beyond = [trial.setting for trial in told if not _lies_within(trial.setting, space)]
        ends = _ends(beyond, space)
        made_for = (space, aims, ends)
        if before is not None and before.made_for == made_for:
            suggester = before.suggester
        else:
            everything = {name for trial in finished for name in trial.distributions} <= set(space.names)
            surrogates = teaching.surrogates(study, space, aims, constraints, ends, everything)
            main = surrogates.pop(aims.main.target)
            suggester = Suggester(space, main, aims, acquisition, others=surrogates)
        made_of = _made_of(trials, distributions, objectives)
        return cls(suggester, _inside(told, suggester) if beyond else told, made_for, made_of)

    def is_of(self, trials: Sequence[FrozenTrial], distributions: Distributions, objectives: Sequence[str]) -> bool:
        """Whether nothing has changed since this was made: what has finished stays as it is."""
        return self.made_of == _made_of(trials, distributions, objectives)

    def fitted_to(self, seed: int, before: "GroupModel | None") -> "GroupModel":
        """With models of what was told; faster with what was fitted before."""
        found = History(self.told)
        if not self.told or self.suggester.is_designing(found, ()):
            return self
        old = before.fitted if before is not None and before.suggester is self.suggester else None
        if old is not None and old.history.told == self.told:
            return replace(self, fitted=old)
        return replace(self, fitted=self.suggester.fit(found, seed, old))

    def history(self, trials: Sequence[FrozenTrial], distributions: Distributions) -> History:
        """What was told, and what is under way."""
        found = History(self.told)
        for trial in trials:
            for setting in self._settings([trial], distributions) if trial.state == TrialState.RUNNING else ():
                found = found.asked(setting, is_substitute(trial, self.names, distributions))
        return found

    def suggest(self, trials: Sequence[FrozenTrial], distributions: Distributions, seed: int) -> Setting:
        """The next setting, with what is running of these trials accounted for."""
        found = self.history(trials, distributions)
        fitted = self.fitted
        if fitted is None and not self.suggester.is_designing(found, settings_of(found.pending)):
            fitted = self.suggester.fit(found, seed)
        setting = self.suggester.suggest(found, settings_of(found.pending), seed, fitted=fitted)
        return {name: _as_optuna_has_it(value, distributions[name]) for name, value in setting.items()}

    def is_near(self, setting: Setting, trials: Sequence[FrozenTrial], distributions: Distributions) -> bool:
        """Whether one of these trials has the same setting or nearly that."""
        box, others = self.suggester.surrogate.box, self._settings(trials, distributions)
        found = is_near(codes_of_run([setting], box), codes_of_run(others, box), self.suggester.lattice)
        return bool(found[0])

    @property
    def is_exhausted(self) -> bool:
        """Whether every setting was tried."""
        size = self.suggester.space.size
        return size is not None and len({repr(sorted(one.setting.items())) for one in self.told}) >= size

    def _settings(self, trials: Sequence[FrozenTrial], distributions: Distributions) -> list[Setting]:
        settings = settings_in(trials, self.names, distributions)
        return [one for one in settings if _lies_within(one, self.suggester.space)]


def _made_of(trials: Sequence[FrozenTrial], distributions: Distributions, objectives: Sequence[str]) -> tuple[Any, ...]:
    return sum(trial.state.is_finished() for trial in trials), dict(distributions), tuple(objectives)


def _lies_within(setting: Setting, space: Space) -> bool:
    return all(
        parameter.low <= setting[parameter.name] <= parameter.high
        for parameter in space.parameters
        if isinstance(parameter, Numeric)
    )


def _ends(beyond: Sequence[Setting], space: Space) -> tuple[Setting, ...]:
    """Two settings between which all of these lie; none if there are none."""
    if not beyond:
        return ()
    numbers = [parameter.name for parameter in space.parameters if isinstance(parameter, Numeric)]
    return tuple({**beyond[0], **{name: pick(one[name] for one in beyond) for name in numbers}} for pick in (min, max))


def _inside(told: tuple[Trial, ...], suggester: Suggester) -> tuple[Trial, ...]:
    """Those that the model's box holds: all but where what was learnt before is of a smaller one."""
    return tuple(trial for trial in told if _holds(suggester.surrogate.box, trial))


def _holds(box: Box, trial: Trial) -> bool:
    try:
        codes_of_run([trial.setting], box)
    except InputError:
        return False
    return True


def _as_optuna_has_it(value: Any, distribution: BaseDistribution) -> Any:
    if isinstance(distribution, IntDistribution):
        return int(value)
    return float(value) if isinstance(distribution, FloatDistribution) else value
