"""Four processes on one study, started with joblib; only the first of them has the old file.

A product is made in a stirred reactor: it forms faster when it is hot, and then decomposes faster too. There is a CSV
file about another reactor. Each worker loads the study by its name. What the first one learns from the file is kept
with the study, so that the others need no file: in practice they are on other machines.

Run it with: python examples/joblib_workers.py
"""

from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import optuna
import pandas as pd
from joblib import Parallel, delayed
from optuna.distributions import FloatDistribution

from tunedprior.integrations.optuna import TunedPriorSampler

STUDY = "new reactor"
SPACE = {
    "kelvin": FloatDistribution(300.0, 400.0),
    "minutes": FloatDistribution(1.0, 200.0, log=True),
    "dose": FloatDistribution(0.1, 10.0, log=True),
}


def product(kelvin: float, minutes: float, dose: float, offset: float = 0.0) -> float:
    """The yield of A → B → C in per cent, with rates after Arrhenius, where the thermometer is off."""
    hot = 1 / 350 - 1 / (kelvin - offset)
    forms, decomposes = 0.05 * dose / (1 + dose) * exp(6000 * hot), 0.01 * (1 + 0.3 * dose) * exp(11000 * hot)
    return 100 * forms * (exp(-decomposes * minutes) - exp(-forms * minutes)) / (forms - decomposes)


def objective(trial: optuna.Trial) -> float:
    """One run of the new reactor."""
    setting = {name: trial.suggest_float(name, one.low, one.high, log=one.log) for name, one in SPACE.items()}
    return product(**setting, offset=5.0)


def old_records() -> pd.DataFrame:
    """Sixty runs of the old reactor, at random settings."""
    kelvin, minutes, dose = np.random.default_rng(0).uniform([300, 0, -1], [400, np.log10(200), 1], (60, 3)).T
    table = pd.DataFrame({"kelvin": kelvin, "minutes": 10**minutes, "dose": 10**dose})
    table["yield"] = [product(**run) for run in table.to_dict("records")]
    return table


def work(storage: str, seed: int, n_trials: int) -> None:
    """What each worker does: it knows where the study is, and nothing of old data."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = TunedPriorSampler(target="yield", search_space=SPACE, seed=seed)
    optuna.load_study(study_name=STUDY, storage=storage, sampler=sampler).optimize(objective, n_trials)


def main() -> None:
    """The first trial here, with the file; then four processes without it."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with TemporaryDirectory() as folder:
        storage, file = f"sqlite:///{Path(folder) / 'study.db'}", Path(folder) / "old_reactor.csv"
        old_records().to_csv(file, index=False)
        first = TunedPriorSampler(file, target="yield", search_space=SPACE, seed=0)
        study = optuna.create_study(study_name=STUDY, storage=storage, direction="maximize", sampler=first)
        study.optimize(objective, n_trials=1)
        file.unlink()  # the others do not have it

        Parallel(n_jobs=4)(delayed(work)(storage, seed, n_trials=3) for seed in range(4))

        settings = {tuple(trial.params.values()) for trial in study.trials}
        print(f"{len(study.trials)} trials, {len(settings)} different settings")
        print(f"best yield: {study.best_value:.1f}")
        print(study.sampler.optimizer(study).trust)


if __name__ == "__main__":
    main()
