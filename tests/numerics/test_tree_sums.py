"""Sums in a fixed order."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tunedprior.numerics.chunking import sum_as_tree, sum_promises_as_tree


@dataclass(frozen=True)
class Words:
    """A sum that remembers how it was made."""

    said: str

    def merge(self, other: "Words") -> "Words":
        return Words(f"({self.said}{other.said})")


@pytest.mark.parametrize("count", [*range(1, 40), 100])
def test_both_ways_to_add_up_make_the_same_tree(count: int) -> None:
    parts = [Words(f"{number}.") for number in range(count)]
    tree = sum_as_tree(iter(parts))
    assert tree == sum_promises_as_tree(parts, Words.merge)
    assert tree.said.replace("(", "").replace(")", "") == "".join(part.said for part in parts)
    deepest = max(tree.said[:end].count("(") - tree.said[:end].count(")") for end in range(len(tree.said) + 1))
    assert deepest == (count - 1).bit_length()


def test_few_parts_are_held_at_once() -> None:
    there, most = set(), 0

    @dataclass(frozen=True, eq=False)
    class Held:
        def __post_init__(self) -> None:
            nonlocal most
            there.add(id(self))
            most = max(most, len(there))

        def __del__(self) -> None:
            there.discard(id(self))

        def merge(self, _other: "Held") -> "Held":
            return Held()

    def made() -> Iterator[Held]:
        for _ in range(1000):
            yield Held()

    sum_as_tree(made())
    assert most <= 14  # log₂ of 1,000, and those that are being merged


def test_a_sum_has_a_part() -> None:
    with pytest.raises(ValueError, match="at least one part"):
        sum_as_tree(iter([]))
