"""Arguments that several commands have."""

from typing import Annotated

import typer

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
