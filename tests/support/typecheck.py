"""The run-time type checker that `conftest.py` installs: an int will do for a float, as in PEP 484.

jaxtyping's import hook puts `jaxtyping.jaxtyped` around every function and dataclass. That binds all arguments of each
call by hand and checks them twice, for the sake of its messages, which takes longer than most of our functions do.
`jaxtyped` below checks the same in one go; where no annotation has axes, beartype alone does.
"""

import inspect
import typing
from collections.abc import Callable
from contextlib import ContextDecorator
from dataclasses import is_dataclass
from functools import partial
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping._decorator import jaxtyped as jaxtyped_by_jaxtyping  # `jaxtyping.jaxtyped` is ours once it is installed

#: Packages whose arrays have axes. Elsewhere mypy alone looks: checking everything doubles what importing it takes.
NUMERICAL = [
    f"tunedprior.{name}"
    for name in (
        *("acquisition", "beliefs", "explain", "goals", "kernels", "machines", "model_averaging"),
        *("models", "numerics", "source_data", "space", "weight_prior"),
    )
]

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
    annotations = {name: read(one, function.__globals__) for name, one in function.__annotations__.items()}
    function.__annotations__ = annotations
    checked = typechecker(function)
    return OwnAxes()(checked) if any(map(has_axes, annotations.values())) else checked
