"""The run-time type checker that `conftest.py` installs: an int will do for a float, as in PEP 484.

jaxtyping's import hook puts `jaxtyping.jaxtyped` around every function and dataclass. That binds all arguments of each
call by hand and checks them twice, for the sake of its messages, which takes longer than most of our functions do.
`jaxtyped` below checks the same in one go; where no annotation has axes, beartype alone does. It checks only while
`SWITCH.on`, which `conftest.py` sets for tests of numerical packages: all other tests would take twice as long.
"""

import inspect
import typing
from collections.abc import Callable
from contextlib import ContextDecorator
from dataclasses import dataclass, is_dataclass
from functools import partial, wraps
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping._decorator import jaxtyped as jaxtyped_by_jaxtyping  # `jaxtyping.jaxtyped` is ours once it is installed

#: Packages whose arrays have axes: their annotations are checked in their own tests. Elsewhere mypy alone looks.
NUMERICAL = [
    f"tunedprior.{name}"
    for name in (
        *("acquisition", "beliefs", "explain", "goals", "kernels", "machines", "model_averaging"),
        *("models", "numerics", "source_data", "space", "weight_prior"),
    )
]


@dataclass
class Switch:
    """Whether annotations are checked."""

    on: bool = False


SWITCH = Switch()
checker = beartype(conf=BeartypeConf(is_pep484_tower=True))

_memory = jaxtyped_by_jaxtyping("context")


class OwnAxes(ContextDecorator):
    """Axes of the same name have the same length within a call, and may have another in the next."""

    def __enter__(self) -> None:
        _memory.__enter__()

    def __exit__(self, *error: object) -> None:
        _memory.__exit__(*error)


def has_axes(annotation: object) -> bool:
    """Whether shapes are checked with it; one that cannot be read might have some."""
    if isinstance(annotation, str | typing.ForwardRef | typing.TypeVar):
        return True
    if inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray):
        return True
    parts = annotation if isinstance(annotation, list | tuple) else typing.get_args(annotation)
    return any(has_axes(part) for part in parts)


def read(annotation: object, names: dict[str, Any]) -> object:
    """What a string means; Any where that cannot be said yet, or while a program runs, as jaxtyping has it."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, names)
    except (NameError, TypeError):  # a class that is defined below; "pd.Series[Any]", which is for mypy alone
        return Any


def jaxtyped(function: Any = None, *, typechecker: Callable[[Any], Any]) -> Any:
    """As `jaxtyping.jaxtyped`, for what the import hook puts it around: functions and classes."""
    if function is None:
        return partial(jaxtyped, typechecker=typechecker)
    if inspect.isclass(function):
        if is_dataclass(function) and not hasattr(function.__init__, "__wrapped__"):
            function.__init__ = jaxtyped(function.__init__, typechecker=typechecker)
        return function
    return add_switch(function, typechecker)


def add_switch(function: Callable[..., Any], typechecker: Callable[[Any], Any]) -> Callable[..., Any]:
    """Check a function's annotations while `SWITCH.on`; the checks are made when they are first needed."""
    checked: Callable[..., Any] | None = None

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal checked
        if not SWITCH.on:
            return function(*args, **kwargs)
        if checked is None:
            checked = make_checked(function, typechecker)
        return checked(*args, **kwargs)

    # So that `tunedprior.checks.warn` passes it over on its way to the user's line, as it does what beartype generates.
    call.__code__ = call.__code__.replace(co_filename="<@support.typecheck>")
    return call


def make_checked(function: Callable[..., Any], typechecker: Callable[[Any], Any]) -> Callable[..., Any]:
    """The function with its annotations checked at each call."""
    annotations = {name: read(one, function.__globals__) for name, one in function.__annotations__.items()}
    function.__annotations__ = annotations
    checked = typechecker(function)
    return OwnAxes()(checked) if any(map(has_axes, annotations.values())) else checked


def is_numerical(nodeid: str) -> bool:
    """Whether a test, or a doctest, is one of a numerical package."""
    packages = {name.split(".")[-1] for name in NUMERICAL}
    return not packages.isdisjoint(nodeid.split("::")[0].split("/"))
