"""Find a campaign by its file, which is an SQLite database, or by the URL of a database."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import make_url

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.errors import InputError
from tunedprior.storage.sqlite_files import find_locked_part, make_refusal, refuse_unsound
from tunedprior.workspace.shell_words import quote_word

# Seconds to wait for somebody who is writing.
_PATIENCE = 60.0


def resolve_database_url(where: str) -> str:
    """Return the URL of a campaign's database; for a file, one with its absolute path.

    >>> resolve_database_url("postgresql://lab@server/campaigns")
    'postgresql://lab@server/campaigns'
    >>> resolve_database_url("campaign.db").startswith("sqlite:////")
    True
    """
    if "://" in where:
        return where
    path = str(Path(where).absolute())
    for written in (path, quote(path)):
        url = f"sqlite:///{written}"
        if make_url(url).database == path and "{" not in path:  # braces are Optuna's, for the number of a version
            return url
    raise InputError(
        f"{path!r} cannot be the file of a campaign: '?', '%' and '{{' mean something else in the address of a "
        "database. Choose other names for the file and its folders."
    )


def open_campaign(where: str, name: str | None = None, *, read_only: bool = False) -> Optimizer:
    """Open an existing campaign; an `InputError` if there is none.

    Args:
        where: The file, or the URL of a database.
        name: What the campaign is called; None if there is one only.
        read_only: Whether nothing is to be written; otherwise a file that is read-only is refused.
    """
    if "://" not in where and not Path(where).exists():
        raise InputError(
            f"There is no campaign {where!r}. Begin one with: tunedprior new {quote_word(where)} --space space.yaml"
        )
    check_campaign_file(where)
    if not read_only:
        _refuse_read_only(where)
    return (
        Optimizer.load(resolve_database_url(where))
        if name is None
        else Optimizer.load(resolve_database_url(where), name=name)
    )


def check_campaign_file(where: str, is_new: bool = False) -> None:
    """Raise an `InputError` for a file that holds no campaigns, or cannot be created.

    Args:
        where: The file; a URL is left to the database.
        is_new: Whether a campaign is to be begun there: then it may be empty, and must not be read-only.
    """
    path = Path(where)
    if "://" in where:
        return
    if not path.exists():
        _refuse_folder(path)
        return
    if path.is_dir():
        raise InputError(f"{where!r} is a folder; a campaign is a file, such as {str(path / 'campaign.db')!r}.")
    if is_new:
        _refuse_read_only(where)
    if path.stat().st_size == 0 and is_new:
        return
    if path.stat().st_size == 0:
        raise InputError(f"{where!r} is empty, so it is no campaign. Was it cut off when it was copied?")
    refuse_unsound(path, _PATIENCE, not find_locked_part(path))
    if not _has_study_tables(path):
        raise InputError(f"{where!r} is a database of another program, and holds no campaign.")


def _refuse_read_only(where: str) -> None:
    if "://" not in where and find_locked_part(Path(where)):
        raise make_refusal(Path(where))


def _refuse_folder(path: Path) -> None:
    """An `InputError` if no file can be made there; SQLite would say only that it cannot open it."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(
            f"There is no folder {str(folder)!r} for the campaign {path.name!r}. Make it, or name another."
        )
    if not os.access(folder, os.W_OK):
        raise InputError(
            f"Nothing can be written into the folder {str(folder)!r}. Name another place for {path.name!r}."
        )


def _has_study_tables(path: Path) -> bool:
    """Return whether the file has Optuna's tables, without changing it."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE)) as database:
            found = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'studies'").fetchone()
    except sqlite3.OperationalError:  # somebody else is at work on it
        return True
    return found is not None
