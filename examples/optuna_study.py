"""Last year's study as old data for this year's, in the same database.

A product is made in a stirred reactor: it forms faster when it is hot, and then decomposes faster too. Last year's
reactor was studied with Optuna at random settings. This year's has another thermometer, mixes less well and gives less.
Its best settings are elsewhere, but what matters is the same, and that is what is carried over.

Run it with: python examples/optuna_study.py
"""

from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution

from tunedprior.integrations.optuna import TunedPriorSampler

SPACE = {
    "kelvin": FloatDistribution(300.0, 400.0),
    "minutes": FloatDistribution(1.0, 200.0, log=True),
    "dose": FloatDistribution(0.1, 10.0, log=True),
    "solvent": CategoricalDistribution(["water", "ethanol"]),
}


def run(trial: optuna.Trial, offset: float = 0.0, mixing: float = 1.0) -> float:
    """The yield of A → B → C, with rates after Arrhenius, in a reactor whose thermometer is off."""
    kelvin = trial.suggest_float("kelvin", 300.0, 400.0) - offset
    minutes = trial.suggest_float("minutes", 1.0, 200.0, log=True)
    dose = mixing * trial.suggest_float("dose", 0.1, 10.0, log=True)
    solvent = trial.suggest_categorical("solvent", ["water", "ethanol"])
    forms = 0.05 * dose / (1 + dose) * exp(6000 * (1 / 350 - 1 / kelvin))
    decomposes = 0.01 * (1 + 0.3 * dose) * exp(11000 * (1 / 350 - 1 / kelvin)) * (2.0 if solvent == "water" else 1.0)
    return 100 * mixing * forms * (exp(-decomposes * minutes) - exp(-forms * minutes)) / (forms - decomposes)


def this_years(trial: optuna.Trial) -> float:
    """Its yield: this is the experiment that costs a day."""
    return run(trial, offset=12.0, mixing=0.8)


optuna.logging.set_verbosity(optuna.logging.WARNING)
with TemporaryDirectory() as folder:
    storage = f"sqlite:///{Path(folder) / 'studies.db'}"

    # Last year: any study, with any sampler.
    sampler = optuna.samplers.RandomSampler(seed=0)
    before = optuna.create_study(study_name="last year", storage=storage, direction="maximize", sampler=sampler)
    before.optimize(run, n_trials=40)

    # This year: the old study's name is enough. With search_space it helps from the first trial on.
    sampler = TunedPriorSampler("last year", search_space=SPACE, seed=0)
    study = optuna.create_study(study_name="this year", storage=storage, direction="maximize", sampler=sampler)
    study.optimize(this_years, n_trials=10)

    plain = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    plain.optimize(this_years, n_trials=10)

    print(f"best yield of ten runs, with old data: {study.best_value:.1f}")
    print(f"best yield of ten runs, without:       {plain.best_value:.1f}")
    print(study.best_params)
    print(study.sampler.optimizer(study).trust)
