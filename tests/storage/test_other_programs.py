"""Attributes that other programs keep with trials; the net is `python -m benchmarks hostile`."""

from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

from tunedprior.errors import StudyWarning
from tunedprior.storage.study_trials import CHOSEN, list_metric_names, read_constraints, read_setting, read_settings

SPACE = {"x": FloatDistribution(0.0, 1.0), "gas": CategoricalDistribution(("air", "argon"))}


def running(**attributes: Any) -> optuna.trial.FrozenTrial:
    return create_trial(state=TrialState.RUNNING, system_attrs=attributes)


@pytest.mark.parametrize("value", [5, None, [], "no JSON", "[" * 5000, '["x"]', '{"gas": 17}', '{"gas": "air"}'])
def test_a_choice_that_makes_no_sense_is_none(value: object) -> None:
    with pytest.warns(StudyWarning, match="chosen.* left aside"):
        assert read_setting(running(**{CHOSEN: value}), SPACE) == {}


@pytest.mark.parametrize("x", ["abc", None, float("nan"), True, {"a": 1}])
def test_a_setting_with_something_else_in_it_is_left_out(x: object) -> None:
    sound = running(fixed_params={"x": 0.5, "gas": "air"})
    with pytest.warns(StudyWarning, match="fixed_params"):
        found = read_settings([running(fixed_params={"x": x, "gas": "air"}), sound], list(SPACE), SPACE)
    assert found == [{"x": 0.5, "gas": "air"}]


def test_fixed_parameters_that_are_no_table() -> None:
    with pytest.warns(StudyWarning, match="fixed_params"):
        assert read_setting(running(fixed_params=5), SPACE) == {}


@pytest.mark.parametrize("value", [5, "abc", ["a"], [None], [[1.0]], [10**400]])
def test_constraints_that_are_no_numbers(value: object) -> None:
    with pytest.warns(StudyWarning, match="constraints"):
        assert read_constraints(running(constraints=value)) == {}


def test_names_of_metrics_that_are_none() -> None:
    study = optuna.create_study()
    study._storage.set_study_system_attr(study._study_id, "study:metric_names", ["a", "b"])
    assert list_metric_names(study) == ["y"]
