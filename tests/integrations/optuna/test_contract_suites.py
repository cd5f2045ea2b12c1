"""Optuna's own suites of tests for samplers, with and without old data."""

from collections.abc import Callable

import pandas as pd
import pytest
from optuna.samplers import BaseSampler

from tunedprior.integrations.optuna import TunedPriorSampler

suites = pytest.importorskip("optuna.testing.pytest_samplers", reason="not in the oldest Optuna that will do")
OLD = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6], "y": [2, 4, 3, 6, 5, 1], "response": [0.5, 0.1, 0.4, 0.9, 0.7, 0.2]})


@pytest.mark.usefixtures("short_search")
class TestWithoutOldData(
    suites.BasicSamplerTestCase, suites.RelativeSamplerTestCase, suites.MultiObjectiveSamplerTestCase
):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: TunedPriorSampler(seed=0)


@pytest.mark.usefixtures("short_search")
@pytest.mark.filterwarnings("ignore::tunedprior.errors.OldDataWarning")  # the suites' spaces are not made for it
class TestWithOldData(suites.BasicSamplerTestCase, suites.RelativeSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: TunedPriorSampler(OLD, target="response", seed=0)


@pytest.mark.filterwarnings("ignore::tunedprior.errors.OldDataWarning")
class TestSeveralObjectivesWithOldData(suites.MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: TunedPriorSampler(OLD, target=["response", "another"], seed=0)


class TestForOneObjective(suites.SingleOnlySamplerTestCase):
    """A sampler that names one response is for one alone."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: TunedPriorSampler(OLD, target="response", seed=0)
