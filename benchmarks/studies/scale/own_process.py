"""Measurements in a process of their own, whose memory is their own too."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

import torch

Arguments = ParamSpec("Arguments")
FoundT = TypeVar("FoundT")


def alone(measure: Callable[Arguments, FoundT], *arguments: Arguments.args, **options: Arguments.kwargs) -> FoundT:
    """What it finds in a fresh process, on one thread; it may start processes in turn."""
    with ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)
    ) as own:
        return own.submit(measure, *arguments, **options).result()
