"""Optuna's GPSampler as a chooser: several objectives, or one with constraints."""

import warnings
from collections.abc import Mapping, Sequence

import optuna
from optuna.distributions import FloatDistribution

from benchmarks.methods.choosers.turns import Responses
from tunedprior.space.search_space import Setting


class GaussianSampler:
    """Log EHVI of several objectives, or log EI times the probability that every constraint is met: c ≤ 0.

    Args:
        space: (low, high) of every input.
        objectives: "minimize" or "maximize" for each response that is an objective.
        constraints: Names of the responses that must not exceed zero.
        seed: Makes suggestions repeatable.
    """

    def __init__(
        self,
        space: Mapping[str, tuple[float, float]],
        objectives: Mapping[str, str],
        constraints: Sequence[str],
        seed: int,
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._space = {name: FloatDistribution(*ends) for name, ends in space.items()}
        self._objectives, self._constraints = list(objectives), constraints
        # What is learnt before anything is chosen replaces its random start.
        sampler = optuna.samplers.GPSampler(seed=seed, n_startup_trials=1)
        self.study = optuna.create_study(directions=list(objectives.values()), sampler=sampler)
        self._chosen: optuna.Trial | None = None

    def choose(self) -> Setting:
        """The next setting."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._chosen = self.study.ask(self._space)
        return dict(self._chosen.params)

    def learn(self, setting: Setting, responses: Responses) -> None:
        """What was measured at the setting that was chosen last, or at any other.

        A trial that is left open would count as one that is under way from then on.
        """
        values = [responses[name] for name in self._objectives]
        limited = {name: responses[name] for name in self._constraints}
        chosen, self._chosen = self._chosen, None
        if chosen is not None and chosen.params == dict(setting):
            for name, value in limited.items():
                chosen.set_constraint(name, value)
            self.study.tell(chosen, values)
        else:
            self.study.add_trial(
                optuna.create_trial(
                    params=dict(setting), distributions=self._space, values=values, constraints=limited or None
                )
            )
