"""Ray Tune with old data: four trials at a time, through Tune's own Optuna search.

A support vector machine is to be tuned on pictures of digits. Last month's runs were on a table about wine: other
columns, other classes, other scores. How the score depends on C and gamma is much the same.

Run it with: pip install "tunedprior[ray]", then python examples/ray_tune.py
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import optuna
import pandas as pd
import ray
from optuna.distributions import FloatDistribution
from ray import tune
from ray.tune.search import ConcurrencyLimiter
from ray.tune.search.optuna import OptunaSearch
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tunedprior.integrations.optuna import TunedPriorSampler

SPACE = {"C": FloatDistribution(1e-3, 1e3, log=True), "gamma": FloatDistribution(1e-5, 10.0, log=True)}


def accuracy(setting: dict[str, float], X: np.ndarray, y: np.ndarray) -> float:
    """Of a support vector machine with this setting, in cross-validation."""
    machine = make_pipeline(StandardScaler(), SVC(**setting))
    return float(cross_val_score(machine, X, y, cv=3).mean())


def trainable(setting: dict[str, float]) -> dict[str, float]:
    """What Tune runs, wherever it likes."""
    X, y = load_digits(return_X_y=True)
    return {"accuracy": accuracy(setting, X[:400], y[:400])}


def last_months() -> pd.DataFrame:
    """Forty settings at random, and what they gave."""
    random = np.random.default_rng(0)
    runs = pd.DataFrame({"C": 10 ** random.uniform(-3, 3, 40), "gamma": 10 ** random.uniform(-5, 1, 40)})
    runs["accuracy"] = [accuracy(run, *load_wine(return_X_y=True)) for run in runs.to_dict("records")]
    return runs


def main() -> None:
    """Tune on a cluster of one machine, which is shut down at the end."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # The sampler lives where Tune is called. What is running is accounted for, so four at a time do not crowd.
    sampler = TunedPriorSampler(last_months(), target="accuracy", search_space=SPACE, seed=0)
    search = OptunaSearch(SPACE, metric="accuracy", mode="max", sampler=sampler)
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing is sent anywhere
    os.environ["RAY_AIR_NEW_OUTPUT"] = "0"  # nor printed but what is printed below
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        with TemporaryDirectory() as folder:
            limited = ConcurrencyLimiter(search, max_concurrent=4)
            tuner = tune.Tuner(
                trainable,
                tune_config=tune.TuneConfig(search_alg=limited, num_samples=12, reuse_actors=True),
                run_config=tune.RunConfig(name="digits", storage_path=str(Path(folder).resolve()), verbose=0),
            )
            best = tuner.fit().get_best_result("accuracy", "max")
    finally:
        ray.shutdown()
    print(f"best accuracy of twelve trials: {best.metrics['accuracy']:.3f}")
    print(f"at C = {best.config['C']:.3g} and gamma = {best.config['gamma']:.3g}")


if __name__ == "__main__":
    main()
