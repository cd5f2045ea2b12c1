"""Words of a command that people are told to type."""

import os
import shlex
import subprocess


def quoted(word: str) -> str:
    """A word as this system's shell takes it for one: Windows knows double quotes alone.

    >>> quoted("campaign.db")
    'campaign.db'
    """
    return subprocess.list2cmdline([word]) if os.name == "nt" else shlex.quote(word)
