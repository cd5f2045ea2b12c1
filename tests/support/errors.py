"""What tests ask of an error or warning: its kind and the key facts of its message, not the sentence."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


def lacks(message: str, *facts: str) -> list[str]:
    """Those facts that a message does not name, in any order, whatever the size of the letters.

    A fact that begins or ends with a letter or a digit is a whole word there: 1 is not named by 10 or by 1.5.
    """
    return [fact for fact in facts if re.search(_pattern(fact), message, re.IGNORECASE) is None]


def _pattern(fact: str) -> str:
    before = r"(?<!\w)(?<!\d[.,])" if fact[0].isalnum() else ""
    after = r"(?![.,]?\d)(?!_)" if fact[-1].isdigit() else ""
    return before + re.escape(fact) + after


@contextmanager
def raises(kind: type[BaseException], *facts: str) -> Iterator[pytest.ExceptionInfo[BaseException]]:
    """Expect an error of this kind whose message names these facts: the name, the value, what was expected."""
    with pytest.raises(kind) as caught:
        yield caught
    missing = lacks(str(caught.value), *facts)
    assert not missing, f"the message does not name {missing}: {caught.value}"
