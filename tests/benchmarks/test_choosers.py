"""Optimisers that others wrote, as choosers: they run, repeat, and get better."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.methods.choosers.gp_sampler import GaussianSampler
from benchmarks.methods.choosers.noisy_hypervolume import NoisyHypervolume
from benchmarks.methods.choosers.ours import Ours
from benchmarks.methods.choosers.turns import Chooser, in_turn
from benchmarks.problems.constrained import CONSTRAINED
from benchmarks.problems.several_responses import TwoResponses, problem_named
from tunedprior import Optimizer

BRANIN_CURRIN = problem_named("Branin-Currin")


def in_pool(problem: TwoResponses) -> TwoResponses:
    """Twelve settings of the box."""
    pool = pd.DataFrame(np.random.default_rng(0).uniform(size=(12, 2)), columns=list(problem.space))
    return replace(problem, pool=pool, measured=problem.formula(pool.to_numpy()), formula=None)


def noisy_hypervolume(problem: TwoResponses) -> NoisyHypervolume:
    return NoisyHypervolume(problem.space, problem.signs, problem.reference, 300, problem.pool)


@pytest.mark.usefixtures("short_hypervolume_search")
def test_botorch_searches_the_box() -> None:
    first = BRANIN_CURRIN.first_settings(300)
    one, again = (in_turn(noisy_hypervolume(BRANIN_CURRIN), BRANIN_CURRIN.respond, 4, first=first) for _ in range(2))
    assert one == again
    assert [setting for setting, _ in one[:3]] == first
    assert all(0 <= value <= 1 for setting, _ in one for value in setting.values())


def test_botorch_chooses_each_setting_of_a_pool_once() -> None:
    problem = in_pool(BRANIN_CURRIN)
    done = in_turn(noisy_hypervolume(problem), problem.respond, 8, first=problem.first_settings(1))
    assert len({tuple(setting.values()) for setting, _ in done}) == 8
    found = np.array([list(responses.values()) for _, responses in done])
    assert problem.regret(found) <= problem.regret(found[:3])


@pytest.mark.parametrize("name", ["Gardner 1", "Gardner 2"])
def test_optuna_minds_constraints(name: str) -> None:
    problem = CONSTRAINED[name]

    def campaign() -> list:
        chooser = GaussianSampler(problem.space, {"y": "minimize"}, problem.constraints, 300)
        return in_turn(chooser, problem.respond, len(problem.space) + 3, first=problem.first_settings(300))

    assert campaign() == campaign()


def test_optuna_leaves_no_trial_open() -> None:
    space, told = {"x": (0.0, 1.0)}, {"a": 1.0, "b": 2.0}
    sampler = GaussianSampler(space, dict.fromkeys(told, "minimize"), (), 0)
    in_turn(sampler, lambda _setting: told, 3, first=[{"x": 0.5}])
    assert {trial.state.name for trial in sampler.study.trials} == {"COMPLETE"}


def test_ours_is_told_one_response_as_a_number() -> None:
    optimizer, seen = Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=1), []
    chooser: Chooser = Ours(optimizer)
    done = in_turn(chooser, lambda setting: {"y": setting["x"]}, 3, after=lambda setting, _: seen.append(setting))
    assert [setting for setting, _ in done] == seen
    assert optimizer.best.value == max(setting["x"] for setting in seen)
