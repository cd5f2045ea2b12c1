"""Optuna's samplers: as they come, with old results added as trials, and OptunaHub's TPE that learns from studies."""

import os
import sys
from inspect import signature
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.samplers import BaseSampler, GPSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState

from benchmarks.peers.by_name import ONE_FIRST, SHARED_FIRST
from benchmarks.peers.tasks import OldSet, Setting, Task


class OptunaPeer:
    """`study.ask`, and `study.tell` or `study.add_trial`.

    Where another setting was measured than the one asked for, the asked trial is marked as failed, which samplers do
    not look at, and the measured one is added.

    Args:
        task: What to optimise.
        sampler: Chooses.
        old: Whether old results are added as trials, all sets together and values as they are. Rows with a setting
            outside the box are left out: Optuna refuses them, and a clipped setting was never measured.
    """

    def __init__(self, task: Task, sampler: BaseSampler, old: bool = False) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._distributions = distributions(task)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._asked: optuna.Trial | None = None
        if old:
            for one in task.old.values():
                self._study.add_trials(trials(one, self._distributions))

    def choose(self) -> Setting:
        """What the sampler suggests."""
        self._asked = self._study.ask(self._distributions)
        return dict(self._asked.params)

    def learn(self, setting: Setting, response: float) -> None:
        """The result, of the trial that was asked for or of one more."""
        asked, self._asked = self._asked, None
        if asked is not None and asked.params == setting:
            self._study.tell(asked, response)
            return
        if asked is not None:
            self._study.tell(asked, state=TrialState.FAIL)
        self._study.add_trial(optuna.create_trial(params=setting, distributions=self._distributions, value=response))


class Gaussian(OptunaPeer):
    """`GPSampler`, which decides as soon as the shared first settings are measured."""

    def __init__(self, task: Task) -> None:
        super().__init__(task, GPSampler(seed=task.seed, n_startup_trials=SHARED_FIRST))


class GaussianOldTrials(OptunaPeer):
    """`GPSampler` with old trials; if all of them lie outside the box, it begins at random."""

    def __init__(self, task: Task) -> None:
        super().__init__(task, GPSampler(seed=task.seed, n_startup_trials=SHARED_FIRST), old=True)


class Parzen(OptunaPeer):
    """`TPESampler()`, whose first ten trials, shared ones included, are random by default."""

    def __init__(self, task: Task) -> None:
        super().__init__(task, TPESampler(seed=task.seed))


class ParzenOldTrials(OptunaPeer):
    """`TPESampler()` with old trials."""

    def __init__(self, task: Task) -> None:
        super().__init__(task, TPESampler(seed=task.seed), old=True)


class MetaLearnParzen(OptunaPeer):
    """OptunaHub's `samplers/meta_learn_tpe`: densities of every old study, weighted by how its good region overlaps.

    It looks at old studies as soon as there is one result (its default are ten). The registry is read from GitHub, or
    from a checkout in the folder that `OPTUNAHUB_REGISTRY` names.
    """

    def __init__(self, task: Task) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        kinds, studies = distributions(task), []
        for one in task.old.values():
            study = optuna.create_study(direction="maximize")
            study.add_trials(trials(one, kinds))
            studies.append(study)
        super().__init__(task, _published(studies, task.seed))


def distributions(task: Task) -> dict[str, BaseDistribution]:
    """Inputs as Optuna has them."""
    return {
        one.name: FloatDistribution(one.low, one.high, log=one.log)
        if one.choices is None
        else CategoricalDistribution(one.choices)
        for one in task.inputs
    }


def trials(old: OldSet, kinds: dict[str, BaseDistribution]) -> list[FrozenTrial]:
    """Old results whose settings lie in the box, as finished trials."""
    return [
        optuna.create_trial(params={name: setting[name] for name in kinds}, distributions=kinds, value=response)
        for setting, response in zip(old.settings, old.responses, strict=True)
        if all(_inside(setting[name], kind) for name, kind in kinds.items())
    ]


def _inside(value: Any, kind: BaseDistribution) -> bool:
    return value in kind.choices if isinstance(kind, CategoricalDistribution) else kind.low <= value <= kind.high


def _published(studies: list[optuna.Study], seed: int) -> BaseSampler:
    """The registry's sampler, made to work with Optuna 5.

    It was published for Optuna 4, whose function that splits trials had one argument more, which it passes as False,
    and whose TPE knew its share of good trials from the beginning.
    """
    from optuna.samplers._tpe import sampler as inside

    import optunahub

    package, registry = "samplers/meta_learn_tpe", os.environ.get("OPTUNAHUB_REGISTRY")
    if registry:
        module = optunahub.load_local_module(package, registry_root=str(Path(registry) / "package"))
    else:
        module = optunahub.load_module(package)
    if "constraints_enabled" not in signature(inside._split_trials).parameters:
        sys.modules[module.MetaLearnTPESampler.__module__]._split_trials = lambda study, finished, n_below, **_: (
            inside._split_trials(study, finished, n_below)
        )
    sampler = module.MetaLearnTPESampler(source_studies=studies, n_startup_trials=ONE_FIRST, seed=seed)
    for one in (sampler._target_sampler, *sampler._source_samplers):
        one._gamma = one._gamma or inside.default_gamma
    return sampler
