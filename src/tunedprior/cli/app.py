"""The application that holds all commands, and the handling of their errors."""

from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from tunedprior.cli.output import ExitCode, complain, show_warnings_as_notes
from tunedprior.cli.program import raise_when_stopped
from tunedprior.cli.registry import list_commands
from tunedprior.discovery import import_modules
from tunedprior.errors import InputError, TunedPriorError


class _CommandGroup(TyperGroup):
    """Turns our own errors into a message and an exit code; anything else is a fault of ours, and is shown in full."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with show_warnings_as_notes():
            try:
                with raise_when_stopped():
                    return super().invoke(ctx)
            except TunedPriorError as error:
                typed = error.cli_message if isinstance(error, InputError) else ""
                complain(typed or str(error), type(error).__name__)
                raise typer.Exit(ExitCode.REFUSED) from error
            except OSError as error:
                said = f"{error.filename!r}: {error.strerror}" if error.filename else str(error)
                complain(f"{said}. Is the place there, and may you write to it?", type(error).__name__)
                raise typer.Exit(ExitCode.REFUSED) from error
            except KeyboardInterrupt as stop:
                complain("Stopped. What was recorded before stays; see: tunedprior status CAMPAIGN", "Interrupted")
                raise typer.Exit(ExitCode.STOPPED) from stop
            except Exception as error:
                if type(error).__name__ != "StorageInternalError":  # Optuna's, which is not to be imported for this
                    raise
                reason = str(error.__cause__ or error).splitlines()[0]
                complain(f"The campaign's database cannot be read or written now: {reason}", type(error).__name__)
                raise typer.Exit(ExitCode.REFUSED) from error


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


def _say_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"tunedprior {version('tunedprior')}")
        raise typer.Exit


def set_global_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Find the best settings of something expensive to try, with help from old data that is related."""


def make_app() -> typer.Typer:
    """The program with the commands of every module in `cli/commands`."""
    import_modules("tunedprior.cli.commands")
    program = typer.Typer(
        cls=_CommandGroup,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Find the best settings of something expensive to try, with help from old data that is related.",
    )
    program.callback()(set_global_options)
    for one in list_commands():
        program.command(one.name, cls=_Command, rich_help_panel=one.panel)(one.function)
    return program


app = make_app()
