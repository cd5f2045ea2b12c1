"""Computations in chunks of bounded memory, broadcasting of batch shapes, and sums in a fixed order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint


def iterate_chunks(length: int, size: int) -> Iterator[slice]:
    """0, …, length - 1 in slices of at most `size`."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def call_checkpointed(function: Callable[..., Tensor], *arguments: object) -> Tensor:
    """function(*arguments), checkpointed: the backward pass recomputes intermediates instead of storing them."""
    result: Tensor = checkpoint(function, *arguments, use_reentrant=False, preserve_rng_state=False)
    return result


def broadcast_shape(*shapes: torch.Size) -> torch.Size:
    """The shape that all `shapes` broadcast to.

    By NumPy: the first call of `torch.broadcast_shapes` imports SymPy, which takes longer than a suggestion.
    """
    return torch.Size(np.broadcast_shapes(*shapes))


_OwnT = TypeVar("_OwnT")


@runtime_checkable
class Mergeable(Protocol):
    """A partial result over some rows; two of them merge into that of all their rows."""

    def merge(self: _OwnT, other: _OwnT, /) -> _OwnT:
        """The result over the rows of both, this one's first."""
        ...


SumT = TypeVar("SumT", bound=Mergeable)
#: Of single parts, or of promises of them.
PartT = TypeVar("PartT")


def sum_as_tree(parts: Iterable[SumT]) -> SumT:
    """((s₀ + s₁) + (s₂ + s₃)) + …: parts merge with their neighbours, then pairs with theirs, and so on.

    Parts are requested one after the other, and merged as soon as that order allows it: of n parts, log₂ n are in
    memory. Rounding errors grow with log n, instead of n.
    """
    waiting: list[tuple[int, SumT]] = []  # how many parts each holds, in powers of two, the largest first
    for part in parts:
        size = 1
        while waiting and waiting[-1][0] == size:
            part, size = waiting.pop()[1].merge(part), 2 * size
        waiting.append((size, part))
    if not waiting:
        raise ValueError("There must be at least one part to add up.")
    return reduce(lambda later, earlier: earlier.merge(later), [part for _, part in reversed(waiting)])


def sum_promises_as_tree(parts: Sequence[PartT], merge: Callable[[PartT, PartT], PartT]) -> PartT:
    """The tree of `sum_as_tree` for parts that are computed later: `merge` promises the sum of two.

    >>> sum_promises_as_tree("abcde", lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    level = list(parts)
    while len(level) > 1:
        pairs = [merge(left, right) for left, right in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(level) - len(level) % 2 :]
    return level[0]
