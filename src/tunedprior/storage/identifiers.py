"""The identifier of a campaign, which its file, its database and its sheets carry."""

import hashlib
import re
import secrets
from typing import Any

from optuna.study import Study

# No digits and no vowels: spreadsheets make no number, date or word of it, and nobody reads one into it.
_LETTERS = "bcdfghjkmnpqrstvwxz"
_LENGTH = 10
_ID = re.compile(f"[{_LETTERS}]{{{_LENGTH}}}")


def draw_id() -> str:
    """Draw a random id for a new campaign."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))


def derive_id(content: bytes) -> str:
    """Derive an id from the stored content of a campaign that has none; the same each time.

    >>> derive_id(b"campaign") == derive_id(b"campaign") != derive_id(b"another")
    True
    """
    number = int.from_bytes(hashlib.sha256(content).digest())
    return "".join(_LETTERS[number // len(_LETTERS) ** place % len(_LETTERS)] for place in range(_LENGTH))


def derive_study_id(study: Study) -> str:
    """Derive an id for a campaign without one, from the time of the first trial of its study."""
    first = next(iter(study.get_trials(deepcopy=False)), None)
    began = "" if first is None or first.datetime_start is None else first.datetime_start.isoformat()
    return derive_id(f"{study.study_name} {began}".encode())


def parse_id(cell: Any) -> str:
    """Return the id in a cell of a sheet, in any capitals; "" if there is none."""
    text = str(cell).strip().casefold()
    return text if _ID.fullmatch(text) else ""
