"""What people type as `name=value`."""

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.files.cells import parse_ambiguous_number
from tunedprior.files.names import is_same_name
from tunedprior.problem.cells import parse_value
from tunedprior.problem.parameters import Parameter

_COMMA = re.compile(r"[-+]?\d*,\d+")


def parse_typed_pairs(pairs: Iterable[str], names: Collection[str]) -> dict[str, str]:
    """The values by name; an `InputError` for a name that is none of these, or that is there twice.

    >>> parse_typed_pairs(["flow=0,5", "gas=argon"], ["flow", "gas"])
    {'flow': '0.5', 'gas': 'argon'}
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = (part.strip() for part in pair.partition("="))
        alike = [one for one in names if is_same_name(name, one)]
        name = alike[0] if name not in names and len(alike) == 1 else name
        if not equals or name not in names:
            known = ", ".join(names)  # all of them: the one that is meant is among them
            by_small = {one.casefold(): one for one in names}
            close = get_close_matches(name.casefold(), by_small, n=1)
            meant = f" Did you mean {by_small[close[0]]}?" if equals and close else ""
            raise InputError(f"Values are written as name=value, with the names {known}; got {pair!r}.{meant}")
        if name in found:
            raise InputError(f"{name!r} is there twice. Write it once.")
        found[name] = _convert_decimal_comma(value, name)
    return found


def parse_typed_setting(values: Mapping[str, str], parameters: Iterable[Parameter]) -> dict[str, Any]:
    """What was typed as the values of these parameters; an `InputError` names each that has none."""
    parameters = list(parameters)
    missing = [one.name for one in parameters if one.name not in values]
    if missing:
        raise InputError(f"Say what {format_list(missing)} {'is' if len(missing) == 1 else 'are'} too, as name=value.")
    found: dict[str, Any] = {}
    for one in parameters:
        try:
            found[one.name] = parse_value(one, values[one.name])
        except InputError as error:
            raise InputError(f"{one.name} {str(error).rstrip('.')}.") from error
    return found


def _convert_decimal_comma(value: str, name: str) -> str:
    either = parse_ambiguous_number(value)
    if either is not None:
        point, whole = either
        raise InputError(
            f"{name}={value} may be {whole} or {point}. Write it with a decimal point and without thousands separators."
        )
    return value.replace(",", ".") if _COMMA.fullmatch(value) else value
