"""Ax: its default strategy, and BOTL, its transfer of source experiments."""

import warnings
from collections.abc import Iterable

import numpy as np
import pandas as pd
import torch
from ax.adapter.transfer_learning.adapter import TL_EXP, transfer_learning_generator_specs_constructor
from ax.api.utils.generation_strategy_dispatch import choose_generation_strategy
from ax.api.utils.structs import GenerationStrategyDispatchStruct
from ax.core.arm import Arm
from ax.core.auxiliary_source import AuxiliarySource
from ax.core.data import Data
from ax.core.experiment import Experiment
from ax.core.metric import Metric
from ax.core.objective import Objective
from ax.core.optimization_config import OptimizationConfig
from ax.core.parameter import ChoiceParameter, Parameter, ParameterType, RangeParameter
from ax.core.search_space import SearchSpace
from ax.generation_strategy.generation_node import GenerationNode
from ax.generation_strategy.generation_strategy import GenerationStrategy

from benchmarks.peers.by_name import SHARED_FIRST
from benchmarks.peers.tasks import Input, OldSet, Setting, Task

_RESPONSE = "y"
_FEWEST = 3  # results of which Ax can say, one left out at a time, which model ranks them better


class AxPeer:
    """An experiment of Ax and a strategy that generates its next setting; Ax has no pools, so none is used."""

    def __init__(self, task: Task, sources: Iterable[AuxiliarySource] = ()) -> None:
        self._seed = task.seed
        self.experiment = _experiment("new", task, [], auxiliary=list(sources))
        self._count = 0

    def strategy(self) -> GenerationStrategy:
        """What generates now."""
        raise NotImplementedError

    def choose(self) -> Setting:
        """The next setting."""
        torch.manual_seed(self._seed * 10_007 + self._count)
        np.random.seed((self._seed * 10_007 + self._count) % 2**32)  # noqa: NPY002
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return dict(self.strategy().gen(self.experiment, n=1)[0][0].arms[0].parameters)

    def learn(self, setting: Setting, response: float) -> None:
        """One more trial of the experiment."""
        _add(self.experiment, [setting], [response])
        self._count += 1


class Default(AxPeer):
    """Ax's own strategy, which leaves its Sobol phase as soon as the shared first settings are measured."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._strategy = choose_generation_strategy(
            GenerationStrategyDispatchStruct(
                initialization_budget=SHARED_FIRST, initialization_random_seed=task.seed, initialize_with_center=False
            )
        )

    def strategy(self) -> GenerationStrategy:
        """Always the same."""
        return self._strategy


class Transfer(AxPeer):
    """`Generators.BOTL` as Ax's constructor of its specifications has it, a source experiment for each old set.

    By default Ax guards against misleading sources: where the model without them ranks left-out results better, that
    one is used. With fewer than three results there is nothing to rank, and the multi-task model decides.
    """

    def __init__(self, task: Task) -> None:
        sources = [AuxiliarySource(experiment=_source(name, task, old)) for name, old in task.old.items()]
        super().__init__(task, sources)

    def strategy(self) -> GenerationStrategy:
        """With model selection as soon as it is possible."""
        specs, selector = transfer_learning_generator_specs_constructor(use_model_selection=self._count >= _FEWEST)
        node = GenerationNode(name="BOTL", generator_specs=specs, best_model_selector=selector)
        return GenerationStrategy(nodes=[node], name="BOTL")


def _source(name: str, task: Task, old: OldSet) -> Experiment:
    experiment = _experiment(name, task, old.settings)
    _add(experiment, old.settings, old.responses)
    return experiment


def _experiment(
    name: str, task: Task, settings: Iterable[Setting], auxiliary: list[AuxiliarySource] | None = None
) -> Experiment:
    """An experiment over the box, widened where settings lie beyond it."""
    parameters = [_parameter(one, [setting[one.name] for setting in settings]) for one in task.inputs]
    return Experiment(
        name=name,
        search_space=SearchSpace(parameters),
        optimization_config=OptimizationConfig(Objective(metric=Metric(_RESPONSE), minimize=False)),
        auxiliary_experiments_by_purpose={TL_EXP: auxiliary} if auxiliary else None,
    )


def _parameter(one: Input, values: list) -> Parameter:
    if one.choices is not None:
        choices = [*one.choices, *sorted({value for value in values if value not in one.choices}, key=str)]
        kinds = {
            str: ParameterType.STRING,
            bool: ParameterType.BOOL,
            int: ParameterType.INT,
            float: ParameterType.FLOAT,
        }
        kind = kinds[type(choices[0])]
        return ChoiceParameter(one.name, kind, choices, is_ordered=False, sort_values=False)
    low, high = min([one.low, *values]), max([one.high, *values])
    return RangeParameter(one.name, ParameterType.FLOAT, lower=low, upper=high, log_scale=one.log)


def _add(experiment: Experiment, settings: Iterable[Setting], responses: Iterable[float]) -> None:
    """Finished trials, a setting each; the noise is unknown to Ax."""
    rows = []
    for setting, response in zip(settings, responses, strict=True):
        trial = experiment.new_trial().add_arm(Arm(parameters=setting))
        trial.mark_running(no_runner_required=True)
        rows.append((trial.index, trial.arm.name, _RESPONSE, _RESPONSE, response, np.nan))
    columns = ["trial_index", "arm_name", "metric_name", "metric_signature", "mean", "sem"]
    experiment.attach_data(Data(df=pd.DataFrame(rows, columns=columns)))
    for trial_index, *_ in rows:
        experiment.trials[trial_index].mark_completed()
