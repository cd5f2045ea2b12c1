"""The commands of the program by their names, each with the panel of the help that lists it."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from tunedprior.errors import InputError

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
#: The commands in the order of the help; others come last in their panel.
_ORDER = (
    *("space", "audit", "new"),
    *("suggest", "record", "undo", "amend", "cancel", "serve"),
    *("status", "best", "front", "trust", "explain", "journal", "report"),
    *("export", "import", "run"),
)


class RegisteredCommand(NamedTuple):
    """A command.

    Attributes:
        name: What is typed.
        panel: The heading of the help under which it stands.
        function: What it does; its docstring is its help, its annotations are its arguments and options.
    """

    name: str
    panel: str
    function: Callable[..., Any]


_COMMANDS: dict[str, RegisteredCommand] = {}


def register_command(name: str, panel: str) -> Callable[[FunctionT], FunctionT]:
    """Make a function a command of the program; a decorator."""

    def register(function: FunctionT) -> FunctionT:
        if name in _COMMANDS and _COMMANDS[name].function.__module__ != function.__module__:
            raise InputError(f"There is a command {name!r} already. Choose another name.")
        _COMMANDS[name] = RegisteredCommand(name, panel, function)
        return function

    return register


def forget_command(name: str) -> None:
    """Remove a command from the registry."""
    _COMMANDS.pop(name, None)


def list_commands() -> list[RegisteredCommand]:
    """All registered commands, in the order of the help."""
    return sorted(_COMMANDS.values(), key=lambda one: _ORDER.index(one.name) if one.name in _ORDER else len(_ORDER))
