"""Choosing length-scales and λ by leave-one-out error."""

import itertools
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import torch
from gpytorch.constraints import Interval
from gpytorch.kernels import RBFKernel
from gpytorch.priors import GammaPrior

from support.builders import normal
from support.cases import number, table
from tunedprior.errors import ConvergenceError, InputError
from tunedprior.kernels import Exponential, Linear, LogRatio, Polynomial, Sinh, SquaredExponential
from tunedprior.machines import (
    LeastSquares,
    SupportVectorClassifier,
    SupportVectorRegressor,
    compute_loo_error,
    select,
    selection,
)
from tunedprior.machines.selection import PARAMETER_BOUNDS, Selection


def wave(rows: int = 40, inputs: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    """Quick in the first input, slow in the second, deaf to the rest; a little noise."""
    X = table(rows, inputs, seed=3)
    return X, torch.sin(5 * X[:, 0]) + 0.5 * X[:, 1] + 0.02 * normal(rows, seed=1)


def test_least_squares_beats_every_point_of_a_fine_grid() -> None:
    X, y = wave()
    chosen = select(LeastSquares(1.0), SquaredExponential(1.0), X, y)
    grid = [
        compute_loo_error(LeastSquares(lam), SquaredExponential(number(ell)), X, y)
        for ell in np.geomspace(0.05, 10, 25)
        for lam in np.geomspace(1e-6, 10, 15)
    ]
    assert chosen.error <= min(grid) * (1 + 1e-9)
    assert chosen.error == pytest.approx(compute_loo_error(chosen.machine, chosen.kernel, X, y), rel=1e-9)


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
    second = select(LeastSquares(1.0), SquaredExponential(1.0), X, y, ard=ard, seed=7)
    assert first.machine == second.machine
    assert torch.equal(first.kernel.lengthscale, second.kernel.lengthscale)
    assert torch.equal(torch.get_rng_state(), torch_state)
    assert (np.random.get_state()[1] == numpy_state).all()  # noqa: NPY002


def test_the_seed_moves_the_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []
    original = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed: seeds.append(seed) or original(seed))
    select(LeastSquares(1.0), SquaredExponential(1.0), *wave(10), ard=True, seed=11)
    assert seeds == [11]


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
    assert chosen.error <= compute_loo_error(LeastSquares(1e-2), kernel.double(), X, y) * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "machine",
    [SupportVectorClassifier(1.0), SupportVectorClassifier(1.0, bias=True), SupportVectorRegressor(1.0, 0.05)],
    ids=["classifier", "classifier, bias", "regressor"],
)
def test_support_vector_machines_beat_their_coarse_grid(machine) -> None:
    X, y = wave(8)
    if isinstance(machine, SupportVectorClassifier):
        y = torch.where(y > 0, 1.0, -1.0).double()
    chosen = select(machine, SquaredExponential(1.0), X, y)
    assert chosen.error == pytest.approx(compute_loo_error(chosen.machine, chosen.kernel, X, y), rel=1e-6)
    coarse = {
        (ell, lam): compute_loo_error(replace(machine, lam=lam), SquaredExponential(number(ell)), X, y)
        for ell in np.geomspace(0.05, 10.0, 7)
        for lam in np.geomspace(1e-3, 10.0, 5)
    }
    assert chosen.error <= min(coarse.values()) + 1e-9
    if isinstance(machine, SupportVectorRegressor):  # a classifier's staircase may have nothing lower between the grid
        assert chosen.error < min(coarse.values())
    assert chosen.machine == replace(machine, lam=chosen.machine.lam)


@pytest.mark.slow
@pytest.mark.parametrize("machine", [LeastSquares(1.0), SupportVectorClassifier(1.0, bias=True)], ids=["LS", "SVC"])
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Sinh(1.0), Exponential(1.0), LogRatio()])
def test_every_kernel_can_be_selected(machine, kernel) -> None:
    X, y = wave(10)
    labels = torch.where(y > 0, 1.0, -1.0).double()
    chosen = select(machine, kernel, X, labels)
    assert chosen.error == pytest.approx(compute_loo_error(chosen.machine, chosen.kernel, X, labels), rel=1e-6)
    # The ends and the middle of λ's interval, with the parameter as it came, are no better.
    low, high = (1e-6, 10.0) if isinstance(machine, LeastSquares) else (1e-3, 10.0)
    for lam in (low, (low * high) ** 0.5, high):
        with suppress(ConvergenceError):  # libsvm, on labels that a line does not separate
            assert chosen.error <= compute_loo_error(replace(machine, lam=lam), kernel.double(), X, labels) + 1e-6


def test_an_overflowing_candidate_does_not_end_the_search() -> None:
    factorial = torch.tensor(list(itertools.product([-1.0, 1.0], repeat=8)), dtype=torch.float64)[::7]
    response = factorial[:, 0] * factorial[:, 1] + 0.1 * factorial[:, 2]
    assert select(LeastSquares(1.0), Exponential(), factorial, response).error < 0.5


def test_nothing_that_works_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARAMETER_BOUNDS, "scale", (400.0, 900.0))
    with pytest.raises(ConvergenceError, match="at any parameter tried"):
        select(LeastSquares(1.0), Exponential(), torch.eye(3).double() * 2, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("ard", [False, True])
def test_constraints_priors_and_columns_are_respected(ard: bool) -> None:
    X, y = wave(25, 4)
    kernel = SquaredExponential(
        0.6, active_dims=(0, 1), lengthscale_constraint=Interval(0.5, 0.9), lengthscale_prior=GammaPrior(3.0, 6.0)
    )
    chosen = select(LeastSquares(1.0), kernel, X, y, ard=ard).kernel
    assert chosen.lengthscale.numel() == (2 if ard else 1)
    assert chosen.lengthscale.min() >= 0.5
    assert chosen.lengthscale.max() <= 0.9
    assert isinstance(chosen.lengthscale_prior, GammaPrior)


def test_the_kernel_comes_back_in_the_callers_dtype() -> None:
    X, y = wave(15)
    chosen = select(LeastSquares(1.0), SquaredExponential(1.0), X.float(), y.float())
    assert chosen.kernel.lengthscale.dtype == torch.float32
    assert chosen.machine.fit(chosen.kernel, X.float(), y.float()).alpha.dtype == torch.float32


def test_support_vector_ard_takes_its_shape_from_least_squares() -> None:
    X, y = wave(10, 2)
    labels = torch.where(y > 0, 1.0, -1.0).double()
    chosen = select(SupportVectorClassifier(1.0), SquaredExponential(1.0), X, labels, ard=True)
    quick, slow = chosen.kernel.lengthscale.flatten().tolist()
    assert quick < slow


def test_ard_needs_lengthscales() -> None:
    with pytest.raises(InputError, match=r"needs a kernel with length-scales, .* got Linear"):
        select(LeastSquares(1.0), Linear(), *wave(10), ard=True)
    with pytest.raises(InputError, match=r"needs a kernel of tunedprior\.kernels; got RBFKernel"):
        select(LeastSquares(1.0), RBFKernel(), *wave(10))


def test_the_best_of_the_grid_stands_where_no_descent_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = wave(15)
    monkeypatch.setattr(selection, "_descend", lambda kernel, lam, *_: Selection(LeastSquares(lam), kernel, np.inf))
    chosen = select(LeastSquares(1.0), SquaredExponential(1.0), X, y)
    grid = {
        (ell, lam): compute_loo_error(LeastSquares(lam), SquaredExponential(number(ell)), X, y)
        for ell in np.geomspace(0.05, 10.0, 13)
        for lam in np.geomspace(1e-6, 10.0, 8)
    }
    assert chosen.error == pytest.approx(min(grid.values()), rel=1e-9)
    assert (chosen.kernel.lengthscale.item(), chosen.machine.lam) == pytest.approx(min(grid, key=grid.get), rel=1e-9)


def test_ard_descends_from_equal_and_from_scattered_length_scales(monkeypatch: pytest.MonkeyPatch) -> None:
    starts, original = [], selection._descend
    monkeypatch.setattr(
        selection,
        "_descend",
        lambda kernel, *rest: starts.append(kernel.lengthscale.unique()) or original(kernel, *rest),
    )
    select(LeastSquares(1.0), SquaredExponential(1.0), *wave(12), ard=True)
    assert [len(one) for one in starts] == [1, 2, 1, 2, 1, 2]
