"""SMAC3's facade for black boxes: a Gaussian process and expected improvement.

`BlackBoxFacade` is SMAC's for few inputs and few evaluations; the random forest of `HyperparameterOptimizationFacade`
is for more of either. All is at its default, random settings in between (one in twelve) included; only the initial
design is empty, since the first settings are told. Logarithmic inputs are declared so. A setting that SMAC chose and
that was not measured stays in its books as running, which its model leaves out. It cannot choose from a pool.
"""

import tempfile
from typing import Any

from ConfigSpace import Categorical, Configuration, ConfigurationSpace, Float
from ConfigSpace.hyperparameters import CategoricalHyperparameter
from smac import BlackBoxFacade, Scenario
from smac.runhistory.dataclasses import TrialInfo, TrialValue

from benchmarks.peers.tasks import Setting, Task


class Smac:
    """`BlackBoxFacade`, asked and told."""

    def __init__(self, task: Task) -> None:
        self._space = ConfigurationSpace(seed=task.seed)
        for one in task.inputs:
            if one.choices is not None:
                self._space.add(Categorical(one.name, list(one.choices)))
            else:
                self._space.add(Float(one.name, (one.low, one.high), log=one.log))
        self._folder = tempfile.TemporaryDirectory()
        scenario = Scenario(
            self._space,
            deterministic=True,
            n_trials=2 * task.trials,  # trials that are not measured where SMAC chose count twice
            seed=task.seed,
            output_directory=self._folder.name,
        )
        self._seed = 0  # what SMAC tells deterministic trials apart by
        self._facade = BlackBoxFacade(
            scenario,
            _never_called,
            initial_design=BlackBoxFacade.get_initial_design(scenario, n_configs=0),
            logging_level=False,
            overwrite=True,
        )

    def choose(self) -> Setting:
        """Where the improvement to expect is greatest, or now and then any."""
        asked = self._facade.ask()
        self._seed = asked.seed
        return dict(asked.config)

    def learn(self, setting: Setting, response: float) -> None:
        """SMAC minimises, so it is told the negative."""
        config = Configuration(self._space, values={name: self._allowed(name, setting[name]) for name in self._space})
        self._facade.tell(TrialInfo(config, seed=self._seed), TrialValue(cost=-response), save=False)

    def _allowed(self, name: str, value: Any) -> Any:
        """The value; a number at an end of its range is that end, which ConfigSpace rounds to ten digits."""
        kind = self._space[name]
        return value if isinstance(kind, CategoricalHyperparameter) else min(max(value, kind.lower), kind.upper)


def _never_called(config: Configuration, seed: int = 0) -> float:
    raise AssertionError(f"SMAC is asked and told, and evaluates nothing itself: {config}, {seed}.")
