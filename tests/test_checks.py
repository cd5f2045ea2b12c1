"""Warnings point at the line of the user's code, however deep inside the reason was found."""

import inspect
from collections.abc import Callable

import numpy as np
import pytest
import torch

from support.builders import PLANT, SPACE, old_data, plant_data
from tunedprior import Optimizer, optimize, pretrain
from tunedprior.errors import JitterWarning, OldDataWarning, VanishingKernelWarning
from tunedprior.kernels import SquaredExponential
from tunedprior.machines import SupportVectorRegressor
from tunedprior.numerics.linalg import cholesky


def nothing_learnt() -> object:
    points = np.array([[0.0], [0.5]])
    return SupportVectorRegressor(1.0, epsilon=5.0).fit(SquaredExponential(0.5), points, [0.0, 1.0])


CALLS: dict[str, tuple[Callable[[], object], type[Warning]]] = {
    "a column too many": (lambda: pretrain(plant_data().assign(operator=1), PLANT), OldDataWarning),
    "old data that never varies": (
        lambda: Optimizer(SPACE, old_data(rows=8).assign(y=1.0), direction="maximize", seed=0),
        OldDataWarning,
    ),
    "the same within optimize": (
        lambda: optimize(
            lambda _: 1.0, SPACE, 1, old_data(rows=8).assign(y=1.0), direction="maximize", progress=False, seed=0
        ),
        OldDataWarning,
    ),
    "a machine that learnt nothing": (nothing_learnt, VanishingKernelWarning),
    "jitter": (lambda: cholesky(torch.ones(3, 3, dtype=torch.float64)), JitterWarning),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_names_the_line_that_called_us(name: str) -> None:
    call, category = CALLS[name]
    with pytest.warns(category) as caught:
        call()
    lines, first = inspect.getsourcelines(call)
    for one in caught:
        assert one.filename == __file__
        assert first <= one.lineno < first + len(lines)
