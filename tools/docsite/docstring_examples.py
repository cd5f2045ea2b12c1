"""An extension of Griffe: sessions in docstrings (`>>> …`), which doctest knows by sight, become blocks of code."""

import re
import textwrap
from typing import Any

from griffe import Extension, Object

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
