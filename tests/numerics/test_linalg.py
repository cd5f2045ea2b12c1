"""One factorisation: exact when it can be, loud when it needs jitter, a named error when nothing helps."""

import pytest
import torch

from support.cases import table
from tunedprior.errors import FactorisationError, JitterWarning
from tunedprior.numerics.linalg import (
    append_qr_rows,
    cholesky,
    compute_cholesky_corner,
    compute_symmetric_root,
    solve_posdef,
    try_cholesky,
)


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


def test_none_where_a_factor_would_need_jitter() -> None:
    assert try_cholesky(torch.ones(2, 2, dtype=torch.float64)) is None
    torch.testing.assert_close(try_cholesky(4 * torch.eye(3).double()), 2 * torch.eye(3).double())


@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
def test_a_factor_is_extended_by_its_corner(batch: tuple[int, ...]) -> None:
    root = table(*batch, 7, 7)
    matrix = root @ root.mT + torch.eye(7).double()
    whole, first = cholesky(matrix), cholesky(matrix[..., :4, :4])
    explained = torch.linalg.solve_triangular(first, matrix[..., :4, 4:], upper=False)
    torch.testing.assert_close(explained.mT, whole[..., 4:, :4], rtol=1e-10, atol=1e-12)
    corner = compute_cholesky_corner(explained, matrix[..., 4:, 4:])
    torch.testing.assert_close(corner, whole[..., 4:, 4:], rtol=1e-10, atol=1e-12)


def test_a_corner_that_rounding_left_nothing_of_is_jitter_or_none() -> None:
    explained, corner = torch.ones(1, 2).double(), torch.ones(2, 2).double()  # the Schur complement would be 0
    # Rounding has made it indefinite, by more than processors differ in rounding themselves.
    corner += 1e-9 * torch.tensor([[1.0, 1.001], [1.001, 1.0]], dtype=torch.float64)
    assert compute_cholesky_corner(explained, corner, may_fail=True) is None
    with pytest.warns(JitterWarning):
        assert compute_cholesky_corner(explained, corner) is not None


def test_a_symmetric_root_squares_to_its_matrix_with_no_column_too_many() -> None:
    half = table(6, 3)
    root = compute_symmetric_root(half @ half.mT)
    assert root.shape == (6, 3)
    torch.testing.assert_close(root @ root.mT, half @ half.mT, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_root_has_as_many_columns_as_the_rank_in_any_units(scale: float) -> None:
    half = table(5, 2)
    matrix = scale * half @ half.mT
    root = compute_symmetric_root(matrix)
    assert root.shape == (5, 2)
    torch.testing.assert_close(root @ root.mT, matrix, rtol=1e-6, atol=1e-9 * scale)


def test_rows_join_a_triangle() -> None:
    random = torch.Generator().manual_seed(0)
    first, more = (torch.randn(n, 4, dtype=torch.float64, generator=random) for n in (6, 3))
    triangle = append_qr_rows(torch.zeros(4, 4, dtype=torch.float64), first)
    joined = append_qr_rows(triangle, more)
    torch.testing.assert_close(joined.mT @ joined, first.mT @ first + more.mT @ more)
    assert torch.equal(joined, joined.triu())
    assert (joined.diagonal() >= 0).all()
