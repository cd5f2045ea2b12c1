"""Optuna's own suites of tests for samplers, with and without old data."""

from collections.abc import Callable

import pandas as pd
import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    MultiObjectiveSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from tunedprior.integrations.optuna import TunedPriorSampler

OLD = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6], "y": [2, 4, 3, 6, 5, 1], "response": [0.5, 0.1, 0.4, 0.9, 0.7, 0.2]})


@pytest.mark.usefixtures("short_search")
class TestWithoutOldData(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: TunedPriorSampler(seed=0)


@pytest.mark.usefixtures("short_search")
@pytest.mark.filterwarnings("ignore::tunedprior.errors.OldDataWarning")  # the suites' spaces are not made for it
class TestWithOldData(BasicSamplerTestCase, RelativeSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: TunedPriorSampler(OLD, target="response", seed=0)


@pytest.mark.filterwarnings("ignore::tunedprior.errors.OldDataWarning")
class TestSeveralObjectivesWithOldData(MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: TunedPriorSampler(OLD, target=["response", "another"], seed=0)


class TestForOneObjective(SingleOnlySamplerTestCase):
    """A sampler that names one response is for one alone."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: TunedPriorSampler(OLD, target="response", seed=0)
