"""Store bytes with an Optuna study, in its attributes or an artifact store; serialise fitted models without pickle."""

import hashlib
import json
import zlib
from base64 import b85decode, b85encode
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from optuna.artifacts import download_artifact, upload_artifact
from optuna.study import Study

from tunedprior.errors import FileFormatError
from tunedprior.goals.goals import Goals
from tunedprior.models.surrogate import Surrogate, decode_surrogate, encode_surrogate
from tunedprior.space.search_space import Space
from tunedprior.storage.databases import get_study_attributes, set_study_attribute

_PREFIX = "tunedprior"
# Characters in one attribute: some databases hold no more than 65,535 bytes in a cell.
_PIECE = 60_000
# Upper bound on what is unpacked, so that no study takes all memory.
_MOST_BYTES = 2**30


def save_blob(study: Study, name: str, data: bytes, about: Mapping[str, Any], artifact_store: Any = None) -> None:
    """Store bytes with a study under a name, with a description; they replace earlier bytes of that name.

    The pieces have a name by their content and the pointer to them is written last: workers that keep the same thing at
    once do not disturb each other, and one that is killed leaves what was there before.
    """
    digest = hashlib.sha256(data).hexdigest()
    pointer = {"digest": digest, "size": len(data), "about": dict(about)}
    if artifact_store is not None:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "tunedprior.npz"
            file.write_bytes(data)
            pointer["artifact"] = upload_artifact(
                artifact_store=artifact_store, file_path=str(file), study_or_trial=study
            )
    else:
        text = b85encode(zlib.compress(data, 1)).decode("ascii")
        pieces = [text[first : first + _PIECE] for first in range(0, len(text), _PIECE)]
        known = get_study_attributes(study)
        for number, piece in enumerate(pieces):
            key = f"{_PREFIX}:piece:{digest[:24]}:{number}"
            if known.get(key) != piece:
                set_study_attribute(study, key, piece)
        pointer["pieces"] = len(pieces)
    set_study_attribute(study, f"{_PREFIX}:{name}", pointer)


def get_blob_description(study: Study, name: str) -> dict[str, Any] | None:
    """Return the description stored with these bytes; None if there are none."""
    pointer = get_study_attributes(study).get(f"{_PREFIX}:{name}")
    told = pointer.get("about") if isinstance(pointer, dict) else None
    return dict(told) if isinstance(told, dict) else None


def has_blob(study: Study, beginning: str) -> bool:
    """Return whether bytes are stored under a name that begins with `beginning`."""
    return any(name.startswith(f"{_PREFIX}:{beginning}") for name in get_study_attributes(study))


def load_blob(study: Study, name: str, artifact_store: Any = None) -> bytes | None:
    """Return the bytes of this name; None if there are none, a `FileFormatError` if they are damaged."""
    attributes = get_study_attributes(study)
    pointer = attributes.get(f"{_PREFIX}:{name}")
    if not isinstance(pointer, dict):
        return None
    if "artifact" in pointer:
        if artifact_store is None:
            raise FileFormatError(
                f"What the study {study.study_name!r} learnt from old data is in an artifact store. Give it: "
                "artifact_store=…"
            )
        with TemporaryDirectory() as folder:
            file = Path(folder) / "tunedprior.npz"
            download_artifact(artifact_store=artifact_store, artifact_id=pointer["artifact"], file_path=str(file))
            data = file.read_bytes()
    else:
        data = _join_pieces(attributes, pointer)
    if hashlib.sha256(data).hexdigest() != pointer.get("digest"):
        raise FileFormatError(
            f"What the study {study.study_name!r} keeps as {name!r} is damaged: it is not what was written. Go on from "
            "a copy of before."
        )
    return data


def _join_pieces(attributes: Mapping[str, object], pointer: Mapping[str, Any]) -> bytes:
    try:
        count, digest = pointer["pieces"], pointer["digest"]
        if count > len(attributes):
            raise ValueError("pieces are missing")
        keys = [f"{_PREFIX}:piece:{digest[:24]}:{number}" for number in range(count)]
        packed = b85decode("".join(str(attributes[key]) for key in keys))
        unpack = zlib.decompressobj()
        data = unpack.decompress(packed, _MOST_BYTES)
        if unpack.unconsumed_tail:
            raise ValueError("it is too large")
    except (KeyError, ValueError, TypeError, zlib.error) as error:
        raise FileFormatError(f"What a study keeps is damaged: {error}. Go on from a copy of before.") from error
    return data


def encode_surrogates(surrogates: Mapping[str, Surrogate]) -> bytes:
    """Serialise surrogates by response; an `InputError` for one of the user's own classes."""
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        kinds = {}
        for number, (name, one) in enumerate(surrogates.items()):
            kinds[name], data = encode_surrogate(one)
            archive.writestr(str(number), data)
        archive.writestr("kinds", json.dumps(kinds))
    return buffer.getvalue()


def decode_surrogates(data: bytes) -> dict[str, Surrogate]:
    """Restore the surrogates that `encode_surrogates` wrote; a `FileFormatError` if they are damaged."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            kinds = dict(json.loads(archive.read("kinds")))
            parts = [archive.read(str(number)) for number in range(len(kinds))]
    except (BadZipFile, KeyError, ValueError, TypeError) as error:
        raise FileFormatError(f"What is stored of old data is damaged: {error}.") from error
    return {name: decode_surrogate(kind, part) for (name, kind), part in zip(kinds.items(), parts, strict=True)}


def are_compatible(surrogates: Mapping[str, Surrogate], space: Space, goals: Goals) -> bool:
    """Return whether there is a surrogate for each response, in a box that contains the space."""
    responses = {one.name for one in goals.responses}
    return set(surrogates) == responses and all(one.box.covers(space) for one in surrogates.values())
