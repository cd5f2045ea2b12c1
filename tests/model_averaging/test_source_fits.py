"""What can be made of an old data set: fits at several length-scales, and of any number of rows."""

import numpy as np
import pytest
import torch

from support import reference
from support.builders import ripple, rows_of_ripple, standardised
from support.cases import table
from tunedprior.machines import AlphaFit, FeatureFit, Fit
from tunedprior.machines.machine import get_lengthscales
from tunedprior.model_averaging import source_fits
from tunedprior.model_averaging.source_fits import fit_training_set
from tunedprior.source_data.training_set import TrainingSet


def read(x: torch.Tensor, y: torch.Tensor) -> list[Fit]:
    return fit_training_set(TrainingSet(x, y, labels=False))


def test_a_fit_is_ridge_regression_of_all_old_data() -> None:
    x = table(12, 2, seed=3)
    y = standardised(torch.sin(3 * x[:, 0]) + 0.5 * x[:, 1])
    found = read(x, y)
    assert len({tuple(get_lengthscales(fit, 2).tolist()) for fit in found}) == len(found) > 1
    for fit in found:
        kernel = reference.stationary("squared exponential", get_lengthscales(fit, 2).tolist())
        points = x.tolist()
        gram = [[kernel(p, q) for q in points] for p in points]
        expected = reference.ridge(gram, y.tolist(), fit.lam)
        np.testing.assert_allclose(fit.alpha, expected, rtol=1e-5, atol=1e-6)
        new = table(3, 2, seed=8)
        predicted = [sum(a * kernel(p, q) for a, p in zip(expected, points, strict=True)) for q in new.tolist()]
        np.testing.assert_allclose(fit(new), predicted, rtol=1e-5, atol=1e-6)
    # The first one sees that the second input matters less.
    first, second = get_lengthscales(found[0], 2).tolist()
    assert first < 0.5 * second


def test_pure_noise_is_read_as_noise() -> None:
    for seed in range(3):
        x = table(40, 2, seed=seed, low=-1.0, high=1.0)
        noise = standardised(torch.as_tensor(np.random.default_rng(seed).standard_normal(40)))
        signal = standardised(torch.sin(3 * x[:, 0]))
        assert read(x, noise)[0](x).std() < 0.5
        assert (read(x, signal)[0](x) - signal).std() < 0.1


def test_more_old_rows_than_length_scales_need_are_all_fitted() -> None:
    x = table(350, 2, seed=3)
    y = standardised(torch.sin(3 * x[:, 0]))
    found = read(x, y)
    assert all(len(fit.alpha) == 350 for fit in found)
    torch.testing.assert_close(read(x, y)[0].alpha, found[0].alpha, rtol=0, atol=0)


def test_fits_of_many_rows_are_streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_fits, "MOST_ROWS_WITH_ALPHA", 60)
    monkeypatch.setattr(source_fits, "_ROWS_FOR_LENGTHSCALES", 40)
    x, y = rows_of_ripple(90)
    assert all(isinstance(fit, AlphaFit) for fit in read(x[:60], y[:60]))
    found = read(x, y)
    assert all(isinstance(fit, FeatureFit) for fit in found)
    z = table(50, 2, seed=8, low=-0.9, high=0.9)
    assert (found[0](z) - ripple(z)).abs().mean() < 0.05


@pytest.mark.parametrize(("num_inputs", "factor"), [(2, 1.0), (8, 2.0)])
def test_fixed_length_scales_grow_with_the_diagonal_of_the_box(num_inputs: int, factor: float) -> None:
    x = table(12, num_inputs, seed=3)
    found = [get_lengthscales(one, num_inputs).tolist() for one in read(x, standardised(x[:, 0]))[1:]]
    assert found == [pytest.approx([factor * fixed] * num_inputs) for fixed in (0.3, 0.6, 1.2)]


def test_a_parameter_that_old_data_does_not_know_does_not_matter() -> None:
    x, z = table(12, 2, seed=3), table(9, 2, seed=4)
    training = TrainingSet(x, standardised(x[:, 0]), labels=False)
    for fit in fit_training_set(training, absent=[1]):
        moved = z.clone()
        moved[:, 1] = -z[:, 1]
        torch.testing.assert_close(fit(z), fit(moved), rtol=1e-4, atol=1e-5)
        assert fit(z).std() > 0.01
