"""Broadcasting of batch shapes."""

import numpy as np
import torch


def broadcast_shape(*shapes: torch.Size) -> torch.Size:
    """The shape that all `shapes` broadcast to.

    By NumPy: the first call of `torch.broadcast_shapes` imports SymPy, which takes longer than a suggestion.
    """
    return torch.Size(np.broadcast_shapes(*shapes))
