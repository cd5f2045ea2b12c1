"""Google Vizier's default designer, and the same with old trials as its priors.

Settings: the defaults of `VizierGPBandit` (UCB with a trust region, a process on warped responses). Its one seed trial,
the centre of the box, is not asked for, since results are told before it chooses. `set_priors` stacks one process for
each old set, in the order given, and models what remains of them (Golovin et al., 2017, section 3.3). Trials are padded
to tens, so that JAX compiles less often. A designer cannot choose from a pool.

Old rows with choices that the box does not have are left out; numbers beyond the box are given as they are.
"""

from collections.abc import Sequence

import jax
from vizier import algorithms as vza
from vizier import pyvizier as vz
from vizier._src.algorithms.designers.gp_bandit import VizierGPBandit  # the public module wants every designer's needs
from vizier.pyvizier.converters import padding

from benchmarks.peers.tasks import OldSet, Setting, Task

_RESPONSE = "response"


class Vizier:
    """`VizierGPBandit` without anything old."""

    def __init__(self, task: Task) -> None:
        self._task, self._told = task, 0
        self._designer = VizierGPBandit(
            _problem(task),
            rng=jax.random.PRNGKey(task.seed),
            padding_schedule=padding.PaddingSchedule(num_trials=padding.PaddingType.MULTIPLES_OF_10),
        )

    def choose(self) -> Setting:
        """Where the upper bound is greatest."""
        found = self._designer.suggest(1)[0].parameters.as_dict()
        return {one.name: _given_back(one.choices, found[one.name]) for one in self._task.inputs}

    def learn(self, setting: Setting, response: float) -> None:
        """One more completed trial."""
        self._told += 1
        trial = _completed(setting, response, self._told)
        self._designer.update(vza.CompletedTrials([trial]), vza.ActiveTrials())


class VizierOnPriors(Vizier):
    """`VizierGPBandit` whose process stands on one for each old set."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        studies = [_study(task, old) for old in task.old.values()]
        self._designer.set_priors([study for study in studies if study.trials])


def _problem(task: Task) -> vz.ProblemStatement:
    problem = vz.ProblemStatement()
    for one in task.inputs:
        if one.choices is not None:
            problem.search_space.root.add_categorical_param(one.name, [str(choice) for choice in one.choices])
        else:
            scale = vz.ScaleType.LOG if one.log else vz.ScaleType.LINEAR
            problem.search_space.root.add_float_param(one.name, one.low, one.high, scale_type=scale)
    problem.metric_information.append(vz.MetricInformation(_RESPONSE, goal=vz.ObjectiveMetricGoal.MAXIMIZE))
    return problem


def _completed(setting: Setting, response: float, number: int) -> vz.Trial:
    parameters = {name: value if isinstance(value, float) else str(value) for name, value in setting.items()}
    return vz.Trial(parameters=parameters, id=number).complete(vz.Measurement({_RESPONSE: response}))


def _study(task: Task, old: OldSet) -> vza.CompletedTrials:
    known = [
        (setting, response)
        for setting, response in zip(old.settings, old.responses, strict=True)
        if all(one.choices is None or setting[one.name] in one.choices for one in task.inputs)
    ]
    return vza.CompletedTrials([_completed(*one, number) for number, one in enumerate(known, start=1)])


def _given_back(choices: Sequence[object] | None, value: object) -> object:
    """A choice as it was given: Vizier knows it by its text."""
    return value if choices is None else next(choice for choice in choices if str(choice) == value)
