"""Arguments that several commands have."""

import getpass
from typing import Annotated

import typer


def _fill_login_name(who: str) -> str:
    """Who it is said to be, or else the name that this person has on this computer; empty if there is none."""
    try:
        return who or getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


#: A campaign's place.
Campaign = Annotated[
    str,
    typer.Argument(
        envvar="TUNEDPRIOR_CAMPAIGN",
        help="The campaign's file, such as campaign.db, or the URL of its database.",
        show_default=False,
    ),
]
#: A campaign's name.
Name = Annotated[
    str | None,
    typer.Option("--name", envvar="TUNEDPRIOR_NAME", help="Which campaign, if the database holds several."),
]
#: Whether to replace a file.
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")]
#: A note.
Note = Annotated[str, typer.Option("--note", help="Whatever is to be kept with it.")]
#: Who says so.
Who = Annotated[
    str,
    typer.Option(
        "--who",
        envvar="TUNEDPRIOR_WHO",
        callback=_fill_login_name,
        help="Who says so, for the journal; your name on this computer, when left out.",
    ),
]
