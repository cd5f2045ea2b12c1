"""Where a campaign lies: a file, which is an SQLite database, or the URL of a database."""

from pathlib import Path

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.errors import InputError


def url_of(where: str) -> str:
    """The URL of a campaign's database; that of a file names its whole path.

    >>> url_of("postgresql://lab@server/campaigns")
    'postgresql://lab@server/campaigns'
    >>> url_of("campaign.db").startswith("sqlite:////")
    True
    """
    return where if "://" in where else f"sqlite:///{Path(where).absolute()}"


def reached(where: str, name: str | None = None) -> Optimizer:
    """The campaign that lies there; an `InputError` if there is none, and nothing is made then.

    Args:
        where: The file, or the URL of a database.
        name: What the campaign is called; None if there is one only.
    """
    refuse_other_files(where)
    if "://" not in where and not Path(where).exists():
        raise InputError(f"There is no campaign {where!r}. Begin one with: tunedprior new {where} --space space.yaml")
    return Optimizer.load(url_of(where)) if name is None else Optimizer.load(url_of(where), name=name)


def refuse_other_files(where: str) -> None:
    """An `InputError` for a file that is there and is no SQLite database."""
    path = Path(where)
    if "://" in where or not path.exists():
        return
    if path.is_dir():
        raise InputError(f"{where!r} is a folder; a campaign is a file, such as {str(path / 'campaign.db')!r}.")
    with path.open("rb") as file:
        beginning = file.read(16)
    if beginning and beginning != b"SQLite format 3\x00":
        raise InputError(f"{where!r} is no campaign: campaigns are SQLite databases, such as campaign.db.")
