"""Warnings point at the line of the user's code, however deep inside the reason was found."""

import inspect
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import torch

from support.builders import PLANT, SPACE, old_data, plant_data
from tunedprior import Optimizer, optimize, pretrain
from tunedprior.errors import AuxiliaryDataWarning, JitterWarning, OldDataWarning, VanishingKernelWarning
from tunedprior.kernels import SquaredExponential
from tunedprior.machines import SupportVectorRegressor
from tunedprior.numerics.linalg import cholesky


def nothing_learnt() -> object:
    points = np.array([[0.0], [0.5]])
    return SupportVectorRegressor(1.0, epsilon=5.0).fit(SquaredExponential(0.5), points, [0.0, 1.0])


CALLS: dict[str, tuple[Callable[[], object], type[Warning]]] = {
    "a column too many": (lambda: pretrain(plant_data().assign(operator=1), PLANT), OldDataWarning),
    "old data that never varies": (lambda: Optimizer(SPACE, old_data(rows=8).assign(y=1.0)), OldDataWarning),
    "the same within optimize": (
        lambda: optimize(lambda _: 1.0, SPACE, 1, old_data(rows=8).assign(y=1.0), progress=False),
        OldDataWarning,
    ),
    "a machine that learnt nothing": (nothing_learnt, VanishingKernelWarning),
    "jitter": (lambda: cholesky(torch.ones(3, 3, dtype=torch.float64)), JitterWarning),
    "an old name": (lambda: Optimizer(SPACE, auxiliary=old_data(rows=8)), FutureWarning),
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


def test_the_old_name_of_a_warning_still_filters_it() -> None:
    assert AuxiliaryDataWarning is OldDataWarning
    with pytest.warns(AuxiliaryDataWarning, match="ignored: operator"):
        pretrain(plant_data().assign(operator=1), PLANT)


def test_the_old_name_of_old_data_means_the_same() -> None:
    old: pd.DataFrame = old_data(rows=8)
    with pytest.warns(FutureWarning, match="auxiliary is now called old_data"):
        opt = Optimizer(SPACE, auxiliary=old, seed=3)
    assert [one.name for one in opt.surrogate.sources] == ["old data"]
    assert opt.surrogate.sources[0].units == Optimizer(SPACE, old, seed=3).surrogate.sources[0].units
