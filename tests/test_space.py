"""Search spaces and the box around them: parsing, scaling, and always landing on an allowed value."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from tunedprior.box import Box
from tunedprior.errors import InputError
from tunedprior.space import Categorical, Numeric, Space, position_among

EVERYTHING = {
    "angle": (10.0, 40.0),
    "rate": FloatDistribution(1e-4, 1.0, log=True),
    "dose": FloatDistribution(0.0, 1.0, step=0.1),
    "layers": IntDistribution(2, 20, step=3),
    "width": IntDistribution(1, 512, log=True),
    "speed": [98, 63, 48],
    "gas": CategoricalDistribution(("air", "argon", None)),
    "pump": ["lobe", "gear"],
}


def allowed(name: str, value: object) -> bool:
    """Whether a value is one of EVERYTHING's, decided without the package."""
    return {
        "angle": lambda: 10 <= value <= 40,
        "rate": lambda: 1e-4 <= value <= 1,
        "dose": lambda: value in [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
        "layers": lambda: value in [2, 5, 8, 11, 14, 17, 20] and isinstance(value, int),
        "width": lambda: value in range(1, 513) and isinstance(value, int),
        "speed": lambda: value in [48, 63, 98],
        "gas": lambda: value in ["air", "argon", None],
        "pump": lambda: value in ["lobe", "gear"],
    }[name]()


def test_every_shorthand_is_understood() -> None:
    space = Space.parse(EVERYTHING)
    assert space.names == tuple(EVERYTHING)
    assert space.size is None
    counts = [parameter.count for parameter in space.parameters]
    assert counts == [None, None, 11, 7, 512, 3, 3, 2]
    assert Space.parse({"a": [1, 2, 3], "b": ["x", "y"]}).size == 6


@settings(max_examples=60, deadline=None)
@given(codes=st.lists(st.floats(-1.5, 1.5), min_size=8, max_size=8))
def test_codes_always_decode_to_allowed_values(codes: list[float]) -> None:
    space = Space.parse(EVERYTHING)
    setting = Box.around(space).settings(torch.tensor([codes]).double(), space)[0]
    assert all(allowed(name, value) for name, value in setting.items())


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 40))
def test_sobol_settings_are_allowed_and_distinct(seed: int, count: int) -> None:
    settings_ = Space.parse(EVERYTHING).sobol(count, seed)
    assert len(settings_) == count
    assert len({tuple(setting.values()) for setting in settings_}) == count
    assert all(allowed(name, value) for setting in settings_ for name, value in setting.items())


def test_encoding_and_decoding_are_inverse() -> None:
    space = Space.parse(EVERYTHING)
    box = Box.around(space)
    settings_ = space.sobol(32, seed=3)
    again = box.settings(box.codes(settings_), space)
    for setting, other in zip(settings_, again, strict=True):
        for name, value in setting.items():
            assert other[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value)


def test_a_small_space_gives_no_more_than_it_has() -> None:
    assert len(Space.parse({"a": [1, 2], "b": ["x", "y"]}).sobol(10, seed=0)) == 4
    assert len(Space.parse({"a": [1, 2], "b": ["x", "y"]}).every_setting()) == 4
    assert len(Space.parse({"n": IntDistribution(1, 16, log=True)}).sobol(16, seed=0)) == 16


def test_levels_may_come_from_an_array() -> None:
    levels = Space.parse({"speed": np.array([98, 63, 48]), "gas": pd.Series(["a", "b"])}).parameters
    assert levels[0].values() == [48, 63, 98]
    assert all(type(level) is int for level in levels[0].values())
    assert levels[1].values() == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "choices", "position"),
    [
        ("Argon ", ("air", "argon"), 1),
        (1.0, (0, 1), 1),
        ("2", (1, 2), 1),
        (np.nan, ("a", None), 1),
        (0, (True, False), 1),
        ("neon", ("air", "argon"), None),
        (None, ("air",), None),
    ],
)
def test_categories_are_recognised_as_people_and_tables_write_them(value, choices, position) -> None:
    assert position_among(value, choices) == position


def test_kernel_inputs_are_scaled_and_one_hot() -> None:
    space = Space.parse({"x": (0.0, 10.0), "rate": FloatDistribution(0.01, 1.0, log=True), "gas": ["a", "b", "c"]})
    box = Box.around(space)
    inputs = box.inputs(box.codes([{"x": 2.5, "rate": 0.1, "gas": "b"}]))
    assert inputs[0].tolist() == pytest.approx([-0.5, 0.0, -1, 1, -1])


def test_the_box_covers_old_data_too() -> None:
    space = Space.parse({"speed": [98, 63, 48], "gas": ["air", "argon"]})
    old = pd.DataFrame({"speed": [86.42, 43.21], "gas": ["air", "helium"]})
    box = Box.around(space, old)
    assert box.axes[0].low == 43.21
    assert box.axes[1].choices == ("air", "argon", "helium")
    assert box.codes(old).tolist()[1] == [-1.0, 2.0]
    assert box.num_inputs == 4
    assert box.covers(space)
    assert not box.covers(Space.parse({"speed": (0.0, 98.0), "gas": ["air", "argon"]}))


def test_fixed_parameters_take_no_input() -> None:
    space = Space.parse({"x": (0.0, 1.0), "fixed": (3.0, 3.0), "only": ["this"]})
    box = Box.around(space)
    assert box.num_inputs == 1
    assert box.settings(torch.zeros(1, 3).double(), space) == [{"x": 0.5, "fixed": 3.0, "only": "this"}]


def test_whole_number_grids_are_exact_decimals() -> None:
    grid = Numeric("dose", 0.1, 0.7, step=0.2)
    assert grid.values() == [0.1, 0.3, 0.5, 0.7]
    assert grid.nearest(0.69) == 0.7
    assert grid.nearest(99.0) == 0.7


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({}, "at least one parameter"),
        ({"x": [3], "y": (1.0, 1.0)}, "a parameter that can change"),
        ({"x": (1.0, 0.0)}, "low must not be above high"),
        ({"x": (1.0, 2.0, 3.0)}, r"must be \(low, high\)"),
        ({"x": (0.0, float("nan"))}, "two finite numbers"),
        ({"x": []}, "must not be empty"),
        ({"x": [1, 1]}, "values must differ"),
        ({"x": [1.0, float("inf")]}, "levels must be finite"),
    ],
)
def test_bad_spaces_say_what_to_do(description: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Space.parse(description)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"x": 11.0, "rate": 0.1, "gas": "a"}, "'x' must lie between 0 and 10; 1 of 1 values do not"),
        ({"x": 1.0, "rate": -0.1, "gas": "a"}, "'rate' has a logarithmic scale"),
        ({"x": 1.0, "rate": 0.1, "gas": "z"}, "'gas' must be one of a, b; got 'z'"),
        ({"x": 1.0, "rate": 0.1}, "gas is missing"),
        ({"x": np.nan, "rate": 0.1, "gas": "a"}, "needs a number for 'x'; rows 0 have none"),
    ],
)
def test_settings_that_do_not_fit_are_named(setting: dict, message: str) -> None:
    space = Space.parse({"x": (0.0, 10.0), "rate": FloatDistribution(0.01, 1.0, log=True), "gas": ["a", "b"]})
    with pytest.raises(InputError, match=message):
        Box.around(space).codes([setting])


def test_categories_match_what_a_file_made_of_them() -> None:
    space = Space.parse({"padding": CategoricalDistribution((True, False)), "n": CategoricalDistribution((1, 2))})
    assert isinstance(space.parameters[0], Categorical)
    assert Box.around(space).codes([{"padding": "False", "n": "2"}]).tolist() == [[1.0, 1.0]]
