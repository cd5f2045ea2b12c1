"""A study that learns from a table of related old runs.

From a copy of the registry, with this folder at package/samplers/tunedprior:
python package/samplers/tunedprior/example.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import optuna
from optuna.distributions import FloatDistribution
import optunahub
import pandas as pd


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -5, 5)
    y = trial.suggest_float("y", -5, 5)
    return (x - 1) ** 2 + 2 * (y + 2) ** 2


if __name__ == "__main__":
    # Runs of something else that depends on x and y in a similar way: shifted, scaled and upside
    # down.
    settings = np.random.default_rng(0).uniform(-5, 5, (40, 2))
    old = pd.DataFrame(settings, columns=["x", "y"])
    old["response"] = 30 - 0.5 * (old["x"] - 0.7) ** 2 - (old["y"] + 1.8) ** 2

    module = optunahub.load_local_module(
        package="samplers/tunedprior", registry_root=str(Path(__file__).parents[2])
    )
    sampler = module.TunedPriorSampler(
        old,
        target="response",
        search_space={"x": FloatDistribution(-5, 5), "y": FloatDistribution(-5, 5)},
        seed=0,
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=10)
    print(study.best_value, study.best_params)
    print(sampler.optimizer(study).trust)
