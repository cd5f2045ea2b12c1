"""The program `tunedprior`, as the shell calls it.

This imports next to nothing: Ctrl-C is taken care of before the commands are imported, which takes a moment.
"""

import gc
import os
import sys
from io import TextIOWrapper

from tunedprior.cli.stopping import end_when_stopped


def main() -> None:
    """What the shell calls; it starts and ends quickly, as people wait for every single suggestion.

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

    from tunedprior.cli.every_command import app

    try:
        app()
    except SystemExit as done:
        sys.stdout.flush()
        sys.stderr.flush()
        if isinstance(done.code, int) and not active_children():
            os._exit(done.code)
        raise
