"""Ctrl-C before and after a command: there is nothing to say and nothing to put away, so that the program just ends."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

#: The exit code of a program that was stopped with Ctrl-C.
STOPPED = 130


def end_when_stopped() -> None:
    """From now on Ctrl-C ends the program at once, without a word; Python would show where it was.

    Not by an exception: imports may take that for a failure of their own.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as in the background
        signal.signal(signal.SIGINT, _end)


@contextmanager
def raise_when_stopped() -> Iterator[None]:
    """In here Ctrl-C is a `KeyboardInterrupt`, for what has to be put away; afterwards it is what it was."""
    before = signal.getsignal(signal.SIGINT)
    if before is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if before is _end:
            signal.signal(signal.SIGINT, _end)


def _end(*_: object) -> NoReturn:
    os._exit(STOPPED)
