"""All commands as one application, and what becomes of their errors."""

from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from tunedprior.cli.commands.auditing import audit
from tunedprior.cli.commands.beginning import new
from tunedprior.cli.commands.drafting import space
from tunedprior.cli.commands.exchanging import export, import_
from tunedprior.cli.commands.explaining import explain
from tunedprior.cli.commands.looking import best, front, journal, status, trust
from tunedprior.cli.commands.recording import amend, record, undo
from tunedprior.cli.commands.reporting import report
from tunedprior.cli.commands.running import run
from tunedprior.cli.commands.serving import serve
from tunedprior.cli.commands.suggesting import cancel, suggest
from tunedprior.cli.output import Code, complain, notes_for_people
from tunedprior.cli.stopping import raising_when_stopped
from tunedprior.errors import InputError, TunedPriorError


class _Commands(TyperGroup):
    """Turns our own errors into a message and an exit code; anything else is a fault of ours, and is shown in full."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with notes_for_people():
            try:
                with raising_when_stopped():
                    return super().invoke(ctx)
            except TunedPriorError as error:
                typed = error.typed if isinstance(error, InputError) else ""
                complain(typed or str(error), type(error).__name__)
                raise typer.Exit(Code.REFUSED) from error
            except OSError as error:
                said = f"{error.filename!r}: {error.strerror}" if error.filename else str(error)
                complain(f"{said}. Is the place there, and may you write to it?", type(error).__name__)
                raise typer.Exit(Code.REFUSED) from error
            except KeyboardInterrupt as stop:
                complain("Stopped. What was recorded before stays; see: tunedprior status CAMPAIGN", "Interrupted")
                raise typer.Exit(Code.STOPPED) from stop
            except Exception as error:
                if type(error).__name__ != "StorageInternalError":  # Optuna's, which is not to be imported for this
                    raise
                reason = str(error.__cause__ or error).splitlines()[0]
                complain(f"The campaign's database cannot be read or written now: {reason}", type(error).__name__)
                raise typer.Exit(Code.REFUSED) from error


class _Command(TyperCommand):
    """Shows types as people know them: `--json`, and not `--json <bool>`; `--old <str>`, and not `<list[str]>`."""

    def get_params(self, ctx: Any) -> Any:
        """The arguments and options, `--help` among them."""
        found = super().get_params(ctx)
        for one in found:
            if getattr(one, "is_flag", False):
                one.metavar = ""
            elif hasattr(one, "bare_type"):
                one.bare_type = partial(str, one.bare_type().removeprefix("list[").removesuffix("]"))
        return found


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Find the best settings of something expensive to try, with help from old data that is related.",
)


def _say_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"tunedprior {version('tunedprior')}")
        raise typer.Exit


@app.callback()
def tunedprior(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Find the best settings of something expensive to try, with help from old data that is related."""


_BEGIN, _WORK, _SEE, _FILES = "Begin", "Day by day", "See", "Files and programs"
for panel, commands in {
    _BEGIN: (space, audit, new),
    _WORK: (suggest, record, undo, amend, cancel, serve),
    _SEE: (status, best, front, trust, explain, journal, report),
    _FILES: (export, import_, run),
}.items():
    for command in commands:
        app.command(command.__name__.rstrip("_"), cls=_Command, rich_help_panel=panel)(command)
