"""What one suggestion costs where there are two responses: ours beside Optuna's GPSampler, in the same run."""

from collections.abc import Callable

import numpy as np
import torch
from botorch.test_functions.multi_objective import DTLZ2

from benchmarks.methods.choosers.gp_sampler import GaussianSampler
from benchmarks.methods.choosers.ours import Ours
from benchmarks.methods.choosers.turns import Chooser
from benchmarks.problems.variants import old_variant
from benchmarks.studies.goals.jobs import ALONE, OURS, SAMPLER
from benchmarks.studies.speed.timing import Row, seconds
from tunedprior import Optimizer
from tunedprior.space.search_space import Space

_INPUTS, _RESULTS, _SEEDS = 5, 50, range(300, 305)
_OBJECTIVES = {"f0": "minimize", "f1": "minimize"}


def two_responses(smoke: bool) -> list[Row]:
    """A row for each seed: the seconds of every side, which take turns, and the ratios to GPSampler's."""
    seeds, results = (_SEEDS[:1], 8) if smoke else (_SEEDS, _RESULTS)
    rows = []
    for seed in seeds:
        times = {name: seconds(step) for name, step in _sides(seed, results).items()}
        rows.append({"seed": seed, "inputs": _INPUTS, "results": results} | times)
    return rows


def _sides(seed: int, results: int) -> dict[str, Callable[[], object]]:
    function = DTLZ2(dim=_INPUTS, num_objectives=2)
    space = {f"x{number}": (0.0, 1.0) for number in range(_INPUTS)}

    def formula(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return function(torch.tensor(x, dtype=torch.float64)).numpy()

    def respond(setting: dict[str, float]) -> dict[str, float]:
        return dict(zip(_OBJECTIVES, map(float, formula(np.array([list(setting.values())]))[0]), strict=True))

    old = old_variant(space, formula, list(_OBJECTIVES), seed)
    choosers: dict[str, Chooser] = {
        OURS: Ours(Optimizer(space, old, objectives=_OBJECTIVES, seed=seed)),
        ALONE: Ours(Optimizer(space, objectives=_OBJECTIVES, seed=seed)),
        SAMPLER: GaussianSampler(space, _OBJECTIVES, (), seed),
    }
    settings = Space.parse(space).sobol(results - 1, seed)

    def in_the_midst(chooser: Chooser) -> Callable[[], object]:
        """What is timed learns the last result and chooses; all was done once before, to warm up."""
        for setting in settings[:-1]:
            chooser.learn(setting, respond(setting))
        chosen = chooser.choose()
        chooser.learn(chosen, respond(chosen))

        def step() -> object:
            chooser.learn(settings[-1], respond(settings[-1]))
            return chooser.choose()

        return step

    return {name: in_the_midst(chooser) for name, chooser in choosers.items()}
