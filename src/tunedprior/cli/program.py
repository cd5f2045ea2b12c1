"""The program `tunedprior`: handle Ctrl-C, then run the command line.

This module imports next to nothing, so that Ctrl-C is handled before the slow imports of the commands. Before and after
a command there is nothing to clean up, and Ctrl-C ends the program.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import NoReturn

#: The exit code of a program that was stopped with Ctrl-C.
STOPPED = 130


def end_when_stopped() -> None:
    """Let Ctrl-C end the program at once, without Python's traceback.

    Not by an exception: imports may take that for a failure of their own.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as in the background
        signal.signal(signal.SIGINT, _end)


@contextmanager
def raise_when_stopped() -> Iterator[None]:
    """Let Ctrl-C raise `KeyboardInterrupt` inside this block, so that it can clean up."""
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


def main() -> None:
    """Run the command line; it starts and ends quickly, since people wait for every suggestion.

    Importing PyTorch and its company makes a million objects that stay, and looking for garbage among them again and
    again takes a tenth of the time; taking them apart at the end takes another. Nothing is left to be done by then:
    databases are written in transactions and files are closed.
    """
    end_when_stopped()
    gc.set_threshold(200_000, 20, 100)
    if isinstance(sys.stdout, TextIOWrapper):
        # A console or a pipe that lacks a letter (λ, on Windows) gets its number. To fail would be worse: by the time
        # a suggestion is printed, it is in the campaign.
        sys.stdout.reconfigure(errors="backslashreplace")
    from multiprocessing import active_children

    from tunedprior.cli.app import app

    try:
        app()
    except SystemExit as done:
        sys.stdout.flush()
        sys.stderr.flush()
        if isinstance(done.code, int) and not active_children():
            os._exit(done.code)
        raise
