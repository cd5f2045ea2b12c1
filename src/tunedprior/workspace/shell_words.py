"""Quote words for a shell, and make text safe to print in a terminal."""

import os
import shlex
import subprocess
from unicodedata import category

#: Signs that are not printed for themselves and yet belong to words: they join letters, or keep them apart.
_WITHIN_WORDS = "\u200c\u200d"


def escape_unprintable(text: str) -> str:
    r"""Escape control and bidirectional characters, except line breaks.

    >>> escape_unprintable("argon\x1b[2J"), escape_unprintable("Fe\u202ecba"), escape_unprintable("two\nlines")
    ('argon\\x1b[2J', 'Fe\\u202ecba', 'two\nlines')
    """
    return text if text.isprintable() else "".join(map(_escape_letter, text))


def _escape_letter(letter: str) -> str:
    if letter.isprintable() or letter in _WITHIN_WORDS or letter == "\n" or category(letter) == "Zs":
        return letter
    return letter.encode("unicode_escape").decode()


def quote_word(word: str) -> str:
    """Quote a word for the shell of this system.

    >>> quote_word("campaign.db")
    'campaign.db'
    """
    return subprocess.list2cmdline([word]) if os.name == "nt" else shlex.quote(word)


def format_campaign_arguments(campaign: str, name: str | None) -> str:
    """Format a campaign for a command: its place without a password, and its name if given.

    >>> format_campaign_arguments("campaign.db", "second")
    'campaign.db --name second'
    """
    return quote_word(format_campaign_place(campaign)) + (f" --name {quote_word(name)}" if name else "")


def format_campaign_place(campaign: str) -> str:
    """Return a campaign's place without the password of a database.

    >>> format_campaign_place("postgresql://lab:secret@server/campaigns")
    'postgresql://lab:***@server/campaigns'
    """
    if "://" not in campaign:
        return campaign
    from tunedprior.checks import hide_password

    return hide_password(campaign)
