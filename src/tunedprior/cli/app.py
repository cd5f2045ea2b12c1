"""The application that holds all commands, and the handling of their errors."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from tunedprior.cli.output import ExitCode, complain, show_warnings_as_notes
from tunedprior.cli.program import raise_when_stopped
from tunedprior.cli.registry import list_commands
from tunedprior.discovery import import_modules
from tunedprior.errors import InputError, TunedPriorError

# What is to be typed after an option, by its type in Python.
_WORDS = {"Path": "FILE", "int": "NUMBER", "float": "NUMBER"}


def _show_plain_types(parameters: Iterable[Any]) -> Any:
    """Parameters shown as people know them: `--json` and not `--json <bool>`, `--old TEXT` and not `--old <str>`."""
    found = list(parameters)
    for one in found:
        is_option = isinstance(one, TyperOption)
        if getattr(one, "is_flag", False):
            one.metavar = ""
        elif not is_option:
            one.metavar = (one.name or "").upper()
            usage = (one.metavar if one.required else f"[{one.metavar}]") + "..." * (one.nargs != 1)
            one.get_usage_pieces = lambda _, usage=usage: [usage]
            one.display_type_rich = lambda **_: ""
        elif one.metavar is None:
            kind = getattr(getattr(one, "type_descriptor", None), "annotation", str)
            kind = next(iter(get_args(kind)), kind)
            one.metavar = _WORDS.get(getattr(kind, "__name__", ""), "TEXT")
            one._get_number_range_help_str = lambda: None  # [0<=x<=65535] is for programs
    return found


def _suggest_option(error: Exception, parameters: Iterable[Any]) -> None:
    """Add "Did you mean …?" to the error for an option that is not there."""
    typed = getattr(error, "option_name", None)
    if typed is None or not hasattr(error, "possibilities"):
        return
    known = [name for one in parameters for name in (*one.opts, *one.secondary_opts) if name.startswith("--")]
    close = get_close_matches(typed, known, n=1)
    error.message = f"There is no option {typed}." + (f" Did you mean {close[0]}?" if close else "")  # type: ignore[attr-defined]
    error.possibilities = None


class _CommandGroup(TyperGroup):
    """Turns our own errors into a message and an exit code; anything else is a fault of ours, and is shown in full."""

    def get_params(self, ctx: Any) -> Any:
        """The options, `--help` among them."""
        return _show_plain_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse what was typed."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            _suggest_option(error, self.get_params(ctx))
            raise

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
    """Shows types as people know them, and suggests the option that was meant."""

    def get_params(self, ctx: Any) -> Any:
        """The arguments and options, `--help` among them."""
        return _show_plain_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse what was typed."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            _suggest_option(error, self.get_params(ctx))
            raise


def _say_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"tunedprior {version('tunedprior')}")
        raise typer.Exit


def set_global_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Bayesian optimisation that learns from related old data: find the best settings in few experiments."""


def make_app() -> typer.Typer:
    """The program with the commands of every module in `cli/commands`."""
    import_modules("tunedprior.cli.commands")
    program = typer.Typer(
        cls=_CommandGroup,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Bayesian optimisation that learns from related old data: find the best settings in few experiments.\n\n"
        "Begin with `tunedprior space old.csv`; `tunedprior COMMAND --help` explains a command.",
    )
    program.callback()(set_global_options)
    for one in list_commands():
        program.command(one.name, cls=_Command, rich_help_panel=one.panel)(one.function)
    return program


app = make_app()
