"""The samplers that are compared, by name; every part of the study makes them here."""

import warnings

import optuna
from optuna.samplers import BaseSampler

from benchmarks.problems.functions import Function, function_named, styblinski_tang
from benchmarks.problems.kinds import old_data

OURS, RIVAL, RANDOM = "tunedprior", "GPSampler", "RandomSampler"
METHODS = (OURS, RIVAL, RANDOM)
OLD_ROWS = 200
_OLD_KIND, _OLD_SEED = "noisy flip", 100


def function_of(name: str) -> Function:
    """A test function, to be maximised on [-1, 1]^d: by its name, or Styblinski-Tang of so many inputs."""
    family, _, inputs = name.rpartition("-")
    return styblinski_tang(int(inputs)) if family == "Styblinski-Tang" else function_named(name)


def make_sampler(method: str, function: Function, seed: int) -> BaseSampler:
    """Ours has old data that runs backwards, with noise; Optuna's have none, as they can use none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == RANDOM:
            return optuna.samplers.RandomSampler(seed=seed)
        if method == RIVAL:
            return optuna.samplers.GPSampler(seed=seed)
        from tunedprior.integrations.optuna import TunedPriorSampler

        return TunedPriorSampler(old_data(_OLD_KIND, function, _OLD_SEED, OLD_ROWS), seed=seed)
