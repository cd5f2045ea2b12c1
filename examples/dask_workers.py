"""Four Dask workers on one study that lives with Dask's scheduler.

A controller is to be tuned for a heavy oven. There are records of a lighter one: the same three gains, other errors.
The study is sent to the workers together with its sampler, old data and all.

Run it with: pip install "tunedprior[dask]", then python examples/dask_workers.py
"""

import warnings

import numpy as np
import optuna
import pandas as pd
from dask.distributed import Client, LocalCluster
from optuna.distributions import FloatDistribution
from optuna_integration.dask import DaskStorage

from tunedprior.integrations.optuna import TunedPriorSampler

SPACE = {
    "gain": FloatDistribution(0.1, 100.0, log=True),
    "integral": FloatDistribution(0.01, 10.0, log=True),
    "derivative": FloatDistribution(0.01, 10.0, log=True),
}


def error(gain: float, integral: float, derivative: float, mass: float = 1.0) -> float:
    """How far off an oven is, on a logarithmic scale, while it is brought to a temperature and kept there."""
    step, heat, past, before, missed = 0.02, 0.0, 0.0, 1.0, 0.0
    element = 0.0  # which follows what the controller asks for, a little later
    for _ in range(1000):
        off = 1.0 - heat
        past += off * step
        asked = gain * off + integral * past + derivative * (off - before) / step
        element += step * (min(max(asked, 0.0), 5.0) - element) / 0.3
        heat += step * (element - heat) / mass
        before, missed = off, missed + abs(off) * step
    return float(np.log10(missed))


def objective(trial: optuna.Trial) -> float:
    """One run with the heavy oven."""
    setting = {name: trial.suggest_float(name, one.low, one.high, log=True) for name, one in SPACE.items()}
    return error(**setting, mass=2.0)


def records() -> pd.DataFrame:
    """Forty runs with the light oven, at random settings."""
    logs = np.random.default_rng(0).uniform([-1, -2, -2], [2, 1, 1], (40, 3))
    table = pd.DataFrame(10**logs, columns=list(SPACE))
    table["error"] = [error(**run) for run in table.to_dict("records")]
    return table


def quiet() -> None:
    """No word about each trial, nor that DaskStorage is experimental."""
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def main() -> None:
    """A cluster on this machine; with one that is there already, `Client("tcp://…")` is all that changes."""
    quiet()
    old = records()
    sampler = TunedPriorSampler(old, target="error", search_space=SPACE, seed=0)
    with (
        LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None, silence_logs="ERROR") as cluster,
        Client(cluster) as client,
    ):
        client.run(quiet)
        study = optuna.create_study(storage=DaskStorage(client=client), sampler=sampler)
        client.gather([client.submit(study.optimize, objective, n_trials=3, pure=False) for _ in range(4)])

        settings = {tuple(trial.params.values()) for trial in study.trials}
        best_before = old[list(SPACE)].loc[old["error"].idxmin()]
        print(f"{len(study.trials)} trials, {len(settings)} different settings")
        print(f"best error found:                     {study.best_value:.3f}")
        print(f"error at the light oven's best:       {error(**best_before, mass=2.0):.3f}")
        print(sampler.optimizer(study).trust)


if __name__ == "__main__":
    main()
