"""One factorisation: exact when it can be, loud when it needs jitter, a named error when nothing helps."""

import pytest
import torch

from cases import table
from tunedprior.errors import FactorisationError, JitterWarning
from tunedprior.linalg import cholesky, solve_posdef


def test_exact_without_a_word() -> None:
    root = table(4, 4)
    matrix = root @ root.mT + torch.eye(4).double()
    factor = cholesky(matrix)
    torch.testing.assert_close(factor @ factor.mT, matrix, rtol=1e-13, atol=1e-14)
    torch.testing.assert_close(solve_posdef(matrix, matrix), torch.eye(4).double(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_jitter_is_relative_and_announced(scale: float) -> None:
    matrix = scale * torch.ones(2, 5, 5, dtype=torch.float64)  # rank one
    with pytest.warns(JitterWarning, match="Added 1e-12 of the mean diagonal"):
        factor = cholesky(matrix)
    torch.testing.assert_close(factor @ factor.mT, matrix, rtol=1e-10, atol=0)


def test_indefinite_and_infinite_are_errors() -> None:
    with pytest.raises(FactorisationError, match="smallest eigenvalue of this 2 x 2 one is -1"):
        cholesky(torch.tensor([[1.0, 2.0], [2.0, 1.0]], dtype=torch.float64))
    with pytest.raises(FactorisationError, match="1 of 4 entries are not"):
        cholesky(torch.tensor([[1.0, 0.0], [0.0, float("nan")]], dtype=torch.float64))
