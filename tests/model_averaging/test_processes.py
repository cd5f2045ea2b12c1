"""Processes that share their kernels: some of them, their variances, and their noise."""

import torch

from support.builders import vector
from support.cases import table
from support.mixtures import NOISE, four_processes


def test_taking_some_processes_keeps_what_they_say() -> None:
    few = four_processes().take(torch.tensor([3, 0]))
    assert len(few) == 2
    assert len(few.kernels) == 2  # one Matérn kernel, and the one belief that is in use
    x, z = table(3, 2, seed=3), table(4, 2, seed=4)
    torch.testing.assert_close(few.compute_covariance(x, z), four_processes().compute_covariance(x, z)[[3, 0]])
    torch.testing.assert_close(few.compute_variance(x), four_processes().compute_variance(x)[[3, 0]])
    assert few.noise.tolist() == [NOISE[3], NOISE[0]]


def test_variances_are_the_diagonals_of_covariances() -> None:
    x = table(2, 6, 2, seed=3)
    covariance = four_processes().compute_covariance(x, x)
    assert covariance.shape == (2, 4, 6, 6)
    torch.testing.assert_close(covariance.diagonal(dim1=-2, dim2=-1), four_processes().compute_variance(x))
    noisy = four_processes().add_noise_(covariance.clone())
    expected = vector(NOISE)[:, None].expand(2, 4, 6)
    torch.testing.assert_close((noisy - covariance).diagonal(dim1=-2, dim2=-1), expected, rtol=0, atol=1e-12)
    assert (noisy - covariance).count_nonzero() == 2 * 4 * 6
