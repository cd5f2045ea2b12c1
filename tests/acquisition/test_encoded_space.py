"""The search space as codes: bounds, lists of values, categories, and what is fixed."""

import torch

from support.builders import SMALL
from tunedprior.acquisition.optimisation import EncodedSpace
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space

SPACE = Space.parse(
    {"x": (0.0, 10.0), "step": [0, 1, 4], "gas": ["air", "argon", "neon"], "fixed": (3.0, 3.0), "one": ["only"]}
)


def test_every_kind_of_parameter_has_its_place() -> None:
    encoded_space = EncodedSpace.from_space(SPACE, Box.enclose(SPACE))
    assert encoded_space.bounds.tolist() == [[-1.0, -1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 2.0, 0.0, 0.0]]
    assert encoded_space.values == {1: [-1.0, -0.5, 1.0]}
    assert encoded_space.categories == {2: [0.0, 1.0, 2.0]}
    assert encoded_space.fixed == {3: 0.0, 4: 0.0}
    assert encoded_space.discrete == {1: [-1.0, -0.5, 1.0], 2: [0.0, 1.0, 2.0]}
    assert encoded_space.lists is None
    assert encoded_space.list_settings() is None


def test_bounds_are_those_of_the_space_in_a_wider_box() -> None:
    wide = Box.enclose(Space.parse({"x": (-10.0, 30.0)}))
    assert EncodedSpace.from_space(Space.parse({"x": (0.0, 10.0)}), wide).bounds.flatten().tolist() == [-0.5, 0.0]


def test_a_small_space_is_listed_whole() -> None:
    small = Space.parse(SMALL | {"one": ["only"]})
    every = EncodedSpace.from_space(small, Box.enclose(small)).list_settings()
    assert every.shape == (6, 3)
    assert sorted(map(tuple, every[:, :2].tolist())) == [
        (-1.0, 0.0),
        (-1.0, 1.0),
        (-0.4, 0.0),
        (-0.4, 1.0),
        (1.0, 0.0),
        (1.0, 1.0),
    ]
    assert (every[:, 2] == 0).all()
    alone = Space.parse({"step": [0, 1, 4]})
    assert torch.equal(
        EncodedSpace.from_space(alone, Box.enclose(alone)).list_settings(),
        torch.tensor([[-1.0], [-0.5], [1.0]]).double(),
    )


def test_a_large_space_is_not_listed() -> None:
    for count, listed in ((100, True), (101, False)):
        space = Space.parse({"a": list(range(count)), "b": list(range(100))})
        assert (EncodedSpace.from_space(space, Box.enclose(space)).list_settings() is not None) is listed
    fine = Space.parse({"a": list(range(1001))})
    encoded_space = EncodedSpace.from_space(fine, Box.enclose(fine))
    assert (encoded_space.values, encoded_space.bounds.flatten().tolist()) == ({}, [-1.0, 1.0])  # as if continuous
    fine = Space.parse({"a": list(range(1000))})
    assert len(EncodedSpace.from_space(fine, Box.enclose(fine)).values[0]) == 1000
