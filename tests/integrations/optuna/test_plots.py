"""Optuna's own plots take a study that the sampler made."""

import optuna
import pytest
from optuna.distributions import FloatDistribution

from tunedprior.integrations.optuna import TunedPriorSampler

pytest.importorskip("plotly")
pytestmark = pytest.mark.usefixtures("short_search")
SPACE = {"x": FloatDistribution(0.0, 1.0), "z": FloatDistribution(0.0, 1.0)}


def studied(directions: list[str]) -> optuna.Study:
    study = optuna.create_study(directions=directions, sampler=TunedPriorSampler(seed=0, search_space=SPACE))
    for _ in range(6):
        trial = study.ask(SPACE)
        study.tell(trial, [trial.params["x"], trial.params["z"] - trial.params["x"]][: len(directions)])
    return study


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # of plotly and scikit-learn
def test_history_importances_and_slices() -> None:
    study = studied(["minimize"])
    history = optuna.visualization.plot_optimization_history(study)
    assert list(history.data[0].y) == [trial.value for trial in study.trials]
    importances = optuna.visualization.plot_param_importances(study)
    assert set(importances.data[0].y) == {"x", "z"}
    assert len(optuna.visualization.plot_slice(study).data) == 2


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_the_front() -> None:
    study = studied(["minimize", "minimize"])
    figure = optuna.visualization.plot_pareto_front(study)
    assert sum(len(one.x) for one in figure.data) == len(study.trials)
