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
    """A campaign as it is named in a command: its place, without a password, and its name if it was given.

    >>> campaign_words("campaign.db", "second")
    'campaign.db --name second'
    """
    return quoted(shown_place(campaign)) + (f" --name {quoted(name)}" if name else "")


def shown_place(campaign: str) -> str:
    """A campaign's place as it may be shown: that of a database without the password.

    >>> shown_place("postgresql://lab:secret@server/campaigns")
    'postgresql://lab:***@server/campaigns'
    """
    if "://" not in campaign:
        return campaign
    from tunedprior.checks import without_password  # which takes a moment to import

    return without_password(campaign)
