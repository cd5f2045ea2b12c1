"""Sentences of the documents with figures in them, and how they are held against what was measured."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from support.stored import ROOT, Estimate

#: What a figure in a sentence must be: a number, or the two numbers that it must lie between.
Value = float | tuple[float, float]

_ROUNDING = 0.5 + 1e-6
# Measured things have a decimal point, a power of ten, a percentage, or a unit or "times" after them.
_FIGURE = re.compile(
    r"\d[\d,]*\.\d+|\d+e-\d+|\d[\d,.]*(?= ?(?:%|×|per cent|times|ms|s|seconds|minutes|hours|µm|GiB)(?!\w))"
)


@dataclass(frozen=True)
class Claim:
    """A sentence, or a part of one, as it stands in a document, with the figures to be checked in braces."""

    document: str
    text: str
    values: Callable[[], Sequence[Value]]

    @property
    def plain(self) -> str:
        """As it stands there."""
        return self.text.replace("{", "").replace("}", "")

    @property
    def figures(self) -> list[str]:
        """As they are printed."""
        return re.findall(r"\{([^}]*)\}", self.text)

    def covered(self) -> Iterator[tuple[int, int]]:
        """Where in the document's prose the figures in braces are."""
        for start in places(self.document, self.plain):
            before = 0
            for found in re.finditer(r"\{([^}]*)\}", self.text):
                begin = start + found.start() - before
                yield begin, begin + len(found.group(1))
                before += 2


@dataclass(frozen=True)
class Exempt:
    """A phrase whose figures are no measurement, and why."""

    document: str
    text: str
    reason: str

    def covered(self) -> Iterator[tuple[int, int]]:
        """Where in the document's prose it is."""
        for start in places(self.document, self.text):
            yield start, start + len(self.text)


@cache
def prose(document: str) -> str:
    """A document without code, tables, pictures and links' addresses, in one line."""
    text = (ROOT / document).read_text()
    text = re.sub(r"```.*?```", " ", text, flags=re.DOTALL)
    text = re.sub(r"<!-- (?:table|list): .*? -->", " ", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", " ", text)
    text = re.sub(r"^\|[ -].*\|$", " ", text, flags=re.MULTILINE)
    return " ".join(re.sub(r"\]\([^)]*\)", "]", text).split())


def places(document: str, text: str) -> list[int]:
    """Where the text begins in the document's prose."""
    return [found.start() for found in re.finditer(re.escape(text), prose(document))]


def figures_in(document: str) -> Iterator[tuple[int, str]]:
    """Every figure in the document's prose, outside of code, and where it is."""
    code = [found.span() for found in re.finditer(r"`[^`]*`", prose(document))]
    for found in _FIGURE.finditer(prose(document)):
        if not any(start <= found.start() < end for start, end in code):
            yield found.start(), found.group()


def agrees(printed: str, value: Value) -> bool:
    """Whether a printed number is the value, or lies within its bounds, to the last digit that is printed."""
    digits = printed.replace(",", "")
    half = _ROUNDING * 10.0 ** -len(digits.partition(".")[2])
    low, high = value if isinstance(value, tuple) else (value, value)
    return low - half <= float(digits) <= high + half


def with_interval(*estimates: Estimate) -> list[Value]:
    """Each number and the ends of its interval."""
    return [value for one in estimates for value in (one.middle, one.low, one.high)]


def alone(*estimates: Estimate) -> list[Value]:
    """The numbers without their intervals."""
    return [one.middle for one in estimates]
