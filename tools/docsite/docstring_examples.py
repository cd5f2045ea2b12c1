"""Extensions of Griffe: sessions in docstrings (`>>> …`) become blocks of code, and defaults are shown as values."""

import importlib
import re
import textwrap
from typing import Any

from griffe import Class, Extension, Function, Object

_SESSION = re.compile(r"^([ ]*)>>> .*(?:\n[ ]*\S.*|\n[ ]*(?=\n[ ]*>>> ))*", re.MULTILINE)


def fenced(docstring: str) -> str:
    """The same text with every session between fences, at the indentation that it had."""

    def fence(found: re.Match[str]) -> str:
        session = re.sub(r" *# doctest: \+\w+", "", textwrap.dedent(found[0]))
        return textwrap.indent(f"```pycon\n{session}\n```", found[1])

    return _SESSION.sub(fence, docstring)


class Sessions(Extension):
    """Rewrites docstrings before they are parsed."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called by Griffe for whatever it has loaded."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


_NAME = re.compile(r"_?[A-Z][A-Z0-9_]+$|[A-Z]\w*\.name$")


def shown_value(module: str, default: str) -> str:
    """The value of a named default (`UNNAMED`, `AlignedBelief.name`), as Python writes it; any other as it is."""
    if not _NAME.match(default):
        return default
    try:
        value: Any = importlib.import_module(module)
    except ImportError:  # it needs an extra
        return default
    for name in default.split("."):
        value = getattr(value, name, None)
    return repr(value) if isinstance(value, str | int | float | tuple) else default


class Defaults(Extension):
    """Shows the default `UNNAMED` as `'campaign'`."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        """Called by Griffe for whatever it has loaded."""
        self._show_values(func, func.module.canonical_path)

    def on_class(self, *, cls: Class, **_: Any) -> None:
        """Dataclasses have their defaults as values of attributes."""
        for member in cls.members.values():
            if member.is_attribute and member.annotation is not None and member.value is not None:  # type: ignore[union-attr]
                member.value = shown_value(cls.module.canonical_path, str(member.value))  # type: ignore[union-attr]

    @staticmethod
    def _show_values(function: Function, module: str) -> None:
        for parameter in function.parameters:
            if parameter.default is not None and (value := shown_value(module, old := str(parameter.default))) != old:
                parameter.default = value
