"""The command `tunedprior space`: draft a space file from old data."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tunedprior.cli.output import AsJson, ExitCode, Force, say
from tunedprior.cli.registry import register_command
from tunedprior.workspace.shell_words import quote_word

_WITHOUT = " The range is drafted without it."


@register_command("space", panel="Begin")
def write_space_draft(
    old: Annotated[str, typer.Argument(help="The file with old data: CSV, Excel or Parquet.", show_default=False)],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The file to write. Default: print it.")] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="The column of the response. Default: guessed.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Draft a space file (ranges, grids, choices, goal) from old data, for you to edit.

    Cells that look like typing errors are listed and left out of the ranges; the exit code is 3 then.
    """
    from tunedprior.errors import InputError
    from tunedprior.tables.atomic import write_atomically
    from tunedprior.workspace.space_drafts import draft_space_file

    if output is not None and output.exists() and not force:
        raise InputError(f"{str(output)!r} is there already. Name another file, or replace it with --force.")
    draft = draft_space_file(old, target)
    found = {
        "target": draft.target,
        "direction": draft.direction,
        "parameters": draft.parameters,
        "left_out": draft.left_out,
        "why": draft.why,
        "doubtful": [asdict(one) for one in draft.doubtful],
    }
    code = ExitCode.NOTICED if draft.doubtful else ExitCode.FINE
    if output is None:
        say({"space": draft.text, **found}, Text(draft.text.rstrip("\n")), wrap=False)
        raise typer.Exit(code)
    write_atomically(output, draft.text.encode())
    said = Text(
        f"{output} has {len(draft.parameters)} parameters, and the goal is to {draft.direction} {draft.target!r}."
    )
    left_out = [Text(f"Left out: {name} ({reason}).", style="yellow") for name, reason in draft.left_out.items()]
    doubtful = [
        Text(f"Look this up: {one.text}{_WITHOUT * (one.kind != 'units in cells')}", style="red")
        for one in draft.doubtful
    ]
    why = [Text(draft.why)] if draft.why else []
    following = Text(f"Edit it, then: tunedprior audit {quote_word(str(old))} --space {quote_word(str(output))}")
    say({"file": str(output), **found}, said, *why, *left_out, *doubtful, following)
    raise typer.Exit(code)
