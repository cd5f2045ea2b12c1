"""How many threads a computation is worth."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

#: Rows of a matrix up to which handing parts of the work to other threads takes longer than doing it.
_SMALL = 400


@contextmanager
def threads_for(rows: int) -> Iterator[None]:
    """One thread for many small matrices, as many as PyTorch has for large ones; as before afterwards."""
    before = torch.get_num_threads()
    if rows > _SMALL or before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
