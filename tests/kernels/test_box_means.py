"""The sample of the box that means over it are taken with."""

import pytest
import torch

from support.cases import number
from tunedprior.kernels import Linear, SquaredExponential
from tunedprior.kernels.anchors import compute_mean_variance, draw_box_sample


@pytest.mark.parametrize("reach", [1.0, 0.5])
def test_the_sample_fills_the_box(reach: float) -> None:
    points = draw_box_sample(3, reach) if reach != 1 else draw_box_sample(3)
    assert torch.equal(points, draw_box_sample(3, reach))
    assert points.abs().max() <= reach
    assert (points.amin(0) < -0.95 * reach).all()
    assert (points.amax(0) > 0.95 * reach).all()
    assert points.mean(0).abs().max() < 0.01 * reach


def test_mean_variances_are_those_of_the_integrals() -> None:
    """∫ 1 = 1, and ∫ x·x over [-r, r]³ = r² in units where each input contributes r²/3."""
    assert compute_mean_variance(SquaredExponential(number(0.4)), 3) == pytest.approx(1.0)
    assert compute_mean_variance(Linear(), 3) == pytest.approx(1.0, rel=0.01)
    assert compute_mean_variance(Linear(), 3, 0.5) == pytest.approx(0.25, rel=0.01)
