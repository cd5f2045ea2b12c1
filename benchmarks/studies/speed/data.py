"""What is measured on: a function for each number of inputs, records of it, optimisers in the midst of a campaign."""

import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.problems.functions import MORE_FUNCTIONS, Function, styblinski_tang
from benchmarks.problems.kinds import old_data
from benchmarks.studies.speed.timing import Options
from tunedprior import Optimizer, SearchConfig
from tunedprior.models.surrogate import Surrogate
from tunedprior.space.search_space import Setting

SEED = 100
OLD_ROWS = 200
#: One function for each number of inputs.
BY_INPUTS = {
    2: MORE_FUNCTIONS["Branin"],
    3: MORE_FUNCTIONS["Hartmann-3"],
    4: styblinski_tang(4),
    5: styblinski_tang(5),
    6: MORE_FUNCTIONS["Hartmann-6"],
}
_NOISE = 0.02

Told = list[tuple[Setting, float]]


def usual_function(options: Options) -> Function:
    """What suggestions are measured on: five inputs, or two if it has to be quick."""
    return BY_INPUTS[2 if options.smoke else 5]


def old_records(function: Function, options: Options, seed: int = SEED) -> pd.DataFrame:
    """Old data that runs backwards, with noise."""
    return old_data("noisy flip", function, seed, 20 if options.smoke else OLD_ROWS)


def observations(function: Function, count: int, seed: int) -> Told:
    """Random settings and what came of them, with some noise."""
    random = np.random.default_rng(seed)
    points = random.uniform(-1, 1, (count, function.num_inputs))
    responses = function(points) + _NOISE * random.standard_normal(count)
    return [
        (dict(zip(function.space, map(float, point), strict=True)), float(response))
        for point, response in zip(points, responses, strict=True)
    ]


def in_the_midst(
    function: Function, told: Told, old: pd.DataFrame | None = None, model: Surrogate | None = None, seed: int = 0
) -> Callable[[], Setting]:
    """An optimiser in the midst of a campaign; what it returns tells the last result and asks for the next setting."""
    optimizer = Optimizer(function.space, old, "maximize", seed=seed, search=SearchConfig(model=model))
    settings, responses = zip(*told[:-1], strict=True)
    optimizer.tell(list(settings), list(responses))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer.cancel(optimizer.ask())

    def step() -> Setting:
        optimizer.tell(*told[-1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return optimizer.ask()

    return step
