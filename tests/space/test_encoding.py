"""The box around space and old data: scaling there and back, and what does not fit."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution

from support.errors import raises
from support.spaces import EVERYTHING, allowed
from tunedprior.errors import InputError
from tunedprior.space.encoding import Box
from tunedprior.space.parameters import Categorical
from tunedprior.space.search_space import Space


@settings(max_examples=60, deadline=None)
@given(codes=st.lists(st.floats(-1.5, 1.5), min_size=8, max_size=8))
def test_codes_always_decode_to_allowed_values(codes: list[float]) -> None:
    space = Space.parse(EVERYTHING)
    setting = Box.enclose(space).decode(torch.tensor([codes]).double(), space)[0]
    assert all(allowed(name, value) for name, value in setting.items())


def test_encoding_and_decoding_are_inverse() -> None:
    space = Space.parse(EVERYTHING)
    box = Box.enclose(space)
    settings_ = space.sobol(32, seed=3)
    again = box.decode(box.encode(settings_), space)
    for setting, other in zip(settings_, again, strict=True):
        for name, value in setting.items():
            assert other[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value)


def test_kernel_inputs_are_scaled_and_one_hot() -> None:
    space = Space.parse({"x": (0.0, 10.0), "rate": FloatDistribution(0.01, 1.0, log=True), "gas": ["a", "b", "c"]})
    box = Box.enclose(space)
    inputs = box.to_kernel_inputs(box.encode([{"x": 2.5, "rate": 0.1, "gas": "b"}]))
    assert inputs[0].tolist() == pytest.approx([-0.5, 0.0, -1, 1, -1])


def test_the_box_covers_old_data_too() -> None:
    space = Space.parse({"speed": [98, 63, 48], "gas": ["air", "argon"]})
    old = pd.DataFrame({"speed": [86.42, 43.21], "gas": ["air", "helium"]})
    box = Box.enclose(space, old)
    assert box.axes[0].low == 43.21
    assert box.axes[1].choices == ("air", "argon", "helium")
    assert box.encode(old).tolist()[1] == [-1.0, 2.0]
    assert box.num_inputs == 4
    assert box.covers(space)
    assert not box.covers(Space.parse({"speed": (0.0, 98.0), "gas": ["air", "argon"]}))


def test_fixed_parameters_take_no_input() -> None:
    space = Space.parse({"x": (0.0, 1.0), "fixed": (3.0, 3.0), "only": ["this"]})
    box = Box.enclose(space)
    assert box.num_inputs == 1
    assert box.decode(torch.zeros(1, 3).double(), space) == [{"x": 0.5, "fixed": 3.0, "only": "this"}]


@pytest.mark.parametrize(
    ("setting", "facts"),
    [
        ({"x": 11.0, "rate": 0.1, "gas": "a"}, ("'x'", "0 and 10", "1 of 1")),
        ({"x": 1.0, "rate": -0.1, "gas": "a"}, ("'rate'", "logarithmic")),
        ({"x": 1.0, "rate": 0.1, "gas": "z"}, ("'gas'", "a, b", "'z'")),
        ({"x": 1.0, "rate": 0.1}, ("gas is missing",)),
        ({"x": np.nan, "rate": 0.1, "gas": "a"}, ("'x'", "number", "rows 0")),
    ],
)
def test_settings_that_do_not_fit_are_named(setting: dict, facts: tuple[str, ...]) -> None:
    space = Space.parse({"x": (0.0, 10.0), "rate": FloatDistribution(0.01, 1.0, log=True), "gas": ["a", "b"]})
    with raises(InputError, *facts):
        Box.enclose(space).encode([setting])


def test_categories_match_what_a_file_made_of_them() -> None:
    space = Space.parse({"padding": CategoricalDistribution((True, False)), "n": CategoricalDistribution((1, 2))})
    assert isinstance(space.parameters[0], Categorical)
    assert Box.enclose(space).encode([{"padding": "False", "n": "2"}]).tolist() == [[1.0, 1.0]]


def test_what_is_a_little_outside_counts_as_the_edge() -> None:
    box = Box.enclose(Space.parse({"x": (0.0, 10.0)}))
    codes = box.encode([{"x": 10.4}, {"x": -0.4}, {"x": 9.75}], slack=0.1)
    assert codes.flatten().tolist() == [1.0, -1.0, 0.95]
    assert box.encode([{"x": 10 + 1e-9}]).item() == 1.0
    with pytest.raises(InputError, match="must lie between 0 and 10"):
        box.encode([{"x": 10.6}], slack=0.1)


def test_a_box_covers_the_spaces_that_fit_into_it() -> None:
    space = {"x": (1.0, 9.0), "gas": ["air", "argon"]}
    box = Box.enclose(Space.parse(space))
    covered = {
        "itself": space,
        "narrower": space | {"x": (1.0, 5.0)},
        "fewer categories": space | {"gas": ["air"]},
        "other order": space | {"gas": ["argon", "air"]},
        "another category": space | {"gas": ["air", "neon"]},
        "lower": space | {"x": (0.9, 5.0)},
        "higher": space | {"x": (1.0, 9.1)},
        "another scale": space | {"x": FloatDistribution(1.0, 9.0, log=True)},
        "a number for a category": space | {"gas": (0.0, 1.0)},
        "another name": {"z": space["x"], "gas": space["gas"]},
    }
    found = {name: box.covers(Space.parse(one)) for name, one in covered.items()}
    assert found == dict.fromkeys(covered, False) | dict.fromkeys(["itself", "narrower", "fewer categories"], True)


@pytest.mark.parametrize(("value", "fits"), [(1e6, True), (1e6 + 5e-4, True), (1e6 + 5e-3, False)])
def test_a_fixed_number_has_one_code_up_to_rounding(value: float, fits: bool) -> None:
    box = Box.enclose(Space.parse({"x": (1e6, 1e6), "z": (0.0, 1.0)}))
    if fits:
        assert box.encode([{"x": value, "z": 0.5}]).tolist() == [[0.0, 0.0]]
    else:
        with pytest.raises(InputError, match="'x' must lie between"):
            box.encode([{"x": value, "z": 0.5}])
