"""What people type as `name=value`."""

import re
from collections.abc import Collection, Iterable

from tunedprior.checks import listed
from tunedprior.errors import InputError

_COMMA = re.compile(r"[-+]?\d*,\d+")
# Three digits after a comma may be thousands.
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")


def typed(pairs: Iterable[str], names: Collection[str]) -> dict[str, str]:
    """The values by name; an `InputError` for a name that is none of these, or that is there twice.

    >>> typed(["flow=0,5", "gas=argon"], ["flow", "gas"])
    {'flow': '0.5', 'gas': 'argon'}
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or name not in names:
            raise InputError(f"Values are written as name=value, with the names {listed(names)}; got {pair!r}.")
        if name in found:
            raise InputError(f"{name!r} is there twice. Write it once.")
        found[name] = _with_point(value, name)
    return found


def _with_point(value: str, name: str) -> str:
    if _THOUSANDS.fullmatch(value):
        raise InputError(
            f"{name}={value} may be {value.replace(',', '')} or {value.replace(',', '.')}. Write it with a decimal "
            "point and without thousands separators."
        )
    return value.replace(",", ".") if _COMMA.fullmatch(value) else value
