"""Odd search spaces: settings are allowed, and become codes and settings again."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nets.strategies import assert_allowed, sized, spaces
from tunedprior.acquisition.optimisation import EncodedSpace
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space

# A list of two levels is taken for what it is, and warned of.
pytestmark = pytest.mark.filterwarnings("ignore::tunedprior.errors.SpaceWarning")


@sized(60)
@given(space=spaces(), seed=st.integers(0, 100), data=st.data())
def test_settings_of_odd_spaces_are_allowed_there_and_back(space: dict, seed: int, data: st.DataObject) -> None:
    parsed = Space.parse(space)
    box = Box.enclose(parsed)
    settings = parsed.sobol(5, seed)
    assert settings
    assert all(map(parsed.allows, settings))
    X = box.encode(settings)
    assert torch.isfinite(X).all()
    inputs = box.to_kernel_inputs(X)
    assert inputs.shape == (len(settings), box.num_inputs)
    assert (inputs.abs() <= 1).all()
    for setting in settings:
        assert_allowed(space, setting)
    again = box.decode(X, parsed)
    for name, parameter in zip(space, parsed.parameters, strict=True):
        for before, after in zip(settings, again, strict=True):
            if parameter.count is None:  # up to the rounding of codes, on the parameter's own scale
                span = parameter.scale(parameter.high) - parameter.scale(parameter.low)
                rounding = 1e-9 * span + 4 * np.spacing(max(abs(parameter.scale(parameter.low)), 1e-300))
                assert abs(parameter.scale(before[name]) - parameter.scale(after[name])) <= rounding
            else:
                assert before[name] == after[name]
    anywhere = data.draw(st.lists(st.floats(-1.0, 1.0), min_size=len(space), max_size=len(space)))
    assert_allowed(space, box.decode(torch.tensor([anywhere]).double(), parsed)[0])


@sized(60)
@given(space=spaces())
def test_the_lattice_of_an_odd_space_holds_its_settings(space: dict) -> None:
    parsed = Space.parse(space)
    box = Box.enclose(parsed)
    encoded_space = EncodedSpace.from_space(parsed, box)
    low, high = encoded_space.bounds
    X = box.encode(parsed.sobol(4, 0))
    assert ((low - 1e-9 <= X) & (high + 1e-9 >= X)).all()
    every = encoded_space.list_settings()
    if every is not None:
        assert len(every) == parsed.size
        assert len(every.unique(dim=0)) == len(every)
