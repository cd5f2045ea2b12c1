"""Choosing length-scales and λ by leave-one-out error."""

import numpy as np
import pytest
import torch

from cases import number, table
from tunedprior.errors import InputError
from tunedprior.kernels import Exponential, Linear, Polynomial, SquaredExponential
from tunedprior.machines import (
    LeastSquares,
    SupportVectorClassifier,
    SupportVectorRegressor,
    leave_one_out_error,
    select,
)


def wave(rows: int = 40, inputs: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    """Quick in the first input, slow in the second, deaf to the rest; a little noise."""
    X = table(rows, inputs, seed=3)
    noise = torch.randn(rows, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return X, torch.sin(5 * X[:, 0]) + 0.5 * X[:, 1] + 0.02 * noise


def test_least_squares_beats_every_point_of_a_fine_grid() -> None:
    X, y = wave()
    chosen = select(LeastSquares(1.0), SquaredExponential(1.0), X, y)
    grid = [
        leave_one_out_error(LeastSquares(lam), SquaredExponential(number(ell)), X, y)
        for ell in np.geomspace(0.05, 10, 25)
        for lam in np.geomspace(1e-6, 10, 15)
    ]
    assert chosen.error <= min(grid) * (1 + 1e-9)
    assert chosen.error == pytest.approx(leave_one_out_error(chosen.machine, chosen.kernel, X, y), rel=1e-9)


def test_ard_finds_the_quick_input_and_the_deaf_one() -> None:
    X, y = wave(60, 3)
    shared = select(LeastSquares(1.0), SquaredExponential(1.0), X, y)
    chosen = select(LeastSquares(1.0), SquaredExponential(1.0), X, y, ard=True)
    lengthscales = chosen.kernel.lengthscale.flatten().tolist()
    assert len(lengthscales) == 3
    assert lengthscales[0] < lengthscales[1]
    assert lengthscales[2] > 3 * lengthscales[0]
    assert chosen.error < shared.error


@pytest.mark.parametrize("ard", [False, True])
def test_same_seed_same_choice_and_no_global_state(ard: bool) -> None:
    X, y = wave(25)
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002  # looks only
    first = select(LeastSquares(1.0), SquaredExponential(1.0), X, y, ard=ard, seed=7)
    torch.manual_seed(123)
    second = select(LeastSquares(1.0), SquaredExponential(1.0), X, y, ard=ard, seed=7)
    assert first.machine == second.machine
    assert torch.equal(first.kernel.lengthscale, second.kernel.lengthscale)
    torch.set_rng_state(torch_state)
    assert (np.random.get_state()[1] == numpy_state).all()  # noqa: NPY002


def test_the_templates_are_left_alone() -> None:
    X, y = wave(20)
    kernel, machine = SquaredExponential(number(3.3)), LeastSquares(0.77)
    select(machine, kernel, X, y)
    assert kernel.lengthscale.item() == pytest.approx(3.3)
    assert machine.lam == 0.77


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Exponential(1.0)], ids=["linear", "polynomial", "exp"])
def test_other_kernels_tune_what_they_have(kernel) -> None:
    X, y = wave(25)
    chosen = select(LeastSquares(1.0), kernel, X, y)
    assert type(chosen.kernel) is type(kernel)
    assert chosen.error <= leave_one_out_error(LeastSquares(1e-2), kernel.double(), X, y) * (1 + 1e-9)


@pytest.mark.parametrize(
    "machine",
    [SupportVectorClassifier(1.0), SupportVectorClassifier(1.0, bias=True), SupportVectorRegressor(1.0, 0.05)],
    ids=["classifier", "classifier, bias", "regressor"],
)
def test_support_vector_machines_beat_their_coarse_grid(machine) -> None:
    X, y = wave(16)
    if isinstance(machine, SupportVectorClassifier):
        y = torch.where(y > 0, 1.0, -1.0).double()
    chosen = select(machine, SquaredExponential(1.0), X, y)
    assert chosen.error == pytest.approx(leave_one_out_error(chosen.machine, chosen.kernel, X, y), rel=1e-6)
    assert type(chosen.machine) is type(machine)
    for ell in (0.3, 0.7, 1.7):
        assert chosen.error <= leave_one_out_error(type(machine)(0.1), SquaredExponential(number(ell)), X, y) + 0.07


def test_support_vector_ard_takes_its_shape_from_least_squares() -> None:
    X, y = wave(20, 2)
    labels = torch.where(y > 0, 1.0, -1.0).double()
    chosen = select(SupportVectorClassifier(1.0), SquaredExponential(1.0), X, labels, ard=True)
    quick, slow = chosen.kernel.lengthscale.flatten().tolist()
    assert quick < slow


def test_ard_needs_lengthscales() -> None:
    with pytest.raises(InputError, match="one length-scale per input, SquaredExponential; got Linear"):
        select(LeastSquares(1.0), Linear(), *wave(10), ard=True)
