"""The program `tunedprior`: its commands, and what becomes of their errors."""

from typing import Any

import typer
from typer.core import TyperGroup

from tunedprior.cli.commands.reporting import report
from tunedprior.cli.output import Code, complain, notes_for_people
from tunedprior.errors import TunedPriorError


class _Commands(TyperGroup):
    """Turns our own errors into a message and an exit code; anything else is a fault of ours, and is shown in full."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with notes_for_people():
            try:
                return super().invoke(ctx)
            except TunedPriorError as error:
                complain(str(error), type(error).__name__)
                raise typer.Exit(Code.REFUSED) from error


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Find the best settings of something expensive to try, with help from old data that is related.",
)


@app.callback()
def tunedprior() -> None:
    """Find the best settings of something expensive to try, with help from old data that is related."""


app.command()(report)


def main() -> None:
    """What the shell calls."""
    app()
