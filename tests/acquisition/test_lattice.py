"""The search space as codes: bounds, lists of values, categories, and what is fixed."""

import torch

from support.builders import SMALL
from tunedprior.acquisition.lattice import Lattice
from tunedprior.problem.box import Box
from tunedprior.problem.space import Space

SPACE = Space.parse(
    {"x": (0.0, 10.0), "step": [0, 1, 4], "gas": ["air", "argon", "neon"], "fixed": (3.0, 3.0), "one": ["only"]}
)


def test_every_kind_of_parameter_has_its_place() -> None:
    lattice = Lattice.of(SPACE, Box.around(SPACE))
    assert lattice.bounds.tolist() == [[-1.0, -1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 2.0, 0.0, 0.0]]
    assert lattice.values == {1: [-1.0, -0.5, 1.0]}
    assert lattice.categories == {2: [0.0, 1.0, 2.0]}
    assert lattice.fixed == {3: 0.0, 4: 0.0}
    assert lattice.discrete == {1: [-1.0, -0.5, 1.0], 2: [0.0, 1.0, 2.0]}
    assert lattice.lists() is None
    assert lattice.every() is None


def test_bounds_are_those_of_the_space_in_a_wider_box() -> None:
    wide = Box.around(Space.parse({"x": (-10.0, 30.0)}))
    assert Lattice.of(Space.parse({"x": (0.0, 10.0)}), wide).bounds.flatten().tolist() == [-0.5, 0.0]


def test_a_small_space_is_listed_whole() -> None:
    small = Space.parse(SMALL | {"one": ["only"]})
    every = Lattice.of(small, Box.around(small)).every()
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
    assert torch.equal(Lattice.of(alone, Box.around(alone)).every(), torch.tensor([[-1.0], [-0.5], [1.0]]).double())


def test_a_large_space_is_not_listed() -> None:
    for count, listed in ((100, True), (101, False)):
        space = Space.parse({"a": list(range(count)), "b": list(range(100))})
        assert (Lattice.of(space, Box.around(space)).every() is not None) is listed
    fine = Space.parse({"a": list(range(1001))})
    lattice = Lattice.of(fine, Box.around(fine))
    assert (lattice.values, lattice.bounds.flatten().tolist()) == ({}, [-1.0, 1.0])  # as if continuous
    fine = Space.parse({"a": list(range(1000))})
    assert len(Lattice.of(fine, Box.around(fine)).values[0]) == 1000
