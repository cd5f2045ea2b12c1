"""What tells one campaign from another, whatever they are called: an id of letters, which every sheet carries."""

import hashlib
import re
import secrets
from typing import Any

import msgspec
from optuna.study import Study

from tunedprior.campaign.saved_form import SavedCampaign

# No digits and no vowels: spreadsheets make no number, date or word of it, and nobody reads one into it.
_LETTERS = "bcdfghjkmnpqrstvwxz"
_LENGTH = 10
# Fields of a saved campaign that were not there yet when files had no id.
_ADDED_SINCE = ("entries", "checksum")
_ID = re.compile(f"[{_LETTERS}]{{{_LENGTH}}}")


def draw_id() -> str:
    """An id that no other campaign has."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))


def derive_id(content: bytes) -> str:
    """The id of a campaign of before there were any, from what is stored of it: the same whenever it is loaded.

    >>> derive_id(b"campaign") == derive_id(b"campaign") != derive_id(b"another")
    True
    """
    number = int.from_bytes(hashlib.sha256(content).digest())
    return "".join(_LETTERS[number // len(_LETTERS) ** place % len(_LETTERS)] for place in range(_LENGTH))


def derive_file_id(saved: SavedCampaign) -> str:
    """The id of a campaign of before there were any that was saved in a file, from what the file said then."""
    content = msgspec.structs.asdict(saved)
    return derive_id(msgspec.json.encode({name: one for name, one in content.items() if name not in _ADDED_SINCE}))


def derive_study_id(study: Study) -> str:
    """The id of a campaign of before there were any that is kept in a study, from the moment of its first trial."""
    first = next(iter(study.get_trials(deepcopy=False)), None)
    began = "" if first is None or first.datetime_start is None else first.datetime_start.isoformat()
    return derive_id(f"{study.study_name} {began}".encode())


def parse_id(cell: Any) -> str:
    """The id that a cell of a sheet has, whatever capitals people made of it; empty if it has something else."""
    text = str(cell).strip().casefold()
    return text if _ID.fullmatch(text) else ""
