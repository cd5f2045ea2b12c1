"""The application that holds all commands, and the handling of their errors."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from tunedprior.cli.commands.auditing import audit
from tunedprior.cli.commands.beginning import begin_campaign
from tunedprior.cli.commands.drafting import write_space_draft
from tunedprior.cli.commands.exchanging import export, import_history, report
from tunedprior.cli.commands.explaining import explain
from tunedprior.cli.commands.looking import show_best, show_front, show_journal, show_status, show_trust
from tunedprior.cli.commands.recording import amend, record, undo
from tunedprior.cli.commands.serving import serve
from tunedprior.cli.commands.suggesting import cancel, run, suggest
from tunedprior.cli.output import ExitCode, complain, show_warnings_as_notes
from tunedprior.cli.program import raise_when_stopped
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


app = typer.Typer(
    cls=_CommandGroup,
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
def set_global_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Find the best settings of something expensive to try, with help from old data that is related."""


_COMMANDS: dict[str, dict[str, Callable[..., Any]]] = {
    "Begin": {"space": write_space_draft, "audit": audit, "new": begin_campaign},
    "Day by day": {
        "suggest": suggest,
        "record": record,
        "undo": undo,
        "amend": amend,
        "cancel": cancel,
        "serve": serve,
    },
    "See": {
        "status": show_status,
        "best": show_best,
        "front": show_front,
        "trust": show_trust,
        "explain": explain,
        "journal": show_journal,
        "report": report,
    },
    "Files and programs": {"export": export, "import": import_history, "run": run},
}
for _panel, _commands in _COMMANDS.items():
    for _name, _function in _commands.items():
        app.command(_name, cls=_Command, rich_help_panel=_panel)(_function)
