"""Randomness without a trace: BoTorch draws from torch's global generator, so it is lent one."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's global generator starts from `seed` inside, and goes on outside as if nothing had happened."""
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        # BoTorch says when one start of several ended early, and tries again by itself.
        warnings.filterwarnings("ignore", message="Optimization failed")
        # Next to an exact observation nothing is left to be uncertain about; GPyTorch rounds up to zero.
        warnings.filterwarnings("ignore", message="Negative variance values detected")
        torch.default_generator.manual_seed(seed)  # manual_seed would touch GPU generators, which are not put back
        yield
