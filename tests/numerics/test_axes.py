"""Parameters as groups of kernel inputs."""

import pandas as pd
import pytest
import torch

from support.builders import vector
from support.cases import table
from tunedprior.numerics.stationary import Axes
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space

SPACE = Space.parse({"gas": ["air", "argon", "helium"], "x": (0.0, 10.0), "fixed": (1.0, 1.0), "flag": ["no", "yes"]})


def test_categories_are_one_axis_with_a_scale_of_their_own() -> None:
    axes = Box.enclose(SPACE).make_kernel_axes(SPACE)
    assert axes.of_input.tolist() == [0, 0, 0, 1, 2, 2]
    assert len(axes) == 3
    box = Box.enclose(SPACE)
    settings = [
        {"gas": "air", "x": 0.0, "fixed": 1.0, "flag": "no"},
        {"gas": "helium", "x": 10.0, "fixed": 1.0, "flag": "no"},
    ]
    inputs = box.to_kernel_inputs(box.encode(settings))
    squares = axes.compute_squared_distances(inputs, inputs)[:, 0, 1].tolist()
    assert squares == pytest.approx([1.0, 4.0, 0.0])  # two choices are half as far apart as two ends


def test_units_are_the_space_s_where_old_data_reaches_beyond_it() -> None:
    old = pd.DataFrame({"gas": ["air"], "x": [30.0], "fixed": [1.0], "flag": ["no"]})
    axes = Box.enclose(SPACE, old).make_kernel_axes(SPACE)
    assert axes.unit[3].item() == pytest.approx(1 / 3)
    assert axes.clamp_units(0.5).unit[3].item() == 0.5
    lengths = axes.expand_lengthscales(vector([[1.0, 2.0, 3.0]]))
    assert lengths[0].tolist() == pytest.approx([8**0.5] * 3 + [2 / 3] + [3 * 8**0.5] * 2)


def test_positions_become_inputs_with_one_choice_each() -> None:
    axes = Box.enclose(SPACE).make_kernel_axes(SPACE)
    found = axes.to_kernel_inputs(vector([[-1.0, 0.3, 1.0], [0.0, -0.2, -0.1]]))
    assert found.tolist() == [[1.0, -1.0, -1.0, 0.3, -1.0, 1.0], [-1.0, 1.0, -1.0, -0.2, 1.0, -1.0]]


def test_numbers_alone_are_their_own_axes() -> None:
    x, z = table(3, 2, seed=1), table(4, 2, seed=2)
    squares = Axes.make_numeric(2).compute_squared_distances(x, z)
    torch.testing.assert_close(squares.sum(0), torch.cdist(x, z).square())
