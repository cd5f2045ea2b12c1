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


def campaign_words(campaign: str, name: str | None) -> str:
    """A campaign as it is named in a command: its place, and its name if it was given.

    >>> campaign_words("campaign.db", "second")
    'campaign.db --name second'
    """
    return quoted(campaign) + (f" --name {quoted(name)}" if name else "")
