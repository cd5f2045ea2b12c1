"""The box-constrained solver: its optimality conditions, and an error where it does not meet them."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cases import number, table
from tunedprior.errors import ConvergenceError
from tunedprior.kernels import SquaredExponential
from tunedprior.machines.support_vector import solve_box_qp


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    lengthscale=st.floats(0.1, 8.0),
    log_lam=st.floats(-4.0, 1.0),
    rows=st.integers(2, 40),
)
def test_box_solver_meets_the_optimality_conditions(seed: int, lengthscale: float, log_lam: float, rows: int) -> None:
    X = table(rows, 2, seed=seed)
    y = torch.where(table(rows, seed=seed + 1) > 0, 1.0, -1.0).double()
    quadratic = (SquaredExponential(number(lengthscale))(X).to_dense() * y[:, None] * y).detach().numpy()
    upper = 10**-log_lam
    beta = solve_box_qp(quadratic, -np.ones(rows), upper)
    gradient = quadratic @ beta - 1
    assert ((beta >= 0) & (beta <= upper)).all()
    assert (gradient[beta < upper * (1 - 1e-9)] > -1e-6).all()
    assert (gradient[beta > upper * 1e-9] < 1e-6).all()


def test_box_solver_says_when_it_fails() -> None:
    with pytest.raises(ConvergenceError, match="should hold to 1e-40; the solver stopped at"):
        solve_box_qp(np.array([[1.0, 0.3], [0.3, 2.0]]), np.array([-0.7, -0.9]), 10.0, tolerance=1e-40)
