"""Syne Tune's transfer methods for one fidelity: by quantiles, and within a bounding box.

By quantiles: copula Thompson sampling (Salinas et al., 2020), at its defaults; it learns from old data alone, ignoring
results. It always minimises, so old responses are given as negatives.
Bounding box: the search is limited to the box around the best old settings (Perrone et al., 2019). The default, the
best one of each old set, leaves a single point where there is one set, so the best ten are taken. Within, its
`BoTorchSearcher` suggests. That one learns only what it suggested itself: it is built anew for each suggestion and
first suggests what was told (`points_to_evaluate`). Results outside its box are unknown to it.

Neither chooses from a pool. Old rows outside the box, or with choices that the box does not have, are left out.
Not here: zero-shot transfer, whose surrogates for old sets with different settings draw from a generator that is not
yet there in 0.16.0, and other settings for each set, whose ranks are then compared; RUSH, whose class is gone and which
needs several fidelities.
"""

from typing import Any

import numpy as np
import pandas as pd
from syne_tune.backend.trial_status import Trial
from syne_tune.config_space import Categorical, choice, loguniform, uniform
from syne_tune.optimizer.schedulers.searchers.botorch.botorch_searcher import BoTorchSearcher
from syne_tune.optimizer.schedulers.single_objective_scheduler import SingleObjectiveScheduler
from syne_tune.optimizer.schedulers.transfer_learning.bounding_box import BoundingBox
from syne_tune.optimizer.schedulers.transfer_learning.quantile_based.quantile_based_searcher import (
    QuantileBasedSurrogateSearcher,
)
from syne_tune.optimizer.schedulers.transfer_learning.transfer_learning_task_evaluation import (
    TransferLearningTaskEvaluations,
)

from benchmarks.peers.tasks import Input, OldSet, Setting, Task

_COST = "cost"
#: Old settings of each set that the bounding box must hold.
_BEST = 10


class Quantiles:
    """The setting whose draw from what old data predicts is the best."""

    def __init__(self, task: Task) -> None:
        self._searcher = QuantileBasedSurrogateSearcher(_space(task), _evaluations(task), random_seed=task.seed)

    def choose(self) -> Setting:
        """The best draw."""
        return dict(self._searcher.suggest())

    def learn(self, setting: Setting, response: float) -> None:
        """Nothing: the method does not look at results."""


class InBoundingBox:
    """Bayesian optimisation within the box around the best old settings."""

    def __init__(self, task: Task) -> None:
        self._task, self._evaluations = task, _evaluations(task)
        self._told: list[tuple[Setting, float]] = []
        self._box: dict[str, Any] = {}

    def choose(self) -> Setting:
        """The searcher's suggestion, once it has heard of all results within its box."""
        seed = self._task.seed + len(self._told)
        np.random.seed(seed)  # noqa: NPY002 - the library draws from NumPy's global generator
        scheduler = BoundingBox(
            self._scheduler,
            _space(self._task),
            _COST,
            self._evaluations,
            num_hyperparameters_per_task=_BEST,
            random_seed=seed,
        )
        for number, (_, response) in enumerate(self._inside()):
            trial = Trial(number, scheduler.suggest().config, None)
            scheduler.on_trial_complete(trial, {_COST: -response})
        return dict(scheduler.suggest().config)

    def learn(self, setting: Setting, response: float) -> None:
        """Kept for the next searcher."""
        self._told.append((setting, response))

    def _scheduler(self, box: dict[str, Any], metric: str, minimize: bool, seed: int) -> SingleObjectiveScheduler:
        self._box = box
        points = [setting for setting, _ in self._inside()]
        searcher = BoTorchSearcher(box, points_to_evaluate=points, random_seed=seed)
        return SingleObjectiveScheduler(box, metric, minimize, searcher, seed)

    def _inside(self) -> list[tuple[Setting, float]]:
        return [told for told in self._told if all(_holds(self._box[name], told[0][name]) for name in self._box)]


def _holds(domain: Any, value: Any) -> bool:
    return value in domain.categories if isinstance(domain, Categorical) else domain.lower <= value <= domain.upper


def _space(task: Task) -> dict[str, Any]:
    return {one.name: _domain(one) for one in task.inputs}


def _domain(one: Input) -> Any:
    if one.choices is not None:
        return choice(list(one.choices))
    return loguniform(one.low, one.high) if one.log else uniform(one.low, one.high)


def _evaluations(task: Task) -> dict[str, TransferLearningTaskEvaluations]:
    found = {name: _of_one(task, old) for name, old in task.old.items()}
    return {name: one for name, one in found.items() if len(one.hyperparameters)}


def _of_one(task: Task, old: OldSet) -> TransferLearningTaskEvaluations:
    space = _space(task)
    rows = [
        (setting, -response)
        for setting, response in zip(old.settings, old.responses, strict=True)
        if all(_holds(space[name], setting[name]) for name in space)
    ]
    table = pd.DataFrame([setting for setting, _ in rows], columns=list(space))
    costs = np.array([cost for _, cost in rows]).reshape(-1, 1, 1, 1)
    return TransferLearningTaskEvaluations(space, table, [_COST], costs)
