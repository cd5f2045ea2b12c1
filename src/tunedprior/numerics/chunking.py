"""Computations in chunks that fit into memory, forward and backward."""

from collections.abc import Callable, Iterator

from torch import Tensor
from torch.utils.checkpoint import checkpoint


def iterate_chunks(length: int, size: int) -> Iterator[slice]:
    """0, …, length - 1 in slices of at most `size`."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def call_checkpointed(function: Callable[..., Tensor], *arguments: object) -> Tensor:
    """function(*arguments), checkpointed: the backward pass recomputes intermediates instead of storing them."""
    result: Tensor = checkpoint(function, *arguments, use_reentrant=False, preserve_rng_state=False)
    return result
